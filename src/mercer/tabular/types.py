"""From text to numbers, truth values and dates, column by column; what is none of these stays text."""

from mercer.tabular.amounts import COMMAS, POINTS, amounts_in, plainly
from mercer.tabular.cells import count, quote
from mercer.tabular.dates import MONTH_DOT_YEAR, dates_in, digits_as_dates, months_with_points
from mercer.tabular.durations import durations_in
from mercer.tabular.numerals import CODE, SIGNS, is_number, read_numbers
from mercer.tabular.spelling import one_spelling, truths_in
from mercer.tabular.units import ABOUT, FRONT, UNIT

ERRORS = ("#div/0!", "#ref!", "#value!", "#name?", "#num!", "#null!")  # of a spreadsheet: no value was there
SHORT = ("n.a.", "n. a.", "n.d.", "n. d.", "n/d", "s/d", "k.a.", "k. a.", "k/a", "keine angabe", "not available", "#nv",
         "#n/v", "(null)", "<null>", "(blank)", "\\n")  # fmt: skip
MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nil", *ERRORS, *SHORT)
DOUBTFUL = r"^[+-]?[1-9]\d{0,2},\d{3}$"


def infer_types(frame, decimal, missing, text, notes, strings=(), styles=None):
    """The frame with each column of strings as what it is; ``strings`` stay, and only their empty cells are missing.

    ``styles`` are those of `dates_in`. A word of ``missing`` that is a number is missing in columns of numbers, however
    it is written there.
    """
    import polars as pl
    import polars.selectors as cs

    styles = {} if styles is None else styles
    kept = [name for name in strings if frame.schema.get(name) == pl.String]
    sorts = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Categorical | pl.Enum)]
    before = frame = frame.with_columns(pl.col(sorts).cast(pl.String))
    kept += sorts
    _note_short_numbers(frame.select(cs.string() - cs.by_name(kept)), notes)
    frame = frame.with_columns(_without_missing(cs.string() - cs.by_name(kept), (*MISSING, *missing)),
                               _without_missing(cs.by_name(kept), ("", *missing)))  # fmt: skip
    names = [name for name, kind in frame.schema.items() if kind == pl.String and name not in {*text, *strings, *sorts}]
    plain = _plain_numbers(frame.select(names), notes) if decimal == "." else {}
    others = [_typed_column(frame[name], decimal, notes, styles) for name in names if name not in plain]
    frame = frame.with_columns([*plain.values(), *others])
    frame = _one_spelling(
        frame, {*names, *(name for name in text if isinstance(styles.get(name), dict))}, notes, styles
    )
    if not missing:
        return frame
    notes += _not_there(before, frame, missing, decimal)
    values = [value for word in missing for value in _missing_words(word, decimal)]
    gone = cs.numeric().cast(pl.Float64).is_in(values)
    return frame.with_columns(pl.when(gone).then(None).otherwise(cs.numeric()).name.keep())


def _one_spelling(frame, names, notes, styles):
    """The frame with one spelling of each category of the columns of text among the names; kept in ``styles``."""
    import polars as pl

    made = []
    for column in frame.select(name for name in frame.columns if name in names).get_columns():
        if column.dtype == pl.String:
            known = styles.get(column.name)
            column, known = one_spelling(column, notes, known if isinstance(known, dict) else None)
            made.append(column)
            if known:
                styles[column.name] = known
    return frame.with_columns(made)


def _note_short_numbers(frame, notes):
    """Note the cells of each column that are missing by a word such as n.d."""
    import polars as pl

    if not frame.width:
        return
    short = pl.all().str.strip_chars().str.to_lowercase().is_in(SHORT)
    for name, many in frame.select(short.sum()).to_dicts()[0].items():
        if many:
            cells = frame[name].filter(
                frame.select(pl.col(name).str.strip_chars().str.to_lowercase().is_in(SHORT))[name]
            )
            notes.append(f"column {name!r}: {count(many, 'cell')} {quote(cells.unique().sort(), 3)} read as missing.")


def _missing_words(word, decimal):
    """The numbers that a word for missing values stands for: none or one, both infinities for inf."""
    word = str(word).strip().lower()
    try:
        value = float(word.replace(",", ".") if decimal == "," else word)
    except ValueError:
        return []
    return [value, -value] if word in ("inf", "infinity") else [value] if value == value else []


def _not_there(before, frame, missing, decimal):
    """A sentence for each word that no cell has, and that is not missing anyway."""
    import polars as pl
    import polars.selectors as cs

    said = []
    for word in dict.fromkeys(str(word).strip() for word in missing):
        cells = before.select((cs.string().str.strip_chars().str.to_lowercase() == word.lower()).any())
        numbers = frame.select(cs.numeric().cast(pl.Float64).is_in(_missing_words(word, decimal)).any())
        found = any(part.width and any(part.row(0)) for part in (cells, numbers))
        if not found and word.lower() not in MISSING:
            said.append(not_there(word))
    return said


def not_there(word):
    """The sentence for a word that no cell has."""
    return f"no cell is {str(word).strip()!r}, which was to stand for a missing value."


def _without_missing(columns, missing):
    """Expression: strings without blanks around them, and null where a cell stands for nothing."""
    import polars as pl

    words = [str(word).strip().lower() for word in missing]
    words += [f"{sign}{word}" for word in words if word in ("inf", "infinity") for sign in "+-"]
    cell = columns.as_expr().str.strip_chars()
    return pl.when(cell.str.to_lowercase().is_in(words)).then(None).otherwise(cell).name.keep()


def _plain_numbers(frame, notes):
    """{name: column} of the columns that are numbers without any decoration; all at once, for tables of many."""
    import polars as pl

    if not frame.width:
        return {}
    missing = frame.null_count().row(0)
    codes = frame.select(pl.all().str.contains(CODE).any()).row(0)
    floats, whole = (frame.select(pl.all().cast(kind, strict=False)) for kind in (pl.Float64, pl.Int64))
    dotted = frame.select(pl.all().str.contains(MONTH_DOT_YEAR).all()).row(0)
    lost, cut = floats.null_count().row(0), whole.null_count().row(0)
    found = {}
    for i, name in enumerate(frame.columns):
        if lost[i] == missing[i] < frame.height and not codes[i]:
            found[name] = whole[name] if cut[i] == missing[i] else floats[name]
            days = months_with_points(frame[name]) if dotted[i] else digits_as_dates(found[name])
            if days is not None:
                found[name] = days
                notes.append(f"column {name!r}: numbers such as {frame[name].drop_nulls()[0]} read as dates.")
    return found


def _typed_column(column, decimal, notes, styles):
    """A column of strings as whole numbers, floats, truth values, dates or times, where all its cells are that."""
    present = column.drop_nulls()
    if not len(present):
        return column
    around = []
    tidy = plainly(column, around)
    said = []
    found = read_numbers(tidy, decimal, said)
    notes += said if found is None else [*around, *said]
    if found is not None:
        return found
    if present.str.to_lowercase().is_in(["true", "false"]).all():
        return (column.str.to_lowercase() == "true").alias(column.name)
    truths = truths_in(column, notes)
    if truths is not None:
        return truths
    for read in (
        lambda said: dates_in(column, said, styles),
        lambda said: durations_in(column, said),
        lambda said: amounts_in(column, decimal, said, styles),
    ):
        said = []
        found = read(said)
        if found is not None:
            notes += said
            return found
    other = "," if decimal == "." else "."
    if is_number(column, other).all() and not is_number(column, decimal).all():
        notes.append(
            f"column {column.name!r} stays text: its numbers have a decimal {SIGNS[other]}, the table a decimal "
            f"{SIGNS[decimal]}."
        )
    return column


def decimal_of(frame, separator, notes):
    """'.' or ',': which sign stands before decimals, judged by the cells that leave no doubt."""
    import polars as pl

    cell = pl.all().str.strip_chars()
    some = frame.head(2000).select(cell.str.replace(rf"^(?:{ABOUT}|{FRONT})\s*", "").str.replace(rf"\s*{UNIT}$", ""))
    points, commas, doubtful = (
        sum(
            count or 0
            for part, form in ((frame, cell), (some, pl.all()))
            for count in part.select(form.str.contains(sign).sum()).row(0)
        )
        for sign in (POINTS, COMMAS, DOUBTFUL)
    )
    if commas and commas >= points:
        notes.append("numbers have a decimal comma.")
        return ","
    if doubtful and not points and separator != ",":
        notes.append("numbers such as 1,234 are read with a decimal comma; if these are thousands, say --decimal .")
        return ","
    return "."
