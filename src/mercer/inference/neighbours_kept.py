"""What a fit by neighbours keeps beside its posterior: some rows left out one by one, and what they say of errors."""

import numpy as np
from scipy.special import ndtri

from mercer._state import check
from mercer.inference.fourier import FourierPosterior
from mercer.inference.neighbours import LOG_2PI, NeighbourPosterior, OrderedRows

LEFT_OUT = 2048  # rows: the standard error of a coverage of 90 % is 0.7 %
LEVEL = 0.9
NEAR = 0.02  # of a coverage that is called right
GAIN = 0.02  # nats of a row that twice as many neighbours gain: below, there are enough
FIELDS = {
    "posterior": (NeighbourPosterior, FourierPosterior),
    "index": "int s", "residuals": "float s t", "variance": "float s", "report": dict,
    "flat": bool,
}  # fmt: skip


class KeptNeighbours:
    """Rows left out one by one, each predicted from its neighbours: for intervals, and for words about calibration.

    Attributes
    ----------
    posterior : NeighbourPosterior or FourierPosterior
    index : ndarray of shape (s,)
        Rows that were drawn.
    residuals : ndarray of shape (s, t)
        y − f₋ᵢ(x) of each.
    variance : ndarray of shape (s,)
        Of y, by the model without it.
    report : dict
        What ``fit_report_["approximation"]`` says.
    flat : bool
        Whether y is one column.
    """

    unit = 1.0

    def __init__(self, posterior, index, residuals, variance, report, flat):
        self.posterior, self.index, self.residuals, self.variance = posterior, index, residuals, variance
        self.report, self.flat, self._fewer = report, flat, None

    @classmethod
    def of(cls, posterior, seed, flat):
        """Return what is kept of a posterior."""
        some, half = _drawn(posterior.rows.n, seed), max(1, posterior.k // 2)
        residuals, variance = posterior.left_out(some)
        fewer = posterior.left_out(some, half) if half < posterior.k and posterior.local else None
        index = posterior.rows.first()[posterior.ordered.order[some]]
        self = cls(posterior, index, residuals, variance, _report(posterior, residuals, variance, fewer, None), flat)
        self._fewer = fewer
        return self

    def rescaled(self, posterior, c):
        """Return what is kept of the posterior with all variances times c: residuals stay what they are."""
        fewer, variance = None if self._fewer is None else (self._fewer[0], c * self._fewer[1]), c * self.variance
        said = _report(posterior, self.residuals, variance, fewer, c)
        return type(self)(posterior, self.index, self.residuals, variance, said, self.flat)

    def state(self):
        """{name: value}: what a file keeps."""
        return {name: getattr(self, name) for name in FIELDS}

    @classmethod
    def from_state(cls, state):
        """Return what had this state."""
        check(state, FIELDS, "KeptNeighbours")
        if state["index"].max(initial=-1) >= state["posterior"].rows.given:
            raise ValueError("KeptNeighbours.index names a row that is not there.")
        return cls(**state)

    def to_rows(self, values):
        """Values of the rows that were drawn, among all n; nan for the others."""
        out = np.full((self.posterior.rows.given, *np.shape(values)[1:]), np.nan)
        out[self.index] = values
        return out

    def scales(self, X):
        """(of the rows drawn, at X): standard deviations to compare residuals in."""
        return np.sqrt(self.variance), np.sqrt(self.posterior.moments(X).variance + self.posterior.lam)

    @property
    def leverage(self):
        """∂f(xᵢ)/∂yᵢ: not known by neighbours, which see each row from many sides."""
        return np.full(len(self.index), np.nan)

    @property
    def dof(self):
        """Not known either."""
        return float("nan")


def enough(posterior, seed, most):
    """The k up to ``most``, doubled from that of a posterior while rows left out gain by it."""
    k, some, here = posterior.k, _drawn(posterior.rows.n, seed), None
    while 2 * k <= min(most, posterior.rows.n - 1):
        here = density(*posterior.left_out(some, k)).mean() if here is None else here
        there = density(*posterior.left_out(some, 2 * k)).mean()
        if not there - here > GAIN:
            break
        k, here = 2 * k, there
    return k


def _drawn(n, seed):
    """Places of the rows that are left out."""
    return np.sort(np.random.default_rng(seed + 1).permutation(n)[:LEFT_OUT])


def density(residuals, variance):
    """log N(residuals; 0, variance) of each row, the mean over targets."""
    z2 = residuals**2 / variance[:, None]
    return -0.5 * (LOG_2PI + np.log(variance) + z2.mean(axis=1))


def mean_square(residuals, variance):
    """The mean z² of rows left out: 1 where variances are right."""
    return float(np.mean(residuals**2 / variance[:, None]))


def _report(posterior, residuals, variance, fewer, factor):
    """The numbers, the verdict and the words; ``fewer`` as half the neighbours leave them."""
    k, here, fewer = posterior.k, density(residuals, variance), None if fewer is None else density(*fewer)
    inside = np.abs(residuals) <= ndtri((1.0 + LEVEL) / 2.0) * np.sqrt(variance)[:, None]
    covered, count = float(inside.mean()), len(residuals)
    error = float(here.std() / np.sqrt(count))
    said = {
        "k": k, "landmarks": 0 if posterior.points is None else len(posterior.points),
        "rows_left_out": count, "coverage": covered, "mean_square": mean_square(residuals, variance),
        "recalibrated": factor, "log_density": float(here.mean()), "rmse": float(np.sqrt(np.mean(residuals**2))),
    }  # fmt: skip
    right = abs(covered - LEVEL) <= NEAR + 2.0 * np.sqrt(LEVEL * (1 - LEVEL) / max(count, 1))
    few = fewer is not None and posterior.rows.n > k and float((here - fewer).mean()) > GAIN
    said["verdict"] = "not enough neighbours" if few and right else "calibrated" if right else "not calibrated"
    words = f"{said['verdict']}: of {count} rows left out {covered:.1%} lie within their {LEVEL:.0%} intervals"
    words += f" (mean z² {said['mean_square']:.3g}"
    words += ")" if factor is None else f", after all variances were multiplied by {factor:.3g})"
    words += f"; log density {here.mean():.4g} ± {error:.1g}" + (f" from {k} neighbours" if posterior.local else "")
    if fewer is not None:
        said["log_density_of_half"] = float(fewer.mean())
        words += f", {fewer.mean():.4g} from {max(1, k // 2)}"
    if few:
        words += f": more would help, {posterior.more.format(2 * k)}"
    if not right:
        words += '; predict_interval(X, method="conformal", normalise=True) has the coverage of the rows left out'
    return said | posterior.about(words + ".")


def left_out_near(kernel, rows, b, count, k):
    """λ ↦ the rms error of some rows, each left out and predicted from its k neighbours beside a known trend Hb.

    Which these are does not depend on λ: they are looked up once.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.inference.neighbours_kept import left_out_near
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 9, 100)[:, None]
    >>> error = left_out_near(Gaussian(1.0), Rows(X, np.sin(X)), np.zeros((0, 1)), 50, 8)
    >>> error(1e-4) < 0.01 < error(1.0)
    True
    """
    ordered, own = OrderedRows(kernel, rows, 1.0, 0), np.arange(min(count, rows.n))
    index = ordered.near.others(own, min(k, rows.n - 1))

    def error(lam):
        local, rest, _, _ = ordered.at(kernel, lam).told(index, own)
        return float(np.sqrt(np.mean((ordered.y[own] - local - rest @ b) ** 2)))

    return error
