"""
What lies under the cloud?
==========================

A satellite measures the temperature of the ground wherever no cloud is in the way. What it would have measured under
the cloud is a question to a Gaussian process, and how sure the answer is belongs to it. With tens of thousands of
pixels the exact process is out of reach; each prediction is made from its 64 nearest pixels instead, in the metric
that the data have taught. The map on the right is what makes the one in the middle honest: it is dark where the cloud
was.

The scene here is made by a generator, a rough field of the kind that such maps are (variance grows in proportion to
distance), so that the truth under the cloud is known. The same picture of a real map, 105 569 pixels of the MODIS
instrument with the published gaps, is in the documentation of neighbours.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessRegressor, Neighbours
from mercer.kernels import Exponential

rows, columns = 60, 90
rng = np.random.default_rng(3)


def scene(rows, columns):
    """A field whose spectrum falls as a power of the frequency, in °C, on an even grid."""
    fy, fx = np.meshgrid(np.fft.fftfreq(2 * rows), np.fft.fftfreq(2 * columns), indexing="ij")
    power = (fx**2 + fy**2 + 1e-5) ** -0.8
    field = np.fft.ifft2(power * np.fft.fft2(rng.standard_normal((2 * rows, 2 * columns)))).real[:rows, :columns]
    return 30.0 + 4.0 * (field - field.mean()) / field.std()


truth = scene(rows, columns)
y, x = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
cloud = ((x - 0.62 * columns) / (0.22 * columns)) ** 2 + ((y - 0.45 * rows) / (0.3 * rows)) ** 2 < 1
cloud |= ((x - 0.15 * columns) / (0.1 * columns)) ** 2 + ((y - 0.75 * rows) / (0.15 * rows)) ** 2 < 1
pixels = np.column_stack([x.ravel(), y.ravel()]).astype(float)
measured = (truth + 0.2 * rng.standard_normal(truth.shape)).ravel()
seen = ~cloud.ravel()

model = GaussianProcessRegressor(1.0 * Exponential([10.0, 10.0]), approximation=Neighbours(), starts=1)
model.fit(pixels[seen], measured[seen])
mean, std = model.predict(pixels, return_std=True)
print(model.fit_report_["approximation"]["words"])

low, high = (mean - 1.645 * std)[~seen], (mean + 1.645 * std)[~seen]
inside = np.mean((low <= truth.ravel()[~seen]) & (truth.ravel()[~seen] <= high))
print(f"Of the pixels under the cloud {inside:.0%} lie within their 90 % intervals.")

shown = np.where(seen, measured, np.nan).reshape(truth.shape)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
pictures = [(shown, "what was measured"), (mean.reshape(truth.shape), "what lies under the cloud")]
for axis, (picture, title) in zip(axes, pictures, strict=False):
    image = axis.imshow(picture, vmin=truth.min(), vmax=truth.max(), cmap="inferno", origin="lower")
    axis.set_title(title)
figure.colorbar(image, ax=axes[:2], label="temperature (°C)")
image = axes[2].imshow(std.reshape(truth.shape), cmap="viridis_r", origin="lower")
axes[2].set_title("how sure that is")
figure.colorbar(image, ax=axes[2], label="standard deviation (°C)")
for axis in axes:
    axis.set_xticks([])
    axis.set_yticks([])
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
