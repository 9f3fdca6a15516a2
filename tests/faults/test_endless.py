"""Support vectors where rounding allows no solution: every search ends soon, and says truly how it ended."""

import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import SVR, KernelMachine, _native
from mercer._native import plain
from mercer.compat import NuSVR
from mercer.kernels import Gaussian, Linear

SECONDS = 10.0  # a hundred times what each takes with compiled loops
OTHER = pytest.param(340, "NumPy", marks=pytest.mark.slow)
WAYS = pytest.mark.parametrize(
    ("n", "loops"), [(24, "compiled"), (24, "NumPy"), (340, "compiled"), OTHER], indirect=["loops"]
)


@pytest.fixture
def loops(request, monkeypatch):
    if request.param == "NumPy":
        monkeypatch.setattr(_native, "dual", plain.dual)


def data(n, d=2):
    rng = np.random.default_rng(n)
    X = rng.uniform(-2, 2, (n, d))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(n), rng


def assert_ends(model, X, y, sample_weight=None):
    """Fit; a status that is not "converged" comes with a warning, and one that is with a violation within ``tol``."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started = time.perf_counter()
        model.fit(X, y, sample_weight=sample_weight)
        assert time.perf_counter() - started < SECONDS
    assert np.isfinite(model.predict(X)).all()
    warned = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    status = model.fit_report_["status"]
    assert status in ("converged", "stalled") and warned == (status != "converged")
    if status == "converged" and hasattr(model, "kkt_violation_"):
        assert model.kkt_violation_ <= model.tol


@WAYS
@pytest.mark.parametrize("nu", [None, 0.5])
@pytest.mark.parametrize("scale", [1e-30, 1e-150, 1e30])
def test_targets_of_any_unit(scale, nu, n, loops):
    X, y, _ = data(n)
    assert_ends(SVR(nu=nu), X, scale * y)


@WAYS
@pytest.mark.parametrize("nu", [None, 0.5, 0.1])
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(10.0)])
@pytest.mark.parametrize("C", [1e10, 1e15])
def test_boxes_beyond_the_digits(C, kernel, nu, n, loops):
    X, y, _ = data(n)
    assert_ends(SVR(kernel, C=C, nu=nu), X, y)


@WAYS
@pytest.mark.parametrize(("nu", "decades"), [(None, 5), (0.5, 5), (None, 20), (0.05, 20), (0.5, 50), (0.05, 50)])
def test_weights_of_mixed_sizes(decades, nu, n, loops):
    X, y, rng = data(n)
    weight = 10.0 ** rng.uniform(-decades, decades, n)
    model = SVR(Gaussian(1.0), nu=nu)
    assert_ends(model, X, y, weight)
    assert n > 24 or model.fit_report_["status"] == "converged"


@pytest.mark.parametrize("loops", ["compiled", "NumPy"], indirect=True)
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_nu_of_libsvm_on_a_kernel_of_rank_one_and_with_weights(C, loops):
    X, y, rng = data(100, 1)
    model = NuSVR(kernel="linear", C=C)
    assert_ends(model, X, y)
    assert model.fit_report_["status"] == "converged"
    assert_ends(NuSVR(C=C), X, y, 10.0 ** rng.uniform(-20, 20, len(y)))


@pytest.mark.parametrize("loops", ["compiled", "NumPy"], indirect=True)
@pytest.mark.parametrize("lam", [1e-10, 1e-15])
def test_other_losses(lam, loops):
    X, y, _ = data(60)
    for loss in ("absolute", "epsilon_insensitive", "quantile"):
        assert_ends(KernelMachine(Linear(), loss=loss, lam=lam), X, y)
