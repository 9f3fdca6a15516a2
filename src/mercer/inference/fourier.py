"""A Gaussian process by Fourier features: the mean from a Toeplitz system; variances from its factor, or neighbours."""

import numpy as np

from mercer._clock import FOREVER, Clock
from mercer._policies import OptionSet
from mercer._state import check
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import take
from mercer.gram.base import draw_rows
from mercer.gram.fourier import FourierFeatures, TooManyFeatures
from mercer.inference.moments import Moments, Posterior
from mercer.inference.neighbours import NeighbourPosterior
from mercer.inference.spectral import FeatureSums, FourierInverse, feature_gram
from mercer.solvers.normal import whiten
from mercer.solvers.toeplitz import FactoredToeplitz, FourierOptions, ToeplitzOptions

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

    Few features, as a smooth kernel has, are factored, and give variances, left-out rows and the evidence exactly. With
    many, these are those of the nearest rows, which say nearly all of a rough function.

    Attributes
    ----------
    near : NeighbourPosterior
        The same process by neighbours: for the mean outside the box of the rows, and variances with many features.
    eps : float
        Of the features.
    low, high : ndarray of shape (d,)
        The box.
    coef : ndarray of shape (M, q + t)
        Coefficients of the smooth of each column of H, and of y − Hb.
    report : dict
        Features, steps, and what fewer features would change.
    options : OptionSet
        Of the fit; a file does not keep them.
    """

    def __init__(self, near, eps, low, high, coef, report, options=OptionSet()):
        self.near, self.eps, self.low, self.high, self.coef, self.report = near, eps, low, high, coef, report
        self.options, self._features, self._factor = options, None, None

    @classmethod
    def fit(cls, kernel, rows, lam, how, criterion, room=None, clock=FOREVER, options=OptionSet()):
        """Return the posterior of some rows; TooManyFeatures where its first grid has too many, or no room.

        ``room`` is a function of the columns of space and of those of coefficients: how many features memory holds.
        """
        eps, found, report = _refine_grids(kernel, rows, lam, how, room, clock, options)
        own = kernel, rows, lam, how.k, how.random_state
        if report["factored"]:
            terms = tuple(criterion.of(rows, lam, found, found.quad).values())
            near = NeighbourPosterior(*own, None, None, found.b, found.L, terms)
        else:  # probes on the finest grid would take longer than all the rest
            near = NeighbourPosterior.fit(*own, criterion, known=(found.b, found.L))
        self = cls(near, eps, *bounding_box(kernel, rows, lam), found.coef, report, options)
        self._factor = found.system if report["factored"] else None
        return self

    def state(self):
        """{name: value}: what a file keeps."""
        return {name: getattr(self, name) for name in FIELDS}

    @classmethod
    def from_state(cls, state):
        """Return the posterior that had this state."""
        check(state, FIELDS, "FourierPosterior")
        self = cls(**state)
        shape = self.features.count, self.rows.q + self.rows.t
        if self.coef.shape != shape:
            raise ValueError(f"FourierPosterior.coef is of shape {self.coef.shape}, not {shape}.")
        return self

    @property
    def features(self):
        """The `FourierFeatures`; after a file made again."""
        if self._features is None:
            self._features = FourierFeatures(self.kernel, self.low, self.high, self.eps)
        return self._features

    @property
    def factor(self):
        """The factor of few features, or None; after a file made again."""
        if self._factor is None and not self.local:
            self._factor = FactoredToeplitz(feature_gram(self.features, self.rows), self.features.D2, self.lam)
        return self._factor

    # ------------------------------------------------------------------ what the neighbours know
    kernel = property(lambda self: self.near.kernel, doc="Of the fit.")
    rows = property(lambda self: self.near.rows, doc="Of the fit.")
    lam = property(lambda self: self.near.lam, doc="Of the fit.")
    k = property(lambda self: self.near.k, doc="Neighbours of the variance.")
    b = property(lambda self: self.near.b, doc="Coefficients of the trend.")
    points = property(lambda self: None, doc="There are no landmarks.")
    ordered = property(lambda self: self.near.ordered, doc="Of the neighbours.")
    local = property(lambda self: not self.report["factored"], doc="Whether variances are those of neighbours.")
    correlated = property(lambda self: not self.local, doc="Whether covariances are known.")
    more = "approximation=Fourier(k={})"
    log_evidence = property(lambda self: self.near.log_evidence, doc="log p(y): exact, or by neighbours.")

    def report_words(self):
        """How far the mean is off, as far as is known."""
        found = self.report
        if not found["converged"]:
            return f"the iteration for {found['features']} features has not converged: too little noise for so many"
        mean = f"the mean from {found['features']} features is {found['distance']:.2g} (rms) off"
        mean += f" that from {found['fewer']}"
        if not found["near"]:
            mean += f", more than the {found['enough']:.2g} allowed, and more features are too many, or take too long"
        return mean

    def about(self, words):
        """What a report says of the mean and its calibration."""
        how = f"of the {self.k} nearest rows" if self.local else "of all rows, by a factor"
        return {"kind": "fourier", **self.report, "words": f"{self.report_words()}. Variances ({how}): {words}"}

    def rescaled(self, kernel, c):
        """Return the same mean with all variances times c: nothing is summed or factored again."""
        grid = self.eps, self.low, self.high, self.coef, self.report, self.options
        other = type(self)(self.near.rescaled(kernel, c), *grid)
        other._factor = None if self._factor is None else self._factor.times(c)
        return other

    # ------------------------------------------------------------------ at new inputs
    def _parts(self, X, entries=2**22):
        """Slices of inputs whose Φ is not too large."""
        step = max(1, entries // self.features.count)
        return [slice(i, i + step) for i in range(0, len(X), step)]

    def mean(self, X):
        """m(x), of shape (r, t): by features in the box of the rows, by neighbours outside."""
        inside, q = self.features.inside(X), self.rows.q
        out = np.empty((len(X), self.rows.t))
        u = self.features.angles(X[inside])
        smooth = np.column_stack([self.features.at(u, column) for column in self.coef[:, q:].T])
        out[inside] = smooth + self.rows.trend_at(X[inside]) @ self.b
        if not inside.all():
            out[~inside] = self.near.mean(X[~inside])
        return out

    def _variance(self, X):
        """λφᵀA⁻¹φ + rᵀP⁻¹r of inputs in the box, and what features miss of k(x, x): r is what they miss of h."""
        q, out, D = self.rows.q, np.empty(len(X)), np.sqrt(self.features.D2)[:, None]
        for part in self._parts(X):
            Phi = self.features.rows(self.features.angles(X[part]))
            half = self.factor.half(np.ascontiguousarray(D * Phi.T))
            out[part] = self.lam * np.einsum("ij,ij->j", half, half) + self.features.missing
            if q:
                rest = self.rows.trend_at(X[part]) - Phi @ self.coef[:, :q]
                out[part] += (whiten(self.near.factor, rest.T) ** 2).sum(axis=0)
        return out

    def moments(self, X):
        """(m(x), v(x)) as `Moments`."""
        inside = self.features.inside(X) if self.factor is not None else np.zeros(len(X), dtype=bool)
        variance = np.empty(len(X))
        variance[inside] = self._variance(X[inside])
        if not inside.all():
            variance[~inside] = self.near.moments(X[~inside]).variance
        return Moments(self.mean(X), variance)

    def left_out(self, rows=None, k=None):
        """(yᵢ − f₋ᵢ(xᵢ), variance of yᵢ) of points of the fit: exactly with few features, else by neighbours."""
        if self.factor is None or k is not None:
            return self.near.left_out(rows, k)
        at = self.ordered.order if rows is None else self.ordered.order[rows]
        X, noise = take(self.rows.X, at), self.lam / self.rows.weights()[at]
        left = 1.0 - np.minimum((self._variance(X) - self.features.missing) / noise, 1.0 - 1e-12)
        return (self.rows.y[at] - self.mean(X)) / left[:, None], noise / left + self.features.missing

    def covariance(self, X):
        """(Moments, c(x, x′)) for all pairs of rows of X in the box, with few features; else refused."""
        if self.factor is None or not self.features.inside(X).all():
            return self.near.covariance(X)
        Phi, q, found = self.features.rows(self.features.angles(X)), self.rows.q, self.moments(X)
        half = self.factor.half(np.ascontiguousarray(np.sqrt(self.features.D2)[:, None] * Phi.T))
        rest = whiten(self.near.factor, (self.rows.trend_at(X) - Phi @ self.coef[:, :q]).T)
        C = self.lam * half.T @ half + rest.T @ rest
        np.fill_diagonal(C, found.variance)
        return found, C


def bounding_box(kernel, rows, lam):
    """The corners of the box of some rows, in the space of a kernel; ValueError where there can be no features."""
    if not (rows.d or 0) or not lam > 0:
        raise ValueError(f"Fourier() needs rows of one to three columns and noise > 0; d = {rows.d}, noise = {lam}.")
    X = kernel.in_space(rows.X)
    return X.min(axis=0), X.max(axis=0)


def _refine_grids(kernel, rows, lam, how, room, clock, options):
    """(eps, FourierInverse, report): finer grids until the mean no longer changes by more than it may."""
    steer, box = options[FourierOptions], bounding_box(kernel, rows, lam)
    some = take(rows.X, draw_rows(rows.n, steer.compared, 5))
    room = steer.largest if room is None else min(steer.largest, room(len(box[0]), rows.q + rows.t))
    enough = how.enough(float(np.sqrt(rows.y.var(axis=0).mean())), float(np.sqrt(lam)), steer)
    eps, timed = how.first_eps(steer), Clock()
    tol = steer.tol * eps
    features = FourierFeatures(kernel, *box, eps, most=min(how.most(steer), room))
    room = min(room, max(how.finest(steer), steer.finer * features.count))  # one comparison at least
    found, mean = _mean_at(features, rows, lam, tol, some, options)
    report = {"enough": enough, "distance": float("nan"), "fewer": 0, "near": False}
    while not report["near"] and found.solved.converged and clock.fits(steer.slower * timed.seconds):
        try:
            finer = FourierFeatures(kernel, *box, eps / steer.finer, most=room)
        except TooManyFeatures:
            break
        before, fewer, eps, features, timed = mean, features.count, eps / steer.finer, finer, Clock()
        found, mean = _mean_at(features, rows, lam, tol, some, options)
        apart = float(np.sqrt(np.mean((mean - before) ** 2)))
        report |= {"distance": apart, "fewer": fewer, "near": apart <= enough and found.solved.converged}
    solved, residual = found.solved, float(found.solved.residual[rows.q :].max())
    report |= {"features": features.count, "factored": isinstance(found.system, FactoredToeplitz)}
    report |= {"steps": solved.steps, "converged": solved.converged, "residual": residual}
    return eps, found, report


def _mean_at(features, rows, lam, tol, some, options):
    """(FourierInverse, its mean at some inputs)."""
    u = features.angles(some)
    try:
        found = FourierInverse(FeatureSums(features, rows), features.D2, lam, tol, options[ToeplitzOptions])
    except NotPositiveDefinite:  # HᵀK̃⁻¹H is a difference of large numbers, where h is no feature
        raise TooManyFeatures(
            f"the trend cannot be separated from {features.count} features by an iteration: there is too little noise, "
            f"{lam:.3g}. Use more noise, or Neighbours()."
        ) from None
    smooth = np.column_stack([features.at(u, column) for column in found.coef[:, rows.q :].T])
    return found, smooth + rows.trend_at(some) @ found.b
