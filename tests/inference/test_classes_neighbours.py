"""GaussianProcessClassifier(approximation=Neighbours()): Laplace's approximation where all rows are neighbours."""

import numpy as np
import pytest

import mercer
from mercer import GaussianProcessClassifier, Neighbours
from mercer.approximate import NeighbourOptions
from mercer.kernels import Gaussian, Matern32, Spectrum


def problem(rng, n, classes=2):
    X = rng.uniform(-2, 2, (n, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, np.array(list("abc"))[np.digitize(f, [0.0] if classes == 2 else [-0.7, 0.7])]


@pytest.mark.parametrize(
    ("classes", "link", "trend"), [(2, "logit", "constant"), (3, "probit", None), (2, "logit", 0.3)]
)
def test_with_all_rows_it_is_laplace(classes, link, trend, rng):
    X, y = problem(rng, 70, classes)
    weight, Z = rng.integers(1, 4, 70).astype(float), rng.uniform(-4, 4, (40, 2))
    common = {"kernel": 9.0 * Gaussian(0.8), "criterion": None, "link": link, "trend": trend}
    exact, near = (
        GaussianProcessClassifier(**common, multi_class="one_vs_rest", approximation=how).fit(X, y, weight)
        for how in (None, Neighbours(100))
    )
    np.testing.assert_allclose(near.predict_proba(Z), exact.predict_proba(Z), atol=1e-6)
    for one, two in zip(near.predict_latent(Z), exact.predict_latent(Z), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)
    np.testing.assert_array_equal(near.predict(Z), exact.predict(Z))


def test_learns_says_and_comes_back_from_a_file(rng, tmp_path):
    X, y = problem(rng, 900)
    model = GaussianProcessClassifier(4.0 * Matern32(1.0), approximation=Neighbours(24), starts=1, temperature=True)
    model.fit(X, y)
    Z, labels = problem(rng, 600)
    assert np.mean(model.predict(Z) == labels) > 0.85
    said = model.fit_report_["approximation"]
    assert "local: Laplace" in said["words"] and abs(said["error"] - said["stated_error"]) < 0.03
    assert model.fit_report_["loo_log_loss"] < 0.5 * model.fit_report_["frequency_log_loss"]
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict_proba(Z), model.predict_proba(Z))
    same = GaussianProcessClassifier(4.0 * Matern32(1.0), approximation=Neighbours(24), starts=1, temperature=True)
    assert mercer.plan(same, X, y) == model.plan_ and model.plan_.neighbours == 24
    with pytest.raises(ValueError, match="approximation=None"):
        model.log_marginal_likelihood()


def test_neighbours_are_doubled_while_rows_left_out_gain(rng):
    X = rng.uniform(-2, 2, (300, 2))
    smooth = np.sin(2 * X[:, 0]) + X[:, 1] > 0
    options = {"criterion": None, "approximation": Neighbours(), "options": [NeighbourOptions(first=8, most=32)]}
    model = GaussianProcessClassifier(100.0 * Gaussian(2.0), **options).fit(X, smooth)
    said = model.fit_report_["approximation"]
    tried = dict(map(tuple, said["tried"]))
    assert said["k"] > 8 and said["k"] in tried and tried[16] > 0.98 * tried[8]
    assert "Neighbours tried (log density of rows left out): 8 (" in said["words"]
    assert -tried[said["k"]] == pytest.approx(model.fit_report_["loo_log_loss"], rel=1e-9)  # all rows are left out
    assert model.plan_.neighbours == 8 and "up to 32" in str(model.plan_)
    rough = GaussianProcessClassifier(Gaussian(0.01), trend=None, **options).fit(X, smooth)  # nobody is near
    assert rough.fit_report_["approximation"]["k"] == 8
    given = GaussianProcessClassifier(Gaussian(), criterion=None, approximation=Neighbours(8)).fit(X, smooth)
    assert given.fit_report_["approximation"]["tried"] == []


def test_what_cannot_be_and_what_must_not_break(rng):
    X, y = problem(rng, 40)
    fixed = {"kernel": Gaussian(1.0), "criterion": None}
    with pytest.raises(ValueError, match="inference='laplace'"):
        GaussianProcessClassifier(**fixed, inference="ep", approximation=Neighbours()).fit(X, y)
    far = GaussianProcessClassifier(**fixed, trend=None, approximation=Neighbours(10)).fit(X, y).predict_proba(X + 1e6)
    np.testing.assert_allclose(far, 0.5, atol=1e-12)
    same = np.tile(X[:1], (40, 1))  # all neighbours equal
    assert np.isfinite(
        GaussianProcessClassifier(**fixed, approximation=Neighbours(5)).fit(same, y).predict_proba(X)
    ).all()
    words = ["abab", "baba", "abba", "ccdd", "dcdc", "cddc"] * 3
    model = GaussianProcessClassifier(Spectrum(2), criterion=None, approximation=Neighbours(4))
    assert (model.fit(words, [0, 0, 0, 1, 1, 1] * 3).predict(["ababab", "cdcdcd"]) == [0, 1]).all()


def test_of_several_copies_one_is_left_out_and_the_others_stay(rng):
    X, y = problem(rng, 60)
    copies = rng.integers(1, 4, 60)
    options = {"kernel": 4.0 * Gaussian(0.8), "criterion": None, "approximation": Neighbours(12)}
    found = GaussianProcessClassifier(**options).fit(X, y, copies)
    repeated = GaussianProcessClassifier(**options).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert repeated.fit_report_["loo_log_loss"] == pytest.approx(found.fit_report_["loo_log_loss"], rel=1e-9)
    own = []  # each fit without one copy, asked for that row
    for i in range(60):
        rest = copies - (np.arange(60) == i)
        near = GaussianProcessClassifier(**options).fit(X, y, rest)
        own.append(near.predict_proba(X[i : i + 1])[0, near.classes_ == y[i]][0])
    expected = -np.average(np.log(own), weights=copies)
    assert found.fit_report_["loo_log_loss"] == pytest.approx(expected, rel=1e-6)


def test_shares_of_labels_at_one_input_are_seen_by_rows_left_out(rng):
    X, y = np.repeat(np.arange(4.0)[:, None], 200, axis=0), rng.uniform(size=800) < 0.3
    model = GaussianProcessClassifier(Gaussian(0.3), criterion=None, approximation=Neighbours(5)).fit(X, y)
    said = model.fit_report_
    assert said["loo_log_loss"] == pytest.approx(said["frequency_log_loss"], abs=0.02)
    assert said["approximation"]["error"] == pytest.approx(np.mean(y), abs=0.01)
    one = GaussianProcessClassifier(Gaussian(0.3), criterion=None, approximation=Neighbours(1)).fit(X, y)
    assert one.fit_report_["approximation"]["error"] > 0.2  # one of two labels at each input is all that it sees
