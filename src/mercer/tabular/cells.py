"""What stands in a cell of text: numbers with units, limits and marks, dates in their forms; and words about cells."""

import difflib
from contextlib import contextmanager
from datetime import time
from functools import cache

from mercer.exceptions import DataError


class BadRows(DataError):
    """Some rows cannot be used: ``parts`` are words, and between them lists of rows, counted from 0."""

    def __init__(self, *parts):
        super().__init__("".join(part if isinstance(part, str) else rows_named(part) for part in parts))
        self.parts = parts


@contextmanager
def numbered(rows):
    """Errors inside name rows as numbered in the whole table: row i of the part is ``rows[i]`` of the table."""
    try:
        yield
    except BadRows as error:
        parts = (part if isinstance(part, str) else [rows[i] for i in part] for part in error.parts)
        raise BadRows(*parts) from error.__cause__


def listed(names, most=8):
    """Names in quotes, at most so many of them."""
    names = list(names)
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown}, … ({len(names)} in all)" if len(names) > most else shown


def meant(name, names):
    """The end of a sentence: '; did you mean "x"?', or a full stop where no name is near."""
    lower = {str(other).lower(): str(other) for other in names}
    near = difflib.get_close_matches(str(name).lower(), list(lower), n=1, cutoff=0.6)
    return f"; did you mean {lower[near[0]]!r}?" if near else "."


def rows_named(rows, most=5):
    """'row 3' or 'rows 3, 8, … (12 in all)': counted from 1, the header aside."""
    rows = [int(row) + 1 for row in rows]
    if len(rows) == 1:
        return f"row {rows[0]}"
    shown = ", ".join(map(str, rows[:most]))
    return f"rows {shown}, … ({len(rows):,} in all)" if len(rows) > most else f"rows {shown}"


def count(number, what):
    """'1 row', '20,640 rows'."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


FRONT = r"€|\$|£|¥|₹|EUR|USD|GBP|CHF|Fr\.?|Rs\.?"
ABOUT = r"<=|>=|<|>|≤|≥|~|≈|ca\.?|approx\.?"
UNIT = r"(?:[A-Za-zµμ°%‰€$£¥Ω][A-Za-zµμ°%/²³^0-9. -]{0,14})"
GROUPS = r"'’ \u00a0\u2009\u202f"  # between thousands, beside the sign that is not the decimal one
LIMITS = 0.5  # share of cells with a limit from which they are categories rather than numbers
SIZES = {  # {what is measured: {unit: its size}}
    "mass": {"ng": 1e-9, "µg": 1e-6, "ug": 1e-6, "mg": 1e-3, "g": 1.0, "kg": 1e3, "t": 1e6, "lb": 453.59237,
             "lbs": 453.59237, "oz": 28.349523125},
    "length": {"nm": 1e-9, "µm": 1e-6, "um": 1e-6, "mm": 1e-3, "cm": 1e-2, "dm": 0.1, "m": 1.0, "km": 1e3, "in": 0.0254,
               "ft": 0.3048, "yd": 0.9144, "mi": 1609.344},
    "volume": {"µl": 1e-6, "ml": 1e-3, "cl": 1e-2, "dl": 0.1, "l": 1.0},
    "time": {"ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hr": 3600.0, "hrs": 3600.0},
    "pressure": {"Pa": 1.0, "hPa": 1e2, "mbar": 1e2, "kPa": 1e3, "bar": 1e5, "MPa": 1e6},
}  # fmt: skip
KNOWN = {unit for sizes in SIZES.values() for unit in sizes} | set(
    "% ‰ € $ £ ¥ ₹ EUR USD GBP CHF Fr Fr. Rs inch inches feet miles gal hour hours d day days week weeks month months "
    "yr yrs year years °C °F C K ° J kJ MJ Wh kWh MWh cal kcal W kW MW hp PS V mV kV A mA Hz kHz MHz GHz N kN Nm mol "
    "mmol µmol mM µM ppm ppb m2 m² m3 m³ cm2 cm² cm3 cm³ km2 km² ha km/h m/s mph rpm kg/m3 kg/m³ g/l mg/l mg/dl "
    "mmol/l g/kg kg/ha t/ha B kB MB GB TB dB Mio mm/h mm/d".split()
)


def between(decimal):
    """The signs that may stand between thousands."""
    return GROUPS + ("," if decimal == "." else ".")


def as_numbers(column, decimal):
    """Strings that are all numbers, as floats."""
    import polars as pl

    plain = column.str.replace_all(rf"[{between(decimal)}\s]", "")
    return (plain.str.replace(",", ".", literal=True) if decimal == "," else plain).cast(pl.Float64)


def digits(decimal):
    """The pattern of a number without its sign, with groups of thousands."""
    whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:[{between(decimal)}]\d{{3}})+)"  # no group of thousands begins with 0
    return rf"(?:{whole}(?:\{decimal}\d*)?|\{decimal}\d+)(?:[eE][+-]?\d+)?"


def split(column, decimal):
    """The frame of (about, sign, front, number, space, unit) of each cell; null where it is no number with a unit."""
    pattern = (
        rf"^(?P<about>{ABOUT})?\s*(?P<sign>[+-])?\s?(?P<front>{FRONT})?\s*(?P<number>[+-]?{digits(decimal)})"
        rf"(?P<space>\s*)(?P<unit>{UNIT})?[*†‡]*$"
    )
    found = column.str.extract_groups(pattern).struct.unnest()
    unit = found["unit"].str.strip_chars().str.replace("μ", "µ", literal=True).str.replace(r"^(m|c|d|µ)?L$", "${1}l")
    return found.with_columns(unit.fill_null(found["front"]).alias("unit"))


def why_not(column, decimal):
    """Why a column whose cells are numbers with units is not one of numbers, for a message; None where it could be."""
    import polars as pl

    parts = split(column, decimal).filter(column.is_not_null())
    named, exact = parts.drop_nulls("unit"), ["~", "≈", "ca", "ca.", "approx", "approx."]
    if parts.select(pl.col("about").is_in(exact).not_().sum()).item() >= LIMITS * len(parts):
        return "most of its cells are limits"
    units = named["unit"].value_counts(sort=True, name="n")["unit"]
    odd = [unit for unit in units if unit not in KNOWN]
    if odd and (len(units) > 1 or (named["space"] == "").any()):
        return f"{listed(odd, 3)} could be a part of a name"
    return f"it has different units: {listed(units, 4)}" if len(units) > 1 and _sizes(units) is None else None


def numberlike(column, decimal):
    """Which cells are numbers, with a unit that is known or without one; null where a cell is missing."""
    import polars as pl

    parts = split(column, decimal)
    good = parts["number"].is_not_null() & (parts["unit"].is_null() | parts["unit"].is_in([*KNOWN]))
    return pl.select(pl.when(column.is_not_null()).then(good)).to_series()


def _sizes(units):
    """{unit: its size} of units of one kind; None where they measure different things."""
    return next((sizes for sizes in SIZES.values() if all(unit in sizes for unit in units)), None)


def measured(column, decimal, notes, styles):
    """The column as numbers in one unit, or None; what was taken out or converted is said.

    ``styles`` is {column: unit}: what it says of a column holds, and what is found out is put there.
    """
    import polars as pl

    present = column.drop_nulls()
    if not len(present) or not present[0:50].str.contains(r"\d").all():
        return None
    parts = split(column, decimal)
    plain = column.filter(parts["number"].is_not_null()) == parts["number"].drop_nulls()
    if parts["number"].null_count() > column.null_count() or plain.all() or why_not(column, decimal):
        return None
    sign = pl.select(pl.when(parts["sign"] == "-").then(-1.0).otherwise(1.0)).to_series()
    values = sign * as_numbers(parts["number"], decimal)
    found = parts["unit"].drop_nulls().value_counts(sort=True, name="n")
    name, units = column.name, found["unit"].to_list()
    wanted = styles.get(name)
    wanted = wanted if wanted and wanted not in ORDERS else units[0] if units else None
    if units:
        styles[name] = wanted
        without = len(present) - found["n"].sum()
        also = f"; {count(without, 'cell')} without a unit read alike" if without else ""
        notes.append(f"column {name!r}: the unit {units[0]!r} was taken out of its numbers{also}.")
    others = [unit for unit in units if unit != wanted]
    if others:
        sizes = _sizes([*units, wanted])
        if sizes is None:
            raise DataError(
                f"column {name!r} is in {listed(others)}, and the model was fitted on {wanted!r}; give it in that unit."
            )
        ratio = parts["unit"].replace_strict({unit: sizes[unit] / sizes[wanted] for unit in units}, default=1.0)
        values = values * ratio
        notes.append(f"column {name!r}: cells in {listed(others)} were converted to {wanted!r}.")
    limits = column.filter(parts["about"].is_not_null()).unique(maintain_order=True)
    if len(limits):
        many = int(parts["about"].is_not_null().sum())
        notes.append(
            f"column {name!r}: {count(many, 'cell')} such as {limits[0]!r} read as the number itself; --missing "
            f"{limits[0]!r} makes it missing."
        )
    return values.alias(name)


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
    style = style if style in ORDERS else None  # else it was a unit
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
