"""Does the model know its own errors? Coverage of its intervals, or calibration of its probabilities."""

from dataclasses import fields

import numpy as np
from scipy.special import ndtr, ndtri

from mercer.report._answers import is_skewed, reach
from mercer.report._left_out import equal_rows_of
from mercer.report.parts import Missing
from mercer.report.parts_fit import CalibrationFindings, CoverageFindings
from mercer.selection.judging import average, part, quietly

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
FOLDS = 5  # parts of the rows, each with intervals from the residuals of the others
BINS = 10


def uncertainty_section(case, left, stated, every):
    """What can be said, by the kind of the model; one line where it states no uncertainty."""
    model = case.model
    if case.classes is not None:
        if stated.proba is None:
            return Missing(
                missing=f"{_what(model)} states classes, no probabilities; the logistic loss and Gaussian processes do."
            )
        return _probabilities(case, stated)
    if model.quantile_levels_ is not None:
        return _quantiles(case, every.predicted)
    if case.errors is not None:
        return _of_errors(case, stated)
    chosen_again = case.seen and stated is not None and stated.std is not None and not stated.one_by_one
    if is_skewed(case) and not case.forward and not chosen_again:
        return _own_quantiles(case, left)
    if stated is not None and stated.std is not None:
        alone = case.seen and stated.one_by_one
        how = "each row left out alone, kernel and λ held" if alone else stated.how
        return _gaussian(case, case.y - stated.predicted, stated.std, how)
    if model.probabilistic:
        return _held_out(case)
    return _reaches(case, left)


def _of_errors(case, stated):
    """Coverage of intervals from the errors on rows left out, beside what the stated deviations alone would hold."""
    errors, n = case.errors, len(case.errors.residuals)
    known = [(level, share) for level in LEVELS if np.isfinite(share := errors.coverage(level))]
    if not known:
        return Missing(missing=f"{n} residuals of rows left out are too few for intervals.")
    how = "predictions ± a quantile of the errors of rows left out, each fold by the others"
    ends = quietly(errors.interval_of, case.model, case.take(case.shown()), 0.9)
    own = {}
    if stated is not None and stated.std is not None:
        alone = _gaussian(case, case.y - stated.predicted, stated.std, stated.how)
        own = {one.name: getattr(alone, one.name) for one in fields(alone)}
        own |= {"own": errors.own_coverage(0.9), "own_width": alone.width, "own_how": alone.how}
    return CoverageFindings(**{"kind": "intervals", **own} | {
        "how": how, "rows": n, "equal": float(n), "levels": [level for level, _ in known],
        "coverage": [share for _, share in known], "width": float(np.median(ends[:, 1] - ends[:, 0])),
        "even": not is_skewed(case),
    })  # fmt: skip


def _own_quantiles(case, left):
    """Coverage of the quantiles that a mixture states, or a transformed target maps back: those of predict_interval."""
    model = case.model
    what = {"mixture": "between two quantiles of the mixture", "mapped": "mapped back from the transformed target"}
    if not case.seen:
        rows, (inside, ends), how = np.arange(case.n), _intervals(model, case.X, case.y), left.how
    elif (found := _left_out_ranks(case)) is not None:
        rows, ends = np.flatnonzero(np.isfinite(found.rank)), found.ends[np.isfinite(found.rank)]
        inside = [np.abs(found.rank[rows] - 0.5) <= level / 2 for level in LEVELS]
        how = "each row left out alone, kernel and λ held"
    else:
        fitted, new, rows, how = _held_fit(case)
        inside, ends = _intervals(fitted, new, case.y[rows])
    how, width = f"intervals {what[model.interval_method]}, {how}", float(np.median(ends[:, 1] - ends[:, 0]))
    return _coverage("intervals", how, LEVELS, inside, part(case.weight, rows), even=False, width=width)


def _coverage(kind, how, levels, inside, weight, **more):
    """The share of the rows that are inside at each level, and how many rows say so."""
    rows = len(inside[0])
    return CoverageFindings(kind=kind, how=how, rows=rows, equal=equal_rows_of(weight, rows), levels=list(levels),
                            coverage=[average(row, weight) for row in inside], **more)  # fmt: skip


def _left_out_ranks(case):
    """What the model says of each row without it, where it knows its quantiles; else None."""
    if case.n > case.limits.rows_left_out or case.sampled or case.model.leaves_out != "exact":
        return None
    found = quietly(case.model.left_out)
    return None if found.rank is None else found


def _intervals(model, X, y):
    """(which targets are inside, at each level; the intervals of 90 %)."""
    found = [quietly(model.predict_interval, X, level) for level in LEVELS]
    return [(ends[:, 0] <= y) & (y <= ends[:, 1]) for ends in found], found[LEVELS.index(0.9)]


def _held_fit(case):
    """(fit, X and numbers of the rows held out, how): a fifth held out of a fit at the kernel and noise of all."""
    train, test = case.folds()[0]
    train, test = (part if len(part) <= most else np.sort(np.random.default_rng(0).choice(part, most, replace=False))
                   for part, most in ((train, case.limits.rows_left_out), (test, 2000)))  # fmt: skip
    fitted = case.fit(train)
    how = f"{len(test)} rows held out of a fit on {len(train)} others, kernel and noise held"
    return fitted, case.new(fitted, test, train), test, how


def _held_out(case):
    """Coverage of a process on many rows."""
    fitted, new, test, how = _held_fit(case)
    f, std = (case.one(part) for part in quietly(fitted.predict, new, return_std=True, noisy=True))
    e, s = np.full(case.n, np.nan), np.full(case.n, np.nan)
    e[test], s[test] = case.y[test] - f, std
    return _gaussian(case, e, s, how)


def _reaches(case, left):
    """Coverage of f ± a quantile of the residuals left out: of each fifth of the rows by those of the others."""
    e = np.abs(case.y - left.predicted)
    known = np.flatnonzero(np.isfinite(e))
    levels = [level for level in LEVELS if reach(e[known][: len(known) * 4 // 5], level) is not None]
    if not levels:
        return Missing(missing=f"{len(known)} residuals of rows left out are too few for intervals.")
    inside, parts = np.zeros((len(levels), len(known))), np.random.default_rng(0).permutation(len(known)) % FOLDS
    for k in range(FOLDS):
        here = parts == k
        for j, level in enumerate(levels):
            inside[j, here] = e[known][here] <= reach(e[known][~here], level)
    how = "predictions ± a quantile of the residuals of rows left out, each fifth of the rows by the others"
    width = None if reach(e) is None else 2 * reach(e)
    return _coverage("intervals", how, levels, inside, part(case.weight, known), width=width)


def _what(model):
    """The model and its loss, in words."""
    loss = model.get_params(deep=False).get("loss")
    return type(model).__name__ if loss is None else f"{type(model).__name__} with the loss {loss!r}"


def _gaussian(case, e, s, how):
    """z-scores e/s of rows left out of a Gaussian process: coverage, the histogram of Φ(z), log density, CRPS."""
    known = np.isfinite(e) & np.isfinite(s) & (s > 0)
    e, s, w = e[known], s[known], part(case.weight, known)
    z = e / s
    counts, _ = np.histogram(ndtr(z), bins=BINS, range=(0.0, 1.0))
    shown = case.shown()
    shown = shown[known[shown]]
    place = np.cumsum(known) - 1
    inside = [np.abs(z) <= ndtri((1 + level) / 2) for level in LEVELS]
    return _coverage(
        "gaussian", f"the stated deviation of a new measurement, {how}", LEVELS, inside, w,
        width=float(2 * ndtri(0.95) * np.median(s)),
        mean_square=average(z**2, w),
        log_density=average(-0.5 * z**2 - np.log(s) - 0.5 * np.log(2 * np.pi), w),
        crps=average(_crps(z, s), w),
        histogram=counts,
        std=s[place[shown]],
        error=np.abs(e[place[shown]]),
    )  # fmt: skip


def _crps(z, s):
    """σ[z(2Φ(z) − 1) + 2φ(z) − 1/√π]."""
    return s * (z * (2 * ndtr(z) - 1) + 2 * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) - 1 / np.sqrt(np.pi))


def _quantiles(case, every):
    """Share of the rows below each quantile that was fitted."""
    stated = case.model.quantile_levels_
    order = np.argsort(stated)
    Q = every[:, order]
    known = np.isfinite(Q).all(axis=1)
    how, below = "share of the rows left out below each quantile", [case.y[known] <= q for q in Q[known].T]
    crossing = float((np.diff(Q[known], axis=1) < 0).any(axis=1).mean()) if Q.shape[1] > 1 else 0.0
    return _coverage("quantiles", how, stated[order].tolist(), below, part(case.weight, known), crossing=crossing)


def _probabilities(case, stated):
    """Reliability: how often the stated probability came true; Brier score, log loss, expected calibration error."""
    P = stated.proba
    known = np.isfinite(P).all(axis=1)
    P, number = P[known], np.searchsorted(case.classes, case.y[known])
    if len(case.classes) == 2:
        p, true, of = P[:, 1], (number == 1).astype(float), f"class {case.classes[1]}"
    else:
        p, true, of = P.max(axis=1), (P.argmax(axis=1) == number).astype(float), "the likeliest class"
    parts = [
        part for part in np.array_split(np.argsort(p, kind="stable"), min(BINS, max(len(p) // 10, 2))) if len(part)
    ]
    mean = np.array([p[part].mean() for part in parts])
    found = np.array([true[part].mean() for part in parts])
    share = np.array([len(part) for part in parts]) / len(p)
    own = np.clip(P[np.arange(len(P)), number], 1e-15, 1.0)
    # what the error would be by chance alone if every probability were right: √(2/π) of each bin's deviation
    spread = np.sqrt(np.array([np.sum(p[part] * (1 - p[part])) for part in parts])) / (share * len(p))
    return CalibrationFindings(
        kind="probabilities",
        how=stated.how,
        of=of,
        rows=len(P),
        stated=mean,
        found=found,
        deviation=spread,
        error=float(share @ np.abs(mean - found)),
        by_chance=float(np.sqrt(2 / np.pi) * (share @ spread)),
        brier=average(np.sum((P - np.eye(len(case.classes))[number]) ** 2, axis=1), part(case.weight, known)),
        chi_square=float(np.sum(np.divide(mean - found, spread, out=np.zeros_like(mean), where=spread > 0) ** 2)),
        bins=len(parts),
        log_loss=-average(np.log(own), part(case.weight, known)),
    )
