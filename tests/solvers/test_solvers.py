"""Every solver against the same identities, and each one's own promises."""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import _machine
from mercer.exceptions import NotEnoughMemory, NotPositiveDefinite, NumericalWarning
from mercer.solvers import CG, Cholesky, Mixed, Solver, Spectral
from mercer.solvers.engine.lapack import cholesky_lower
from mercer.solvers.factoring import Probe, smallest_eigenvalue
from solvers.plain_gram import PlainGram, gaussian, well_conditioned

pytestmark = pytest.mark.usefixtures("one_thread")

FULL = [Cholesky(), Mixed(), Spectral()]
ALL = [*FULL, CG(tol=1e-13)]
NAMES = {"ids": lambda solver: type(solver).__name__}


def ratio(A, Kinv, n):
    """‖I − Ã Ã⁻¹‖/(n u ‖Ã‖‖Ã⁻¹‖): below 30 for a stable method."""
    size = np.linalg.norm(A, 1) * np.linalg.norm(Kinv, 1)
    return np.linalg.norm(np.eye(n) - A @ Kinv, 1) / (n * np.finfo(float).eps * size)


@pytest.mark.parametrize("solver", ALL, **NAMES)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 50, 255, 257])
def test_the_inverse_is_the_inverse(solver, n, rng):
    K, lam = well_conditioned(n, rng), 0.3
    A = K + lam * np.eye(n)
    Kinv = solver.resolvent(PlainGram(K))(lam)
    assert (Kinv.n, Kinv.shape, Kinv.lam) == (n, (n, n), lam)
    inverse = Kinv @ np.eye(n)
    assert ratio(A, inverse, n) < 30
    y, Y = rng.standard_normal(n), rng.standard_normal((n, 3))
    assert np.allclose(Kinv @ y, np.linalg.solve(A, y), rtol=1e-9, atol=1e-11)
    assert (Kinv @ Y).shape == (n, 3)
    assert isinstance(Kinv.quad(y), float)
    assert np.isclose(Kinv.quad(y), y @ np.linalg.solve(A, y), rtol=1e-9)
    assert np.allclose(Kinv.quad(Y), Y.T @ np.linalg.solve(A, Y), rtol=1e-9, atol=1e-11)
    assert np.array_equal(Kinv.quad(Y), Kinv.quad(Y).T)
    json.dumps(Kinv.info)
    assert {"solver", "dtype", "jitter", "seconds", "residual"} <= Kinv.info.keys()
    assert Kinv.info["residual"] < 1e-12


@pytest.mark.parametrize("solver", FULL, **NAMES)
@pytest.mark.parametrize("n", [1, 2, 50, 257])
def test_diagonal_logdet_and_dense(solver, n, rng):
    K, lam = well_conditioned(n, rng), 0.3
    A = K + lam * np.eye(n)
    Kinv = solver.resolvent(PlainGram(K))(lam)
    exact = np.linalg.inv(A)
    assert np.allclose(Kinv.diag(), np.diagonal(exact), rtol=1e-12)
    assert np.isclose(Kinv.logdet(), np.linalg.slogdet(A)[1], rtol=1e-12)
    dense = Kinv.dense()
    assert np.array_equal(dense, dense.T)
    assert np.allclose(dense, exact, rtol=1e-10, atol=1e-13)
    dense[...] = 0.0  # it is the caller's
    assert np.allclose(Kinv @ np.ones(n), exact.sum(axis=1), rtol=1e-9)


def test_all_agree_on_a_kernel_matrix(rng):
    n = 400
    K, y = gaussian(rng.standard_normal((n, 3))), rng.standard_normal((n, 2))
    for lam in (1.0, 1e-2):
        exact = np.linalg.solve(K + lam * np.eye(n), y)
        for solver in ALL:
            Kinv = solver.resolvent(PlainGram(K))(lam)
            assert np.allclose(Kinv @ y, exact, rtol=0, atol=1e-9 * np.abs(exact).max()), solver


@pytest.mark.parametrize("solver", [Cholesky(), Mixed(), CG()], **NAMES)
def test_one_resolvent_serves_every_lam(solver, rng):
    n = 120
    K, y = gaussian(rng.standard_normal((n, 2))), rng.standard_normal(n)
    resolvent = solver.resolvent(PlainGram(K))
    for lam in (1e-1, 1e-3, 10.0, 1e-2):
        x = resolvent(lam) @ y
        assert np.array_equal(x, solver.resolvent(PlainGram(K))(lam) @ y)  # whichever came before
        assert np.linalg.norm(K @ x + lam * x - y) < 1e-7 * np.linalg.norm(y)


@pytest.mark.parametrize("solver", ALL, **NAMES)
def test_bad_arguments_are_refused(solver, rng):
    K = PlainGram(well_conditioned(4, rng))
    for lam in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="lam"):
            solver.resolvent(K)(lam)
    Kinv = solver.resolvent(K)(1.0)
    for B in (np.ones(3), np.ones((3, 2)), np.ones((4, 2, 2)), np.float64(1)):
        with pytest.raises(ValueError, match="shape"):
            Kinv @ B
    with pytest.raises(ValueError, match="row 2"):
        Kinv @ np.array([0.0, 1.0, np.nan, 2.0])


@pytest.mark.parametrize("solver", ALL, **NAMES)
def test_inputs_are_not_changed_and_zero_stays_zero(solver, rng, readonly):
    K = readonly(well_conditioned(30, rng))
    Y = readonly(np.column_stack([rng.standard_normal(30), np.zeros(30)]))
    X = solver.resolvent(PlainGram(K))(0.1) @ Y
    assert not X[:, 1].any()
    assert X[:, 0].any()


@pytest.mark.parametrize("solver", ALL, **NAMES)
@pytest.mark.parametrize("scale", [1e-200, 1e-40, 1e40, 1e200])
def test_any_unit_of_measurement(solver, scale, rng):
    n = 60
    K, y = gaussian(rng.standard_normal((n, 2))), rng.standard_normal((n, 2))
    exact = np.linalg.solve(K + 0.1 * np.eye(n), y)
    Kinv = solver.resolvent(PlainGram(scale * K))(0.1 * scale)
    assert np.allclose((Kinv @ y) * scale, exact, rtol=1e-7, atol=1e-9)
    assert np.allclose((solver.resolvent(PlainGram(K))(0.1) @ (y * scale)) / scale, exact, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("solver", ALL, **NAMES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_is_told_apart(solver, value, rng):
    K = well_conditioned(300, rng)
    K[270, 31] = K[31, 270] = value
    with pytest.raises(ValueError, match=f"{value}.*(270|31).*(270|31)") as error:
        solver.resolvent(PlainGram(K))(0.1) @ np.ones(300)
    assert not isinstance(error.value, NotPositiveDefinite)


@pytest.mark.parametrize("solver", ALL, **NAMES)
def test_solvers_are_configuration(solver):
    assert isinstance(solver, Solver)
    copy = clone(solver)
    assert copy.get_params() == solver.get_params()
    assert solver.memory(1000) > 0


# --------------------------------------------------------------------------------------- not positive definite
@pytest.mark.parametrize("solver", ALL, **NAMES)
def test_an_indefinite_matrix_is_refused_with_a_true_witness(solver, rng):
    X = rng.standard_normal((200, 2))
    K = PlainGram(np.tanh(X @ X.T + 0.5))
    with pytest.raises(NotPositiveDefinite, match=r"PlainGram\(n=200\)") as error:
        solver.resolvent(K)(1e-3) @ np.ones(200)
    index, matrix, eigenvalue = error.value.witness
    assert np.array_equal(matrix, K.matrix[np.ix_(index, index)])
    assert np.isclose(np.linalg.eigvalsh(matrix)[0], eigenvalue)
    assert eigenvalue < 0
    assert K.filled <= 4  # no ladder of amounts where none can help


def test_jitter_is_named_recorded_and_refined_away(rng):
    n = 150
    K = gaussian(rng.standard_normal((n, 1)))  # singular to working precision
    y = K @ rng.standard_normal(n)
    gram = PlainGram(K)
    with pytest.warns(NumericalWarning, match="diagonal") as seen:
        Kinv = Cholesky().resolvent(gram)(0.0)
    added = Kinv.info["jitter"]
    assert 0 < added <= 1e-10
    assert f"{added:.2e}" in str(seen[0].message)
    x = Kinv @ y
    assert np.linalg.norm(K @ x - y) < 1e-9 * np.linalg.norm(y)
    assert Kinv.info["residual"] < 1e-9
    assert np.isfinite(Kinv.logdet())
    assert (Kinv.diag() > 0).all()


def test_the_original_system_is_solved_in_spite_of_jitter(rng):
    # K has the eigenvalue 1e-6 and is filled with an error of that size: the factor needs jitter, the answer does not.
    n = 80
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    e = np.geomspace(1.0, 1e-6, n)
    K = (Q * e) @ Q.T
    K = (K + K.T) / 2
    y = rng.standard_normal(n)
    exact = Q @ ((Q.T @ y) / e)

    class Rough(PlainGram):
        """Filled less exactly than it multiplies."""

        def dense(self, dtype=np.float64, lower=False):
            return super().dense(dtype, lower) - 1.2e-6 * np.eye(n).astype(dtype)

    with pytest.warns(NumericalWarning, match="diagonal"):
        Kinv = Cholesky(jitter=1e-5).resolvent(Rough(K))(0.0)
    x = Kinv @ y
    assert Kinv.info["jitter"] > 1e-6
    assert Kinv.info["iterations"] >= 1
    assert np.linalg.norm(x - exact) < 1e-8 * np.linalg.norm(exact)
    assert np.isclose(Kinv.quad(y), y @ exact, rtol=1e-8)


def test_without_jitter_it_fails_at_once(rng):
    K = PlainGram(gaussian(rng.standard_normal((150, 1))))
    with pytest.raises(NotPositiveDefinite, match="witness|rounding"):
        Cholesky(jitter=None).resolvent(K)(0.0)
    with pytest.raises(ValueError, match="jitter"):
        Cholesky(jitter="much").resolvent(K)(0.0)


def test_duplicates_at_rounding_distance(rng):
    X = rng.standard_normal((60, 2))
    X = np.vstack([X, X[:10] + 1e-12 * rng.standard_normal((10, 2))])
    K, y = gaussian(X, 0.3), np.sin(X[:, 0])
    for solver in ALL:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Kinv = solver.resolvent(PlainGram(K))(1e-6)
            x = Kinv @ y
        assert np.linalg.norm(K @ x + 1e-6 * x - y) < 1e-7 * np.linalg.norm(y), solver
    with pytest.warns(NumericalWarning, match="lam"):
        x = Cholesky().resolvent(PlainGram(K))(0.0) @ y
    assert np.linalg.norm(K @ x - y) < 1e-6 * np.linalg.norm(y)


# --------------------------------------------------------------------------------------- condition
def test_condition_is_not_fooled_by_two_duplicate_pairs(rng):
    n, lam = 300, 1e-8
    X = 4 * rng.standard_normal((n, 3))
    X[1], X[3] = X[0] + 1e-9, X[2] + 1e-9
    K = gaussian(X, 0.5)
    e = np.linalg.eigvalsh(K + lam * np.eye(n))
    assert e[2] > 100 * e[1]  # the near-null space is the two pairs
    Kinv = Cholesky().resolvent(PlainGram(K))(lam)
    assert 0.3 < Kinv.info["condition"] / (e[-1] / e[0]) < 1.5


@pytest.mark.parametrize("lam", [1e-1, 1e-4, 1e-7])
@pytest.mark.parametrize("length", [0.3, 1.0, 3.0])
def test_condition_is_within_a_small_factor(lam, length, rng):
    n = 300
    K = gaussian(rng.standard_normal((n, 2)), length)
    e = np.linalg.eigvalsh(K + lam * np.eye(n))
    for solver in (Cholesky(), Mixed()):
        estimate = solver.resolvent(PlainGram(K))(lam).info["condition"]
        assert 0.1 < estimate / (e[-1] / e[0]) < 2, solver


def test_a_high_condition_is_warned_of(rng):
    K = PlainGram(gaussian(rng.standard_normal((200, 2))))
    for solver in (Cholesky(), Spectral()):
        with pytest.warns(NumericalWarning, match=r"e\+1[2-6]"):
            solver.resolvent(K)(1e-12)


def test_estimates_of_the_spectrum(rng):
    K = gaussian(rng.standard_normal((500, 2)))
    e = np.linalg.eigvalsh(K)
    assert 0.7 * e[-1] < Probe(PlainGram(K)).largest_eigenvalue() <= e[-1] * (1 + 1e-10)
    assert np.isclose(Probe(PlainGram(np.eye(100))).largest_eigenvalue(), 1.0)
    A = K + 1e-3 * np.eye(500)
    assert cholesky_lower(A) == 0
    assert 1e-3 * (1 - 1e-6) <= smallest_eigenvalue(A) < 2e-3


# --------------------------------------------------------------------------------------- Mixed
def test_mixed_reaches_float64_and_says_how(rng):
    n = 300
    K, Y = gaussian(rng.standard_normal((n, 3))), rng.standard_normal((n, 4))
    gram = PlainGram(K)
    Kinv = Mixed().resolvent(gram)(1e-1)
    X = Kinv @ Y
    residual = np.linalg.norm(Y - K @ X - 0.1 * X, axis=0) / np.linalg.norm(Y, axis=0)
    assert residual.max() <= 1.01e-12
    assert np.isclose(Kinv.info["residual"], residual.max(), rtol=0.5)
    assert 1 <= Kinv.info["iterations"] <= 10
    assert gram.filled == 1  # float32, once
    assert "float64_factor" not in Kinv.info


def test_mixed_shifts_its_preconditioner_and_still_solves_the_original(rng):
    n, lam = 300, 2e-6
    K, y = gaussian(rng.standard_normal((n, 1))), rng.standard_normal(n)
    Kinv = Mixed(max_iter=500).resolvent(PlainGram(K))(lam)
    exact = np.linalg.solve(K + lam * np.eye(n), y)
    x = Kinv @ y
    assert Kinv.info["preconditioner_shift"] > 0
    assert Kinv.info["jitter"] == 0
    assert "float64_factor" not in Kinv.info
    assert np.linalg.norm(x - exact) < 1e-7 * np.linalg.norm(exact)


def test_mixed_builds_the_float64_factor_only_when_asked(rng):
    gram = PlainGram(well_conditioned(100, rng))
    Kinv = Mixed().resolvent(gram)(0.1)
    Kinv @ np.ones(100)
    assert gram.filled == 1
    assert np.allclose(Kinv.diag(), np.diagonal(np.linalg.inv(gram.matrix + 0.1 * np.eye(100))), rtol=1e-13)
    assert gram.filled == 2
    assert "asked" in Kinv.info["float64_factor"]
    Kinv.logdet()
    assert gram.filled == 2


def test_mixed_falls_back_when_iterations_do_not_suffice(rng, monkeypatch):
    K, y = gaussian(rng.standard_normal((200, 2))), rng.standard_normal(200)
    Kinv = Mixed(max_iter=1).resolvent(PlainGram(K))(1e-3)
    x = Kinv @ y
    assert "after 1 iterations" in Kinv.info["float64_factor"]
    assert np.linalg.norm(K @ x + 1e-3 * x - y) < 1e-9 * np.linalg.norm(y)

    def refuse(needed, what, *rest):
        if "float64" in what:
            raise NotEnoughMemory(what)

    monkeypatch.setattr("mercer.solvers.mixed.check_memory", refuse)
    Kinv = Mixed(max_iter=1).resolvent(PlainGram(K))(1e-3)
    with pytest.warns(NumericalWarning, match="memory"):
        Kinv @ y
    with pytest.raises(NotEnoughMemory):
        Kinv.diag()


# --------------------------------------------------------------------------------------- Spectral
def test_spectrum_has_its_eigenvalues_and_clips_only_rounding(rng):
    X = rng.standard_normal((80, 3))
    K = X @ X.T  # rank 3
    spectrum = Spectral().resolvent(PlainGram(K))
    e, U = spectrum.eigenvalues, spectrum.eigenvectors
    assert (e >= 0).all()
    assert (np.diff(e) >= 0).all()
    assert np.allclose((U * e) @ U.T, K)
    Kinv = spectrum(0.5)
    assert Kinv.info["clipped_eigenvalues"] == spectrum.clipped > 0
    with pytest.warns(NumericalWarning, match="80"):
        pseudo = spectrum(0.0)
    assert np.allclose(pseudo.dense(), np.linalg.pinv(K), atol=1e-10)
    assert pseudo.info["rank"] == 3


def test_spectral_decomposes_once(rng):
    gram = PlainGram(well_conditioned(20, rng))
    spectrum = Spectral().resolvent(gram)
    for lam in np.geomspace(1e-3, 1e3, 7):
        Kinv = spectrum(lam)
        assert np.allclose(Kinv @ np.ones(20), np.linalg.solve(gram.matrix + lam * np.eye(20), np.ones(20)))
    assert gram.filled == 1


# --------------------------------------------------------------------------------------- CG
def test_cg_never_fills_the_matrix(rng):
    n = 500
    K, y = gaussian(rng.standard_normal((n, 2))), rng.standard_normal((n, 2))
    gram = PlainGram(K)
    Kinv = CG().resolvent(gram)(1e-3)
    X = Kinv @ y
    assert gram.filled == 0
    assert np.linalg.norm(K @ X + 1e-3 * X - y, axis=0).max() <= 1.1e-8 * np.linalg.norm(y, axis=0).max()
    assert 0 < Kinv.info["rank"] <= 10 * np.sqrt(n) + 1
    assert Kinv.info["iterations"] < 30
    plain = CG(rank=0).resolvent(PlainGram(K))(1e-3)
    plain @ y
    assert plain.info["rank"] == 0
    assert plain.info["iterations"] > 3 * Kinv.info["iterations"]


def test_cg_says_when_it_does_not_converge(rng):
    K, y = gaussian(rng.standard_normal((200, 2)), 0.2), rng.standard_normal(200)
    Kinv = CG(rank=5, max_iter=3).resolvent(PlainGram(K))(1e-4)
    with pytest.warns(ConvergenceWarning, match="rank"):
        Kinv @ y
    assert Kinv.info["residual"] > 1e-8


@pytest.mark.parametrize("what", ["diag", "logdet", "dense"])
def test_cg_refuses_what_only_a_factor_gives(what, rng):
    Kinv = CG().resolvent(PlainGram(well_conditioned(10, rng)))(0.1)
    with pytest.raises(ValueError, match="solver='cholesky'"):
        getattr(Kinv, what)()


def test_cg_is_repeatable(rng):
    K, y = gaussian(rng.standard_normal((200, 2))), rng.standard_normal(200)
    first, second, other = (CG(random_state=seed).resolvent(PlainGram(K))(1e-3) @ y for seed in (0, 0, 1))
    assert np.array_equal(first, second)
    assert np.allclose(first, other, atol=1e-4 * np.abs(first).max())


# --------------------------------------------------------------------------------------- memory
@pytest.mark.parametrize("solver", FULL, **NAMES)
def test_nothing_is_allocated_where_it_does_not_fit(solver, monkeypatch):
    from solvers.plain_gram import HugeGram

    monkeypatch.setattr(_machine, "available_memory", lambda: _machine.Memory(10**9, "a test"))
    with pytest.raises(NotEnoughMemory, match="GB"):
        solver.resolvent(HugeGram(65537))(1.0)


def test_conjugate_gradients_return_nothing_worse_than_zero():
    """On a system that is singular to rounding the last iterate may be far off: the best one is returned."""
    rng = np.random.default_rng(0)
    X = 100.0 * rng.uniform(-1, 1, (60, 1))
    B = np.column_stack([3.0 * X[:, 0] + rng.standard_normal(60), np.zeros(60)])
    with pytest.warns(ConvergenceWarning):
        inverse = CG().resolvent(PlainGram(X @ X.T))(1e-14)
        solution = inverse @ B
    assert (np.linalg.norm(B - X @ (X.T @ solution), axis=0) <= np.linalg.norm(B, axis=0)).all()
    assert inverse.info["residual"] <= 1.0
