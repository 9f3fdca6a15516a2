"""The collapsed bound of the evidence: its value beside the formula with n × n, its gradient beside differences."""

import numpy as np
import pytest

from mercer.gram.rows import constant
from mercer.kernels import Matern32
from mercer.primal.collapsed import Bound, maximise_bound
from mercer.sources import Arrays
from mercer.sources.base import Block


@pytest.mark.parametrize("trend", [None, constant])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_and_its_gradient(rng, trend, weighted):
    X = rng.standard_normal((90, 2))
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]) + 0.1 * rng.standard_normal((90, 2))
    w = rng.integers(1, 3, 90).astype(float) if weighted else None
    Z, kernel, lam, h = X[:15], 2.0 * Matern32([1.0, 1.5]), 0.3, 1e-5
    bound = Bound(Arrays(X, y, w), Z, trend, Block(0, X, y, w))
    value, slope, along = bound(kernel, lam)
    if trend is None and w is None:
        Q = kernel(X, Z) @ np.linalg.solve(kernel(Z), kernel(Z, X))
        A = Q + lam * np.eye(90)
        quad = np.einsum("it,it->", y, np.linalg.solve(A, y))
        logs = 2 * (np.linalg.slogdet(A)[1] + 90 * np.log(2 * np.pi))
        missing = 2 * np.trace(kernel(X) - Q) / lam
        assert value == pytest.approx(-0.5 * (quad + logs + missing), rel=1e-10)
    for i in range(kernel.n_theta):
        step = h * (np.arange(kernel.n_theta) == i)
        up, down = (bound(kernel.with_theta(kernel.theta + s), lam)[0] for s in (step, -step))
        assert slope[i] == pytest.approx((up - down) / (2 * h), rel=1e-5)
    up, down = (bound(kernel, lam * np.exp(s))[0] for s in (h, -h))
    assert along == pytest.approx((up - down) / (2 * h), rel=1e-5)


def test_climbing_goes_up(rng):
    X = rng.uniform(-2, 2, (200, 1))
    y = np.sin(2 * X) + 0.1 * rng.standard_normal((200, 1))
    bound = Bound(Arrays(X, y), X[:30], None, Block(0, X, y, None))
    start = 1.0 * Matern32(0.3)
    kernel, lam, value = maximise_bound(bound, start, 0.1, 15)
    assert value > bound(start, 0.1)[0] + 20
    assert value == pytest.approx(bound(kernel, lam)[0], rel=1e-9)
    assert 0.005 < lam < 0.02
