"""Laplace's approximation for several classes: one latent function each, and the softmax between them."""

import numpy as np
from scipy.special import ndtri, softmax

from mercer._cached import cached_property
from mercer._clock import FOREVER
from mercer._state import check
from mercer._threads import few_threads
from mercer.inference.mode import Mode
from mercer.solvers.coupled import Coupled
from mercer.solvers.small import roots, solve_each
from mercer.solvers.symmetric import combine

POINTS, MORE, MANY = 1024, 4096, 5  # of a Sobol rule; more for five classes and more
BLOCK = 2**18  # points of all rows at once
FIELDS = {
    "a": "float n C", "f": "float n C", "E": "float C n n", "V": "float C n n", "log_evidence": "number", "info": dict,
    "likelihood": dict,
}  # fmt: skip
TINY = 1e-300  # of π: a class that is out of the question keeps a number


class Softmax:
    """log p(y | f) = Σᵢ wᵢ (f_{i yᵢ} − log Σ_c exp f_{i c}).

    Parameters
    ----------
    y : ndarray of int of shape (n,)
        Classes 0 … C − 1.
    classes : int
        C, the number of classes.
    weight : ndarray of shape (n,), default=None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.softmax import Softmax
    >>> Softmax(np.array([0, 1, 2]), 3).value(np.zeros((3, 3))).round(4)  # 3 log ⅓
    np.float64(-3.2958)
    """

    def __init__(self, y, classes, weight=None):
        self.y, self.classes = np.asarray(y), int(classes)
        self.weight = np.ones(len(self.y)) if weight is None else np.asarray(weight, dtype=float)

    @cached_property
    def target(self):
        """1 for the class of a row, else 0, (n, C); not made for a file, which may say any C."""
        return (self.y[:, None] == np.arange(self.classes)).astype(float)

    @property
    def n(self):
        """The number of rows."""
        return len(self.y)

    def state(self):
        """{name: value} by public names: what a file keeps."""
        return {"y": self.y, "classes": self.classes, "weight": self.weight}

    @classmethod
    def from_state(cls, state):
        """Return the likelihood that had this state."""
        check(state, {"y": "int n", "classes": "size C", "weight": "float n"}, "Softmax")
        return cls(**state)

    def rows(self, index):
        """Return the likelihood of some of the rows."""
        return Softmax(self.y[index], self.classes, self.weight[index])

    def value(self, f):
        """Return log p(y | f) for f of shape (..., n, C)."""
        return ((f * self.target).sum(axis=-1) - log_sum(f)) @ self.weight

    def prob(self, f):
        """π of shape (n, C)."""
        return np.maximum(np.exp(f - log_sum(f)[..., None]), TINY)

    def gradient(self, f, prob=None):
        """w (t − π)."""
        return self.weight[:, None] * (self.target - (self.prob(f) if prob is None else prob))


def log_sum(f):
    """log Σ_c exp f_c along the last axis.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.softmax import log_sum
    >>> log_sum(np.array([1000.0, 1000.0])).round(4)
    np.float64(1000.6931)
    """
    top = f.max(axis=-1)
    return top + np.log(np.exp(f - top[..., None]).sum(axis=-1))


def softmax_laplace(K, likelihood, *, start=None, max_iter=100, tol=1e-8, clock=FOREVER):
    """log Z ≈ log p(y | f̂) − ½ Σ_c a_cᵀf_c − ½ log det(I + K W), f̂ = K a the mode of all C functions.

    Parameters
    ----------
    K : Gram
        Shared by all classes.
    likelihood : Softmax
    start : ndarray of shape (n, C), default=None
    max_iter : int, default=100
    tol : float, default=1e-8
    clock : Clock, default=FOREVER
        When to end where it is.

    Returns
    -------
    SoftmaxPosterior

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.inference.softmax import Softmax, softmax_laplace
    >>> found = softmax_laplace(DenseGram.from_matrix(np.eye(3)), Softmax(np.array([0, 1, 2]), 3))
    >>> found.f.argmax(axis=1)
    array([0, 1, 2])
    """
    with few_threads(K.n):
        a = np.zeros((K.n, likelihood.classes)) if start is None else start
        return _SeveralClasses(K, likelihood, a, start is not None, tol).climb(max_iter, clock).posterior()


class _SeveralClasses(Mode):
    """(I + W K)⁻¹ W = R; W couples the classes of a row."""

    def _look(self):
        self.prob = self.likelihood.prob(self.v)
        self.gradient = self.likelihood.gradient(self.v, self.prob)

    def _factor(self):
        self.R = None  # its C arrays first: two of them need not fit
        self.R = Coupled(self.K, self.likelihood.weight[:, None] * self.prob)

    def _solve(self, r):
        return self.R @ (r / self.R.D)  # r = W (r/D), since its classes sum to 0

    def posterior(self):
        """Return the approximation at the mode."""
        self.finish()
        evidence = self.psi - self.R.half_logdet()
        return SoftmaxPosterior(self.K, self.likelihood, self.a, self.v, self.R, evidence, self.info(), self.moved)


class SoftmaxPosterior:
    """N(f | K a, (K⁻¹ + W)⁻¹) over C latent functions; made by `softmax_laplace`.

    Parameters
    ----------
    K : Gram
    likelihood : Softmax
    a, f : ndarray of shape (n, C)
        f = K a.
    R : Coupled
    evidence : float
        log Z with the determinant as it was factored.
    info : dict
    moved : ndarray of shape (n, C), default=None
        How far f has moved since R was made, which changes the determinant a little.
    """

    def __init__(self, K, likelihood, a, f, R, evidence, info, moved=None):
        self.K, self.likelihood, self.a, self.f, self.R = K, likelihood, a, f, R
        self.evidence, self.info, self.moved = float(evidence), info, moved
        self.E, self._V, self._covariances, self._log_evidence = None if R is None else R.E, None, None, None

    def state(self):
        """{name: value} by public names: what a file keeps."""
        state = {name: getattr(self, name) for name in ("a", "f", "E", "V", "info")}
        return state | {"log_evidence": self.log_evidence, "likelihood": self.likelihood.state()}

    @classmethod
    def from_state(cls, state):
        """Return the posterior that had this state: for predictions, without K."""
        likelihood, sizes = Softmax.from_state(state["likelihood"]), check(state, FIELDS, "SoftmaxPosterior")
        if (likelihood.n, likelihood.classes) != (sizes["n"], sizes["C"]):
            raise ValueError(f"the likelihood is one of {likelihood.n} rows and {likelihood.classes} classes.")
        self = cls(None, likelihood, state["a"], state["f"], None, state["log_evidence"], state["info"])
        self.E, self._V = state["E"], state["V"]
        return self

    @property
    def start(self):
        """Where the next search for a similar posterior may begin."""
        return self.a

    @property
    def V(self):
        """Halves of R, computed once: see `Coupled.halves`."""
        if self._V is None:
            with few_threads(len(self.a)):
                self._V = self.R.halves()
        return self._V

    def covariances(self):
        """The C × C posterior covariance of each row, (n, C, C), computed once."""
        if self._covariances is None:
            with few_threads(len(self.a)):
                self._covariances = self.R.covariances(self.V)
        return self._covariances

    def _bend(self):
        """∂ log Z/∂f̂, the way through W."""
        p, S = self.likelihood.prob(self.f), self.covariances()
        q = np.einsum("icc->ic", S) - 2.0 * np.einsum("icd,id->ic", S, p)
        return -0.5 * self.likelihood.weight[:, None] * p * (q - np.sum(p * q, axis=1, keepdims=True))

    @property
    def log_evidence(self):
        """log Z, with the determinant where f is now."""
        if self._log_evidence is None:
            self._log_evidence = self.evidence
            if self.moved is not None:
                self._log_evidence += float(np.vdot(self._bend(), self.moved))
        return self._log_evidence

    def value_and_adjoint(self, overwrite=False):
        """(C, ∂C/∂K) of C = −log Z: ½ Σ_c (R_cc − a_c a_cᵀ − u_c a_cᵀ − a_c u_cᵀ), u = (I − R K) ∂ log Z/∂f̂."""
        with few_threads(len(self.a)):
            bend = self._bend()
            u = bend - self.R @ (self.K @ bend)
            left = np.hstack([self.a + u, u])
            sign = np.repeat([-0.5, 0.5], self.a.shape[1])
            return -self.log_evidence, combine(self.R.diagonal_blocks(self.V), left * sign, left, 0.5)

    def release(self):
        """Forget what prediction does not need."""
        self._log_evidence, self._V = self.log_evidence, self.V
        self.K = self.R = self.moved = self._covariances = None

    def latent(self, k, diagonal):
        """Means and variances of f at new points, (m, C) each."""
        mean, cov = self.joint(k, diagonal)
        return mean, np.einsum("icc->ic", cov)

    def joint(self, k, diagonal):
        """Means (m, C) and covariances (m, C, C) of f at new points."""
        with few_threads(k.shape[1]):
            mean = k @ self.a
            T = np.matmul(k, np.swapaxes(self.V, 1, 2))  # (C, m, n): V_c k
            cov = np.einsum("cmk,dmk->mcd", T, T, optimize=True)
            for c, E in enumerate(self.E):
                cov[:, c, c] += np.maximum(diagonal - np.einsum("mk,mk->m", k @ E, k), 0.0)
        return mean, cov

    def proba(self, k, diagonal):
        """P(class) at new points, (m, C)."""
        return expected_softmax(*self.joint(k, diagonal))

    def loo(self, index=None, share=1.0):
        """P(class) of rows without ``share`` of their weight, from the cavity N(f − V₋ g, V₋); (rows, C)."""
        index = np.arange(len(self.a)) if index is None else np.asarray(index)
        S = self.covariances()[index]
        f, g, p = self.f[index], self.likelihood.gradient(self.f)[index], self.likelihood.prob(self.f)[index]
        share = np.broadcast_to(share, len(p))[:, None]
        weight = (share * self.likelihood.weight[index][:, None])[:, :, None]
        one = np.eye(p.shape[1])
        W = weight * (one * p[:, :, None] - p[:, :, None] * p[:, None])
        cavity = solve_each(one - S @ W, S)
        cavity = 0.5 * (cavity + np.swapaxes(cavity, 1, 2))
        return expected_softmax(f - np.einsum("icd,id->ic", cavity, share * g), cavity)


def expected_softmax(mean, cov, points=None):
    """∫ softmax(f) N(f | mean, cov) df for each row, by a scrambled Sobol rule and its mirror image.

    A constant added to all f changes nothing: the rule has the C − 1 other directions, that of the largest variance
    first. The error is about 1e-4 for variances of 1, and 1e-3 for 25; with many classes and a large variance more.

    Parameters
    ----------
    mean : ndarray of shape (m, C)
    cov : ndarray of shape (m, C, C)
    points : int, default=None
        A power of two; None is 1024 for up to four classes, and 4096 for more.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.softmax import expected_softmax
    >>> expected_softmax(np.zeros((1, 2)), np.eye(2)[None]).round(3)
    array([[0.5, 0.5]])
    """
    from scipy.stats import qmc  # slow to load, and not needed by most

    C = mean.shape[1]
    points = (POINTS if C < MANY else MORE) if points is None else points
    normal = ndtri(qmc.Sobol(C - 1, scramble=True, rng=np.random.default_rng(0)).random(points))
    normal = np.concatenate([normal, -normal])
    P = np.eye(C) - 1.0 / C
    root = roots(P @ cov @ P)[:, :, :-1]  # without the smallest, which is 0
    out, block = np.empty_like(mean), max(1, BLOCK // points)
    for i in range(0, len(mean), block):
        f = mean[i : i + block, None, :] + normal @ np.swapaxes(root[i : i + block], 1, 2)
        out[i : i + block] = softmax(f, axis=2).mean(axis=1)
    return out / out.sum(axis=1, keepdims=True)
