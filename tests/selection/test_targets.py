"""Several targets and one λ: scaling one of them does not change the λ chosen, or it is warned of."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import SVR, BasisRegression, KernelMachine, KernelRidge, Landmarks
from mercer.gram import Rows
from mercer.gram.rows import constant
from mercer.kernels import Gaussian
from mercer.selection import GCV, LOO, Evidence, GroupKFold, KFold, path
from mercer.selection.search.objective import CriterionObjective, Record

RELATIVE = [LOO(), LOO("absolute"), LOO(together=True), GCV(), GCV("robust"), GCV("modified"), KFold(4), 5,
            GroupKFold(np.arange(90) % 9)]  # fmt: skip


@pytest.fixture
def two(rng):
    X = rng.uniform(-2, 2, (90, 2))
    return X, np.column_stack([np.sin(3 * X[:, 0]), X[:, 1]]) + [0.1, 1.0] * rng.standard_normal((90, 2))


@pytest.mark.parametrize("optimize", ["lam", "all"])
@pytest.mark.parametrize("criterion", RELATIVE, ids=str)
def test_the_unit_of_one_target_does_not_change_lam(two, criterion, optimize):
    X, Y = two
    lams = [KernelRidge(Gaussian(1.0), criterion=criterion, optimize=optimize).fit(X, Y * c).lam_
            for c in ([1.0, 1.0], [1.0, 1e4], [1e-8, 1.0])]  # fmt: skip
    assert_allclose(lams, lams[0], rtol=1e-2)  # a descent ends in the fourth digit of the error


@pytest.mark.filterwarnings("ignore:.*landmarks are not enough")
@pytest.mark.parametrize("criterion", [LOO(), GCV()], ids=str)
def test_nor_on_landmarks(two, criterion):
    X, Y = two
    model = KernelRidge(Gaussian(1.0), criterion=criterion, optimize="lam", approximation=Landmarks(30))
    lams = [model.fit(X, Y * c).lam_ for c in ([1.0, 1.0], [1.0, 1e4])]
    assert_allclose(lams, lams[0], rtol=1e-8)


@pytest.mark.parametrize("criterion", ["loo", 4])
def test_nor_of_a_machine_with_squared_errors(two, criterion):
    X, Y = two
    model = KernelMachine(Gaussian(1.0), loss="squared", criterion=criterion)
    lams = [model.fit(X, Y * c).lam_ for c in ([1.0, 1.0], [1.0, 1e4])]
    assert lams[0] == pytest.approx(lams[1], rel=1e-6)


def test_basis_regression_too(two):
    X, Y = two
    lams = [BasisRegression(criterion="loo").fit(X, Y * c).lam_ for c in ([1.0, 1.0], [1.0, 1e4])]
    assert lams[0] == pytest.approx(lams[1], rel=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(Gaussian(1.0), criterion="evidence", optimize="lam"),
        KernelRidge(Gaussian(1.0), criterion=LOO("crps"), optimize="lam"),
        KernelRidge(Gaussian(1.0), criterion="evidence", optimize="lam", approximation=Landmarks(20)),
        KernelMachine(Gaussian(1.0), loss="huber", criterion=4),
        SVR(Gaussian(1.0)),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*(smallest at|ended at|is the last of)")
def test_what_depends_on_units_says_so(two, model):
    X, Y = two
    with pytest.warns(UserWarning, match="deviations"):
        model.fit(X, Y * [1.0, 100.0])


def test_a_scale_free_evidence_needs_no_warning(two):
    X, Y = two
    model = KernelRidge(Gaussian(1.0), criterion=Evidence(profile_scale=True))
    assert model.fit(X, Y * [1.0, 1e4]).lam_ == pytest.approx(model.fit(X, Y).lam_, rel=1e-4)


def test_one_target_and_equal_ones_are_as_before(two):
    X, Y = two
    y = Y[:, :1]
    assert LOO().extras(Rows(X, y)) == {}
    twice = [KernelRidge(Gaussian(1.0), criterion=LOO()).fit(X, t) for t in (y[:, 0], np.hstack([y, y]))]
    assert twice[0].lam_ == pytest.approx(twice[1].lam_, rel=1e-6)
    assert twice[0].selection_.value == pytest.approx(twice[1].selection_.value, rel=1e-8)


def test_a_constant_target_does_not_count(two):
    X, Y = two
    alone = KernelRidge(Gaussian(1.0), criterion=LOO()).fit(X, Y[:, 0])
    beside = KernelRidge(Gaussian(1.0), criterion=LOO()).fit(X, np.column_stack([Y[:, 0], np.full(90, 1e6)]))
    assert beside.lam_ == pytest.approx(alone.lam_, rel=1e-4)


@pytest.mark.parametrize("criterion", [LOO(), LOO("absolute"), LOO(together=True), GCV("robust"), KFold(3)], ids=str)
def test_the_gradient_with_scales_is_that_of_differences(two, criterion):
    X, Y = two
    X, Y = np.vstack([X, X[:5]]), np.vstack([Y, Y[:5] + 0.1])
    rows = Rows(X, Y * [1.0, 50.0], trend=constant, merge=criterion.merges)
    objective = CriterionObjective(1.0 * Gaussian([1.0, 2.0]), rows, criterion, Record())
    z = np.log([1.3, 0.8, 1.7, 0.1])
    gradient = objective(z)[1]
    for step, slope in zip(1e-5 * np.eye(4), gradient, strict=True):
        assert slope == pytest.approx(
            (objective.value(z + step) - objective.value(z - step)) / 2e-5, rel=1e-4, abs=1e-7
        )


def test_a_path_chooses_the_same(two):
    X, Y = two
    lams = [path(Gaussian(1.0), X, Y * c).choose(LOO()).lam for c in ([1.0, 1.0], [1.0, 1e4])]
    assert_allclose(lams, lams[0], rtol=1e-6)
