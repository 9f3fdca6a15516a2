"""Rows to look at: large residuals, influence, equal inputs with different targets, rows far from all others."""

import numpy as np

from mercer.gram.duplicates import duplicate_groups, identities_of
from mercer.report._case import LEFT_OUT
from mercer.report._factors import TEXT, column_of, far
from mercer.report.findings import short
from mercer.selection.judging import quietly, root_mean_square
from mercer.selection.noise import nearest

LISTED = 8
INPUTS, LETTERS = 5, 48  # columns beside a row, and letters of a text
OUTLIER = 4.5  # robust standard deviations
ALONE = 0.3  # correlation with the nearest other row below which a row is alone
NEAREST = 2000


def rows_section(case, left, stated):
    """Tables of the rows that deserve a look."""
    out = {"listed": LISTED, "duplicates": _duplicates(case), "copies": case.copies, "alone": _alone(case)}
    out["inputs"] = [factor.name for factor in _told(case)]
    if case.classes is not None:
        return {**out, "surprising": _surprising(case, stated), "residuals": None, "influence": None}
    out["residuals"] = _residuals(case, left)
    out["influence"] = _influence(case)
    return out


def _told(case):
    """The factors whose values stand beside a row: those that matter most, without marks of what was missing."""
    there = case.by_importance if case.factors else []
    return [factor for factor in there if (factor.kind == TEXT or factor.moves) and not factor.marks][:INPUTS]


def _inputs(case, i):
    """[[value, whether it is odd], …] of a row, in the order of `_told`."""
    return [[short(column_of(case.X, factor.columns[0])[i], LETTERS), False] if factor.kind == TEXT
            else [factor.text(factor.values[i]), factor.odd(factor.values[i])] for factor in _told(case)]  # fmt: skip


def _residuals(case, left):
    """The rows that the model without them predicts worst, and how many are beyond what is usual."""
    e = case.y - left.predicted
    z = e / left.std if left.std is not None else e
    known = np.isfinite(z)
    size = 1.4826 * np.median(np.abs(z[known] - np.median(z[known]))) if known.any() else 0.0
    every = root_mean_square(z[known])
    size = size if size > 1e-9 * every else every  # half of them are equal: the middle does not tell what is usual
    z = np.where(known, z, 0.0) / (size or 1.0)
    worst = np.argsort(-np.abs(z), kind="stable")[:LISTED]
    return {
        "outliers": int(np.sum(np.abs(z) > OUTLIER)),
        "known": int(known.sum()),
        "limit": OUTLIER,
        "rows": [
            {"row": case.label(i), "measured": float(case.y[i]), "predicted": float(left.predicted[i]),
             "residual": float(e[i]), "z": float(z[i]), "odd": far(case.y[i], case.y), "inputs": _inputs(case, i)}
            for i in worst
        ],
    }  # fmt: skip


def _influence(case):
    """Cook's distance, leverage and DFFITS of the rows that move the fit most."""
    if not case.model.linear or case.n > LEFT_OUT or case.pairwise or case.sampled:
        return None
    try:
        found = quietly(case.model.influence)
    except ValueError:  # a trend, or a kernel that keeps no matrix: there are no fits without a row
        return None
    cook, dffits = case.one(found.cook), case.one(found.dffits)
    order = np.argsort(-np.nan_to_num(cook, nan=-1.0), kind="stable")[:LISTED]
    return {
        "dof": found.dof,
        "largest": float(np.nanmax(cook)) if np.isfinite(cook).any() else None,
        "rows": [
            {"row": case.label(i), "cook": float(cook[i]), "leverage": float(found.leverage[i]),
             "dffits": float(dffits[i])}
            for i in order
        ],
    }  # fmt: skip


def _duplicates(case):
    """Groups of equal inputs, and those of them whose targets differ."""
    X = case.X if case.vectors else case.kernel.validate(case.X)
    told = case.vectors or identities_of(X) is not None
    groups = duplicate_groups(X) if told else None
    if groups is None:
        return {"rows": 0, "groups": 0, "conflicting": 0, "share": 0.0, "listed": [], "compared": told}
    first, group = groups
    counts = np.bincount(group)
    several = np.flatnonzero(counts > 1)
    if case.classes is not None:
        spread = {g: len(np.unique(case.y[group == g])) - 1 for g in several}
        share = None
    else:
        mean = np.bincount(group, weights=case.y) / counts
        inside = (case.y - mean[group]) ** 2
        total = float(np.sum((case.y - case.y.mean()) ** 2))
        part = inside[counts[group] > 1]
        # variance within groups over that of all rows: the part that no function of these columns can explain
        free = len(part) - len(several)
        share = float(part.sum() / free / (total / (case.n - 1))) if free > 0 and total > 0 else 0.0
        spread = {g: float(np.ptp(case.y[group == g])) for g in several[np.argsort(-counts[several])][:2000]}
    conflicting = [g for g, size in spread.items() if size > 0]
    listed = sorted(conflicting, key=lambda g: -spread[g])[:LISTED]
    return {
        "rows": int(counts[several].sum()),
        "groups": len(several),
        "conflicting": len(conflicting),
        "compared": True,
        "share": share,
        "listed": [
            {"rows": [case.label(i) for i in np.flatnonzero(group == g)[:6]], "count": int(counts[g]),
             "spread": float(spread[g])}
            for g in listed
        ],
    }  # fmt: skip


def _alone(case):
    """Rows whose nearest other row is hardly correlated with them under the kernel: there the model extrapolates."""
    if case.pairwise or case.n > NEAREST or case.sampled:
        return None
    X = case.kernel.validate(case.X)
    diagonal = np.asarray(quietly(case.kernel.diag, X), dtype=float)
    if case.vectors and np.ptp(diagonal) > 1e-6 * diagonal.max():  # a line: alike is not near
        return None
    if not (np.isfinite(diagonal).all() and (diagonal > 0).all()):
        return None
    other = quietly(nearest, case.kernel, X)
    value = np.array([float(np.asarray(case.kernel(X[i : i + 1], X[j : j + 1]))[0, 0]) for i, j in enumerate(other)])
    correlation = value / np.sqrt(diagonal * diagonal[other])
    order = np.argsort(correlation, kind="stable")[:LISTED]
    return {
        "limit": ALONE,
        "count": int(np.sum(correlation < ALONE)),
        "rows": [{"row": case.label(i), "nearest": case.label(other[i]), "correlation": float(correlation[i])}
                 for i in order if correlation[i] < ALONE],
    }  # fmt: skip


def _surprising(case, left):
    """Rows whose own class has the smallest probability."""
    if left.proba is None:
        known = np.array([label is not None for label in left.predicted])
        order, own = np.flatnonzero(known & (left.predicted != case.y))[:LISTED], np.full(case.n, np.nan)
    else:
        own = left.proba[np.arange(case.n), np.searchsorted(case.classes, case.y)]
        order = np.argsort(np.nan_to_num(own, nan=2.0), kind="stable")[: min(LISTED, int(np.isfinite(own).sum()))]
    return [{"row": case.label(i), "class": str(case.y[i]), "predicted": str(left.predicted[i]),
             "probability": float(own[i]), "inputs": _inputs(case, i)} for i in order]  # fmt: skip
