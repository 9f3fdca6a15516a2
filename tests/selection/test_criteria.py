"""Identities first: closed forms equal brute-force refits, adjoints equal differences."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone

from mercer import KernelRidge
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import DenseGram, ScaledGram, TiledGram
from mercer.kernels import Gaussian, Linear, Matern52
from mercer.selection import GCV, LOO, Evidence, GroupKFold, KFold
from mercer.solvers import Cholesky, Explicit, Mixed, Projected

KERNEL, LAM = 1.3 * Gaussian([0.8, 1.5, 1.0]), 0.07
SMOOTH = [
    LOO(),
    LOO("absolute"),
    LOO("log_density"),
    LOO("crps"),
    GCV(),
    GCV("robust"),
    GCV("robust", gamma=0.1),
    GCV("modified", gamma=1.2),
    Evidence(),
    Evidence(profile_scale=True),
    Evidence(weights="precision"),
    KFold(4),
    GroupKFold(np.arange(30) % 7),
    GroupKFold(np.arange(30) // 3, n_splits=4),
]


@pytest.fixture
def data(rng):
    X = rng.standard_normal((30, 3))
    y = np.stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 2] ** 2], axis=1) + 0.2 * rng.standard_normal((30, 2))
    return X, y, rng.uniform(0.3, 3.0, 30)


def system(X, y, w, intercept, lam=LAM, kernel=KERNEL):
    """(Kinv or Projected, scaled y) from plain inverses."""
    s = np.ones(len(y)) if w is None else np.sqrt(w)
    A = np.outer(s, s) * kernel(X) + lam * np.eye(len(y))
    Kinv = Explicit(np.linalg.inv(A), lam, np.linalg.slogdet(A)[1])
    return (Projected(Kinv, s[:, None]) if intercept else Kinv), s[:, None] * y


def refit_residuals(X, y, w, intercept, folds, lam=LAM):
    """y − f of every row under a model that has not seen its fold."""
    out = np.empty_like(y)
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(y)), fold)
        model = KernelRidge(KERNEL, lam, trend=intercept, solver="cholesky")
        model.fit(X[rest], y[rest], None if w is None else w[rest])
        out[fold] = y[fold] - model.predict(X[fold])
    return out


WAYS = [(False, False), (False, True), (True, False), (True, True)]
ways = pytest.mark.parametrize(("weighted", "intercept"), WAYS)


@ways
def test_loo_equals_refits(data, weighted, intercept):
    X, y, w = data
    w = w if weighted else None
    P, z = system(X, y, w, intercept)
    e = refit_residuals(X, y, w, intercept, np.arange(30)[:, None])
    full = np.ones(30) if w is None else w
    assert_allclose((P @ z) / P.diag()[:, None] / np.sqrt(full)[:, None], e, rtol=1e-9, atol=1e-11)
    assert_allclose(LOO().value(P, z, w), np.average((e**2).mean(axis=1), weights=full), rtol=1e-9)
    assert_allclose(LOO("absolute").value(P, z, w), np.average(np.abs(e).mean(axis=1), weights=full), rtol=1e-9)


@ways
@pytest.mark.parametrize("criterion", [KFold(5), KFold(4, shuffle=False), SMOOTH[-2], SMOOTH[-1]], ids=lambda c: c.name)
def test_block_formula_equals_refits(data, weighted, intercept, criterion):
    X, y, w = data
    w = w if weighted else None
    P, z = system(X, y, w, intercept)
    folds = criterion.folds(30)
    assert_allclose(np.sort(np.concatenate(folds)), np.arange(30))
    e = refit_residuals(X, y, w, intercept, folds)
    full = np.ones(30) if w is None else w
    assert_allclose(criterion.residuals(P, z) / np.sqrt(full)[:, None], e, rtol=1e-9, atol=1e-11)
    assert_allclose(criterion.value(P, z, w), np.average((e**2).mean(axis=1), weights=full), rtol=1e-9)


def test_probabilistic_scores_are_those_of_the_predictive_distribution(data):
    X, y, w = data
    P, z = system(X, y, w, False)
    density, crps = np.empty(30), np.empty(30)
    for i in range(30):
        r = np.delete(np.arange(30), i)
        A = KERNEL(X[r]) + np.diag(LAM / w[r])
        k = KERNEL(X[[i]], X[r])[0]
        mean = k @ np.linalg.solve(A, y[r, 0])
        sd = np.sqrt(1.3 - k @ np.linalg.solve(A, k) + LAM / w[i])
        density[i] = -norm.logpdf(y[i, 0], mean, sd)
        u = (y[i, 0] - mean) / sd
        crps[i] = sd * (u * (2 * norm.cdf(u) - 1) + 2 * norm.pdf(u) - 1 / np.sqrt(np.pi))
    assert_allclose(LOO("log_density").value(P, z[:, :1], w), np.average(density, weights=w), rtol=1e-9)
    assert_allclose(LOO("crps").value(P, z[:, :1], w), np.average(crps, weights=w), rtol=1e-9)


def test_gcv_is_the_textbook_formula(data):
    X, y, _ = data
    P, z = system(X, y, None, True)
    A = np.eye(30) - LAM * P.dense()
    r = (np.eye(30) - A) @ y
    plain = (r**2).mean() / (1 - np.trace(A) / 30) ** 2
    assert_allclose(GCV().value(P, z), plain, rtol=1e-10)
    assert_allclose(GCV("robust").value(P, z), plain * (0.3 + 0.7 * np.trace(A @ A) / 30), rtol=1e-10)
    modified = (r**2).mean() / (1 - 1.2 * np.trace(A) / 30) ** 2
    assert_allclose(GCV("modified", 1.2).value(P, z), modified, rtol=1e-10)
    assert GCV("modified", 1e3).value(P, z) == np.inf


def test_evidence_is_the_normal_density(data):
    X, y, w = data
    Kinv, z = system(X, y, None, False)
    A = KERNEL(X) + LAM * np.eye(30)
    exact = -sum(multivariate_normal(np.zeros(30), A).logpdf(column) for column in y.T)
    assert_allclose(Evidence().value(Kinv, z), exact, rtol=1e-10)
    scale = np.array([column @ np.linalg.solve(A, column) / 30 for column in y.T])
    exact = -sum(multivariate_normal(np.zeros(30), v * A).logpdf(c) for v, c in zip(scale, y.T, strict=True))
    assert_allclose(Evidence(profile_scale=True).value(Kinv, z), exact, rtol=1e-10)
    Kinv, z = system(X, y, w, False)
    exact = -sum(multivariate_normal(np.zeros(30), KERNEL(X) + np.diag(LAM / w)).logpdf(column) for column in y.T)
    assert_allclose(Evidence(weights="precision").value(Kinv, z, w), exact, rtol=1e-10)  # in the units of y


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("profile", [False, True])
def test_evidence_of_weights_is_that_of_repeated_rows(data, rng, intercept, profile):
    X, y, _ = data
    w = rng.integers(1, 4, 30)
    Kinv, z = system(X, y, w.astype(float), intercept)
    repeated, v = system(np.repeat(X, w, axis=0), np.repeat(y, w, axis=0), None, intercept)
    criterion = Evidence(profile_scale=profile)
    assert_allclose(criterion.value(Kinv, z, w.astype(float)), criterion.value(repeated, v), rtol=1e-10)


def test_reml_is_the_density_of_contrasts(data):
    X, y, _ = data
    P, z = system(X, y, None, True)
    Q = np.linalg.qr(np.hstack([np.ones((30, 1)), np.eye(30)[:, 1:]]))[0][:, 1:]  # contrasts: Qᵀ1 = 0, QᵀQ = I
    A = Q.T @ (KERNEL(X) + LAM * np.eye(30)) @ Q
    exact = -sum(multivariate_normal(np.zeros(29), A).logpdf(Q.T @ column) for column in y.T)
    assert_allclose(Evidence().value(P, z), exact, rtol=1e-10)


def test_projected(data, rng):
    X, y, _ = data
    Kinv, _ = system(X, y, None, False)
    H = np.hstack([np.ones((30, 1)), X])
    P, A = Projected(Kinv, H), Kinv.dense()
    exact = A - A @ H @ np.linalg.solve(H.T @ A @ H, H.T @ A)
    B = rng.standard_normal((30, 2))
    assert_allclose(P.dense(), exact, atol=1e-11)
    assert_allclose(P @ B, exact @ B, atol=1e-10)
    assert_allclose(P.quad(B), B.T @ exact @ B, atol=1e-9)
    assert_allclose(P.diag(), np.diag(exact), atol=1e-11)
    assert_allclose(P.block([3, 5, 8]), exact[np.ix_([3, 5, 8], [3, 5, 8])], atol=1e-11)
    assert_allclose(P @ H, 0.0, atol=1e-9)
    assert (P.n, P.q, P.lam, P.info["solver"]) == (30, 4, LAM, Kinv.info["solver"])
    with pytest.raises(ValueError, match="dependent"):
        Projected(Kinv, np.ones((30, 2)))
    with pytest.raises(ValueError, match="trend"):
        Projected(Explicit(np.eye(1), 1.0), np.ones((1, 2)))
    alone = Projected(Explicit(np.eye(1) / 2, 1.0), np.ones((1, 1)))  # the trend goes through the one row
    assert_allclose(alone.regress(np.array([[3.0]])), ([[0.0]], [[3.0]]))


@ways
@pytest.mark.parametrize("criterion", SMOOTH, ids=lambda c: c.name)
def test_adjoint_agrees_with_differences(data, rng, weighted, intercept, criterion):
    X, y, w = data
    w = w if weighted else None
    s = np.ones(30) if w is None else np.sqrt(w)
    base = np.outer(s, s) * KERNEL(X)
    D = rng.standard_normal((30, 30))
    D = 0.1 * (D + D.T) / 30

    def made(A, lam):
        Kinv = Explicit(np.linalg.inv(A), lam, np.linalg.slogdet(A)[1])
        return Projected(Kinv, s[:, None]) if intercept else Kinv

    def value(step, log_step=0.0):
        lam = LAM * np.exp(log_step)
        return criterion.value(made(base + step * D + lam * np.eye(30), lam), s[:, None] * y, w)

    point = made(base + LAM * np.eye(30), LAM)
    C, W = criterion.value_and_adjoint(point, s[:, None] * y, w)
    assert_allclose(C, value(0.0), rtol=1e-11)
    assert_allclose(W, W.T, atol=1e-12 * np.abs(W).max())
    h = 1e-4
    assert_allclose(np.sum(W * D), (value(h) - value(-h)) / (2 * h), rtol=1e-6, atol=1e-8 * abs(C))
    along = LAM * np.trace(W) + criterion.explicit(point, s[:, None] * y, w)
    assert_allclose(along, (value(0, h) - value(0, -h)) / (2 * h), rtol=1e-6, atol=1e-7 * abs(C))
    assert_allclose(criterion.adjoint(point, s[:, None] * y, w), W)


@pytest.mark.parametrize("criterion", SMOOTH, ids=lambda c: c.name)
def test_scale_free_is_what_it_says(data, criterion):
    X, y, _ = data
    P, z = system(X, y, None, True)
    A = KERNEL(X) + LAM * np.eye(30)
    Q = Projected(Explicit(np.linalg.inv(5 * A), 5 * LAM, np.linalg.slogdet(5 * A)[1]), np.ones((30, 1)))
    same = np.isclose(criterion.value(P, z), criterion.value(Q, z), rtol=1e-9)
    assert same == criterion.scale_free
    assert repr(clone(criterion)) == repr(criterion)


def test_gradient_with_respect_to_all_hyper_parameters(data):
    X, y, w = data
    kernel = 1.3 * Matern52([0.8, 1.5, 1.0]) + 0.5 * Linear()
    s = np.sqrt(w)

    def evaluate(theta):
        return Cholesky().resolvent(ScaledGram(TiledGram(kernel.with_theta(theta), X), s))(LAM)

    z = s[:, None] * y
    for criterion in (LOO(), Evidence(), GCV(), KFold(3)):
        W = criterion.adjoint(Projected(evaluate(kernel.theta), s[:, None]), z, w)
        got = ScaledGram(TiledGram(kernel, X), s).grad(W)
        for j, step in enumerate(1e-5 * np.eye(len(got))):
            ends = [criterion.value(Projected(evaluate(kernel.theta + d), s[:, None]), z, w) for d in (step, -step)]
            assert_allclose(got[j], (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-7)


def test_memory_of_a_gradient_is_a_few_matrices(rng):
    n, d = 1000, 20
    X, y = rng.standard_normal((n, d)), rng.standard_normal((n, 1))
    gram = TiledGram(Gaussian(np.full(d, 4.0)), X)
    LOO().adjoint(
        Cholesky().resolvent(gram, np.ones((n, 1))).unchecked(0.1, whole=True), y
    )  # loads what is loaded once
    for criterion in (LOO(), Evidence(), GCV(), KFold(5), GCV("robust")):
        tracemalloc.start()
        W = criterion.adjoint(Cholesky().resolvent(gram, np.ones((n, 1))).unchecked(0.1, whole=True), y)
        g = gram.grad(W)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert g.shape == (d,)
        assert peak <= 5 * 8 * n * n, f"{criterion}: {peak / (8 * n * n):.1f} n² doubles"


def test_disposable_inverse_is_used_once(data):
    X, y, _ = data
    Kinv = Cholesky().resolvent(TiledGram(KERNEL, X)).unchecked(LAM, whole=True)
    LOO().adjoint(Kinv, y)
    with pytest.raises(ValueError, match="array"):
        Kinv.dense()
    kept = Explicit(np.eye(3), 1.0)
    kept.dense()[:] = 7.0
    assert_allclose(kept.dense(), np.eye(3))


def test_bad_arguments(data):
    X, y, _ = data
    P, z = system(X, y, None, True)
    with pytest.raises(ValueError, match="score"):
        LOO("mse").value(P, z)
    with pytest.raises(ValueError, match="robust"):
        GCV("sturdy").value(P, z)
    with pytest.raises(ValueError, match="weights"):
        Evidence(weights="many").value(P, z)
    with pytest.raises(ValueError, match="40"):
        KFold(40).value(P, z)
    with pytest.raises(ValueError, match="n_splits"):
        KFold(1).value(P, z)
    with pytest.raises(ValueError, match="groups"):
        GroupKFold(np.zeros(30)).value(P, z)
    with pytest.raises(ValueError, match="30"):
        GroupKFold([0, 1]).value(P, z)
    for make in (
        Cholesky().resolvent(DenseGram.from_matrix(-np.eye(3))),
        Mixed().resolvent(DenseGram.from_matrix(-np.eye(3))),
    ):
        with pytest.raises(NotPositiveDefinite, match="not positive definite"):
            make.unchecked(0.5)
