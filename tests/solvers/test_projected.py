"""The trend projected out, by every solver: α and b, weights of predictions and what they explain."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.exceptions import NotPositiveDefinite
from mercer.gram import DenseGram
from mercer.solvers import CG, Cholesky, Explicit, Mixed, Projected, Span, Spectral

LAM = 0.3


@pytest.fixture
def system(rng):
    A = rng.standard_normal((12, 15))
    return A @ A.T, np.hstack([np.ones((12, 1)), rng.standard_normal((12, 2))]), rng.standard_normal((12, 2)) + 50.0


@pytest.mark.parametrize("solver", [Cholesky(), Mixed(), Spectral(), CG()], ids=lambda s: type(s).__name__)
def test_regression_with_a_trend_is_generalised_least_squares(system, solver):
    K, H, y = system
    inverse = np.linalg.inv(K + LAM * np.eye(12))
    b = np.linalg.solve(H.T @ inverse @ H, H.T @ inverse @ y)
    P = solver.resolvent(DenseGram.from_matrix(K), H)(LAM)
    alpha, found = P.regress(y)
    assert P.q == 3
    assert_allclose(found, b, rtol=1e-7)
    assert_allclose(alpha, inverse @ (y - H @ b), atol=1e-8)
    assert_allclose(P @ y, alpha, atol=1e-8)
    assert_allclose(H.T @ alpha, 0.0, atol=1e-11)


@pytest.mark.parametrize("solver", [Cholesky(), Mixed(), Spectral()], ids=lambda s: type(s).__name__)
def test_weights_are_those_of_universal_kriging(system, rng, solver):
    K, H, y = system
    B, h = rng.standard_normal((12, 4)), rng.standard_normal((4, 3))
    P = solver.resolvent(DenseGram.from_matrix(K), H)(LAM)
    # The weights E and multipliers m of the best linear unbiased prediction: [[K̃, H], [Hᵀ, 0]] [E; m] = [B; hᵀ].
    bordered = np.block([[K + LAM * np.eye(12), H], [H.T, np.zeros((3, 3))]])
    solution = np.linalg.solve(bordered, np.vstack([B, h.T]))
    E, m = solution[:12], solution[12:]
    found = P.kriging_weights(B, h)
    assert_allclose(found.E, E, atol=1e-9)
    assert_allclose(found.trend_residual, m, atol=1e-9)
    known = 2 * E.T @ B - E.T @ (K + LAM * np.eye(12)) @ E
    assert_allclose(P.explained_covariance(B.copy(), h), (known + known.T) / 2, atol=1e-9)
    assert_allclose(P.explained_variance(B.copy(), h), np.diag(known), atol=1e-9)
    alpha, b = P.regress(y)
    assert_allclose(found.E.T @ y, B.T @ alpha + h @ b, rtol=1e-8)


def test_an_offset_of_y_costs_no_digits(system):
    K, H, y = system
    P = Cholesky().resolvent(DenseGram.from_matrix(K), H)(LAM)
    alpha = P.regress(y)[0]
    assert_allclose(P.regress(y + 2.0**40)[0], alpha, atol=1e-3)  # of 1e12, y itself has lost that much
    assert_allclose(P @ (y + H @ np.full((3, 2), 1e3)), alpha, atol=1e-10)


def test_a_trial_repairs_nothing_and_tells_nothing(recwarn):
    K = DenseGram.from_matrix(np.ones((3, 3)))  # singular: a fit adds to the diagonal, and says so
    with pytest.raises(NotPositiveDefinite):
        Cholesky().resolvent(K).unchecked(0.0)
    assert not recwarn.list
    with pytest.warns(match="diagonal"):
        Cholesky().resolvent(K)(0.0)


def test_dependent_columns_are_refused():
    with pytest.raises(ValueError, match="dependent"):
        Span(np.ones((5, 2)))
    with pytest.raises(ValueError, match="trend"):
        Span(np.ones((1, 2)))
    assert Projected(Explicit(np.eye(2), 1.0), np.ones((2, 1))).q == 1
