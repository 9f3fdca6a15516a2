"""Dates and times in columns of text: which form they have, and what they are."""

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
    if not present.str.contains(SLASHES).all():
        return None
    style = styles.get(column.name) or _order(column.name, present, notes)
    found = _whole(column, _parsed(column, pl.Date, style))
    if found is not None:
        styles[column.name] = style
    return found


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
    import polars as pl

    orders = [style] if style else list(ORDERS)
    forms = [*_forms(), *((SLASHES, order, pl.Date) for order in orders)]
    found = [_parsed(column, kind, style) for _, style, kind in forms]
    best = min(found, key=lambda dates: dates.null_count())
    return (best.is_null() & column.is_not_null()).arg_true().to_list()
