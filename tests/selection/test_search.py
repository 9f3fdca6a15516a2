"""The search over θ and λ: it finds the optimum, says what is wrong by name, and survives bad trials."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from mercer.exceptions import NotPositiveDefinite
from mercer.gram import Rows
from mercer.gram.rows import constant
from mercer.kernels import Gaussian, Linear, Matern52, Pairwise, Precomputed
from mercer.selection import (
    GCV,
    LOO,
    Criterion,
    Discrepancy,
    Evidence,
    GroupKFold,
    KFold,
    LCurve,
    SearchOptions,
    path,
    search,
)
from mercer.selection.search import SearchSpace, search_rows
from mercer.selection.search.levels import level_sizes
from mercer.selection.search.objective import CriterionObjective, Record
from mercer.selection.search.space import median_heuristic


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (120, 2))
    y = np.sin(3 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(120)
    return X, y


CRITERIA = [LOO(), LOO("absolute"), LOO("log_density"), LOO("crps"), GCV(), GCV("robust"), Evidence(),
            Evidence(profile_scale=True), KFold(4)]  # fmt: skip


@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda c: c.name)
def test_gradient_of_the_objective(data, rng, criterion):
    X, y = data
    rows = Rows(X[:40], y[:40, None], rng.uniform(0.5, 2, 40), constant)
    objective = CriterionObjective(1.5 * Gaussian([1.0, 2.0]) + Linear(), rows, criterion, Record())
    z = np.append(objective.kernel.theta + 0.1, np.log(0.05))
    _, gradient = objective(z)
    for j, step in enumerate(1e-5 * np.eye(len(z))):
        difference = (objective(z + step)[0] - objective(z - step)[0]) / 2e-5
        assert_allclose(gradient[j], difference, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("criterion", [LOO(), GCV(), Evidence(), KFold(5)], ids=lambda c: c.name)
def test_finds_the_optimum(data, criterion):
    X, y = data
    found = search(Gaussian([1.0, 1.0]), X, y, criterion)
    assert found.status == "ok"
    assert found.failed == 0
    assert found.evaluations == len(found.history)
    objective = CriterionObjective(Gaussian([1.0, 1.0]), Rows(X, y[:, None], trend=constant), criterion, Record())
    start = objective.start(found.kernel, found.lam)
    assert_allclose(objective(start)[0], objective.best)
    better = minimize(objective.value, start, method="Nelder-Mead", options={"maxiter": 300})
    assert better.fun > objective(start)[0] - 0.02  # what is left to gain is far below the noise of the criterion
    assert found.kernel.length_scale[0] < found.kernel.length_scale[1]
    assert_allclose(found.lam, np.exp(start[-1]))
    assert "GCV" in repr(found) or criterion.name in repr(found)
    assert found.to_dict()["status"] == "ok"


def test_start_does_not_matter(data):
    X, y = data
    values = [search(Gaussian(ell), X, y, LOO(), lam=lam).value for ell in (1e-3, 1e3) for lam in (1e-6, 1e3)]
    assert_allclose(values, values[0], rtol=1e-3)


def test_levels_are_nested_and_give_the_same_answer(rng):
    assert level_sizes(150) == [150]
    assert level_sizes(4000) == [444, 1333, 4000]
    X = rng.uniform(-2, 2, (700, 1))
    y = np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(700)
    found = search(Gaussian(1.0), X, y, LOO())
    rows = [entry["n"] for entry in found.history]
    assert set(rows) == {233, 700}
    assert rows.count(700) < 15
    alone = path(found.kernel, X, y, criteria=[LOO()]).choose(LOO())
    assert_allclose(found.value, alone.value, rtol=0.01)  # the noise of the criterion is five times that


def test_weights_and_groups_reach_the_criterion(data, rng):
    X, y = data
    w = rng.uniform(0.1, 5, 120)
    spoiled = np.where(np.arange(120) < 40, y + 5 * rng.standard_normal(120), y)
    w[:40] = 1e-6
    found = search(Gaussian(1.0), X, spoiled, LOO(), weight=w)
    clean = search(Gaussian(1.0), X[40:], y[40:], LOO(), weight=w[40:])
    assert_allclose(np.log(found.kernel.length_scale), np.log(clean.kernel.length_scale), atol=0.1)
    groups = np.arange(120) // 4
    assert search(Gaussian(1.0), X, y, GroupKFold(groups)).status == "ok"


def test_lam_alone_is_the_choice_on_the_path(data):
    X, y = data
    for rule in (LOO(), LCurve(), Discrepancy(0.1), KFold(5)):
        found = search(Gaussian(1.0), X, y, rule, optimize="lam")
        assert found.kernel == Gaussian(1.0)
        assert_allclose(found.lam, rule.choose(path(Gaussian(1.0), X, y)).lam, rtol=1e-4)
        assert found.path.table["lam"].size == (40 if rule.name.startswith("KFold") else 200)
    fixed = search(Gaussian(1.0).fixed(), X, y, LOO())
    assert_allclose(fixed.lam, search(Gaussian(1.0), X, y, LOO(), optimize="lam").lam, rtol=1e-9)
    inside = search(Gaussian(1.0), X, y, LOO(), optimize="lam", bounds=(5.0, 50.0))
    assert inside.status == "at_lower_edge"
    assert inside.lam == pytest.approx(5.0)


def test_lam_alone_by_a_line_search_for_many_rows(data):
    X, y = data
    exact = search(Gaussian(1.0), X, y, LOO(), optimize="lam")
    rows, options = Rows(X, y[:, None], trend=constant, merge=False), SearchOptions(path_rows=50, sample_rows=60)

    def search_lam(bounds=None, callback=None):
        space = SearchSpace(Gaussian(1.0), bounds=bounds, optimize="lam")
        return search_rows(space, rows, LOO(), record=Record(callback=callback), options=options)

    found = search_lam()
    assert_allclose(np.log(found.lam), np.log(exact.lam), atol=0.03)
    assert found.evaluations < 25
    narrow = search_lam(bounds=(5.0, 50.0))
    assert narrow.status == "at_lower_edge"
    stopped = search_lam(callback=lambda entry: True)
    assert stopped.status == "stopped"


def test_amplitude_is_left_alone_where_it_cannot_be_chosen(data):
    X, y = data
    found = search(3.0 * Gaussian(1.0), X, y, LOO())
    assert found.kernel.scale == 3.0
    assert found.flat == ["scale"]
    assert found.status == "ok"
    plain = search(Gaussian(1.0), X, y, LOO())
    assert_allclose(found.value, plain.value, rtol=1e-3)
    assert_allclose(np.log(found.lam / 3.0), np.log(plain.lam), atol=0.1)
    chosen = search(3.0 * Gaussian(1.0), X, 10 * y, Evidence())
    assert chosen.flat == []
    assert chosen.kernel.scale > 10


def test_a_list_of_kernels(data):
    X, y = data
    found = search([Linear(), Matern52(1.0), Gaussian(1.0)], X, y, LOO())
    assert len(found.candidates) == 3
    assert found.value == min(result.value for result in found.candidates)
    assert not isinstance(found.kernel, Linear)
    with pytest.raises(ValueError, match="LCurve"):
        search([Gaussian(), Linear()], X, y, LCurve())
    with pytest.raises(ValueError, match="empty"):
        search([], X, y, LOO())


def test_objects_and_matrices(data, rng):
    X, y = data
    found = search(Precomputed(), Gaussian(1.0)(X), y, LOO())
    assert_allclose(found.lam, search(Gaussian(1.0), X, y, LOO(), optimize="lam").lam, rtol=1e-3)

    def shared(a, b):
        return float(len(set(a) & set(b)))

    words = ["".join(rng.choice(list("abcdefg"), 4)) for _ in range(25)]
    assert np.isfinite(search(2.0 * Pairwise(shared), words, rng.standard_normal(25), Evidence()).lam)


# ------------------------------------------------------------------------------------------- what goes wrong
def test_bounds_and_flat_directions_are_named(data):
    X, y = data
    found = search(Gaussian(1.0, length_scale_bounds=(0.1, 0.4)), X, y, LOO())
    assert found.status == "at_bound"
    assert found.at_bound == {"length_scale": pytest.approx(0.4)}
    with pytest.warns(ConvergenceWarning, match=r"\(0\.1,.0\.4\)"):
        found.warn()
    constant = np.column_stack([X, np.ones(120)])
    found = search(Gaussian([1.0, 1.0, 1.0]), constant, y, LOO())
    assert found.flat == ["length_scale[2]"]
    with pytest.warns(ConvergenceWarning, match="length_scale"):
        found.warn()


def test_entries_at_the_same_bound_share_a_sentence(rng):
    X = np.column_stack([rng.uniform(-2, 2, 60), rng.standard_normal((60, 2))])
    found = search(Gaussian([1.0, 1.0, 1.0], length_scale_bounds=(0.1, 50.0)), X, np.sin(2 * X[:, 0]), LOO())
    both = {"length_scale[1]", "length_scale[2]"}
    assert found.at_bound.keys() >= both
    text = r"length_scale\[1\], length_scale\[2\] = 50 ended at their upper bound of \(0.1, 50\): these columns hardly"
    with pytest.warns(ConvergenceWarning, match=text):
        found.warn()


def test_noise_free_data_end_at_the_lower_bound_of_lam(data):
    X, _ = data
    y = np.sin(X[:, 0]) + X[:, 1]
    found = search(Gaussian(1.0, length_scale_bounds=(0.5, 2.0)), X, y, LOO(), bounds=(1e-4, 1.0))
    assert "lam" in found.at_bound
    assert "free of noise" in found.message
    assert np.isfinite(found.value)


def test_constant_y_keeps_what_was_given(data):
    X, _ = data
    found = search(Gaussian(2.0), X, np.full(120, 7.0), LOO(), lam=0.3)
    assert (found.status, found.lam, found.kernel) == ("constant", 0.3, Gaussian(2.0))
    with pytest.warns(ConvergenceWarning, match="constant"):
        found.warn()


class Sometimes(LOO):
    """LOO that is not a number in the middle of a search."""

    calls = 0

    def value_and_adjoint(self, Kinv, y, weight=None):
        value, W = super().value_and_adjoint(Kinv, y, weight)
        type(self).calls += 1
        return (np.nan if type(self).calls % 4 == 2 else value), W


def test_nan_in_mid_search_is_survived(data):
    X, y = data
    Sometimes.calls = 0
    found = search(Gaussian(1.0), X, y, Sometimes())
    assert found.failed > 0
    assert np.isfinite(found.value)
    assert found.value < 1.3 * search(Gaussian(1.0), X, y, LOO()).value
    assert f"{found.failed} trials could not be evaluated" in found.message


class Refuses(Gaussian):
    """A Gaussian kernel that is not for all length scales."""

    def tiles(self, X, Z):
        if self.length_scale > 0.5:
            raise ValueError(f"length_scale = {self.length_scale:g} is too long")
        return super().tiles(X, Z)


def test_a_kernel_may_refuse_parameters_in_mid_search(data):
    X, y = data
    found = search(Refuses(0.1), X, y, LOO())
    assert found.failed > 0
    assert found.kernel.length_scale <= 0.5
    assert found.value < LOO().choose(path(Gaussian(0.1), X, y)).value
    with pytest.raises(ValueError, match="too long"):  # but not those that were given: nothing has succeeded yet
        search(Refuses(3.0), X, y, LOO())


class Median(Criterion):
    """The median of |e|: a criterion without an adjoint."""

    scale_free = positive = True

    def value(self, Kinv, y, weight=None):
        return float(np.median(np.abs((Kinv @ y) / Kinv.diag()[:, None])))


def test_a_criterion_without_an_adjoint(data):
    X, y = data
    found = search(Gaussian(1.0), X, y, Median())
    assert found.status == "ok"
    assert found.flat == []
    assert 0.2 < found.kernel.length_scale < 5
    assert Median().choose(path(Gaussian(1.0), X, y)).lam > 0


def test_nothing_finite_is_an_error(data):
    X, y = data

    class Never(LOO):
        def value(self, Kinv, y, weight=None):
            return np.nan

        def value_and_adjoint(self, Kinv, y, weight=None):
            return np.nan, np.zeros((len(y), len(y)))

    with pytest.raises(NotPositiveDefinite, match="Gaussian"):
        search(Gaussian(1.0), X, y, Never())


def test_time_budget_and_callback_stop_with_the_best_so_far(data):
    X, y = data
    seen = []
    found = search(Gaussian([1.0, 1.0]), X, y, LOO(), callback=lambda entry: seen.append(entry) or len(seen) == 9)
    assert (found.status, found.evaluations) == ("stopped", 9)
    assert found.value == min(entry["value"] for entry in seen)
    assert "callback" in found.message
    found = search(Gaussian([1.0, 1.0]), X, y, LOO(), time_budget=1e-9)
    assert (found.status, found.evaluations) == ("time_budget", 1)
    started = time.perf_counter()
    found = search([Gaussian(1.0), Matern52(1.0)], X, y, LOO(), time_budget=1e-9)
    assert len(found.candidates) == 1
    assert time.perf_counter() - started < 5


def test_ctrl_c_passes_through(data):
    X, y = data

    def interrupt(entry):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(Gaussian(1.0), X, y, LOO(), callback=interrupt)


def test_bad_arguments(data):
    X, y = data
    with pytest.raises(ValueError, match="optimize"):
        search(Gaussian(), X, y, LOO(), optimize="theta")
    with pytest.raises(ValueError, match="lam"):
        search(Gaussian(), X, y, LOO(), lam=-1.0)
    with pytest.raises(ValueError, match="bounds"):
        search(Gaussian(), X, y, LOO(), bounds=(1.0, 0.1))
    with pytest.raises(ValueError, match="nothing to choose by"):
        search(Gaussian(), X[:2], y[:2], LOO())
    with pytest.raises(ValueError, match="9"):
        search(Gaussian(), X[:6], y[:6], KFold(9))
    with pytest.raises(ValueError, match="120"):
        search(Gaussian(), X, y[:5], LOO())


def test_median_heuristic(rng):
    X = rng.standard_normal((300, 2)) * [1.0, 100.0]
    ard = median_heuristic(Gaussian([1.0, 1.0]), X)
    assert_allclose(ard.length_scale / np.sqrt(2), [0.95, 95.0], rtol=0.1)
    tree = median_heuristic(2.0 * Gaussian(1.0).on([1]) + Linear() * Matern52(1.0).fixed(), X)
    assert_allclose(tree.left.kernel.kernel.length_scale, 95.0, rtol=0.1)
    assert tree.right.right.length_scale == 1.0
    w = np.where(np.arange(300) < 150, 1.0, 1e-12)
    X[150:] *= 50
    assert_allclose(median_heuristic(Gaussian([1.0, 1.0]), X, w).length_scale / np.sqrt(2), [0.95, 95.0], rtol=0.2)


def test_kernels_that_there_is_no_time_for_are_named(data):
    """The first of a list ends well and has taken the time: it is the result, and the others are named."""
    X, y = data

    def until(kernel):
        """Stop with the first evaluation beyond those of the first kernel."""
        count = len(search(kernel, X, y, Evidence()).history)
        return lambda entry: entry["evaluation"] > count

    found = search([Gaussian(1.0), Matern52(2.0)], X, y, Evidence(), callback=until(Gaussian(1.0)))
    alone = search(Gaussian(1.0), X, y, Evidence())
    assert found.value == alone.value and found.status == "stopped" and "Matern52(2.0)" in found.message


def test_a_value_on_few_rows_is_not_compared_with_one_on_all():
    """A sum over fewer rows is smaller: a kernel that was stopped on its first level won."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 1))
    y = 3 * np.sin(3 * X[:, 0]) + 3 * rng.standard_normal(500)
    count = len(search(Gaussian(1.0), X, y, Evidence()).history)
    kernels = [Gaussian(1.0), Matern52(2.0)]
    found = search(kernels, X, y, Evidence(), callback=lambda entry: entry["evaluation"] > count + 2)
    assert isinstance(found.kernel, Gaussian) and "Matern52" in found.message
    assert found.candidates[1].value < found.value


def test_what_is_evaluated_once_may_take_all_the_time(data):
    X, y = data
    options = {"lam": 0.1, "fixed_lam": True, "optimize": "lam"}
    found = search(Gaussian(1.0), X, y, Evidence(), time_budget=1e-9, **options)  # let a Stop through
    assert found.status == "ok" and found.value == search(Gaussian(1.0), X, y, Evidence(), **options).value
    found = search([Gaussian(1.0), Linear()], X, y, Evidence(), time_budget=1e-9, **options)
    assert found.status == "time_budget" and "Linear()" in found.message
