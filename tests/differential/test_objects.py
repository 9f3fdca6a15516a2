"""Kernels on objects, drawn at random, against plain loops over their definitions, compiled and not."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from differential.test_linear import FIRST, batches
from mercer import _native
from mercer.kernels import (
    BagMean,
    BestMatch,
    Gappy,
    Gaussian,
    LocalAlignment,
    MinMax,
    Mismatch,
    RandomWalk,
    ShortestPath,
    Spectrum,
    Subsequence,
    Tanimoto,
    WeightedDegree,
    WeisfeilerLehman,
)

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


def mismatch(rng):
    k = int(rng.integers(2, 4))
    m = int(rng.integers(0, k))

    def counts(s, u):
        return sum(sum(a != b for a, b in zip(s[i : i + k], u, strict=True)) <= m for i in range(len(s) - k + 1))

    def value(x, z):
        return sum(counts(x, u) * counts(z, u) for u in itertools.product("ACGT", repeat=k))

    return Mismatch(k, m), words(rng, 4), value


def gappy(rng):
    k, gaps, decay = int(rng.integers(1, 4)), int(rng.integers(0, 3)), float(rng.uniform(0.1, 1.0))

    def features(s):
        found = Counter()
        for i in itertools.combinations(range(len(s)), k):
            skipped = i[-1] - i[0] + 1 - k
            if skipped <= gaps:
                found["".join(s[j] for j in i)] += decay**skipped
        return found

    def value(x, z):
        left, right = features(x), features(z)
        return sum(left[u] * right[u] for u in left)

    return Gappy(k, gaps, decay), words(rng, 4), value


def degrees(rng):
    k, shift = int(rng.integers(1, 4)), int(rng.integers(0, 3))
    weights = rng.uniform(0.1, 2.0, k)

    def value(x, z):
        total = 0.0
        for d in range(1, k + 1):
            for i, j in itertools.product(range(len(x) - d + 1), range(len(z) - d + 1)):
                if x[i : i + d] == z[j : j + d]:
                    total += weights[d - 1] * max(0.0, 1.0 - abs(i - j) / (shift + 1))
        return total

    return WeightedDegree(k, shift, weights), words(rng, 4), value


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


def neighbours_of(graph):
    near = {i: [] for i in range(len(graph[1]))}
    for i, j in graph[0]:
        near[i].append(j)
        near[j].append(i)
    return near


def refinement(rng):
    rounds = int(rng.integers(0, 4))
    weights = rng.uniform(0.1, 2.0, rounds + 1)

    def histories(graph):
        """Labels of every round, as nested tuples: the same for the same subtrees."""
        near, labels = neighbours_of(graph), list(graph[1])
        out = [Counter(labels)]
        for _ in range(rounds):
            labels = [(labels[i], tuple(sorted((labels[j] for j in near[i]), key=repr))) for i in near]
            out.append(Counter(labels))
        return out

    def value(x, z):
        pairs = zip(weights, histories(x), histories(z), strict=True)
        return sum(w * sum(a[u] * b[u] for u in a) for w, a, b in pairs)

    return WeisfeilerLehman(rounds, weights), graphs(rng, 4), value


def paths(rng):
    def apart(graph):
        found, near = Counter(), neighbours_of(graph)
        for start in near:
            seen, here, distance = {start}, [start], 0
            while here:
                here = sorted({j for i in here for j in near[i]} - seen)
                distance, seen = distance + 1, seen | set(here)
                for end in here:
                    if start < end:
                        found[(*sorted((graph[1][start], graph[1][end])), distance)] += 1
        return found

    def value(x, z):
        left, right = apart(x), apart(z)
        return sum(left[u] * right[u] for u in left)

    return ShortestPath(), graphs(rng, 4), value


def counts(rng, kind=Tanimoto):
    X = rng.integers(0, 3, (4, 5)) * (rng.uniform(size=(4, 1)) < 0.8)

    def value(x, z):
        if kind is Tanimoto:
            above, below = float(x @ z), float(x @ x + z @ z - x @ z)
        else:
            above, below = float(np.minimum(x, z).sum()), float(np.maximum(x, z).sum())
        return above / below if below else 1.0

    return kind(), X, value


def least_counts(rng):
    return counts(rng, MinMax)


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


DRAWN = (
    spectrum, mismatch, gappy, degrees, subsequence, alignment, walks, refinement, paths, counts, least_counts, bags,
    matches,
)  # fmt: skip


@pytest.mark.parametrize("batch", list(batches(FIRST + 60_000, QUICK, ALL)))
def test_every_value_is_its_definition(batch, monkeypatch):
    for seed in batch:
        for draw in DRAWN:
            kernel, X, value = draw(np.random.default_rng(seed))
            exact = np.array([[value(x, z) for z in X[1:]] for x in X])
            for loops in (_native.LOOPS, _native.Loops(None)):
                for subject in _native.plain.__all__:
                    monkeypatch.setattr(_native, subject, getattr(loops, subject))
                found, diagonal = kernel(X, X[1:]), kernel.diag(X)
                np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-12, err_msg=f"{draw.__name__} {seed}")
                own = [value(x, x) for x in X]
                np.testing.assert_allclose(diagonal, own, rtol=1e-9, atol=1e-12, err_msg=f"{draw.__name__} {seed}")
