"""
What do two strings have in common?
===================================

A kernel on strings is all that a model needs: ridge regression, Gaussian processes and classifiers then work on lists
of strings as they do on rows of numbers. Kernels differ in what they count: words of some length, words with gaps,
words at the same place or near it. Which of these matters can be learnt.
"""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from mercer import GaussianProcessRegressor, KernelMachine
from mercer.kernels import Spectrum, Subsequence, WeightedDegree

rng = np.random.default_rng(0)
figure, axes = plt.subplots(1, 3, figsize=(17, 5), layout="constrained")


def plain(ax, title):
    ax.set_title(title, loc="left", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)


# 1. Words of three languages: alike are those that share letters in the same order, with gaps or without.
words = "water waters wasser fire fires feuer vuur father vater vader fathers".split()
K = Subsequence(2, 0.5).normalise()(words)
ax = axes[0]
image = ax.imshow(K, cmap="Blues", vmin=0, vmax=1)
ax.set_xticks(range(len(words)), words, rotation=60, ha="right", fontsize=8)
ax.set_yticks(range(len(words)), words, fontsize=8)
ax.set_title("Subsequence(2, 0.5).normalise()", loc="left", fontsize=11)
figure.colorbar(image, ax=ax, shrink=0.8)

# 2. Which length of words matters? The target counts one word of two letters; the evidence finds that out.
strands = ["".join("ACGT"[i] for i in rng.integers(4, size=rng.integers(15, 40))) for _ in range(120)]
y = np.array([strand.count("AC") for strand in strands]) + 0.3 * rng.standard_normal(120)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # a weight at its bound: words of that length are not needed
    model = GaussianProcessRegressor(Spectrum([1, 2, 3, 4], weights=[1.0, 1.0, 1.0, 1.0])).fit(strands, y)
ax = axes[1]
ax.bar([1, 2, 3, 4], model.kernel_.weights, color="#0072b2")
ax.set(xlabel="letters in a word", ylabel="weight that was learnt", xticks=[1, 2, 3, 4], yscale="log")
plain(ax, "y counts the word AC: Spectrum([1, 2, 3, 4])")
print("weights of words of 1, 2, 3, 4 letters:", np.array2string(model.kernel_.weights, precision=2))

# 3. A signal at a place that is not quite fixed: too little shift misses it, too much sees it everywhere.
ax, shifts = axes[2], [0, 1, 2, 4, 8]
print("\nwobble  accuracy for shift", *shifts)
for wobble, colour in ((0, "#0072b2"), (2, "#d55e00"), (5, "#009e73")):
    X, label = [], rng.integers(2, size=140)
    for one in label:
        letters = rng.integers(4, size=40)
        if one:
            start = 18 + rng.integers(-wobble, wobble + 1)
            letters[start : start + 4] = [3, 0, 3, 0]  # TATA
        X.append("".join("ACGT"[i] for i in letters))
    scores = [
        cross_val_score(
            KernelMachine(WeightedDegree(4, shift).normalise(), loss="logistic", lam=0.01), X, label, cv=5
        ).mean()
        for shift in shifts
    ]
    ax.plot(shifts, scores, "o-", color=colour, label=f"the word moves by up to {wobble}")
    print(f"{wobble:>6}{'':20}", *(f"{score:.2f}" for score in scores))
ax.set(xlabel="shift of WeightedDegree(4, shift)", ylabel="accuracy, 5 folds")
plain(ax, "TATA near the middle of 40 letters, or not")
ax.legend(frameon=False, fontsize=9, loc="lower right")

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
