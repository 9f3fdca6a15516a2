"""
How are kernels built from kernels?
===================================

Lecture 001: if k₁ and k₂ are kernels, then so are c k₁, k₁ + k₂, k₁k₂, f(x)k₁f(z), exp(k₁), q(k₁) and xᵀAz. A kernel is
also a belief about functions, and samples of the Gaussian process with it show that belief: a sum draws functions that
are sums, a product functions that do what both factors do at once. The last picture puts a built kernel to work: the
number of airline passengers rises, repeats every year, and its waves grow.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessRegressor
from mercer.datasets import load_airpassengers
from mercer.kernels import Gaussian, Laplacian, Linear, Periodic


def fading(X):
    """f of f(x) k(x, z) f(z)."""
    return np.exp(-np.abs(X[:, 0]))


x = np.linspace(-3, 3, 300)[:, None]
kernels = {
    "radial, smooth": Gaussian(0.7),
    "radial, rough": Laplacian(0.7),
    "repeats itself": Periodic(1.0, period=1.5),
    "straight lines": Linear(),
    "k₁ + k₂: a line and waves": 0.5 * Linear() + 0.5 * Periodic(1.0, period=1.5),
    "k₁ k₂: waves that grow": Linear() * Periodic(1.0, period=1.5),
    "k₁ k₂: waves that drift": Gaussian(1.5) * Periodic(1.0, period=1.5),
    "f(x) k f(z): fades out": Gaussian(0.4).warp(fading),
    "exp k": (0.3 * Linear()).exp(),
    "q(k), q(t) = t + t²": Linear().polynomial([0.0, 1.0, 1.0]),
}

figure = plt.figure(figsize=(16, 10.5), layout="constrained")
grid = figure.add_gridspec(3, 5, height_ratios=[1, 1, 1.5])
for cell, (name, kernel) in zip((grid[i, j] for i in range(2) for j in range(5)), kernels.items(), strict=True):
    ax = figure.add_subplot(cell)
    draws = GaussianProcessRegressor(kernel).sample(x, 3, random_state=4)
    for draw, colour in zip(draws.T, ("#0072b2", "#d55e00", "#009e73"), strict=True):
        ax.plot(x, draw, color=colour, linewidth=1.3)
    ax.set_title(f"{name}\n{kernel!r}", loc="left", fontsize=8.5)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)

# A rise, a yearly wave, and a yearly wave that grows, learnt from nine years; the last three are forecast.
X, y = load_airpassengers(return_X_y=True)
X, y = X - X[0], y.astype(float)
past = X[:, 0] < 9
yearly = Periodic(1.0, period=1.0, period_bounds="fixed")
kernel = 100.0 * Linear() + 100.0 * yearly + 100.0 * Linear() * yearly + 100.0 * Gaussian(2.0)
model = GaussianProcessRegressor(kernel, random_state=0).fit(X[past], y[past])
print(model.selection_)
late = model.predict(X[~past])
print(f"\nforecast of three years: root mean square error {np.sqrt(np.mean((late - y[~past]) ** 2)):.0f} thousand")
times = np.linspace(0, 13, 700)[:, None]
mean, std = model.predict(times, return_std=True, noisy=True)
ax = figure.add_subplot(grid[2, :])
ax.fill_between(1949 + times[:, 0], mean - 2 * std, mean + 2 * std, color="#56b4e9", alpha=0.4, linewidth=0)
ax.plot(1949 + times[:, 0], mean, color="#0072b2", linewidth=1.3, label="mean, and ±2σ")
ax.scatter(1949 + X[past, 0], y[past], s=8, color="#222222", zorder=3, label="learnt from")
ax.scatter(1949 + X[~past, 0], y[~past], s=8, color="#d55e00", zorder=3, label="not seen")
ax.set(xlabel="year", ylabel="airline passengers (thousands)")
ax.set_title("k = c₁ Linear() + c₂ yearly + c₃ Linear() * yearly + c₄ Gaussian(ℓ)", loc="left", fontsize=11)
ax.legend(frameon=False, fontsize=9, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
