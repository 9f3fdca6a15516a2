"""
How far can y be from its mean, and where?
==========================================

The motorcycle data are quiet at first and wild later. A mean says nothing of that; quantiles do. Five of them are
fitted here, the kernel and λ chosen on the folds by the quantile loss itself. Fitted one by one, quantiles may cross
where there are few rows: ``non_crossing`` puts the predictions of each row in order, which can only lower the loss.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelMachine
from mercer.datasets import load_mcycle
from mercer.kernels import Gaussian
from mercer.losses import Expectile, Quantile

X, y = load_mcycle(return_X_y=True)
grid = np.linspace(X.min(), X.max(), 400)[:, None]
levels = [0.05, 0.25, 0.5, 0.75, 0.95]
kernels = [Gaussian(ell) for ell in (2.0, 4.0, 8.0)]  # ms

figure, axes = plt.subplots(1, 2, figsize=(13, 5), sharey=True, layout="constrained")

# 1. Five quantiles. With an intercept the part of the rows below each is its level, up to the rows that lie on it.
model = KernelMachine(kernels, Quantile(levels), [0.1, 0.03, 0.01, 0.003, 0.001], criterion=4, non_crossing=True).fit(
    X, y
)
print(model.selection_)
F = model.predict(grid)
axes[0].plot(X, y, "k.", ms=4)
for i, j, shade in ((0, 4, 0.15), (1, 3, 0.3)):
    axes[0].fill_between(grid[:, 0], F[:, i], F[:, j], color="C0", alpha=shade, lw=0)
axes[0].plot(grid, F[:, 2], "C0", label="median")
axes[0].set(xlabel="time after impact, ms", ylabel="acceleration, g", title="Quantiles: 50 % and 90 % of the rows")
axes[0].legend()

print("\nlevel   rows below")
at_rows = model.predict(X)
for level, f in zip(levels, at_rows.T, strict=True):
    print(f"{level:5.2f} {np.mean(y < f - 1e-6):8.3f} to {np.mean(y <= f + 1e-6):.3f}")

crossing = KernelMachine(model.kernel_, Quantile(levels), model.lam_).fit(X, y).predict(grid)
print(f"\nwithout non_crossing: {np.mean((np.diff(crossing, axis=1) < 0).any(axis=1)):.1%} of the grid crosses")

# 2. Expectiles ask for the balance of the sizes of the errors, not of their number: smoother, but no coverage.
axes[1].plot(X, y, "k.", ms=4)
for level in levels:
    expectile = KernelMachine(model.kernel_, Expectile(level), [10.0, 1.0, 0.3, 0.1, 0.03], criterion="loo").fit(X, y)
    axes[1].plot(grid, expectile.predict(grid), label=f"{level:g}")
axes[1].set(xlabel="time after impact, ms", title="Expectiles, λ by approximate leave-one-out")
axes[1].legend(title="level")

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
