"""An approximation ends when the clock does: where it is, and saying so."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import GaussianProcessClassifier
from mercer._clock import Clock
from mercer.gram import DenseGram
from mercer.inference.elliptical import elliptical
from mercer.inference.ep import expectation_propagation
from mercer.inference.likelihood import Binary, Logit
from mercer.inference.sites import laplace
from mercer.inference.softmax import Softmax, softmax_laplace
from mercer.kernels import Gaussian

X = np.linspace(-2.0, 2.0, 40)[:, None]
K = DenseGram.from_matrix(9.0 * Gaussian(0.5)(X))
TWO = Binary(Logit(), np.where(np.sin(5 * X[:, 0]) > 0, 1.0, -1.0))
THREE = Softmax(np.arange(40) % 3, 3)


@pytest.mark.parametrize(
    ("way", "labels"),
    [(laplace, TWO), (softmax_laplace, THREE), (expectation_propagation, TWO)],
    ids=["laplace", "softmax", "ep"],
)
def test_at_the_end_of_the_clock_one_step_is_made_and_it_is_said(way, labels):
    found, free = way(K, labels, clock=Clock(0.0)), way(K, labels, clock=Clock(1e6))
    assert found.info["iterations"] == 1 and found.info["status"] == "time_budget" and not found.info["converged"]
    assert free.info["converged"] and "status" not in free.info
    assert np.isfinite(found.log_evidence) and np.abs(found.f).max() > 0.1
    assert np.array_equal(free.f, way(K, labels).f)


def test_chains_end_with_the_draws_there_are():
    found = elliptical(K, TWO, n_samples=400, clock=Clock(0.0), least=30)
    assert found.info["draws"] == 30 - 30 // 3 and found.info["status"] == "time_budget"
    assert np.isfinite(found.log_evidence) and ((found.loo() > 0) & (found.loo() < 1)).all()
    whole, free = elliptical(K, TWO, n_samples=21, clock=Clock(1e6)), elliptical(K, TWO, n_samples=21)
    assert whole.info["draws"] == 21 and np.array_equal(whole.z, free.z)


@pytest.mark.parametrize("inference", ["laplace", "ep", "mcmc"])
def test_a_classifier_says_that_its_time_was_spent(inference):
    model = GaussianProcessClassifier(9.0 * Gaussian(0.5), criterion=None, inference=inference, time_budget=1e-6)
    with pytest.warns(ConvergenceWarning, match=r"the time budget of 1e-06 s was spent after \d+ "):
        model.fit(X, TWO.t)
    assert np.isfinite(model.predict_proba(X)).all()


def test_each_class_against_the_rest_has_its_share():
    model = GaussianProcessClassifier(9.0 * Gaussian(0.5), criterion=None, multi_class="one_vs_rest", time_budget=1e-6)
    with pytest.warns(ConvergenceWarning, match="time budget"):
        model.fit(X, THREE.y)
    assert [info["iterations"] for info in model.fit_report_["posteriors"]] == [1, 1, 1]
