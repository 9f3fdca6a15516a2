"""Numbers with units, limits and marks in cells of text."""

from mercer.exceptions import DataError
from mercer.tabular.cells import count, quote
from mercer.tabular.dates import ORDERS

FRONT = r"€|\$|£|¥|₹|EUR|USD|GBP|CHF|Fr\.?|Rs\.?"
ABOUT = r"<=|>=|<|>|≤|≥|~|≈|ca\.?|approx\.?"
UNIT = r"(?:[A-Za-zµμ°%‰€$£¥Ω][A-Za-zµμ°%/²³^0-9. -]{0,14})"
GROUPS = r"'’ \u00a0\u2009\u202f"  # between thousands, beside the sign that is not the decimal one
SIZES = {  # {what is measured: {unit: its size}}
    "mass": {"ng": 1e-9, "µg": 1e-6, "ug": 1e-6, "mg": 1e-3, "g": 1.0, "kg": 1e3, "t": 1e6, "lb": 453.59237,
             "lbs": 453.59237, "oz": 28.349523125},
    "length": {"nm": 1e-9, "µm": 1e-6, "um": 1e-6, "mm": 1e-3, "cm": 1e-2, "dm": 0.1, "m": 1.0, "km": 1e3, "in": 0.0254,
               "ft": 0.3048, "yd": 0.9144, "mi": 1609.344},
    "volume": {"µl": 1e-6, "ml": 1e-3, "cl": 1e-2, "dl": 0.1, "l": 1.0},
    "time": {"ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hr": 3600.0, "hrs": 3600.0},
    "pressure": {"Pa": 1.0, "hPa": 1e2, "mbar": 1e2, "kPa": 1e3, "bar": 1e5, "MPa": 1e6},
    "euro": {"€": 1.0, "EUR": 1.0, "ct": 0.01, "Tsd €": 1e3, "T€": 1e3, "k€": 1e3, "Mio €": 1e6,
             "Mio€": 1e6, "M€": 1e6, "Mrd €": 1e9},
    "dollar": {"$": 1.0, "USD": 1.0, "k$": 1e3, "K$": 1e3, "M$": 1e6, "B$": 1e9, "bn$": 1e9},
    "voltage": {"µV": 1e-6, "mV": 1e-3, "V": 1.0, "kV": 1e3},
    "current": {"nA": 1e-9, "µA": 1e-6, "mA": 1e-3, "A": 1.0},
    "resistance": {"mΩ": 1e-3, "Ω": 1.0, "kΩ": 1e3, "MΩ": 1e6},
    "power": {"mW": 1e-3, "W": 1.0, "kW": 1e3, "MW": 1e6},
    "energy": {"J": 1.0, "kJ": 1e3, "MJ": 1e6, "Wh": 3.6e3, "kWh": 3.6e6, "MWh": 3.6e9, "cal": 4.184, "kcal": 4184.0},
    "frequency": {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9, "rpm": 1 / 60},
    "amount": {"nmol": 1e-9, "µmol": 1e-6, "mmol": 1e-3, "mol": 1.0},
    "molarity": {"nM": 1e-9, "µM": 1e-6, "uM": 1e-6, "mM": 1e-3, "M": 1.0, "µmol/l": 1e-6, "mmol/l": 1e-3,
                 "mol/l": 1.0},
    "concentration": {"ng/ml": 1e-6, "ng/l": 1e-9, "µg/l": 1e-6, "µg/ml": 1e-3, "mg/dl": 1e-2, "mg/l": 1e-3,
                      "mg/ml": 1.0, "g/l": 1.0},
    "area": {"mm2": 1e-6, "mm²": 1e-6, "cm2": 1e-4, "cm²": 1e-4, "m2": 1.0, "m²": 1.0, "ha": 1e4, "km2": 1e6,
             "km²": 1e6},
    "memory": {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12},
    "velocity": {"m/s": 1.0, "km/h": 1 / 3.6, "mph": 0.44704},
    "share": {"share": 1.0, "%": 1e-2, "‰": 1e-3},
    "count": {"count": 1.0, "k": 1e3, "K": 1e3, "Tsd": 1e3, "M": 1e6, "Mio": 1e6, "mn": 1e6, "million": 1e6, "B": 1e9,
              "bn": 1e9, "Mrd": 1e9, "billion": 1e9},
}  # fmt: skip
WORDED = {"k", "Tsd", "Mio", "mn", "million", "bn", "Mrd", "billion"}  # which are no units of anything else
PLAIN = ("share", "count")  # what a number without a unit is, where others of its column have % or k
KNOWN = {unit for sizes in SIZES.values() for unit in sizes} | set(
    "% ‰ € $ £ ¥ ₹ EUR USD GBP CHF Fr Fr. Rs inch inches feet miles gal hour hours d day days week weeks month months "
    "yr yrs year years °C °F C K ° J kJ MJ Wh kWh MWh cal kcal W kW MW hp PS V mV kV A mA Hz kHz MHz GHz N kN Nm mol "
    "mmol µmol mM µM ppm ppb m2 m² m3 m³ cm2 cm² cm3 cm³ km2 km² ha km/h m/s mph rpm kg/m3 kg/m³ g/l mg/l mg/dl "
    "mmol/l g/kg kg/ha t/ha B kB MB GB TB dB Mio mm/h mm/d".split()
)


def thousands_marks(decimal):
    """The signs that may stand between thousands."""
    return GROUPS + ("," if decimal == "." else ".")


def as_numbers(column, decimal):
    """Strings that are all numbers, as floats."""
    import polars as pl

    plain = column.str.replace_all(rf"[{thousands_marks(decimal)}\s]", "")
    return (plain.str.replace(",", ".", literal=True) if decimal == "," else plain).cast(pl.Float64)


def number_pattern(decimal):
    """The pattern of a number without its sign, with groups of thousands."""
    whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:[{thousands_marks(decimal)}]\d{{3}})+)"  # no group of thousands begins with 0
    if decimal == ".":
        whole = rf"(?:{whole}|[1-9]\d?(?:,\d{{2}})+,\d{{3}})"  # 12,34,567 in India
    return rf"(?:{whole}(?:\{decimal}\d*)?|\{decimal}\d+)(?:[eE][+-]?\d+)?"


def split(column, decimal):
    """The frame of (about, sign, front, number, space, unit) of each cell; null where it is no number with a unit."""
    import polars as pl

    pattern = (
        rf"^(?P<about>{ABOUT})?\s*(?P<sign>[+-])?\s?(?P<front>{FRONT})?\s*(?P<number>[+-]?{number_pattern(decimal)})"
        rf"(?P<space>\s*)(?P<unit>{UNIT})?[*†‡]*$"
    )
    found = column.str.extract_groups(pattern).struct.unnest()
    unit = (
        found["unit"]
        .str.strip_chars()
        .str.replace("μ", "µ", literal=True)
        .str.replace(r"^(m|c|d|µ)?L$", "${1}l")
        .str.replace(r"^(Mio|Mrd|Tsd)\.", "${1}")
        .str.replace(r"^(?i:percent|prozent|procent|pct\.?|v\. ?H\.)$", "%")
        .str.replace(r"^(?:mln|Mln|MM)\.?( ?€)?$", "Mio${1}")
    )
    found = found.with_columns(_without_letters(unit).alias("unit"))
    scaled = pl.col("unit").is_in([*SIZES["count"]]) & pl.col("front").is_not_null()  # $5k is 5 k$
    return found.with_columns(
        pl.when(scaled).then(pl.col("unit") + pl.col("front")).otherwise(pl.col("unit").fill_null(pl.col("front")))
    )


def _without_letters(unit):
    """The units, or nothing in their place where they are letters that tell groups apart: 12.5 a, 13.1 ab, 11.9 b."""
    import polars as pl

    letters = unit.drop_nulls().unique()
    groups = len(letters) > 1 and letters.str.contains(r"^[a-h]{1,4}$").all() and letters.is_in(["a", "b"]).any()
    return pl.Series(unit.name, [None] * len(unit), dtype=pl.String) if groups else unit


def why_no_numbers(column, decimal):
    """Why a column whose cells are numbers with units is not one of numbers, for a message; None where it could be."""
    import polars as pl

    parts = split(column, decimal).filter(column.is_not_null())
    named, exact = parts.drop_nulls("unit"), ["~", "≈", "ca", "ca.", "approx", "approx."]
    if parts.select(pl.col("about").is_in(exact).not_().sum()).item() >= 0.5 * len(parts):
        return "most of its cells are limits"
    units = named["unit"].value_counts(sort=True, name="n")["unit"]
    if len(named) and len(named) < len(parts) and _shares(as_numbers(parts["number"], decimal), parts["unit"]) is None:
        return "some cells have a % and others do not, where both may be meant"
    odd = [unit for unit in units if unit not in KNOWN]
    if odd and (len(units) > 1 or (named["space"] == "").any()):
        return f"{quote(odd, 3)} could be a part of a name"
    return f"it has different units: {quote(units, 4)}" if len(units) > 1 and _sizes(units) is None else None


def numberlike(column, decimal):
    """Which cells are numbers, with a unit that is known or without one; null where a cell is missing."""
    import polars as pl

    parts = split(column, decimal)
    good = parts["number"].is_not_null() & (parts["unit"].is_null() | parts["unit"].is_in([*KNOWN]))
    return pl.select(pl.when(column.is_not_null()).then(good)).to_series()


def _sizes(units):
    """{unit: its size} of units of one kind; None where they measure different things."""
    return next((sizes for sizes in SIZES.values() if all(unit in sizes for unit in units)), None)


def _plain_kind(values, units):
    """The kind "share" or "count" where % or k stand in some cells and plain numbers mean one or a whole; else None."""
    known, bare = units.drop_nulls().unique().to_list(), units.is_null() & values.is_not_null()
    if all(unit in SIZES["count"] for unit in known):
        plain = values.filter(bare).abs()
        large = len(plain) and plain.median() >= 1000
        return "count" if set(known) & WORDED or len(known) > 1 or large else None
    return "share" if bare.any() and _shares(values, units) else None


def _shares(values, units):
    """Whether plain numbers beside % are shares of one: True, False (they are percent, too), or None for a doubt."""
    plain, percent = values.filter(units.is_null()).drop_nulls().abs(), values.filter(units.is_not_null()).abs()
    if not all(unit in SIZES["share"] for unit in units.drop_nulls().unique()) or not len(plain):
        return False
    if plain.max() > 1:
        return None if percent.median() > 20 * plain.median() else False  # 113 % among 1.2
    if not (plain > 0).any():
        return False
    return True if percent.median() > 1 else None


def read_units(column, decimal, notes, styles):
    """The column as numbers in one unit, or None; what was taken out or converted is said.

    ``styles`` is {column: unit}: what it says of a column holds, and what is found out is put there.
    """
    import polars as pl

    present = column.drop_nulls()
    if not len(present) or not present[0:50].str.contains(r"\d").all():
        return None
    parts = split(column, decimal)
    plain = column.filter(parts["number"].is_not_null()) == parts["number"].drop_nulls()
    if parts["number"].null_count() > column.null_count() or plain.all() or why_no_numbers(column, decimal):
        return None
    sign = pl.select(pl.when(parts["sign"] == "-").then(-1.0).otherwise(1.0)).to_series()
    values = sign * as_numbers(parts["number"], decimal)
    found = parts["unit"].drop_nulls().value_counts(sort=True, name="n")
    name, units = column.name, found["unit"].to_list()
    wanted = styles.get(name)
    wanted = (
        wanted if wanted and wanted not in ORDERS else _plain_kind(values, parts["unit"]) or next(iter(units), None)
    )
    if units:
        styles[name] = wanted
    without = len(present) - found["n"].sum()
    if units and wanted not in PLAIN:
        also = f"; {count(without, 'cell')} without a unit read alike" if without else ""
        notes.append(f"column {name!r}: the unit {units[0]!r} was taken out of its numbers{also}.")
    elif not units and parts["about"].null_count() == len(column):
        first = present.filter(parts.filter(column.is_not_null())["number"] != present)
        notes.append(f"column {name!r}: marks were taken out of its numbers ({first[0]!r}).")
    others = [unit for unit in units if unit != wanted]
    if others:
        sizes = _sizes([*units, wanted])
        if sizes is None:
            raise DataError(
                f"column {name!r} is in {quote(others)}, and the model was fitted on {wanted!r}; give it in that unit."
            )
        ratio = parts["unit"].replace_strict({unit: sizes[unit] / sizes[wanted] for unit in units}, default=1.0)
        values = values * ratio
        what = "plain numbers" if wanted == "count" else "shares, 0.12 for 12%" if wanted == "share" else repr(wanted)
        notes.append(f"column {name!r}: cells in {quote(others)} were converted to {what}.")
    limits = column.filter(parts["about"].is_not_null()).unique(maintain_order=True)
    if len(limits):
        many = int(parts["about"].is_not_null().sum())
        notes.append(
            f"column {name!r}: {count(many, 'cell')} such as {limits[0]!r} read as the number itself; --missing "
            f"{limits[0]!r} makes it missing."
        )
    return values.alias(name)
