"""Numbers that stand for a missing value: -999 and its kind, far outside of what else a column holds."""

import numpy as np

from mercer._warn import Caution
from mercer.tabular.cells import count

USUAL = tuple(sign * size for size in (99.0, 99.9, 999.0, 999.9, 999.99, 9999.0, 9999.99, 99999.0, 999999.0, 32768.0)
              for sign in (-1.0, 1.0))  # fmt: skip
FEW_VALUES, MOST = 3, 0.6  # other values there must be; share of the cells that may stand for nothing
FAR, VERY_FAR, NEAR = 1.0, 5.0, 0.3  # distances from the other cells, in units of their range
TWICE, THRICE = 2, 3  # cells of exactly this value


def sentinels_in(column):
    """([[value, cells], …] that stand for missing ones, the same of those in doubt) of a column of numbers."""
    import polars as pl

    if not column.dtype.is_numeric():
        return [], []
    odd = column.cast(pl.Float64).is_in(USUAL).fill_null(False)
    if not odd.any():
        return [], []
    values = column.cast(pl.Float64).drop_nulls().drop_nans().to_numpy()
    values, cells = np.unique(values[np.isfinite(values)], return_counts=True)
    places = [i for i, value in enumerate(values) if value in USUAL]
    taken, doubtful = [], []
    for i in sorted(places, key=lambda i: -abs(values[i])):  # the farthest first: -9999 before -999
        rest = np.delete(values, [*taken, i])
        if len(rest) < FEW_VALUES or cells[[*taken, i]].sum() > MOST * cells.sum():
            continue
        verdict = _judged(values[i], cells[i], rest)
        if verdict is not None:
            (taken if verdict else doubtful).append(i)
    return [[[float(values[i]), int(cells[i])] for i in sorted(some)] for some in (taken, doubtful)]


def _judged(value, cells, rest):
    """True for a value that stands for a missing one, False for a doubt, None for a number like the others."""
    low, high = rest.min(), rest.max()
    beyond = low - value if value < low else value - high
    far = beyond / (high - low)
    if value < 0 <= low:  # of what is never negative
        return True if cells >= TWICE or far >= FAR else False
    if far >= FAR:
        return bool(cells >= (TWICE if value < 0 or far >= VERY_FAR else THRICE) or (value < 0 and far >= VERY_FAR))
    return False if far >= NEAR and cells >= THRICE else None


def found_in(frame, notes, keep=()):
    """{column: [[value, cells], …]} of a table, each said; those of the columns to ``keep`` are numbers."""
    found = {}
    for column in frame.get_columns():
        if column.name in keep:
            continue
        sure, doubtful = sentinels_in(column)
        for value, cells in sure:
            found.setdefault(column.name, []).append([value, cells])
            said = (
                f"column {column.name!r}: {count(cells, 'cell')} of {value:g}, far from the others, read as missing; "
            )
            notes.append(Caution(f"{said}--numeric {column.name!r} keeps them as numbers."))
        for value, cells in doubtful:
            notes.append(
                f"column {column.name!r}: {count(cells, 'cell')} of {value:g} kept as a number, though it may stand "
                f"for a missing value; --missing={value:g} makes it missing."
            )
    return found


def without(frame, found):
    """The table, in which such numbers are missing; ``found`` is {column: [[value, cells], …]}."""
    import polars as pl

    names = [name for name in found if name in frame.columns and frame[name].dtype.is_numeric()]
    return frame.with_columns(
        pl.when(pl.col(name).cast(pl.Float64).is_in([value for value, _ in found[name]]))
        .then(None)
        .otherwise(pl.col(name))
        .alias(name)
        for name in names
    )
