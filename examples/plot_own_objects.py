"""
Can a model learn from things that are not numbers?
===================================================

A model needs k(x, z) of two inputs, and nothing else. Here the inputs are melodies: lists of (pitch, length) pairs, of
any number of notes. Three ways to a kernel are shown: features (then it is a kernel by construction), a similarity of
two melodies (then it is tested on the data, and refused with the melodies that show it if it is none), and a function
of the distance between features. Ridge regression then learns a melody's tempo from its notes.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.exceptions import NotPositiveDefinite
from mercer.kernels import FeatureMap, Gaussian, Pairwise, RadialOf
from mercer.selection import LOO, nested_cv
from mercer.testing import check_kernel

rng = np.random.default_rng(0)


def melody(calm):
    """Some notes: a calm melody has small steps and long notes."""
    n = rng.integers(12, 30)
    pitch = 60 + np.cumsum(np.round(rng.standard_normal(n) * (1.0 + 4.0 * (1.0 - calm))))
    return list(zip(pitch.astype(int), rng.choice([1, 2, 4], n, p=[0.8 - 0.6 * calm, 0.2, 0.6 * calm]), strict=True))


calmness = rng.uniform(0, 1, 80)
melodies = [melody(calm) for calm in calmness]
tempo = 160 - 90 * calmness + 6 * rng.standard_normal(80)


def shares(music):
    """φ: for each melody the shares of steps of 0, …, 11 and of 12 or more half-tones, and of notes of each length."""
    steps = [np.bincount(np.minimum(np.abs(np.diff([p for p, _ in notes])), 12), minlength=13) for notes in music]
    lengths = [np.bincount([length for _, length in notes], minlength=5) for notes in music]
    return np.array([np.append(s / s.sum(), n / n.sum()) for s, n in zip(steps, lengths, strict=True)])


def shared_notes(a, b):
    """How many different notes two melodies share: an inner product of indicators, so a kernel."""
    return len(set(a) & set(b))


try:
    KernelRidge(Pairwise(lambda a, b: -abs(len(a) - len(b)))).fit(melodies, tempo)  # a similarity, but no kernel
except NotPositiveDefinite as error:
    print(f"Refused: {str(error).splitlines()[0]} ...\n")

radial = RadialOf(Gaussian(0.3), FeatureMap(shares))
kernels = {"shares": FeatureMap(shares), "shares, Gaussian": radial, "shared notes": Pairwise(shared_notes).normalise()}
results = {}
for name, kernel in kernels.items():
    check_kernel(kernel, melodies[:20])  # symmetric, positive semi-definite, tiles, gradient, text
    results[name] = nested_cv(KernelRidge(kernel, criterion=LOO()), melodies, tempo)
    print(f"{name:<20}R² {results[name].score:5.2f} ± {results[name].standard_error:.2f}")

figure, axes = plt.subplots(1, 3, figsize=(16, 5), layout="constrained")
order = np.argsort(calmness)
for i, colour in ((order[-1], "#0072b2"), (order[0], "#d55e00")):
    pitch, length = np.transpose(melodies[i])
    axes[0].hlines(pitch, np.cumsum(length) - length, np.cumsum(length), color=colour, linewidth=4)
axes[0].set(xlabel="time", ylabel="pitch", title="Two inputs: the calmest and the wildest melody")
figure.colorbar(axes[1].imshow(radial([melodies[i] for i in order]), cmap="Blues"), ax=axes[1], shrink=0.8)
axes[1].set(xlabel="melody, calm ones last", ylabel="melody", title="k of all pairs: alike are those of like calm")
axes[2].plot([60, 170], [60, 170], color="0.5", linewidth=0.8)
for (name, result), mark in zip(results.items(), ("o", "s", "^"), strict=True):
    axes[2].plot(tempo, result.predictions, mark, markersize=5, alpha=0.8, label=f"{name}: R² {result.score:.2f}")
axes[2].set(xlabel="tempo", ylabel="predicted", title="80 melodies, each predicted by folds without it")
axes[2].legend(frameon=False, fontsize=9)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
