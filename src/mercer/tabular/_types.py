"""From text to numbers, truth values and dates, column by column; what is none of these stays text."""

from mercer.tabular._words import count, listed, rows_named

MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "nil")
DASHES = ("-", "--", "?", ".", "*")  # missing where the other cells are numbers; else they may be a category
GROUPS = r"'’ \u00a0\u2009\u202f"  # beside the sign that is not the decimal one
CODE = r"^0\d+$"  # 00123: a number would lose its zeros
INTEGER = r"^[+-]?\d{1,15}$"
DATES = (  # pattern, format, whether it has a time
    (r"^\d{4}-\d{1,2}-\d{1,2}$", "%Y-%m-%d", False),
    (r"^\d{4}/\d{1,2}/\d{1,2}$", "%Y/%m/%d", False),
    (r"^\d{1,2}\.\d{1,2}\.\d{4}$", "%d.%m.%Y", False),
    (r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}$", "%Y-%m-%dT%H:%M", True),
    (r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}$", "%Y-%m-%dT%H:%M:%S", True),
    (r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}\.\d+$", "%Y-%m-%dT%H:%M:%S%.f", True),
)
SLASHES = r"^(\d{1,2})/(\d{1,2})/\d{4}$"
MONTHS = r"^\d{4}-\d{2}$"


def typed(frame, decimal, missing, text, notes, strings=()):
    """The frame with each column of strings as what it is; ``strings`` stay, and only their empty cells are missing."""
    import polars as pl
    import polars.selectors as cs

    kept = [name for name in strings if frame.schema.get(name) == pl.String]
    frame = frame.with_columns(_without_missing(cs.string() - cs.by_name(kept), (*MISSING, *missing)),
                               _without_missing(cs.by_name(kept), ("", *missing)))  # fmt: skip
    if any(word.lower() in ("inf", "infinity") for word in missing):
        frame = frame.with_columns(pl.when(cs.float().is_infinite()).then(None).otherwise(cs.float()).name.keep())
    names = [name for name, kind in frame.schema.items() if kind == pl.String and name not in {*text, *strings}]
    plain = _plain_numbers(frame.select(names)) if decimal == "." else {}
    others = [_typed_column(frame[name], decimal, notes) for name in names if name not in plain]
    return frame.with_columns([*plain.values(), *others])


def _without_missing(columns, missing):
    """Expression: strings without blanks around them, and null where a cell stands for nothing."""
    import polars as pl

    words = [str(word).strip().lower() for word in missing]
    words += [f"{sign}{word}" for word in words if word in ("inf", "infinity") for sign in "+-"]
    cell = columns.as_expr().str.strip_chars()
    return pl.when(cell.str.to_lowercase().is_in(words)).then(None).otherwise(cell).name.keep()


def _plain_numbers(frame):
    """{name: column} of the columns that are numbers without any decoration; all at once, for tables of many."""
    import polars as pl

    if not frame.width:
        return {}
    missing = frame.null_count().row(0)
    codes = frame.select(pl.all().str.contains(CODE).any()).row(0)
    floats, whole = (frame.select(pl.all().cast(kind, strict=False)) for kind in (pl.Float64, pl.Int64))
    lost, cut = floats.null_count().row(0), whole.null_count().row(0)
    found = {}
    for i, name in enumerate(frame.columns):
        if lost[i] == missing[i] < frame.height and not codes[i]:
            found[name] = whole[name] if cut[i] == missing[i] else floats[name]
    return found


def _typed_column(column, decimal, notes):
    """A column of strings as whole numbers, floats, truth values or dates, where all its cells are that."""
    present = column.drop_nulls()
    if not len(present):
        return column
    found = numbers_in(column, decimal, notes)
    if found is not None:
        return found
    if present.str.to_lowercase().is_in(["true", "false"]).all():
        return (column.str.to_lowercase() == "true").alias(column.name)
    dates = _dates(column, present, notes)
    return column if dates is None else dates


# ---------------------------------------------------------------------------------------------- numbers
def pattern(decimal):
    """What a number looks like, with groups of thousands, a currency sign or a percent sign."""
    groups = GROUPS + ("," if decimal == "." else ".")
    digits = rf"(\d+|\d{{1,3}}([{groups}]\d{{3}})+)"
    point = rf"\{decimal}"
    return rf"^[+-]?[$€£]?\s?[+-]?({digits}({point}\d*)?|{point}\d+)([eE][+-]?\d+)?\s?%?$|^[+-]?(?i:inf|infinity)$"


def is_number(column, decimal="."):
    """Which cells are numbers; null where a cell is missing."""
    return column.str.contains(pattern(decimal))


def numbers_in(column, decimal, notes):
    """The column as numbers, or None if it has cells that are none."""
    import polars as pl

    good = is_number(column, decimal)
    if not good.any():
        return None
    others = column.filter(~good).unique()
    if not others.is_in(DASHES).all():
        return None
    if len(others):
        gone = ~good
        notes.append(
            f"column {column.name!r}: {count(int(gone.sum()), 'cell')} {listed(others.sort())} read as missing."
        )
        column = pl.select(pl.when(gone).then(None).otherwise(column).alias(column.name)).to_series()
    if column.str.contains(CODE).any():
        notes.append(f"column {column.name!r} has numbers with leading zeros: it is read as codes, not as numbers.")
        return None
    return _converted(column, decimal, notes)


def _converted(column, decimal, notes):
    """Strings that are all numbers, as whole numbers or floats."""
    import polars as pl

    if column.str.contains(INTEGER).all():
        return column.cast(pl.Int64)
    groups = GROUPS + ("," if decimal == "." else ".")
    signs = [what for what, marks in (("currency signs", "[$€£]"), ("percent signs", "%")) if _any(column, marks)]
    if _any(column, rf"\d[{groups}]\d"):
        signs.insert(0, "thousands separators")
    if signs:
        notes.append(f"column {column.name!r}: {' and '.join(signs)} were taken out of its numbers.")
    plain = column.str.replace_all(rf"[{groups}$€£%\s]", "")
    if decimal == ",":
        plain = plain.str.replace(",", ".", literal=True)
    return plain.cast(pl.Float64)


def _any(column, what):
    return bool(column.str.contains(what).any())


def decimal_of(frame, separator, notes):
    """'.' or ',': which sign stands before decimals, judged by the cells that leave no doubt."""
    import polars as pl

    cell = pl.all().str.strip_chars()
    points, commas, doubtful = (
        sum(count or 0 for count in frame.select(cell.str.contains(form).sum()).row(0))
        for form in (
            r"^[+-]?[\d,]*\.(\d{1,2}|\d{4,})?$",
            r"^[+-]?[\d.]*,(\d{1,2}|\d{4,})$|^[+-]?\d{4,},\d+$",
            r"^[+-]?\d{1,3},\d{3}$",
        )
    )
    if commas and commas >= points:
        notes.append("numbers have a decimal comma.")
        return ","
    if doubtful and not points and separator != ",":
        notes.append("numbers such as 1,234 are read with a decimal comma; if these are thousands, say --decimal .")
        return ","
    return "."


# ------------------------------------------------------------------------------------------------ dates
def _dates(column, present, notes):
    """The column as dates, or None."""
    import polars as pl

    for form, style, timed in DATES:
        if present.str.contains(form).all():
            cells = column.str.replace(" ", "T", literal=True) if timed else column
            kind = pl.Datetime("us") if timed else pl.Date
            return _parsed(cells, kind, style)
    if present.str.contains(MONTHS).all():
        return _parsed(column + "-01", pl.Date, "%Y-%m-%d")
    if present.str.contains(SLASHES).all():
        first, second = (present.str.extract(SLASHES, i).cast(pl.Int64).max() for i in (1, 2))
        if first <= 12 and second <= 12:
            notes.append(f"column {column.name!r}: dates such as {present[0]} are read as month/day/year.")
        return _parsed(column, pl.Date, "%d/%m/%Y" if first > 12 else "%m/%d/%Y")
    return None


def _parsed(column, kind, style):
    """The dates, or None if one of them does not exist (30 February)."""
    found = column.str.strptime(kind, style, strict=False)
    return found if found.null_count() == column.null_count() else None


def refuse_mixed(column, decimal="."):
    """A sentence on the rows of a column of text that are not numbers, while most are; None if most are not."""
    good = is_number(column, decimal)
    present = len(column) - column.null_count()
    if not present or good.sum() < 0.8 * present or column.filter(good).n_unique() <= 20:
        return None
    bad = (~good).fill_null(False).arg_true().to_list()
    cells = column.gather(bad).unique(maintain_order=True)
    words = " ".join(f"--missing {cell!r}" for cell in cells[:2])
    return (
        f"column {column.name!r} is numbers except for {rows_named(bad)}: {listed(cells, 4)}. Correct these cells, or "
        f"say {words} if they stand for nothing, --categorical {column.name!r} for categories, or --ignore "
        f"{column.name!r}."
    )
