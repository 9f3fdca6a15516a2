"""What a model on landmarks keeps of its rows: some of them under the model without them, and the sums of all."""

import math

import numpy as np

from mercer._state import check
from mercer.gram import apply
from mercer.primal.squared import Sums, equations
from mercer.sources import Arrays

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
}


class KeptLandmarks:
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
        Of their targets by the model without each, noise λ/w included; nan after a file of an older version.
    dof : float
        Degrees of freedom of the fit.
    unit : float
        What y was divided by.
    aside : ndarray of shape (a, t)
        y − f(x) of rows that were held out, in the unit; none where none were asked for.
    aside_scale : ndarray of shape (a,)
        √(v(x) + λ/w) of these.
    aside_index : ndarray of shape (a,)
        Which rows these are; -1 after a file of an older version.
    live : SquaredFit or None
        The fit itself; a file does not keep it.
    """

    state_version = 2  # the first had no variances

    def __init__(
        self, n, index, residuals, leverage, variance, dof, unit=1.0, aside=None, aside_scale=None, aside_index=None,
        live=None,
    ):  # fmt: skip
        self.n, self.index, self.residuals, self.leverage, self.variance = n, index, residuals, leverage, variance
        self.dof, self.unit, self.live = dof, unit, live
        self.aside = np.zeros((0, residuals.shape[1])) if aside is None else aside
        self.aside_scale = np.zeros(0) if aside_scale is None else aside_scale
        self.aside_index = np.full(len(self.aside), -1) if aside_index is None else aside_index

    @classmethod
    def of(cls, grown, n, unit):
        """Return what is kept of a fit."""
        fit = grown.fit
        weight = grown.sample.some.weight
        index = grown.sample.index if weight is None else grown.sample.index[weight > 0]
        residuals = grown.left.out() / np.sqrt(fit.weight)[:, None]
        variance = fit.unseen() + fit.lam / fit.weight / np.maximum(grown.left.rest, 1e-16)
        dof = fit.normal.dof(fit.lam) + fit.design.q
        return cls(n, index, residuals, 1.0 - grown.left.rest, variance, dof, unit, *_aside(grown), live=fit)

    def state(self):
        """{name: value}: what a file keeps."""
        return {name: getattr(self, name) for name in FIELDS}

    @classmethod
    def from_state(cls, state):
        """Return what had this state."""
        check(state, FIELDS, "KeptLandmarks")
        if state["index"].max(initial=-1) >= state["n"]:
            raise ValueError("KeptLandmarks.index names a row that is not there.")
        return cls(**state)

    @classmethod
    def migrate(cls, version, state):
        """Return the state of today: without what an older version did not keep."""
        return {
            **state,
            "variance": np.full(len(state["index"]), np.nan),
            "aside_index": np.full(len(state["aside"]), -1),
        }

    def to_rows(self, values):
        """Values of the rows that were drawn, among all n; nan for the others."""
        out = np.full((self.n, *np.shape(values)[1:]), np.nan)
        out[self.index] = values
        return out

    def split(self, X, normalise, weight=None):
        """(residuals of the rows held out, their scale, the scale at X) for split conformal intervals."""
        if not len(self.aside):
            raise ValueError(
                'method="split" needs calibration=(X, y), or rows held out: approximation=Landmarks(held=5000).'
            )
        if not normalise:
            return self.aside * self.unit, 1.0, 1.0
        return self.aside * self.unit, self.aside_scale, self.deviation(X, weight)

    def deviation(self, X, weight=None):
        """√(v(x) + λ/w) of new targets in the Gaussian reading; ValueError after a file."""
        fit = self._factored()
        return np.sqrt(variance(fit, X) + fit.lam / (1.0 if weight is None else weight))

    @property
    def std(self):
        """Standard deviations of the targets of the rows drawn, by the model without each."""
        return np.sqrt(self.variance)

    def _factored(self):
        """The fit itself, or ValueError."""
        if self.live is None:
            raise ValueError("deviations need the factor of the fit, which a file does not keep; fit again.")
        return self.live

    # ---------------------------------------------------------------------- rows that join and leave
    def changed(self, X, y, weight, sign):
        """(α, b, what is kept): the same landmarks, kernel and λ with the sums of further rows, or without these."""
        fit = self.live
        if fit is None:
            raise ValueError("the sums of the rows are not in a file: fit again, and rows can join and leave.")
        block = Arrays(X, y / self.unit, weight)
        sums = fit.sums.plus(Sums.of(block, fit.design, fit.chosen.L, fit.single), sign)
        if not sums.n > fit.design.q:
            raise ValueError(f"{-len(y) if sign < 0 else len(y)} rows would leave {sums.n:.0f}.")
        normal = equations(sums, fit.chosen.L, fit.design)
        fit = type(fit)(**{**vars(fit), "sums": sums, "normal": normal, "solution": normal.solve(fit.lam)})
        n, none = self.n + int(sign) * len(y), np.zeros(0, dtype=np.int64)
        nobody = np.zeros((0, fit.design.t)), np.zeros(0)
        kept = KeptLandmarks(n, none, *nobody, np.zeros(0), normal.dof(fit.lam) + fit.design.q, self.unit, live=fit)
        return *plain(fit), kept


def _aside(grown):
    """(residuals, scale, which rows) of those that were held out; a weight of 0 is no row."""
    fit, block, index = grown.fit, grown.held, grown.held_index
    if block is None:
        return None, None, None
    if block.weight is not None:
        used = np.flatnonzero(block.weight > 0)
        block, index = block.cut_to(used), index[used]
    alpha, b = plain(fit)
    f = apply(fit.design.kernel, block.X, fit.design.points, alpha)
    f = f + fit.design.trend(block.X) @ b if fit.design.q else f
    noise = fit.lam if block.weight is None else fit.lam / block.weight
    return block.y - f, np.sqrt(variance(fit, block.X) + noise), index


def plain(fit):
    """(α, b) in the coordinates of the data."""
    return fit.design.plain(fit.solution)


def norm(fit):
    """‖f‖ = √(αᵀK_mm α) of each target."""
    half = fit.chosen.L.T @ fit.solution.alpha
    return np.sqrt(np.einsum("mt,mt->t", half, half))


def variance(fit, X):
    """Latent v(x) on landmarks, never below 0."""
    from mercer.primal.posterior import LandmarkPosterior  # loads what a process needs, and a ridge regression does not

    return LandmarkPosterior.of(fit).variance(X)


def after_change(found, n):
    """The certificate of a fit whose rows have changed: what was certified was another."""
    if found["verdict"] == "not certified":
        return found
    said = {
        "kind": "landmarks",
        "m": found["m"],
        "verdict": "not certified",
        "loo": [],
        "distance": math.nan,
        "rows": n,
    }
    said["words"] = f"not certified: rows joined or left after the fit on {n} rows was made. {found['words']}"
    return said
