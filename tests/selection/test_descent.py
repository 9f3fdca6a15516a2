"""The descent: minima with and without bounds, the Hessian, and against L-BFGS-B."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from mercer import GaussianProcessRegressor
from mercer.gram import Rows
from mercer.gram.rows import constant
from mercer.kernels import Gaussian
from mercer.selection import Evidence, SearchOptions, search
from mercer.selection.search import levels
from mercer.selection.search.objective import CriterionObjective, Objective, Record

WIDE = np.array([[-20.0, 20.0]] * 3)


class Bowl(Objective):
    """½ (z − c)ᵀA(z − c) and a little of fourth order: the mean of a log density of ``n`` rows."""

    def __init__(self, A, c, n=100, bad=None):
        super().__init__(None, n, [str(j) for j in range(len(c))], Record())
        self.A, self.c, self.bad = A, c, bad

    def take(self, index):
        return Bowl(self.A, self.c + 0.1, len(index))

    def start(self, z):
        return z

    def at(self, z):
        return z, 1.0

    def entry(self, z):
        return {"theta": z.tolist()}

    @property
    def fine(self):
        return self.options.error_gain

    def _evaluate(self, z, gradient):
        if self.bad is not None and self.bad(z):
            return np.nan, np.zeros(len(z))
        e = z - self.c
        return 0.5 * e @ self.A @ e + 0.01 * np.sum(e**4), self.A @ e + 0.04 * e**3

    def _normalise(self, value, gradient, prior):
        return value, gradient


def bowl(rng, **options):
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    return Bowl((Q * [0.01, 0.3, 5.0]) @ Q.T, rng.uniform(-2, 2, 3), **options)


def test_minimum_from_far_away(rng):
    level = bowl(rng)
    end = levels.descend(level, levels.begin_at(level, level.c + [3.0, -4.0, 2.0], WIDE), WIDE, 1e-10)
    assert_allclose(end.z, level.c, atol=1e-2)
    assert end.value < 1e-8
    assert_allclose(end.value, level.value(end.z))


def test_hessian_and_what_it_saves(rng):
    level = bowl(rng)
    at = levels.begin_at(level, level.c, WIDE)
    B = levels.measure_curvature(level, at, WIDE)
    assert_allclose(B, level.A, atol=1e-4)
    counts = []
    for known in (None, B):
        level.record.history.clear()
        start = levels.begin_at(level, level.c + [0.2, 0.2, -0.2], WIDE, known)
        assert levels.descend(level, start, WIDE, 1e-8, measured=known is not None).value < 1e-6
        counts.append(len(level.record.history))
    assert counts[1] < counts[0]


def test_bounds_hold_and_the_rest_is_minimised(rng):
    level = bowl(rng)
    box = np.stack([level.c - 5.0, level.c + 5.0], axis=1)
    box[0] = level.c[0] + [1.0, 3.0]  # the minimum is outside
    end = levels.descend(level, levels.begin_at(level, box.mean(axis=1), box), box, 1e-10)
    assert end.z[0] == box[0, 0]
    assert_allclose(end.gradient[1:], 0.0, atol=1e-4)
    assert end.gradient[0] > 0
    assert all(np.all(box[:, 0] <= h["theta"]) and np.all(h["theta"] <= box[:, 1]) for h in level.record.history)


def test_a_variable_that_is_fixed_stays(rng):
    level = bowl(rng)
    box = WIDE.copy()
    box[1] = level.c[1] + 0.7
    end = levels.descend(level, levels.begin_at(level, level.c + 1.0, box), box, 1e-10)
    assert end.z[1] == box[1, 0]
    assert_allclose(end.gradient[[0, 2]], 0.0, atol=1e-4)
    B = levels.measure_curvature(level, end, box)
    assert_allclose(B[1], [0.0, 1.0, 0.0])
    assert (np.linalg.eigvalsh(B) > 0).all()


def test_trials_that_fail_are_stepped_back_from(rng):
    level = bowl(rng)
    level.bad = lambda z: z[0] < level.c[0] - 0.01
    start = levels.begin_at(level, level.c + [4.0, 1.0, -1.0], WIDE)
    assert levels.descend(level, start, WIDE, 1e-9).value < 0.01 * start.value
    at = levels.begin_at(level, level.c, WIDE, np.eye(3))
    level.bad = lambda z: z[0] > level.c[0]
    assert levels.measure_curvature(level, at, WIDE) is at.B


def test_evidence_as_high_as_by_l_bfgs_with_few_evaluations_on_all_rows(rng):
    X = rng.uniform(-2, 2, (480, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + np.cos(X[:, 2]) + 0.1 * rng.standard_normal(480)
    kernel, options = 1.0 * Gaussian(np.ones(3)), {"trend": np.ones((480, 1)), "intercept": False}
    new = search(kernel, X, y, Evidence(), **options)
    objective = CriterionObjective(kernel, Rows(X, y[:, None], trend=constant), Evidence(), Record())
    start, box = objective.start(new.kernel, new.lam), np.vstack([kernel.theta_bounds, np.log([[1e-9, 1e5]])])
    tight = {"ftol": 1e-12, "gtol": 1e-8}
    old = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=box, options=tight)
    assert new.value < 480 * old.fun + 0.02
    assert sum(h["n"] == 480 for h in new.history) <= 15
    model = GaussianProcessRegressor(kernel).fit(X, y)
    slopes = model.log_marginal_likelihood(eval_gradient=True)[1]
    assert np.abs(slopes).max() < 1.0  # nats for each factor e, of a curvature of hundreds


def test_a_start_that_does_not_fit_the_new_rows_is_made_safer(rng):
    level = bowl(rng)
    level.safer = lambda z, box: (z + shift * np.array([0.0, 0.0, 1.0]) for shift in (4.0, 8.0, 12.0))
    wrong = levels.begin_at(level, level.c - [0.0, 0.0, 8.5], WIDE, np.eye(3))
    end = levels.begin_at(level, level.c, WIDE)
    found = levels._make_safer(level, wrong, end, WIDE)
    assert_allclose(found.z, level.c - [0.0, 0.0, 0.5])
    assert found.B is None
    assert levels._make_safer(level, end, end, WIDE) is end


class Wells(Bowl):
    """Two wells along the first variable: a deep one on the right, behind a start of high value."""

    def __init__(self, n=4000, deep=1.0):
        super().__init__(np.eye(2), np.zeros(2), n)
        self.deep = deep

    def take(self, index):
        return Wells(len(index), self.deep)

    def _evaluate(self, z, gradient):
        x, y = z
        value = 0.02 * (x**2 - 9.0) ** 2 - 0.1 * self.deep * x + 0.5 * y**2
        return value, np.array([0.08 * x * (x**2 - 9.0) - 0.1 * self.deep, y])


def test_noisy_starts_are_not_screened(rng_seed):
    box, noisy = np.array([[-6.0, 6.0]] * 2), [(np.array([5.5, 3.0]),)]
    good = [(np.array([-3.0 - 0.1 * j, 0.0]),) for j in range(4)]
    for count, side in ((3, 1.0), (1, -1.0)):  # one start is one start
        reached = []
        wells = Wells()
        wells.options = SearchOptions(starts=count)
        levels.descend_by_levels(wells, box, good, np.random.default_rng(rng_seed), reached, noisy=noisy)
        assert [level.n for level in reached] == [444, 1333, 4000]
        assert np.sign(reached[-1].best_z[0]) == side


class Silent(Bowl):
    """A well with little noise, and a deeper one without any that no step leads to: −log(e^−A + e^−B)."""

    def __init__(self, n=900):
        super().__init__(np.eye(2), np.zeros(2), n)

    def take(self, index):
        return Silent(len(index))

    def _evaluate(self, z, gradient):
        a, noise = z
        share = 1.0 / (1.0 + np.exp(np.log(1e-5) - noise))
        wells = np.array(
            [0.5 * (a - 2.0) ** 2 + 0.5 * (noise - np.log(1e-3)) ** 2, 0.5 * (a + 2.0) ** 2 - 0.4 + 3.0 * share]
        )
        slopes = np.array([[a - 2.0, noise - np.log(1e-3)], [a + 2.0, 3.0 * share * (1.0 - share)]])
        value = -np.logaddexp(*-wells)
        return float(value), np.exp(value - wells) @ slopes


def test_where_hardly_any_noise_is_found_none_is_tried():
    box = np.array([[-6.0, 6.0], np.log([1e-9, 1e5])])
    good, noisy = [(np.array([2.0, np.log(1e-2)]),)], [(np.array([1.5, 0.0]),)]
    for n, noise in ((900, 1e-7), (200, 1e-7), (3000, 1e-3)):  # many rows are not worth it
        reached = []
        levels.descend_by_levels(Silent(n), box, good, np.random.default_rng(0), reached, noisy=noisy)
        assert_allclose(np.exp(reached[-1].best_z[1]), noise, rtol=1.0)


def test_a_hessian_that_is_too_steep_does_not_end_a_descent_on_a_slope(rng):
    """On a third of the rows a valley can look like a dell: its Hessian then promises next to nothing."""
    level = bowl(rng)
    tolerance = level.fine
    start = levels.begin_at(level, level.c + [1.5, -1.0, 1.0], WIDE, 1e6 * np.eye(3))
    assert levels.step(start, WIDE)[1] <= tolerance < start.value / 10
    end = levels.descend(level, start, WIDE, tolerance, measured=True)
    assert end.value < start.value / 10
    assert np.abs(end.gradient).max() <= 30.0 * tolerance


class Recorded(Bowl):
    """A round bowl that remembers where it was asked."""

    def __init__(self, bad=None):
        super().__init__(np.eye(3), np.zeros(3), bad=bad)
        self.places = []

    def _evaluate(self, z, gradient):
        self.places.append(z.copy())
        if self.bad is not None and self.bad(z):
            return np.nan, np.zeros(3)
        return 0.5 * float(z @ z), z


def test_steps_grow_while_they_keep_what_they_promise():
    level = Recorded()
    levels.descend(level, levels.begin_at(level, np.full(3, 10.0), WIDE, np.eye(3)), WIDE, 1e-8)
    steps = np.linalg.norm(np.diff(level.places, axis=0), axis=1)
    assert (np.diff(steps[:-1]) >= -1e-6).all()  # but for the last one, which arrives
    assert steps.max() > 1.5 * steps[0]
    assert_allclose(level.places[-1], 0.0, atol=1e-6)


def test_a_step_that_was_cut_short_is_followed_by_none_that_is_longer():
    start = np.full(3, 10.0)
    level = Recorded(bad=lambda z: np.linalg.norm(z - start) > 1.0)
    levels.descend(level, levels.begin_at(level, start, WIDE, np.eye(3)), WIDE, 1e-3)
    tried = np.linalg.norm(np.array(level.places) - start, axis=1)
    first = int(np.flatnonzero((0 < tried) & (tried <= 1.0))[0])  # the first that is taken, after others that fail
    assert first > 1
    assert np.linalg.norm(level.places[first + 1] - level.places[first]) <= tried[first] + 1e-9
