"""A fit by neighbours: its posterior, some rows left out one by one, and what they say of errors."""

from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from mercer._clock import FOREVER, Clock
from mercer._state import check
from mercer.approximate.base import Approximation
from mercer.approximate.fitted import Fitted, slopes_of
from mercer.approximate.neighbours import Neighbours
from mercer.approximate.process import evidence_of, process_attributes
from mercer.inference.fourier import FourierPosterior
from mercer.inference.neighbours import LOG_2PI, NeighbourPosterior, OrderedRows
from mercer.solvers.fitted import LeftOut
from mercer.solvers.plan_class import Plan
from mercer.uncertainty import calibration_of

LEFT_OUT = 8192  # rows: the standard error of a coverage of 90 % is 0.3 %
TRIED = 2048  # of them, for how many neighbours are enough
LEVEL = 0.9
NEAR = 0.02  # of a coverage that is called right
GAIN = 0.02  # nats of a row that twice as many neighbours gain: below, there are enough
SURE = 2.0  # and standard errors of the gain
AHEAD = 40.0  # times a trial: the next, of twice as many neighbours, and what is left out in the end
FIELDS = {
    "posterior": (NeighbourPosterior, FourierPosterior),
    "index": "int s", "residuals": "float s t", "variance": "float s", "certificate": dict,
    "flat": bool, "precisions": bool, "how": Approximation, "plan": (Plan, None),
}  # fmt: skip


class NeighbourState(Fitted):
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
    certificate : dict
        What ``fit_report_["approximation"]`` says.
    flat, precisions : bool
        Whether y is one column, and whether each row has a noise variance of its own.
    how : Approximation
        By which the fit is made again for other rows.
    plan : Plan
    """

    FIELDS = FIELDS
    state_version = 2  # the first did not know how it was made
    calibrated = True

    def __init__(self, posterior, index, residuals, variance, certificate, flat, precisions, how, plan):
        self.posterior, self.index, self.residuals, self.variance = posterior, index, residuals, variance
        self.certificate, self.flat, self.precisions, self.how, self.plan = certificate, flat, precisions, how, plan
        self._fewer = None

    @classmethod
    def of(cls, posterior, seed, tried=(), **options):
        """Return the state of a posterior; ``tried`` are the numbers of neighbours that were."""
        own, half = some_rows(posterior.rows, seed), max(1, posterior.k // 2)
        residuals, variance = left_out(posterior, own)
        fewer = left_out(posterior, own, half) if half < posterior.k and posterior.local else None
        said = _report(posterior, residuals, variance, fewer, None, list(tried))
        self = cls(posterior, posterior.rows.used[own], residuals, variance, said, **options)
        self._fewer = fewer
        return self

    def variance_factor(self, seed):
        """What all variances are to be multiplied by: the mean z² of points left out, and of rows about their point.

        A point leaves with all its rows, so that a whole weight is as many equal rows, as in the evidence; where
        weights are precisions, each row counts once.
        """
        posterior, rows = self.posterior, self.posterior.rows
        residuals, variance, point = self.residuals, self.variance, rows.index[some_rows(rows, seed)]
        if rows.merged:
            point = np.unique(point)
            residuals, variance = posterior.left_out(np.argsort(posterior.ordered.order)[point])
        squares, count = (residuals**2 / variance[:, None]).mean(axis=1), np.ones(len(point))
        if posterior.lam > 0:
            squares += rows.within_squares[point].mean(axis=1) / posterior.lam
            count = (np.bincount(rows.index, minlength=rows.n) if self.precisions else rows.weights())[point]
        return float(squares.sum() / count.sum())

    def rescaled(self, posterior, c):
        """Return the state of the posterior with all variances times c: residuals stay what they are."""
        fewer, variance = None if self._fewer is None else (self._fewer[0], c * self._fewer[1]), c * self.variance
        said = _report(posterior, self.residuals, variance, fewer, c, self.certificate["tried"])
        options = (self.flat, self.precisions, self.how, self.plan)
        return type(self)(posterior, self.index, self.residuals, variance, said, *options)

    @classmethod
    def from_state(cls, state):
        """Return what had this state."""
        check(state, FIELDS, "NeighbourState")
        if state["index"].max(initial=-1) >= state["posterior"].rows.given:
            raise ValueError("NeighbourState.index names a row that is not there.")
        return cls(**state)

    @classmethod
    def migrate(cls, version, state):
        """Return the state of today; the model then says how it was made."""
        later = {"precisions": False, "how": Neighbours(), "plan": None}
        return (
            {name: value for name, value in state.items() if name != "report"}
            | later
            | {"certificate": state["report"]}
        )

    @property
    def rows(self):  # type: ignore[override]
        """The rows of the fit."""
        return self.posterior.rows

    @property
    def slopes(self):  # type: ignore[override]
        """(Trend, b) of a trend that is more than a constant."""
        return slopes_of(self.rows.trend, self.posterior.b)

    def calibrates(self, coverage):
        return 0 < coverage < 1 and (len(self.residuals) + 1) * (1.0 - coverage) >= 1.0

    def attributes(self):
        f = self.posterior
        return process_attributes(f, self.flat, self.precisions, f.log_evidence) | {"neighbours_": self}

    def report(self):
        f, plan = self.posterior, self.plan
        said = {"kernel": repr(f.kernel), "noise": f.lam, **f.rows.counts(), "log_marginal_likelihood": f.log_evidence}
        said |= {"gram": plan.gram, "solver": plan.solver, "reasons": list(plan.reasons)}
        return said | {"memory_predicted": plan.memory_bytes, "approximation": self.certificate}

    # ---------------------------------------------------------------------- rows left out
    def _to_rows(self, values):
        """Values of the rows that were drawn among all n; nan for the others."""
        out = np.full((self.rows.given, *np.shape(values)[1:]), np.nan)
        out[self.index] = values
        return out

    def left_out(self):
        unknown = np.full(len(self.index), np.nan)  # by neighbours, which see each row from many sides
        return LeftOut(*map(self._to_rows, (self.residuals, unknown, self.variance)))

    @property
    def std(self):
        """Standard deviations of the rows drawn, by the model without each."""
        return np.sqrt(self.variance)

    def scores(self, X, normalise, weight):
        scales = (self.std, self.deviation(X, weight)) if normalise else (1.0, 1.0)
        return self.residuals, *scales

    def calibration(self, levels):
        found = calibration_of(self.residuals / self.std[:, None], self.flat, levels)
        return replace(found, z=self._to_rows(found.z))

    # ---------------------------------------------------------------------- rows that join and leave
    def extended(self, X, y, weight, merge=True):
        return self._changed(self.rows.extended(X, y, weight, merge))

    def without(self, gone):
        return self._changed(self.rows.without(gone)[0])

    def _changed(self, rows):
        """The fit to other rows at the same hyper-parameters: equal to a new one."""
        f = self.how.refit(self.posterior, rows, evidence_of(self.precisions), self.plan)
        options = {"flat": self.flat, "precisions": self.precisions, "how": self.how, "plan": self.plan}
        return type(self).of(f, self.how.random_state, **options)


def enough_neighbours(densities, k, most, clock=FOREVER, least=lambda densities: GAIN):
    """(k, [[k, mean log density], …] of those tried): doubled, up to ``most``, while rows left out gain by it.

    Parameters
    ----------
    densities : callable
        k ↦ log density of each of some rows, left out and predicted from their k nearest others.
    k, most : int
    clock : Clock, default=FOREVER
        What does not fit is not tried.
    least : callable, default=0.02
        (densities of k) ↦ what twice as many must gain, of the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.approximate.neighbours_state import enough_neighbours
    >>> enough_neighbours(lambda k: np.full(9, -1.0 / k), 8, 64)
    (32, [[8, -0.125], [16, -0.0625], [32, -0.03125], [64, -0.015625]])
    """
    here, tried = None, []
    while 2 * k <= most:
        if here is None:
            timed, here = Clock(), densities(k)
            tried.append([k, float(here.mean())])
        if not clock.fits(AHEAD * timed.seconds):
            break
        timed, there = Clock(), densities(2 * k)
        tried.append([2 * k, float(there.mean())])
        gain = there - here
        if not gain.mean() > max(least(here), SURE * float(gain.std()) / np.sqrt(len(gain))):
            break
        k, here = 2 * k, there
    return k, tried


def enough_rows(posterior, seed, most, clock):
    """`enough_neighbours` of the rows of a posterior."""
    own = some_rows(posterior.rows, seed, TRIED)
    most = min(most, posterior.rows.n - 1)
    return enough_neighbours(lambda k: density(*left_out(posterior, own, k)), posterior.k, most, clock)


def describe_tried(tried):
    """Words about the k that were tried; none where there was one."""
    if not tried:
        return ""
    return f" Neighbours tried (log density of rows left out): {', '.join(f'{k} ({value:.4g})' for k, value in tried)}."


def some_rows(rows, seed, most=LEFT_OUT):
    """Those of the rows used that are left out."""
    return np.sort(np.random.default_rng(seed + 1).permutation(len(rows.index))[:most])


def left_out(posterior, own, k=None):
    """(yᵣ − f₋ᵣ(xᵣ), variance of yᵣ) of some rows: where one of several copies leaves, the others stay.

    A point with share s of its weight in row r, told by the other points as N(m, v) with noise g, is told by the copies
    too: with h = v/(v(1 − s) + g) and e = yᵣ − ȳ the residual is (ȳ − m) + e − h((1 − s)(ȳ − m) − s e), the variance
    g(h + 1/s). New rows have copies among the old as often as these.
    """
    rows = posterior.rows
    order, point = posterior.ordered.order, rows.index[own]
    residuals, variance = posterior.left_out(np.argsort(order)[point], k)
    if not rows.merged or not posterior.lam > 0:
        return residuals, variance
    share, noise = rows.shares()[own], posterior.lam / rows.weights()[point]
    v, rest = np.maximum(variance - noise, 0.0), rows.row_y[own] - rows.y[point]
    h = v / (v * (1.0 - share) + noise)
    told = h[:, None] * ((1.0 - share)[:, None] * residuals - share[:, None] * rest)
    return residuals + rest - told, noise * (h + 1.0 / share)


def density(residuals, variance):
    """log N(residuals; 0, variance) of each row, the mean over targets."""
    z2 = residuals**2 / variance[:, None]
    return -0.5 * (LOG_2PI + np.log(variance) + z2.mean(axis=1))


def mean_square(residuals, variance):
    """The mean z² of rows left out: 1 where variances are right."""
    return float(np.mean(residuals**2 / variance[:, None]))


def _report(posterior, residuals, variance, fewer, factor, tried):
    """The numbers, the verdict and the words; ``fewer`` as half the neighbours leave them."""
    k, here, fewer = posterior.k, density(residuals, variance), None if fewer is None else density(*fewer)
    inside = np.abs(residuals) <= ndtri((1.0 + LEVEL) / 2.0) * np.sqrt(variance)[:, None]
    covered, count = float(inside.mean()), len(residuals)
    error = float(here.std() / np.sqrt(count))
    said = {
        "k": k, "landmarks": 0 if posterior.points is None else len(posterior.points),
        "rows_left_out": count, "coverage": covered, "mean_square": mean_square(residuals, variance),
        "recalibrated": factor, "log_density": float(here.mean()), "rmse": float(np.sqrt(np.mean(residuals**2))),
        "tried": tried,
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
        words += "; predict_interval(X) has the coverage of the rows left out"
    return said | posterior.about(f"{words}.{describe_tried(tried)}")


def left_out_near(kernel, rows, b, count, k):
    """λ ↦ (t,): the rms error of each target at some rows, each left out and predicted from its k neighbours and Hb.

    Which these are does not depend on λ: they are looked up once.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.approximate.neighbours_state import left_out_near
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 9, 100)[:, None]
    >>> error = left_out_near(Gaussian(1.0), Rows(X, np.sin(X)), np.zeros((0, 1)), 50, 8)
    >>> bool(error(1e-4)[0] < 0.01 < error(1.0)[0])
    True
    """
    ordered, own = OrderedRows(kernel, rows, 1.0, 0), np.arange(min(count, rows.n))
    index = ordered.near.others(own, min(k, rows.n - 1))

    def error(lam):
        local, rest, _, _ = ordered.at(kernel, lam).told(index, own)
        return np.sqrt(np.mean((ordered.y[own] - local - rest @ b) ** 2, axis=0))

    return error
