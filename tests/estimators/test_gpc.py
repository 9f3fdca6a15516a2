"""GaussianProcessClassifier: evidence, weights, classes of any kind, leave-one-out, imbalance, bad input."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier as Peer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from mercer import GaussianProcessClassifier, Landmarks
from mercer.approximate import ClassOptions, classes
from mercer.approximate.classes import stratified_order
from mercer.exceptions import NotEnoughMemory
from mercer.inference.temperature import left_out_losses
from mercer.kernels import Gaussian, Matern32, Pairwise, Precomputed
from mercer.selection import LogNormal, weak_priors

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
KERNEL = 3.0 * Gaussian(1.0)


@pytest.fixture
def data(rng):
    X = rng.standard_normal((50, 2))
    return X, np.where(X[:, 0] + 0.6 * rng.standard_normal(50) > 0, 1, 0)


@pytest.fixture
def three(rng):
    X = rng.standard_normal((45, 2))
    y = np.digitize(X[:, 0] + 0.4 * rng.standard_normal(45), [-0.5, 0.5])
    return X, np.array(["low", "middle", "high"])[y]


def fixed(**options):
    return GaussianProcessClassifier(KERNEL, criterion=None, **options)


# ---------------------------------------------------------------------- evidence and learning
def test_evidence_is_at_least_that_of_the_peer(data):
    X, y = data
    ours = GaussianProcessClassifier(1.0 * Gaussian(1.0), trend=None, prior=None).fit(X, y)
    peer = Peer(ConstantKernel(1.0) * RBF(1.0), random_state=0).fit(X, y)
    assert ours.log_marginal_likelihood_value_ > peer.log_marginal_likelihood_value_ - 0.01
    assert ours.selection_.evaluations > 5


@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_gradient_of_the_evidence(data, inference):
    model = GaussianProcessClassifier(2.0 * Matern32([1.0, 2.0]), inference=inference, criterion=None, tol=1e-10).fit(
        *data
    )
    theta, h = model.kernel_.theta, 1e-4
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert_allclose(value, model.log_marginal_likelihood_value_, rtol=1e-9)
    assert model.log_marginal_likelihood() == model.log_marginal_likelihood_value_
    for j in range(3):
        e = h * np.eye(3)[j]
        slope = (model.log_marginal_likelihood(theta + e) - model.log_marginal_likelihood(theta - e)) / (2 * h)
        assert_allclose(gradient[j], slope, rtol=1e-4, atol=1e-6)


def test_gradient_with_several_classes(three):
    for multi_class in ("softmax", "one_vs_rest"):
        model = GaussianProcessClassifier(2.0 * Gaussian(1.0), multi_class=multi_class, criterion=None).fit(*three)
        theta, e = model.kernel_.theta, np.array([1e-4, 0.0])
        _, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
        slope = (model.log_marginal_likelihood(theta + e) - model.log_marginal_likelihood(theta - e)) / 2e-4
        assert_allclose(gradient[0], slope, rtol=1e-4)


def test_learning_raises_the_evidence_and_a_prior_holds_it_back(data):
    start = GaussianProcessClassifier(1.0 * Gaussian(0.1), criterion=None).fit(*data).log_marginal_likelihood_value_
    free = GaussianProcessClassifier(1.0 * Gaussian(0.1), prior=None).fit(*data)
    held = GaussianProcessClassifier(1.0 * Gaussian(0.1), prior={"length_scale": LogNormal(0.1, 0.01)}).fit(*data)
    assert free.log_marginal_likelihood_value_ > start + 1.0
    assert abs(np.log(held.kernel_.kernel.length_scale / 0.1)) < 0.1
    with pytest.raises(ValueError, match="prior"):
        GaussianProcessClassifier(1.0 * Gaussian(0.1), prior={"period": LogNormal(1.0)}).fit(*data)


def test_the_search_does_not_depend_on_the_order_of_the_rows(data, rng):
    X, y = data
    order = rng.permutation(50)
    one = GaussianProcessClassifier(1.0 * Gaussian(1.0)).fit(X, y)
    other = GaussianProcessClassifier(1.0 * Gaussian(1.0)).fit(X[order], y[order])
    assert_array_equal(one.kernel_.theta, other.kernel_.theta)
    assert_allclose(one.loo_probabilities_[order], other.loo_probabilities_, rtol=1e-12)


def test_every_beginning_of_the_order_has_every_class(rng):
    y = np.array([0] * 90 + [1] * 8 + [2] * 2)
    order = stratified_order(y, 0)
    assert_array_equal(np.sort(order), np.arange(100))
    assert set(y[order[:6]]) == {0, 1, 2}
    assert 2 <= np.sum(y[order[:50]] == 1) <= 6


# ---------------------------------------------------------------------- weights
@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_whole_weights_are_repeated_rows(data, rng, inference):
    X, y = data
    w = rng.integers(0, 4, 50)
    index = np.repeat(np.arange(50), w)
    model = GaussianProcessClassifier(1.0 * Gaussian(1.0), inference=inference, temperature=True)
    one, many = model.fit(X, y, sample_weight=w).predict_proba(X), None
    loo, T = model.loo_probabilities_, model.temperature_
    many = model.fit(X[index], y[index])
    assert_allclose(one, many.predict_proba(X), rtol=1e-6)
    assert_allclose(loo[index], many.loo_probabilities_, rtol=1e-6)
    assert_allclose(T, many.temperature_, rtol=1e-4)
    assert np.isnan(loo[w == 0]).all()
    assert np.abs(one - model.fit(X[w > 0], y[w > 0]).predict_proba(X)).max() > 1e-3


# ---------------------------------------------------------------------- leave-one-out, temperature
@pytest.mark.parametrize(
    "options",
    [{"temperature": False}, {"inference": "ep", "link": "probit"}, {"multi_class": "one_vs_rest"}],
    ids=str,
)
def test_leave_one_out_against_refits(three, options):
    X, y = three
    if options.get("inference") == "ep":
        y = np.where(y == "low", "a", "b")
    model = fixed(**options).fit(X, y)
    for i in range(0, 45, 9):
        rest = np.arange(45) != i
        refit = fixed(**options).fit(X[rest], y[rest]).predict_proba(X[i : i + 1])[0]
        assert_allclose(model.loo_probabilities_[i], refit, atol=0.03)


def test_temperature_improves_the_leave_one_out_loss(data):
    X, y = data
    plain, warm = fixed().fit(X, y), fixed(temperature=True).fit(X, y)
    rows = np.arange(50)
    p = plain.loo_probabilities_
    q = p ** (1 / warm.temperature_)
    q /= q.sum(axis=1, keepdims=True)
    assert np.log(q[rows, y]).sum() > np.log(p[rows, y]).sum()
    assert plain.temperature_ == 1.0
    expected = plain.predict_proba(X) ** (1 / warm.temperature_)
    assert_allclose(warm.predict_proba(X), expected / expected.sum(axis=1, keepdims=True), rtol=1e-10)


def test_left_out_losses_of_frequencies_and_weights(rng):
    prob, y, w = rng.dirichlet([2.0, 1.0], 9), np.array([0] * 8 + [1]), rng.integers(1, 4, 9)
    own, others = left_out_losses(prob, y, np.ones(9))
    assert_allclose(own, -np.log(prob[np.arange(9), y]).mean())
    assert_allclose(others, -(8 * np.log(7.5 / 9) + np.log(0.5 / 9)) / 9)
    index = np.repeat(np.arange(9), w)
    assert_allclose(left_out_losses(prob, y, w), left_out_losses(prob[index], y[index], np.ones(w.sum())))


def test_probabilities_worse_than_the_class_frequencies_are_said():
    """Laplace's evidence of separable classes drives the amplitude up, and every probability towards ½."""
    X = np.random.default_rng(0).standard_normal((100, 2))
    y = (X[:, 0] >= np.sort(X[:, 0])[-5]).astype(int)
    with pytest.warns(ConvergenceWarning, match=r"worse than the class frequencies\. .* Use inference='ep', or prior"):
        report = GaussianProcessClassifier(prior=None).fit(X, y).fit_report_
    assert report["loo_log_loss"] > 1.05 * report["frequency_log_loss"]
    held = weak_priors(1.0 * Matern32([1.0, 1.0]), X)
    for options in (
        {},
        {"prior": held},
        {"prior": None, "temperature": True},
    ):  # the remedies: a warning would be an error
        report = GaussianProcessClassifier(**options).fit(X, y).fit_report_
        assert report["loo_log_loss"] < 1.05 * report["frequency_log_loss"]


def test_a_temperature_at_the_end_of_its_range_is_said(data, monkeypatch):
    X, y = data
    monkeypatch.setattr(classes, "best_temperature", lambda prob, y, weight: float(np.exp(-2.995)))
    with pytest.warns(ConvergenceWarning, match="temperature 0.05 is at the end of its range.*50 rows"):
        fixed(temperature=True).fit(X, y)


# ---------------------------------------------------------------------- four ways
def test_four_ways_on_five_points():
    X, y, new = np.array([[-2.0], [-1.0], [0.1], [1.2], [2.0]]), [0, 0, 1, 0, 1], np.linspace(-3, 3, 7)[:, None]
    p = {
        way: GaussianProcessClassifier(2.0 * Gaussian(1.0), inference=way, trend=None, criterion=None).fit(X, y)
        for way in ("laplace", "ep", "mcmc", "quadrature")
    }
    truth = p["quadrature"].predict_proba(new)
    assert np.abs(p["ep"].predict_proba(new) - truth).max() < 1e-2
    report = p["mcmc"].fit_report_["posteriors"][0]
    assert np.abs(p["mcmc"].predict_proba(new) - truth).max() < 3 * 0.5 / np.sqrt(report["ess"])
    assert report["rhat"] < 1.02
    evidence = {way: model.log_marginal_likelihood_value_ for way, model in p.items()}
    assert abs(evidence["ep"] - evidence["quadrature"]) < 1e-2
    assert abs(evidence["mcmc"] - evidence["quadrature"]) < 4 * report["evidence_error"]
    mean, std = p["quadrature"].predict_latent(new)
    ep_mean, ep_std = p["ep"].predict_latent(new)
    assert_allclose(mean, ep_mean, atol=0.05)
    assert_allclose(std, ep_std, atol=0.05)
    with pytest.raises(ValueError, match="no gradient"):
        p["mcmc"].log_marginal_likelihood(eval_gradient=True)


def test_latent_function_of_two_outputs(data, three):
    mean, std = fixed().fit(*data).predict_latent(data[0])
    assert mean.shape == std.shape == (50,)
    assert (std > 0).all()
    model = fixed().fit(*three)
    mean, std = model.predict_latent(three[0])
    assert mean.shape == std.shape == (45, 3)
    assert_allclose(mean, KERNEL(three[0], model.points_) @ model.dual_coef_ + model.intercept_, rtol=1e-8)


# ---------------------------------------------------------------------- the constant
def test_imbalanced_classes_far_from_the_data(rng):
    X = rng.standard_normal((200, 1))
    y = rng.uniform(size=200) < 0.05
    far = [[1e3]]
    zero = GaussianProcessClassifier(1.0 * Gaussian(1.0), trend=None, criterion=None).fit(X, y)
    auto = GaussianProcessClassifier(1.0 * Gaussian(1.0), criterion=None).fit(X, y)
    assert_allclose(zero.predict_proba(far)[0, 1], 0.5, atol=1e-6)
    assert auto.predict_proba(far)[0, 1] < 0.15
    assert auto.intercept_ < -1.0
    assert auto.log_marginal_likelihood_value_ > zero.log_marginal_likelihood_value_
    known = GaussianProcessClassifier(1.0 * Gaussian(1.0), trend=-3.0, criterion=None).fit(X, y)
    assert known.predict_proba(far)[0, 1] < 0.1
    assert known.intercept_ == -3.0


def test_the_constant_is_a_constant_kernel(data):
    from mercer.kernels import Constant

    X, y = data
    auto = fixed().fit(X, y)
    explicit = GaussianProcessClassifier(KERNEL + Constant(25.0), trend=None, criterion=None).fit(X, y)
    assert_allclose(auto.log_marginal_likelihood_value_, explicit.log_marginal_likelihood_value_, rtol=1e-10)
    assert_allclose(auto.predict_proba(X), explicit.predict_proba(X), rtol=1e-8)


# ---------------------------------------------------------------------- labels
@pytest.mark.parametrize(
    "labels",
    [[0, 1], [-1.0, 1.0], [False, True], ["no", "yes"], np.array(["no", "yes"], dtype=object), [3, 900]],
    ids=str,
)
def test_labels_of_any_kind(data, labels):
    X, y = data
    given = np.asarray(labels)[y]
    model = fixed().fit(X, given)
    assert_array_equal(model.classes_, np.unique(given))
    assert set(model.predict(X)) <= set(given)
    assert_array_equal(model.predict_proba(X), fixed().fit(X, y).predict_proba(X))


def test_predictions_are_the_likeliest_class(data, three):
    for model, X in ((fixed().fit(*data), data[0]), (fixed().fit(*three), three[0])):
        assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])


def test_predict_needs_no_variance(data):
    X, y = data
    k = KERNEL(X)
    model = GaussianProcessClassifier(Precomputed()).fit(k, y)
    assert_array_equal(model.predict(k), fixed().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="variance"):
        model.predict_proba(k[:3])


# ---------------------------------------------------------------------- bad input
@pytest.mark.parametrize(("y", "words"), [([1] * 50, "1 class"), ([None] + ["a"] * 49, "row 0 has no label")])
def test_labels_that_cannot_be_learnt(data, y, words):
    model = fixed()
    with pytest.raises(ValueError, match=words):
        model.fit(data[0], np.array(y, dtype=object) if y[0] is None else y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    "y",
    [
        ["a", "b", np.nan] * 16 + ["a", "b"],
        np.array(["a", "b", np.datetime64("NaT")] * 16 + ["a", "b"], dtype=object),
        np.ma.array([0, 1, 1] * 16 + [0, 1], mask=[0, 0, 1] * 16 + [0, 0]),
        np.array(["2020-01-01", "2021-01-01", "NaT"] * 16 + ["2020-01-01"] * 2, dtype="datetime64[D]"),
    ],
    ids=["list", "object", "masked", "dates"],
)
def test_missing_labels_of_every_kind(data, y):
    with pytest.raises(ValueError, match=r"row 2 has no label \(16 such rows\)"):
        fixed().fit(data[0], y)


def test_missing_labels_of_pandas(data):
    pandas = pytest.importorskip("pandas")
    for dtype in (object, "string"):
        y = pandas.Series(["a", "b", pandas.NA] * 16 + ["a", "b"], dtype=dtype)
        with pytest.raises(ValueError, match="row 2 has no label"):
            fixed().fit(data[0], y)


@pytest.mark.parametrize("kind", [list, lambda y: np.array(y, dtype=object)], ids=["list", "object"])
def test_numbers_and_text_are_no_labels_of_one_kind(data, kind):
    with pytest.raises(ValueError, match="mixes numbers and text: row 0 has 1, row 1 has 'a'"):
        fixed().fit(data[0], kind([1, "a"] * 25))


def test_labels_with_nan(data):
    X, y = data
    y = y.astype(float)
    y[3] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN"):
        fixed().fit(X, y)


@quiet
@pytest.mark.parametrize("options", [{}, {"link": "probit"}, {"inference": "ep"}], ids=str)
def test_separated_classes_and_a_class_of_one_member(rng, options):
    X = np.concatenate([rng.standard_normal((30, 1)) - 20, rng.standard_normal((30, 1)) + 20])
    y = np.repeat([0, 1], 30)
    new = np.array([[-1e6], [-20.0], [0.0], [20.0], [1e6]])
    for labels in (y, (np.arange(60) == 59).astype(int)):
        model = GaussianProcessClassifier(1.0 * Gaussian(1.0), **options).fit(X, labels)
        p = model.predict_proba(new)
        assert np.isfinite(p).all()
        assert_allclose(p.sum(axis=1), 1.0)
        assert np.isfinite(model.log_marginal_likelihood_value_)
        assert np.isfinite(model.loo_probabilities_).all()


def test_a_bound_is_named():
    X, y = np.array([[-20.0], [-19.0], [19.0], [20.0]] * 20) + 0.01 * np.arange(80)[:, None], [0, 0, 1, 1] * 20
    kernel = 1.0 * Gaussian(30.0, length_scale_bounds="fixed")
    kernel.scale_bounds = (1e-3, 10.0)
    with pytest.warns(ConvergenceWarning, match=r"scale = 10 ended at its upper bound"):
        model = GaussianProcessClassifier(kernel, prior=None).fit(X, y)
    assert model.selection_.status == "at_bound"


@quiet
@pytest.mark.parametrize("factor", [1e150, 1e-150, 0.0])
def test_huge_tiny_and_constant_x(data, factor):
    X, y = data
    model = GaussianProcessClassifier().fit(X * factor, y)
    p = model.predict_proba(X * factor)
    assert np.isfinite(p).all()
    assert_allclose(p.sum(axis=1), 1.0)
    if factor == 0.0:
        assert_allclose(p[:, 1], np.mean(y), atol=0.05)


def test_identical_rows_with_different_labels():
    model = fixed().fit(np.ones((30, 1)), [0] * 20 + [1] * 10)
    assert len(model.points_) == 2
    assert model.fit_report_["merged_rows"] == 28
    assert_allclose(model.predict_proba([[1.0]])[0, 1], 1 / 3, atol=0.05)


def test_options_that_do_not_go_together(three):
    for options, words in (
        ({"inference": "ep"}, "one_vs_rest"),
        ({"link": "probit"}, "one_vs_rest"),
        ({"trend": 1.0}, "no effect"),
    ):
        with pytest.raises(ValueError, match=words):
            fixed(**options).fit(*three)
    with pytest.raises(ValueError, match="8"):
        fixed(inference="quadrature", multi_class="one_vs_rest").fit(*three)
    with pytest.raises(NotEnoughMemory, match="needs"):
        fixed(memory=1000.0).fit(*three)
    with pytest.raises(NotEnoughMemory, match="n = 45 and 3 classes"):  # K, ∂C/∂K and a factor of each class
        fixed(memory=4.5 * 8 * 45**2, multi_class="one_vs_rest").fit(*three)


def test_too_many_rows_are_refused_before_the_search(data, monkeypatch):
    def search(*args, **options):
        raise AssertionError("the search has begun")

    monkeypatch.setattr(classes, "search_latent", search)
    with pytest.raises(ValueError, match="8"):
        GaussianProcessClassifier(1.0 * Gaussian(0.5), inference="quadrature").fit(*data)


def test_the_gradient_of_draws_is_refused_before_they_are_drawn(data, monkeypatch):
    model = fixed(inference="mcmc", n_samples=200).fit(*data)
    monkeypatch.setattr(type(model._fitted.model), "fit", None)
    with pytest.raises(ValueError, match="no gradient"):
        model.log_marginal_likelihood(eval_gradient=True)


def test_the_tolerance_and_the_memory_reach_the_quadrature(monkeypatch):
    X, y = np.array([[-1.0], [0.0], [1.0]]), [0, 1, 1]
    loose = fixed(inference="quadrature", tol=1e-2).fit(X, y).fit_report_["posteriors"][0]
    assert loose["nodes"] < fixed(inference="quadrature").fit(X, y).fit_report_["posteriors"][0]["nodes"]
    with pytest.raises(NotEnoughMemory, match="direct integration over 3 rows"):
        fixed(inference="quadrature", memory=10_000.0).fit(X, y)


def test_not_converged_is_a_warning_with_numbers(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match=r"not converged after \d+ steps.*max_iter \(now 1\)"):
        GaussianProcessClassifier(1e4 * Gaussian(0.3), criterion=None, max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"R̂ = .*n_samples \(now 20\)"):
        fixed(inference="mcmc", n_samples=20).fit(X, y)


def test_huge_weights_of_several_classes_converge(three):
    X, y = three
    model = fixed().fit(X, y, sample_weight=np.full(45, 1e12))  # silent: steps do not cancel, however large K is
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) == 1.0


def test_an_interrupted_fit_leaves_the_model_as_it_was(data):
    X, y = data
    model = fixed().fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="1 class"):
        model.fit(X[:10], np.ones(10))
    assert_array_equal(model.predict_proba(X), before)


def test_objects_and_readonly_input(data, readonly):
    X, y = data
    X, y = readonly(X), readonly(y)
    fixed().fit(X, y).predict_proba(X)
    words = ["aa", "ab", "ba", "bb"] * 5
    same = Pairwise(lambda a, b: float(sum(s == t for s, t in zip(a, b, strict=True))))
    model = GaussianProcessClassifier(same).fit(words, [word[0] for word in words])
    assert list(model.predict(["aa", "bb"])) == ["a", "b"]


def test_no_rows_to_predict():
    same = Pairwise(lambda a, b: float(sum(s == t for s, t in zip(a, b, strict=True))))
    model = GaussianProcessClassifier(same).fit(["aa", "ab", "ba", "bb"], ["a", "a", "b", "b"])
    for method in (model.predict, model.predict_proba, model.predict_latent):
        with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
            method([])


def test_evidence_of_a_kernel_without_parameters(data):
    X, y = data
    model = GaussianProcessClassifier(Precomputed()).fit(KERNEL(X), y)
    value, gradient = model.log_marginal_likelihood([], eval_gradient=True)
    assert value == model.log_marginal_likelihood([]) == model.log_marginal_likelihood_value_
    assert np.isfinite(value) and gradient.shape == (0,)


def test_the_report_has_no_lam(data):
    model = GaussianProcessClassifier(1.0 * Gaussian(1.0), time_budget=60.0).fit(*data)
    assert "lam" not in str(model.selection_) and "lam" not in model.fit_report_["selection"]
    json.dumps(model.fit_report_, allow_nan=False)


@quiet
def test_a_time_budget_is_kept(data):
    model = GaussianProcessClassifier(1.0 * Gaussian(1.0), time_budget=1e-6).fit(*data)
    assert model.selection_.status == "time_budget"


@pytest.mark.parametrize(("inference", "effect"), [("laplace", "towards ½"), ("ep", "are 0 or 1")])
def test_an_amplitude_that_nothing_holds_is_said(rng, inference, effect):
    """Classes without an error between them: the evidence grows with the amplitude, and a prior holds it."""
    options = {"inference": inference, "options": [ClassOptions(steep=500.0)]}
    X = rng.uniform(-3, 3, size=(80, 1))
    X = X[np.abs(X[:, 0]) > 0.3]
    kernel, t = 1.0 * Gaussian(1.0), X[:, 0] > 0
    with pytest.warns(ConvergenceWarning, match=f"variance of the latent function is .*{effect}.*prior='auto'"):
        loose = GaussianProcessClassifier(kernel, **options, prior=None).fit(X, t)
    for prior in (weak_priors(kernel, X), "auto"):  # a warning would be an error
        held = GaussianProcessClassifier(kernel, **options, prior=prior).fit(X, t)
        assert held.kernel_.scale < 500.0 < loose.kernel_.scale
    assert (loose.predict(X) == t).all()


@pytest.mark.filterwarnings("ignore:.*landmarks are not enough")
def test_quick_probabilities_of_several_classes_on_landmarks_are_near_the_whole_ones(rng):
    X = rng.standard_normal((300, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(300), [-0.8, 0.0, 0.8])
    model = GaussianProcessClassifier(KERNEL, criterion=None, approximation=Landmarks(60)).fit(X, y)
    new = rng.standard_normal((400, 2))
    quick, whole = model.quick_proba(new), model.predict_proba(new)
    assert_allclose(quick.sum(axis=1), 1.0)
    assert np.abs(quick - whole).max() < 0.1
    assert np.abs(quick - whole).mean() < 0.02 < 0.2 < np.abs(quick - quick.mean(axis=0)).mean()
