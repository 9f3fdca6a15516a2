"""Laplace, expectation propagation and quadrature on random small problems, against twins that share nothing with them.

Laplace: Newton's steps in 40 digits. Expectation propagation: one site after the other, moments on a fine grid; what
it ends at is the fixed point, whatever the way there. Both, and what is said to be exact, against the integral itself:
the posterior of two or three rows on a grid.
"""

import mpmath
import numpy as np
import pytest
from scipy.special import log_expit, log_ndtr, logsumexp, ndtr

from differential import naive_reference as reference
from differential.test_linear import FIRST, batches, share, told
from mercer import GaussianProcessClassifier
from mercer.kernels import Gaussian, Matern32

QUICK, ALL = 12, 120
GRID = np.linspace(-1, 1, 4001)
NODES = {2: np.linspace(-8.5, 8.5, 301), 3: np.linspace(-8.5, 8.5, 111)}
# Of log p(y) for each row, and of a probability: what a Gaussian in the place of the posterior may be off by. Of two
# rows at one place with unlike labels the posterior is far from normal: there EP was seen to be off by 0.04.
WITHIN = {"laplace": (0.35, 0.2), "ep": (0.02, 0.05)}
LOGS = {"logit": log_expit, "probit": log_ndtr}


class Problem:
    """Two to five rows, labels at random, an amplitude from a tenth to some thousand."""

    def __init__(self, seed, most=5, top=3.5):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, most + 1))
        self.link = ["logit", "probit"][rng.integers(2)]
        self.X, self.new = rng.uniform(-1, 1, (n, 2)), rng.uniform(-1, 1, (2, 2))
        if rng.uniform() < 0.2:
            self.X[1] = self.X[0] + 1e-7
        self.t = np.where(rng.uniform(size=n) < 0.5, -1.0, 1.0)
        self.t[:2] = -1.0, 1.0
        shape, self.kind = [(reference.gaussian, Gaussian), (reference.matern32, Matern32)][rng.integers(2)]
        self.length, self.amplitude = 10.0 ** rng.uniform(-1, 1), 10.0 ** rng.uniform(-1, top)
        self.shape = lambda r: self.amplitude * shape(r)

    def fit(self, inference, **options):
        """(model, what was said)."""
        kernel = self.amplitude * self.kind(self.length)
        model = GaussianProcessClassifier(kernel, inference=inference, link=self.link, trend=None, criterion=None)
        with told() as caught:
            return model.set_params(**options).fit(self.X, self.t), caught

    @property
    def K(self):
        return reference.gram(self.shape, self.length, self.X, self.X)

    @property
    def cross(self):
        return reference.gram(self.shape, self.length, self.X, self.new)


def array(M):
    return np.array([[float(M[i, j]) for j in range(M.cols)] for i in range(M.rows)])


# ------------------------------------------------------------------------------------------- Laplace
def slopes(link, z):
    """(log σ, its first and second derivative) in mpmath."""
    if link == "logit":
        q = 1 / (1 + mpmath.exp(z))
        return -mpmath.log1p(mpmath.exp(-z)), q, -q * (1 - q)
    h = mpmath.npdf(z) / mpmath.ncdf(z)
    return mpmath.log(mpmath.ncdf(z)), h, -h * (z + h)


def laplace(p):
    """(α, log evidence, latent mean and variance at the new rows)."""
    K, n = p.K, len(p.t)
    t = [mpmath.mpf(float(v)) for v in p.t]

    def objective(a):
        return mpmath.fsum(slopes(p.link, t[i] * v)[0] for i, v in enumerate(K * a)) - (a.T * K * a)[0] / 2

    alpha = mpmath.zeros(n, 1)
    for _ in range(200):
        f = K * alpha
        parts = [slopes(p.link, t[i] * f[i]) for i in range(n)]
        gradient = mpmath.matrix([t[i] * parts[i][1] for i in range(n)]) - alpha
        if mpmath.norm(gradient, mpmath.inf) < mpmath.mpf(10) ** -35:
            break
        W = mpmath.diag([-part[2] for part in parts])
        step, length, best = mpmath.lu_solve(mpmath.eye(n) + W * K, gradient), mpmath.mpf(1), objective(alpha)
        while objective(alpha + length * step) < best and length > 1e-12:
            length /= 2
        alpha += length * step
    else:
        raise AssertionError("the twin did not converge")
    W = mpmath.diag([-part[2] for part in parts])
    evidence = mpmath.fsum(part[0] for part in parts) - (alpha.T * K * alpha)[0] / 2
    evidence -= mpmath.log(mpmath.det(mpmath.eye(n) + W * K)) / 2
    mean, middle = p.cross.T * alpha, mpmath.inverse(mpmath.eye(n) + W * K) * W
    left = [mpmath.mpf(p.amplitude) - (p.cross[:, j].T * middle * p.cross[:, j])[0] for j in range(len(p.new))]
    return reference.floats(alpha), float(evidence), reference.floats(mean), reference.floats(left)


@pytest.mark.parametrize("batch", list(batches(FIRST + 40_000, QUICK, ALL)))
def test_laplace_is_at_its_mode(batch):
    assert share(check_laplace, batch) > 0.5


def check_laplace(seed):
    p = Problem(seed)
    model, caught = p.fit("laplace")
    if caught:
        return False
    alpha, evidence, mean, variance = laplace(p)
    found_mean, found_std = model.predict_latent(p.new)
    assert np.abs(model.log_marginal_likelihood_value_ - evidence) <= 1e-7 * (1 + abs(evidence)), seed
    np.testing.assert_allclose(found_mean, mean, atol=1e-6 * (1 + np.abs(mean).max()), err_msg=str(seed))
    np.testing.assert_allclose(found_std**2, variance, atol=1e-6 * p.amplitude, err_msg=str(seed))
    np.testing.assert_allclose(model.dual_coef_[model.point_index_], alpha, atol=1e-6, err_msg=str(seed))
    return True


# ------------------------------------------------------------------------------------------- EP
def tilted(link, t, mean, variance):
    """(log Z, mean, variance) of σ(t f) N(f | mean, variance), by a sum over a grid where it is not 0."""
    centre, spread = mean, variance
    for _ in range(2):  # the second grid is around the moments that the first one finds
        f = centre + 14.0 * np.sqrt(spread) * GRID
        logs = LOGS[link](t * f) - 0.5 * (f - mean) ** 2 / variance
        weight = np.exp(logs - logs.max())
        total = weight.sum()
        centre = weight @ f / total
        spread = weight @ (f - centre) ** 2 / total
        log_Z = np.log(total * (f[1] - f[0])) + logs.max() - 0.5 * np.log(2 * np.pi * variance)
    return log_Z, centre, spread


def propagation(p):
    """(log evidence, latent mean and variance at the new rows) at the fixed point, one site after the other."""
    K, C, n = array(p.K), array(p.cross), len(p.t)
    tau, nu = np.zeros(n), np.zeros(n)

    def posterior():
        root = np.sqrt(tau)
        half = np.linalg.solve(np.linalg.cholesky(np.eye(n) + root[:, None] * K * root), root[:, None] * K)
        S = K - half.T @ half
        return S, S @ nu

    for _ in range(2000):
        before = np.concatenate([tau, nu])
        for i in range(n):
            S, m = posterior()
            v = 1.0 / (1.0 / S[i, i] - tau[i])
            c = v * (m[i] / S[i, i] - nu[i])
            _, mean, spread = tilted(p.link, p.t[i], c, v)
            tau[i] = max(1.0 / spread - 1.0 / v, 0.0)
            nu[i] = mean / spread - c / v
        if np.abs(np.concatenate([tau, nu]) - before).max() <= 1e-12 * (1 + np.abs(nu).max()):
            break
    else:
        return None
    S, m = posterior()
    v = 1.0 / (1.0 / np.diag(S) - tau)
    c = v * (m / np.diag(S) - nu)
    parts = [tilted(p.link, p.t[i], c[i], v[i])[0] for i in range(n)]
    # log ∫ N(f | 0, K) Π sites, the sites scaled so that each has the Z of its cavity
    value = sum(parts) + 0.5 * np.log1p(tau * v).sum() - 0.5 * np.linalg.slogdet(np.eye(n) + tau[:, None] * K)[1]
    value += 0.5 * nu @ m - 0.5 * np.sum((nu**2 * v + 2 * nu * c - tau * c**2) / (1.0 + tau * v))
    middle = np.linalg.solve(np.eye(n) + tau[:, None] * K, np.diag(tau))
    return value, C.T @ (nu - middle @ (K @ nu)), p.amplitude - np.einsum("ij,ik,kj->j", C, middle, C)


@pytest.mark.parametrize("batch", list(batches(FIRST + 41_000, QUICK, ALL)))
def test_expectation_propagation_is_at_its_fixed_point(batch):
    assert share(check_propagation, batch) > 0.5


def check_propagation(seed):
    p = Problem(seed, top=2.0)
    model, caught = p.fit("ep")
    exact = None if caught else propagation(p)
    if exact is None:
        return False
    evidence, mean, variance = exact
    found_mean, found_std = model.predict_latent(p.new)
    assert abs(model.log_marginal_likelihood_value_ - evidence) <= 1e-5 * (1 + abs(evidence)), seed
    np.testing.assert_allclose(found_mean, mean, atol=1e-5 * (1 + np.abs(mean).max()), err_msg=str(seed))
    np.testing.assert_allclose(found_std**2, variance, atol=1e-5 * p.amplitude, err_msg=str(seed))
    return True


# ------------------------------------------------------------------------------------------- the integral
def integral(p):
    """(log p(y), P(+1) at the new rows) by a sum over f = L u, u on a grid."""
    both = np.vstack([p.X, p.new])
    K = array(reference.gram(p.shape, p.length, both, both))
    n = len(p.t)
    values, vectors = np.linalg.eigh(K[:n, :n])
    L = vectors * np.sqrt(np.maximum(values, 0.0))
    nodes = NODES[n]
    U = np.stack(np.meshgrid(*[nodes] * n, indexing="ij"), axis=-1).reshape(-1, n)
    logs = LOGS[p.link](p.t * (U @ L.T)).sum(axis=1) - 0.5 * (U**2).sum(axis=1)
    log_Z = logsumexp(logs) + n * np.log((nodes[1] - nodes[0]) / np.sqrt(2 * np.pi))
    U, logs = U[logs > logs.max() - 32.0], logs[logs > logs.max() - 32.0]
    weight = np.exp(logs - logsumexp(logs))
    half = np.linalg.lstsq(L, K[:n, n:], rcond=1e-12)[0]  # f* = halfᵀu + noise
    mean, rest = U @ half, np.maximum(np.diag(K)[n:] - (half**2).sum(axis=0), 0.0)
    if p.link == "probit":
        return log_Z, weight @ ndtr(mean / np.sqrt(1.0 + rest))
    z = np.linspace(-8, 8, 65)
    density = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    sigmoid = sum(d * np.exp(log_expit(mean + np.sqrt(rest) * x)) for x, d in zip(z, density, strict=True))
    return log_Z, weight @ sigmoid


@pytest.mark.parametrize("batch", list(batches(FIRST + 42_000, QUICK // 3, ALL // 2)))
def test_all_against_the_integral(batch):
    assert min(share(check_integral, batch)) > 0.5


def check_integral(seed):
    """Whether each way of inference could be judged."""
    p, judged = Problem(seed, most=3, top=1.5), []
    log_Z, probability = integral(p)
    for inference, (evidence, within) in WITHIN.items():
        model, caught = p.fit(inference)
        judged.append(not caught)
        if not caught:
            assert abs(model.log_marginal_likelihood_value_ - log_Z) <= evidence * len(p.t), (seed, inference)
            assert np.abs(model.predict_proba(p.new)[:, 1] - probability).max() <= within, (seed, inference)
    model, caught = p.fit("quadrature")
    if not caught:
        stated = model.fit_report_["posteriors"][0]["error"]
        assert abs(model.log_marginal_likelihood_value_ - log_Z) <= 30 * max(stated, 1e-6), (seed, stated)
        assert np.abs(model.predict_proba(p.new)[:, 1] - probability).max() <= 30 * max(stated, 1e-5), (seed, stated)
    return [*judged, not caught]
