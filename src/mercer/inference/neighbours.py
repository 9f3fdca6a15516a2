"""A Gaussian process by neighbours: each row, and each new input, given the k nearest rows alone.

With the rows in an order, p(y) ≈ Π p(yᵢ | y_N(i)), N(i) the k nearest of the rows before i (Vecchia). What all rows
share (a trend, and the global part on landmarks, where there is one) is a few coefficients β with features φ: given its
neighbours a row says (φᵢ − Φ_Nᵀw)ᵀβ = yᵢ − wᵀy_N + N(0, vᵢ), so that β has a posterior by least squares. With
k >= n − 1 nothing of this is an approximation.
"""

import math

import numpy as np

from mercer import _threads
from mercer._state import check, check_vectors
from mercer.gram import Rows, join, take
from mercer.gram.neighbours import BatchedGram, NearestRows, compact_index
from mercer.inference.moments import Moments, Posterior
from mercer.inference.regression import refuse_conflict
from mercer.kernels import Kernel
from mercer.solvers.normal import whiten
from mercer.solvers.projected import Span
from mercer.solvers.small import conditionals, factor

CHUNK = 32  # systems that a thread has at a time: 1 MB of 64 neighbours
SHARED = 20_000  # rows that a trend is estimated from: the first ones of the order, which lie apart
LOG_2PI = math.log(2.0 * math.pi)
FIELDS = {
    "kernel": Kernel, "rows": Rows, "lam": "number", "k": "size k", "seed": "size s",
    "points": ("rows m d", None), "L": ("float m m", None), "beta": "float f t", "factor": "float f f",
    "terms": tuple,
}  # fmt: skip


class OrderedRows:
    """Rows in a random order with a kernel and λ: the small systems of their neighbours, and what comes of them.

    Parameters
    ----------
    kernel : Kernel
    rows : Rows
    lam : float
    seed : int
        Of the order.
    basis : (points, L), default=None
        Landmarks z and the factor of their kernel matrix, where these carry the global part.
    """

    def __init__(self, kernel, rows, lam, seed, basis=None):
        self.kernel, self.lam, self.basis, self.trend = kernel, lam, basis, rows.trend
        self.order = np.random.default_rng(seed).permutation(rows.n)
        self.X, self.y, self.q = take(rows.X, self.order), rows.y[self.order], rows.q
        self.noise = None if rows.weight is None else 1.0 / rows.weight[self.order]
        self.F = self.features(self.X)
        self._near = None

    @property
    def near(self):
        """Where neighbours are looked up; made when it is first asked for."""
        if self._near is None:
            self._near = NearestRows(self.kernel, self.X)
        return self._near

    def at(self, kernel, lam):
        """Return the same rows with other hyper-parameters."""
        other = object.__new__(OrderedRows)
        vars(other).update(vars(self), kernel=kernel, lam=lam, _near=None)
        return other

    def some(self, rows):
        """Return some of the rows, by their places, as if there were no others."""
        other = self.at(self.kernel, self.lam)
        other.X, other.y, other.F, other.order = take(self.X, rows), self.y[rows], self.F[rows], self.order[rows]
        other.noise = None if self.noise is None else self.noise[rows]
        return other

    def features(self, X):
        """[h(x) | a(x)] of shape (m, q + landmarks)."""
        H = np.zeros((len(X), 0)) if self.trend is None else self.trend(X)
        if self.basis is None:
            return H
        points, L = self.basis
        return np.hstack([H, whiten(L, np.asarray(self.kernel(X, points), dtype=float).T).T])

    def noise_of(self, index):
        """λ/c of some of the rows."""
        return np.full(index.shape, self.lam) if self.noise is None else self.lam * self.noise[index]

    # ------------------------------------------------------------------ small systems, many at a time
    def each(self, index, work, X=None, F=None, own=None):
        """Call work(part, cloud, C, absent) for parts of the systems, on all cores.

        Parameters
        ----------
        index : ndarray of int of shape (m, k)
            Neighbours; −1 is none.
        work : callable
            Gets a slice of the m, the `BatchedGram`, their matrices with the noise of the neighbours, and a mask of
            neighbours that are not there.
        X, F : default=None
            The rows and the new inputs as one collection, and their features; None is the rows.
        own : ndarray of int of shape (m,)
            Which of these each system is about.
        """
        X, F = (self.X if X is None else X), (self.F if F is None else F)
        both = np.column_stack([index, own])
        parts = [slice(i, i + CHUNK) for i in range(0, len(index), CHUNK)]

        def one(i, worker):
            part = parts[i]
            cloud, absent = BatchedGram(self.kernel, X, both[part]), index[part] < 0
            C = cloud.matrices()
            if self.basis is not None:
                A = F[np.maximum(both[part], 0), self.q :]
                C -= A @ A.transpose(0, 2, 1)
            C.reshape(len(C), -1)[:, :: C.shape[1] + 1][:, :-1] += self.noise_of(np.maximum(index[part], 0))
            work(part, cloud, C, absent)

        _threads.run(one, len(parts))

    def told(self, index, own, X=None, F=None, noisy=True):
        """(mean of y without what is shared, what is left of the features, variance, rows left out) of each system.

        With ``noisy`` the variance is that of the target of row ``own``, else of f.
        """
        all_F = self.F if F is None else F
        m, t = len(index), self.y.shape[1]
        local, rest, variance = np.empty((m, t)), np.empty((m, all_F.shape[1])), np.empty(m)
        dropped = np.zeros(-(-m // CHUNK), dtype=np.int64)

        def work(part, cloud, C, absent):
            if noisy:
                C[:, -1, -1] += self.noise_of(own[part])
            found, N = conditionals(C, absent), np.maximum(index[part], 0)
            w = found.weights
            local[part] = np.matmul(w[:, None], self.y[N])[:, 0]
            rest[part] = all_F[own[part]] - np.matmul(w[:, None], self.F[N])[:, 0]
            variance[part], dropped[part.start // CHUNK] = found.variance, found.dropped

        self.each(index, work, X, F, own)
        return local, rest, variance, int(dropped.sum())

    # ------------------------------------------------------------------ densities and their gradient
    def densities(self, index, own, beta):
        """(Σᵢ log p(yᵢ | y_N(i)), its gradient by log θ and log λ), without what merged rows add.

        W = ∂(log density)/∂C has rank two in each system, −½(u sᵀ + s uᵀ) with u = (w, −1) and
        s = ½(t/v − |ρ|²/v²)u + (A⁻¹y ρ/v, 0): one factor gives value and gradient.
        """
        y = self.y - self.F @ beta
        t, k, count = y.shape[1], index.shape[1], -(-len(index) // CHUNK)
        values, slopes, noise = np.zeros(count), np.zeros((count, self.kernel.n_theta)), np.zeros(count)

        def work(part, cloud, C, absent):
            C[:, -1, -1] += self.noise_of(own[part])
            N, i = np.maximum(index[part], 0), part.start // CHUNK
            Y = y[N].transpose(0, 2, 1)
            found = conditionals(C, absent, Y)
            v = np.maximum(found.variance, np.finfo(float).tiny)
            rho = y[own[part]] - np.matmul(Y, found.weights[:, :, None])[:, :, 0]
            square = np.einsum("bt,bt->b", rho, rho)
            values[i] = -0.5 * float(np.sum(t * (np.log(v) + LOG_2PI) + square / v))
            u = np.concatenate([found.weights, np.full((len(v), 1), -1.0)], axis=1)
            s = (0.5 * (t / v - square / v**2))[:, None] * u
            s[:, :k] += np.einsum("bt,btk->bk", rho / v[:, None], found.solved)
            W = -0.5 * (u[:, :, None] * s[:, None] + s[:, :, None] * u[:, None])
            slopes[i] = cloud.grad(W)
            all_noise = np.column_stack([self.noise_of(N), self.noise_of(own[part])])
            noise[i] = -float(np.sum(u * s * all_noise))

        self.each(index, work, own=own)
        return float(values.sum()), np.append(slopes.sum(axis=0), noise.sum())


class Shared:
    """β of what all rows share, by least squares: P = Λ + Σ rᵢrᵢᵀ/vᵢ, β = P⁻¹ Σ rᵢ(yᵢ − wᵀy_N)ᵀ/vᵢ.

    Λ is 0 for a trend, whose prior is flat, and I for landmarks. It is made like the inverse of K̃ = K + λI with the
    trend projected out, as far as the evidence asks for it.

    Attributes
    ----------
    beta : ndarray of shape (f, t)
    L : ndarray of shape (f, f)
        The factor of P.
    quad : ndarray of shape (t,)
        (y − Hb)ᵀK̃⁻¹(y − Hb).
    n, q, lam
        Points, columns of the trend, λ.
    """

    def __init__(self, ordered, k, most=None, known=None):
        self.n, self.q, self.lam = len(ordered.X), ordered.q, ordered.lam
        self._ordered, self._k = ordered, min(k, max(self.n - 1, 1))
        self.used, self.dropped = 0 if known else self.n if most is None else min(self.n, most), 0
        if known:
            self.beta, self.L = known
        else:
            self._solve()
        self._logdet = 2.0 * float(np.log(np.diagonal(self.L)).sum())
        if self.used < self.n:
            self._estimate(min(self.n, 4000))

    def _solve(self):
        """Find β, its factor, and the sums that the evidence needs."""
        ordered = self._ordered
        gap, scaled, self._logs, self.dropped = self._rows(np.arange(self.used))
        prior = np.append(np.zeros(ordered.q), np.ones(scaled.shape[1] - ordered.q))
        P, c = scaled.T @ scaled + np.diag(prior), scaled.T @ gap
        made = factor(P) if len(P) else None
        self.L = np.tril(made.lower) if len(P) else P
        self.beta = made.solve(c) if len(P) else c
        gap -= scaled @ self.beta  # and no difference of sums of squares: an offset of y costs no digits
        self.quad = np.einsum("it,it->t", gap, gap) + np.einsum("f,ft->t", prior, self.beta**2)

    def _rows(self, own):
        """((yᵢ − wᵀy_N)/√v, r/√v, Σ log v, neighbours left out) of some rows, each given those before it."""
        ordered = self._ordered
        local, rest, variance, dropped = ordered.told(ordered.near.before(own, self._k), own)
        variance = np.maximum(variance, np.finfo(float).tiny)
        root = np.sqrt(variance)[:, None]
        return (ordered.y[own] - local) / root, rest / root, float(np.log(variance).sum()), dropped

    def _estimate(self, some):
        """Take the sums over all rows from rows spread over the whole order."""
        own = np.unique(np.linspace(0, self.n - 1, some).astype(np.int64))
        gap, scaled, logs, _ = self._rows(own)
        gap -= scaled @ self.beta
        self.quad = np.einsum("it,it->t", gap, gap) * (self.n / len(own))
        self._logs = logs * (self.n / len(own))

    def logdet(self):
        """log det of K̃ of the scaled rows, the trend projected out."""
        ordered, weights = self._ordered, 0.0
        H = ordered.F[:, : self.q]
        if ordered.noise is not None:
            weights, H = -float(np.log(ordered.noise).sum()), H / np.sqrt(ordered.noise)[:, None]
        return self._logs + weights + self._logdet - (Span(H).logdet if self.q else 0.0)


class NeighbourPosterior(Posterior):
    """f | y_N at each x:  m(x) = wᵀ(y_N − Φ_Nβ) + φ(x)ᵀβ,  v(x) = k(x, x) − kᵀw + rᵀP⁻¹r,  w = (K_NN + λI)⁻¹k.

    r = φ(x) − Φ_Nᵀw is what the neighbours do not say of the shared features, so that far from all rows the prior
    variance and the uncertainty of the trend come back.

    Attributes
    ----------
    kernel, rows, lam, k, seed
        Of the fit.
    points, L
        Landmarks of the global part and their factor, or None.
    beta, factor : ndarray of shape (f, t), (f, f)
        Mean of the shared coefficients, and the factor of their precision.
    terms : tuple of float
        Fidelity, complexity and constant of log p(y).
    """

    def __init__(self, kernel, rows, lam, k, seed, points, L, beta, factor, terms):
        self.kernel, self.rows, self.lam, self.k, self.seed = kernel, rows, lam, k, seed
        self.points, self.L, self.beta, self.factor = points, L, beta, factor
        self.terms, self._ordered = terms, None

    @classmethod
    def fit(cls, kernel, rows, lam, k, seed, criterion, basis=None, known=None):
        """Return the posterior of some rows.

        Parameters
        ----------
        kernel : Kernel
        rows : Rows
        lam : float
        k : int
        seed : int
            Of the order.
        criterion : Criterion
            The evidence.
        basis : (points, L), default=None
            Landmarks of the global part.
        known : (beta, factor), default=None
            What the rows share, where it was found in another way.
        """
        refuse_conflict(lam, rows.within_squares)
        ordered = OrderedRows(kernel, rows, lam, seed, basis)
        shared = Shared(ordered, k, SHARED if basis is None else None, known)
        terms = tuple(criterion.of(rows, lam, shared, shared.quad).values())
        self = cls(kernel, rows, lam, k, seed, *(basis or (None, None)), shared.beta, shared.L, terms)
        self._ordered = ordered
        return self

    def state(self):
        """{name: value}: what a file keeps."""
        return {name: getattr(self, name) for name in FIELDS}

    @classmethod
    def from_state(cls, state):
        """Return the posterior that had this state."""
        check(state, FIELDS, "NeighbourPosterior")
        check_vectors(state["kernel"], state["rows"].X, "NeighbourPosterior.rows.X")
        features = state["rows"].q + (0 if state["points"] is None else len(state["points"]))
        if (state["points"] is None) != (state["L"] is None) or state["beta"].shape != (features, state["rows"].t):
            raise ValueError("NeighbourPosterior.beta is not that of its rows and landmarks.")
        return cls(**state)

    local = True  # variances are those of neighbours
    correlated = False
    more = "approximation=Neighbours({}) or with landmarks"

    def about(self, words):
        """What a report says of the mean beside its calibration."""
        return {"kind": "neighbours", "words": words}

    @property
    def b(self):
        """Coefficients of the trend."""
        return self.beta[: self.rows.q]

    @property
    def log_evidence(self):
        """log p(y), restricted where there is a trend; estimated from some rows where there are many."""
        return float(sum(self.terms))

    def rescaled(self, kernel, c):
        """Return the same mean with all variances times c, for the kernel c·k: nothing is factored again."""
        q, root = self.rows.q, np.sqrt(c)
        shrunk = np.append(np.full(q, 1.0 / root), np.ones(len(self.beta) - q))
        beta = np.vstack([self.beta[:q], self.beta[q:] / root])
        fidelity, complexity, constant = self.terms
        count = -2.0 * constant / LOG_2PI  # (N − q) t
        terms = (fidelity / c, complexity - 0.5 * count * math.log(c), constant)
        L = None if self.L is None else self.L * root
        factor = shrunk[:, None] * self.factor
        other = type(self)(kernel, self.rows, self.lam * c, self.k, self.seed, self.points, L, beta, factor, terms)
        if self._ordered is not None and L is None:  # who is near does not depend on amplitudes
            other._ordered = self._ordered.at(kernel, self.lam * c)
            other._ordered._near = self._ordered._near
        return other

    @property
    def ordered(self):
        """The `OrderedRows`; after a file made again."""
        if self._ordered is None:
            basis = None if self.points is None else (self.points, self.L)
            self._ordered = OrderedRows(self.kernel, self.rows, self.lam, self.seed, basis)
        return self._ordered

    # ------------------------------------------------------------------ at new inputs
    def moments(self, X):
        """(m(x), v(x)) as `Moments`."""
        ordered, n = self.ordered, self.rows.n
        mean, variance = np.empty((len(X), self.rows.t)), np.empty(len(X))
        step = max(1, 16_384 // (1 + self.factor.shape[0] // 64))
        for i in range(0, len(X), step):
            part = take(X, np.arange(i, min(i + step, len(X))))
            used, index = compact_index(ordered.near.among(part, min(self.k, n)), n)  # copies of all rows would be many
            near = ordered.some(used)
            both = join(near.X, part), np.vstack([near.F, ordered.features(part)])
            local, rest, v, _ = near.told(index, len(used) + np.arange(len(part)), *both, noisy=False)
            mean[i : i + step] = local + rest @ self.beta
            variance[i : i + step] = v + self._shared_variance(rest)
        return Moments(mean, variance)

    def _shared_variance(self, rest):
        """rᵀP⁻¹r."""
        if not rest.shape[1]:
            return 0.0
        half = whiten(self.factor, rest.T)
        return np.einsum("fi,fi->i", half, half)

    def covariance(self, X):
        """Refused: each prediction has neighbours of its own."""
        raise ValueError(
            "neighbours give each input its own posterior, and no covariance between inputs: use approximation=None "
            "or Landmarks() for covariances and draws."
        )

    # ------------------------------------------------------------------ rows left out
    def left_out(self, rows=None, k=None):
        """(yᵢ − f₋ᵢ(xᵢ), variance of yᵢ) of points of the fit, each from its k nearest others.

        Points are named by their places in the order; None is all of them, or the k of the fit. β without row i is that
        of all rows as in any regression: with h = rᵀP⁻¹r/v the residual beside β is divided by 1 − h, and so is v.
        """
        ordered, n = self.ordered, self.rows.n
        rows = np.arange(n) if rows is None else rows
        index = ordered.near.others(rows, min(self.k if k is None else k, max(n - 1, 1)))
        local, rest, variance, _ = ordered.told(index, rows)
        h = self._shared_variance(rest) / np.maximum(variance, np.finfo(float).tiny)
        left = 1.0 - np.minimum(h, 0.99)  # few neighbours may say that it is more than 1
        return (ordered.y[rows] - local - rest @ self.beta) / left[:, None], variance / left
