"""
How much of a graph does a model have to see?
=============================================

Two graphs can be compared by their nodes alone, by what stands next to what, or by ever larger neighbourhoods
(Weisfeiler and Lehman). Here y counts the bonds between C and O in random trees of atoms: nodes alone do not tell, and
neighbourhoods larger than a bond split the rows into too many kinds. How many rounds to take is a choice like λ.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from mercer import KernelRidge
from mercer.kernels import EdgeHistogram, Graph, VertexHistogram, WeisfeilerLehman

rng = np.random.default_rng(0)
graphs, y = [], []
for _ in range(150):
    size = int(rng.integers(5, 12))
    pairs = [(i, int(rng.integers(i))) for i in range(1, size)]  # a tree: each node hangs on an earlier one
    kinds = rng.choice(["C", "N", "O"], size=size)
    graphs.append((pairs, kinds))
    y.append(sum({kinds[i], kinds[j]} == {"C", "O"} for i, j in pairs))
counts, y = np.array(y), np.array(y) + 0.3 * rng.standard_normal(150)
X = [Graph(pairs, kinds) for pairs, kinds in graphs]

figure, axes = plt.subplots(1, 3, figsize=(17, 5), layout="constrained")

# 1. Two of the inputs.
colours = {"C": "#222222", "N": "#0072b2", "O": "#d55e00"}
for number, shift in ((int(np.argmax(counts)), 0.0), (int(np.argmin(counts)), 10.5)):
    pairs, kinds = graphs[number]
    place = np.array([[shift + 4 * np.cos(a), 4 * np.sin(a)] for a in np.linspace(0, 2 * np.pi, len(kinds) + 1)[:-1]])
    for i, j in pairs:
        bond = {kinds[i], kinds[j]} == {"C", "O"}
        axes[0].plot(*place[[i, j]].T, color="#d55e00" if bond else "0.7", linewidth=3 if bond else 1.5, zorder=1)
    for (u, v), kind in zip(place, kinds, strict=True):
        axes[0].text(u, v, kind, color="white", ha="center", va="center", fontsize=11,
                     bbox={"boxstyle": "circle", "facecolor": colours[kind], "edgecolor": "none"})  # fmt: skip
    axes[0].text(shift, -5.6, f"{counts[number]} bonds C–O", ha="center")
axes[0].set(aspect="equal", xlim=(-5.5, 16), ylim=(-6.5, 5.5))
axes[0].axis("off")
axes[0].set_title("Two inputs", loc="left", fontsize=11)

# 2. Errors of ridge regression on each kernel, on folds that it did not see.
kernels = [VertexHistogram(), EdgeHistogram(), *(WeisfeilerLehman(rounds) for rounds in (1, 2, 3, 4))]
errors = []
for kernel in kernels:
    scores = cross_val_score(KernelRidge(kernel, lam=1.0), X, y, cv=10, scoring="neg_root_mean_squared_error")
    errors.append(-scores.mean())
    print(f"{kernel!r:<23}{errors[-1]:.2f}")
axes[1].barh(range(len(kernels)), errors, color="#0072b2")
axes[1].axvline(0.3, color="0.4", linestyle="--", linewidth=1)
axes[1].set_yticks(range(len(kernels)), [repr(kernel) for kernel in kernels])
axes[1].invert_yaxis()
axes[1].set(xlabel="error, 10 folds (the noise is 0.3)")
axes[1].set_title("What the kernel sees decides", loc="left", fontsize=11)

# 3. The Gram matrix, rows in the order of y: edges know y, nodes hardly.
K = EdgeHistogram().normalise()([X[i] for i in np.argsort(counts, kind="stable")])
figure.colorbar(axes[2].imshow(K, cmap="Blues", vmin=0, vmax=1), ax=axes[2], shrink=0.8)
axes[2].set(xlabel="graph, in the order of its bonds C–O", ylabel="graph")
axes[2].set_title("EdgeHistogram().normalise()", loc="left", fontsize=11)
axes[1].spines[["top", "right"]].set_visible(False)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
