"""
Do features and kernels give the same model?
============================================

Lecture 004 fits all powers up to p of all columns. In the primal that is a system as large as the number of features,
in the dual one as large as the number of rows, and the features enter only as φ(x)ᵀφ(z) = (1 + xᵀz)ᵖ: one number, from
one product. Both are computed here. The predictions are equal to rounding; the times are not. For the Gaussian kernel,
whose features are infinitely many, only the second way is left.
"""

import sys
import time
from math import comb

import matplotlib.pyplot as plt
import numpy as np

from mercer import BasisRegression, KernelRidge
from mercer.kernels import Gaussian, Polynomial, PolynomialBasis

rng = np.random.default_rng(0)
figure, axes = plt.subplots(1, 3, figsize=(16, 4.8), layout="constrained")

# 1. One column, third powers, as in the lecture: φ(x) = (1, √3x, √3x², x³).
x = np.linspace(-2, 2, 30)[:, None]
y = x[:, 0] ** 3 - 2 * x[:, 0] + rng.standard_normal(30)
grid = np.linspace(-2.5, 2.5, 200)[:, None]
primal = BasisRegression(PolynomialBasis(3, scaled=True), lam=0.5).fit(x, y)
dual = KernelRidge(Polynomial(3, 1.0), lam=0.5, trend=None).fit(x, y)
gap = np.abs(primal.predict(grid) - dual.predict(grid)).max()
axes[0].plot(grid, primal.predict(grid), color="#56b4e9", linewidth=6, label="features: 4 numbers θ")
axes[0].plot(grid, dual.predict(grid), color="#222222", linewidth=1.4, label="kernel: 30 numbers α")
axes[0].scatter(x, y, s=16, color="#d55e00", zorder=3, label="30 rows")
axes[0].set(xlabel="x", ylabel="y", title=f"The same curve: largest difference {gap:.0e}")
print(f"θ = Φᵀα: {np.abs(primal.basis_.features(x).T @ dual.dual_coef_ - primal.coef_).max():.0e} apart")

# 2. Six columns, 200 rows: the features grow as C(6 + p, p), the Gram matrix stays 200 × 200.
X = rng.uniform(-1, 1, (200, 6))
y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 + 0.1 * rng.standard_normal(200)


def best(model):
    """Seconds of the quickest of three fits."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - start)
    return min(times)


powers = np.arange(1, 7)
print(f"\n{'p':>2}{'features':>10}{'primal s':>10}{'dual s':>10}{'largest difference':>20}")
times = []
for p in powers:
    primal = BasisRegression(PolynomialBasis(int(p), scaled=True), lam=1.0)
    dual = KernelRidge(Polynomial(int(p), 1.0), lam=1.0, trend=None)
    times.append((best(primal), best(dual)))
    gap = np.abs(primal.predict(X) - dual.predict(X)).max()
    print(f"{p:2d}{comb(6 + p, p):10d}{times[-1][0]:10.4f}{times[-1][1]:10.4f}{gap:20.0e}")
gaussian = best(KernelRidge(Gaussian(1.0), lam=1.0))
sizes = [(comb(6 + p, p), 200) for p in powers]
for ax, values, name in ((axes[1], sizes, "numbers to find"), (axes[2], times, "seconds")):
    for column, label, style in zip(np.transpose(values), ("features", "kernel"), ("o-", "s-"), strict=True):
        ax.semilogy(powers, column, style, color={"features": "#56b4e9", "kernel": "#222222"}[label], label=label)
    ax.set(xlabel="p: all powers up to", ylabel=name)
    ax.legend(frameon=False, fontsize=9)
axes[1].set(title="Six columns: features grow, rows do not")
axes[2].axhline(gaussian, color="#d55e00", linestyle="--", linewidth=1)
axes[2].text(6, gaussian / 1.1, "Gaussian kernel: p = ∞", color="#d55e00", fontsize=9, ha="right", va="top")
axes[2].set(title="Time of a fit")
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False, fontsize=9)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
