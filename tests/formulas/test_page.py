"""docs/formulas.md: each line of code of the page gives what its formula says, written out here in NumPy.

One expected value for each row, by its id. The page's own first block makes the names that its lines use.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq, linear_sum_assignment, minimize, minimize_scalar
from scipy.special import expit
from scipy.stats import multivariate_normal

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formulas.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| (\d{3}\.\d+) \|.*\| `([^`]+)` \|$", TEXT, re.MULTILINE))
LOOSE = {  # by iteration or by quadrature; the others are exact
    "000.1": 1e-6,
    "000.13": 1e-6,
    "000.24": 1e-6, "000.25": 1e-6, "000.26": 1e-6, "000.27": 1e-6, "000.28": 1e-6, "000.31": 1e-6, "000.33": 1e-6,
    "000.34": 1e-6,
    "001.33": 1e-4, "001.34": 1e-3,
    "002.7": 1e-6,
    "003.24": 1e-4,
    "004.16": 1e-4, "004.18": 1e-5, "004.19": 1e-5, "004.21": 1e-3,
}  # fmt: skip


@pytest.fixture(scope="module")
def names():
    """The names of the page."""
    found: dict = {}
    exec(compile(re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1], str(PAGE), "exec"), found)  # the page is ours
    return found


@pytest.fixture(scope="module")
def plain(names):
    """The same quantities in plain NumPy."""
    p = SimpleNamespace(**{name: names[name] for name in "N lam sigma2 alpha epsilon X new y A E rho clouds".split()})
    p.I = np.eye(p.N)
    p.K, p.k = rbf(p.X, p.X, 0.9), rbf(p.X, p.new, 0.9)
    p.K2, p.C = p.K + p.lam * p.I, p.K + p.sigma2 * p.I
    p.Psi, p.psi = quadratic(p.X), quadratic(p.new)
    p.M = p.Psi.shape[1]
    p.w = np.linalg.solve(p.Psi.T @ p.Psi + p.lam * np.eye(p.M), p.Psi.T @ p.y)
    p.theta = np.linalg.solve(p.Psi.T @ p.Psi + p.N * p.lam * np.eye(p.M), p.Psi.T @ p.y)
    p.a = np.linalg.solve(p.K2, p.y)
    p.ols = np.linalg.lstsq(p.Psi, p.y, rcond=None)[0]
    p.h = np.sum(np.linalg.qr(p.Psi)[0] ** 2, axis=1)
    p.line = np.linalg.lstsq(p.X, p.y, rcond=None)[0]
    p.labels = np.arange(p.N) % 2
    return p


def rbf(X, Z, ell):
    return np.exp(-((X[:, None] - Z) ** 2).sum(axis=2) / (2 * ell**2))


def quadratic(X):
    """The monomials of degree two or less, in the order of `PolynomialBasis(2)`."""
    x1, x2 = X.T
    return np.column_stack([np.ones(len(X)), x1, x2, x1**2, x1 * x2, x2**2])


def powers(X, degree):
    """All monomials of two columns up to a degree; the order does not matter to what is made of them."""
    return np.column_stack([X[:, 0] ** i * X[:, 1] ** j for i in range(degree + 1) for j in range(degree + 1 - i)])


def without(p, rows):
    """Residuals of some rows under the ridge fit without them."""
    keep = np.setdiff1d(np.arange(p.N), rows)
    a = np.linalg.solve(p.K2[np.ix_(keep, keep)], p.y[keep])
    return p.y[rows] - p.K[np.ix_(rows, keep)] @ a


def ols_without(p, i):
    return np.linalg.lstsq(np.delete(p.Psi, i, 0), np.delete(p.y, i), rcond=None)[0]


def slope(p, value, h=1e-5):
    """∂ value(K̃)/∂ log ℓ by central differences."""
    up, down = (value(rbf(p.X, p.X, 0.9 * np.exp(step)) + p.lam * p.I) for step in (h, -h))
    return [(up - down) / (2 * h)]


def loo(K2, y):
    inverse = np.linalg.inv(K2)
    return inverse @ y / np.diag(inverse)


def gauss_hermite(C, values, nodes):
    """E of each of the functions ``values(a)`` for a ~ N(0, C), on a grid of nodes."""
    x, weight = np.polynomial.hermite_e.hermegauss(nodes)
    grid = np.stack(np.meshgrid(*[x] * len(C), indexing="ij"), axis=-1).reshape(-1, len(C)) @ np.linalg.cholesky(C).T
    w = np.prod(np.stack(np.meshgrid(*[weight] * len(C), indexing="ij"), axis=-1).reshape(-1, len(C)), axis=1)
    return [float(w @ value / w.sum()) for value in values(grid)]


def class_probability(p, x):
    """P(1) at x given the first three labels: the integral over four latent values."""
    inputs, signs = np.vstack([p.X[:3], x]), 2 * p.labels[:3] - 1
    C = 2 * rbf(inputs, inputs, 0.9)
    both, seen = gauss_hermite(
        C, lambda a: (lambda like: (like * expit(a[:, 3]), like))(np.prod(expit(signs * a[:, :3]), axis=1)), 20
    )
    return both / seen


def discrepancy(p, delta):
    def residual(log_lam):
        lam = np.exp(log_lam)
        return np.sum((lam * np.linalg.solve(p.K + lam * p.I, p.y)) ** 2) - p.N * delta**2

    return np.exp(brentq(residual, np.log(1e-6), np.log(1e4), xtol=1e-12))


def bias_and_variance(p):
    H = np.linalg.solve(p.K2, p.K).T  # f̂ = H y
    truth = 1 + np.abs(p.X[:, 0])
    return np.mean((H @ truth - truth) ** 2) + np.mean(np.sum(H**2, axis=1) * 0.1**2)


def transport(p):
    """Of equally many points of equal weight the transport is a matching."""
    ways = []
    for cloud in p.clouds:
        cost = ((p.rho[:, None] - cloud) ** 2).sum(axis=2)
        ways.append((p.rho - cloud[linear_sum_assignment(cost)[1]]).ravel())
    return np.array(ways) @ np.array(ways).T / len(p.rho)


def reproducing(p):
    """⟨Σ αᵢ φ(xᵢ), φ(x)⟩ with features of the old and new inputs together."""
    joint = rbf(np.vstack([p.X, p.new]), np.vstack([p.X, p.new]), 0.9)
    e, U = np.linalg.eigh(joint)
    Phi = U * np.sqrt(np.maximum(e, 0))
    return Phi[p.N :] @ (Phi[: p.N].T @ p.a)


def nested(p, folds):
    """Algorithm 1 with leave-one-out inside: λ from the other folds, R² on the fold."""
    scores = []
    for train, test in folds:
        K, y = p.K[np.ix_(train, train)], p.y[train]

        def loocv(z, K=K, y=y):
            return np.mean(loo(K + np.exp(z) * np.eye(len(y)), y) ** 2)

        grid = np.linspace(np.log(1e-6), np.log(1e3), 200)
        best = grid[np.argmin([loocv(z) for z in grid])]
        best = minimize_scalar(loocv, bounds=(best - 0.2, best + 0.2), method="bounded", options={"xatol": 1e-10}).x
        f = p.K[np.ix_(test, train)] @ np.linalg.solve(K + np.exp(best) * np.eye(len(y)), y)
        scores.append(1 - np.sum((p.y[test] - f) ** 2) / np.sum((p.y[test] - p.y[test].mean()) ** 2))
    return np.mean(scores)


def huber(p):
    """argmin of the primal with Huber's loss, r² for |r| <= ½ and |r| − ¼ beyond."""

    def J(theta):
        r = p.y - p.Psi @ theta
        inside = np.abs(r) <= 0.5
        loss = np.where(inside, r**2, np.abs(r) - 0.25)
        slope = np.where(inside, 2 * r, np.sign(r))
        return loss.mean() + p.lam * theta @ theta, -p.Psi.T @ slope / p.N + 2 * p.lam * theta

    return minimize(J, np.zeros(p.M), jac=True, tol=1e-14).x


def svr(p):
    """α of the dual as a bounded problem in α⁺ and α⁻."""
    box = 1 / (2 * p.N * p.lam)

    def D(z):
        a = z[: p.N] - z[p.N :]
        g = p.K @ a - p.y
        return 0.5 * a @ p.K @ a - a @ p.y + p.epsilon * z.sum(), np.concatenate([g, -g]) + p.epsilon

    options = {"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-11}
    z = minimize(D, np.zeros(2 * p.N), jac=True, method="L-BFGS-B", bounds=[(0, box)] * (2 * p.N), options=options).x
    return z[: p.N] - z[p.N :]


def dual_value(p, a):
    return 0.5 * a @ p.K @ a - a @ p.y + p.epsilon * np.abs(a).sum()


def primal_value(p, a):
    return np.maximum(0, np.abs(p.y - p.K @ a) - p.epsilon).mean() + p.lam * a @ p.K @ a


def cars():
    from mercer.datasets import load_cars

    X, y = load_cars(return_X_y=True)
    new = np.array([[10.0], [20.0]])
    kernel = lambda U, V: rbf(U, V, 5.0) + (U @ V.T + 1) ** 2  # noqa: E731
    return kernel(new, X) @ np.linalg.solve(kernel(X, X) + 0.5 * np.eye(50), y)


def saddle(p):
    top = np.hstack([p.lam * np.eye(p.M), p.Psi.T])
    return np.linalg.solve(np.vstack([top, np.hstack([p.Psi, -p.I])]), np.append(np.zeros(p.M), p.y))


def bordered(p):
    e = p.I[:1]
    return np.linalg.solve(np.block([[p.K2, e.T], [e, np.zeros((1, 1))]]), np.append(p.y, 0))[1 : p.N]


def log_density(p):
    return multivariate_normal(np.zeros(p.N), p.C).logpdf(p.y)


def terms(p):
    return [-0.5 * p.y @ np.linalg.solve(p.C, p.y), -0.5 * np.linalg.slogdet(p.C)[1], -0.5 * p.N * np.log(2 * np.pi)]


def conditional(p):
    inputs = np.vstack([p.X, p.new])
    S = rbf(inputs, inputs, 0.9) + p.sigma2 * np.eye(len(inputs))
    return S[p.N :, p.N :] - S[p.N :, : p.N] @ np.linalg.solve(S[: p.N, : p.N], S[: p.N, p.N :])


def joint(p):
    inputs = np.vstack([p.X, p.new[:1]])
    return rbf(inputs, inputs, 0.9) + p.sigma2 * np.eye(p.N + 1)


def distances(p):
    return np.linalg.norm(p.X[:, None] - p.new, axis=2)


def scaled_ridge(p, at):
    """n^(−½) Σ α̂ᵢ k(x, xᵢ) with K/n and λₙ."""
    hat = np.linalg.solve(p.K / p.N + p.lam * p.I, p.y / np.sqrt(p.N))
    return at @ hat / np.sqrt(p.N)


def least_ridge(p):
    """The least value of ‖y − f‖² + λ‖f‖²."""
    return p.lam * p.y @ np.linalg.solve(p.K2, p.y)


def amplitude(X):
    return 1 + np.abs(X[:, 0])


def refits(p):
    return np.concatenate([without(p, [i]) for i in range(p.N)])


def folds_error(p, names):
    return np.sum([np.sum(without(p, rows) ** 2) for rows in names["KFold"](5).folds(p.N)]) / p.N


EXPECTED = {
    "000.1": lambda p: powers(p.new, 6) @ np.linalg.lstsq(powers(p.X, 6), p.y, rcond=None)[0],
    "000.2": lambda p: np.linalg.lstsq(
        np.vstack([p.Psi, np.sqrt(p.lam) * np.eye(p.M)]), np.append(p.y, np.zeros(p.M)), rcond=None
    )[0],
    "000.3": lambda p: np.zeros(p.M),
    "000.4": saddle,
    "000.5": lambda p: -np.linalg.solve(p.I + p.Psi @ p.Psi.T / p.lam, p.y),
    "000.6": lambda p: p.Psi.T @ np.linalg.solve(p.I + p.Psi @ p.Psi.T / p.lam, p.y),
    "000.7": lambda p: p.psi @ p.Psi.T @ np.linalg.solve(p.Psi @ p.Psi.T + p.lam * p.I, p.y),
    "000.8": lambda p: p.k.T @ p.a,
    "000.9": lambda p: np.linalg.norm(p.w),
    "000.10": least_ridge,
    "000.11": lambda p: p.k.T @ np.linalg.solve(p.C, p.y),
    "000.12": lambda p: rbf(p.new, p.new, 0.9) - p.k.T @ np.linalg.solve(p.C, p.k),
    "000.13": lambda p: discrepancy(p, 0.3),
    "000.14": lambda p: [np.linalg.norm(p.y - p.K @ p.a), np.sqrt(p.a @ p.K @ p.a)],
    "000.15": lambda p: np.mean(refits(p) ** 2),
    "000.16": lambda p: p.ols,
    "000.17": lambda p: np.linalg.solve(
        p.Psi.T @ p.Psi - np.outer(p.Psi[3], p.Psi[3]), p.Psi.T @ p.y - p.Psi[3] * p.y[3]
    ),
    "000.18": lambda p: [-p.Psi[i] @ ols_without(p, i) for i in range(p.N)],
    "000.19": lambda p: np.einsum("ij,jk,ik->i", p.Psi, np.linalg.inv(p.Psi.T @ p.Psi), p.Psi),
    "000.20": lambda p: (p.y - p.Psi @ p.ols) / (1 - p.h),
    "000.21": bordered,
    "000.22": refits,
    "000.23": lambda p: [1 / np.linalg.inv(p.K)[0, 0]],
    "000.24": lambda p: slope(p, lambda K2: p.y @ np.linalg.solve(K2, p.y)),
    "000.25": lambda p: slope(p, lambda K2: np.linalg.solve(K2, p.y)[0]),
    "000.26": lambda p: slope(p, lambda K2: np.linalg.inv(K2)[0, 0]),
    "000.27": lambda p: slope(p, lambda K2: loo(K2, p.y)[0]),
    "000.28": lambda p: slope(p, lambda K2: np.mean(loo(K2, p.y) ** 2)),
    "000.29": lambda p: np.exp(log_density(p)),
    "000.30": terms,
    "000.31": lambda p: slope(p, lambda K2: -0.5 * p.y @ np.linalg.solve(K2, p.y)),
    "000.32": lambda p: np.prod(1 + np.linalg.eigvalsh(p.E)),
    "000.33": lambda p: slope(p, np.linalg.det),
    "000.34": lambda p: slope(p, lambda K2: np.linalg.slogdet(K2)[1]),
    "001.1": lambda p: p.Psi @ p.w,
    "001.2": lambda p: p.ols,
    "001.3": lambda p: 0.5 * p.lam * p.y @ np.linalg.solve(p.Psi @ p.Psi.T + p.lam * p.I, p.y),
    "001.4": lambda p: p.w,
    "001.5": lambda p: p.w,
    "001.6": lambda p: np.linalg.solve(p.Psi @ p.Psi.T + p.lam * p.I, p.y),
    "001.7": lambda p: p.Psi @ p.Psi.T,
    "001.8": lambda p: 0.5 * least_ridge(p),
    "001.9": lambda p: p.a,
    "001.10": lambda p: p.k.T @ p.a,
    "001.11": lambda p: np.sum((p.Psi.T @ p.y) ** 2),
    "001.12": lambda p: (p.X @ p.new.T) ** 2,
    "001.13": lambda p: rbf(p.X, p.new, 0.7),
    "001.14": lambda p: 3 * p.k,
    "001.15": lambda p: amplitude(p.X)[:, None] * p.k * amplitude(p.new),
    "001.16": lambda p: p.k + p.X @ p.new.T,
    "001.17": lambda p: p.k * (p.X @ p.new.T),
    "001.18": lambda p: p.X @ p.A @ p.new.T,
    "001.19": lambda p: np.exp(p.X @ p.new.T),
    "001.20": lambda p: 1 + 2 * (p.X @ p.new.T) ** 2,
    "001.21": lambda p: np.exp(-(distances(p) ** 2) / (2 * 0.8**2)),
    "001.22": lambda p: expit(distances(p) / 0.8),
    "001.23": lambda p: np.linalg.solve(p.Psi.T @ p.Psi / p.sigma2 + p.alpha * np.eye(p.M), p.Psi.T @ p.y / p.sigma2),
    "001.24": lambda p: p.Psi @ p.Psi.T / p.alpha,
    "001.25": lambda p: p.K / p.alpha,
    "001.26": lambda p: p.C,
    "001.27": joint,
    "001.28": conditional,
    "001.29": lambda p: p.k.T @ np.linalg.solve(p.C, p.y),
    "001.30": lambda p: np.diag(conditional(p)),
    "001.31": lambda p: 1 / (1 + np.exp(-p.y)),
    "001.32": lambda p: expit(p.y) ** p.labels * (1 - expit(p.y)) ** (1 - p.labels),
    "001.33": lambda p: np.log(
        gauss_hermite(
            p.K[:3, :3] / p.alpha + 0.5 * np.eye(3),
            lambda a: [np.prod(expit((2 * p.labels[:3] - 1) * a), axis=1)],
            40,
        )
    )[0],
    "001.34": lambda p: [class_probability(p, x) for x in p.new],
    "001.35": log_density,
    "002.1": lambda p: True,
    "002.2": lambda p: np.sum((p.X.T @ p.y) ** 2),
    "002.3": transport,
    "002.4": lambda p: (
        np.linalg.matrix_rank(np.column_stack([p.X @ p.X.T, p.X @ [1.0, -2.0]])) == np.linalg.matrix_rank(p.X @ p.X.T)
    ),
    "002.5": lambda p: p.k.T @ np.linalg.solve(p.K / p.N, p.y / np.sqrt(p.N)) / np.sqrt(p.N),
    "002.6": lambda p: np.sqrt(p.N) * (p.K / p.N) @ (np.sqrt(p.N) * p.a),
    "002.7": reproducing,
    "002.8": lambda p: np.sqrt(p.y @ np.linalg.solve(p.K, p.y)),
    "002.9": lambda p: scaled_ridge(p, p.K),
    "002.10": lambda p: scaled_ridge(p, p.k.T),
    "002.11": lambda p: p.a @ p.K @ p.a,
    "002.12": lambda p: p.K @ p.y,
    "003.1": lambda p: np.sum((p.y - p.X @ p.line) ** 2),
    "003.2": lambda p: np.linalg.solve(p.X.T @ p.X, p.X.T @ p.y),
    "003.3": lambda p: np.sum((p.y - p.X @ p.line) ** 2) / (p.N - 2) * np.linalg.inv(p.X.T @ p.X),
    "003.4": bias_and_variance,
    "003.5": lambda p: np.polynomial.polynomial.polyfit(p.X[:, 0], p.y, 3),
    "003.6": lambda p: p.y @ p.y - 2 * p.w @ (p.Psi.T @ p.y) + p.w @ (p.Psi.T @ p.Psi) @ p.w + p.lam * p.w @ p.w,
    "003.7": lambda p: np.linalg.solve(p.X.T @ p.X + p.lam * np.eye(2), p.X.T @ p.y),
    "003.8": lambda p: powers(p.X, 3) @ powers(p.new, 3).T,
    "003.9": lambda p: (
        np.column_stack([p.X[:, :1] ** 2, np.sqrt(2) * p.X[:, :1] * p.X[:, 1:], p.X[:, 1:] ** 2])
        @ np.column_stack([p.new[:, :1] ** 2, np.sqrt(2) * p.new[:, :1] * p.new[:, 1:], p.new[:, 1:] ** 2]).T
    ),
    "003.10": lambda p: p.X @ p.new.T + np.outer(np.sum(p.X**2, axis=1), np.sum(p.new**2, axis=1)),
    "003.11": lambda p: True,
    "003.12": lambda p: p.K,
    "003.13": lambda p: p.X @ p.new.T,
    "003.14": lambda p: (p.X @ p.new.T + 2) ** 3,
    "003.15": lambda p: rbf(p.X, p.new, 1.3),
    "003.16": lambda p: p.k.T @ p.a,
    "003.17": lambda p: p.w,
    "003.18": lambda p: p.a,
    "003.19": lambda p: p.y @ p.y - 2 * p.a @ p.K @ p.y + p.a @ p.K @ p.K @ p.a + p.lam * p.a @ p.K @ p.a,
    "003.20": lambda p: p.a,
    "003.21": lambda p: p.y @ np.linalg.solve(p.K2, p.k),
    "003.22": lambda p: rbf(p.X, p.new, 1.0),
    "003.23": folds_error,
    "003.24": lambda p, names: nested(p, names["folds"]),
    "004.1": lambda p: np.polynomial.polynomial.polyval(
        p.new[:, 0], np.polynomial.polynomial.polyfit(p.X[:, 0], p.y, 4)
    ),
    "004.2": lambda p: p.lam * p.y @ np.linalg.solve(p.Psi @ p.Psi.T + p.N * p.lam * p.I, p.y),
    "004.3": lambda p: p.theta,
    "004.4": lambda p: p.psi @ p.theta,
    "004.5": lambda p: p.y @ np.linalg.solve(p.Psi @ p.Psi.T + p.N * p.lam * p.I, p.Psi @ p.psi.T),
    "004.6": lambda p: p.Psi @ p.psi.T,
    "004.7": lambda p: (1 + np.outer(p.X[:, 0], p.new[:, 0])) ** 3,
    "004.8": lambda p: p.k,
    "004.9": lambda p: p.y @ np.linalg.solve(p.K + p.N * p.lam * p.I, p.k),
    "004.10": lambda p: np.sum((np.sqrt(np.abs(np.linalg.eigh(p.K)[0])) * (np.linalg.eigh(p.K)[1].T @ p.y)) ** 2),
    "004.11": lambda p: rbf(p.X, p.new, 2.0),
    "004.12": lambda p: (0.5 + p.X @ p.new.T) ** 3,
    "004.13": lambda p: p.y @ np.linalg.inv(p.K + p.N * p.lam * p.I),
    "004.14": lambda p: p.y @ np.linalg.inv(p.K + p.N * p.lam * p.I) @ p.k,
    "004.15": lambda p: p.theta,
    "004.16": huber,
    "004.17": lambda p: np.where(np.abs(p.y) < p.epsilon, 0, np.abs(p.y) - p.epsilon),
    "004.18": lambda p: primal_value(p, svr(p)),
    "004.19": lambda p: dual_value(p, svr(p)),
    "004.20": lambda p: 1 / (2 * p.N * p.lam),
    "004.21": lambda p: svr(p) @ p.k,
    "004.22": lambda p: np.flatnonzero(np.abs(p.y - p.K @ svr(p)) >= p.epsilon - 1e-4),
    "004.23": lambda p: cars(),
}


def test_each_row_of_the_page_has_its_formula_here_and_each_formula_its_row():
    assert list(ROWS) == list(EXPECTED)
    assert len(re.findall(r"^\| \d{3}\.\d+ \|", TEXT, re.MULTILINE)) == len(ROWS)


@pytest.mark.parametrize("row", EXPECTED)
def test_the_line_of_code_is_the_formula(row, names, plain):
    found = eval(compile(ROWS[row], f"{PAGE}, {row}", "eval"), names)  # the page is ours
    formula = EXPECTED[row]
    expected = formula(plain, names) if formula.__code__.co_argcount == 2 else formula(plain)
    assert np.shape(found) == np.shape(expected)
    tolerance = LOOSE.get(row, 1e-8)
    assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max(initial=1e-3))
