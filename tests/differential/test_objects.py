"""Kernels on objects, drawn at random, against plain loops over their definitions, compiled and not."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from differential.test_linear import FIRST, batches
from mercer import _tiles
from mercer.kernels import BagMean, BestMatch, Gaussian, LocalAlignment, RandomWalk, Spectrum, Subsequence

QUICK, ALL = 6, 60


def words(rng, count, most=6):
    return ["".join(rng.choice(list("ACGT"), rng.integers(0, most))) for _ in range(count)]


def graphs(rng, count):
    """(edges, labels): trees with some edges more."""
    out = []
    for _ in range(count):
        n = int(rng.integers(1, 6))
        edges = {(int(rng.integers(i)), i) for i in range(1, n)}
        edges |= {(i, j) for i, j in itertools.combinations(range(n), 2) if rng.uniform() < 0.2}
        out.append((sorted(edges), [str(v) for v in rng.integers(0, 2, n)]))
    return out


def spectrum(rng):
    k = int(rng.integers(1, 4))

    def value(x, z):
        left, right = (Counter(s[i : i + k] for i in range(len(s) - k + 1)) for s in (x, z))
        return sum(left[u] * right[u] for u in left)

    return Spectrum(k), words(rng, 4), value


def subsequence(rng):
    length, decay = int(rng.integers(1, 4)), float(rng.uniform(0.1, 1.0))

    def value(x, z):
        total = 0.0
        for i in itertools.combinations(range(len(x)), length):
            for j in itertools.combinations(range(len(z)), length):
                if [x[a] for a in i] == [z[b] for b in j]:
                    total += decay ** (i[-1] - i[0] + j[-1] - j[0] + 2)
        return total

    return Subsequence(length, decay), words(rng, 4), value


def alignment(rng):
    beta, start, extend = float(rng.uniform(0.05, 1.0)), float(rng.uniform(1, 3)), float(rng.uniform(0.1, 1))
    match, other = 2.0, -1.0

    def gap(a, b):
        return start + extend * (b - a - 2) if b - a > 1 else 0.0

    def value(x, z):
        total = 1.0
        for size in range(1, min(len(x), len(z)) + 1):
            for i, j in itertools.product(*(itertools.combinations(range(len(s)), size) for s in (x, z))):
                score = sum(match if x[a] == z[b] else other for a, b in zip(i, j, strict=True))
                score -= sum(gap(a, b) for side in (i, j) for a, b in itertools.pairwise(side))
                total += math.exp(beta * score)
        return total

    return LocalAlignment(beta, (match, other), start, extend), words(rng, 3, 5), value


def walks(rng):
    decay = float(rng.uniform(0.005, 0.03))

    def value(x, z):
        def near(g):
            A = np.zeros((len(g[1]), len(g[1])))
            for i, j in g[0]:
                A[i, j] = A[j, i] = 1.0
            return A

        same = np.array([[a == b for b in z[1]] for a in x[1]]).ravel()
        A, step = np.kron(near(x), near(z))[np.ix_(same, same)], np.ones(int(same.sum()))
        total = 0.0
        for _ in range(400):  # walk by walk
            total += step.sum()
            step = decay * (A @ step)
        return total

    return RandomWalk(decay), graphs(rng, 4), value


def bags(rng, lift=BagMean):
    base = Gaussian(float(10.0 ** rng.uniform(-1, 1)))
    X = [rng.standard_normal((rng.integers(1, 5), 2)) for _ in range(4)]

    def value(x, z):
        K = [[math.exp(-0.5 * float(((a - b) ** 2).sum()) / base.length_scale**2) for b in z] for a in x]
        if lift is BagMean:
            return sum(map(sum, K)) / (len(x) * len(z))
        return (sum(map(max, K)) / len(x) + sum(map(max, zip(*K, strict=True))) / len(z)) / 2

    return lift(base), X, value


def matches(rng):
    return bags(rng, BestMatch)


DRAWN = (spectrum, subsequence, alignment, walks, bags, matches)


@pytest.mark.parametrize("batch", list(batches(FIRST + 60_000, QUICK, ALL)))
def test_every_value_is_its_definition(batch):
    for seed in batch:
        for draw in DRAWN:
            kernel, X, value = draw(np.random.default_rng(seed))
            exact = np.array([[value(x, z) for z in X[1:]] for x in X])
            for entries in (0, float("inf")):
                with _tiles.part_of(entries):
                    found, diagonal = kernel(X, X[1:]), kernel.diag(X)
                np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-12, err_msg=f"{draw.__name__} {seed}")
                own = [value(x, x) for x in X]
                np.testing.assert_allclose(diagonal, own, rtol=1e-9, atol=1e-12, err_msg=f"{draw.__name__} {seed}")
