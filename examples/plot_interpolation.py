"""
Should a curve pass through every point?
========================================

Lectures 000 and 002: without noise the function of smallest norm through the data is a good guess, and it is the limit
of ridge regression for λ → 0. With noise in y it follows the noise, and its norm grows without bound as points come
close together. Ridge regression trades the distance to the points for a smaller norm. The power function bounds the
error of interpolation: f̂(x) is at most P(x) ‖f‖ away from f(x), whatever f is.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelInterpolator, KernelRidge
from mercer.kernels import Matern52
from mercer.selection import LOO

rng = np.random.default_rng(1)
kernel = Matern52(1.2)
X = np.linspace(0, 6, 16)[:, None] + rng.uniform(-0.12, 0.12, (16, 1))
grid = np.linspace(-0.4, 6.4, 500)[:, None]


def truth(x):
    """A function of the native space: a sum of kernels, so that its norm is known."""
    return kernel(x, [[1.0], [2.5], [4.6]]) @ [1.0, -1.3, 1.1]


norm = np.sqrt([1.0, -1.3, 1.1] @ kernel([[1.0], [2.5], [4.6]]) @ [1.0, -1.3, 1.1])
clean = truth(X)
noisy = clean + 0.15 * rng.standard_normal(16)

figure, axes = plt.subplots(2, 2, figsize=(13, 8.6), layout="constrained")
for ax, y, name in ((axes[0, 0], clean, "Exact values"), (axes[0, 1], noisy, "Values with noise")):
    through = KernelInterpolator(kernel).fit(X, y)
    near = KernelRidge(kernel, criterion=LOO(), optimize="lam", trend=None)
    near = KernelRidge(kernel, lam=1e-8, trend=None).fit(X, y) if y is clean else near.fit(X, y)
    reach = norm * through.power_function(grid)
    f = through.predict(grid)
    if y is clean:
        ax.fill_between(grid[:, 0], f - reach, f + reach, color="#56b4e9", alpha=0.3, linewidth=0, label="± P(x)‖f‖")
        print(f"exact: |f − f̂| is at most {np.max(np.abs(f - truth(grid)) / reach):.2f} of the bound P(x)‖f‖")
    ax.plot(grid, truth(grid), color="0.5", linestyle="--", label="f")
    ax.plot(grid, f, color="#0072b2", linewidth=2, label=f"through all points, ‖f̂‖ = {through.rkhs_norm_:.2f}")
    label = f"ridge, λ = {near.lam_:.2g}, ‖f̂‖ = {near.rkhs_norm_:.2f}"
    ax.plot(grid, near.predict(grid), color="#d55e00", linewidth=1.6, linestyle=(0, (5, 2)), label=label)
    ax.scatter(X, y, s=26, color="#222222", zorder=3)
    ax.set(xlabel="x", ylabel="y", ylim=(-2.6, 2.4))
    ax.set_title(f"{name}: ‖f‖ = {norm:.2f}", loc="left", fontsize=11)
    ax.legend(frameon=False, fontsize=9, loc="lower center", ncols=2)

# λ from interpolation to nothing: the distance to the truth has a minimum only where there is noise.
lams = np.logspace(-8, 2, 60)
for y, colour, name in ((clean, "#0072b2", "exact values"), (noisy, "#d55e00", "values with noise")):
    fits = [KernelRidge(kernel, lam=lam, trend=None).fit(X, y) for lam in lams]
    error = [np.sqrt(np.mean((model.predict(grid) - truth(grid)) ** 2)) for model in fits]
    axes[1, 0].loglog(lams, error, color=colour, linewidth=2, label=name)
    axes[1, 1].loglog(lams, [model.rkhs_norm_ for model in fits], color=colour, linewidth=2, label=name)
axes[1, 0].set(xlabel="λ", ylabel="root mean square distance to f")
axes[1, 0].set_title("Noise needs λ > 0", loc="left", fontsize=11)
axes[1, 1].axhline(norm, color="0.5", linestyle="--", label="‖f‖")
axes[1, 1].set(xlabel="λ", ylabel="‖f̂‖")
axes[1, 1].set_title("To follow noise costs norm", loc="left", fontsize=11)
for ax in axes.flat:
    ax.spines[["top", "right"]].set_visible(False)
for ax in axes[1]:
    ax.legend(frameon=False, fontsize=9)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
