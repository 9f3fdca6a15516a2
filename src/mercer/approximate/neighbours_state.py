"""A fit by neighbours: its posterior, some rows left out one by one, and what they say of errors."""

from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from mercer._state import check
from mercer.approximate.base import Approximation
from mercer.approximate.fitted import Fitted, Scores, slopes_of
from mercer.approximate.neighbours_left_out import Copies, left_out, log_density, words_of_trials
from mercer.approximate.options import NeighbourOptions
from mercer.approximate.process import evidence_of, process_attributes
from mercer.inference.fourier import FourierPosterior
from mercer.inference.neighbours import NeighbourPosterior
from mercer.solvers.fitted import LeftOut
from mercer.solvers.plan_class import Plan
from mercer.uncertainty import calibration_of

FIELDS = {
    "posterior": (NeighbourPosterior, FourierPosterior),
    "index": "int s", "residuals": "float s t", "variance": "float s",
    "distinct_residuals": "float g t", "distinct_variance": "float g", "copies": "float g", "certificate": dict,
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
    distinct_residuals, distinct_variance : ndarray of shape (g, t), (g,)
        The same of rows that leave with all their copies, which intervals are made of.
    copies : ndarray of shape (g,)
        How often each of these counts: its weight, or once where weights are precisions.
    certificate : dict
        What ``fit_report_["approximation"]`` says.
    flat, precisions : bool
        Whether y is one column, and whether each row has a noise variance of its own.
    how : Approximation
        By which the fit is made again for other rows.
    plan : Plan
    """

    FIELDS = FIELDS
    calibrated = True

    def __init__(
        self, posterior, index, residuals, variance, distinct_residuals, distinct_variance, copies, certificate, flat,
        precisions, how, plan,
    ):  # fmt: skip
        self.posterior, self.index, self.residuals, self.variance = posterior, index, residuals, variance
        self.distinct_residuals, self.distinct_variance, self.copies = distinct_residuals, distinct_variance, copies
        self.certificate, self.flat, self.precisions, self.how, self.plan = certificate, flat, precisions, how, plan
        self._fewer, self._points, self._options = None, None, NeighbourOptions()

    @classmethod
    def of(cls, posterior, seed, tried=(), *, precisions, options=None, **attributes):
        """Return the state of a posterior; ``tried`` are the numbers of neighbours that were."""
        options, rows = NeighbourOptions() if options is None else options, posterior.rows
        copies = Copies.of(rows, precisions)
        drawn = copies.draw(seed, options.left_out)
        first, share, count = copies.first[drawn], copies.share[drawn], copies.times[drawn]
        half = max(1, posterior.k // 2)
        distinct = left_out(posterior, first, share)
        fewer = left_out(posterior, first, share, half) if half < posterior.k and posterior.local else None
        own = first if len(copies.first) == len(rows.index) else copies.rows_of(drawn, options.left_out)
        each = distinct if own is first else left_out(posterior, own, rows.shares()[own])
        said = _certificate(posterior, *distinct, count, fewer, None, list(tried), options.gain)
        self = cls(posterior, rows.used[own], *each, *distinct, count, said, precisions=precisions, **attributes)
        self._fewer, self._points, self._options = fewer, rows.index[first], options
        return self

    def variance_factor(self):
        """What all variances are to be multiplied by: the mean z² of points left out, and of rows about their point.

        A point leaves with all its rows, so that a whole weight is as many equal rows, as in the evidence; where
        weights are precisions, each row counts once.
        """
        posterior, rows, point = self.posterior, self.posterior.rows, self._points
        residuals, variance = self.distinct_residuals, self.distinct_variance
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
        fewer = None if self._fewer is None else (self._fewer[0], c * self._fewer[1])
        distinct, tried = (self.distinct_residuals, c * self.distinct_variance, self.copies), self.certificate["tried"]
        said = _certificate(posterior, *distinct, fewer, c, tried, self._options.gain)
        options = (said, self.flat, self.precisions, self.how, self.plan)
        other = type(self)(posterior, self.index, self.residuals, c * self.variance, *distinct, *options)
        other._options = self._options
        return other

    @classmethod
    def from_state(cls, state):
        """Return what had this state."""
        check(state, FIELDS, "NeighbourState")
        if state["index"].max(initial=-1) >= state["posterior"].rows.given:
            raise ValueError("NeighbourState.index names a row that is not there.")
        return cls(**state)

    @property
    def rows(self):  # type: ignore[override]
        """The rows of the fit."""
        return self.posterior.rows

    @property
    def slopes(self):  # type: ignore[override]
        """(Trend, b) of a trend that is more than a constant."""
        return slopes_of(self.rows.trend, self.posterior.b)

    def calibrates(self, coverage):
        return 0 < coverage < 1 and (len(self.copies) + 1) * (1.0 - coverage) >= 1.0

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
        scales = (np.sqrt(self.distinct_variance), self.deviation(X, weight)) if normalise else (1.0, 1.0)
        return Scores(self.distinct_residuals, *scales, self.copies)

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
        return type(self).of(f, self.how.random_state, options=self._options, **options)


def _certificate(posterior, residuals, variance, count, fewer, factor, tried, gain):
    """The numbers, the verdict and the words; ``fewer`` is what half the neighbours leave."""
    k, level = posterior.k, 0.9

    def mean(values):
        return float(np.average(values, weights=count))

    here, z2 = log_density(residuals, variance), residuals**2 / variance[:, None]
    gained = None if fewer is None else here - log_density(*fewer)
    covered = mean((z2 <= ndtri((1.0 + level) / 2.0) ** 2).mean(axis=1))
    said = {
        "k": k, "landmarks": 0 if posterior.points is None else len(posterior.points),
        "rows_left_out": len(residuals), "coverage": covered, "mean_square": mean(z2.mean(axis=1)),
        "recalibrated": factor, "log_density": mean(here), "rmse": mean((residuals**2).mean(axis=1)) ** 0.5,
        "tried": tried,
    }  # fmt: skip
    right = abs(covered - level) <= 0.02 + 2.0 * np.sqrt(level * (1 - level) / max(len(residuals), 1))
    few = gained is not None and posterior.rows.n > k and mean(gained) > gain
    said["verdict"] = "not enough neighbours" if few and right else "calibrated" if right else "not calibrated"
    words = f"{said['verdict']}: of {len(residuals)} rows left out {covered:.1%} lie within their {level:.0%} intervals"
    words += f" (mean z² {said['mean_square']:.3g}"
    words += ")" if factor is None else f", after all variances were multiplied by {factor:.3g})"
    words += f"; log density {said['log_density']:.4g} ± {here.std() / np.sqrt(len(here)):.1g}"
    words += f" from {k} neighbours" if posterior.local else ""
    if gained is not None:
        said["log_density_of_half"] = said["log_density"] - mean(gained)
        words += f", {said['log_density_of_half']:.4g} from {max(1, k // 2)}"
    if few:
        words += f": more would help, {posterior.more.format(2 * k)}"
    if not right:
        words += "; predict_interval(X) has the coverage of the rows left out"
    return said | posterior.about(f"{words}.{words_of_trials(tried)}")
