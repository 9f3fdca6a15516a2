"""Classes on landmarks: Laplace's approximation itself where they are all rows."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import GaussianProcessClassifier, GaussianProcessRegressor, KernelMachine, Landmarks, Neighbours
from mercer.exceptions import NumericalWarning
from mercer.kernels import Gaussian, Spectrum
from mercer.primal import SmoothLossOptions


def data(rng, n=120):
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * rng.standard_normal(n)


def quiet(model, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        return model.fit(*arguments)


@pytest.mark.parametrize(
    ("classes", "link", "trend"), [(2, "logit", "constant"), (2, "probit", 0.3), (3, "logit", None)]
)
def test_with_all_rows_it_is_laplace(classes, link, trend, rng):
    X, f = data(rng)
    y, w = np.where(f > 0.4, "a", np.where(f < -0.4, "b", "c" if classes == 3 else "b")), rng.integers(1, 4, len(f))
    options = {"criterion": None, "link": link, "trend": trend, "multi_class": "one_vs_rest"}
    exact = GaussianProcessClassifier(4.0 * Gaussian(0.8), **options).fit(X, y, w)
    near = GaussianProcessClassifier(4.0 * Gaussian(0.8), approximation=Landmarks(choose=X), **options)
    new = rng.uniform(-3, 3, (40, 2))
    np.testing.assert_allclose(quiet(near, X, y, w).predict_proba(new), exact.predict_proba(new), atol=1e-3)
    for one, other in zip(near.predict_latent(new), exact.predict_latent(new), strict=True):
        np.testing.assert_allclose(one, other, atol=5e-3)
    f = Gaussian(0.8)(new, near.points_) @ (4.0 * near.dual_coef_) + near.intercept_
    np.testing.assert_allclose(f, near.predict_latent(new)[0], atol=1e-8)
    assert near.fit_report_["loo_log_loss"] == pytest.approx(exact.fit_report_["loo_log_loss"], rel=1e-4)


@pytest.mark.parametrize("how", [Landmarks(40), Neighbours(20)])
def test_a_temperature_is_learnt_in_the_place_of_a_softmax_in_every_fit(how, rng):
    X, f = data(rng, 300)
    y, new = np.digitize(f, [-0.4, 0.4]), rng.uniform(-2, 2, (50, 2))
    options = {"criterion": None, "approximation": how}
    model = quiet(GaussianProcessClassifier(4.0 * Gaussian(0.8), **options), X, y)
    cold = quiet(GaussianProcessClassifier(4.0 * Gaussian(0.8), temperature=False, **options), X, y)
    assert cold.temperature_ == 1.0 and abs(np.log(model.temperature_)) > 0.1
    assert model.fit_report_["loo_log_loss"] < cold.fit_report_["loo_log_loss"]
    sharper = cold.predict_proba(new) ** (1.0 / model.temperature_)
    np.testing.assert_allclose(model.predict_proba(new), sharper / sharper.sum(axis=1, keepdims=True), atol=1e-12)
    learnt = model.temperature_
    assert quiet(model, X, y).temperature_ == learnt  # a second fit does as the first
    rest = quiet(GaussianProcessClassifier(4.0 * Gaussian(0.8), multi_class="one_vs_rest", **options), X, y)
    np.testing.assert_array_equal(rest.predict_proba(new), cold.predict_proba(new))


def test_learns_says_and_comes_back_from_a_file(rng, tmp_path):
    X, f = data(rng, 400)
    model = GaussianProcessClassifier(approximation=Landmarks(80), starts=1)
    assert mercer.plan(model, X, f > 0).landmarks == 80
    assert quiet(model, X, f > 0).score(X, f > 0) > 0.85 and len(model.points_) == 80
    said = model.fit_report_["approximation"]
    assert said["verdict"] in ("good enough", "not enough landmarks") and "rows left out" in said["words"]
    assert not model.has_evidence
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


def test_objects_and_what_cannot_be(rng):
    words = ["".join(rng.choice(list("ab" if i % 2 else "cd"), 6)) for i in range(60)]
    y = np.arange(60) % 2
    model = quiet(GaussianProcessClassifier(Spectrum(2), criterion=None, approximation=Landmarks(10)), words, y)
    assert (model.predict(words) == y).all()
    X, f = data(rng, 60)
    early = GaussianProcessClassifier(
        9.0 * Gaussian(0.3), criterion=None, approximation=Landmarks(choose=X), max_iter=1,
        options=[SmoothLossOptions(on_sample=1)],
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        quiet(early, X, f > 0)
    for options, match in (({"inference": "ep"}, "inference='laplace'"), ({"held": 10}, "for regression")):
        how = Landmarks(10, held=options.pop("held", 0))
        with pytest.raises(ValueError, match=match):
            GaussianProcessClassifier(Gaussian(), criterion=None, approximation=how, **options).fit(X, f > 0)


def test_auto_is_exact_wherever_that_fits():
    auto, exact = GaussianProcessClassifier(), GaussianProcessClassifier(approximation=None)
    assert mercer.plan(auto, n=2000, d=3) == mercer.plan(exact, n=2000, d=3)
    assert mercer.plan(auto, n=10**6, d=3).gram == "landmarks" and mercer.plan(exact, n=10**6, d=3).gram == "dense"
    assert mercer.plan(GaussianProcessClassifier(inference="ep"), n=10**6, d=3).gram == "dense"


@pytest.mark.parametrize("how", [Landmarks(30), Neighbours(20)])
def test_several_classes_are_each_against_the_rest_and_it_says_so(rng, how):
    X, f = data(rng)
    y = np.digitize(f, [-0.4, 0.4])
    models = [
        quiet(GaussianProcessClassifier(4.0 * Gaussian(0.8), multi_class=way, approximation=how, starts=1), X, y)
        for way in ("softmax", "one_vs_rest")
    ]
    said = ["against the rest" in model.fit_report_["approximation"]["words"] for model in models]
    assert said == [True, False]
    assert models[0].kernel_.theta.tolist() == models[1].kernel_.theta.tolist()  # learnt by the same model


def degenerate(rng):
    """{what: (landmarks, X, y > 0)}."""
    X, f = data(rng, 80)
    flat = np.column_stack([X, np.full(80, 3.0)])
    same = np.ones((80, 2))
    return {"constant": (20, flat, f), "one": (1, X, f), "more": (500, X, f), "equal": (20, same, f)}


@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")
@pytest.mark.parametrize("what", ["constant", "one", "more", "equal"])
def test_columns_landmarks_and_rows_that_say_nothing(rng, what):
    m, X, f = degenerate(rng)[what]
    options = {"approximation": Landmarks(m)}
    process = GaussianProcessRegressor(1.0 * Gaussian(1.0), 0.1, criterion=None, **options).fit(X, f)
    machine = KernelMachine(Gaussian(1.0), "logistic", lam=0.1, **options).fit(X, f > 0)
    classes = GaussianProcessClassifier(4.0 * Gaussian(1.0), criterion=None, **options).fit(X, f > 0)
    mean, std = process.predict(X, return_std=True)
    assert np.isfinite(mean).all() and (std >= 0).all() and np.isfinite(machine.predict_proba(X)).all()
    assert np.allclose(classes.predict_proba(X).sum(axis=1), 1.0)
    assert all(1 <= len(model.points_) <= min(m, 80) for model in (process, machine, classes))
    if what == "equal":
        assert np.allclose(mean, f.mean(), atol=0.05) and len(process.points_) == 1
        assert np.allclose(classes.predict_proba(X)[:, 1], np.mean(f > 0), atol=0.1)
    if what == "more":
        exact = GaussianProcessRegressor(1.0 * Gaussian(1.0), 0.1, criterion=None, approximation=None).fit(X, f)
        np.testing.assert_allclose(mean, exact.predict(X), atol=1e-5)
