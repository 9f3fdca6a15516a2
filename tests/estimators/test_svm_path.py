"""A path whose K is stored in float32: every fit is made certain in float64, all in one pass."""

import numpy as np
import pytest

from mercer import SVR, svr_path
from mercer.dual import working_set
from mercer.estimators import _svm_path
from mercer.gram import DenseGram
from mercer.kernels import Gaussian, Linear


@pytest.fixture
def rounded(monkeypatch):
    monkeypatch.setattr(working_set, "_dtype", lambda *args: np.dtype(np.float32))


def data(rng, n=150):
    X = rng.standard_normal((n, 3))
    return X, np.sin(X[:, 0]) + 0.3 * rng.standard_normal(n)


def gaps(found, K, y):
    """Primal less dual objective of every fit, by the definition."""
    out = np.empty(found.gap.shape)
    for (i, j), b in np.ndenumerate(found.intercept):
        a, C, epsilon = found.dual_coef[i, j], found.Cs[i], found.epsilons[j]
        primal = 0.5 * a @ K @ a + C * np.maximum(np.abs(y - K @ a - b) - epsilon, 0.0).sum()
        out[i, j] = primal - (y @ a - epsilon * np.abs(a).sum() - 0.5 * a @ K @ a)
    return out


def test_one_product_makes_all_fits_certain(rounded, rng, monkeypatch):
    X, y = data(rng)
    kernel, passes, exact_product = Gaussian(1.5), [], DenseGram.exact_product

    def counted(K, A):
        passes.append(A.shape)
        return exact_product(K, A)

    monkeypatch.setattr(DenseGram, "exact_product", counted)
    found = svr_path(kernel, X, y, [0.3, 3.0, 30.0], [0.2, 0.05], tol=1e-4)
    assert passes == [(150, 6)]
    assert (found.status == "converged").all()
    assert found.violation.max() <= 1e-4
    np.testing.assert_allclose(found.gap, gaps(found, kernel(X), y), rtol=1e-6, atol=1e-9)
    for (i, j), gap in np.ndenumerate(found.gap):
        one = SVR(kernel, C=found.Cs[i], epsilon=found.epsilons[j], tol=1e-4).fit(X, y)
        assert found.objective[i, j] == pytest.approx(one.dual_objective_, abs=one.dual_gap_ + gap + 1e-9)


def test_what_proves_not_to_be_a_solution_goes_on_until_it_is(rounded, rng, monkeypatch):
    """K stored with an error of one part in a hundred: the certificates are those of the true one."""
    X, y = data(rng, 80)
    kernel, hold = Gaussian(1.0), working_set.hold
    right = svr_path(kernel, X, y, [1.0, 10.0])

    def wrong(K, tol, memory):
        held = hold(K, tol, memory)
        held.matrix *= np.float32(1.01)
        return held

    monkeypatch.setattr(_svm_path, "hold", wrong)
    found = svr_path(kernel, X, y, [1.0, 10.0])
    np.testing.assert_allclose(found.gap, gaps(found, kernel(X), y), rtol=1e-6, atol=1e-9)
    assert (found.status == "converged").all()
    assert found.violation.max() <= 1e-3
    np.testing.assert_allclose(found.objective, right.objective, rtol=0, atol=(found.gap + right.gap).max())


def test_a_missing_value_in_x_is_named():
    with pytest.raises(ValueError, match="X has a NaN or infinite entry in row 1"):
        svr_path(Linear(), [[0.0], [np.nan], [1.0]], [0.0, 1.0, 2.0], [1.0])
