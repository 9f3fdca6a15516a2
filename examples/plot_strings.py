"""What do two strings, or two molecules, have in common?

A kernel on objects is all that a model needs: ridge regression, Gaussian processes and classifiers then work on lists
of strings or graphs as they do on rows of numbers.

    python examples/plot_strings.py                 shows the pictures
    python examples/plot_strings.py strings.png    writes them to a file
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from mercer import GaussianProcessRegressor, KernelMachine, KernelRidge
from mercer.kernels import (
    EdgeHistogram,
    Graph,
    Spectrum,
    Subsequence,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
)

rng = np.random.default_rng(0)
figure, axes = plt.subplots(2, 2, figsize=(13, 9), layout="constrained")


def plain(ax, title):
    ax.set_title(title, loc="left", fontsize=11)
    ax.spines[["top", "right"]].set_visible(False)


# 1. Words of three languages: alike are those that share letters in the same order, with gaps or without.
words = [
    "water",
    "waters",
    "wasser",
    "fire",
    "fires",
    "feuer",
    "vuur",
    "father",
    "vater",
    "vader",
    "fathers",
]
K = Subsequence(2, 0.5).normalise()(words)
ax = axes[0, 0]
image = ax.imshow(K, cmap="Blues", vmin=0, vmax=1)
ax.set_xticks(range(len(words)), words, rotation=60, ha="right", fontsize=8)
ax.set_yticks(range(len(words)), words, fontsize=8)
ax.set_title("Subsequence(2, 0.5).normalise(): words in common", loc="left", fontsize=11)
figure.colorbar(image, ax=ax, shrink=0.8)

# 2. Which length of words matters? The target counts one word of two letters; the evidence finds that out.
strands = ["".join("ACGT"[i] for i in rng.integers(4, size=rng.integers(15, 40))) for _ in range(120)]
y = np.array([strand.count("AC") for strand in strands]) + 0.3 * rng.standard_normal(120)
model = GaussianProcessRegressor(Spectrum([1, 2, 3, 4], weights=[1.0, 1.0, 1.0, 1.0])).fit(strands, y)
ax = axes[0, 1]
ax.bar([1, 2, 3, 4], model.kernel_.weights, color="#0072b2")
ax.set(xlabel="letters in a word", ylabel="weight that was learnt", xticks=[1, 2, 3, 4], yscale="log")
plain(ax, "y counts the word AC: Spectrum([1, 2, 3, 4])")
print("weights of words of 1, 2, 3, 4 letters:", np.array2string(model.kernel_.weights, precision=2))

# 3. A signal at a place that is not quite fixed: too little shift misses it, too much sees it everywhere.
ax, shifts = axes[1, 0], [0, 1, 2, 4, 8]
print("\nwobble  accuracy for shift", *shifts)
for wobble, colour in ((0, "#0072b2"), (2, "#d55e00"), (5, "#009e73")):
    X, label = [], rng.integers(2, size=200)
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

# 4. Graphs: a target that depends on what stands next to what. Nodes alone do not tell; more than edges is too much.
graphs, target = [], []
for _ in range(120):
    size = int(rng.integers(5, 12))
    pairs = [(i, int(rng.integers(i))) for i in range(1, size)]  # a tree
    kinds = rng.choice(["C", "N", "O"], size=size)
    graphs.append(Graph(pairs, kinds))
    target.append(sum({kinds[i], kinds[j]} == {"C", "O"} for i, j in pairs))
target = np.array(target) + 0.3 * rng.standard_normal(120)
kernels = [VertexHistogram(), EdgeHistogram(), WeisfeilerLehman(1), WeisfeilerLehman(3)]
errors = [
    -cross_val_score(KernelRidge(kernel, lam=1.0), graphs, target, cv=10, scoring="neg_root_mean_squared_error").mean()
    for kernel in kernels
]
ax = axes[1, 1]
ax.barh(range(len(kernels)), errors, color="#0072b2")
ax.axvline(0.3, color="0.4", linestyle="--", linewidth=1)
ax.set_yticks(range(len(kernels)), [repr(kernel) for kernel in kernels])
ax.set(xlabel="error, 10 folds (the noise is 0.3)")
plain(ax, "y counts the bonds C–O of random trees")
print("\nkernel                 error for the trees")
for kernel, error in zip(kernels, errors, strict=True):
    print(f"{kernel!r:<23}{error:.2f}")

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=120)
    print(f"\nThe pictures are in {sys.argv[1]}.")
else:
    plt.show()
