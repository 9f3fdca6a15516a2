"""Discrete transport: compiled and in NumPy, beside the linear programme."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

TINY = 1e-15


def masses(rng, size):
    a = rng.random(size) + 0.01
    return a / a.sum()


def is_optimal(C, a, b, flow):
    """Whether flow moves a to b and no closed path lowers its cost: by Bellman and Ford over all nodes."""
    assert (flow >= 0).all()
    np.testing.assert_allclose(flow.sum(axis=1), a, atol=1e-12)
    np.testing.assert_allclose(flow.sum(axis=0), b, atol=1e-12)
    q, m = C.shape
    row, column = np.zeros(q), np.zeros(m)
    back = np.where(flow > 0, -C, np.inf)
    for _ in range(2 * (q + m)):
        new_column = np.minimum(column, (row[:, None] + C).min(axis=0))
        new_row = np.minimum(row, (new_column + back).min(axis=1))
        if max(abs(new_column - column).max(), abs(new_row - row).max()) <= 1e-9 * (1 + abs(C).max()):
            return True
        row, column = new_row, new_column
    return False


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_flows_are_optimal(compiled, plain, seed):
    rng = np.random.default_rng(seed)
    q, m = rng.integers(1, 40, 2)
    C = [rng.random((q, m)), rng.integers(0, 3, (q, m)).astype(float), rng.normal(0, 1e6, (q, m))][seed % 3]
    a, b = masses(rng, q), masses(rng, m)
    if seed % 2:
        a = np.full(q, 1.0 / q)
    before = C.copy(), a.copy(), b.copy()
    for loops in (compiled, plain):
        flow = loops.transport.cheapest_flow(C, a, b, TINY)
        assert is_optimal(C, a, b, flow) and flow.flags.c_contiguous
    for given_array, copy in zip((C, a, b), before, strict=True):
        np.testing.assert_array_equal(given_array, copy)


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 33])
def test_equal_masses_are_an_assignment(size, compiled, plain, rng):
    C, a = rng.random((size, size)), np.full(size, 1.0 / size)
    for loops in (compiled, plain):
        flow = loops.transport.cheapest_flow(C.T[::-1].T, a, a, TINY)
        best = C.T[::-1].T
        np.testing.assert_allclose(np.vdot(flow, best), best[linear_sum_assignment(best)].sum() / size, rtol=1e-12)


def test_without_mass_nothing_flows(compiled, plain):
    for loops in (compiled, plain):
        for q, m in ((0, 0), (0, 3), (3, 0), (2, 3)):
            flow = loops.transport.cheapest_flow(np.ones((q, m)), np.zeros(q), np.zeros(m), TINY)
            assert flow.shape == (q, m) and not flow.any()
        some = loops.transport.cheapest_flow(np.ones((2, 2)), np.ones(2), np.array([0.5, 0.0]), TINY)
        assert some.sum() == 0.5  # what nobody takes stays
