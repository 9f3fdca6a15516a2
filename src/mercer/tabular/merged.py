"""Cells that a spreadsheet merged: the first of a group holds what all its rows have, and the others are empty."""

import numpy as np

from mercer.exceptions import DataError
from mercer.tabular.cells import count

DITTO = ('"', "''", "〃", "″", "”", "ditto", "dito", "idem", "id.", '-"-', '- " -', '—"—')  # the same as above
UNEVEN = 0.5  # standard deviation of the sizes of groups, beside their mean; of cells lost by chance it is near 1


def fill_merged_cells(frame, notes, names=(), target=None, settled=None):
    """(frame of strings with such columns filled down, their names); ``names``: these, else those that look like it.

    A column looks like it if its first cell is there, no group is of one row, groups are of like sizes, no two that
    follow each other have the same text, and it is text. Of groups of unlike sizes that is asked, if not ``settled``.
    """
    import polars as pl

    frame = _without_dittos(frame, notes)
    found = [name for name in frame.columns if name in names]
    for column in frame.get_columns() if not names else ():
        uneven = None if column.name == target else _unevenness(column)
        if uneven is not None and uneven <= UNEVEN:
            found.append(column.name)
        elif uneven is not None and settled is not None and column.name not in settled:
            raise DataError(
                f"column {column.name!r} has a text in {count(column.count(), 'row')} and nothing in "
                f"{count(column.null_count(), 'row')} below them. If these are merged cells, say --fill-down "
                f"{column.name!r}: a row has the text above it; if nothing means nothing, --categorical "
                f"{column.name!r} or --ignore {column.name!r}."
            )
        elif settled is not None and column.name not in (target, *settled) and _is_group_number(column):
            raise DataError(
                f"column {column.name!r} has a number or a date in {count(column.count(), 'row')}, evenly apart, "
                f"and nothing in those below. If these are merged cells, say --fill-down {column.name!r}: a row has "
                f"what stands above it; if it means missing, --numeric {column.name!r}, or --ignore {column.name!r}."
            )
    found = [name for name in found if frame[name].dtype == pl.String and 0 < frame[name].null_count() < frame.height]
    for name in found:
        notes.append(
            f"column {name!r}: {count(frame[name].null_count(), 'empty cell')} below a text read as that text, as of "
            "merged cells."
        )
    return frame.with_columns(pl.col(found).fill_null(strategy="forward")), found


def _without_dittos(frame, notes):
    """The frame of strings with the text above in the place of each mark that says so."""
    import polars as pl

    for name in frame.columns:
        if frame[name].dtype != pl.String:
            continue
        marks = frame[name].str.strip_chars().str.to_lowercase().is_in(DITTO).fill_null(False)
        if marks.any() and not marks[0] and frame[name].drop_nulls().n_unique() > 1:
            first = frame[name].filter(marks)[0]
            filled = pl.when(pl.lit(marks)).then(None).otherwise(pl.col(name)).forward_fill()
            frame = frame.with_columns(pl.when(pl.lit(marks)).then(filled).otherwise(pl.col(name)).alias(name))
            notes.append(f"column {name!r}: {count(int(marks.sum()), 'cell')} {first!r} read as the text above.")
    return frame


def _is_group_number(column):
    """Whether a column without letters has a cell in the first row of each of several groups of like size alone."""
    import polars as pl

    if column.dtype != pl.String or not column.str.contains(r"\d").any():
        return False
    uneven = _unevenness(column, letters=False)
    return uneven is not None and uneven <= UNEVEN and not column.str.contains(r"\pL").any()


def _unevenness(column, letters=True):
    """How unlike the groups are in size, of a column of groups whose first row alone has their name; None of others."""
    import polars as pl

    if column.dtype != pl.String or column[0] is None or column.null_count() < 0.5 * len(column):
        return None
    places = column.is_not_null().arg_true().to_numpy()
    texts = column.drop_nulls()
    if len(places) < 2 or texts.str.len_chars().max() > 40 or not (texts.str.contains(r"\pL").all() or not letters):
        return None
    sizes = np.diff([*places, len(column)])
    again = (texts[1:] == texts[:-1]).any()
    return None if again or sizes.min() < 2 else float(sizes.std() / sizes.mean())
