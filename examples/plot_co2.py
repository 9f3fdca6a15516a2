"""
What is the carbon dioxide record at Mauna Loa made of?
=======================================================

A sum of kernels is a sum of independent functions. Here: a slow rise, a yearly wave whose shape drifts, irregularities
over some years, and short weather. All hyper-parameters are learnt from the years up to 1985 by the evidence. The
posterior is then taken apart into these parts, and the years after 1985 are forecast. The band of a part alone is wider
than that of the sum: a constant can move from one part to another, and the data cannot tell.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessRegressor
from mercer.datasets import load_co2
from mercer.kernels import Gaussian, Matern32, Periodic, RationalQuadratic

X, y = load_co2(return_X_y=True)
past = X[:, 0] < 1985
level = y[past].mean()  # ppm; the parts are what is above or below it

kernel = (
    1000.0 * Gaussian(50.0)  # the rise, over decades
    + 4.0 * Gaussian(90.0) * Periodic(1.3, period=1.0, period_bounds="fixed")  # the seasons, slowly changing
    + 0.5 * RationalQuadratic(1.2, 0.8)  # a few years
    + 0.03 * Matern32(0.13)  # a few weeks
)
model = GaussianProcessRegressor(kernel, noise=0.04, trend=None, starts=1).fit(X[past], y[past] - level)
print(model.selection_)

found = model.posterior(X[~past])
error = y[~past] - level - found.mean
print(f"\nforecast 1985 to 1997: root mean square error {np.sqrt(np.mean(error**2)):.2f} ppm,")
print(
    f"{100 * np.mean(np.abs(error) < 2 * found.noisy_std):.0f} % of {len(error)} months within two standard deviations"
)

grid = np.linspace(1959, 2000, 1200)[:, None]
f = model.posterior(grid)
parts = model.decompose(grid)
names = ["the rise", "the seasons", "a few years", "a few weeks"]

figure, axes = plt.subplots(3, 2, figsize=(14, 11), layout="constrained")
ax = axes[0, 0]
mean, reach = level + f.mean, 2 * f.noisy_std
ax.fill_between(grid[:, 0], mean - reach, mean + reach, color="#56b4e9", alpha=0.5, linewidth=0, label="±2σ of y")
ax.plot(grid[:, 0], mean, color="#0072b2", linewidth=1, label="mean")
ax.scatter(X[past, 0], y[past], s=3, color="#222222", label="learnt from")
ax.scatter(X[~past, 0], y[~past], s=3, color="#d55e00", label="not seen")
ax.axvline(1985, color="0.6", linewidth=0.8)
ax.set_title("The record and the forecast", loc="left", fontsize=11)
ax.legend(frameon=False, fontsize=9, loc="upper left")
for ax, part, name in zip(axes.flat[1:5], parts, names, strict=True):
    few = (grid[:, 0] > 1975) & (grid[:, 0] < 1980) if name in ("the seasons", "a few weeks") else slice(None)
    x, mean, std = grid[few, 0], part.mean[few], part.std[few]
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, color="#56b4e9", alpha=0.5, linewidth=0)
    ax.plot(x, mean, color="#0072b2", linewidth=1.6)
    ax.set_title(name, loc="left", fontsize=11)
ax = axes.flat[5]
ax.fill_between(X[~past, 0], -2 * found.noisy_std, 2 * found.noisy_std, color="#56b4e9", alpha=0.5, linewidth=0)
ax.scatter(X[~past, 0], error, s=6, color="#d55e00")
ax.set_title("what the forecast was off by, and ±2σ as it had said", loc="left", fontsize=11)
for ax in axes.flat:
    ax.set(xlabel="year", ylabel="CO₂ (ppm)")
    ax.spines[["top", "right"]].set_visible(False)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
