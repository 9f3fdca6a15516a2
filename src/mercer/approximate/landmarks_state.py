"""A fit on landmarks: its sums, and some of its rows under the model without them."""

import math
from dataclasses import dataclass, replace

import numpy as np

from mercer._state import check
from mercer.approximate.fitted import Fitted, Scores, by_target, conventions, expansion, number_by_target
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import apply
from mercer.primal.posterior import LandmarkPosterior
from mercer.primal.row_keys import RowKeys, row_keys
from mercer.primal.squared import SquaredFit, Sums, equations
from mercer.solvers.fitted import LeftOut
from mercer.sources import Arrays
from mercer.uncertainty import calibration_of

AFTER = (
    "rows joined or left after the fit, and none are left out one by one since: fit again, or hold rows out from the "
    "beginning, approximation=Landmarks(held=5000)."
)

FIELDS = {
    "n": "size n",
    "index": "int s",
    "residuals": "float s t",
    "leverage": "float s",
    "variance": "float s",
    "dof": "number",
    "unit": "number",
    "aside": "float a t",
    "aside_scale": "float a",
    "aside_index": "int a",
    "flat": bool,
    "solved": bool,
    "posterior": (LandmarkPosterior, None),
}


class LandmarkState(Fitted):
    """Rows that were left out one by one, and the sums of all rows: for intervals, further rows and rows that leave.

    Attributes
    ----------
    n : int
        Rows of the fit.
    index : ndarray of shape (s,)
        Rows that were drawn, by the hash of their number.
    residuals : ndarray of shape (s, t)
        y − f₋ᵢ(x) of each under the model without it, in the unit.
    leverage : ndarray of shape (s,)
    variance : ndarray of shape (s,)
        Of their targets by the model without each, noise λ/w included.
    dof : float
        Degrees of freedom of the fit.
    unit : float
        What y was divided by.
    aside : ndarray of shape (a, t)
        y − f(x) of rows that were held out, in the unit; none where none were asked for.
    aside_scale : ndarray of shape (a,)
        √(v(x) + λ/w) of these.
    aside_index : ndarray of shape (a,)
        Which rows these are.
    flat : bool
        Whether y is one column.
    solved : bool
        Whether all rows were solved for: deviations are then those of another fit.
    posterior : LandmarkPosterior or None
        Of a Gaussian process.
    live : Live or None
        The fit itself; a file does not keep it.
    """

    FIELDS = FIELDS
    dof = 0.0

    def __init__(
        self, n, index, residuals, leverage, variance, dof, unit=1.0, aside=None, aside_scale=None, aside_index=None,
        flat=True, solved=False, posterior=None, live=None,
    ):  # fmt: skip
        self.n, self.index, self.residuals, self.leverage, self.variance = n, index, residuals, leverage, variance
        self.dof, self.unit, self.live, self.flat, self.solved = dof, unit, live, flat, solved
        self.posterior = posterior
        self.aside = np.zeros((0, residuals.shape[1])) if aside is None else aside
        self.aside_scale = np.zeros(0) if aside_scale is None else aside_scale
        self.aside_index = np.full(len(self.aside), -1) if aside_index is None else aside_index

    @classmethod
    def of(cls, grown, n, unit, flat, posterior=None):
        """Return the state of a `LandmarkFit`."""
        fit = grown.fit
        weight = grown.sample.some.weight
        index = grown.sample.index if weight is None else grown.sample.index[weight > 0]
        residuals = grown.left.out() / np.sqrt(fit.weight)[:, None]
        variance = fit.unseen() + fit.lam / fit.weight / np.maximum(grown.left.rest, 1e-16)
        dof = fit.normal.dof(fit.lam) + fit.design.q
        live = Live(fit, grown.digest, grown.held)
        options = {"flat": flat, "posterior": posterior, "live": live}
        found = cls(n, index, residuals, 1.0 - grown.left.rest, variance, dof, unit, **options)
        return found if grown.held is None else found._with_aside(grown.held_index)

    @classmethod
    def from_state(cls, state):
        """Return what had this state."""
        check(state, FIELDS, "LandmarkState")
        if state["index"].max(initial=-1) >= state["n"]:
            raise ValueError("LandmarkState.index names a row that is not there.")
        return cls(**state)

    @property
    def targets(self):
        return self.residuals.shape[1]

    @property
    def holds_rows_out(self):  # type: ignore[override]
        return True  # or says how to

    def attributes(self):
        return self.learnt | {"landmarks_": self}

    # ---------------------------------------------------------------------- rows left out
    def _to_rows(self, values, index=None):
        """Values of the rows that were drawn, or of those of an index, among all n; nan for the others."""
        out = np.full((self.n, *np.shape(values)[1:]), np.nan)
        out[self.index if index is None else index] = values
        return out

    def left_out(self):
        return LeftOut(*map(self._to_rows, (self.residuals * self.unit, self.leverage, self.variance)))

    @property
    def std(self):
        """Standard deviations of the targets of the rows drawn, by the model without each."""
        return np.sqrt(self.variance)

    def scores(self, X, normalise, weight):
        if not len(self.residuals):
            raise ValueError(AFTER)
        scales = (self.std, self.deviation(X, weight)) if normalise else (1.0, 1.0)
        return Scores(self.residuals * self.unit, *scales)

    def held_scores(self, X, normalise, weight):
        if not len(self.aside):
            raise ValueError(
                'method="split" needs calibration=(X, y), or rows held out: approximation=Landmarks(held=5000).'
            )
        if not normalise:
            return Scores(self.aside * self.unit)
        return Scores(self.aside * self.unit, self.aside_scale, self.deviation(X, weight))

    def deviation(self, X, weight=None):
        """√(v(x) + λ/w) of new targets in the Gaussian reading; ValueError after a file."""
        fit = self._factored().fit
        return np.sqrt(variance(fit, X) + fit.lam / (1.0 if weight is None else weight))

    def calibration(self, levels):
        if self.solved:
            raise ValueError(
                "the deviations at hand are those of the landmarks, not of the solution for all rows: use "
                "approximation=Landmarks(...) without solve, or None."
            )
        residuals, deviations, index = self._judged()
        found = calibration_of(residuals / deviations[:, None], self.flat, levels)
        return replace(found, z=self._to_rows(found.z, index))

    def _factored(self):
        """What is live, or ValueError."""
        if self.live is None:
            raise ValueError("deviations need the factor of the fit, which a file does not keep; fit again.")
        return self.live

    def take_held_from(self, points, alpha, b):
        """Take the residuals of the rows held out from another fit, f(x) = Σ αⱼ k(x, xⱼ) + h(x)ᵀb in the unit."""
        design, block = self.live.fit.design, self.live.held
        f = apply(design.kernel, block.X, points, alpha)
        self.aside = block.y - (f + design.trend(block.X) @ b if design.q else f)

    def _judged(self):
        """(residuals in the unit, their deviations, which rows) of rows that a fit has not seen, or was left out of."""
        held = len(self.aside) > 0
        if not held and not len(self.index):
            raise ValueError(AFTER)
        scale, index = (self.aside_scale, self.aside_index) if held else (self.std, self.index)
        return self.aside if held else self.residuals, scale, index

    # ---------------------------------------------------------------------- rows that join and leave
    def extended(self, X, y, weight, merge=True):
        return self._changed(X, y, weight, 1.0)

    def reduced(self, X, y, weight):
        return self._changed(X, y, weight, -1.0)

    def _changed(self, X, y, weight, sign):
        """The same landmarks, kernel and λ with the sums of further rows, or without these."""
        if self.live is None:
            raise ValueError("the sums of the rows are not in a file: fit again, and rows can join and leave.")
        fit, block = self.live.fit, Arrays(X, y / self.unit, weight)
        rows = block.take(np.arange(len(y)))
        digest = self.live.digest_after(rows, sign)
        sums = fit.sums.plus(Sums.of(block, fit.design, fit.chosen.L), sign)
        if not sums.n > fit.design.q:
            raise ValueError(f"{-len(y) if sign < 0 else len(y)} rows would leave {sums.n:.0f}.")
        try:
            normal = equations(sums, fit.chosen.L, fit.design)
            fit = replace(fit, sums=sums, normal=normal, solution=normal.solve(fit.lam))
        except NotPositiveDefinite:
            message = "without these rows what is left are no sums of rows: were they fitted? Nothing has changed."
            raise ValueError(message) from None
        n, none = self.n + int(sign) * len(y), np.zeros(0, dtype=np.int64)
        nobody, dof = (np.zeros((0, fit.design.t)), np.zeros(0)), normal.dof(fit.lam) + fit.design.q
        held, index = self.live.held_after(rows, self.aside_index) if sign > 0 else (self.live.held, self.aside_index)
        options = {"flat": self.flat, "live": Live(fit, digest, held)}
        state = LandmarkState(n, none, *nobody, np.zeros(0), dof, self.unit, **options)
        state.posterior = None if self.posterior is None else LandmarkPosterior.of(fit)
        state = state if held is None else state._with_aside(index)
        publish = ridge_on_landmarks if state.posterior is None else process_on_landmarks
        state.learnt, state._before = publish(state), (self.n, self.live.digest is not None, sign)
        state._dropped = int(sign) * np.count_nonzero(weight == 0)
        return state

    def report_after_change(self, report):
        found = {**report, "rows": self.n, "dropped_rows": report["dropped_rows"] + self._dropped}
        found["approximation"] = after_change(report["approximation"], *self._before)
        if self.posterior is None:
            return found
        found["updates"] = report.get("updates", 0) + 1
        return found | bound_of_evidence(self)

    def _with_aside(self, index):
        """These, with what the fit says of the rows of an index that were held out; a weight of 0 is no row."""
        fit, block = self.live.fit, self.live.held
        if block.weight is not None and len(index) == len(block):
            used = np.flatnonzero(block.weight > 0)
            block, index = block.cut_to(used), index[used]
            self.live = replace(self.live, held=block)
        noise = fit.lam if block.weight is None else fit.lam / block.weight
        self.take_held_from(fit.design.points, *plain(fit))
        self.aside_index = index
        self.aside_scale = np.sqrt(variance(fit, block.X) + noise)
        return self


@dataclass(frozen=True)
class Live:
    """What a file does not keep: the fit itself, which rows it has, and those that were held out of it."""

    fit: SquaredFit
    digest: RowKeys | None
    held: object = None  # Block

    def digest_after(self, rows, sign):
        """The digest with further rows, or without these; ValueError where some of them are not in the fit."""
        given = rows.X, rows.y, rows.weight
        if self.digest is not None and sign > 0:
            return self.digest.plus(*given)
        strange = self.digest.missing(*given) if self.digest is not None else self._held_among(rows) if sign < 0 else ()
        if len(strange):
            raise ValueError(
                f"{len(strange)} of these {len(rows)} rows, the first of them number {strange[0]}, are not in the fit "
                "with such a weight: they were held out, have left already, or never were there. Nothing has changed."
            )
        return None if self.digest is None else self.digest.without(*given)

    def _held_among(self, rows):
        """Which of some rows were held out."""
        known = None if self.held is None else row_keys(self.held.X, self.held.y)
        return () if known is None else np.flatnonzero(np.isin(row_keys(rows.X, rows.y), known))

    def held_after(self, rows, index):
        """(rows still held out, their index) where some rows join: those that are among them have been seen."""
        known = None if self.held is None else row_keys(self.held.X, self.held.y)
        if known is None:
            return self.held, index
        stay = np.flatnonzero(~np.isin(known, row_keys(rows.X, rows.y)))
        return self.held.cut_to(stay), index[stay]


def plain(fit):
    """(α, b) in the coordinates of the data."""
    return fit.design.in_data_units(fit.solution)


def norm(fit):
    """‖f‖ = √(αᵀK_mm α) of each target."""
    half = fit.chosen.L.T @ fit.solution.alpha
    return np.sqrt(np.einsum("mt,mt->t", half, half))


def variance(fit, X):
    """Latent v(x) on landmarks, never below 0."""
    return LandmarkPosterior.of(fit).variance(X)


def ridge_on_landmarks(state):
    """What a ridge regression on landmarks publishes, at its sums."""
    fit, unit, flat = state.live.fit, state.unit, state.flat
    alpha, b = plain(fit)
    return expansion(fit.design.kernel, fit.chosen.points, alpha * unit, b * unit, flat) | {
        "lam_": fit.lam, "rkhs_norm_": number_by_target(norm(fit) * unit, flat),
        "regularization_": conventions(fit.lam, fit.sums.weight),
    }  # fmt: skip


def process_on_landmarks(state):
    """What a Gaussian process on landmarks publishes."""
    f, fit = state.posterior, state.live.fit
    return {
        "kernel_": f.kernel, "lam_": f.lam, "noise_": f.lam, "points_": f.points,
        "dual_coef_": by_target(f.alpha, state.flat), "trend_coef_": f.b if f.trend is None else f.trend.natural(f.b),
        "trend_centre_": None if f.trend is None else f.trend.centre,
        "regularization_": conventions(f.lam, fit.sums.weight),
        "log_marginal_likelihood_value_": float(fit.evidence(f.lam)),
    }  # fmt: skip


def bound_of_evidence(state):
    """What a report says of log p(y)."""
    fit = state.live.fit
    return {"log_marginal_likelihood": f"at least {float(fit.evidence(state.posterior.lam)):.6g}"}


def after_change(found, n, checked, sign):
    """The certificate of a fit of n rows after some have changed: what was certified was another."""
    unchecked = " Whether the rows that left were there could not be told." if sign < 0 and not checked else ""
    if found["verdict"] == "not certified":
        return found | {"words": found["words"] + (unchecked if unchecked not in found["words"] else "")}
    numbers = {"kind": "landmarks", "m": found["m"], "verdict": "not certified", "loo": [], "distance": math.nan}
    words = f"not certified: rows joined or left after the fit on {n} rows was made."
    return numbers | {"rows": n, "words": f"{words}{unchecked} {found['words']}"}
