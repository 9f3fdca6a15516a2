"""Rows to look at: large residuals, influence, equal inputs with different targets, rows far from all others."""

import numpy as np

from mercer._clock import Clock
from mercer.gram.duplicates import duplicate_groups, identities_of
from mercer.report._factors import TEXT, column_of, is_far
from mercer.report.findings import short
from mercer.report.parts import (
    DuplicateFindings,
    EqualRows,
    InfluenceTable,
    InfluentialRow,
    LargestResiduals,
    LonelyRow,
    LonelyRows,
    ResidualRow,
    RowFindings,
    SurprisingRow,
)
from mercer.selection.judging import quietly, root_mean_square
from mercer.selection.noise import nearest

INPUTS, LETTERS = 5, 48  # columns beside a row, and letters of a text
TIMED = 200  # rows whose nearest others are found to see how long it takes


def rows_section(case, left, stated):
    """Tables of the rows that deserve a look."""
    regression = case.classes is None
    return RowFindings(
        listed=case.limits.rows_listed,
        duplicates=_duplicates(case),
        copies=case.copies,
        alone=_lonely(case),
        inputs=[factor.name for factor in _columns_beside(case)],
        residuals=_largest_residuals(case, left) if regression else None,
        influence=_influence(case) if regression else None,
        surprising=None if regression else _surprising(case, stated),
    )


def _columns_beside(case):
    """The factors whose values stand beside a row: those that matter most, without marks of what was missing."""
    there = case.by_importance if case.factors else []
    return [factor for factor in there if (factor.kind == TEXT or factor.moves) and not factor.marks][:INPUTS]


def _input_values(case, i):
    """[[value, whether it is odd], …] of a row, in the order of `_columns_beside`."""
    return [
        [short(column_of(case.X, factor.columns[0])[i], LETTERS), False]
        if factor.kind == TEXT
        else [factor.text(factor.values[i]), factor.odd(factor.values[i])]
        for factor in _columns_beside(case)
    ]


def _largest_residuals(case, left):
    """The rows that the model without them predicts worst, and how many are beyond what is usual."""
    e = case.y - left.predicted
    z = e / left.std if left.std is not None else e
    known = np.isfinite(z)
    size = 1.4826 * np.median(np.abs(z[known] - np.median(z[known]))) if known.any() else 0.0
    every = root_mean_square(z[known])
    size = size if size > 1e-9 * every else every  # half of them are equal: the middle does not tell what is usual
    z = np.where(known, z, 0.0) / (size or 1.0)
    worst, limit = np.argsort(-np.abs(z), kind="stable")[: case.limits.rows_listed], case.checks.outlier
    rows = [ResidualRow(row=case.label(i), measured=float(case.y[i]), predicted=float(left.predicted[i]),
                        residual=float(e[i]), z=float(z[i]), odd=is_far(case.y[i], case.y),
                        inputs=_input_values(case, i))
            for i in worst]  # fmt: skip
    return LargestResiduals(outliers=int(np.sum(np.abs(z) > limit)), known=int(known.sum()), limit=limit, rows=rows)


def _influence(case):
    """Cook's distance, leverage and DFFITS of the rows that move the fit most."""
    if not case.model.linear or case.n > case.limits.rows_left_out or case.pairwise or case.sampled:
        return None
    try:
        found = quietly(case.model.influence)
    except ValueError:  # a trend, or a kernel that keeps no matrix: there are no fits without a row
        return None
    cook, dffits = case.one(found.cook), case.one(found.dffits)
    order = np.argsort(-np.nan_to_num(cook, nan=-1.0), kind="stable")[: case.limits.rows_listed]
    largest = float(np.nanmax(cook)) if np.isfinite(cook).any() else None
    rows = [InfluentialRow(row=case.label(i), cook=float(cook[i]), leverage=float(found.leverage[i]),
                           dffits=float(dffits[i])) for i in order]  # fmt: skip
    return InfluenceTable(dof=found.dof, largest=largest, rows=rows)


def _duplicates(case):
    """Groups of equal inputs, and those of them whose targets differ."""
    X = case.X if case.vectors else case.kernel.validate(case.X)
    compared = case.vectors or identities_of(X) is not None
    groups = duplicate_groups(X) if compared else None
    if groups is None:
        return DuplicateFindings(rows=0, groups=0, conflicting=0, share=0.0, listed=[], compared=compared)
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
    worst = sorted(conflicting, key=lambda g: -spread[g])[: case.limits.rows_listed]
    listed = [EqualRows(rows=[case.label(i) for i in np.flatnonzero(group == g)[:6]], count=int(counts[g]),
                        spread=float(spread[g])) for g in worst]  # fmt: skip
    return DuplicateFindings(rows=int(counts[several].sum()), groups=len(several), conflicting=len(conflicting),
                             share=share, listed=listed, compared=True)  # fmt: skip


def _lonely(case):
    """Rows whose nearest other row is hardly correlated with them under the kernel: there the model extrapolates."""
    if case.pairwise or case.n > case.limits.rows_compared or case.sampled:
        return None
    X = case.kernel.validate(case.X)
    diagonal = np.asarray(quietly(case.kernel.diag, X), dtype=float)
    if case.vectors and np.ptp(diagonal) > 1e-6 * diagonal.max():  # a line: alike is not near
        return None
    if not (np.isfinite(diagonal).all() and (diagonal > 0).all()):
        return None
    if case.budget.limited and case.n > TIMED:  # all pairs of rows: how long they take is measured on some of them
        clock = Clock()
        quietly(nearest, case.kernel, case.kernel.validate(case.take(np.arange(TIMED))))
        if case.budget.skips("rows far from all others", 4.0 * clock.seconds * (case.n / TIMED) ** 2):
            return None
    other = quietly(nearest, case.kernel, X)
    value = np.array([float(np.asarray(case.kernel(X[i : i + 1], X[j : j + 1]))[0, 0]) for i, j in enumerate(other)])
    correlation = value / np.sqrt(diagonal * diagonal[other])
    order, limit = np.argsort(correlation, kind="stable")[: case.limits.rows_listed], case.checks.alone
    rows = [LonelyRow(row=case.label(i), nearest=case.label(other[i]), correlation=float(correlation[i]))
            for i in order if correlation[i] < limit]  # fmt: skip
    return LonelyRows(limit=limit, count=int(np.sum(correlation < limit)), rows=rows)


def _surprising(case, left):
    """Rows whose own class has the smallest probability."""
    most = case.limits.rows_listed
    if left.proba is None:
        known = np.array([label is not None for label in left.predicted])
        order, own = np.flatnonzero(known & (left.predicted != case.y))[:most], np.full(case.n, np.nan)
    else:
        own = left.proba[np.arange(case.n), np.searchsorted(case.classes, case.y)]
        order = np.argsort(np.nan_to_num(own, nan=2.0), kind="stable")[: min(most, int(np.isfinite(own).sum()))]
    return [SurprisingRow(row=case.label(i), class_=str(case.y[i]), predicted=str(left.predicted[i]),
                          probability=float(own[i]), inputs=_input_values(case, i)) for i in order]  # fmt: skip
