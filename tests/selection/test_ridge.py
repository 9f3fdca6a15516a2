"""KernelRidge(criterion=...): the choice reaches the model, with the residuals it was made by."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from mercer import KernelRidge
from mercer.kernels import Gaussian, Linear, Matern52
from mercer.selection import GCV, LOO, Discrepancy, Evidence, GroupKFold, KFold, LCurve, path
from mercer.selection.search.objective import CriterionObjective
from mercer.solvers import CG


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (60, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(60)
    return X, y


def test_lam_alone(data):
    X, y = data
    model = KernelRidge(Gaussian(1.0), criterion=LOO(), optimize="lam").fit(X, y)
    assert model.kernel_ == Gaussian(1.0)
    assert_allclose(model.lam_, LOO().choose(path(Gaussian(1.0), X, y)).lam, rtol=1e-6)
    assert_allclose(model.predict(X), KernelRidge(Gaussian(1.0), model.lam_).fit(X, y).predict(X), rtol=1e-9)
    assert model.selection_.status == "ok"
    assert model.fit_report_["selection"]["lam"] == model.lam_
    assert_allclose(np.mean(model.loo_residuals_**2), model.selection_.value, rtol=1e-6)
    assert model.lam is None  # the parameter stays as it was


@pytest.mark.parametrize("criterion", [LOO(), GCV(), KFold(5), Evidence(profile_scale=True)], ids=repr)
def test_kernel_and_lam(data, criterion):
    X, y = data
    model = KernelRidge(Gaussian([1.0, 1.0]), criterion=criterion).fit(X, y)
    assert model.kernel_.length_scale[0] < model.kernel_.length_scale[1]
    assert np.std(y - model.predict(X)) < 0.15
    assert model.kernel == Gaussian([1.0, 1.0])
    assert clone(model).fit(X, y).lam_ == model.lam_  # the same bits in every run


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("merge", [False, True])
def test_loo_residuals_are_refits(data, rng, intercept, merge):
    X, y = data
    X, y = np.vstack([X, X[:15], X[:5]]), np.r_[y, y[:20] + 0.1 * rng.standard_normal(20)]
    w = rng.uniform(0.5, 2.0, 80)
    w[7] = 0.0
    Y = np.column_stack([y, y**2])
    model = KernelRidge(Gaussian(1.0), criterion=LOO(), optimize="lam", trend=intercept, merge=merge).fit(X, Y, w)
    for i in (0, 3, 7, 10, 30, 62, 77):
        if i == 7:
            assert np.isnan(model.loo_residuals_[i]).all()
            assert np.isnan(model.leverage_[i])
            continue
        rest = np.delete(np.arange(80), i)
        refit = KernelRidge(Gaussian(1.0), model.lam_, trend=intercept, solver="cholesky")
        refit.fit(X[rest], Y[rest], w[rest])
        assert_allclose(model.loo_residuals_[i], Y[i] - refit.predict(X[[i]])[0], rtol=1e-8, atol=1e-10)
        moved = Y.copy()
        moved[i] += 1.0
        other = KernelRidge(Gaussian(1.0), model.lam_, trend=intercept).fit(X, moved, w)
        assert_allclose(model.leverage_[i], (other.predict(X[[i]]) - model.predict(X[[i]]))[0, 0], rtol=1e-7)
    assert_allclose(model.dof_, np.nansum(model.leverage_))


def test_a_list_of_kernels_and_the_default(data):
    X, y = data
    model = KernelRidge([Linear(), Matern52(1.0)], criterion=LOO()).fit(X, y)
    assert isinstance(model.kernel_, Matern52)
    assert len(model.selection_.candidates) == 2
    with pytest.raises(ValueError, match="criterion"):
        KernelRidge([Linear(), Matern52(1.0)], 1.0).fit(X, y)
    assert KernelRidge(criterion=LOO()).fit(X, y).kernel_.length_scale.shape == (2,)


def test_groups_follow_the_rows_that_are_left(data):
    X, y = data
    w = np.where(np.arange(60) % 5 == 0, 0.0, 1.0)
    groups = np.arange(60) // 6
    dropped = KernelRidge(Gaussian(1.0), criterion=GroupKFold(groups), optimize="lam").fit(X, y, w)
    kept = w > 0
    alone = KernelRidge(Gaussian(1.0), criterion=GroupKFold(groups[kept]), optimize="lam").fit(X[kept], y[kept])
    assert_allclose(dropped.lam_, alone.lam_, rtol=1e-6)


def test_all_noise_is_the_constant_model(data, rng):
    X, y = data
    w = rng.uniform(0.5, 2.0, 60)
    with pytest.warns(ConvergenceWarning, match="constant"):
        model = KernelRidge(Gaussian(1.0), criterion=Discrepancy(50.0)).fit(X, y, w)
    assert model.lam_ == np.inf
    assert_allclose(model.predict(X), np.average(y, weights=w))
    rest = np.arange(1, 60)
    assert_allclose(model.loo_residuals_[0], y[0] - np.average(y[rest], weights=w[rest]))
    assert_allclose(model.dof_, 1.0)
    with pytest.warns(ConvergenceWarning, match="constant"):
        assert_allclose(KernelRidge(Gaussian(1.0), criterion=Discrepancy(50.0), trend=None).fit(X, y).predict(X), 0.0)


def test_what_goes_wrong_is_said_and_the_model_is_finite(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="constant"):
        model = KernelRidge(Gaussian(1.0), criterion=LOO()).fit(X, np.full(60, 2.0))
    assert_allclose(model.predict(X), 2.0)
    with pytest.warns(ConvergenceWarning, match="bound"):
        model = KernelRidge(Gaussian(1.0, length_scale_bounds=(0.1, 0.4)), criterion=LOO()).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(ValueError, match="9"):
        KernelRidge(Gaussian(1.0), criterion=KFold(9)).fit(X[:6], y[:6])
    with pytest.raises(ValueError, match="nothing to choose by"):
        KernelRidge(Gaussian(1.0), criterion=LOO()).fit(X[:2], y[:2])
    with pytest.raises(ValueError, match="criterion"):
        KernelRidge(criterion="guess").fit(X, y)
    with pytest.warns(ConvergenceWarning, match="budget"):
        model = KernelRidge(Gaussian(1.0), criterion=LOO(), time_budget=1e-9).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_lcurve_and_noise_for_each_row(data, rng):
    X, y = data
    model = KernelRidge(Gaussian(1.0), criterion=LCurve()).fit(X, y)
    assert model.kernel_ == Gaussian(1.0)
    noise = np.where(np.arange(60) < 30, 0.01, 1.0)
    model = KernelRidge(Gaussian(1.0), noise, criterion=LOO(), optimize="lam").fit(X, y)
    shared = np.exp(np.log(noise).mean())
    assert_allclose(
        model.predict(X),
        KernelRidge(Gaussian(1.0), model.lam_).fit(X, y, sample_weight=shared / noise).predict(X),
        rtol=1e-8,
    )


def test_scale_of_y_does_not_matter_to_loo(data):
    X, y = data
    plain = KernelRidge(Gaussian(1.0), criterion=LOO()).fit(X, y)
    for factor in (1e200, 1e-200):
        other = KernelRidge(Gaussian(1.0), criterion=LOO()).fit(X, y * factor)
        assert_allclose(other.lam_, plain.lam_, rtol=0.3)  # the search ends at four digits of the error, not of λ
        assert_allclose(other.predict(X) / factor, plain.predict(X), atol=0.01 * y.std())


def test_cross_val_score_nests(data):
    X, y = data
    scores = cross_val_score(KernelRidge(Gaussian(1.0), criterion=LOO(), optimize="lam"), X, y, cv=3)
    assert scores.min() > 0.5


def test_ctrl_c_leaves_the_estimator_as_it_was(data, monkeypatch):
    X, y = data
    model = KernelRidge(Gaussian(1.0), criterion=LOO()).fit(X, y)
    before = dict(model.__dict__)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(CriterionObjective, "inverse", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y + 1.0)
    assert model.__dict__.keys() == before.keys()
    assert all(model.__dict__[key] is before[key] for key in before)


class Listener:
    """A scikit-learn callback that counts, and stops after some evaluations."""

    def __init__(self, stop_after=10**9):
        self.stop_after, self.tasks, self.closed = stop_after, [], 0

    def setup(self, estimator, context):
        self.tasks.append("setup")

    def teardown(self, estimator, context):
        self.closed += 1

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.tasks.append(context.task_name)
        return self.tasks.count("evaluation") >= self.stop_after


def test_scikit_learn_callbacks_see_and_stop_the_search(data):
    pytest.importorskip("sklearn.callback")  # from scikit-learn 1.9 on
    X, y = data
    listener = Listener()
    model = KernelRidge(Gaussian(1.0), criterion=LOO()).set_callbacks(listener).fit(X, y)
    assert listener.tasks.count("evaluation") == model.selection_.evaluations
    assert listener.tasks[-1] == "fit"
    assert listener.closed == 1
    assert not [name for name in vars(model) if name.startswith("_callback") or "teardown" in name]
    early = Listener(stop_after=9)
    with pytest.warns(ConvergenceWarning, match="callback"):
        model = KernelRidge(Gaussian(1.0), criterion=LOO()).set_callbacks(early).fit(X, y)
    assert model.selection_.evaluations == 9
    failing = Listener()
    with pytest.raises(ValueError, match="fewer"):
        KernelRidge(Gaussian(1.0), criterion=KFold(9)).set_callbacks(failing).fit(X[:6], y[:6])
    assert failing.closed == 1
    quiet = Listener()
    KernelRidge(Gaussian(1.0), 1.0).set_callbacks(quiet).fit(X, y)
    assert quiet.tasks == ["setup", "fit"]


@pytest.mark.parametrize("criterion", [LOO(), GCV(), KFold(3), Evidence(), LCurve(), Discrepancy(0.1)], ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # nothing depends on ℓ
def test_rows_that_are_all_equal_give_the_mean(criterion):
    y = np.arange(6.0) ** 1.5
    model = KernelRidge(Gaussian(1.0), criterion=criterion).fit(np.zeros((6, 1)), y)
    assert_allclose(model.predict([[0.0]]), y.mean())
    assert_allclose(model.loo_residuals_, y - (y.sum() - y) / 5)
    assert_allclose(model.leverage_, 1 / 6)


@pytest.mark.parametrize("solver", ["cg", CG()])
def test_a_solver_that_gives_no_residuals_is_refused_before_the_search(data, solver, monkeypatch):
    monkeypatch.setattr(CriterionObjective, "inverse", lambda *args, **options: pytest.fail("searched"))
    with pytest.raises(ValueError, match="solver=CG"):
        KernelRidge(Gaussian(), criterion=LOO(), solver=solver).fit(*data)


@pytest.mark.parametrize("unit", [2.0**532, 2.0**-664])
def test_y_whose_squares_are_beyond_a_float(data, unit):
    X, y = data
    for criterion, scaled in ((Discrepancy(0.1), Discrepancy(0.1 * unit)), (Discrepancy(), Discrepancy())):
        plain = KernelRidge(Gaussian(), criterion=criterion).fit(X, y)
        model = KernelRidge(Gaussian(), criterion=scaled).fit(X, unit * y)
        assert_allclose(model.lam_, plain.lam_, rtol=1e-9)
        assert_allclose(model.predict(X) / unit, plain.predict(X), rtol=1e-9)
    for criterion in (Evidence(), LOO("log_density")):
        with pytest.raises(ValueError, match="unit"):
            KernelRidge(Gaussian(), criterion=criterion).fit(X, unit * y)
