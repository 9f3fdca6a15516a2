"""Numbers in cells of text, however people write them: signs, powers, ranges, two decimal marks in one column."""

from typing import NamedTuple

from mercer.tabular.cells import count
from mercer.tabular.measures import read_measures, read_signs
from mercer.tabular.numerals import SIGNS, conflicting_marks, read_numbers, without_dashes
from mercer.tabular.ranges import range_middles
from mercer.tabular.units import GROUPS, as_numbers, read_units

POINTS = (  # numbers that leave no doubt, of a table with decimal points
    r"^[+-]?(\d[\d,]*\.(\d{1,2}|\d{4,})?|0?\.\d+|\d{1,3}(,\d{3})+\.\d+|\d{4,}\.\d+|\d+\.\d*[eE][+-]?\d+|[1-9]\d?(,\d{2})+,\d{3})$"
)
COMMAS = r"^[+-]?(\d[\d.]*,(\d{1,2}|\d{4,})|0?,\d+|\d{1,3}(\.\d{3})+,\d+|\d{4,},\d+|\d+,\d*[eE][+-]?\d+)$"
GROUPED = {".": r"^\d{1,3}(,\d{3}){2,}$", ",": r"^\d{1,3}(\.\d{3}){2,}$"}  # so the other sign is the decimal one
EITHER = r"^[1-9]\d{0,2}[.,]\d{3}$"  # 1,234: thousands, or a decimal mark
CORE = r"^([^\d.,]*)(\d[\d.,]*|[.,]\d+)(\D*)$"  # a number of digits and marks, and what stands around it
# What stands around a number, what is left of it, and how that is said.
TIMES = r"^(.*\d)\s*[×✕⨯xX·∙⋅*]\s*10(?:\^|\*\*|[eE]|<sup>)\s*\(?([+-]?\d+)\)?(?:</sup>)?(.*)$"
LEDGER = r"^\(\s*(\D{0,3}\d[^()]*)\)$"
MARKED = r"^([+-]?\d[\d.,]*)(?:[¹²³⁴⁵]|\s?\[[\da-z]{1,2}\])$"  # of a footnote
AROUND = (
    (r"^\s*[−–](\s?[\d.,])", "-${1}", None),
    (LEDGER, "-${1}", "are negative, as in a ledger"),
    (r"^(.*?\d)\s*(?:±|\+/-|\+-)\s*[\d.,]+(?:[eE][+-]?\d+)?(.*)$", "${1}${2}", "are read without what follows ±"),
    (
        r"^(.*\d)\s*[×✕⨯xX·∙⋅*]\s*10(?:\^|\*\*|[eE]|<sup>)\s*\(?([+-]?\d+)\)?(?:</sup>)?(.*)$",
        "${1}e${2}${3}",
        "are read as powers of ten",
    ),
    (r"^([+-]?\d+[.,]\d+)[ .] ?10\^\(?([+-]?\d+)\)?$", "${1}e${2}", "are read as powers of ten"),
    (r"^([+-]?\d+\.\d*)[dD]([+-]\d{1,3})$", "${1}e${2}", "are read as powers of ten"),
    (r"^([+-]?\d+)·(\d+)$", "${1}.${2}", "have a raised decimal point"),
    (MARKED, "${1}", "are read without the mark behind the number"),
    (r"^(\d[\d.,]*)\s*-$", "-${1}", "are negative"),
    (r"^'([+-]?[\d.,]+)$", "${1}", None),
    (r"^([+-]?\d[\d.,]*)\s*\(\s*[\d.,]+\s*%?\s*\)$", "${1}", "are read without what stands in brackets"),
    (r"^([+-]?)10\^\(?([+-]?\d+)\)?$", "${1}1e${2}", "are read as powers of ten"),
)
OTHER_SIGNS = {  # of the same meaning: digits and marks of other keyboards, dashes that are no minus
    **dict(zip("０１２３４５６７８９．，－＋％～", "0123456789.,-+%~", strict=True)),
    **dict(zip("٠١٢٣٤٥٦٧٨٩٫٬", "0123456789.,", strict=True)),
    **dict.fromkeys("‐‑‒﹣", "-"),
}
RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+", strict=True))


class Doubt(NamedTuple):
    """Why cells can be read in two ways, how they are read if numbers are asked for, and whether they are numbers."""

    why: str
    reading: str
    numbers: bool


def amounts_in(column, decimal, notes, styles, sure=True):
    """The column as numbers of whatever form, or None if a cell is none; ``sure``: or if the form leaves a doubt."""
    found = _amounts(column, decimal, notes, styles, sure)
    other = "," if decimal == "." else "."
    if found is None and column.str.contains(rf"\d\{other}(?:\d{{1,2}}|\d{{4,}})(?:\D|$)").any():  # no thousands
        said = [f"column {column.name!r}: its numbers have a decimal {SIGNS[other]}."]
        found = _amounts(column, other, said, styles, sure)
        notes += said if found is not None else []
    return found


def _amounts(column, decimal, notes, styles, sure):
    """The same with one decimal sign."""
    said = []
    found = read_measures(column, notes)
    if found is not None:
        return found
    tidy = plainly(column, said)
    plain = read_signs(tidy, said, styles)
    tidy = tidy if plain is None else plain
    for rewrite in (None, one_mark, range_middles):
        cells, extra = tidy, [*said]
        if rewrite is not None:
            cells = rewrite(without_dashes(tidy, decimal, measured=True), decimal, extra, sure)
            if cells is None:
                continue
        for read in (read_numbers, _with_unit):
            more = []
            found = read(cells, decimal, more, styles)
            if found is not None:
                notes += [*extra, *more]
                return found
    return None


def _with_unit(column, decimal, notes, styles):
    """`read_units`, in which - and the like are missing."""
    return read_units(without_dashes(column, decimal, measured=True), decimal, notes, styles)


def plainly(column, notes):
    """The column with a plain minus, without brackets of a ledger, without errors behind ±, powers as 1e3; all said."""
    import polars as pl

    if column.str.contains(r"[^\x00-\x7f]").any():
        column = column.str.replace_many(OTHER_SIGNS)
    raised = column.str.contains(r"10\s*[⁻⁺⁰¹²³⁴-⁹]").fill_null(False)
    if raised.any():
        plain = column.str.replace(r"10\s*([⁻⁺⁰¹²³⁴-⁹])", "10^${1}").str.replace_many(RAISED)
        column = pl.select(pl.when(raised).then(plain).otherwise(column).alias(column.name)).to_series()
    for form, rest, said in AROUND:
        found = column.str.contains(form).fill_null(False)
        if not found.any() or (form in (MARKED, LEDGER) and found.sum() == column.is_not_null().sum()):
            continue  # brackets around every number are no signs
        if said:
            first = column.filter(found)[0]
            notes.append(f"column {column.name!r}: {count(int(found.sum()), 'cell')} such as {first!r} {said}.")
        name = column.name
        column = pl.select(
            pl.when(found).then(column.str.replace(form, rest)).otherwise(column).alias(name)
        ).to_series()
    return column


# ------------------------------------------------------------------------------------------ two decimal marks
def one_mark(column, decimal, notes, sure=True):
    """The cells of a column with both decimal marks, or with the other one, in that of the table; else None.

    12.54 and 17,95 leave no doubt; 1,234 among them is read as what is as large as the others.
    """
    import polars as pl

    column = column.str.replace_all(r"(\d)[" + GROUPS + r"](\d{3})", "${1}${2}").str.replace_all(
        r"(\d)[" + GROUPS + r"](\d{3})", "${1}${2}"
    )
    present = column.drop_nulls()
    parts = column.str.extract_groups(CORE).struct.unnest()
    parts.columns = ["before", "core", "after"]
    core = parts["core"]
    if not len(present) or core.null_count() > column.null_count():
        return None
    definite = {
        sign: (core.str.contains(form) | core.str.contains(GROUPED[sign])).fill_null(False)
        for sign, form in ((".", POINTS), (",", COMMAS))
    }
    other = "," if decimal == "." else "."
    if not definite[other].any():
        return None
    either = core.str.contains(EITHER).fill_null(False) & ~definite["."] & ~definite[","]
    known = definite["."] | definite[","] | core.str.contains(r"^\d+$").fill_null(column.is_null())
    if (~known & ~either & column.is_not_null()).any():
        return None
    signs = pl.select(
        pl.when(definite[other]).then(pl.lit(other)).when(definite[decimal]).then(pl.lit(decimal))
    ).to_series()
    if definite[decimal].any():
        decided = _sign_by_size(core, definite, either, decimal if not sure else None)
        if decided is None:
            return None
        signs = signs.fill_null(decided)
        notes.append(
            f"column {column.name!r}: numbers have a decimal point in some cells ({core.filter(definite['.'])[0]}) and "
            f"a decimal comma in others ({core.filter(definite[','])[0]}); each is read by its own."
        )
    else:
        signs = pl.select(pl.lit(other).repeat_by(1).explode()).to_series().new_from_index(0, len(column))
        notes.append(f"column {column.name!r}: its numbers have a decimal {SIGNS[other]}.")
    comma = signs == ","
    plain = pl.select(
        pl.when(comma)
        .then(core.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True))
        .otherwise(core.str.replace_all(",", "", literal=True))
    ).to_series()
    plain = plain.str.replace(".", decimal, literal=True)
    return (parts["before"] + plain + parts["after"]).alias(column.name)


def _sign_by_size(core, definite, either, default, slack=3.0):
    """The decimal sign of each doubtful cell, by the size of the others; None where both would do.

    A doubtful cell may be ``slack`` times smaller or larger than all that leave no doubt.
    """
    import polars as pl

    if not either.any():
        return pl.Series([None] * len(core), dtype=pl.String)
    known = pl.concat([as_numbers(core.filter(definite[sign]), sign) for sign in SIGNS]).abs()
    low, high = known.min() / slack, known.max() * slack
    mark = pl.select(pl.when(either).then(core.str.extract(r"([.,])"))).to_series()
    small = core.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    fits = small.is_between(low, high), (1000 * small).is_between(low, high)
    swapped = mark.replace({".": ",", ",": "."})
    by_size = pl.select(
        pl.when(fits[0] & ~fits[1]).then(mark).when(fits[1] & ~fits[0]).then(swapped).otherwise(pl.lit(default))
    ).to_series()
    found = pl.select(pl.when(either).then(by_size)).to_series()
    return None if (found.is_null() & either).any() else found


PAIR = r"^[+-]?\d+(?:[.,]\d+)?\s*[/x×:]\s*\d+(?:[.,]\d+)?$"


def doubt_in(column):
    """The `Doubt` of a column of text whose cells may be numbers, as they may be something else; None without one."""
    present = column.drop_nulls()
    if len(present) and present.str.contains(PAIR).all():
        return Doubt(f"two numbers in a cell, such as {present[0]!r}", "", False)
    if not len(present) or not present[0:50].str.contains(r"\d").all():
        return None
    two = conflicting_marks(present)
    if two is not None:
        why = f"cells such as {two[0]!r} and cells such as {two[1]!r}, of which either may be thousands"
        return Doubt(why, "", True)
    if any(amounts_in(column, sign, [], {}) is not None for sign in SIGNS):
        return None
    for sign in SIGNS:
        if amounts_in(column, sign, [], {}, sure=False) is None:
            continue
        cells = without_dashes(plainly(column, []), sign, measured=True).drop_nulls()
        if range_middles(cells, sign, [], sure=False) is not None:
            shown = f"cells such as {cells[0]!r}, which may be ranges or codes"
            return Doubt(shown, "the middle of each range", False)
        shown = cells.filter(cells.str.contains(EITHER).fill_null(False))[0]
        why = f"decimal points and decimal commas, and cells such as {shown!r}, which may be thousands or decimals"
        return Doubt(why, f"{shown!r} as {as_numbers(cells.filter(cells == shown)[:1], sign)[0]:g}", True)
    return None
