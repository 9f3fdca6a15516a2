"""Dates and times in cells of text, in the forms that people and machines write them."""

import re
from datetime import date, datetime, time, timedelta
from functools import cache

from mercer.tabular.cells import count
from mercer.tabular.months import MONTH, WEEKDAY, month_number

DAY_FIRST, MONTH_FIRST = "%d/%m/%Y", "%m/%d/%Y"
ORDERS = {DAY_FIRST: "day/month/year", MONTH_FIRST: "month/day/year"}
CLOCK = r"(?:(?:[ T]+|, *)(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(?: *([aApP])\.?[mM]\.?)?)?"
SLASHES = rf"^(\d{{1,2}})[/-](\d{{1,2}})[/-](\d{{4}}|\d{{2}}){CLOCK}$"
DOTS = rf"^(\d{{1,2}})\. ?(\d{{1,2}})\. ?(\d{{4}}|\d{{2}}){CLOCK}$"
ISO = rf"^(\d{{4}})[-/.] ?(\d{{1,2}})[-/.] ?(\d{{1,2}})\.?{CLOCK}$"
CJK = rf"^(\d{{4}}) ?[年년] ?(\d{{1,2}}) ?[月월] ?(\d{{1,2}}) ?[日일]{CLOCK}$"
ZONE = r"(Z|[+-]\d{2}:?\d{2})"
OF = "(?:de |of )?"
NAMED = (  # (order of the parts, pattern): a month by its name
    ("dmy", rf"^(\d{{1,2}})(?:\.|er|st|nd|rd|th|º)?[ -]*{OF}({MONTH})\.?,?[ -]*{OF}(\d{{4}}|\d{{2}}){CLOCK}$"),
    ("mdy", rf"^({MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}}){CLOCK}$"),
    ("ymd", rf"^(\d{{4}})[ -]({MONTH})\.?[ -](\d{{1,2}}){CLOCK}$"),
)  # fmt: skip
YEAR = r"((?:18|19|20)\d{2})"  # 1/1000 is a dilution
MONTHS = (  # a month without a day: its first one
    ("my", rf"^({MONTH})\.?(?:[ /_-]|, | de )(\d{{4}})$"),
    ("my", rf"^({MONTH})\.?[-/']'?(\d{{2}})$"),
    ("ym", rf"^(\d{{4}})(?:[ /_-]|, )({MONTH})$"),
    ("my", rf"^(\d{{1,2}})[/-]{YEAR}$"),
    ("ym", rf"^{YEAR}[-/](\d{{1,2}})$"),
    ("ym", rf"^{YEAR}(?:M| ?[年년] ?)(\d{{1,2}})[月월]?$"),
)
QUARTER = r"(?:Q|T|Quarter |Quartal |Kvartal |Trim\.? ?|Trimestre |Trimester )"
QUARTERS = (
    ("yq", rf"^{YEAR}(?:[ /:_-]|, )?{QUARTER}([1-4])$"),
    ("qy", rf"^{QUARTER}([1-4])(?:[ /:_-]|, )?{YEAR}$"),
    ("qy", r"^[QT]([1-4])[-/']'?(\d{2})$"),
    ("qy", r"^([1-4])[QT] ?(\d{4}|\d{2})$"),
    ("qy", rf"^([1-4])(?:\.|er|e|º)? {QUARTER.replace(' )', ')')} ?{YEAR}$"),
)
WEEK = r"(?:W|KW|CW|Week|Woche|Semaine|Vecka|Uke)"
WEEKS = (("yw", rf"^{YEAR}[ /-]?{WEEK}[ -]?(\d{{1,2}})$"), ("wy", rf"^{WEEK}[ .-]?(\d{{1,2}})[ /-]{YEAR}$"),
         ("ywk", rf"^{YEAR}-W(\d{{1,2}})-([1-7])$"))  # fmt: skip
TIDY = (  # what is written around a date or in another order: (pattern, what is left of it)
    (
        rf"(?i)^(?:{WEEKDAY}),? ({MONTH}) +(\d{{1,2}}) (\d{{2}}:\d{{2}}:\d{{2}})(?: (?:UTC|GMT|Z))? (\d{{4}})$",
        "${1} ${2}, ${4} ${3}",
    ),
    (r"^(\d{4})(\d{2})(\d{2})T(\d{2}):?(\d{2}):?(\d{2})(?:\.\d+)?Z?$", "${1}-${2}-${3} ${4}:${5}:${6}"),
    (r"(:\d{2})(?:[+-]00:00|Z)?\[(?:UTC|Etc/UTC|GMT|Z)\]$", "${1}"),
    (r"(:\d{2}) ?(?:UTC|GMT|Uhr)$", "${1}"),
    (r"(:\d{2}:\d{2}),(\d{1,9})$", "${1}.${2}"),
    (r"^'(\d)", "${1}"),
)
SERIAL = r"^[1-8]\d{4}(?:\.\d+)?$"  # days of a spreadsheet, from 1927 to 2146


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
    present = column.drop_nulls()
    if not len(present):
        return None
    column = strip_decorations(column)
    present = column.drop_nulls()
    for form, style, kind in _forms():
        if present.str.contains(form).all():
            found = _if_complete(column, _parse_form(column, kind, style))
            if found is not None:
                return found
    first = present[0]
    if not any(sign.isdigit() for sign in first) or len(first) > 60:
        return None
    slashed = present.filter(present.str.contains(SLASHES))
    style = styles.get(column.name)
    style = style if style in ORDERS else None  # else it was a unit
    if len(slashed) and style is None:
        style = _order(column.name, slashed, notes if len(slashed) == len(present) else [])
    if len(slashed) == len(present):
        found = _if_complete(column, _parse_parts(column, SLASHES, "dmy" if style == DAY_FIRST else "mdy"))
        found = None if found is None else _as_days(found)
    else:
        found = _parse_by_cell(column, style, notes)
    if found is not None and len(slashed):
        styles[column.name] = style
    return found


def strip_decorations(column):
    """The column without what is written around its dates."""
    odd = column.str.contains(r"^'|^\d{8}T|[a-zA-Z\]]$|,\d+$|:\d{2} .*\d{4}$").fill_null(False)
    if not odd.any():
        return column
    for form, rest in TIDY:
        column = column.str.replace(form, rest)
    return column


def _parse_by_cell(column, style, notes):
    """The column as dates of one or several forms, or None if a cell has none of them."""
    import polars as pl

    found = [made for made in _parse_each_form(column, style) if made.null_count() < len(column)]
    if not found or pl.select(pl.coalesce(found)).to_series().null_count() > column.null_count():
        found = _with_serials(column, found, notes)
    if not found:
        return None
    if len(found) > 1:
        shown = ", ".join(column.filter(made.is_not_null())[0] for made in found)
        notes.append(f"column {column.name!r}: dates in {len(found)} forms ({shown}), all read.")
        if style is not None:
            notes.append(f"column {column.name!r}: those with slashes are read as {ORDERS[style]}.")
    return _as_days(pl.select(pl.coalesce(found)).to_series().alias(column.name))


def _as_days(found):
    """Dates without hours as days."""
    import polars as pl

    return found.cast(pl.Date) if (found.drop_nulls().dt.time() == time(0)).all() else found


def _parse_each_form(column, style):
    """Dates and times of each form that leaves no doubt, null where a cell has another one."""
    import polars as pl

    rest = column
    for form, made, kind in _forms():
        if kind != pl.Time:
            cells = pl.select(pl.when(rest.str.contains(form)).then(rest).alias(column.name)).to_series()
            found = _parse_form(cells, kind, made).cast(pl.Datetime("us"))
            if found.null_count() < len(column):
                rest = pl.select(pl.when(found.is_null()).then(rest).alias(column.name)).to_series()
            yield found
    if style is not None:
        yield _parse_parts(rest, SLASHES, "dmy" if style == DAY_FIRST else "mdy")
    if rest.null_count() == len(rest):
        return
    yield _parse_parts(rest, DOTS, "dmy")
    yield _parse_parts(rest, ISO, "ymd")
    yield _parse_parts(rest, CJK, "ymd")
    days = rest.str.replace(rf"^(?i:{WEEKDAY})[.,]* +", "")
    named = days.str.contains(rf"(?i)(?:^|[\d .,/-])(?:{MONTH})(?:[\d .,/-]|$)").fill_null(
        False
    )  # mar is Tuesday, and March
    words = pl.select(pl.when(named).then(days).otherwise(rest).alias(column.name)).to_series()
    for order, form in (*NAMED, *MONTHS, *QUARTERS, *WEEKS):
        yield _parse_parts(words, f"(?i){form}", order)


def _parse_parts(column, form, order):
    """Dates by a pattern whose first groups are the parts of ``order``; behind are hours, minutes, seconds, am."""
    import polars as pl

    cells = column.str.extract_groups(form)
    if cells.is_null().all() or cells.struct[0].null_count() == len(column):
        return pl.Series(column.name, [None] * len(column), dtype=pl.Datetime("us"))
    parts = cells.struct.unnest()
    parts.columns = [*order, *("hour", "minute", "second", "half")][: parts.width]
    if "m" in parts.columns and not parts["m"].str.contains(r"^\d*$").all():
        words = parts["m"].unique().drop_nulls().to_list()
        numbers = {word: month_number(word) for word in words}
        parts = parts.with_columns(pl.col("m").replace_strict(numbers, default=None, return_dtype=pl.Int64))
    parts = parts.with_columns(pl.all().exclude("half", "second").cast(pl.Int64, strict=False))
    year = pl.col("y") + pl.when(pl.col("y") < 69).then(2000).when(pl.col("y") < 100).then(1900).otherwise(0)
    if "w" in order:
        weeks = parts.select(year, "w", pl.col("k") if "k" in order else pl.lit(1))
        days = {row: _day_of_week(*row) for row in weeks.drop_nulls().unique().rows()}
        found = [days.get(row) for row in weeks.rows()]
        return pl.Series(column.name, found, dtype=pl.Date).cast(pl.Datetime("us"))
    month = 3 * pl.col("q") - 2 if "q" in order else pl.col("m")
    day = pl.col("d") if "d" in order else pl.lit(1)
    text = pl.format("{}-{}-{}", year, month, day)
    made = text.str.strptime(pl.Date, "%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
    if "hour" in parts.columns:
        hour = (
            pl.col("hour") % 12 + 12 * (pl.col("half").str.to_lowercase() == "p") if "half" in parts.columns else None
        )
        hour = pl.when(pl.col("half").is_not_null()).then(hour).otherwise(pl.col("hour")).fill_null(0)
        micro = 1e6 * (
            3600 * hour + 60 * pl.col("minute").fill_null(0) + pl.col("second").cast(pl.Float64).fill_null(0.0)
        )
        made = pl.when((hour < 25) & (pl.col("minute").fill_null(0) < 60)).then(
            made + micro.cast(pl.Int64).cast(pl.Duration("us"))
        )
    return parts.select(made.alias(column.name)).to_series()


def _day_of_week(year, week, day):
    """A day of a week, 1 the Monday; None where the year has no such week."""
    try:
        return date.fromisocalendar(year, week, day)
    except ValueError:
        return None


def _with_serials(column, found, notes, years=30):
    """The forms that were found, and the days of a spreadsheet where these are the rest; else nothing.

    Such a day may lie some years before or after the other dates of the column.
    """
    import polars as pl

    rest = column.str.contains(SERIAL).fill_null(False)
    dated = pl.select(pl.coalesce(found)).to_series() if found else None
    if dated is None or not rest.any() or (dated.is_null() & column.is_not_null() & ~rest).any():
        return []
    micro = (column.str.extract(f"({SERIAL})").cast(pl.Float64) * 86_400e6).round().cast(pl.Int64)
    made = datetime(1899, 12, 30) + pl.Series(column.name, micro.cast(pl.Duration("us")))
    room = timedelta(days=366 * years)
    if not made.is_between(dated.min() - room, dated.max() + room).fill_null(True).all():
        return []
    notes.append(
        f"column {column.name!r}: {count(int(rest.sum()), 'cell')} such as {column.filter(rest)[0]} read as dates, "
        "which a spreadsheet keeps as days after 30 December 1899."
    )
    return [*found, made]


def _order(name, present, notes):
    """Whether the day or the month comes first, by the cells that have a number above 12."""
    import polars as pl

    first, second = (present.str.extract(SLASHES, i).cast(pl.Int64).max() for i in (1, 2))
    if first <= 12 and second <= 12:
        if present.str.contains(r"^\d+-").all():
            notes.append(f"column {name!r}: dates such as {present[0]} are read as day-month-year.")
            return DAY_FIRST
        notes.append(f"column {name!r}: dates such as {present[0]} are read as month/day/year.")
    return DAY_FIRST if first > 12 else MONTH_FIRST


def _parse_form(column, kind, style):
    """The dates; null where there is none, as 30 February."""
    import polars as pl

    if kind == pl.Datetime("us"):
        column = column.str.replace(" ", "T", literal=True)
    if not style.endswith("%z"):
        return column.str.strptime(kind, style, strict=False)
    found = column.str.replace("Z$", "+00:00").str.strptime(kind, style, strict=False)
    return found.dt.replace_time_zone(None)


def _if_complete(column, found):
    """The dates, or None if one of them does not exist."""
    return found if found.null_count() == column.null_count() else None


def not_dates(column, style=None):
    """Rows of a column of text that are no dates, in the form that most of its cells have."""
    column = strip_decorations(column)
    best = min((_any_of(column, order) for order in ([style] if style else ORDERS)), key=lambda made: made.null_count())
    return (best.is_null() & column.is_not_null()).arg_true().to_list()


def _any_of(column, style):
    """Dates, of whatever form a cell has, or hours of a clock."""
    import polars as pl

    times = [_parse_form(column, kind, form).cast(pl.Int64).cast(pl.Datetime("us")) for _, form, kind in _forms()
             if kind == pl.Time]  # fmt: skip
    return pl.select(pl.coalesce([*_parse_each_form(column, style), *times])).to_series()


DAY_NAME = re.compile(r"(?i).*(date|datum|day|tag|fecha|data|giorno|jour).*")
DAYS_OF_DIGITS = 19000101, 21001231
MONTHS_OF_DIGITS = 190001, 210012
MONTH_DOT_YEAR = r"^(?:0?[1-9]|1[0-2])\.(?:19|20)\d{2}$"  # 01.2024, which is no number
LEAST_MONTHS = 6  # different ones, in two years or more


def digits_as_dates(column, least=5):
    """A column of whole numbers such as 20240105 or 202401 as dates; None where one is none, or they are too few."""
    import polars as pl

    if not column.dtype.is_integer() or not column.null_count() < len(column):
        return None
    low, high = column.min(), column.max()
    if MONTHS_OF_DIGITS[0] <= low <= high <= MONTHS_OF_DIGITS[1]:
        months = column.drop_nulls().unique()
        if (months % 100).is_between(1, 12).all() and least and len(months) >= LEAST_MONTHS:
            years = (months // 100).n_unique()
            days = (column * 100 + 1).cast(pl.String).str.strptime(pl.Date, "%Y%m%d", strict=False)
            return _if_complete(column, days) if years >= 2 else None
    if low < DAYS_OF_DIGITS[0] or high > DAYS_OF_DIGITS[1]:
        return None
    if column.n_unique() < least and not DAY_NAME.fullmatch(column.name):
        return None
    found = column.cast(pl.String).str.strptime(pl.Date, "%Y%m%d", strict=False)
    return _if_complete(column, found)


def months_with_points(column):
    """A column of text such as 01.2024, months of several years, as their first days; None of another."""
    import polars as pl

    cells = column.drop_nulls().unique()
    if len(cells) < LEAST_MONTHS or not cells.str.contains(MONTH_DOT_YEAR).all():
        return None
    if cells.str.slice(-4).n_unique() < 2:
        return None
    return ("01." + column).str.strptime(pl.Date, "%d.%m.%Y", strict=False).alias(column.name)
