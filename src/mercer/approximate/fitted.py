"""What a fit has learnt, and all that its model asks of it afterwards."""

from typing import Any, NamedTuple

import numpy as np

from mercer._state import check
from mercer.exceptions import NeedsAllRows
from mercer.inference.moments import Posterior


class Scores(NamedTuple):
    """Residuals of rows that a model has not seen, their scale, that of new rows, and how often each counts.

    ``copies`` are weights of rows that stand for so many; None counts each row once, whatever its weight.
    """

    residuals: np.ndarray
    scale: Any = 1.0
    new_scale: Any = 1.0
    copies: np.ndarray | None = None


class Fitted:
    """What an approximation has made of a problem: what the model publishes, and the answers about its rows.

    Whoever derives from this answers what it can. Every other question has an answer here: a refusal in words.

    Attributes
    ----------
    FIELDS : dict
        {name: what it must be} of what a file keeps.
    learnt, said : dict
        What the model publishes, and what the report says.
    flat : bool
        Whether y was one column.
    result : SearchResult or None
        How hyper-parameters were chosen.
    plan : Plan or None
        That of the fit, where it is another than the one it began with.
    exact : bool
        Whether there is one system of all rows: paths of λ, influence, fits without a row.
    calibrated : bool
        Whether intervals are taken from rows left out, unless another method is asked for.
    states_errors : bool
        Whether its deviations are those of one process for all rows, and can be compared with its residuals.
    holds_rows_out : bool
        Whether rows were held out of the fit, for intervals.
    rows : Rows or None
        The rows of the fit, where it keeps them.
    slopes : (Trend, b) or None
        Of a trend that is more than a constant.
    posterior : Posterior or None
        The process at new inputs.
    """

    FIELDS: dict = {}
    learnt: dict = {}
    said: dict = {}
    flat = True
    result: Any = None
    plan: Any = None
    rows: Any = None
    slopes: tuple | None = None
    posterior: Posterior | None = None
    exact = calibrated = states_errors = holds_rows_out = False

    def attributes(self):
        """{public name: value} that the model publishes."""
        return self.learnt

    def report(self):
        """{name: value} for ``fit_report_``."""
        return self.said

    def state(self):
        """{name: value}: what a file keeps."""
        return {name: getattr(self, name) for name in self.FIELDS}

    @classmethod
    def from_state(cls, state):
        """Return the fit that had this state."""
        check(state, cls.FIELDS, cls.__name__)
        return cls(**state)

    @property
    def targets(self):
        """Columns of y."""
        return self.rows.t

    def calibrates(self, coverage):
        """Whether enough rows were left out to say how far a share of new targets reaches."""
        return False

    def evidence_terms(self, criterion):
        """log p(y), term by term, as a criterion has it that is the evidence."""
        raise NeedsAllRows("log p(y) term by term")

    # ---------------------------------------------------------------------- rows left out
    def deletion(self):
        """Every fit without a row."""
        raise NeedsAllRows("a fit without each row")

    def left_out(self):
        """`LeftOut` of all rows given, in units of y; nan for those that were not left out."""
        raise NeedsAllRows("what is known of each row without it")

    @property
    def dof(self):
        """Σ ∂f(xᵢ)/∂yᵢ."""
        return float("nan")

    def deviation(self, X, weight=None):
        """√(v(x) + λ/w) of new targets."""
        v, lam = self.posterior.moments(X).variance, self.posterior.lam
        return np.sqrt(v + lam / (1.0 if weight is None else weight))

    def scores(self, X, normalise, weight):
        """`Scores` of rows left out, in units of y; ``normalise`` by the deviations that the model states."""
        raise NeedsAllRows("intervals by rows left out")

    def held_scores(self, X, normalise, weight):
        """The same of rows held out of the fit."""
        raise ValueError("no rows were held out of this fit: give calibration=(X, y).")

    def calibration(self, levels):
        """`Calibration` of the errors that the model states."""
        raise NeedsAllRows("whether the errors stated are right")

    # ---------------------------------------------------------------------- rows that join and leave
    def extended(self, X, y, weight, merge=True):
        """`Fitted` with further rows at the same hyper-parameters."""
        raise ValueError("rows cannot join this fit: fit again.")

    def without(self, gone):
        """`Fitted` without the rows given that are marked in ``gone``."""
        raise ValueError("rows cannot leave this fit: fit again.")

    def reduced(self, X, y, weight):
        """`Fitted` without the rows that are given, of a fit that keeps none."""
        raise ValueError("forget(X, y) is for landmarks; this fit keeps its rows: give their index.")

    def report_after_change(self, report):
        """What ``fit_report_`` says after rows have joined or left, from what it said."""
        return {**report, **self.report(), "updates": report.get("updates", 0) + 1}


def conventions(lam, n):
    """λ of K + λI in the other conventions of the lectures.

    ``lam_over_n``: λ′ of K + Nλ′I (004) and of K/N + λ′I (002); ``C``: the box 1/(2Nλ′) of the support vector
    dual (004); ``noise_variance``: σ² of a Gaussian process (000, 001).
    """
    return {"lam": lam, "lam_over_n": lam / n, "C": 1.0 / (2.0 * lam) if lam > 0 else np.inf, "noise_variance": lam}


def by_target(values, flat):
    """Values without the axis of targets, if y came without one."""
    return values[..., 0] if flat else values


def number_by_target(values, flat):
    """A number where y is one column, else one for each target."""
    return float(values[0]) if flat else values


def expansion(kernel, points, alpha, b, flat):
    """What Σⱼ αⱼ k(x, xⱼ) + b publishes; b is of shape (t,), (q, t), or empty."""
    b = np.reshape(b, (-1, alpha.shape[1]))
    return {
        "kernel_": kernel, "points_": kernel.stored_inputs(points), "dual_coef_": by_target(alpha, flat),
        "intercept_": number_by_target(b[0], flat) if b.size else 0.0,
    }  # fmt: skip


def trend_attributes(trend, b, flat):
    """What is published of b, of shape (q, t): what is the same for every x is the intercept."""
    plain = b[0] if b.size and slopes_of(trend, b) is None else np.zeros(0)
    intercept = number_by_target(plain, flat) if plain.size else 0.0
    return {"trend_coef_": b if trend is None else trend.natural(b), "intercept_": intercept}


def slopes_of(trend, b):
    """(Trend, b) of one that is more than a constant; None of others."""
    return None if trend is None or trend.plain else (trend, b)
