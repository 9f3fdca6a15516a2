"""What a column is to a model: numbers, categories, or nothing that can be learnt from; and its values as floats."""

import re

import numpy as np

from mercer.exceptions import DataError
from mercer.tabular._types import is_number, numbers_in, refuse_mixed
from mercer.tabular._words import count, listed, rows_named

ID_NAME = re.compile(r"(unnamed.*|index|row|rownames?|row_?(id|nr|number)|id|.*[_ .]id|nr|no|#)", re.IGNORECASE)
FEW, MOSTLY = 10, 0.9  # least rows, and share of different values, of a column that numbers the rows
TEXT_LEVELS, TEXT_SHARE = 30, 0.5  # more different texts than this, and than this share of the rows: not categories
DAY = 86_400.0  # seconds
GONE = "(missing)"
OTHER = "(other)"


def is_text(column):
    """Whether a column holds strings or a type of categories."""
    import polars as pl

    return column.dtype == pl.String or isinstance(column.dtype, pl.Categorical | pl.Enum)


def kind_of(column):
    """'number', 'boolean', 'date' or 'time' of a column that is not text; DataError for what is no value."""
    import polars as pl

    if column.dtype.is_numeric():
        return "number"
    if column.dtype == pl.Boolean:
        return "boolean"
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        return "date"
    if isinstance(column.dtype, pl.Duration) or column.dtype == pl.Time:
        return "time"
    raise DataError(
        f"column {column.name!r} holds {column.dtype}, which is neither a number, a text, a truth value nor a date; "
        f"say --ignore {column.name!r}."
    )


def why_ignored(column, forced=False):
    """Why a column says nothing, or None. ``forced``: the user wants it as a category or a number."""
    import polars as pl

    n, missing = len(column), column.null_count()
    if column.dtype == pl.Null or missing == n:
        return "all values are missing"
    distinct = column.drop_nulls().n_unique()
    if distinct == 1 and not missing:
        return f"it is constant ({str(column[0])[:30]})"
    if forced:
        return None
    if is_text(column):
        if distinct == n - missing and n - missing > 2:
            return "every row has another text, as an identifier does"
        if distinct > max(TEXT_LEVELS, TEXT_SHARE * (n - missing)):
            return f"it is text with {distinct:,} different values in {count(n - missing, 'row')}"
    elif column.dtype.is_integer() and distinct >= max(FEW, MOSTLY * n) and ID_NAME.fullmatch(column.name):
        return "by its name and its values it numbers the rows"
    return None


def as_floats(column, kind="number", origin=0.0):
    """The values as float64: NaN where missing, days after ``origin`` for dates, hours for times, 0 and 1."""
    import polars as pl

    if is_text(column):
        column = _text_as(column, kind)
    found = kind_of(column)
    if (found in ("date", "time") or kind in ("date", "time")) and found != kind and column.null_count() < len(column):
        raise DataError(f"column {column.name!r} holds {_PLURAL[found]}; the model was fitted on {_PLURAL[kind]}.")
    if found == "date":
        micro = column.cast(pl.Datetime("us")).cast(pl.Int64)
        return micro.cast(pl.Float64).fill_null(float("nan")).to_numpy() / (1e6 * DAY) - origin
    if found == "time":
        nano = column.cast(pl.Duration("ns") if isinstance(column.dtype, pl.Duration) else pl.Time).cast(pl.Int64)
        return nano.cast(pl.Float64).fill_null(float("nan")).to_numpy() / (3600 * 1e9)
    values = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise DataError(
            f"column {column.name!r} is infinite, or too large for a number, in {rows_named(infinite)}. Correct these "
            "cells, or say --missing inf to treat them as missing."
        )
    return values


_PLURAL = {"number": "numbers", "boolean": "truth values", "date": "dates", "time": "times"}


def _text_as(column, kind):
    """A column of text as numbers, where a model or the user asks for them."""
    import polars as pl

    column = column.cast(pl.String)
    if not len(column.drop_nulls()):
        return column.cast(pl.Float64)
    found = numbers_in(column, ".", [])
    if found is None and kind in ("number", "boolean"):
        bad = (~is_number(column)).fill_null(False).arg_true().to_list()
        rows, cells = rows_named(bad or [0]), column.gather(bad or [0]).unique(maintain_order=True)
        raise DataError(f"column {column.name!r} must hold numbers, but {rows} has {listed(cells, 4)}; correct it.")
    if found is None:
        raise DataError(f"column {column.name!r} must hold {_PLURAL[kind]}, but row 1 has {column.drop_nulls()[0]!r}.")
    return found


def as_texts(column):
    """The values as texts, whole floats without their point; None where missing."""
    import polars as pl

    if column.dtype == pl.Boolean:
        return [None if value is None else str(value).lower() for value in column.to_list()]
    if column.dtype.is_float():
        return [None if value is None or value != value else _plain(value) for value in column.to_list()]
    return [None if value is None else str(value) for value in column.to_list()]


def _plain(value):
    """3.0 is 3, as a category."""
    return str(int(value)) if value == int(value) else repr(value)


def check_mixed(column):
    """Refuse a column of text that is mostly numbers."""
    import polars as pl

    said = refuse_mixed(column.cast(pl.String))
    if said:
        raise DataError(said)
