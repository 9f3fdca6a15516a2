"""Criteria in closed form from K̃⁻¹ and y: LOO, GCV, Evidence. No kernel, no X, no Gram.

α = P y and s = diag P, with P = K̃⁻¹, or the projected inverse where there is an intercept. All are means or sums over
targets, in the units of y; ``weight`` holds w where the system is S K S + λI.
"""

import numpy as np
from scipy.special import ndtr

from mercer.selection.base import LOG_2PI, SmoothCriterion, as_targets, pull, relative_rows, total_weight, with_rows
from mercer.solvers import Span
from mercer.solvers.cholesky import add_symmetric, sandwich

TINY = np.finfo(float).tiny


class LOO(SmoothCriterion):
    """Σᵢ wᵢ ℓ(eᵢ)/Σᵢ wᵢ  with  eᵢ = αᵢ/[K̃⁻¹]ᵢᵢ, the residual of row i under the model fitted without it.

    The mean over rows and targets. Repeating a row is not the same as giving it the weight 2: one row is left out, and
    its loss is weighted.

    Parameters
    ----------
    score : {"squared", "absolute", "log_density", "crps"}, default="squared"
        ℓ: e²; |e|; −log N(e; 0, 1/[K̃⁻¹]ᵢᵢ), the Gaussian predictive density with noise λ; the continuous ranked
        probability score of the same distribution. The last two judge the amplitude of K and λ as variances.
    weights : {"repeats", "precision"}, default="repeats"
        What w means: a row of weight w counts w times; or its noise variance is λ/w, and it counts once.
    together : bool, default=False
        Whether rows of equal inputs are left out together. A row of weight 2 is then the same as two rows; squared
        errors only.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import LOO
    >>> from mercer.solvers import Explicit
    >>> Kinv = Explicit(np.linalg.inv([[2.0, 1.0], [1.0, 2.0]]), lam=1.0)
    >>> LOO().value(Kinv, np.array([[1.0], [3.0]]))  # from the other row: 3/2 and 1/2
    3.25
    """

    word = "loo"

    def __init__(self, score="squared", weights="repeats", together=False):
        self.score = score
        self.weights = weights
        self.together = together

    @property
    def merges(self):
        """Whether equal inputs are one point, which is left out whole."""
        return self.together and self.score == "squared"

    @property
    def scale_free(self):
        """Whether the amplitude of K̃ does not matter."""
        return self.score in ("squared", "absolute")

    @property
    def on_landmarks(self):
        """The squared error has a closed form there."""
        return "loo" if self.score == "squared" else None

    @property
    def by_neighbours(self):
        """Of the log density; errors say nothing of the amplitude."""
        return "others" if self.score == "log_density" else None

    @property
    def positive(self):
        """Whether the score is an error, not a log density."""
        return self.score != "log_density"

    @property
    def density(self):
        """Whether the score is a log density."""
        return self.score == "log_density"

    def with_precisions(self):
        return with_rows(self, weights="precision")

    @property
    def relative(self):
        """Whether the score is an error, which counts relative to the variance of each target."""
        return self.scale_free

    def value(self, Kinv, y, weight=None, spread=None, scale=None):
        alpha = Kinv @ relative_rows(y, scale)
        return self._loss(alpha, Kinv.diag(), weight)[0] + self._within(spread, scale, alpha, weight)

    def value_and_adjoint(self, Kinv, y, weight=None, spread=None, scale=None):
        alpha = Kinv @ relative_rows(y, scale)
        value, g_alpha, g_s = self._loss(alpha, Kinv.diag(), weight)
        return value + self._within(spread, scale, alpha, weight), pull(Kinv, alpha, g_alpha, g_s)

    def _within(self, spread, scale, alpha, weight):
        """What rows of one input differ by, which no model of the others explains."""
        if spread is None:
            return 0.0
        spread = spread if scale is None else spread / scale**2
        return float(np.sum(spread)) / (alpha.shape[1] * total_weight(weight, len(alpha)))

    def _loss(self, alpha, s, weight):
        """(C, ∂C/∂α, ∂C/∂s)."""
        loss = {
            "squared": _squared_loss,
            "absolute": _absolute_loss,
            "log_density": _log_density_loss,
            "crps": _crps_loss,
        }.get(self.score)
        if loss is None:
            raise ValueError(f"score must be 'squared', 'absolute', 'log_density' or 'crps', got {self.score!r}.")
        if self.weights not in ("repeats", "precision"):
            raise ValueError(f"weights must be 'repeats' or 'precision', got {self.weights!r}.")
        n, t = alpha.shape
        s = np.where(s > 0, s, np.nan)[:, None]  # 0: row i alone fixes a direction of the trend
        w = np.ones((n, 1)) if weight is None else np.asarray(weight, dtype=float)[:, None]
        once = self.weights == "precision"
        total = t * (n if once else total_weight(weight, n))
        with np.errstate(over="ignore", invalid="ignore"):
            terms, g_alpha, g_s = (part / w if once else part for part in loss(alpha, s, w))
            value = float(terms.sum() / total)
        return (value if np.isfinite(value) else np.inf), g_alpha / total, g_s.sum(axis=1) / total


def _squared_loss(a, s, w):
    """w e² = (a/s)²: in the scaled system the residual is √w e."""
    e = a / s
    return e**2, 2.0 * e / s, -2.0 * e**2 / s


def _absolute_loss(a, s, w):
    """w |e| = √w |a/s|."""
    root = np.sqrt(w)
    e = np.abs(a / s)
    return root * e, root * np.sign(a) / s, -root * e / s


def _log_density_loss(a, s, w):
    """−w log N(e; 0, 1/(w s)) with z² = a²/s."""
    z2 = a**2 / s
    return w * 0.5 * (z2 - np.log(s * w) + LOG_2PI), w * a / s, -0.5 * w * (z2 + 1.0) / s


def _crps_loss(a, s, w):
    """w σ [z(2Φ(z) − 1) + 2φ(z) − 1/√π] with σ = 1/√(w s), z = a/√s."""
    z = a / np.sqrt(s)
    slope = 2.0 * ndtr(z) - 1.0
    c = z * slope + 2.0 * np.exp(-0.5 * z**2 - 0.5 * LOG_2PI) - 1.0 / np.sqrt(np.pi)
    root = np.sqrt(w)
    return root * c / np.sqrt(s), root * slope / s, -0.5 * root * (c + z * slope) / s**1.5


class GCV(SmoothCriterion):
    """n ‖α‖²/(tr K̃⁻¹)²: generalised cross-validation, (‖r‖²/n)/(1 − tr A/n)² with A = I − λK̃⁻¹ (λ cancels).

    Parameters
    ----------
    robust : {None, "robust", "modified"}, default=None
        "robust" multiplies by γ + (1 − γ) tr(A²)/n; "modified" has (1 − γ tr A/n)² below. Both guard against the
        interpolating λ that plain GCV picks now and then on few rows.
    gamma : float, default=None
        γ; None is 0.3 for "robust", 1.4 for "modified".

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import GCV
    >>> from mercer.solvers import Explicit
    >>> GCV().value(Explicit(np.diag([0.5, 0.5]), lam=1.0), np.array([[1.0], [2.0]]))
    2.5
    """

    word = "gcv"

    def __init__(self, robust=None, gamma=None):
        self.robust = robust
        self.gamma = gamma

    scale_free = True
    positive = True
    relative = True
    on_landmarks = "gcv"

    @property
    def arrays(self):
        """P, P² and two products of them."""
        return 4 if self.robust == "robust" else 2

    def _gamma(self):
        if self.robust not in (None, "robust", "modified"):
            raise ValueError(f"robust must be None, 'robust' or 'modified', got {self.robust!r}.")
        return {"robust": 0.3, "modified": 1.4}.get(self.robust, 1.0) if self.gamma is None else float(self.gamma)

    def _parts(self, Kinv, y, weight, scale):
        """α, N = n²‖α‖²/(t Σw), T = tr P, F = tr P² (only where it is needed)."""
        alpha = Kinv @ relative_rows(y, scale)
        n, t = alpha.shape
        N = n * n * float(np.sum(alpha**2)) / (t * total_weight(weight, n))
        F = Kinv.squared_norm() if self.robust == "robust" else 0.0
        return alpha, N, float(Kinv.diag().sum()), F

    def _formula(self, N, T, F, n, lam):
        """(C, ∂C/∂N, ∂C/∂T, ∂C/∂F, ∂C/∂λ)."""
        g = self._gamma()
        if self.robust == "modified":  # 1 − γ tr A/n = 1 − γ + γλT/n
            d = 1.0 - g + g * lam * T / n
            if d <= 0:
                return np.inf, 0.0, 0.0, 0.0, 0.0
            C, slope = N * (lam / (n * d)) ** 2, -2.0 * g / (n * d)
            return C, C / N if N else 0.0, C * slope * lam, 0.0, C * (2.0 / lam + slope * T)
        C, M = N / T**2, 1.0
        dT, dF, dlam = -2.0 * C / T, 0.0, 0.0
        if self.robust == "robust":  # tr A²/n = 1 − 2λT/n + λ²F/n
            M = g + (1.0 - g) * (1.0 - 2.0 * lam * T / n + lam**2 * F / n)
            dT = dT * M - C * (1.0 - g) * 2.0 * lam / n
            dF, dlam = C * (1.0 - g) * lam**2 / n, C * (1.0 - g) * 2.0 * (lam * F - T) / n
        return C * M, M / T**2, dT, dF, dlam

    def value(self, Kinv, y, weight=None, scale=None):
        _, N, T, F = self._parts(Kinv, y, weight, scale)
        return float(self._formula(N, T, F, Kinv.n, Kinv.lam)[0])

    def explicit(self, Kinv, y, weight=None, scale=None):
        if self.robust is None:
            return 0.0
        _, N, T, F = self._parts(Kinv, y, weight, scale)
        return float(self._formula(N, T, F, Kinv.n, Kinv.lam)[4]) * Kinv.lam

    def value_and_adjoint(self, Kinv, y, weight=None, scale=None):
        alpha, N, T, F = self._parts(Kinv, y, weight, scale)
        n, t = alpha.shape
        C, dN, dT, dF, _ = self._formula(N, T, F, n, Kinv.lam)
        g_alpha = alpha * (2.0 * dN * n * n / (t * total_weight(weight, n)))
        if not dF:
            return float(C), pull(Kinv, alpha, g_alpha, np.full(n, dT))
        p, P = Kinv @ g_alpha, Kinv.dense()
        W = sandwich(P.copy(), np.ones(n))  # P²;  ∂ tr P²/∂K̃ = −2P³
        W = -dT * W - (2.0 * dF) * (W @ P)
        W = (W + W.T) / 2
        return float(C), add_symmetric(W, p, alpha, -0.5)


class Evidence(SmoothCriterion):
    """½ yᵀK̃⁻¹y + ½ log det K̃ + (n/2) log 2π: −log p(y) of a Gaussian process with noise λ, summed over targets.

    With a trend it is the restricted likelihood (REML): P for K̃⁻¹, n − q for n, and log det HᵀK̃⁻¹H − log det HᵀH added.

    Parameters
    ----------
    profile_scale : bool, default=False
        Whether the scale σ² of σ²K̃ is chosen for the best likelihood of each target, σ² = yᵀK̃⁻¹y/n. λ is then
        relative to the amplitude of K, and the units of y do not matter.
    weights : {"repeats", "precision"}, default="repeats"
        What a weight w is: w equal rows (the value is exactly that of repeated rows), or a row whose noise
        variance is λ/w.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import Evidence
    >>> from mercer.solvers import Explicit
    >>> Kinv = Explicit(np.diag([0.5, 0.5]), lam=1.0, logdet=np.log(4.0))
    >>> round(Evidence().value(Kinv, np.array([[1.0], [2.0]])), 4)
    3.781
    """

    word = "evidence"

    def __init__(self, profile_scale=False, weights="repeats"):
        self.profile_scale = profile_scale
        self.weights = weights

    @property
    def scale_free(self):
        """Whether the amplitude of K̃ does not matter."""
        return bool(self.profile_scale)

    summed = True
    density = True
    needs = frozenset({"logdet"})
    on_landmarks, by_neighbours = "elbo", "before"
    arrays = 1

    @property
    def merges(self):
        """Whether equal rows may come as one point."""
        return not self.profile_scale

    def with_precisions(self):
        return with_rows(self, weights="precision")

    def extras(self, rows):
        """What ``value`` is given beside y and the weights: see `terms`."""
        found = {"spread": rows.within_squares} if self.merges and rows.within_squares.any() else {}
        if self.weights == "precision" and (rows.merged or rows.weight is not None):
            logs = float(np.log(rows.row_weight).sum())
            if rows.q:
                logs += Span(rows.H[rows.index]).logdet - Span(rows.scaled(rows.H)).logdet
            found |= {"copies": float(len(rows.index) - rows.n), "logs": logs}
        return found

    def of(self, rows, lam, Kinv, quad):
        """`terms` of some rows; without noise a copy of a row says nothing, and does not count."""
        own, rows = (self, rows) if lam > 0 else (self.with_precisions(), rows.once())
        return own.terms(Kinv, quad, rows.weight, **own.extras(rows))

    def terms(self, Kinv, quad, weight=None, spread=None, copies=0.0, logs=None):
        """{fidelity, complexity, constant}: log p(y) term by term, summed over the targets. The one place it is made.

        Parameters
        ----------
        Kinv : Inverse
            (K + λI)⁻¹ as the solver has it.
        quad : ndarray of shape (t,)
            yᵀK̃⁻¹y of each target.
        weight : ndarray of shape (n,), default=None
            How much each row counts; None counts each once.
        spread : ndarray of shape (n, t), default=None
            Σ w (y − ȳ)² within each point, where equal rows were merged: it is noise.
        copies : float, default=0.0
            Of weights that are precisions: how many rows were merged away.
        logs : float, default=None
            Of these: Σ log w over the rows, and log det HᵀH − log det HᵀWH of the trend; None is Σ log w of the points.
        """
        copies = self._copies(weight, Kinv.n, copies)
        N, logdet = Kinv.n + copies - Kinv.q, Kinv.logdet() + (copies * np.log(max(Kinv.lam, TINY)) if copies else 0.0)
        if self.weights == "precision":
            logdet -= logs if logs is not None else 0.0 if weight is None else float(np.log(weight).sum())
        fit = N * np.log(np.maximum(quad, TINY) / N) + N if self.profile_scale else quad
        return {
            "fidelity": -0.5 * float(fit.sum()) - _within(spread, Kinv.lam),
            "complexity": -0.5 * len(quad) * logdet,
            "constant": -0.5 * len(quad) * N * LOG_2PI,
        }

    def _copies(self, weight, n, copies):
        """How many rows there are beside the n points: Σw − n where weights count them."""
        if self.weights not in ("repeats", "precision"):
            raise ValueError(f"weights must be 'repeats' or 'precision', got {self.weights!r}.")
        return copies if self.weights == "precision" else 0.0 if weight is None else float(np.sum(weight)) - n

    def value(self, Kinv, y, weight=None, **merged):
        """C; ``merged`` is what `terms` is given of rows that were merged."""
        y = as_targets(y)
        return -sum(self.terms(Kinv, np.einsum("ij,ij->j", y, Kinv @ y), weight, **merged).values())

    def explicit(self, Kinv, y, weight=None, spread=None, copies=0.0, logs=None):
        if weight is None and spread is None and not copies:
            return 0.0
        return 0.5 * self._copies(weight, Kinv.n, copies) * as_targets(y).shape[1] - _within(spread, Kinv.lam)

    def value_and_adjoint(self, Kinv, y, weight=None, **merged):
        y = as_targets(y)
        alpha = Kinv @ y
        quad = np.einsum("ij,ij->j", y, alpha)
        terms, N = self.terms(Kinv, quad, weight, **merged), 0.0
        if self.profile_scale:
            N = Kinv.n + self._copies(weight, Kinv.n, 0.0) - Kinv.q
        left = -0.5 * alpha * (N / np.maximum(quad, TINY)) if self.profile_scale else -0.5 * alpha
        W = Kinv.combined(0.5 * y.shape[1], left, alpha)  # W = ½ (t P − Σ ααᵀ N/yᵀPy)
        return -sum(terms.values()), W


def _within(spread, lam):
    """Σ w (y − ȳ)²/(2λ): what the rows of a point differ by is noise."""
    if spread is None:
        return 0.0
    total = float(np.sum(spread))
    return total / (2.0 * lam) if total else 0.0
