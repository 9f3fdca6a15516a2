"""How far a fit on landmarks is from the exact one, and whether more landmarks would be worth their time.

The distance: with e = y − ŷ, w = e/λ and r = ŷ − K w − hᵀb for any b, the exact fit differs from ŷ by λ M r, M the
inverse of K + λI with the trend projected out. ‖λM‖ <= 1, so the rms of r bounds the rms distance: residuals are put
back through the exact kernel. It is taken over some rows, and where these are not all, with a margin for that.
"""

import math

import numpy as np

from mercer._clock import duration
from mercer.exceptions import NumericalWarning

CERTIFIED = 0.1  # of the leave-one-out error: an error in quadrature of half a percent
FLAT = 0.005  # of the leave-one-out error: what twice the landmarks must gain to be worth it
FEW = 128  # landmarks below which a flat curve says little: none of them may see what there is to see
ROUNDING, NOTHING = 1e-12, 0.1  # of k(x, x); of the effective dimension
MOST = 16  # times as many landmarks: beyond, what the gains so far say is no guess
WORSE = 2.0  # times the spread of y: a leave-one-out error beyond is no measure of anything
MARGIN = 3.3  # standard errors: a bound from some of the rows fails once in a thousand times
REMEDY = "use a larger lam, or criterion=LOO()"
VERDICTS = ("certified", "good enough", "not enough landmarks")


def distance(fit, remainder, weight):
    """(bound, rows): of the rms over the training rows and targets of |f_exact − f|; rows scaled by √w are in the fit.

    Parameters
    ----------
    fit : SquaredFit
    remainder : Remainder
        Whose ``back`` is K W e at the rows of the fit's sample.
    weight : ndarray
        Of these rows.
    """
    design, m = fit.design, fit.design.m
    root = np.sqrt(weight)[:, None]
    k = fit.rows[: len(weight), :m] / root + design.centre
    r = k @ fit.solution.alpha - remainder.back / fit.lam
    if design.q and design.centred:
        r = r - np.average(r, axis=0, weights=weight)
    squares = weight * (r**2).sum(axis=1)
    return bound_of_mean(squares, weight, fit.sums.n), len(squares)


def bound_of_mean(squares, weight, n):
    """√(Σ squares/Σ weight), with a margin where the rows are fewer than n."""
    mean = float(squares.sum() / weight.sum())
    if len(squares) < n and len(squares) > 1:
        spread = squares / weight.mean() - mean * weight / weight.mean()
        mean += MARGIN * float(spread.std(ddof=1)) / math.sqrt(len(squares)) * math.sqrt(1.0 - len(squares) / n)
    return math.sqrt(mean)


def curve(fit):
    """([(m′, LOO-RMSE, standard error of its square beside that at m)] at m/4, m/2, m, at the same λ; `Left` at m)."""
    m, total = fit.design.m, fit.weight.sum()
    sizes = sorted({max(1, m // 4), max(1, m // 2), m})
    lefts = fit.normal.nested(fit.lam, fit.rows, sizes)
    squares = [(left.out() ** 2).sum(axis=1) for left in lefts]
    last, n = squares[-1], len(fit.rows)
    points = [
        (size, math.sqrt(s.sum() / total), float((s - last).std() * math.sqrt(n) / total))
        for size, s in zip(sizes, squares, strict=True)
    ]
    return points, lefts[-1]


def flat(points, spread):
    """Whether m landmarks gain nothing that counts over half of them; never where the mean of y predicts better."""
    if len(points) < 2 or points[-1][0] < FEW or points[-1][1] > WORSE * spread:
        return False
    (_, half, error), (_, full, _) = points[-2:]
    return half**2 - full**2 <= max(error, 2.0 * FLAT * full**2)


def wanted(points, most):
    """How many landmarks it would take until twice as many gain nothing: the gains fall as they have fallen so far."""
    m, full = points[-1][:2]
    if m < FEW or full == 0.0:
        return max(4 * m, FEW)
    first, second = points[0][1] ** 2 - points[1][1] ** 2, points[1][1] ** 2 - full**2
    ratio = min(max(second / first if first > 0 else 1.0, 0.1), 0.9)
    doublings = math.log(max(2.0 * FLAT * full**2 / max(second, 1e-300), 1e-9)) / math.log(ratio)
    return int(min(most, MOST * m, m * 2.0 ** max(1.0, math.ceil(doublings))))


def certificate(fit, bound, rows, points, stopped=None, seconds=0.0):
    """{name: plain value}: verdict, words and the numbers they rest on.

    Parameters
    ----------
    fit : SquaredFit
    bound, rows
        As `distance` gives them.
    points : list
        As `curve` gives it.
    stopped : str, default=None
        Why there are no more landmarks, where somebody would have liked more.
    seconds : float
        What this fit took, of which n m² operations are most.
    """
    missing, trace = fit.missing
    loo, spread = points[-1][1], fit.spread
    low = fit.normal.dof(fit.lam) + fit.design.q
    # Nothing is left of the kernel at any candidate: to rounding, or beside λ, which a flat kernel may need tiny.
    full = fit.chosen.left <= ROUNDING or (fit.chosen.left <= 1e-5 and missing <= NOTHING * low * fit.lam)
    certified = bound <= CERTIFIED * (loo if loo <= WORSE * spread else spread)
    verdict = VERDICTS[0 if certified else 1 if flat(points, spread) or full else 2]
    found = {
        "kind": "landmarks", "m": fit.design.m, "verdict": verdict, "distance": bound,
        "distance_relative": bound / loo if loo else math.inf, "distance_rows": rows,
        "trace_missing": missing / trace if trace else 0.0, "effective_dimension": [low, low + missing / fit.lam],
        "loo": [list(point) for point in points], "loo_rows": len(fit.rows),
    }  # fmt: skip
    if verdict == VERDICTS[2]:
        more = wanted(points, int(fit.sums.n))
        found |= {"wanted_m": more, "wanted_seconds": seconds * (more / fit.design.m) ** 2}
    if stopped:
        found["stopped"] = stopped
    if loo > WORSE * spread:
        found["worse_than_mean"] = loo / spread if spread else math.inf
    return found | {"words": words(found)}


def words(found):
    """The certificate as a person reads it."""
    loo = found["loo"]
    errors = ", ".join(f"{error:.4g} at m = {m}" for m, error, _ in reversed(loo))
    text = (
        f"{found['verdict']}: {found['m']} landmarks. The exact fit is within {found['distance']:.3g} (rms over the "
        f"rows; {found['distance_relative']:.2g} of the leave-one-out error). Leave-one-out error {errors}. "
        f"{found['trace_missing']:.2g} of the trace of K is missing; effective dimension between "
        f"{found['effective_dimension'][0]:.4g} and {found['effective_dimension'][1]:.4g}."
    )
    if "wanted_m" in found:
        text += f" It would take about {found['wanted_m']} landmarks, {duration(found['wanted_seconds'])}."
    if "worse_than_mean" in found:
        text += f" The mean of y is {found['worse_than_mean']:.2g} times as good: {REMEDY}."
    return text + (f" {found['stopped']}" if "stopped" in found else "")


def told(found, warn):
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
