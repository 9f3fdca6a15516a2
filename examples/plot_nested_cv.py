"""
How good is the score that chose the model?
===========================================

Too good: it was the best of many. Algorithm 1 of lecture 003 puts one cross-validation inside another. The inner one
chooses the kernel and λ, the outer one judges, on rows that had no part in the choice. The difference is the optimism
of the first score. Here the choice is which of eight columns to use; 4000 new rows know the truth. Where one column
clearly matters all three agree. Where y is noise, an honest score is below zero, and the score that chose is above it:
of eight columns one looks good by chance.
"""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.selection import KFold, nested_cv

warnings.simplefilter("ignore", ConvergenceWarning)  # noise asks for λ = ∞, and the model says so every time
INK = {"the score that chose": "#d55e00", "nested": "#0072b2", "4000 new rows": "#222222"}
COLUMNS = 8


def draw(rng, n, signal):
    """n rows of 8 columns; y is a function of the first, or of none."""
    X = rng.uniform(-2, 2, (n, COLUMNS))
    return X, signal * np.sin(2 * X[:, 0]) + 0.7 * rng.standard_normal(n)


def judge(seed, signal):
    """R² of one draw of 50 rows: by the score that chose, nested, on new rows; the model, the nested result."""
    rng = np.random.default_rng(seed)
    (X, y), (new, truth) = draw(rng, 50, signal), draw(rng, 4000, signal)
    kernels = [Gaussian(0.7).on([j]) for j in range(COLUMNS)]
    model = KernelRidge(kernels, criterion=KFold(4), optimize="lam")
    nested = nested_cv(model, X, y, outer=4, random_state=seed)
    chose = model.fit(X, y).selection_.value  # the mean squared error over the inner folds, of the best choice
    errors = chose, np.mean((y - nested.predictions) ** 2), np.mean((model.predict(new) - truth) ** 2)
    return 1 - np.array(errors) / [y.var(), y.var(), truth.var()], model, nested, (X, y, new, truth)


figure, axes = plt.subplots(1, 3, figsize=(16, 5), layout="constrained")
for ax, (name, signal) in zip(axes, {"y depends on the first column": 1.4, "y is noise": 0.0}.items(), strict=False):
    runs = [judge(seed, signal) for seed in range(3)]
    print(name)
    for column, (label, colour) in zip(np.transpose([run[0] for run in runs]), INK.items(), strict=True):
        ax.plot(range(1, 4), column, "o", color=colour, markersize=8, label=f"{label}: mean {column.mean():.2f}")
        ax.axhline(column.mean(), color=colour, linewidth=1)
        print(f"  {label:<22}{column.mean():6.2f}")
    ax.set(xlabel="draw of 50 rows", ylabel="R²", xticks=range(1, 4), ylim=(-1.7, 0.8))
    ax.set_title(name, loc="left", fontsize=11)
    ax.legend(frameon=False, fontsize=9, loc="lower left")

# Why: one draw of noise, each column by itself. All are worth nothing; the best of eight looks like something.
_, model, nested, (X, y, new, truth) = runs[1]
inner = [1 - candidate.value / y.var() for candidate in model.selection_.candidates]
outer = [KernelRidge(c.kernel, c.lam).fit(X, y).score(new, truth) for c in model.selection_.candidates]
axes[2].bar(np.arange(COLUMNS) - 0.2, inner, 0.4, color=INK["the score that chose"], label="inner cross-validation")
axes[2].bar(np.arange(COLUMNS) + 0.2, outer, 0.4, color=INK["4000 new rows"], label="4000 new rows")
axes[2].set(xlabel="column", ylabel="R²", xticks=range(COLUMNS))
axes[2].set_title("y is noise: each column by itself, second draw", loc="left", fontsize=11)
axes[2].legend(frameon=False, fontsize=9, loc="lower right")
for ax in axes:
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    ax.spines[["top", "right"]].set_visible(False)

# What each outer fold chose. Every fold may choose another model: the result judges the procedure, and names no λ.
print(f"\n{nested}")

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
