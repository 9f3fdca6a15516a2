"""Pairs of walks: compiled and in NumPy, beside the linear system of the product graph."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import Graph
from mercer.kernels.objects.walks import Walkers


def graphs(rng, count, nodes, labels):
    """`Walkers` of graphs with some loops, some without edges, some without nodes."""
    out = []
    for _ in range(count):
        n = int(rng.integers(0, nodes + 1))
        edges = rng.integers(0, n, (int(rng.integers(0, 2 * n)), 2)) if n else np.zeros((0, 2), dtype=int)
        out.append(Graph(edges.tolist(), labels=rng.integers(0, labels, n).tolist()))
    return out, Walkers.build(out)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_walks_solve_the_system_of_the_product_graph(compiled, plain, seed):
    rng = np.random.default_rng(seed)
    (X, x), (Z, z) = (graphs(rng, int(rng.integers(1, 5)), 7, int(rng.integers(1, 4))) for _ in range(2))
    left, right = np.divmod(np.arange(len(X) * len(Z)), len(Z))
    decay = float(rng.uniform(0.05, 0.9)) / max(x.top.max() * z.top.max(), 1.0)
    values, slopes = [], []
    for a, b in zip(left, right, strict=True):
        same = (X[a].labels[:, None] == Z[b].labels).ravel()
        A = np.kron(X[a].adjacency(), Z[b].adjacency())[np.ix_(same, same)]
        v = np.linalg.solve(np.eye(len(A)) - decay * A, np.ones(len(A))) if len(A) else np.zeros(0)
        values.append(v.sum())
        slopes.append(v @ A @ v)
    for loops in (compiled, plain):
        found, slope = loops.walks.walks(x.arrays, z.arrays, left, right, decay, 1e-15, 2000, True)
        np.testing.assert_allclose(found, values, rtol=1e-10)
        np.testing.assert_allclose(slope, slopes, rtol=1e-9, atol=1e-12)
        again, none = loops.walks.walks(x.arrays, z.arrays, left, right, decay, 1e-15, 2000, False)
        assert none is None
        np.testing.assert_array_equal(again, found)


def test_parts_no_pairs_and_no_convergence(compiled, plain, rng):
    _, x = graphs(rng, 9, 12, 2)
    none = np.zeros(0, dtype=np.int64)
    for loops in (compiled, plain):
        whole, _ = loops.walks.walks(x.arrays, x.arrays, np.arange(9), np.arange(9), 0.01, 1e-15, 2000, False)
        part = x[::-2]
        found, _ = loops.walks.walks(part.arrays, part.arrays, np.arange(5), np.arange(5), 0.01, 1e-15, 2000, False)
        np.testing.assert_allclose(found, whole[::-2], rtol=1e-14)
        assert loops.walks.walks(x.arrays, x.arrays, none, none, 0.01, 1e-15, 2000, True)[1].shape == (0,)
        path = Walkers.build([Graph([(i, i + 1) for i in range(9)])])
        stopped, _ = loops.walks.walks(path.arrays, path.arrays, [0], [0], 0.2, 1e-15, 2, False)
        assert np.isnan(stopped).all()
