"""Path, rules and comparison: equal to separate solves; corners, roots and refusals."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram import DenseGram
from mercer.kernels import Exponential, Gaussian, Linear, Precomputed
from mercer.selection import (
    GCV,
    LOO,
    Discrepancy,
    Evidence,
    GroupKFold,
    KFold,
    LCurve,
    compare,
    path,
)
from mercer.selection.noise import noise_level
from mercer.selection.rules import prune
from mercer.solvers import Explicit, Projected
from selection.hansen import PROBLEMS, noisy

ALL = [LOO(), LOO("absolute"), LOO("log_density"), LOO("crps"), GCV(), GCV("robust"), Evidence(), KFold(4)]


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (50, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.standard_normal(50)
    return X, y, rng.uniform(0.3, 3.0, 50)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_path_equals_separate_solves(data, weighted, intercept):
    X, y, w = data
    Y = np.column_stack([y, np.cos(y)])
    s = np.sqrt(w) if weighted else np.ones(50)
    lams = [1e-3, 0.1, 2.0]
    found = path(Gaussian(1.0), X, Y, lams=lams, sample_weight=w if weighted else None, intercept=intercept,
                 criteria=ALL)  # fmt: skip
    K = np.outer(s, s) * Gaussian(1.0)(X)
    for i, lam in enumerate(lams):
        A = K + lam * np.eye(50)
        Kinv = Explicit(np.linalg.inv(A), lam, np.linalg.slogdet(A)[1])
        P = Projected(Kinv, s[:, None]) if intercept else Kinv
        z = s[:, None] * Y
        alpha = P @ z
        for criterion in ALL:
            exact = criterion.value(P, z, w if weighted else None, **criterion.extras(found.rows))
            assert_allclose(found.table[criterion.name][i], exact, rtol=1e-8)
        assert_allclose(found.table["residual"][i], lam * np.linalg.norm(alpha), rtol=1e-8)
        assert_allclose(found.table["norm"][i], np.sqrt(np.sum(alpha * (K @ alpha))), rtol=1e-8)
        assert_allclose(found.table["dof"][i], 50 - lam * np.trace(P.dense()), rtol=1e-8)
        point = found.at(lam)
        assert_allclose(point.dense(), P.dense(), atol=1e-8)
        assert_allclose(point @ z[:, ::-1], P @ z[:, ::-1], atol=1e-8)
        assert_allclose(point.quad(z), P.quad(z), rtol=1e-8)
        assert_allclose(found.solution(lam), s[:, None] * alpha, atol=1e-8)
        assert_allclose(found.loo_residuals(lam) * s[:, None], alpha / P.diag()[:, None], rtol=1e-7)


@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (20, 20)])
@pytest.mark.parametrize("intercept", [False, True])
def test_plain_matrix_is_tikhonov(rng, shape, intercept):
    m, n = shape
    A, b = rng.standard_normal(shape), rng.standard_normal(m)
    lams = [1e-3, 0.5]
    found = path(A, b, lams=lams, intercept=intercept, criteria=ALL)
    H = np.ones((m, 1)) if intercept else np.ones((m, 0))
    for i, lam in enumerate(lams):
        K = A @ A.T + lam * np.eye(m)
        Kinv = Explicit(np.linalg.inv(K), lam, np.linalg.slogdet(K)[1])
        P = Projected(Kinv, H) if intercept else Kinv
        for criterion in ALL:
            assert_allclose(found.table[criterion.name][i], criterion.value(P, b[:, None]), rtol=1e-6)
        assert_allclose(found.at(lam).dense(), P.dense(), atol=1e-7)
        x = found.solution(lam)[:, 0]
        assert_allclose(x, A.T @ (P @ b), atol=1e-8)
        if not intercept:
            assert_allclose(x, np.linalg.solve(A.T @ A + lam * np.eye(n), A.T @ b), atol=1e-8)
            assert_allclose(found.table["residual"][i], np.linalg.norm(A @ x - b), rtol=1e-8)
            assert_allclose(found.table["norm"][i], np.linalg.norm(x), rtol=1e-8)


def test_grid_and_table(data):
    X, y, _ = data
    found = path(Gaussian(1.0), X, y)
    assert len(found) == 200
    assert_allclose(found.lams[-1], 10 * found.eigenvalues[0])
    assert found.lams[0] >= np.finfo(float).eps * found.eigenvalues[0] * 0.99
    assert found.coefficients.shape == (49, 1)
    assert list(found.frame().columns) == list(found.table)
    json.dumps(found.to_dict())
    text = str(found)
    assert "LOO()" in text
    assert text.count("\n") == 21
    slim = found.slim()
    assert slim.spectrum is None
    assert_allclose(slim.table["dof"], found.table["dof"])
    rule = KFold(3)
    assert_allclose(found.values(rule)[7], found.value(rule, found.lams[7]), rtol=1e-9)


def test_minimum_is_refined(data):
    X, y, _ = data
    coarse = path(Gaussian(1.0), X, y, lams=np.geomspace(1e-6, 1e2, 12))
    fine = path(Gaussian(1.0), X, y, lams=np.geomspace(1e-3, 1e1, 4001))
    for rule in (LOO(), GCV(), Evidence(profile_scale=True)):
        choice = rule.choose(coarse)
        assert choice.ok
        assert_allclose(np.log(choice.lam), np.log(fine.lams[np.argmin(fine.values(rule))]), atol=5e-3)


def test_curvature_is_that_of_the_curve(data):
    X, y, _ = data
    found = path(Gaussian(1.0), X, y)
    for lam in (1e-4, 1e-2, 1.0):
        h = 1e-3
        t = np.log(lam) + h * np.arange(-2, 3)
        other = path(Gaussian(1.0), X, y, lams=np.exp(t))
        a, b = 2 * np.log(other.table["residual"]), 2 * np.log(other.table["norm"])
        a1, b1 = np.gradient(a, h)[2], np.gradient(b, h)[2]
        a2, b2 = (a[3] - 2 * a[2] + a[1]) / h**2, (b[3] - 2 * b[2] + b[1]) / h**2
        exact = (a1 * b2 - a2 * b1) / (a1**2 + b1**2) ** 1.5
        assert_allclose(LCurve().curvature(found, lam)[0], exact, rtol=1e-3)


def test_lcurve_finds_the_corner_of_hansens_problems(rng):
    for name in ("shaw", "deriv2", "baart"):
        A, b, x = PROBLEMS[name](64)
        noisy_b, _ = noisy(b, 1e-3, rng)
        found = path(A, noisy_b, criteria=[])
        errors = [np.linalg.norm(found.solution(lam)[:, 0] - x) for lam in found.lams]
        choice = LCurve().choose(found)
        error = np.linalg.norm(found.solution(choice.lam)[:, 0] - x)
        assert error <= 3 * min(errors), (name, choice)


def test_lcurve_without_a_corner_says_so(rng):
    found = path(np.eye(5), np.ones(5), lams=np.geomspace(1e-3, 1e3, 50), criteria=[])
    choice = LCurve().choose(found)
    assert choice.status in ("no_corner", "ambiguous", "ok")
    none = path(np.eye(5), np.ones(5), lams=[1.0, 2.0], criteria=[])
    choice = LCurve().choose(none)
    assert choice.status == "no_corner"
    assert choice.lam in none.lams
    assert "curvature" in choice.message


def test_lcurve_with_two_corners_is_ambiguous():
    # Groups of components far apart and similar to each other: the curve is a stair.
    e, c = 10.0 ** (-4 * np.arange(5)), 10.0 ** (-1 * np.arange(5))
    found = path(np.diag(np.sqrt(e)), c, lams=np.geomspace(1e-15, 10.0, 300), criteria=[])
    choice = LCurve().choose(found)
    assert choice.status == "ambiguous"
    assert "corners at lam" in choice.message
    assert np.isfinite(choice.lam)


def test_pruning_finds_an_obvious_corner():
    x = np.r_[np.linspace(-10, -9.9, 30), np.linspace(-9.8, 0, 30)]  # by growing λ: the vertical part first
    y = np.r_[np.linspace(10, 0, 30), np.linspace(-0.05, -0.1, 30)]
    assert abs(prune(x, y) - 30) <= 2
    assert prune(np.zeros(3), np.zeros(3)) is None
    assert prune(np.full(9, np.nan), np.zeros(9)) is None


def test_discrepancy_hits_the_noise_level(data):
    X, y, w = data
    for weight in (None, w):
        found = path(Exponential(1.0), X, y, sample_weight=weight)
        for noise, tau in ((0.2, 1.0), (0.1, 2.0), (0.5, 1.0)):
            choice = Discrepancy(noise, tau).choose(found)
            assert choice.ok
            residual = choice.lam * np.linalg.norm(found.at(choice.lam) @ (y if weight is None else np.sqrt(w) * y))
            assert_allclose(residual, noise * tau * np.sqrt(50), rtol=1e-10)


def test_discrepancy_without_a_root_says_so(data):
    X, y, _ = data
    found = path(Gaussian(1.0), X, y)
    choice = Discrepancy(100.0).choose(found)
    assert (choice.lam, choice.status) == (np.inf, "no_root")
    assert "constant model" in choice.message
    assert_allclose(found.solution(np.inf), 0.0)
    tall = path(np.ones((4, 1)), [1.0, 2.0, 3.0, 4.0])
    choice = Discrepancy(1e-3).choose(tall)
    assert choice.status == "unreachable"
    assert np.isfinite(choice.lam)
    choice = Discrepancy(0.0).choose(found)
    assert choice.status == "unreachable"
    assert np.isfinite(choice.lam)
    with pytest.raises(ValueError, match="noise"):
        Discrepancy(-1.0).choose(found)
    with pytest.raises(ValueError, match="matrix"):
        Discrepancy().choose(tall)


def test_noise_level_from_the_data(rng):
    X = rng.uniform(0, 1, (400, 1))
    y = np.sin(3 * X) + 0.1 * rng.standard_normal((400, 1))
    delta, how = noise_level(Gaussian(0.3), X, y)
    assert how == "neighbours"
    assert_allclose(delta, 0.1, rtol=0.2)
    twice = np.repeat(X, 2, axis=0)
    z = np.sin(3 * twice) + 0.1 * rng.standard_normal((800, 1))
    delta, how = noise_level(Gaussian(0.3), twice, z)
    assert how == "duplicates"
    assert_allclose(delta, 0.1, rtol=0.1)
    w = rng.uniform(0.2, 5, 800)
    z = np.sin(3 * twice) + 0.1 * rng.standard_normal((800, 1)) / np.sqrt(w)[:, None]
    assert_allclose(noise_level(Gaussian(0.3), twice, z, w)[0], 0.1, rtol=0.1)
    choice = Discrepancy().choose(path(Gaussian(0.3), X, y[:, 0]))
    assert choice.ok


def test_compare(data):
    X, y, w = data
    found = compare(Gaussian(1.0), X, y, sample_weight=w)
    assert set(found) >= {"LOO()", "GCV()", "LCurve()", "Discrepancy()"}
    assert found[LOO()] == found["LOO()"] == found.choices["LOO()"].lam
    text = str(found)
    assert "dof" in text
    assert all(name in text for name in found)
    json.dumps(found.to_dict())
    again = compare(found.path, rules=[LOO()])
    assert again["LOO()"] == found["LOO()"]
    A, b, _ = PROBLEMS["shaw"](32)
    assert "Discrepancy(noise=0.1)" in compare(A, b + 0.1, noise=0.1)
    assert not any("Discrepancy" in name for name in compare(A, b + 0.1))


@pytest.mark.parametrize("name", PROBLEMS)
def test_rules_are_near_the_best_lam(name, rng):
    A, b, x = PROBLEMS[name](40)
    assert_allclose(A @ x, b)
    ratios = []
    for _ in range(5):
        noisy_b, delta = noisy(b, 1e-2, rng)
        found = path(A, noisy_b, lams=np.geomspace(1e-10, 10.0, 60), criteria=[])
        best = min(np.linalg.norm(A @ found.solution(lam)[:, 0] - b) for lam in found.lams)
        chosen = compare(found, rules=[GCV(), LOO()])
        ratios.append([np.linalg.norm(A @ found.solution(lam)[:, 0] - b) / best for lam in chosen.values()])
    # In the predictive norm, which is what GCV and LOO estimate; foxgood has hardly three components to choose from.
    assert np.median(ratios, axis=0).max() < (8.0 if name == "foxgood" else 1.5)


# ------------------------------------------------------------------------------------------- bad input
def test_constant_y(data):
    X, _, _ = data
    found = compare(Gaussian(1.0), X, np.full(50, 3.0), noise=1.0)
    assert {choice.status for choice in found.choices.values()} == {"constant", "no_root"}
    assert all(np.isfinite(lam) for name, lam in found.items() if "Discrepancy" not in name)


def test_y_in_the_range_and_minimum_at_an_edge(data, rng):
    X, y, _ = data
    exact = Exponential(1.0)(X) @ rng.standard_normal(50)
    choice = LOO().choose(path(Exponential(1.0), X, exact, lams=np.geomspace(10.0, 1e4, 20)))
    assert choice.status == "at_lower_edge"
    assert "lower end" in choice.message
    noise = LOO().choose(path(Gaussian(0.5), X, rng.standard_normal(50), lams=np.geomspace(1e-6, 1e-3, 20)))
    assert noise.status == "at_upper_edge"
    with pytest.warns(UserWarning, match="upper"):
        noise.warn()


def test_a_criterion_that_is_flat_or_not_finite(data):
    X, y, _ = data

    class Flat(LOO):
        def value(self, Kinv, y, weight=None):
            return 2.0

    class Broken(LOO):
        def value(self, Kinv, y, weight=None):
            return np.nan

    found = path(Gaussian(1.0), X, y, lams=[0.1, 1.0, 10.0], criteria=[])
    assert Flat().choose(found).status == "flat"
    found = path(Gaussian(1.0), X, y, lams=[0.1, 1.0, 10.0], criteria=[])
    choice = Broken().choose(found)
    assert choice.status == "not_finite"
    assert choice.lam == 10.0


def test_bad_arguments(data):
    X, y, w = data
    with pytest.raises(ValueError, match="needs y"):
        path(Gaussian(), X)
    with pytest.raises(TypeError, match="Kernel"):
        path("rbf", X, y)
    with pytest.raises(ValueError, match="50"):
        path(Gaussian(), X, y[:3])
    with pytest.raises(ValueError, match="NaN"):
        path(Gaussian(), X, np.where(y > 0, np.nan, y))
    with pytest.raises(ValueError, match="positive"):
        path(Gaussian(), X, y, lams=[0.0, 1.0])
    with pytest.raises(ValueError, match="sample_weight"):
        path(Gaussian(), X, y, sample_weight=0 * w)
    with pytest.raises(TypeError, match="Criterion"):
        path(Gaussian(), X, y, criteria=["loo"])
    with pytest.raises(ValueError, match="finite"):
        path(np.full((3, 2), np.inf), np.ones(3))


def test_not_a_kernel_is_refused_with_a_witness():
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(np.linalg.LinAlgError, match="eigenvalue"):
        path(Precomputed(), K, [1.0, 2.0, 3.0])


def test_a_kernel_of_low_rank(data):
    X, y, _ = data
    found = path(Linear(), X, y)
    choice = LOO().choose(found)
    assert np.isfinite(choice.lam)
    assert DenseGram.from_matrix(Linear()(X)).n == found.n


@pytest.mark.parametrize("length_scale", [1e3, 1e6, 1e8])
def test_a_nearly_constant_kernel_is_still_one(rng, length_scale):
    """Without the constant only rounding of K may be left: its negative eigenvalues are not the kernel's."""
    X, y = rng.uniform(-2, 2, (60, 2)), rng.standard_normal(60)
    found = path(Gaussian(length_scale), X, y)
    residual, all_of_it = found.table["residual"], np.linalg.norm(y - y.mean())
    assert (found.eigenvalues >= 0).all()
    assert (np.diff(residual) > -1e-12 * all_of_it).all()  # λ rises along a path, and the residual with it ...
    assert 0.99 * all_of_it < residual[-1] <= all_of_it  # ... until only the constant is left


def test_two_groupings_are_two_criteria_even_if_they_share_a_name(data):
    X, y, _ = data
    blocks, turns = GroupKFold(np.arange(50) // 10), GroupKFold(np.arange(50) % 5)
    assert blocks.name == turns.name
    found = path(Gaussian(1.0), X, y, criteria=[blocks])
    first, second = found.values(blocks), found.values(turns)
    assert not np.allclose(first, second)
    assert_allclose(second, path(Gaussian(1.0), X, y, criteria=[turns]).values(turns))
    assert found.values(GroupKFold(np.arange(50) % 5)) is second  # the same grouping again
    assert list(found.table)[4:] == [blocks.name, f"{blocks.name} #2"]
    chosen = compare(found, rules=[blocks, turns])
    assert list(chosen) == [blocks.name, f"{blocks.name} #2"]
    assert chosen[blocks] == blocks.choose(found).lam
    assert chosen[turns] == turns.choose(found).lam != chosen[blocks]
