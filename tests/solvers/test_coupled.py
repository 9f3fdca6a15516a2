"""The inverse behind a softmax: equal to the one of order C n in the plainest way; small stacks beside it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.exceptions import NotPositiveDefinite
from mercer.gram import DenseGram
from mercer.kernels import Gaussian
from mercer.solvers.coupled import Coupled
from mercer.solvers.small import least_norm, roots, solve_each

N, C = 12, 3


@pytest.fixture
def plain(rng):
    """(K, D, W of order C n), rows of a class one after the other."""
    K = 5.0 * Gaussian(0.7)(rng.standard_normal((N, 2)))
    p = rng.dirichlet(np.ones(C), N)
    p[0], p[1] = [1.0 - 2e-10, 1e-10, 1e-10], [0.5, 0.5 - 1e-14, 1e-14]
    w = rng.uniform(0.5, 3.0, N)
    W = np.zeros((C * N, C * N))
    for i in range(N):
        index = np.arange(C) * N + i
        W[np.ix_(index, index)] = w[i] * (np.diag(p[i]) - np.outer(p[i], p[i]))
    return K, w[:, None] * p, W


def test_products_determinant_and_covariances(plain, rng):
    K, D, W = plain
    R, big = Coupled(DenseGram.from_matrix(K), D), np.kron(np.eye(C), K)
    B = np.eye(C * N) + W @ big
    truth = np.linalg.solve(B, W)  # (K + W⁻)⁻¹ = (I + W K)⁻¹ W
    x = rng.standard_normal((N, C, 2))
    flat = x.transpose(1, 0, 2).reshape(C * N, 2)
    assert_allclose(R @ x, (truth @ flat).reshape(C, N, 2).transpose(1, 0, 2), atol=1e-10)
    assert_allclose(R @ x[:, :, 0], (R @ x)[:, :, 0], rtol=1e-12, atol=1e-14)
    assert_allclose(R.half_logdet(), 0.5 * np.linalg.slogdet(B)[1], rtol=1e-9)
    S = (big - big @ truth @ big).reshape(C, N, C, N)
    V = R.halves()
    assert_allclose(R.covariances(V), np.stack([S[:, i, :, i] for i in range(N)]), atol=1e-7)
    blocks = sum(truth[c * N : (c + 1) * N, c * N : (c + 1) * N] for c in range(C))
    assert_allclose(R.diagonal_blocks(V), blocks, atol=1e-10)
    assert R.info["jitter"] == 0.0


def test_what_is_added_to_the_diagonal_is_told():
    K, D = DenseGram.from_matrix(np.full((20, 20), 1e17)), np.full((20, 2), 0.25)
    with pytest.raises(NotPositiveDefinite, match="factored"):
        Coupled(K, D)
    assert Coupled(K, D, jitter="auto").info["jitter"] > 0.0


def test_many_small_systems(rng):
    A = rng.standard_normal((5, 3, 3))
    S = A @ np.swapaxes(A, 1, 2)
    R = roots(S)
    assert_allclose(R @ np.swapaxes(R, 1, 2), S, atol=1e-12)
    assert (np.diff(np.sum(R**2, axis=1), axis=1) <= 1e-12).all()
    assert_allclose(S @ solve_each(S, A), A, atol=1e-8)
    P = np.eye(3) - 1.0 / 3.0
    b = P @ rng.standard_normal(3)
    assert_allclose(least_norm(P, b), np.linalg.pinv(P) @ b, atol=1e-12)
