"""Least squares of many rows: what is made of H without H."""

import numpy as np
import pytest

from mercer import BasisRegression
from mercer.exceptions import NotEnoughMemory
from mercer.kernels import PolynomialBasis
from mercer.solvers.least_squares import weighted_fit


@pytest.mark.parametrize("n", [50, 2100])  # with a constant that is not penalised H² is no ‖·‖² of a product of m × m
def test_free_degrees_are_those_of_the_whole_matrix(n):
    rng = np.random.default_rng(0)
    A = np.column_stack([rng.uniform(1, 2, (n, 3)), np.ones(n)])
    penalty, weight = np.array([50.0, 50.0, 50.0, 0.0]), rng.uniform(0.5, 2.0, n)
    found = weighted_fit(A, rng.standard_normal((n, 1)), weight, penalty)
    R = np.sqrt(weight)[:, None] * A
    H = R @ np.linalg.solve(R.T @ R + np.diag(penalty), R.T)
    assert found.free == pytest.approx(weight.sum() - 2 * np.trace(H) + np.sum(H * H.T), abs=1e-9)
    assert "trace" not in found.info


def test_features_beyond_the_memory_are_refused_before_they_are_made():
    X = np.random.default_rng(0).uniform(size=(1000, 4))
    with pytest.raises(NotEnoughMemory, match="1.4"):
        BasisRegression(PolynomialBasis(3), memory=1e6).fit(X, X[:, 0])
