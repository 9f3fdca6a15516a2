"""
How many powers of x are too many?
==================================

Lecture 003 fits ŷ(x) = w₀ + w₁x + … + w_M x^M to ten noisy values of a sine. It is linear regression on the features
φ(x) = (1, x, …, x^M). With M = 9 the curve passes through every point, and is useless between them. There are two ways
out: fewer features, or all of them and a penalty λ‖w‖² on their size. Leave-one-out residuals, from the leverages and
without a refit, tell a good M and a good λ from a bad one; the error on the training rows does not.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import BasisRegression
from mercer.kernels import PolynomialBasis

rng = np.random.default_rng(33)
X = np.linspace(0, 1, 10)[:, None]
y = np.sin(2 * np.pi * X[:, 0]) + 0.2 * rng.standard_normal(10)
grid = np.linspace(0, 1, 400)[:, None]
truth = np.sin(2 * np.pi * grid[:, 0])


def errors(model):
    """Root mean squares: of the rows, of the rows left out one at a time, and of the truth on the grid."""
    residuals = y - model.predict(X), model.loo_residuals_, truth - model.predict(grid)
    return [np.sqrt(np.mean(r**2)) for r in residuals]


figure, axes = plt.subplots(2, 3, figsize=(15, 8.4), layout="constrained")

# 1. Too stiff, about right, too free; and all nine powers again, with λ.
shown = {
    "M = 1: too stiff": BasisRegression(PolynomialBasis(1)),
    "M = 3": BasisRegression(PolynomialBasis(3)),
    "M = 9: through every point": BasisRegression(PolynomialBasis(9)),
    "M = 9 and λ = 0.001": BasisRegression(PolynomialBasis(9), lam=1e-3),
}
for ax, (name, model) in zip(axes.flat, shown.items(), strict=False):
    model.fit(X, y)
    ax.plot(grid, truth, color="0.6", linestyle="--", label="sin 2πx")
    ax.plot(grid, model.predict(grid), color="#0072b2", linewidth=2.2, label="fit")
    ax.scatter(X, y, s=30, color="#222222", zorder=3, label="ten rows")
    ax.set(xlabel="x", ylabel="y", ylim=(-2, 2))
    ax.set_title(f"{name}, largest weight {np.abs(model.coef_).max():,.0f}", loc="left", fontsize=11)
    print(f"{name:<28}rows {errors(model)[0]:.3f}, left out {errors(model)[1]:.3f}, truth {errors(model)[2]:.3f}")
axes[0, 0].legend(frameon=False, fontsize=9)

# 2. The error on the rows only falls; the two that matter turn around. M = 9 has no row left to leave out.
degrees, lams = np.arange(9), np.logspace(-9, 1, 41)
curves = {
    (1, 1): (degrees, [errors(BasisRegression(PolynomialBasis(int(M))).fit(X, y)) for M in degrees], "M"),
    (1, 2): (lams, [errors(BasisRegression(PolynomialBasis(9), lam).fit(X, y)) for lam in lams], "λ, with M = 9"),
}
for place, (values, table, name) in curves.items():
    for column, label, style in zip(
        np.transpose(table), ("rows", "left out", "truth"), ("o-", "s-", "--"), strict=True
    ):
        colour = {"rows": "#d55e00", "left out": "#0072b2", "truth": "0.4"}[label]
        axes[place].plot(values, column, style, color=colour, markersize=4, label=label)
    axes[place].set(xlabel=name, ylabel="root mean square error", yscale="log", ylim=(0.02, 5))
    axes[place].legend(frameon=False, fontsize=9)
axes[1, 1].set_title("Which M?", loc="left", fontsize=11)
axes[1, 2].set_xscale("log")
axes[1, 2].set_title("Which λ?", loc="left", fontsize=11)
for ax in axes.flat:
    ax.spines[["top", "right"]].set_visible(False)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
