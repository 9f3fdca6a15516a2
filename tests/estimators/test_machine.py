"""KernelMachine: equal to what is known for each loss, weights, levels, classes, selection, warnings."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit
from sklearn.svm import SVC

from mercer import KernelMachine, KernelRidge
from mercer.datasets import load_mcycle
from mercer.exceptions import NotEnoughMemory
from mercer.gram import TiledGram
from mercer.kernels import Gaussian, Linear, Matern32
from mercer.losses import (
    BY_NAME,
    EpsilonInsensitive,
    Expectile,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    Squared,
)
from mercer.solvers import Cholesky

REGRESSION = [
    "squared",
    "huber",
    "absolute",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "quantile",
    "expectile",
]
CLASSIFICATION = ["logistic", "hinge", "squared_hinge"]


@pytest.fixture
def data(rng):
    X = rng.standard_normal((60, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    return X, f + 0.3 * rng.standard_t(3, 60), rng.standard_normal((11, 2))


def target(name, y, rng):
    """y as the loss sees it."""
    if name in CLASSIFICATION:
        return np.where(y > 0, "yes", "no")
    return rng.poisson(np.exp(y.clip(-2, 2))).astype(float) if name == "poisson" else y


def decision(model, X):
    """F of a model, whatever its kind."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return np.log(model.predict(X)) if isinstance(model.loss_, Poisson) else model.predict(X)


# ------------------------------------------------------------------------------------------------ identities
@pytest.mark.parametrize("intercept", [True, False])
def test_squared_loss_is_kernel_ridge(data, intercept, rng):
    X, y, new = data
    w = rng.uniform(0.5, 2.0, len(y))
    ours = KernelMachine(Gaussian(1.0), "squared", 0.1, trend=intercept).fit(X, y, w)
    ridge = KernelRidge(Gaussian(1.0), 0.1, trend=intercept).fit(X, y, w)
    assert_allclose(ours.predict(new), ridge.predict(new), rtol=1e-10, atol=1e-10)
    assert ours.regularization_ == ridge.regularization_
    assert ours.lam_ == 0.1


@pytest.mark.parametrize("lam", [0.5, 0.01])
def test_hinge_is_the_support_vector_classifier(data, lam):
    X, y, new = data
    ours = KernelMachine(Gaussian(1.0), "hinge", lam, tol=1e-9).fit(X, y > 0)
    theirs = SVC(C=1 / (2 * lam), gamma=0.5, tol=1e-10).fit(X, y > 0)
    assert_allclose(ours.decision_function(new), theirs.decision_function(new), rtol=1e-5, atol=1e-5)
    assert_array_equal(np.sort(ours.support_), np.sort(theirs.support_))
    assert_array_equal(ours.predict(new), theirs.predict(new))


@pytest.mark.parametrize("loss", BY_NAME)
def test_the_minimum_is_certified(data, loss, rng):
    X, y, _ = data
    y = target(loss, y, rng)
    model = KernelMachine(Gaussian(1.0), loss, 0.05).fit(X, y)
    assert 0 <= model.dual_gap_ <= 1e-6 * (1 + abs(model.objective_))
    assert model.fit_report_["status"] == "converged"
    # the objective, computed in the plainest way, is the one that is reported
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_
    f = decision(model, X)
    coded = np.where(y == "yes", 1.0, -1.0) if loss in CLASSIFICATION else y
    value = np.sum(model.loss_.value(coded, f)) + 0.05 * alpha @ Gaussian(1.0)(X) @ alpha
    assert_allclose(model.objective_, value, rtol=1e-6)
    if model.loss_.boxed:  # and the dual, written out
        dual = model.loss_.dual(coded, 1 / (2 * 0.05))
        below = -2 * 0.05 * (0.5 * alpha @ Gaussian(1.0)(X) @ alpha + dual.value(np.clip(alpha, *dual[3:])).sum())
        assert_allclose(below, value, rtol=1e-6)


def test_losses_that_meet_in_a_limit(data):
    X, y, new = data

    def fit(loss, lam):
        return KernelMachine(Gaussian(1.0), loss, lam, tol=1e-8).fit(X, y).predict(new)

    assert_allclose(fit(Huber(1e6), 0.1), fit("squared", 0.1), rtol=1e-9, atol=1e-9)
    assert_allclose(fit(Huber(1e-4), 0.1 * 2e-4), fit("absolute", 0.1), atol=3e-3)
    assert_allclose(fit(Expectile(0.5), 0.1), fit("squared", 0.1), rtol=1e-9, atol=1e-9)
    assert_allclose(fit(Quantile(0.5), 0.05), fit("absolute", 0.1), atol=1e-6)
    assert_allclose(fit(EpsilonInsensitive(0.0), 0.1), fit("absolute", 0.1), atol=1e-6)


@pytest.mark.parametrize("loss", REGRESSION)
def test_a_constant_added_to_y_is_added_to_f(data, loss):
    X, y, new = data
    model = KernelMachine(Gaussian(1.0), loss, 0.1)
    assert_allclose(model.fit(X, y + 100.0).predict(new), model.fit(X, y).predict(new) + 100.0, rtol=1e-7)


@pytest.mark.parametrize("loss", BY_NAME)
def test_weights_are_repeated_rows(data, loss, rng):
    X, y, new = data
    y, w = target(loss, y, rng), rng.integers(0, 4, len(y))
    model = KernelMachine(Gaussian(1.0), loss, 0.3, tol=1e-8)
    one = clone(model).fit(X, y, w.astype(float))
    other = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    weighted, repeated = decision(one, new), decision(other, new)
    # λ‖f − f*‖² <= gap, and |f(x)| <= ‖f‖ for this kernel; b is as good as f
    apart = sum(np.sqrt(max(found.dual_gap_, 0.0) / 0.3) for found in (one, other))
    assert apart < 1e-2
    assert_allclose(weighted, repeated, atol=1e-6 + 2.0 * apart)
    removed = decision(clone(model).fit(X[w > 0], y[w > 0], w[w > 0].astype(float)), new)
    assert_allclose(weighted, removed, rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------------------------------------- several levels
def test_quantiles_cover_what_they_say():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, (400, 1))
    y = np.sin(X[:, 0]) + (0.1 + 0.1 * X[:, 0]) * rng.standard_normal(400)
    levels = [0.1, 0.5, 0.9]
    model = KernelMachine(Gaussian(2.0), Quantile(levels), 1.0).fit(X, y)
    F = model.predict(X)
    assert F.shape == (400, 3) and model.dual_coef_.shape == (len(model.support_), 3)
    for level, f in zip(levels, F.T, strict=True):  # with an intercept: at most τn rows below, at most (1 − τ)n above
        assert (y < f - 1e-6).mean() <= level <= (y <= f + 1e-6).mean()
    single = KernelMachine(Gaussian(2.0), Quantile(0.9), 1.0).fit(X, y)
    assert_allclose(F[:, 2], single.predict(X), atol=1e-6)
    assert 0 < model.score(X, y) < 1


def test_levels_do_not_cross_when_asked():
    X, y = load_mcycle(return_X_y=True)
    grid, levels = np.linspace(-20, 80, 400)[:, None], [0.9, 0.5, 0.55, 0.45]
    free = KernelMachine(Gaussian(3.0), Quantile(levels), 0.1).fit(X, y)
    tidy = clone(free).set_params(non_crossing=True).fit(X, y)
    order = np.argsort(levels)
    assert (np.diff(free.predict(grid)[:, order], axis=1) < -1e-6).any()
    assert (np.diff(tidy.predict(grid)[:, order], axis=1) >= 0).all()
    loss = Quantile(levels)
    assert loss.value(y[:, None], tidy.predict(X)).mean() <= loss.value(y[:, None], free.predict(X)).mean() + 1e-12


def test_several_levels_and_several_targets_are_refused(data):
    X, y, _ = data
    with pytest.raises(ValueError, match="levels"):
        KernelMachine(loss=Quantile([0.1, 0.9])).fit(X, np.column_stack([y, y]))


def test_several_targets_are_several_fits(data):
    X, y, new = data
    Y = np.column_stack([y, 2 - y])
    for loss in ("huber", "absolute"):
        model = KernelMachine(Gaussian(1.0), loss, 0.1)
        together = clone(model).fit(X, Y).predict(new)
        apart = np.column_stack([clone(model).fit(X, Y[:, j]).predict(new) for j in range(2)])
        assert_allclose(together, apart, rtol=1e-9)


# ---------------------------------------------------------------------------------------------------- classes
def test_the_kind_follows_the_loss(data):
    X, y, _ = data
    for loss in CLASSIFICATION:
        model = KernelMachine(loss=loss)
        assert is_classifier(model) and not is_regressor(model) and hasattr(model, "decision_function")
        assert hasattr(model, "predict_proba") == (loss == "logistic")
    for loss in [*REGRESSION, "poisson"]:
        model = KernelMachine(loss=loss)
        assert is_regressor(model) and not is_classifier(model)
        assert not hasattr(model, "decision_function") and not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        _ = KernelMachine(loss="hinge").fit(X, y > 0).predict_proba


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "softmax"])
def test_three_classes(data, multi_class):
    X, y, new = data
    label = np.array(["low", "mid", "top"])[np.digitize(y, [-0.7, 0.7])]
    model = KernelMachine(Gaussian(1.0), "logistic", 0.05, multi_class=multi_class).fit(X, label)
    P = model.predict_proba(new)
    assert P.shape == (11, 3) and model.decision_function(new).shape == (11, 3)
    assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert_array_equal(model.predict(new), model.classes_[P.argmax(axis=1)])
    assert model.score(X, label) > 0.7 and model.dual_gap_ < 1e-8
    if multi_class == "softmax":
        with pytest.raises(ValueError, match="logistic"):
            KernelMachine(loss="hinge", multi_class="softmax").fit(X, label)
    else:
        one = KernelMachine(Gaussian(1.0), "logistic", 0.05).fit(X, label == "mid")
        assert_allclose(model.decision_function(new)[:, 1], one.decision_function(new), rtol=1e-8, atol=1e-8)


def test_one_class_and_counts_below_zero_are_refused(data):
    X, y, _ = data
    with pytest.raises(ValueError, match="2 classes"):
        KernelMachine(loss="hinge").fit(X, np.ones(60))
    with pytest.raises(ValueError, match="2 classes"):
        KernelMachine(loss="hinge").fit(X, y > 0, sample_weight=(y > 0).astype(float))
    with pytest.raises(ValueError, match="y >= 0, got a smallest value of -"):
        KernelMachine(loss="poisson").fit(X, y)


def test_labels_that_are_missing_or_of_two_kinds(data):
    X, y = data[0], np.where(data[1] > 0, "up", "down").astype(object)
    model = KernelMachine(Gaussian(1.0), "logistic")
    with pytest.raises(ValueError, match="target y is None. This estimator is a classifier"):
        model.fit(X, None)
    for missing in (None, np.nan):
        with pytest.raises(ValueError, match="row 5 has no label"):
            model.fit(X, np.where(np.arange(60) == 5, missing, y))
    with pytest.raises(ValueError, match=r"row 0 has no label \(1 such rows\)"):
        model.fit(X, np.ma.array(data[1] > 0, mask=np.arange(60) == 0))
    with pytest.raises(ValueError, match="mixes numbers and text: row 5 has 1, row 0 has"):
        model.fit(X, np.where(np.arange(60) == 5, 1, y))


def test_poisson_predicts_the_mean(rng):
    X = rng.uniform(-2, 2, (300, 1))
    y = rng.poisson(np.exp(1 + X[:, 0])).astype(float)
    model = KernelMachine(Gaussian(1.0), "poisson", 1.0).fit(X, y)
    assert_allclose(model.predict(X).sum(), y.sum(), rtol=1e-6)
    assert np.abs(np.log(model.predict(X)) - 1 - X[:, 0]).mean() < 0.25
    assert model.score(X, y) > 0.4


# -------------------------------------------------------------------------------------------------- selection
@pytest.mark.parametrize("loss", ["huber", "logistic", "poisson"])
def test_alo_chooses_as_every_refit_would(data, loss, rng):
    X, y, n = data[0][:40], data[1][:40], 40
    y = target(loss, y, rng)
    lams = [5.0, 0.1]
    model = KernelMachine(Gaussian(1.0), loss, lams, criterion="loo").fit(X, y)
    exact = {}
    for lam in lams:
        F = np.empty(n)
        for i in range(n):
            rest = np.delete(np.arange(n), i)
            F[i] = decision(KernelMachine(Gaussian(1.0), loss, lam).fit(X[rest], y[rest]), X[i : i + 1])[0]
        coded = np.where(y == "yes", 1.0, -1.0) if loss == "logistic" else y
        exact[lam] = model.loss_.value(coded, F).mean()
        if lam == model.lam_:
            assert np.median(np.abs(F - model.loo_decision_)) < 0.02 * F.std()
    assert model.lam_ == min(exact, key=exact.get)
    assert_allclose(model.selection_.value, exact[model.lam_], rtol=0.05, atol=0.02)
    assert [entry["lam"] for entry in model.selection_.history] == lams


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["absolute", "epsilon_insensitive", "hinge"])
def test_the_span_rule_is_close_to_every_refit(data, loss, intercept):
    X, y = data[0], data[1] > 0 if loss == "hinge" else data[1]
    coded = np.where(y, 1.0, -1.0) if loss == "hinge" else y
    model = KernelMachine(Gaussian(1.0), loss, [0.3], criterion="loo", trend=intercept).fit(X, y)
    F = np.empty(60)
    for i in range(60):
        rest = np.delete(np.arange(60), i)
        F[i] = decision(KernelMachine(Gaussian(1.0), loss, 0.3, trend=intercept).fit(X[rest], y[rest]), X[[i]])[0]
    exact = model.loss_.value(coded, F).mean()
    assert_allclose(model.selection_.value, exact, rtol=0.35)
    assert np.median(np.abs(F - model.loo_decision_)) < 0.1 * F.std()
    assert np.corrcoef(F, model.loo_decision_)[0, 1] > np.corrcoef(F, decision(model, X))[0, 1] - 0.02


@pytest.mark.parametrize("loss", ["squared", "absolute", "hinge"])
def test_folds_choose_as_a_grid_search_would(data, loss):
    X, y, _ = data
    y = y > 0 if loss == "hinge" else y
    folds, lams = KFold(4, shuffle=True, random_state=3), [10.0, 1.0, 0.1, 0.01]
    model = KernelMachine(Gaussian(1.0), loss, lams, criterion=folds).fit(X, y)

    def judge(fitted, X, y):
        coded = np.where(y, 1.0, -1.0) if loss == "hinge" else y
        return -fitted.loss_.value(coded, decision(fitted, X)).mean()

    grid = GridSearchCV(KernelMachine(Gaussian(1.0), loss), {"lam": lams}, cv=folds, scoring=judge).fit(X, y)
    assert model.lam_ == grid.best_params_["lam"]
    assert_allclose(model.selection_.value, -grid.best_score_, rtol=1e-4)
    assert_allclose(decision(model, X), decision(grid.best_estimator_, X), atol=1e-5)


def test_folds_of_a_softmax_choose_by_the_softmax(data):
    X, y, _ = data
    label = np.array(["low", "mid", "top"])[np.digitize(y, [-0.7, 0.7])]
    folds, lams = KFold(3, shuffle=True, random_state=3), [10.0, 1.0, 0.01]
    model = KernelMachine(Gaussian(1.0), "logistic", lams, criterion=folds, multi_class="softmax").fit(X, label)
    once = KernelMachine(Gaussian(1.0), "logistic", multi_class="softmax")
    grid = GridSearchCV(once, {"lam": lams}, cv=folds, scoring="neg_log_loss").fit(X, label)
    assert model.lam_ == grid.best_params_["lam"]
    assert_allclose(model.selection_.value, -grid.best_score_, rtol=1e-4)
    with pytest.raises(ValueError, match="approximate leave-one-out is for one class against the rest.*criterion=5"):
        KernelMachine(Gaussian(1.0), "logistic", criterion="loo", multi_class="softmax").fit(X, label)
    KernelMachine(Gaussian(1.0), "logistic", [1.0], criterion="loo", multi_class="softmax").fit(X, label == "low")


def test_a_splitter_sees_rows_of_weight_0(data):
    X, y, _ = data
    fold, weight = np.arange(60) % 3, np.where(np.arange(60) < 6, 0.0, 1.0)
    lams = [1.0, 0.1]
    all_rows = KernelMachine(Gaussian(1.0), "huber", lams, criterion=PredefinedSplit(fold)).fit(X, y, weight)
    removed = KernelMachine(Gaussian(1.0), "huber", lams, criterion=PredefinedSplit(fold[6:])).fit(X[6:], y[6:])
    assert_allclose(all_rows.selection_.value, removed.selection_.value, rtol=1e-9)
    with pytest.raises(ValueError, match="a fold of PredefinedSplit has no row of positive weight to learn from"):
        halves = PredefinedSplit(np.repeat([0, 1], 30))
        KernelMachine(Gaussian(1.0), criterion=halves).fit(X, y, np.repeat([0.0, 1.0], 30))


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "expectile"])
def test_leave_one_out_is_there_when_every_lam_is_as_good(loss):
    X, y = np.arange(6.0)[:, None], np.full(6, 3.0)
    with pytest.warns(ConvergenceWarning, match="is the last of"):
        model = KernelMachine(Gaussian(1.0), loss, criterion="loo").fit(X, y)
    assert_allclose(model.loo_decision_, 3.0, atol=1e-6)


def test_a_value_that_is_not_finite_does_not_freeze_what_is_kept(data, monkeypatch):
    from mercer.dual.columns import LossColumns

    X, y, _ = data
    true, seen = LossColumns.mean_loss, []
    monkeypatch.setattr(LossColumns, "mean_loss", lambda *args: seen.append(1) or [np.nan, true(*args)][len(seen) > 1])
    model = KernelMachine(Gaussian(1.0), "huber", [1.0, 0.1], criterion="loo").fit(X, y)
    assert model.lam_ == 0.1 and np.isfinite(model.loo_decision_).all()


def test_the_path_goes_on_where_its_end_is_best_and_chooses_a_kernel(data):
    X, y, _ = data
    far = KernelMachine(Gaussian(1.0), "squared", 1e-7, criterion="loo").fit(X, y)
    near = KernelMachine(Gaussian(1.0), "squared", 0.1, criterion="loo").fit(X, y)
    assert far.selection_.evaluations > near.selection_.evaluations
    assert_allclose(np.log(far.lam_), np.log(near.lam_), atol=1.0)
    kernels = [Gaussian(0.01), Gaussian(1.5), Linear()]
    model = KernelMachine(kernels, "huber", criterion=5).fit(X, y)
    assert model.kernel_ == Gaussian(1.5) and len(model.selection_.candidates) == 3
    assert model.fit_report_["selection"]["lam"] == model.lam_


def test_a_search_that_ends_at_the_edge_says_so(rng):
    X, y = rng.standard_normal((40, 1)), np.tile([1.0, -1.0], 20)  # nothing to learn: the larger λ the better
    with pytest.warns(ConvergenceWarning, match="is the last of") as caught:
        KernelMachine(Matern32(0.5), "squared", criterion="loo").fit(np.sort(X, axis=0), y)
    assert caught[0].filename == __file__  # the warning points at the caller


def test_what_a_criterion_cannot_do_is_said(data):
    X, y, _ = data
    with pytest.raises(ValueError, match="criterion"):
        KernelMachine([Gaussian(), Linear()], lam=1.0).fit(X, y)
    with pytest.raises(ValueError, match="lam"):
        KernelMachine(lam=[1.0, 2.0]).fit(X, y)
    with pytest.raises(ValueError, match="positive"):
        KernelMachine(lam=[1.0, -2.0], criterion="loo").fit(X, y)


# ------------------------------------------------------------------------------------------ honest, and tidy
def test_support_vectors_are_all_that_is_kept(data):
    X, y, new = data
    model = KernelMachine(Gaussian(1.0), EpsilonInsensitive(0.5), 0.1).fit(X, y)
    assert 0 < len(model.support_) < 60
    assert len(model.points_) == len(model.dual_coef_) == len(model.support_)
    assert (model.dual_coef_ != 0).all()
    assert_array_equal(model.points_, X[model.support_])
    assert_allclose(model.predict(new), Gaussian(1.0)(new, model.points_) @ model.dual_coef_ + model.intercept_)
    inside = np.setdiff1d(np.arange(60), model.support_)
    assert (np.abs(y - model.predict(X))[inside] <= 0.5 + 1e-6).all()
    constant = KernelMachine(Gaussian(1.0), EpsilonInsensitive(0.5)).fit(X, np.full(60, 3.0))
    assert_allclose(constant.predict(new), 3.0, atol=0.5 + 1e-9)


def test_a_fit_that_does_not_converge_says_so_with_numbers(data):
    X, y, _ = data
    with pytest.warns(ConvergenceWarning, match="1 of 1 columns did not converge \\(max_iter\\).*duality gap"):
        model = KernelMachine(Gaussian(1.0), "logistic", 1e-6, max_iter=1).fit(X, y > 0)
    assert model.fit_report_["status"] == "max_iter" and model.dual_gap_ > 0


def test_a_failed_fit_leaves_the_model_as_it_was(data):
    X, y, new = data
    model = KernelMachine(Gaussian(1.0), "huber").fit(X, y)
    before = model.predict(new)
    with pytest.raises(ValueError, match="finite|NaN"):
        model.fit(X, np.full(60, np.nan))
    assert_array_equal(model.predict(new), before)


def test_inputs_are_not_changed(data, readonly, rng):
    X, y, new = data
    kept = X.copy(), y.copy()
    frozen = readonly(X, y, rng.integers(0, 3, len(y)).astype(float))
    for loss in ("huber", "absolute"):
        model = KernelMachine(Gaussian(1.0), loss).fit(*frozen)
        assert_array_equal(model.predict(new), KernelMachine(Gaussian(1.0), loss).fit(X, y, frozen[2]).predict(new))
        assert_array_equal(X, kept[0])  # of an array that may be written to, too
        assert_array_equal(y, kept[1])


def test_parameters_of_the_loss_in_a_search(data):
    X, y, _ = data
    search = GridSearchCV(KernelMachine(Gaussian(1.0), Huber()), {"loss__delta": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.loss_.delta in (0.1, 1.0)
    assert repr(KernelMachine(loss=Huber(0.5), lam=0.1)) == "KernelMachine(loss=Huber(delta=0.5), lam=0.1)"
    assert clone(KernelMachine(loss=Logistic())).loss == Logistic() and KernelMachine().loss == "squared"
    assert KernelMachine(loss=Squared()).fit(X, y).score(X, y) > 0.5


def test_a_time_budget_ends_a_search(data):
    X, y, _ = data
    with pytest.warns(ConvergenceWarning) as caught:  # of the search, and on a busy machine of the last fit too
        model = KernelMachine([Gaussian(1.0), Gaussian(2.0)], criterion=5, time_budget=1e-6).fit(X, y)
    assert any("time was up after 1 evaluations" in str(one.message) for one in caught)
    assert (model.kernel_, model.lam_, model.selection_.status) == (Gaussian(1.0), 1.0, "time_budget")


# ------------------------------------------------------------------------------------------------ solver and memory
class Counting(Cholesky):
    """Cholesky that counts what it is asked for."""

    sizes: list = []  # noqa: RUF012

    def resolvent(self, K, H=None):
        self.sizes.append(K.n)
        return super().resolvent(K, H)


@pytest.mark.parametrize("criterion", ["loo", 3])
def test_every_trial_uses_the_solver_that_was_given(data, criterion, monkeypatch):
    X, y, _ = data
    monkeypatch.setattr(Counting, "sizes", [])
    found = KernelMachine(Gaussian(1.0), "squared", criterion=criterion, solver=Counting()).fit(X, y)
    fits = 1 if criterion == "loo" else criterion
    assert len(Counting.sizes) >= fits * found.selection_.evaluations
    same = KernelMachine(Gaussian(1.0), "squared", criterion=criterion).fit(X, y)
    assert found.lam_ == same.lam_


@pytest.mark.parametrize("criterion", ["loo", 3])
@pytest.mark.parametrize("options", [{"solver": "cholesky"}, {"loss": "logistic", "multi_class": "softmax"}], ids=str)
def test_what_does_not_fit_is_refused_before_the_first_matrix(data, criterion, options, monkeypatch):
    X, y, _ = data
    y = np.digitize(y, [-0.5, 0.5]) if "loss" in options else y
    if "loss" in options and criterion == "loo":
        criterion = 4
    monkeypatch.setattr(TiledGram, "dense", None)
    monkeypatch.setattr(TiledGram, "_product", None)
    with pytest.raises(NotEnoughMemory, match="n = 60"):
        KernelMachine(Gaussian(1.0), criterion=criterion, memory=1000.0, **options).fit(X, y)


def test_a_solver_that_does_not_give_the_diagonal_is_refused_in_words(data):
    X, y, _ = data
    with pytest.raises(ValueError, match="needs the diagonal .* solver='cg' does not give"):
        KernelMachine(Gaussian(1.0), "huber", criterion="loo", solver="cg").fit(X, y)
