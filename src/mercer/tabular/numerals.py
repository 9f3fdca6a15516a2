"""Plain numbers in cells of text: digits, a decimal mark, marks between thousands; dashes where there is none."""

from mercer.tabular.cells import count, quote
from mercer.tabular.units import as_numbers, number_pattern, thousands_marks

DASHES = (
    "-",
    "--",
    "---",
    "----",
    "–",
    "—",
    "?",
    ".",
    "..",
    "...",
    "*",
)  # missing where the other cells are numbers; else they may be a category
CODE = r"^0\d+$"  # 00123: a number would lose its zeros
INTEGER = r"^[+-]?\d{1,15}$"
SIGNS = {".": "point", ",": "comma"}

EITHER_WAY = r"^[+-]?\d{1,3}\.\d{3}$", r"^[+-]?\d{1,3},\d{3}$"  # 2.270 and 4,363 in one column


def is_number(column, decimal):
    """Which cells are numbers, groups of thousands included; null where a cell is missing."""
    return column.str.contains(rf"^[+-]?{number_pattern(decimal)}$|^[+-]?(?i:inf|infinity)$")


def read_numbers(column, decimal, notes, styles=None):
    """The column as numbers, or None if it has cells that are none."""
    plain = without_dashes(column, decimal)
    good = is_number(plain, decimal)
    if not good.any() or not good.all() or conflicting_marks(plain) is not None:
        return None
    gone = column.filter(plain.is_null() & column.is_not_null())
    if len(gone):
        notes.append(
            f"column {column.name!r}: {count(len(gone), 'cell')} {quote(gone.unique().sort())} read as missing."
        )
    if plain.str.contains(CODE).any():
        notes.append(f"column {column.name!r} has numbers with leading zeros: codes, unless numbers are asked for.")
        return None
    return parse_numbers(plain, decimal, notes)


def without_dashes(column, decimal=".", measured=False):
    """The column with null for - and the like, if there is a number or nothing else; ``measured``: or any digit."""
    import polars as pl

    dash = column.is_in(DASHES)
    some = column.str.contains(r"\d").any() if measured else is_number(column, decimal).any()
    if not dash.any() or not (some or dash.all()):
        return column
    return pl.select(pl.when(dash).then(None).otherwise(column).alias(column.name)).to_series()


def sign_of(column):
    """(sign, which cells are numbers with it): the decimal sign with which more cells of a column are numbers."""
    points, commas = (is_number(column, sign) for sign in SIGNS)
    return (",", commas) if commas.sum() > points.sum() else (".", points)


def parse_numbers(column, decimal, notes):
    """Strings that are all numbers, as whole numbers or floats."""
    import polars as pl

    if column.str.contains(INTEGER).all():
        return column.cast(pl.Int64)
    if column.str.contains(rf"\d[{thousands_marks(decimal)}]\d").any():
        notes.append(f"column {column.name!r}: thousands separators were taken out of its numbers.")
    return as_numbers(column, decimal)


def conflicting_marks(column):
    """Two cells of a column such as 2.270 and 4,363, if all others are like them: one may be thousands; else None."""
    forms = [column.str.contains(form).fill_null(False) for form in EITHER_WAY]
    some = (forms[0] | forms[1]) | column.is_null()
    return tuple(column.filter(form)[0] for form in forms) if all(form.any() for form in forms) and some.all() else None
