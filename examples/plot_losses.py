"""
What does the loss change?
==========================

By the representer theorem every loss gives a function of the same form, f(x) = Σⱼ αⱼ k(x, xⱼ) + b. What differs is how
hard a row may pull (αⱼ is −wL′/(2λ) at that row), so which rows matter at all. Squared: every row, the farther the
harder. Huber and absolute: a far row pulls no harder than a near one. ε-insensitive: a row inside the tube does not
pull at all.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelMachine, losses
from mercer.datasets import load_synth
from mercer.kernels import Gaussian

figure, axes = plt.subplots(2, 2, figsize=(13, 9), layout="constrained")

# 1. The losses of a number, as functions of the residual.
residual = np.linspace(-3, 3, 601)
robust = losses.Huber(1.0), losses.Absolute(), losses.EpsilonInsensitive(0.5)
for loss in (losses.Squared(), *robust, losses.Quantile(0.9), losses.Expectile(0.9)):
    axes[0, 0].plot(residual, loss.value(residual, 0.0), label=repr(loss))
axes[0, 0].set(xlabel="y − f", ylabel="L(y, f)", ylim=(0, 5), title="Losses for numbers")
axes[0, 0].legend(fontsize=9)

# 2. The same data, a sine with a few wild rows, and three opinions. λ is chosen by each loss on the folds.
rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 6, 60))[:, None]
y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(60)
wild = rng.choice(60, 6, replace=False)
y[wild] += rng.choice([-1.0, 1.0], 6) * rng.uniform(2, 4, 6)
grid = np.linspace(0, 6, 400)[:, None]
axes[0, 1].plot(grid, np.sin(grid[:, 0]), "k:", lw=1, label="truth")
print(f"{'loss':34} {'lam':>8} {'support':>8} {'error':>7}")
for loss in (losses.Squared(), losses.Huber(0.2), losses.EpsilonInsensitive(0.2)):
    model = KernelMachine(Gaussian(1.0), loss, [3.0, 1.0, 0.3, 0.1, 0.03], criterion=5).fit(X, y)
    f = model.predict(grid)
    error = np.sqrt(np.mean((f - np.sin(grid[:, 0])) ** 2))
    print(f"{loss!r:34} {model.lam_:8.2g} {len(model.support_):8d} {error:7.3f}")
    axes[0, 1].plot(grid, f, label=f"{loss!r}: error {error:.3f}")
axes[0, 1].plot(X, y, "k.", ms=4)
axes[0, 1].set(xlabel="x", ylabel="y", title="Six wild rows of sixty")
axes[0, 1].legend(fontsize=9)

# 3. The losses of a label, as functions of the margin: right and sure is to the right.
margin = np.linspace(-2, 3, 501)
for loss in (losses.Logistic(), losses.Hinge(), losses.SquaredHinge()):
    axes[1, 0].plot(margin, loss.value(1.0, margin), label=repr(loss))
axes[1, 0].plot(margin, margin < 0, "k:", lw=1, label="error")
axes[1, 0].set(xlabel="y f", ylabel="L(y, f)", ylim=(0, 4), title="Losses for labels")
axes[1, 0].legend(fontsize=9)

# 4. Two classes: the boundaries are near each other, the number of support vectors is not.
X, label = load_synth(return_X_y=True)
first, second = np.meshgrid(np.linspace(-1.4, 1.1, 150), np.linspace(-0.7, 1.2, 150))
points = np.column_stack([first.ravel(), second.ravel()])
print()
for loss, colour in ((losses.Logistic(), "C0"), (losses.Hinge(), "C1"), (losses.SquaredHinge(), "C2")):
    model = KernelMachine(Gaussian(0.4), loss, [1.0, 0.3, 0.1, 0.03, 0.01], criterion=4).fit(X, label)
    f = model.decision_function(points).reshape(first.shape)
    axes[1, 1].contour(first, second, f, levels=[0.0], colors=colour)
    axes[1, 1].plot([], [], color=colour, label=f"{loss!r}: {len(model.support_)} of {len(X)} rows")
    print(f"{loss!r:34} {model.lam_:8.2g} {len(model.support_):8d}")
for value, mark in zip(np.unique(label), "ox", strict=True):
    axes[1, 1].plot(*X[label == value].T, mark, color="0.5", ms=4, mfc="none")
axes[1, 1].set(xlabel="x₁", ylabel="x₂", title="Ripley's two classes")
axes[1, 1].legend(fontsize=9, loc="lower left")

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
