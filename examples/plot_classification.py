"""
How sure is a classifier, and how good is the approximation behind it?
======================================================================

A Gaussian process behind a link gives a probability for each class. The integral it takes cannot be done by hand. Here
it is done in four ways: Laplace's approximation, expectation propagation, sampling, and, for five points, directly.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessClassifier
from mercer.datasets import load_synth
from mercer.kernels import Gaussian
from mercer.plots import ProbabilityDisplay

figure, axes = plt.subplots(2, 2, figsize=(13, 9), layout="constrained")

# 1. Five points, four ways. Direct integration is the truth; expectation propagation is hard to tell from it.
X, y = np.array([[-2.0], [-1.0], [0.1], [1.2], [2.0]]), np.array([0, 0, 1, 0, 1])
grid, ax = np.linspace(-4, 4, 81)[:, None], axes[0, 0]
styles = {
    "quadrature": ("0.6", "-", 5),
    "laplace": ("#d55e00", "--", 2),
    "ep": ("#0072b2", "-", 1.5),
    "mcmc": ("#009e73", ":", 2.5),
}
print("way         log evidence")
for way, (colour, dashes, width) in styles.items():
    model = GaussianProcessClassifier(4.0 * Gaussian(1.0), inference=way, trend=None, criterion=None).fit(X, y)
    ax.plot(grid[:, 0], model.predict_proba(grid)[:, 1], color=colour, linestyle=dashes, linewidth=width, label=way)
    print(f"{way:<12}{model.log_marginal_likelihood_value_:.4f}")
ax.scatter(X[:, 0], y, color="0.1", zorder=3, label="five rows")
ax.set(xlabel="x", ylabel="P(1)")
ax.set_title("The integral done in four ways", loc="left", fontsize=11)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(0.0, 0.98))

# 2. The same five points: the band is where the probability itself may lie, two standard deviations of f either way.
ProbabilityDisplay.from_estimator(
    GaussianProcessClassifier(4.0 * Gaussian(1.0), inference="ep", trend=None, criterion=None).fit(X, y),
    X,
    y,
    ax=axes[0, 1],
)

# 3. Two classes in a plane, length scales learnt. Far from all rows the probability goes back to that of the classes.
train, labels = load_synth(return_X_y=True)
test, truth = load_synth("test", return_X_y=True)
model = GaussianProcessClassifier(1.0 * Gaussian([1.0, 1.0])).fit(train, labels)
ProbabilityDisplay.from_estimator(model, train, labels, ax=axes[1, 0])
print(f"\n{model.kernel_!r}\nerrors on {len(truth)} new rows: {100 * (1 - model.score(test, truth)):.1f} %")

# 4. Three classes by the softmax: colours mix where the model is not sure.
rng = np.random.default_rng(0)
centres = np.array([[0.0, 0.0], [2.5, 0.5], [1.0, 2.2]])
kinds = np.repeat(["ash", "beech", "oak"], 30)
trees = centres.repeat(30, axis=0) + 0.8 * rng.standard_normal((90, 2))
model = GaussianProcessClassifier(1.0 * Gaussian(1.0)).fit(trees, kinds)
ProbabilityDisplay.from_estimator(model, trees, kinds, names=["leaf length", "leaf width"], ax=axes[1, 1])

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
