"""Laplace's approximation for several classes: one latent function each, and the softmax between them."""

import numpy as np
from scipy.special import ndtri, softmax

from mercer._clock import FOREVER
from mercer._parameters import cached_property
from mercer._state import check
from mercer._threads import few_threads
from mercer.inference.mode import Mode
from mercer.solvers.cholesky import combine, square
from mercer.solvers.coupled import Coupled
from mercer.solvers.small import roots, solve_each

# How the softmax is averaged over f: by `mean_field` with the variances at a point, or with those that are typical of
# the rows (a product with one vector for each class, instead of a matrix); by `expected_softmax` with all covariances.
AVERAGING = ("mean_field", "typical", "joint")
FIELDS = {
    "a": "float n C", "f": "float n C", "D": "float n C", "typical": ("float C", None),
    "log_evidence": "number", "info": dict, "likelihood": dict, "E": ("float C n n", None), "V": ("float C n n", None),
}  # fmt: skip


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
        return np.maximum(
            np.exp(f - log_sum(f)[..., None]), 1e-300
        )  # a class that is out of the question keeps a number

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
        self.D = None if R is None else R.D
        self.gram = None  # () ↦ K, from which R is made again where it is asked for
        self._V = self._E = self._blocks = self._covariances = self._log_evidence = self._typical = None

    def state(self):
        """{name: value} by public names: what a file keeps; E and V only where they cannot be made again from K."""
        state = {name: getattr(self, name) for name in ("a", "f", "D", "typical", "info")}
        state |= {"E": self.E, "V": self.V} if self.gram is None else {"E": None, "V": None}
        return state | {"log_evidence": self.log_evidence, "likelihood": self.likelihood.state()}

    @classmethod
    def from_state(cls, state):
        """Return the posterior that had this state: for predictions; without E and V they are made again from K."""
        likelihood, sizes = Softmax.from_state(state["likelihood"]), check(state, FIELDS, "SoftmaxPosterior")
        if (likelihood.n, likelihood.classes) != (sizes["n"], sizes["C"]):
            raise ValueError(f"the likelihood is one of {likelihood.n} rows and {likelihood.classes} classes.")
        if not (state["D"] > 0).all() or (state["E"] is None) != (state["V"] is None):
            raise ValueError("SoftmaxPosterior.D must be positive, and E and V both be there or not.")
        self = cls(None, likelihood, state["a"], state["f"], None, state["log_evidence"], state["info"])
        self.D, self._typical, self._E, self._V = state["D"], state["typical"], state["E"], state["V"]
        return self

    @property
    def start(self):
        """Where the next search for a similar posterior may begin."""
        return self.a

    def _factors(self):
        """R; made again, from the curvature that it was made of, where only K is there."""
        if self.R is None:
            self.R = Coupled(self.gram(), self.D)
        return self.R

    @property
    def E(self):
        """(K + D_c⁻¹)⁻¹ of each class: see `Coupled`."""
        if self._E is None:
            with few_threads(len(self.a)):
                self._E = self._factors().E
        return self._E

    @property
    def V(self):
        """Halves of R, computed once: see `Coupled.halves`."""
        if self._V is None:
            with few_threads(len(self.a)):
                self._V = self._factors().halves()
        return self._V

    def blocks(self):
        """R_cc of each class, (C, n, n), computed once; where E can be made again they take its place."""
        if self._blocks is None:
            with few_threads(len(self.a)):
                blocks, V = (self.E if self.gram is not None else self.E.copy()), self.V
                for block, half in zip(blocks, V, strict=True):
                    block -= square(half)
                self._blocks = blocks
            if self.gram is not None:
                self.R = self._E = self._V = None
        return self._blocks

    @property
    def typical(self):
        """The mean over the rows of what `unshared` has of each class, (C,)."""
        if self._typical is None:
            self._typical = unshared(self.covariances()).mean(axis=0)
        return self._typical

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
        """Forget what prediction does not need, or can make again."""
        self._log_evidence, self._typical, self._V, self._E = self.log_evidence, self.typical, self.V, self.E
        self.K = self.R = self.moved = self._covariances = None

    def latent(self, k, diagonal):
        """Means and variances of f at new points, (m, C) each."""
        with few_threads(k.shape[1]):
            explained = np.stack([np.einsum("mk,mk->m", k @ block, k) for block in self.blocks()], axis=1)
            return k @ self.a, np.maximum(diagonal[:, None] - explained, 0.0)

    def joint(self, k, diagonal):
        """Means (m, C) and covariances (m, C, C) of f at new points."""
        with few_threads(k.shape[1]):
            mean = k @ self.a
            T = np.matmul(k, np.swapaxes(self.V, 1, 2))  # (C, m, n): V_c k
            cov = np.einsum("cmk,dmk->mcd", T, T, optimize=True)
            for c, E in enumerate(self.E):
                cov[:, c, c] += np.maximum(diagonal - np.einsum("mk,mk->m", k @ E, k), 0.0)
        return mean, cov

    def proba(self, k, diagonal, averaging="mean_field"):
        """P(class) at new points, (m, C): see `AVERAGING`."""
        if averaging == "joint":
            return expected_softmax(*self.joint(k, diagonal))
        if averaging == "typical":
            return mean_field(k @ self.a, self.typical)
        mean, variance = self.latent(k, diagonal)
        C = mean.shape[1]
        return mean_field(mean, np.maximum(C * variance - diagonal[:, None], 0.0) / (C - 1))

    def loo(self, index=None, share=1.0, averaging="mean_field"):
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
        mean = f - np.einsum("icd,id->ic", cavity, share * g)
        return expected_softmax(mean, cavity) if averaging == "joint" else mean_field(mean, unshared(cavity))


def unshared(cov):
    """(m, C): of covariances (m, C, C), the variances of independent f that leave each f_c − mean f its own variance.

    What all classes share changes no probability. With one K for all classes it is k(x, x)/C, whatever the data, so
    that C v_c/(C − 1) − k(x, x)/(C − 1) is this for the variances v_c at a new point.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.softmax import unshared
    >>> unshared(np.eye(3)[None] + 7.0).round(12)
    array([[1., 1., 1.]])
    """
    C = cov.shape[1]
    own = np.einsum("icc->ic", cov) - 2.0 * cov.mean(axis=2) + cov.mean(axis=(1, 2))[:, None]
    return np.maximum(own, 0.0) * C / (C - 1)


def mean_field(mean, variance):
    """∫ softmax(f) N(f | mean, variance) df of independent f, about: softmax(mean_c/√(1 + π variance_c/8)).

    What MacKay's approximation of one logistic function is for two classes. Beside `expected_softmax` it is off by at
    most 0.02 for variances of 0.1, 0.08 for variances of 1 and 0.25 for large ones, where it is the bolder: on average
    by less than a quarter of that.

    Parameters
    ----------
    mean : ndarray of shape (m, C)
    variance : ndarray of shape (m, C) or (C,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.softmax import expected_softmax, mean_field
    >>> mean, variance = np.array([[1.0, 0.0, -1.0]]), np.ones((1, 3))
    >>> mean_field(mean, variance).round(2), expected_softmax(mean, np.eye(3)[None]).round(2)
    (array([[0.62, 0.27, 0.11]]), array([[0.6 , 0.28, 0.12]]))
    """
    return softmax(mean / np.sqrt(1.0 + np.pi / 8.0 * variance), axis=1)


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
    points = (1024 if C < 5 else 4096) if points is None else points
    normal = ndtri(qmc.Sobol(C - 1, scramble=True, rng=np.random.default_rng(0)).random(points))
    normal = np.concatenate([normal, -normal])
    P = np.eye(C) - 1.0 / C
    root = roots(P @ cov @ P)[:, :, :-1]  # without the smallest, which is 0
    out, block = np.empty_like(mean), max(1, 2**18 // points)
    for i in range(0, len(mean), block):
        f = mean[i : i + block, None, :] + normal @ np.swapaxes(root[i : i + block], 1, 2)
        out[i : i + block] = softmax(f, axis=2).mean(axis=1)
    return out / out.sum(axis=1, keepdims=True)
