"""A Gaussian process by waves: the mean from a Toeplitz system; variances from its factor, or from the nearest rows."""

import numpy as np

from mercer._clock import FOREVER, Clock
from mercer._state import check
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import take
from mercer.gram.fourier import FINER, MOST, TooManyWaves, Waves
from mercer.gram.landmarks import drawn
from mercer.inference.moments import Moments
from mercer.inference.neighbours import NeighbourPosterior
from mercer.inference.posterior import Posterior
from mercer.inference.waves import WaveInverse, WaveSums, squares
from mercer.solvers.normal import whiten
from mercer.solvers.waves import FEW, FactoredWaves

TOL = 1e-3  # of eps: what the iteration may leave
LONGER = 6.0  # a finer grid takes so many times as long
COMPARED = 1000  # rows that the mean of more waves is compared at
BLOCK = 2**22  # entries of Φ at a time
FIELDS = {
    "near": NeighbourPosterior,
    "eps": "number",
    "low": "float d",
    "high": "float d",
    "coef": "float m c",
    "report": dict,
}


class FourierPosterior(Posterior):
    """m(x) = φ(x)ᵀβ + h(x)ᵀb,  (DΦᵀWΦD + λI)β = DΦᵀW(y − Hb).

    Few waves, as a smooth kernel has, are factored, and give variances, left-out rows and the evidence exactly. With
    many, these are those of the nearest rows, which say nearly all of a rough function.

    Attributes
    ----------
    near : NeighbourPosterior
        The same process by neighbours: for the mean outside the box of the rows, and variances with many waves.
    eps : float
        Of the waves.
    low, high : ndarray of shape (d,)
        The box.
    coef : ndarray of shape (M, q + t)
        Coefficients of the smooth of each column of H, and of y − Hb.
    report : dict
        Waves, steps, and what fewer waves would change.
    """

    def __init__(self, near, eps, low, high, coef, report):
        self.near, self.eps, self.low, self.high, self.coef, self.report = near, eps, low, high, coef, report
        self._waves = self._factor = None

    @classmethod
    def fit(cls, kernel, rows, lam, how, criterion, most=MOST, room=None, clock=FOREVER):
        """Return the posterior of some rows; TooManyWaves where its first grid has more than ``most``, or no room.

        ``room`` is a function of the columns of space and of those of coefficients: how many waves memory holds.
        """
        low, high = box_of(kernel, rows, lam)
        room = MOST if room is None else min(MOST, room(len(low), rows.q + rows.t))
        eps, found, report = _refined(kernel, rows, lam, how, (low, high), most, room, clock)
        few, own = isinstance(found.system, FactoredWaves), (kernel, rows, lam, how.k, how.random_state)
        if few:
            terms = tuple(criterion.of(rows, lam, found, found.quad).values())
            near = NeighbourPosterior(*own, None, None, found.b, found.L, terms)
        else:  # probes on the finest grid would take longer than all the rest
            near = NeighbourPosterior.fit(*own, criterion, known=(found.b, found.L))
        self = cls(near, eps, low, high, found.coef, report)
        self._factor = found.system if few else None
        return self

    def state(self):
        """{name: value}: what a file keeps."""
        return {name: getattr(self, name) for name in FIELDS}

    @classmethod
    def from_state(cls, state):
        """Return the posterior that had this state."""
        check(state, FIELDS, "FourierPosterior")
        self = cls(**state)
        shape = self.waves.count, self.rows.q + self.rows.t
        if self.coef.shape != shape:
            raise ValueError(f"FourierPosterior.coef is of shape {self.coef.shape}, not {shape}.")
        return self

    @property
    def waves(self):
        """The `Waves`; after a file made again."""
        if self._waves is None:
            self._waves = Waves(self.kernel, self.low, self.high, self.eps)
        return self._waves

    @property
    def factor(self):
        """The factor of few waves, or None; after a file made again."""
        if self._factor is None and not self.local:
            self._factor = FactoredWaves(squares(self.waves, self.rows), self.waves.D2, self.lam)
        return self._factor

    # ------------------------------------------------------------------ what the neighbours know
    kernel = property(lambda self: self.near.kernel, doc="Of the fit.")
    rows = property(lambda self: self.near.rows, doc="Of the fit.")
    lam = property(lambda self: self.near.lam, doc="Of the fit.")
    k = property(lambda self: self.near.k, doc="Neighbours of the variance.")
    b = property(lambda self: self.near.b, doc="Coefficients of the trend.")
    points = property(lambda self: None, doc="There are no landmarks.")
    ordered = property(lambda self: self.near.ordered, doc="Of the neighbours.")
    local = property(lambda self: self.waves.count > FEW, doc="Whether variances are those of neighbours.")
    correlated = property(lambda self: not self.local, doc="Whether covariances are known.")
    more = "approximation=Fourier(k={})"
    log_evidence = property(
        lambda self: self.near.log_evidence, doc="log p(y): exact with few waves, or by neighbours."
    )

    def report_words(self):
        """How far the mean is off, as far as is known."""
        found = self.report
        if not found["converged"]:
            return f"the iteration for {found['waves']} waves has not converged: there is too little noise for so many"
        mean = f"the mean from {found['waves']} waves is {found['distance']:.2g} (rms) off that from {found['fewer']}"
        if not found["near"]:
            mean += f", more than the {found['enough']:.2g} allowed, and more waves are too many, or take too long"
        return mean

    def about(self, words):
        """What a report says of the mean beside its calibration."""
        how = f"of the {self.k} nearest rows" if self.local else "of all rows, by a factor"
        return {"kind": "fourier", **self.report, "words": f"{self.report_words()}. Variances ({how}): {words}"}

    def rescaled(self, kernel, c):
        """Return the same mean with all variances times c: nothing is summed or factored again."""
        other = type(self)(self.near.rescaled(kernel, c), self.eps, self.low, self.high, self.coef, self.report)
        other._factor = None if self._factor is None else self._factor.times(c)
        return other

    # ------------------------------------------------------------------ at new inputs
    def _parts(self, X):
        """Slices of inputs whose Φ is not too large."""
        step = max(1, BLOCK // self.waves.count)
        return [slice(i, i + step) for i in range(0, len(X), step)]

    def mean(self, X):
        """m(x), of shape (r, t): by waves in the box of the rows, by neighbours outside."""
        inside, q = self.waves.inside(X), self.rows.q
        out = np.empty((len(X), self.rows.t))
        u = self.waves.angles(X[inside])
        smooth = np.column_stack([self.waves.at(u, column) for column in self.coef[:, q:].T])
        out[inside] = smooth + self.rows.trend_at(X[inside]) @ self.b
        if not inside.all():
            out[~inside] = self.near.mean(X[~inside])
        return out

    def _variance(self, X):
        """λφᵀA⁻¹φ + rᵀP⁻¹r of inputs in the box, and what the waves miss of k(x, x): r is what they miss of h."""
        q, out, D = self.rows.q, np.empty(len(X)), np.sqrt(self.waves.D2)[:, None]
        for part in self._parts(X):
            Phi = self.waves.rows(self.waves.angles(X[part]))
            half = self.factor.half(np.ascontiguousarray(D * Phi.T))
            out[part] = self.lam * np.einsum("ij,ij->j", half, half) + self.waves.missing
            if q:
                rest = self.rows.trend_at(X[part]) - Phi @ self.coef[:, :q]
                out[part] += (whiten(self.near.factor, rest.T) ** 2).sum(axis=0)
        return out

    def moments(self, X):
        """(m(x), v(x)) as `Moments`."""
        inside = self.waves.inside(X) if self.factor is not None else np.zeros(len(X), dtype=bool)
        variance = np.empty(len(X))
        variance[inside] = self._variance(X[inside])
        if not inside.all():
            variance[~inside] = self.near.moments(X[~inside]).variance
        return Moments(self.mean(X), variance)

    def left_out(self, rows=None, k=None):
        """(yᵢ − f₋ᵢ(xᵢ), variance of yᵢ) of points of the fit: exactly with few waves, else by neighbours."""
        if self.factor is None or k is not None:
            return self.near.left_out(rows, k)
        at = self.ordered.order if rows is None else self.ordered.order[rows]
        X, noise = take(self.rows.X, at), self.lam / self.rows.weights()[at]
        left = 1.0 - np.minimum((self._variance(X) - self.waves.missing) / noise, 1.0 - 1e-12)
        return (self.rows.y[at] - self.mean(X)) / left[:, None], noise / left + self.waves.missing

    def covariance(self, X):
        """(Moments, c(x, x′)) for all pairs of rows of X in the box, with few waves; else refused, as by neighbours."""
        if self.factor is None or not self.waves.inside(X).all():
            return self.near.covariance(X)
        Phi, q, found = self.waves.rows(self.waves.angles(X)), self.rows.q, self.moments(X)
        half = self.factor.half(np.ascontiguousarray(np.sqrt(self.waves.D2)[:, None] * Phi.T))
        rest = whiten(self.near.factor, (self.rows.trend_at(X) - Phi @ self.coef[:, :q]).T)
        C = self.lam * half.T @ half + rest.T @ rest
        np.fill_diagonal(C, found.variance)
        return found, C


def box_of(kernel, rows, lam):
    """The corners of the box of some rows, in the space of a kernel; ValueError where there can be no waves."""
    if not (rows.d or 0) or not lam > 0:
        raise ValueError(f"Fourier() needs rows of one to three columns and noise > 0; d = {rows.d}, noise = {lam}.")
    X = kernel.in_space(rows.X)
    return X.min(axis=0), X.max(axis=0)


def _refined(kernel, rows, lam, how, box, most, room, clock):
    """(eps, WaveInverse, report): finer grids until the mean no longer changes by more than it may."""
    some, spread = take(rows.X, drawn(rows.n, COMPARED, 5)), float(np.sqrt(rows.y.var(axis=0).mean()))
    enough, eps = how.enough(spread, float(np.sqrt(lam))), how.first
    waves, timed = Waves(kernel, *box, eps, most=min(most, room)), Clock()
    room = min(room, max(how.finest, FINER * waves.count))  # one comparison at least
    found, mean = _at(waves, rows, lam, how, some)
    report = {"enough": enough, "distance": float("nan"), "fewer": 0, "near": False}
    while not report["near"] and found.solved.converged and clock.fits(LONGER * timed.seconds):
        try:
            finer = Waves(kernel, *box, eps / FINER, most=room)
        except TooManyWaves:
            break
        before, fewer, eps, waves, timed = mean, waves.count, eps / FINER, finer, Clock()
        found, mean = _at(waves, rows, lam, how, some)
        apart = float(np.sqrt(np.mean((mean - before) ** 2)))
        report |= {"distance": apart, "fewer": fewer, "near": apart <= enough and found.solved.converged}
    solved, residual = found.solved, float(found.solved.residual[rows.q :].max())
    report |= {"waves": waves.count, "steps": solved.steps, "converged": solved.converged, "residual": residual}
    return eps, found, report


def _at(waves, rows, lam, how, some):
    """(WaveInverse, its mean at some inputs)."""
    u = waves.angles(some)
    try:
        found = WaveInverse(WaveSums(waves, rows), waves.D2, lam, TOL * how.first)
    except NotPositiveDefinite:  # HᵀK̃⁻¹H is a difference of large numbers, where h is no wave
        raise TooManyWaves(
            f"the trend cannot be told from {waves.count} waves by an iteration: there is too little noise, {lam:.3g}; "
            "use more of it, or Neighbours()."
        ) from None
    smooth = np.column_stack([waves.at(u, column) for column in found.coef[:, rows.q :].T])
    return found, smooth + rows.trend_at(some) @ found.b
