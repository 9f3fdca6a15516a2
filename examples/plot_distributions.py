"""
Can a model learn from clouds of points?
========================================

Each cloud is a sample of a Gaussian in the plane, turned by some angle. The target is the entropy of its first
coordinate, which no single point shows. Lecture 002 gives a kernel on measures: transport a reference measure ρ to each
of them, and take the inner product of the two ways, ⟨Id − T_ρ→μ, Id − T_ρ→ν⟩ in L²(ρ). One transport for each cloud is
enough; the rest are inner products.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessRegressor
from mercer.kernels import Gaussian, GaussianTransport, MeanEmbedding, RadialOf, SlicedWasserstein, TransportKernel
from mercer.kernels.objects.measures import read_measures
from mercer.kernels.objects.transport import transport_map

rng = np.random.default_rng(0)
angles = rng.uniform(0, np.pi, 110)
clouds, y = [], []
for angle in angles:
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    clouds.append(rng.standard_normal((rng.integers(40, 81), 2)) * [1.5, 0.4] @ turn.T)
    variance = (1.5 * np.cos(angle)) ** 2 + (0.4 * np.sin(angle)) ** 2
    y.append(0.5 * np.log(2 * np.pi * np.e * variance))
y = np.array(y)
train, test = clouds[:70], clouds[70:]

figure, axes = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained")

# 1. What the kernel sees of a cloud: the way of every point of the reference.
kernel = TransportKernel.from_data(train, size=40)
rho, mu = read_measures([kernel.reference, clouds[3]], "example")
T = transport_map(rho, mu)
axes[0].plot(*mu.points.T, ".", color="0.7", label="a cloud")
axes[0].quiver(*rho.points.T, *(T - rho.points).T, angles="xy", scale_units="xy", scale=1, width=3e-3, color="C0")
axes[0].plot(*rho.points.T, "C3.", label="reference ρ: k-means of all clouds")
axes[0].set(title="T from ρ to a cloud", xlabel="x₁", ylabel="x₂", aspect="equal", ylim=(-4.6, 5.2))
axes[0].legend()

# 2. Gaussian processes on four kernels.
kernels = {
    "discrete transport": RadialOf(Gaussian(), kernel),
    "Gaussian transport": RadialOf(Gaussian(), GaussianTransport.from_data(train)),
    "sliced Wasserstein": RadialOf(Gaussian(), SlicedWasserstein(30, 40)),
    "mean embedding": RadialOf(Gaussian(0.3), MeanEmbedding(Gaussian(1.5)).fixed()),
}
print("kernel                 R²   90 % intervals cover")
models = {}
for (name, base), aside in zip(kernels.items(), (-0.009, -0.003, 0.003, 0.009), strict=True):
    model = models[name] = GaussianProcessRegressor(1.0 * base, random_state=0).fit(train, y[:70])
    mean, std = model.predict(test, return_std=True, noisy=True)
    r2 = 1 - np.mean((mean - y[70:]) ** 2) / np.var(y[70:])
    print(f"{name:20s} {r2:.4f} {np.mean(np.abs(mean - y[70:]) < 1.645 * std):.2f}")
    axes[1].errorbar(y[70:] + aside, mean, 1.645 * std, fmt=".", lw=0.7, ms=4, label=f"{name}, R² = {r2:.3f}")
ends = [y.min(), y.max()]
axes[1].plot(ends, ends, "k", lw=0.8)
axes[1].set(xlabel="entropy (the four kernels side by side)", ylabel="predicted, with 90 %", title="40 new clouds")
axes[1].legend()

# 3. The transport features have one direction of variation, a closed curve: the angle.
F = kernel.features(clouds)
F = F - F.mean(axis=0)
U, s, _ = np.linalg.svd(F, full_matrices=False)
points = axes[2].scatter(*(U[:, :2] * s[:2]).T, c=angles, cmap="twilight", s=18)
share = np.sum(s[:2] ** 2) / np.sum(s**2)
axes[2].set(title=f"clouds as the kernel sees them ({share:.0%} of the variance)", aspect="equal")
axes[2].set(xlabel="first principal direction", ylabel="second")
figure.colorbar(points, ax=axes[2], label="angle")

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
