"""Every loss on landmarks: the exact minimum where they are all rows."""

import warnings

import numpy as np
import pytest

import mercer
from mercer import KernelMachine, Landmarks
from mercer.exceptions import NumericalWarning
from mercer.kernels import Gaussian
from mercer.losses import Absolute, Hinge, Huber, Logistic, Poisson, Quantile, Squared, SquaredHinge
from mercer.primal import smooth
from mercer.primal.lbfgs import minimise_columns
from mercer.primal.pass_losses import SmoothedLoss

SMOOTH = [Squared(), Huber(0.2), Poisson(), Logistic(), SquaredHinge()]


def data(loss, rng, n=300):
    X = rng.standard_normal((n, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    if loss.classification:
        return X, np.where(f + 0.3 * rng.standard_normal(n) > 0, "yes", "no")
    return X, rng.poisson(np.exp(f)).astype(float) if loss.positive_only else f + 0.3 * rng.standard_normal(n)


def quiet(model, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        return model.fit(*arguments)


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_smooth_losses_reach_the_exact_minimum(loss, rng):
    X, y = data(loss, rng)
    w = rng.integers(1, 3, len(y)).astype(float)
    options = {"loss": loss, "lam": 0.3}
    exact = KernelMachine(Gaussian(0.5), **options).fit(X, y, w)
    model = quiet(KernelMachine(Gaussian(0.5), approximation=Landmarks(choose=X), **options), X, y, w)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-5)
    assert model.objective_ >= exact.objective_ - 1e-9 * abs(exact.objective_)
    assert model.objective_ - exact.objective_ <= model.dual_gap_ + 1e-6 * abs(exact.objective_)
    if loss.classification:
        assert (model.predict(X) == exact.predict(X)).mean() > 0.99
    else:
        np.testing.assert_allclose(model.predict(X), exact.predict(X), rtol=0.05, atol=0.02)


@pytest.mark.parametrize("lam", [1e-5, 1e-8])
def test_a_tiny_lambda_reaches_the_minimum(lam, rng):
    X, y = data(Logistic(), rng, 1500)
    Z, options = X[:60], {"loss": "logistic", "lam": lam}
    model = quiet(KernelMachine(Gaussian(1.0), approximation=Landmarks(choose=Z), **options), X, y)
    assert model.fit_report_["status"] == "converged"
    # Newton's method by hand, on the features a = L⁻¹k and a constant
    Z, sign = model.points_, np.where(y == model.classes_[1], 1.0, -1.0)
    A = np.linalg.solve(np.linalg.cholesky(Gaussian(1.0)(Z)), Gaussian(1.0)(Z, X)).T
    A, penalty = np.column_stack([A, np.ones(len(A))]), np.append(np.full(len(Z), 2.0 * lam), 0.0)
    theta, value = np.zeros(A.shape[1]), np.inf
    for _ in range(60):
        p = 1.0 / (1.0 + np.exp(np.clip(sign * (A @ theta), -500, 500)))
        step = np.linalg.solve(
            (A.T * (p * (1.0 - p))) @ A + np.diag(penalty + 1e-14), penalty * theta - A.T @ (sign * p)
        )
        for length in 0.5 ** np.arange(30):
            there = theta - length * step
            now = np.logaddexp(0.0, -sign * (A @ there)).sum() + 0.5 * penalty @ there**2
            if now <= value:
                theta, value = there, now
                break
    assert model.objective_ == pytest.approx(value, rel=2e-5)


@pytest.mark.parametrize("most", [1, 5])
def test_a_step_that_leads_nowhere_is_said_at_once(most):
    class Kink:  # |θ|, whose slope is that of a line through the kink: no step along it goes down
        def evaluate(self, theta, hessians):
            return np.abs(theta).sum(axis=0), np.ones(theta.shape)

    class Far:
        def solve(self, B):
            return 1e9 * B

    theta, value, _, steps, status = minimise_columns(Kink(), np.zeros((1, 1)), Far(), tol=1e-6, max_iter=most)
    assert (theta, value, steps, status) == (0.0, 0.0, 1, "stalled")


def test_a_tiny_lambda_ends_whatever_newtons_steps_round_to():
    rng = np.random.default_rng(1)  # the first step at which nothing is raised leads too far
    X, y = data(Logistic(), rng, 1500)
    how = Landmarks(choose=X[:60])
    model = quiet(KernelMachine(Gaussian(1.0), loss="logistic", lam=1e-8, approximation=how), X, y)
    assert model.fit_report_["status"] == "converged" and model.objective_ < 250


@pytest.mark.parametrize("loss", [Absolute(), Quantile([0.1, 0.9]), Hinge()], ids=repr)
def test_corners_are_rounded_off_and_said(loss, rng):
    X, y = data(loss, rng)
    options = {"loss": loss, "lam": 0.3}
    exact = KernelMachine(Gaussian(0.5), **options).fit(X, y)
    model = quiet(KernelMachine(Gaussian(0.5), approximation=Landmarks(choose=X), **options), X, y)
    assert model.fit_report_["rounded_off"] > 0
    assert model.objective_ <= exact.objective_ * 1.001  # a rounded loss is below the loss
    assert model.score(X, y) > exact.score(X, y) - 0.02


@pytest.mark.parametrize("loss", [Absolute(), Quantile(0.2), Hinge()], ids=repr)
def test_a_rounded_loss_has_its_derivatives(loss, rng):
    y = np.sign(rng.standard_normal(200)) if loss.classification else rng.standard_normal(200)
    f, one = 3 * rng.standard_normal(200), SmoothedLoss(loss, 0.3)
    h = 1e-6
    np.testing.assert_allclose(one.grad(y, f), (one.value(y, f + h) - one.value(y, f - h)) / (2 * h), atol=1e-6)
    assert (one.value(y, f) <= loss.value(y, f) + 1e-12).all()
    assert (loss.value(y, f) - one.value(y, f) <= 0.3).all()
    assert (one.hess(y, f) >= 0).all()


def test_several_classes_by_one_softmax(rng):
    X, f = data(Squared(), rng)
    y = np.where(f > 0.5, "high", np.where(f < -0.5, "low", "mid"))
    options = {"loss": "logistic", "multi_class": "softmax", "lam": 0.3}
    exact = KernelMachine(Gaussian(0.5), **options).fit(X, y)
    model = quiet(KernelMachine(Gaussian(0.5), approximation=Landmarks(choose=X), **options), X, y)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=0.02)
    many = quiet(KernelMachine(Gaussian(0.5), loss="logistic", lam=0.3, approximation=Landmarks(60)), X, y)
    assert (many.predict(X) == exact.predict(X)).mean() > 0.9 and many.dual_coef_.shape[1] == 3


def test_plan_report_and_file(rng, tmp_path):
    X, y = data(Logistic(), rng)
    model = KernelMachine(Gaussian(0.5), "logistic", approximation=Landmarks(200))
    planned = mercer.plan(model, X, y)
    assert planned == quiet(model, X, y).plan_ and planned.landmarks == 200
    assert model.fit_report_["approximation"]["verdict"] in ("good enough", "not enough landmarks")
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    assert mercer.plan(KernelMachine(loss="logistic"), n=1_000_000, d=5).gram == "landmarks"
    assert mercer.plan(KernelMachine(loss="logistic", approximation=None), n=1_000_000, d=5).gram == "tiled"


def test_the_curve_is_of_rows_that_the_fit_has_seen(rng):
    X, y = data(Logistic(), rng, 3000)  # a fifth of the rows are candidates
    model = quiet(KernelMachine(Gaussian(1.0), "logistic", 1.0, approximation=Landmarks(150)), X, y)
    assert all(error < 1.0 for _, error, _ in model.fit_report_["approximation"]["loo"])


def test_steps_of_newton_that_lead_nowhere_end(monkeypatch):
    """Without a raise a step stalls, with one it has converged: these took turns for ever."""
    rounds = []

    class Problem:
        def curve(self, theta, hessians, shared, raised, deadline):
            rounds.append(raised)
            assert len(rounds) < 20

    def minimise_columns(problem, theta, hessians, **limits):
        return theta, 1.0, 0.0, 0, "converged" if rounds[-1] else "stalled"

    monkeypatch.setattr(smooth, "minimise_columns", minimise_columns)
    limits = {"clock": smooth.FOREVER, "pairs": []}
    *_, steps, status = smooth._newton(Problem(), (0.0, 1.0, 0.0), None, False, 3, 100, limits)
    assert (steps, status, rounds[-1] > 0) == (3, "stalled", True)
