"""The search over kernel expressions: what it chooses, in words, in time, and on data that say nothing."""

import time
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_friedman1

from mercer import (
    SVR,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelInterpolator,
    KernelMachine,
    KernelRidge,
    StackedKernels,
    load,
)
from mercer.gram import Rows
from mercer.kernels import (
    Anova,
    Cosine,
    Gappy,
    Gaussian,
    Graph,
    Laplacian,
    Linear,
    LocalAlignment,
    Matern32,
    Mismatch,
    Periodic,
    Polynomial,
    RandomWalk,
    Spectrum,
    Standardised,
)
from mercer.kernels.words import describe_together
from mercer.selection import GCV, LOO, KernelSearchOptions, search, search_kernels
from mercer.selection.kernels_search.candidate import shrink
from mercer.selection.kernels_search.objects import stand_in, text_kind
from mercer.selection.kernels_search.series import periods, seasons, time_column, unit_of
from mercer.selection.kernels_search.vectors import VectorSearch
from mercer.selection.search.objective import Record


@pytest.fixture(scope="module")
def series():
    t = 1950.0 + np.arange(96) / 12.0
    rng = np.random.default_rng(0)
    return t[:, None], 3.0 * (t - 1950.0) + 5.0 * np.sin(2 * np.pi * t) + 0.5 * rng.standard_normal(96)


@pytest.fixture(scope="module")
def found(series):
    return search_kernels(*series, names=["year"], time_budget=60)


class TestSeries:
    def test_season_and_trend_are_named(self, found):
        assert "a season of period 1" in found.words_ and found.series
        assert abs(found.periods_[0] - 1.0) < 0.05

    def test_it_forecasts(self, series, found):
        X, y = series
        later = 1958.0 + np.arange(24)[:, None] / 12.0
        model = GaussianProcessRegressor(found.kernel_, found.lam_, criterion=None).fit(X, y)
        truth = 3.0 * (later[:, 0] - 1950.0) + 5.0 * np.sin(2 * np.pi * later[:, 0])
        assert np.sqrt(np.mean((model.predict(later) - truth) ** 2)) < 1.0

    def test_leaderboard(self, found):
        scores = [one.score for one in found.candidates_]
        assert scores == sorted(scores) and len(scores) == 5
        assert found.kernel_ is found.candidates_[0].kernel
        assert "chosen: " in str(found) and found.candidates_[1].name in str(found)

    def test_no_period_longer_than_half_of_the_data(self):
        t = np.linspace(0, 10, 100)
        assert all(p <= 5.01 for p in periods(t, np.sin(2 * np.pi * t / 30)))
        assert periods(t[:10], np.sin(t[:10])) == [] and periods(t, np.ones(100)) == []

    def test_harmonics_are_not_periods_of_their_own(self):
        t = np.arange(200.0)
        found = periods(t, np.sin(2 * np.pi * t / 20) + 0.5 * np.sin(2 * np.pi * t / 10))
        assert len(found) == 1 and abs(found[0] - 20) < 0.5

    def test_time_is_in_order_and_even(self):
        t = np.arange(50.0)
        other = np.random.default_rng(0).standard_normal(50)
        assert time_column(np.column_stack([other, t])) == 1
        assert time_column(np.random.default_rng(0).permutation(t)[:, None]) is None
        assert time_column(np.exp(t)[:, None]) is None


class TestTables:
    def test_relevant_columns_and_interactions(self):
        X, y = make_friedman1(150, n_features=6, noise=0.5, random_state=0)
        found = search_kernels(X, y, time_budget=60)
        held, truth = make_friedman1(300, n_features=6, noise=0.0, random_state=1)
        model = GaussianProcessRegressor(found.kernel_, found.lam_, criterion=None).fit(X, y)
        default = GaussianProcessRegressor().fit(X, y)
        errors = [np.sqrt(np.mean((one.predict(held) - truth) ** 2)) for one in (model, default)]
        assert errors[0] < errors[1]
        assert "hardly matter" in found.words_

    def test_units_do_not_matter(self):
        X, y = make_friedman1(80, n_features=5, noise=1.0, random_state=0)
        plain = search_kernels(X, y, time_budget=None)
        moved = search_kernels(X * [1e-6, 1.0, 1e6, 3.0, 1.0] + 5.0, 1e3 * y, time_budget=None)
        assert plain.candidates_[0].name == moved.candidates_[0].name
        K, L = plain.kernel_(X), moved.kernel_(X * [1e-6, 1.0, 1e6, 3.0, 1.0] + 5.0)
        np.testing.assert_allclose(L, 1e6 * K, rtol=0.05)

    def test_time_budget_is_kept(self):
        X, y = make_friedman1(400, noise=1.0, random_state=0)
        begun = time.perf_counter()
        found = search_kernels(X, y, time_budget=0.5)
        assert time.perf_counter() - begun < 3.0 and found.status == "time_budget"

    def test_optimism_of_the_choice_is_measured(self):
        X, y = make_friedman1(60, n_features=5, noise=1.0, random_state=0)
        found = search_kernels(X, y, time_budget=3, nested=3)
        assert 0.0 < found.optimism_ < 1.0 and "looks better than it is" in str(found)
        assert f"It looks better than it is by {found.optimism_:.3f} nats" in found.result().message

    def test_levels_of_rows(self):
        X, y = make_friedman1(1000, n_features=5, noise=1.0, random_state=0)
        found = search_kernels(X, y, time_budget=4, keep=2)
        assert all(one.rows == 1000 for one in found.candidates_)

    def test_other_criteria(self):
        X, y = make_friedman1(60, n_features=5, noise=1.0, random_state=0)
        assert np.isfinite(search_kernels(X, y, criterion="loo", time_budget=3).value_)
        with pytest.raises(ValueError, match="log density"):
            search_kernels(X, y, criterion=GCV())


class TestAuto:
    @pytest.mark.parametrize("cls", [GaussianProcessRegressor, KernelRidge])
    def test_kernel_auto(self, cls, series):
        model = cls(kernel="auto", time_budget=60).fit(*series)
        assert "season" in model.selection_.message and len(model.selection_.candidates) > 1
        assert model.score(*series) > 0.95

    @pytest.mark.parametrize("cls", [GaussianProcessRegressor, KernelRidge])
    def test_data_that_say_nothing(self, cls):
        X = np.random.default_rng(0).standard_normal((30, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert np.allclose(cls(kernel="auto").fit(X, np.full(30, 7.0)).predict(X), 7.0)
            constant = cls(kernel="auto").fit(np.ones((30, 2)), X[:, 0])
            assert np.allclose(constant.predict(np.ones((3, 2))), X[:, 0].mean())
            assert np.isfinite(cls(kernel="auto", time_budget=60).fit(X, np.arange(30.0)).predict(X)).all()
        with pytest.raises(ValueError, match="rows|few"):
            cls(kernel="auto").fit(X[:2], [0.0, 1.0])

    def test_a_kernel_is_chosen_by_a_density(self):
        X = np.random.default_rng(0).standard_normal((30, 2))
        with pytest.raises(ValueError, match="log density"):
            KernelRidge("auto", criterion="gcv").fit(X, X[:, 0])
        with pytest.raises(TypeError, match="auto"):
            KernelInterpolator("auto").fit(X, X[:, 0])


def test_expressions_in_other_units_are_the_same_kernels():
    X = np.random.default_rng(0).standard_normal((20, 3)) * [1.0, 50.0, 1e-3] + [0.0, 1900.0, 2.0]
    centre, scale = unit_of(X)
    Z = (X - centre) / scale
    for kernel in (
        2.0 * Matern32(1.5) + 0.3 * Linear(),
        1.0 * Anova(np.array([1.0, 2.0, 3.0]), 0.4) * Laplacian(2.0),
        0.5 * (Periodic(1.0, 0.7) * Gaussian(2.0)).on([1]) + 0.1 * Polynomial(2),
    ):
        np.testing.assert_allclose(kernel.in_units(centre, scale)(X), kernel(Z), rtol=1e-7)


def test_lengths_are_drawn_towards_each_other():
    names = ["scale", "kernel__length_scale[0]", "kernel__length_scale[1]", "lam"]
    value, gradient = shrink(names, np.array([9.0, 1.0, 3.0, 5.0]))
    assert value > 0 and gradient[1] < 0 < gradient[2] and gradient[0] == gradient[3] == 0
    step = 1e-6 * np.array([0.0, 1.0, 0.0, 0.0])
    z = np.array([9.0, 1.0, 3.0, 5.0])
    assert (shrink(names, z + step)[0] - value) / 1e-6 == pytest.approx(gradient[1], rel=1e-4)


def test_words():
    kernel = 2.0 * Anova([1.0, 2.0, 1.5, 40.0], 0.01) + 0.1 * Standardised(Linear(), 0.0, 1.0)
    said = kernel.describe(["a", "b", "c", "d"])
    assert said == (
        "a sum of functions of single columns of all 4 columns (most of all a, c and b; 1 of 4 hardly matter), "
        "plus a line in all 4 columns"
    )


def test_words_of_a_table():
    names = ["a", "b", "c", "site = Bern", "site = Rome", "site = Turin"]
    numbers, site = Matern32(1.0).on([0, 1, 2]), Gaussian(1.0).on([3, 4, 5])
    said = "a function without jumps in its slope of 3 columns"
    assert (numbers * site).describe(names) == f"{said}, which may differ with site"
    assert (numbers + site).describe(names) == f"{said}, plus a value for each site"
    assert Linear().describe(names) == "a line in all 4 columns"  # a category is one of them


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (Mismatch(4, 1).on("seq"), "a line in how often pieces of 4 letters, up to 1 of them changed, occur in seq"),
        (Gappy(3, 2), "a line in how often pieces of 3 letters, up to 2 others between them, occur"),
        (LocalAlignment().normalise(), "a line in how well pieces match those of others"),
        (RandomWalk().on("cell"), "a line in how often walks occur in cell"),
        (Linear().on(["site = Bern", "site = Rome"]), "a value for each site"),
        (Gaussian().on(slice(0, 2)), "a very smooth function of x0 and x1"),
        (Cosine(12.0).on("month"), "a season of period 12 in month, a single wave"),
    ],
    ids=["mismatch", "gappy", "alignment", "walks", "indicators", "slice", "cosine"],
)
def test_words_of_more_kernels(kernel, said):
    assert (2.0 * kernel).describe() == said


def test_words_of_what_reads_the_same():
    names = ["a", "b", "c"]
    assert (
        describe_together([Gaussian([1.0, 2.0, 40.0]), Gaussian(3.0)], names)
        == "a very smooth function of all 3 columns"
    )
    assert describe_together([Gaussian(1.0), Linear()], names) == "a function of all 3 columns"
    assert describe_together([Gaussian(1.0).on([1]), Linear().on(1)], names) == "a function of b"
    assert describe_together([Spectrum(2).on("seq"), Spectrum(3).on("seq")]) == "a function of seq"
    assert (
        describe_together([Periodic(1.0, 12.0), Periodic(1.0, 12.1) * Gaussian(9.0)], ["t"])
        == "a season of period 12 in t"
    )


def test_families_that_there_was_no_time_for_are_said(rng):
    # The first level is cut short, the last is not.
    short = KernelSearchOptions(shares=(3e-4, 3e-4, 1.0))
    X = rng.standard_normal((950, 2))
    found = search_kernels(
        X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(950), time_budget=600.0, keep=1, options=short
    )
    assert found.status == "time_budget" and found.candidates_[0].rows == 950


# ------------------------------------------------------------------------------------------------ labels, other losses
def test_labels_choose_a_kernel_by_the_evidence():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (120, 3))
    y = np.where(np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(120) > 0, "yes", "no")
    model = GaussianProcessClassifier("auto", time_budget=60).fit(X, y)
    found = model.selection_
    assert len(found.candidates) == 5 and found.kernel is found.candidates[0].kernel
    assert "x0" in found.message and found.status == "ok"
    default = GaussianProcessClassifier().fit(X, y)
    assert (
        model.log_marginal_likelihood_value_ > default.log_marginal_likelihood_value_ - 1.5
    )  # lengths are drawn together
    for one in found.candidates:  # the leaderboard is what each kernel has by itself
        alone = GaussianProcessClassifier(one.kernel, criterion=None).fit(X, y)
        assert -alone.log_marginal_likelihood_value_ == pytest.approx(one.value, rel=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "huber"])
def test_a_loss_without_an_evidence_has_a_kernel_proposed(loss):
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (60, 2))
    f = np.sin(2 * X[:, 0])
    model = KernelMachine("auto", loss=loss, time_budget=60).fit(X, np.sign(f) if loss == "hinge" else f)
    assert model.score(X, np.sign(f) if loss == "hinge" else f) > 0.95
    assert len(model.selection_.candidates) == 5 and model.selection_.lam == model.lam_


def test_support_vectors_with_a_kernel_that_is_searched_for():
    X = np.linspace(0, 6, 25)[:, None]
    model = SVR("auto", epsilon=0.05, time_budget=60).fit(X, np.sin(X[:, 0]))
    assert np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.15


@pytest.mark.parametrize(
    "model", [GaussianProcessClassifier("auto", time_budget=60), KernelMachine("auto", loss="hinge", time_budget=60)]
)
def test_labels_that_say_nothing(model):
    X = np.random.default_rng(0).standard_normal((12, 2))
    y = np.arange(12) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert set(model.fit(X[:2], y[:2]).predict(X)) <= {0, 1}  # two rows
        assert set(model.fit(np.ones((12, 2)), y).predict(X)) <= {0, 1}  # columns that are constant
        assert set(model.fit(np.column_stack([X, np.ones(12)]), y).classes_) == {0, 1}
    with pytest.raises(ValueError, match="class"):
        model.fit(X, np.zeros(12, dtype=int))


class TestSeasonsThatRepeat:
    """Days and weeks of hours are seasons; waves that a random walk happens to have are none."""

    t = np.arange(1500.0)

    def hours(self):
        day, night = np.sin(2 * np.pi * self.t / 24), self.t // 24 % 7 >= 5
        return np.where(night, 0.3, 1.0) * day + 0.2 * np.random.default_rng(0).standard_normal(1500)

    def test_a_week_follows_its_day(self):
        assert [round(p, 2) for p in seasons(self.t, self.hours())] == [24.0, 168.0]

    def test_missing_rows_do_not_matter(self):
        kept = np.random.default_rng(1).uniform(size=1500) < 0.9
        assert [round(p, 1) for p in seasons(self.t[kept], self.hours()[kept])] == [24.0, 168.0]

    @pytest.mark.parametrize("seed", range(5))
    def test_a_random_walk_has_none(self, seed):
        assert seasons(self.t, np.cumsum(np.random.default_rng(seed).standard_normal(1500))) == []

    def test_two_cycles_that_are_alike_are_enough(self):
        slow = np.sin(2 * np.pi * self.t / 700)
        assert [600 < p < 750 for p in seasons(self.t, slow)] == [True]

    def test_a_forecast_of_days_and_weeks(self):
        y = self.hours()
        model = GaussianProcessRegressor("auto", time_budget=60).fit(self.t[:600, None], y[:600])
        mean, std = model.predict(self.t[600:768, None], return_std=True, noisy=True)
        error, week = y[600:768] - mean, y[600:768] - y[432:600]  # what was a week before
        assert np.mean(error**2) < 0.8 * np.mean(week**2)
        assert 0.8 < np.mean(np.abs(error) < 1.645 * std) <= 1.0


# ------------------------------------------------------------------------------------------------ texts, graphs, tables
@pytest.fixture(scope="module")
def sequences():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("ACGT"), rng.integers(12, 25))) for _ in range(70)]
    return texts, np.array([3.0 * text.count("GA") / len(text) for text in texts]) + 0.02 * rng.standard_normal(70)


@pytest.mark.parametrize("cls", [GaussianProcessRegressor, KernelRidge, StackedKernels])
def test_texts_choose_among_kernels_on_texts(cls, sequences, tmp_path):
    texts, y = sequences
    model = cls("auto", time_budget=60).fit(texts[:50], y[:50])
    assert "letters occur" in model.selection_.message and len(model.selection_.candidates) >= 5
    assert model.score(texts[50:], y[50:]) > 0.6
    model.save(tmp_path / "m.mercer")
    np.testing.assert_array_equal(load(tmp_path / "m.mercer").predict(texts[50:]), model.predict(texts[50:]))


def test_labels_of_texts(sequences):
    texts, y = sequences
    labels = np.where(y > np.median(y), "rich", "poor")
    for model in (GaussianProcessClassifier("auto", time_budget=60), KernelMachine("auto", loss="hinge")):
        assert model.fit(texts[:50], labels[:50]).score(texts[50:], labels[50:]) > 0.7
        assert "letters occur" in model.selection_.message


def test_graphs_choose_among_kernels_on_graphs():
    rng = np.random.default_rng(0)
    graphs = [Graph([(i, i + 1) for i in range(n)] + [(0, n)] * int(rng.integers(2))) for n in rng.integers(3, 9, 40)]
    y = np.array([len(graph.edges) - graph.n for graph in graphs], dtype=float)
    found = search_kernels(graphs, y + 0.01 * rng.standard_normal(40), time_budget=60)
    assert "nodes" in found.words_ and "edges away" in found.words_


def test_a_table_of_numbers_categories_and_texts(sequences):
    texts, y = sequences
    rng = np.random.default_rng(1)
    dose, site = rng.uniform(0, 900, 70), rng.choice(["Bern", "Rome"], 70)
    table = {"sequence": texts, "dose": dose, "site": site.tolist()}
    found = search_kernels(table, 3.0 * y + np.sin(dose / 150) + 2.0 * (site == "Rome"), time_budget=60)
    assert "sequence" in found.words_ and "dose" in found.words_ and "a value for each site" in found.words_
    assert Linear().on(["a", "b", "c = 1", "c = 2"]).describe() == "a line in 3 columns"
    with pytest.raises(TypeError, match="'bags'"):
        search_kernels(table | {"bags": [{1}] * 70}, y)


def test_what_texts_look_like():
    texts = ["ACGTTA", "acgtta"], ["MKVLAAGIVG"], ["CCO", "c1ccccc1"], ["a red car"], []
    assert [text_kind(one) for one in texts] == ["dna", "protein", "smiles", "", ""]
    numbers = [[1.0, 2.0]], np.ones((3, 2)), {"a": [1.0, 2]}, np.array([["1", "2"]]), csr_array(np.ones((3, 2))), []
    assert all(isinstance(stand_in(X), Matern32) for X in numbers)


class TestLongSeries:
    """More rows than the first level has: daily data with a week and a year in them."""

    t = np.arange(1461.0)
    y = 2 * np.sin(2 * np.pi * t / 365.25) + 0.7 * np.sin(2 * np.pi * t / 7) + 1e-3 * t
    y = y + 0.4 * np.random.default_rng(0).standard_normal(1461)

    def test_short_and_long_periods_are_found(self):
        week, year = seasons(self.t, self.y)
        assert abs(week - 7) < 0.05 and abs(year - 365) < 5
        assert [round(p) for p in seasons(self.t, 0.7 * np.sin(2 * np.pi * self.t / 7))] == [7]
        assert seasons(self.t, np.random.default_rng(1).standard_normal(1461)) == []

    def test_the_first_level_holds_the_longest_twice(self):
        def order(y):
            return VectorSearch(Rows(self.t[:, None], y[:, None]), (730.0, 422.0), None, None, Record(), True).order

        long, short = order(self.y), order(np.sin(2 * np.pi * self.t / 7))
        assert sorted(long) == sorted(short) == list(range(1461))
        assert np.ptp(long[:600]) > 2 * 365 and set(long[:600]) >= set(range(1161, 1461))
        assert short[:600].tolist() == list(range(1460, 860, -1))

    def test_business_days_are_a_series(self):
        rng = np.random.default_rng(0)
        days = np.array([d for d in range(300) if d % 7 < 5 and rng.uniform() > 0.03], dtype=float)
        assert time_column(days[:, None]) == 0
        assert time_column(np.cumsum(rng.exponential(size=300))[:, None]) is None
        assert time_column(np.cumsum(rng.integers(1, 3, 300)).astype(float)[:, None]) is None


def test_it_says_on_how_many_rows_kernels_were_compared():
    X = np.random.default_rng(0).standard_normal((90, 2))
    y = X[:, 0] + 0.1 * np.random.default_rng(1).standard_normal(90)
    assert search_kernels(X, y, time_budget=20).result().message.endswith(" kernels on all rows.")
    few = KernelSearchOptions(most_rows=50)
    assert search_kernels(X, y, time_budget=20, options=few).result().message.endswith(" kernels on 50 of 90 rows.")


class TestBadInput:
    """Refused in words, before the search begins."""

    X = np.random.default_rng(0).standard_normal((40, 2))
    y = X[:, 0] + 0.1 * np.random.default_rng(1).standard_normal(40)
    days = np.datetime64("2020-01-01") + np.arange(40)
    gap = np.where(np.arange(40) == 3, np.datetime64("NaT"), days)

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"X": gap[:, None]}, "X contains NaT, no date: row 3"),
            ({"y": gap}, "y contains NaT, no date: row 3"),
            ({"y": y + 1j}, "y is complex"),
            ({"y": np.ones((40, 2, 2))}, "y must be of shape"),
            ({"y": np.ones(40)}, "y is constant"),
            ({"y": np.zeros(40)}, "y is constant"),
            ({"X": np.ones((40, 2))}, "all rows of X are equal"),
            ({"X": X[:, :0]}, "and a column"),
            ({"X": X[:2], "y": y[:2]}, "nothing to choose a kernel by with 2 rows"),
            ({"weight": np.where(y > 1, np.nan, 1.0)}, "weight must be finite"),
            ({"weight": -np.ones(40)}, "weight must be finite and >= 0; row 0 has -1.0"),
            ({"weight": np.ones(39)}, "weight must have one entry for each of the 40 rows"),
            ({"weight": np.zeros(40)}, "no row is left"),
            ({"keep": 0}, "keep must be at least 1"),
            ({"names": ["a"]}, "X has 2 columns, and there are 1 names"),
            ({"time_budget": 0.0}, "time_budget must be positive"),
            ({"nested": 20}, "folds need at least 105 rows"),
        ],
    )
    def test_search_kernels(self, changes, words):
        with pytest.raises(ValueError, match=words):
            search_kernels(**{"X": self.X, "y": self.y, "time_budget": 5.0} | changes)

    def test_search(self):
        with pytest.raises(ValueError, match="NaT"):
            search(Gaussian(), self.X, self.gap, LOO())
        with pytest.raises(ValueError, match="weight"):
            search(Gaussian(), self.X, self.y, LOO(), weight=-np.ones(40))

    @pytest.mark.parametrize("model", [SVR("auto"), KernelMachine("auto", loss="huber")])
    def test_losses_without_anything_to_choose_by(self, model):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert np.allclose(clone(model).fit(self.X, np.full(40, 3.0)).predict(self.X), 3.0)
        with pytest.raises(ValueError, match="2"):
            clone(model).fit(self.X[:2], self.y[:2])
