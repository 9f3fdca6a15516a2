"""Columns that give the target away, and numbers that stand for missing values: what makes a score say nothing."""

import numpy as np
from scipy.stats import rankdata

from mercer.report._factors import MISSING
from mercer.report.parts import Leak, StandInValue
from mercer.selection.judging import quietly

FEWEST, ENOUGH = 8, 20  # rows from which an exact copy, and a perfect order, is no chance
VALUES = 5  # different ones that a rounded copy has, at least
EXACT, PERFECT = 1e-9, 0.9995  # of a straight line, and the correlation from which an order is perfect
DECIMALS = range(-6, 9)

EQUAL, LINE, ROUNDED, ORDER = "equal", "line", "rounded", "order"  # the surest first
HOW_LEAKED = {
    EQUAL: "it is the target itself",
    LINE: "it is the target times a constant, plus another",
    ROUNDED: "one is the other, rounded",
    ORDER: "it orders the target almost perfectly",
}


def leak_of(case, numbers):
    """The column that alone is closest to the target; None where nothing can be said."""
    if case.classes is not None:
        return _leak_of_labels(case)
    if case.n < FEWEST or not np.ptp(case.y) > 0:
        return None
    found = [_closeness(case, factor) for factor in numbers if factor.moves]
    found = [one for one in found if one is not None and (one.how in (EQUAL, LINE, ROUNDED) or case.n >= ENOUGH)]
    order = [EQUAL, LINE, ROUNDED, ORDER, None]
    return min(found, key=lambda one: (order.index(one.how), -one.correlation), default=None)


def _closeness(case, factor):
    """How close one column of numbers is to the target, where it has a value."""
    there = _rows_with_value(case, factor)
    y, x = case.y[there], factor.shown(factor.values[there])
    if len(y) < FEWEST or not np.ptp(x) > 0 or not np.ptp(y) > 0:
        return None
    r = quietly(lambda: abs(float(np.corrcoef(x / np.abs(x).max(), y / np.abs(y).max())[0, 1])))
    rank = abs(float(np.corrcoef(rankdata(x), rankdata(y))[0, 1]))
    size = max(r, rank) if np.isfinite(r) else rank
    return Leak(name=factor.name, correlation=size, how=_how(x, y, size))


def _how(x, y, size):
    """How a column gives the target away, in one word of `HOW_LEAKED`; None where it is no more than correlated."""
    if np.allclose(x, y, rtol=EXACT, atol=EXACT * np.abs(y).max()):
        return EQUAL
    a, e = ((v - v.mean()) / np.ptp(v) for v in (x, y))
    if np.abs(e - float(e @ a) / float(a @ a) * a).max() < 10 * EXACT and len(np.unique(x)) >= VALUES:
        return LINE
    if _is_rounding(x, y) or _is_rounding(y, x):
        return ROUNDED
    return ORDER if size > PERFECT else None


def _is_rounding(short, whole):
    """Whether one is the other with fewer decimals, rounded or cut off."""
    if len(np.unique(short)) < VALUES:
        return False
    near = EXACT * max(float(np.abs(whole).max()), 1e-300)
    for decimals in DECIMALS:
        unit = 10.0**-decimals
        for made in (np.round(whole / unit) * unit, np.floor(whole / unit) * unit, np.trunc(whole / unit) * unit):
            if np.abs(made - short).max() <= near + EXACT * unit:
                return True
    return False


def _rows_with_value(case, factor):
    """Rows in which a column has a value of its own, and not one that was filled in."""
    mark = next((one for one in case.factors if one.marks and one.name == f"{factor.name}{MISSING}"), None)
    if mark is None:
        return np.arange(case.n)
    return np.flatnonzero(np.asarray(mark.states)[mark.values].reshape(case.n) != 1.0)


def _leak_of_labels(case):
    """The column that is the class by another name; None without."""
    if case.n < ENOUGH:
        return None
    label = np.searchsorted(case.classes, case.y)
    for factor in case.factors[: case.limits.columns]:
        if not factor.moves or factor.marks:
            continue
        values, code = np.unique(factor.values, return_inverse=True)
        pairs = len(np.unique(np.column_stack([code, label]), axis=0))
        if len(values) == len(np.unique(label)) == pairs:
            return Leak(name=factor.name, correlation=1.0, how=EQUAL)
    return None


# ------------------------------------------------------------------------------------- missing values


def stand_in_of(numbers):
    """A column in which a number such as −999 may stand for a missing value."""
    for factor in numbers:
        x = factor.shown(factor.values)
        for value in (x.min(), x.max()):
            here = np.isclose(x, value, rtol=1e-9)
            rest, count = x[~here], int(here.sum())
            if not 2 <= count <= 0.6 * len(x) or not len(rest) or factor.dates or not _nines(value):
                continue
            gap = rest.min() - value if value < rest.min() else value - rest.max()
            if gap >= np.ptp(rest) and gap > 0:
                return StandInValue(name=factor.name, value=float(round(value, 6)), rows=count,
                                    low=float(rest.min()), high=float(rest.max()))  # fmt: skip
    return None


def _nines(value):
    """Whether a number is written with nines alone, two of them at least, or is the end of a small integer."""
    text = f"{abs(value):.10g}".replace(".", "")
    return len(text) > 1 and (set(text) == {"9"} or text in ("32767", "32768"))
