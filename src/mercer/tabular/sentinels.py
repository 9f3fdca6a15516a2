"""Numbers that stand for a missing value: -999 and its kind, far outside of what else a column holds."""

import numpy as np

from mercer._warn import Caution
from mercer.tabular.cells import count

USUAL = tuple(sign * size for size in (99.0, 99.9, 999.0, 999.9, 999.99, 9999.0, 9999.99, 99999.0, 999999.0, 32768.0)
              for sign in (-1.0, 1.0))  # fmt: skip


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
        if len(rest) < 3 or cells[[*taken, i]].sum() > 0.6 * cells.sum():
            continue
        verdict = _stands_for_missing(values[i], cells[i], rest)
        if verdict is not None:
            (taken if verdict else doubtful).append(i)
    return [[[float(values[i]), int(cells[i])] for i in sorted(some)] for some in (taken, doubtful)]


def _stands_for_missing(value, cells, rest, near=0.3, far=1.0, very_far=5.0):
    """True for a value that stands for a missing one, False for a doubt, None for a number like the others.

    near, far and very far are distances from the other cells, in units of their range.
    """
    low, high = rest.min(), rest.max()
    beyond = low - value if value < low else value - high
    distance = beyond / (high - low)
    if value < 0 <= low:  # of what is never negative
        return bool(cells >= 2 or distance >= far)
    if distance >= far:
        plain = value < 0 or distance >= very_far
        return bool(cells >= (2 if plain else 3) or (value < 0 and distance >= very_far))
    return False if distance >= near and cells >= 3 else None


def find_sentinels(frame, notes, keep=()):
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


def mask_sentinels(frame, found):
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
