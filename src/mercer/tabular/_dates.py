"""Dates and times in columns of text: which form they have, and what they are."""

from datetime import time
from functools import cache

DAY_FIRST, MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"
ORDERS = {DAY_FIRST: "day/month/year", MONTH_FIRST: "month/day/year"}
SLASHES = r"^(\d{1,2})/(\d{1,2})/\d{4}$"
ZONE = r"(Z|[+-]\d{2}:?\d{2})"


@cache
def _forms():
    """(pattern, style, type) of all forms that leave no doubt; what is ``%z`` has a time zone, and becomes UTC."""
    import polars as pl

    dates = [
        (r"\d{4}-\d{1,2}-\d{1,2}", "%Y-%m-%d"),
        (r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d"),
        (r"\d{1,2}\.\d{1,2}\.\d{4}", "%d.%m.%Y"),
        (r"\d{1,2}\.\d{1,2}\.\d{2}", "%d.%m.%y"),
        (r"\d{1,2} [A-Za-z]{3} \d{4}", "%d %b %Y"),
        (r"\d{1,2} [A-Za-z]{4,9} \d{4}", "%d %B %Y"),
        (r"\d{1,2}-[A-Za-z]{3}-\d{4}", "%d-%b-%Y"),
        (r"\d{1,2}-[A-Za-z]{3}-\d{2}", "%d-%b-%y"),
        (r"[A-Za-z]{3} \d{1,2}, \d{4}", "%b %d, %Y"),
        (r"[A-Za-z]{4,9} \d{1,2}, \d{4}", "%B %d, %Y"),
    ]
    day = r"\d{4}-\d{2}-\d{2}[T ]"
    clocks = [
        (r"\d{1,2}:\d{2}", "%H:%M"),
        (r"\d{1,2}:\d{2}:\d{2}", "%H:%M:%S"),
        (r"\d{1,2}:\d{2}:\d{2}\.\d+", "%H:%M:%S%.f"),
    ]
    timed = [(day + form, f"%Y-%m-%dT{style}") for form, style in clocks]
    zoned = [(form + ZONE, f"{style}%z") for form, style in timed]
    kinds = ((dates, pl.Date), ([*timed, *zoned], pl.Datetime("us")), (clocks, pl.Time))
    return [(f"^{form}$", style, kind) for forms, kind in kinds for form, style in forms]


def dates_in(column, notes, styles):
    """The column as dates or times, or None if it has cells that are none.

    ``styles`` is {column: `DAY_FIRST` or `MONTH_FIRST`}: what it says of a column holds, and what is found out is put
    there. A table alone does not tell 05/04 from 04/05.
    """
    import polars as pl

    present = column.drop_nulls()
    if not len(present):
        return None
    for form, style, kind in _forms():
        if present.str.contains(form).all():
            return _whole(column, _parsed(column, kind, style))
    if present.str.contains(r"^\d{4}-\d{2}$").all():
        return _whole(column, _parsed(column + "-01", pl.Date, "%Y-%m-%d"))
    slashed = present.filter(present.str.contains(SLASHES))
    style = styles.get(column.name)
    if len(slashed) and style is None:
        style = _order(column.name, slashed, notes if len(slashed) == len(present) else [])
    if len(slashed) == len(present):
        found = _whole(column, _parsed(column, pl.Date, style))
    else:
        found = _mixed(column, style, len(present), notes)
    if found is not None and len(slashed):
        styles[column.name] = style
    return found


def _mixed(column, style, present, notes):
    """The column as dates of several forms, or None if a cell has none of them."""
    import polars as pl

    first = next((cell for cell in column if cell is not None), "")
    if not any(sign.isdigit() for sign in first):
        return None
    found = [(form, made) for form, made in _each(column, style) if made.null_count() < len(column)]
    if len(found) < 2:
        return None
    both = pl.select(pl.coalesce([made for _, made in found])).to_series().alias(column.name)
    if both.null_count() > column.null_count():
        return None
    shown = ", ".join(column.filter(made.is_not_null())[0] for _, made in found)
    notes.append(f"column {column.name!r}: dates in {len(found)} forms ({shown}), all read.")
    if style is not None:
        notes.append(f"column {column.name!r}: those with slashes are read as {ORDERS[style]}.")
    return both.cast(pl.Date) if (both.drop_nulls().dt.time() == time(0)).all() else both


def _each(column, style):
    """(style, dates and times) of each form that leaves no doubt, null where a cell has another one."""
    import polars as pl

    forms = [form for form in _forms() if form[2] != pl.Time]
    for form, made, kind in [*forms, *([(SLASHES, style, pl.Date)] if style else [])]:
        cells = pl.select(pl.when(column.str.contains(form)).then(column).alias(column.name)).to_series()
        yield made, _parsed(cells, kind, made).cast(pl.Datetime("us"))


def _order(name, present, notes):
    """Whether the day or the month comes first, by the cells that have a number above 12."""
    import polars as pl

    first, second = (present.str.extract(SLASHES, i).cast(pl.Int64).max() for i in (1, 2))
    if first <= 12 and second <= 12:
        notes.append(f"column {name!r}: dates such as {present[0]} are read as month/day/year.")
    return DAY_FIRST if first > 12 else MONTH_FIRST


def _parsed(column, kind, style):
    """The dates; null where there is none, as 30 February."""
    import polars as pl

    if kind == pl.Datetime("us"):
        column = column.str.replace(" ", "T", literal=True)
    if not style.endswith("%z"):
        return column.str.strptime(kind, style, strict=False)
    found = column.str.replace("Z$", "+00:00").str.strptime(kind, style, strict=False)
    return found.dt.replace_time_zone(None)


def _whole(column, found):
    """The dates, or None if one of them does not exist."""
    return found if found.null_count() == column.null_count() else None


def not_dates(column, style=None):
    """Rows of a column of text that are no dates, in the form that most of its cells have."""
    best = min((_any_of(column, order) for order in ([style] if style else ORDERS)), key=lambda made: made.null_count())
    return (best.is_null() & column.is_not_null()).arg_true().to_list()


def _any_of(column, style):
    """Dates, of whatever form a cell has, or hours of a clock."""
    import polars as pl

    times = [_parsed(column, kind, form).cast(pl.Int64).cast(pl.Datetime("us")) for _, form, kind in _forms()
             if kind == pl.Time]  # fmt: skip
    return pl.select(pl.coalesce([*(made for _, made in _each(column, style)), *times])).to_series()
