"""
Why is there a best λ?
======================

Equation (3.40) of lecture 003: the expected squared error of a fit is the square of its bias plus its variance, over
draws of the noise. A small λ has no bias and follows every draw; a large λ gives nearly the same curve for every draw,
and it is the wrong one. For ridge regression both are known in closed form, at every λ, from one decomposition of K.
The simulation of 100 fits beside it needs no formula and agrees.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.diagnostics import bias_variance, simulate_bias_variance
from mercer.kernels import Gaussian
from mercer.plots import BiasVarianceDisplay

rng = np.random.default_rng(0)
kernel, sigma = Gaussian(0.12), 0.4
X, grid = np.linspace(0, 1, 30)[:, None], np.linspace(0, 1, 200)[:, None]


def truth(x):
    """The function behind the data."""
    return np.sin(2 * np.pi * x[:, 0]) + 0.5 * np.sin(6 * np.pi * x[:, 0])


exact = bias_variance(kernel, X, truth, sigma)
best = exact.best
shown = {"too small": best / 1000, "best": best, "too large": best * 30}

figure, axes = plt.subplots(2, 3, figsize=(16, 9), layout="constrained")
draws = truth(X)[:, None] + sigma * rng.standard_normal((30, 25))
for ax, (name, lam) in zip(axes[0], shown.items(), strict=True):
    model = KernelRidge(kernel, lam=lam)
    curves = model.fit(X, draws).predict(grid)  # 25 targets in one fit: one for each draw of the noise
    at = bias_variance(kernel, X, truth, sigma, [lam], X_test=grid)
    mean, std = truth(grid) + at.bias_at[0], np.sqrt(at.variance_at[0])
    ax.plot(grid, curves, color="#56b4e9", linewidth=0.6, alpha=0.8)
    ax.plot([], [], color="#56b4e9", linewidth=1, label="25 fits, 25 draws of the noise")
    ax.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color="#0072b2", alpha=0.15, linewidth=0)
    ax.plot(grid, mean, color="#0072b2", linewidth=2, label="their mean, ±2 standard deviations")
    ax.plot(grid, truth(grid), color="#d55e00", linestyle="--", linewidth=2, label="truth")
    ax.set(xlabel="x", ylabel="y", ylim=(-2.3, 2.3))
    ax.set_title(f"λ {name}: bias² {at['bias2'][0]:.3f}, variance {at['variance'][0]:.3f}", loc="left", fontsize=11)
    found = simulate_bias_variance(model, X, truth, sigma, 100, X_test=grid)
    print(f"λ = {lam:8.2g}  exact: bias² {at['bias2'][0]:.4f}, variance {at['variance'][0]:.4f};  "
          f"100 fits: {found['bias2']:.4f}, {found['variance']:.4f}")  # fmt: skip
axes[0, 0].legend(frameon=False, fontsize=9, loc="lower left")

BiasVarianceDisplay.from_table(exact, ax=axes[1, 0])

# More noise wants a larger λ, more rows too (λ is that of the sum), and a length scale that is wrong hides the minimum.
for s, style in ((0.1, ":"), (0.4, "-"), (1.0, "--")):
    table = bias_variance(kernel, X, truth, s)
    (line,) = axes[1, 1].loglog(table["lam"], table["error"], style, color="#222222", label=f"σ = {s:g}")
    axes[1, 1].plot(table.best, table["error"].min(), "o", color="#222222", markerfacecolor="white")
axes[1, 1].set_title("More noise, larger λ", loc="left", fontsize=11)
for ell, colour in ((0.03, "#009e73"), (0.12, "#222222"), (0.5, "#d55e00")):
    table = bias_variance(Gaussian(ell), X, truth, sigma, np.logspace(-6, 2, 80))
    axes[1, 2].loglog(table["lam"], table["error"], color=colour, label=f"ℓ = {ell:g}")
axes[1, 2].set_title("The kernel matters as much as λ", loc="left", fontsize=11)
for ax in axes[1, 1:]:
    ax.set(xlabel="λ", ylabel="bias² + variance", xlim=(1e-6, 1e2))
    ax.legend(frameon=False, fontsize=9)
for ax in axes.flat:
    ax.spines[["top", "right"]].set_visible(False)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
