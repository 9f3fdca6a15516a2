"""Numbers of several parts in cells of text: degrees and minutes, feet and inches, fractions; signs by letters."""

from mercer.tabular.cells import count

NUMBER = r"\d+(?:[.,]\d+)?"
DEGREES = rf"^([+−-]?)\s*(\d+)\s*[°º]\s*(?:({NUMBER})\s*['’′]\s*)?(?:({NUMBER})\s*(?:[\"”″]|''|’’)\s*)?([NSEWO])?$"
FEET = rf"^(\d+)\s*(?:['’′]|ft\.?|feet)\s*(?:({NUMBER})\s*(?:[\"”″]|''|in\.?|inch(?:es)?)?)?$"
FRACTION = r"^([+-]?)(?:(\d+)\s+)?(?:(\d+)\s*/\s*(2|3|4|5|8|16|32|64))$"
WHOLE = r"^[+-]?\d+(?:[.,]\d+)?$"
SIGNED = {  # pairs of letters behind numbers, of which the second is a minus: debit, south, west
    "H/S": (r"[Hh]", r"[Ss]"),
    "CR/DR": (r"[Cc][Rr]\.?", r"[Dd][Rr]\.?"),
    "C/D": (r"C", r"D"),
    "N/S": (r"N", r"S"),
    "E/W": (r"[EO]", r"W"),
}
AMOUNT = r"^([+-]?\d[\d.,'’ \x{a0}\x{202f}]*)\s*({first}|{second})$"


def read_measures(column, notes):
    """The column as numbers, if all its cells are degrees and minutes, feet and inches, or fractions; else None."""
    import polars as pl

    present = column.drop_nulls()
    if not len(present):
        return None
    long = (present.str.extract(FEET, 2).str.replace(",", ".", literal=True).cast(pl.Float64) >= 12).any()
    feet = (FEET, lambda parts: _feet(parts, 60), "minutes") if long else (FEET, _feet, "feet")
    forms = ((DEGREES, _degrees, "degrees"), feet)
    for form, read, what in forms:
        if present.str.contains(form).all():
            if present.str.contains(r"\d\D+\d").any():  # else one unit behind a number
                notes.append(f"column {column.name!r}: cells such as {present[0]!r} read as {what} with decimals.")
                return read(column.str.extract_groups(form).struct.unnest()).alias(column.name)
            return None
    broken = present.str.contains(FRACTION)
    mixed = present.str.contains(r"\d\s+\d+\s*/").any() or not broken.all()
    if broken.any() and mixed and (broken | present.str.contains(WHOLE)).all():
        parts = column.str.extract_groups(FRACTION).struct.unnest()
        parts.columns = ["sign", "whole", "above", "below"]
        whole, above, below = (_part_as_float(name) for name in ("whole", "above", "below"))
        plain = column.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
        made = parts.select(_sign() * (whole.fill_null(0.0) + above / below)).to_series()
        notes.append(
            f"column {column.name!r}: {count(int(broken.sum()), 'fraction')} such as {present.filter(broken)[0]!r} "
            "read as numbers."
        )
        return made.fill_null(plain).alias(column.name)
    return None


def _part_as_float(name):
    """A part of a cell as a number."""
    import polars as pl

    return pl.col(name).str.replace(",", ".", literal=True).cast(pl.Float64)


def _sign():
    """−1 for a minus in front, 1 else."""
    import polars as pl

    return pl.when(pl.col("sign").is_in(["-", "−"])).then(-1.0).otherwise(1.0)


def _degrees(parts):
    """Degrees; south and west are negative."""
    import polars as pl

    parts.columns = ["sign", "degree", "minute", "second", "side"]
    size = (
        _part_as_float("degree")
        + _part_as_float("minute").fill_null(0.0) / 60
        + _part_as_float("second").fill_null(0.0) / 3600
    )
    side = pl.when(pl.col("side").is_in(["S", "W"])).then(-1.0).otherwise(1.0)
    return parts.select(_sign() * side * size).to_series()


def _feet(parts, size=12):
    """Feet, of twelve inches; or minutes, of sixty seconds."""
    parts.columns = ["feet", "inch"]
    return parts.select(_part_as_float("feet") + _part_as_float("inch").fill_null(0.0) / size).to_series()


def read_signs(column, notes, styles):
    """The cells with a plain sign for letters such as S and H of a bank, or None; ``styles`` knows it of the fit."""
    import polars as pl

    present = column.drop_nulls()
    for word, (first, second) in SIGNED.items():
        form = AMOUNT.replace("{first}", first).replace("{second}", second)
        if not len(present) or not present.str.contains(form).all():
            continue
        minus = column.str.contains(rf"{second}$").fill_null(False)
        if not (minus.any() and not minus.filter(column.is_not_null()).all()) and styles.get(column.name) != word:
            continue
        styles[column.name] = word
        notes.append(
            f"column {column.name!r}: {count(int(minus.sum()), 'cell')} such as {column.filter(minus)[0]!r}: "
            f"{word.split('/')[1]} is a minus."
        )
        plain = column.str.replace(form, "${1}").str.strip_chars()
        return pl.select(pl.when(minus).then(pl.lit("-") + plain).otherwise(plain).alias(column.name)).to_series()
    return None
