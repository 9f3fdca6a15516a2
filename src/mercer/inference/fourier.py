"""A Gaussian process by waves: the mean from a Toeplitz system, variances from the nearest rows."""

import numpy as np

from mercer._state import check
from mercer.gram import apply, take
from mercer.gram.fourier import Waves
from mercer.gram.landmarks import drawn
from mercer.inference.moments import Moments
from mercer.inference.neighbours import NeighbourPosterior
from mercer.solvers.pcg import pcg
from mercer.solvers.small import factor

TOL = 0.01  # of eps: what the iteration may leave
STEPS = 2000
CERTIFYING = 200  # rows that the mean is compared at
FIELDS = {
    "near": NeighbourPosterior,
    "eps": "number",
    "low": "float d",
    "high": "float d",
    "parts": list,
    "report": dict,
}


class FourierPosterior:
    """m(x) = φ(x)ᵀβ + h(x)ᵀb,  (DΦᴴWΦD + λI)β = DΦᴴW(y − Hb); variances by neighbours.

    Attributes
    ----------
    near : NeighbourPosterior
        For variances, and for the mean outside the box of the rows.
    eps : float
    low, high : ndarray of shape (d,)
        The box.
    parts : list of ndarray
        Real and imaginary part of D β of each target.
    report : dict
        Waves, steps, and the distance from the exact mean.
    """

    def __init__(self, near, eps, low, high, parts, report):
        self.near, self.eps, self.low, self.high, self.parts, self.report = near, eps, low, high, parts, report
        self._waves = None

    @classmethod
    def fit(cls, kernel, rows, lam, how, criterion):
        """Return the posterior of some rows."""
        if not (rows.d or 0) or not lam > 0:
            raise ValueError(
                f"Fourier() needs rows of one to three columns and noise > 0; d = {rows.d}, noise = {lam}."
            )
        low, high = rows.X.min(axis=0), rows.X.max(axis=0)
        high = np.where(high > low, high, low + 1.0)  # one column constant: any width is right
        waves = Waves(kernel, low, high, how.eps)
        u, w = waves.angles(rows.X), rows.weights()
        solve, info = _system(waves, u, w, lam, how.eps)
        both, coefficients, steps = np.hstack([rows.H, rows.y]), [], 0
        alpha = np.empty_like(both)
        for j, column in enumerate(both.T):
            beta, taken = solve(column)
            coefficients.append(beta)
            alpha[:, j] = w * (column - waves.at(u, beta)) / lam
            steps = max(steps, taken)
        q = rows.q
        P = rows.H.T @ alpha[:, :q]
        made = factor(P) if q else None
        b = made.solve(rows.H.T @ alpha[:, q:]) if q else np.zeros((0, rows.t))
        parts = [coefficients[q + j] - sum(coefficients[i] * b[i, j] for i in range(q)) for j in range(rows.t)]
        alpha = alpha[:, q:] - alpha[:, :q] @ b
        L = np.tril(made.lower) if q else np.zeros((0, 0))
        near = NeighbourPosterior.fit(kernel, rows, lam, how.k, how.random_state, criterion, known=(b, L))
        report = {"waves": int(np.size(waves.D2)), "steps": steps, **info}
        self = cls(near, how.eps, low, high, [x for F in parts for x in (F.real.copy(), F.imag.copy())], report)
        self._waves = waves
        report["distance"] = self._distance(alpha)
        return self

    def _distance(self, alpha):
        """rms |Kα − f| at some rows: an upper estimate of the rms distance from the exact mean."""
        rows = self.rows
        some = take(rows.X, drawn(rows.n, CERTIFYING, 5))
        exact = apply(self.kernel, some, rows.X, alpha)
        return float(np.sqrt(np.mean((exact - self._smooth(some)) ** 2)))

    def state(self):
        """{name: value}: what a file keeps."""
        return {name: getattr(self, name) for name in FIELDS}

    @classmethod
    def from_state(cls, state):
        """Return the posterior that had this state."""
        check(state, FIELDS, "FourierPosterior")
        self = cls(**state)
        shape, t = self.waves.D2.shape, self.rows.t
        if len(self.parts) != 2 * t or any(getattr(part, "shape", None) != shape for part in self.parts):
            raise ValueError(f"FourierPosterior.parts are not {2 * t} arrays of shape {shape}.")
        return self

    @property
    def waves(self):
        """The `Waves`; after a file made again."""
        if self._waves is None:
            self._waves = Waves(self.kernel, self.low, self.high, self.eps)
        return self._waves

    # ------------------------------------------------------------------ what the neighbours know
    kernel = property(lambda self: self.near.kernel, doc="Of the fit.")
    rows = property(lambda self: self.near.rows, doc="Of the fit.")
    lam = property(lambda self: self.near.lam, doc="Of the fit.")
    k = property(lambda self: self.near.k, doc="Neighbours of the variance.")
    b = property(lambda self: self.near.b, doc="Coefficients of the trend.")
    points = property(lambda self: None, doc="There are no landmarks.")
    ordered = property(lambda self: self.near.ordered, doc="Of the neighbours.")
    log_evidence = property(lambda self: self.near.log_evidence, doc="By neighbours.")

    def about(self, words):
        """What a report says of the mean beside its calibration."""
        found, sure = self.report, "" if self.report["converged"] else "; the iteration has not converged"
        mean = f"the mean from {found['waves']} waves is {found['distance']:.2g} (rms) off the exact one{sure}."
        return {"kind": "fourier", "eps": self.eps, **found, "words": f"{mean} Variances: {words}"}

    def left_out(self, rows=None, k=None):
        """Rows left out, by neighbours."""
        return self.near.left_out(rows, k)

    def rescaled(self, kernel, c):
        """Return the same mean with all variances times c."""
        other = type(self)(self.near.rescaled(kernel, c), self.eps, self.low, self.high, self.parts, self.report)
        other._waves = self._waves
        return other

    # ------------------------------------------------------------------ at new inputs
    def _smooth(self, X):
        """φ(x)ᵀβ of inputs in the box."""
        u, waves = self.waves.angles(X), self.waves
        pairs = zip(self.parts[::2], self.parts[1::2], strict=True)
        return np.column_stack([waves.at(u, re + 1j * im) for re, im in pairs])

    def mean(self, X):
        """m(x), of shape (r, t): by waves in the box of the rows, by neighbours outside."""
        inside = self.waves.inside(X)
        out = np.empty((len(X), self.rows.t))
        out[inside] = self._smooth(X[inside]) + self.rows.trend_at(X[inside]) @ self.b
        if not inside.all():
            out[~inside] = self.near.mean(X[~inside])
        return out

    def moments(self, X):
        """(m(x), v(x)) as `Moments`."""
        return Moments(self.mean(X), self.near.moments(X).variance)

    def covariance(self, X):
        """Refused, as by neighbours."""
        return self.near.covariance(X)

    def sample(self, X, n_samples, rng, noisy=False):
        """Refused, as by neighbours."""
        return self.near.covariance(X)


def _system(waves, u, w, lam, eps):
    """(solve, info): solve(y) = (D β, steps) of (DΦᴴWΦD + λI)β = DΦᴴWy, by conjugate gradients with its diagonal."""
    D, shape, product = np.sqrt(waves.D2), waves.D2.shape, waves.toeplitz(u, w)
    diagonal = waves.D2 * float(w.sum()) + lam

    def flat(F):
        return np.ascontiguousarray(F).ravel().view(float)[:, None]

    def grid(V):
        return np.ascontiguousarray(V[:, 0]).view(complex).reshape(shape)

    def times(V):
        F = grid(V)
        return flat(D * product(D * F) + lam * F)

    info = {"converged": True, "residual": 0.0}

    def solve(y):
        B = flat(D * waves.adjoint(u, w * y))
        tol = TOL * eps
        found = pcg(times, lambda V: flat(grid(V) / diagonal), B, tol=tol, max_iter=STEPS, norm=float(diagonal.max()))
        info["converged"] = bool(info["converged"] and found.converged.all())
        info["residual"] = float(max(info["residual"], found.residual.max()))
        return D * grid(found.X), found.iterations

    return solve, info
