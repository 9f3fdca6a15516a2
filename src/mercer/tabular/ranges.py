"""Ranges in cells of text, read as their middle: 10.7-12.7, 10 to 12 kg, between 3 and 4, $5 - $6."""

from mercer.tabular.cells import count
from mercer.tabular.numerals import is_number
from mercer.tabular.units import as_numbers, number_pattern

WORDS = r"to|till|until|bis|à|a|al|hasta|até|tot|do|до|至|und|and|et|y|e|en|och|og|i"
BEFORE = r"^(?i:between|from|von|zwischen|entre|de|da|tra|van|tussen|od|mellan|mellem)\s+"
DASH = r"-|–|—|−|~|〜|\.\.\.?|…"


def range_middles(column, decimal, notes, sure=True):
    """The cells with the middle of each range, 11.7 for 10.7-12.7; None if there is none, or, where sure, any doubt.

    10-12 alone may be a code: ranges are sure where some have decimals, a unit or a word between their ends, or where
    plain numbers of their size stand among them.
    """
    import polars as pl

    number = number_pattern(decimal)
    dashed, worded, apart = (
        rf"([+-]?{number})\s*(?:{DASH})\s*({number})",
        rf"([+-]?{number})\s*({WORDS})\s*([+-]?{number})",
        rf"([+-]?{number})(?:\s+(?:{DASH})\s+|\s*(?:~|〜|\.\.\.?|…)\s*)([+-]?{number})",
    )
    form = rf"^(?:{dashed}|{worded}|{apart})(\s*\D{{0,15}})$"
    plain = _one_unit(column, number)
    if not plain.str.contains(form).any():
        return None
    parts = plain.str.extract_groups(form).struct.unnest()
    parts.columns = ["low", "high", "first", "word", "last", "left", "right", "unit"]
    ends = parts.select(
        pl.coalesce("low", "first", "left").alias("low"), pl.coalesce("high", "last", "right").alias("high")
    )
    low, high = as_numbers(ends["low"], decimal), as_numbers(ends["high"], decimal)
    found = low.is_not_null()
    if (low > high).any() or ends["low"].str.contains(r"^0\d").any() or ends["high"].str.contains(r"^0\d").any():
        return None
    lengths = [ends[name].drop_nulls().str.len_chars().unique().to_list() for name in ("low", "high")]
    if found.sum() > 2 and len(lengths[0]) == len(lengths[1]) == 1 and lengths[0] != lengths[1]:
        return None  # three and four digits in all cells, as of telephones
    if sure and found.sum() < 2 and column.filter(found).str.contains(r"\d\.\.\d").any():
        return None  # 12..5 is a slip of the keyboard
    middle = (low + high) / 2
    if sure and not _sure(column, parts, middle, found, decimal):
        return None
    text = pl.format(
        "{}{}", middle.cast(pl.String).str.replace(".", decimal, literal=True), parts["unit"].fill_null("")
    )
    first = column.filter(found)[0]
    notes.append(
        f"column {column.name!r}: {count(int(found.sum()), 'cell')} such as {first!r} read as the middle of a range."
    )
    cells = pl.DataFrame({"cell": column, "unit": parts["unit"], "m": middle})
    return cells.select(pl.when(pl.lit(found)).then(text).otherwise("cell").alias(column.name)).to_series()


def _one_unit(column, number):
    """The cells without between and from, and with a unit once, that stands at both ends of a range."""
    import polars as pl

    column = column.str.replace(rf"{BEFORE}([+-]?\d.*\s(?:{WORDS})\s)", "${1}")
    word, low, high = r"\s?(?P<{}>\pL{{1,5}}|[%€$£°]C?)\s?", rf"(?P<low>{number})", rf"(?P<high>{number})"
    one, two, dash = word.format("one"), word.format("two"), rf"\s*(?:{DASH})\s*"
    front, behind = f"^{one}{low}{dash}{two}{high}$", f"^{low}{one}{dash}{high}{two}$"
    for form, rest in ((front, "${one}${low}-${high}"), (behind, "${low}-${high} ${one}")):
        parts = column.str.extract_groups(form).struct.unnest()
        same = (parts["one"] == parts["two"]).fill_null(False)
        if same.any():
            once = column.str.replace(form, rest).str.replace(r"^([€$£])(.*)$", "${2} ${1}")
            column = pl.select(pl.when(same).then(once).otherwise(column).alias(column.name)).to_series()
    return column


def _sure(column, parts, middle, found, decimal):
    """Whether cells of two numbers with a dash between them are ranges, and no codes."""
    if found.sum() < 2 and len(column.drop_nulls()) > 4 and parts["word"].null_count() == len(parts):
        rest = column.filter(~found & column.is_not_null())
        if not is_number(rest, decimal).all():
            return False
    rest = column.filter(~found & column.is_not_null())
    rest = rest.filter(is_number(rest, decimal).fill_null(False))
    if len(rest):
        plain, size = as_numbers(rest, decimal).abs(), middle.drop_nulls().abs()
        return bool((size <= 10 * plain.max()).all() and (size >= plain.min() / 10).all())
    marked = parts.filter(found).select("low", "high")
    point = any(marked[name].str.contains(decimal, literal=True).any() for name in ("low", "high"))
    worded = parts["word"].null_count() < len(parts)
    unit = (parts["unit"].str.strip_chars().fill_null("") != "").any()
    return bool(point or worded or unit)
