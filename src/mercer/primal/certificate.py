"""How far a fit on landmarks is from the exact one, and whether more landmarks would be worth their time.

The distance: e = y − ŷ, w = e/λ, r = ŷ − K w − hᵀb for any b. The exact fit differs from ŷ by λ M r, M the inverse of
K + λI with the trend projected out, and ‖λM‖ <= 1: the rms of r bounds the rms distance. It is also at most √(J − D),
J = Σ e² + λ‖ŷ‖² and D = J²/(J + Q) what w says of the least J there is, Q = −eᵀr: of many rows and a small λ r is huge,
and this is below √J. Both are taken over some rows, and where these are not all, with a margin for that.

Each target has its own distance, error and curve. What is stated is that of one of them, the least certain: what many
equal targets are told is what one is told.
"""

import math
from dataclasses import dataclass

import numpy as np

from mercer._clock import duration
from mercer.exceptions import NumericalWarning

CERTIFIED = 0.1  # of the leave-one-out error: an error in quadrature of half a percent
FLAT = 0.005  # of the leave-one-out error: what twice the landmarks must gain to be worth it
FEW = 128  # landmarks below which a flat curve says little: none of them may see what there is to see
WORSE = 2.0  # times the spread of y: a leave-one-out error beyond is no measure of anything
MARGIN = 3.3  # standard errors: a bound from some of the rows fails once in a thousand times
REMEDY = "use a larger lam, or criterion=LOO()"
VERDICTS = ("certified", "good enough", "not enough landmarks")


def choose_rows(fit, most):
    """(index, times): the rows of the fit's sample that its distance is taken over, and how many each stands for.

    Half of them are those that the landmarks see least of: what is missing may be in a few rows far from all others.
    """
    count = len(fit.rows)
    if count <= most or count == fit.sums.n:
        return np.arange(count), np.ones(count)
    order = np.argsort(-fit.weight * fit.unseen(), kind="stable")
    far, near = order[: most // 2], order[most // 2 :]
    near = near[np.linspace(0, len(near) - 1, most - len(far)).astype(int)]
    times = np.append(np.ones(len(far)), np.full(len(near), (count - len(far)) / len(near)))
    return np.append(far, near), times


def distance(fit, remainder, index, times):
    """(t,): bounds of the rms over the training rows of |f_exact − f| of each target; rows scaled by √w are in the fit.

    Parameters
    ----------
    fit : SquaredFit
    remainder : Remainder
        Whose ``back`` is K W e at the rows of the index.
    index, times : ndarray
        As `choose_rows` gives them.
    """
    design, m, total = fit.design, fit.design.m, fit.sums.weight
    F, theta, weight = fit.rows[index], np.vstack(fit.solution), fit.weight[index, None]
    root = np.sqrt(weight)
    r = (F[:, :m] / root + design.centre) @ fit.solution.alpha - remainder.back / fit.lam
    if design.q and design.centred:
        r = r - np.average(r, axis=0, weights=weight[:, 0] * times)
    e = (F[:, m + design.q :] - F[:, : m + design.q] @ theta) / root
    near, Q = _means_at_most([weight * r**2, -weight * e * r], weight, times, fit)
    J = (remainder.rss + fit.lam * np.square(fit.chosen.L.T @ fit.solution.alpha).sum(axis=0)) / total
    left = 2.0 * np.abs(np.einsum("it,it->t", theta, remainder.gradient)) / total  # what is not quite the minimum
    Q = np.maximum(Q, 0.0) + left
    gap = np.divide(J * Q, J + Q, out=np.zeros_like(J), where=J + Q > 0)
    return np.sqrt(np.minimum(near, gap))


def _means_at_most(values, weight, times, fit):
    """Σ values/Σ weight of each column, with a margin where the rows are fewer than all, or stand for others."""
    times, count, some = times[:, None], float(times.sum()), times > 1.0
    mean_weight, found = float((times * weight).sum()) / count, []
    for each in values:
        each = each / mean_weight
        mean = (times * each).sum(axis=0) / count
        apart = each - mean * weight / mean_weight
        squares = (times * apart**2).sum(axis=0) / count / count * (1.0 - count / fit.sums.n)
        if some.any():
            rest = float(times[some].sum())
            squares += (rest / count) ** 2 * apart[some].var(axis=0) / some.sum() * (1.0 - some.sum() / rest)
        found.append(mean + MARGIN * np.sqrt(np.maximum(squares, 0.0)))
    return found


@dataclass
class Curve:
    """Leave-one-out errors of each target by more and more of the landmarks, at the same λ.

    Attributes
    ----------
    sizes : list of int
    errors : ndarray of shape (sizes, t)
        Root mean squares over the rows.
    noise : ndarray of shape (sizes, t)
        Standard errors of their squares beside those of all landmarks.
    spread : ndarray of shape (t,)
        What predicting each target without the kernel would leave.
    floor : ndarray of shape (t,)
        Errors that are rounding: of a constant target all are.
    pooled : ndarray of shape (2,)
        What half the landmarks lose, as a part of the squared error, the mean over the targets; and its standard error.
    """

    sizes: list
    errors: np.ndarray
    noise: np.ndarray
    spread: np.ndarray
    floor: np.ndarray
    pooled: np.ndarray

    @classmethod
    def of(cls, fit):
        """(`Curve` at m/4, m/2 and m, `Left` at m) of a fit."""
        m, total, n = fit.design.m, fit.weight.sum(), len(fit.rows)
        sizes = sorted({max(1, m // 4), max(1, m // 2), m})
        lefts = fit.normal.nested(fit.lam, fit.rows, sizes)
        squares = np.array([left.out() ** 2 for left in lefts])
        noise, errors = (squares - squares[-1]).std(axis=1) * math.sqrt(n) / total, squares.sum(axis=1) / total
        own = np.sqrt(errors[-1]) > fit.floor
        lost = (
            np.zeros(n)
            if len(sizes) < 2 or not own.any()
            else (squares[-2] - squares[-1])[:, own] @ (1.0 / errors[-1][own] / own.sum())
        )
        pooled = np.array([lost.sum(), lost.std() * math.sqrt(n)]) / total
        return cls(sizes, np.sqrt(errors), noise, fit.spread, fit.floor, pooled), lefts[-1]

    @property
    def last(self):
        """The errors at all landmarks, none below rounding."""
        return np.maximum(self.errors[-1], self.floor)

    @property
    def gains(self):
        """What m landmarks gain over half of them, as parts of the squared errors."""
        squares = self.last**2
        gained = self.errors[-2] ** 2 - self.errors[-1] ** 2 if len(self.sizes) > 1 else np.full(len(squares), np.inf)
        return np.divide(gained, squares, out=np.zeros_like(squares), where=self.errors[-1] > self.floor)

    @property
    def flat(self):
        """Whether m landmarks gain nothing that counts over half of them; never where the mean of y predicts better.

        The mean over the targets decides, each on its own scale, and none may gain what is surely not noise.
        """
        if len(self.sizes) < 2 or self.sizes[-1] < FEW or (self.last > WORSE * self.spread).any():
            return False
        noise = np.divide(self.noise[-2], self.last**2, out=np.zeros_like(self.last), where=self.last > 0)
        none = self.gains <= np.maximum(MARGIN * noise, 2.0 * FLAT)
        return bool(self.pooled[0] <= max(self.pooled[1], 2.0 * FLAT) and none.all())

    def points(self, target):
        """[(m′, LOO-RMSE, standard error of its square beside that at m)] of a target."""
        columns = self.sizes, self.errors[:, target], self.noise[:, target]
        return [(size, float(error), float(noise)) for size, error, noise in zip(*columns, strict=True)]

    def least_certain(self, bounds):
        """The target worse than its mean, else the one that gains most where the curve falls, else the furthest off."""
        relative = np.divide(bounds, self.last, out=np.zeros_like(bounds), where=bounds > 0)
        if (self.last > WORSE * self.spread).any():
            return int(np.argmax(np.divide(self.last, self.spread, out=np.zeros_like(bounds), where=self.last > 0)))
        open_ = relative > CERTIFIED
        return int(np.argmax(relative if self.flat or not open_.any() else np.where(open_, self.gains, -np.inf)))


def estimate_landmarks(points, most):
    """How many landmarks it would take until twice as many gain nothing: the gains fall as they have fallen so far."""
    m, full = points[-1][:2]
    if m < FEW or full == 0.0:
        return max(4 * m, FEW)
    first, second = points[0][1] ** 2 - points[1][1] ** 2, points[1][1] ** 2 - full**2
    ratio = min(max(second / first if first > 0 else 1.0, 0.1), 0.9)
    doublings = math.log(max(2.0 * FLAT * full**2 / max(second, 1e-300), 1e-9)) / math.log(ratio)
    # beyond sixteen times as many what the gains so far say is no guess
    return int(min(most, 16 * m, m * 2.0 ** max(1.0, math.ceil(doublings))))


def certificate(fit, bounds, rows, curve, stopped=None, seconds=0.0):
    """{name: plain value}: verdict, words and the numbers they rest on.

    Parameters
    ----------
    fit : SquaredFit
    bounds, rows
        As `distance` gives them.
    curve : Curve
    stopped : str, default=None
        Why there are no more landmarks, where somebody would have liked more.
    seconds : float
        What this fit took, of which n m² operations are most.
    """
    (missing, trace), target = fit.missing, curve.least_certain(bounds)
    points, bound, spread = curve.points(target), float(bounds[target]), float(curve.spread[target])
    loo = float(curve.last[target])
    low = fit.normal.dof(fit.lam) + fit.design.q
    # Nothing is left of the kernel at any candidate: to rounding, or beside λ, which a flat kernel may need tiny.
    full = fit.chosen.left <= 1e-12 or (fit.chosen.left <= 1e-5 and missing <= 0.1 * low * fit.lam)
    certified = bounds <= CERTIFIED * np.where(curve.last <= WORSE * curve.spread, curve.last, curve.spread)
    verdict = VERDICTS[0 if certified.all() else 1 if curve.flat or full else 2]
    found = {
        "kind": "landmarks", "m": fit.design.m, "verdict": verdict, "distance": bound,
        "distance_relative": bound / loo if loo else math.inf if bound else 0.0, "distance_rows": rows,
        "trace_missing": missing / trace if trace else 0.0, "effective_dimension": [low, low + missing / fit.lam],
        "loo": [list(point) for point in points], "loo_rows": len(fit.rows),
    }  # fmt: skip
    if len(bounds) > 1:
        found |= {"target": target, "distances": bounds.tolist(), "errors": curve.errors[-1].tolist()}
    if verdict == VERDICTS[2]:
        more = estimate_landmarks(points, int(fit.sums.n))
        found |= {"wanted_m": more, "wanted_seconds": seconds * (more / fit.design.m) ** 2}
    if stopped:
        found["stopped"] = stopped
    if loo > WORSE * spread:
        found["worse_than_mean"] = loo / spread if spread else math.inf
    return found | {"words": certificate_words(found)}


def of_target(found):
    """Which of several targets the numbers are of, as a person counts them; nothing of one."""
    if "target" not in found:
        return ""
    count, number = len(found["distances"]), found["target"] + 1
    return f" Of {count} targets, number {number} is the least certain: these are its numbers."


def certificate_words(found):
    """The certificate as a person reads it."""
    loo, bound, relative = found["loo"], found["distance"], found["distance_relative"]
    errors = ", ".join(f"{error:.4g} at m = {m}" for m, error, _ in reversed(loo))
    near = f"The exact fit is within {bound:.3g} (rms over the rows; {relative:.2g} of the leave-one-out error)."
    if 2.0 * relative > 1.0:  # such a bound says hardly more than that both predict y
        near = (
            f"How near the exact fit is, is not certified: the bound of its rms distance, {bound:.3g}, is "
            f"{relative:.2g} of the leave-one-out error."
        )
    text = (
        f"{found['verdict']}: {found['m']} landmarks.{of_target(found)} {near} Leave-one-out error {errors}. "
        f"{found['trace_missing']:.2g} of the trace of K is missing; effective dimension between "
        f"{found['effective_dimension'][0]:.4g} and {found['effective_dimension'][1]:.4g}."
    )
    if "wanted_m" in found:
        text += f" It would take about {found['wanted_m']} landmarks, {duration(found['wanted_seconds'])}."
    if "worse_than_mean" in found:
        text += f" The mean of y is {found['worse_than_mean']:.2g} times as good: {REMEDY}."
    return text + (f" {found['stopped']}" if "stopped" in found else "")


def warn_of(found, warn):
    """Warn where there are not enough landmarks, or where the fit is worse than none."""
    if "worse_than_mean" in found:
        warn(
            "rows that are left out are predicted worse than by the mean of y: their error is "
            f"{found['loo'][-1][1]:.4g}, {found['worse_than_mean']:.2g} times as large. {REMEDY.capitalize()}.",
            NumericalWarning,
        )
    elif found["verdict"] == VERDICTS[2]:
        falls = found["loo"][-1][1] < found["loo"][0][1]
        warn(
            f"{found['m']} landmarks are not enough: half of them have a leave-one-out error of "
            f"{found['loo'][-2][1]:.4g}, all of them {found['loo'][-1][1]:.4g}, "
            f"and {'it still falls' if falls else 'so few say little'}. Use "
            f"approximation=Landmarks({found['wanted_m']}) (about {duration(found['wanted_seconds'])}), or more time "
            "or memory."
            if len(found["loo"]) > 1
            else f"{found['m']} landmark is not enough: use approximation=Landmarks({found['wanted_m']}).",
            NumericalWarning,
        )
    return found
