"""Does the model know its own errors? Coverage of its intervals, or calibration of its probabilities."""

import numpy as np
from scipy.special import ndtr, ndtri

from mercer.report._case import counted
from mercer.report.findings import missing
from mercer.selection.judging import average, fit_part, part, quietly

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
FOLD_ROWS = 800  # rows up to which intervals are tried on folds
BINS = 10


def uncertainty_section(case, left, every):
    """What can be said, by the kind of the model; one line where it states no uncertainty."""
    model = case.model
    if case.classes is not None:
        if left.proba is None:
            return missing(
                f"{_what(model)} states classes, no probabilities; the logistic loss and Gaussian processes do."
            )
        return _probabilities(case, left)
    if model.quantile_levels_ is not None:
        return _quantiles(case, every)
    if left.std is not None:
        return _gaussian(case, left)
    if case.unseen:
        return _of_new_rows(case)
    if not case.pairwise and (model.leaves_out is not None or model.interval_method != "left-out"):
        if case.n > FOLD_ROWS:
            return missing(f"intervals are tried on held-out folds up to {FOLD_ROWS} rows; there are {case.n}. "
                           "Set rows aside and use predict_interval(..., method='split').")  # fmt: skip
        return _intervals(case)
    e = np.abs(case.y - left.predicted)
    reach = float(np.quantile(e[np.isfinite(e)], 0.9)) if np.isfinite(e).any() else None
    out = missing(f"{_what(model)} states no uncertainty.")
    if reach is not None:
        out["missing"] += f" 90 % of the rows left out are within ±{reach:.3g} of their prediction."
    return out


def _what(model):
    """The model and its loss, in words."""
    loss = model.get_params(deep=False).get("loss")
    return type(model).__name__ if loss is None else f"{type(model).__name__} with the loss {loss!r}"


def _gaussian(case, left):
    """Left-out z-scores of a Gaussian process: coverage, the histogram of Φ(z), log density, CRPS."""
    e, s = case.y - left.predicted, left.std
    known = np.isfinite(e) & np.isfinite(s) & (s > 0)
    e, s, w = e[known], s[known], part(case.weight, known)
    z = e / s
    counts, _ = np.histogram(ndtr(z), bins=BINS, range=(0.0, 1.0))
    shown = case.shown()
    shown = shown[known[shown]]
    place = np.cumsum(known) - 1
    return {
        "kind": "gaussian",
        "how": "left-out z-scores of the posterior, noise included",
        "rows": len(z),
        "equal": counted(w, len(z)),
        "levels": list(LEVELS),
        "coverage": [average(np.abs(z) <= ndtri((1 + level) / 2), w) for level in LEVELS],
        "width": float(2 * ndtri(0.95) * np.median(s)),
        "mean_square": average(z**2, w),
        "log_density": average(-0.5 * z**2 - np.log(s) - 0.5 * np.log(2 * np.pi), w),
        "crps": average(_crps(z, s), w),
        "histogram": counts,
        "std": s[place[shown]],
        "error": np.abs(e[place[shown]]),
    }


def _crps(z, s):
    """σ[z(2Φ(z) − 1) + 2φ(z) − 1/√π]."""
    return s * (z * (2 * ndtr(z) - 1) + 2 * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) - 1 / np.sqrt(np.pi))


def _intervals(case):
    """Coverage of predict_interval on folds that the fit has not seen, at the kernel and λ of the fit."""
    inside = np.zeros((len(LEVELS), case.n))
    width = np.full(case.n, np.nan)
    for train, test in case.folds():
        fitted = fit_part(case.model, case.X, case.y, train, case.weight)
        new, held = case.new(fitted, test, train), case.y[test]
        for k, level in enumerate(LEVELS):
            ends = quietly(fitted.predict_interval, new, level)
            inside[k, test] = (ends[:, 0] <= held) & (held <= ends[:, 1])
            if level == 0.9:
                width[test] = ends[:, 1] - ends[:, 0]
    return {
        "kind": "intervals",
        "how": f"{case.model.interval_method} intervals on held-out folds, at the kernel and λ of the fit",
        "rows": case.n,
        "equal": counted(case.weight, case.n),
        "levels": list(LEVELS),
        "coverage": [average(row, case.weight) for row in inside],
        "width": float(np.median(width)),
    }


def _of_new_rows(case):
    """Coverage of the intervals of the model itself, at rows that its fit has not seen."""
    model, coverage, width = case.model, [], None
    for level in LEVELS:
        ends = quietly(model.predict_interval, case.X, level)
        ends = ends if ends.ndim == 2 else ends[:, :, case.column or 0]
        coverage.append(average((ends[:, 0] <= case.y) & (case.y <= ends[:, 1])))
        width = float(np.median(ends[:, 1] - ends[:, 0])) if level == 0.9 else width
    how = f"{model.interval_method} intervals at rows that the fit has not seen"
    found = {"kind": "intervals", "how": how, "rows": case.n, "equal": float(case.n), "levels": list(LEVELS)}
    return found | {"coverage": coverage, "width": width}


def _quantiles(case, every):
    """Share of the rows below each quantile that was fitted."""
    stated = case.model.quantile_levels_
    order = np.argsort(stated)
    Q = every[:, order]
    known = np.isfinite(Q).all(axis=1)
    w = part(case.weight, known)
    below = [average(case.y[known] <= q, w) for q in Q[known].T]
    crossing = float((np.diff(Q[known], axis=1) < 0).any(axis=1).mean()) if Q.shape[1] > 1 else 0.0
    return {
        "kind": "quantiles",
        "how": "share of the rows left out below each quantile",
        "rows": int(known.sum()),
        "equal": counted(w, int(known.sum())),
        "levels": stated[order].tolist(),
        "coverage": below,
        "crossing": crossing,
    }


def _probabilities(case, left):
    """Reliability: how often the stated probability came true; Brier score, log loss, expected calibration error."""
    P = left.proba
    known = np.isfinite(P).all(axis=1)
    P, number = P[known], np.searchsorted(case.classes, case.y[known])
    if len(case.classes) == 2:
        stated, true, of = P[:, 1], (number == 1).astype(float), f"class {case.classes[1]}"
    else:
        stated, true, of = P.max(axis=1), (P.argmax(axis=1) == number).astype(float), "the likeliest class"
    parts = [
        part
        for part in np.array_split(np.argsort(stated, kind="stable"), min(BINS, max(len(stated) // 10, 2)))
        if len(part)
    ]
    mean = np.array([stated[part].mean() for part in parts])
    found = np.array([true[part].mean() for part in parts])
    share = np.array([len(part) for part in parts]) / len(stated)
    own = np.clip(P[np.arange(len(P)), number], 1e-15, 1.0)
    # what the error would be by chance alone if every probability were right: √(2/π) of each bin's deviation
    spread = np.sqrt(np.array([np.sum(stated[part] * (1 - stated[part])) for part in parts])) / (share * len(stated))
    return {
        "kind": "probabilities",
        "how": left.how,
        "of": of,
        "rows": len(P),
        "stated": mean,
        "found": found,
        "deviation": spread,
        "error": float(share @ np.abs(mean - found)),
        "by_chance": float(np.sqrt(2 / np.pi) * (share @ spread)),
        "brier": average(np.sum((P - np.eye(len(case.classes))[number]) ** 2, axis=1), part(case.weight, known)),
        "log_loss": -average(np.log(own), part(case.weight, known)),
    }
