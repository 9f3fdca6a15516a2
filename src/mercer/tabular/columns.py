"""What a column is to a model: numbers, categories, targets, or nothing that can be learnt from; its values."""

import re

import numpy as np

from mercer.exceptions import DataError
from mercer.selection.kernels_search.objects import LOOKED_AT, text_kind
from mercer.tabular.amounts import amounts_in, doubt_in
from mercer.tabular.cells import BadRows, count, quote
from mercer.tabular.dates import ORDERS, dates_in, digits_as_dates, not_dates
from mercer.tabular.durations import durations_in
from mercer.tabular.numerals import DASHES, SIGNS, is_number, parse_numbers, sign_of, without_dashes
from mercer.tabular.spelling import truths_in, unify_spelling
from mercer.tabular.units import numberlike, why_no_numbers
from mercer.tabular.unread import unread_dates, unread_in

ID_NAME = re.compile(r"(unnamed.*|index|row|rownames?|row_?(id|nr|number)|id|.*[_ .]id|nr|no|#)", re.IGNORECASE)
TEXT_LEVELS = 30  # different texts, above which a column is no longer one of categories
NUMERIC_SHARE = 0.8  # of the cells of a text that is rather a column of numbers, or of dates
LARGEST = 1e150  # of numbers, whose squares must be numbers too
GONE = "(missing)"
OTHER = "(other)"


def is_text(column):
    """Whether a column holds strings or a type of categories."""
    import polars as pl

    return column.dtype == pl.String or isinstance(column.dtype, pl.Categorical | pl.Enum)


def kind_of(column):
    """'number', 'boolean', 'date' or 'time' of a column that is not text; DataError for what is no value."""
    import polars as pl

    if column.dtype.is_numeric():
        return "number"
    if column.dtype == pl.Boolean:
        return "boolean"
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        return "date"
    if isinstance(column.dtype, pl.Duration) or column.dtype == pl.Time:
        return "time"
    raise DataError(
        f"column {column.name!r} holds {column.dtype}, which is neither a number, a text, a truth value nor a date; "
        f"leave it out of the fit, --ignore {column.name!r}."
    )


def reason_to_ignore(column, forced=False):
    """Why a column says nothing, or None. ``forced``: the user wants it as a category or a number."""
    import polars as pl

    n, missing = len(column), column.null_count()
    if column.dtype == pl.Null or missing == n:
        return "all values are missing"
    distinct = column.drop_nulls().n_unique()
    if distinct == 1 and not missing:
        return f"it is constant ({str(column[0])[:30]})"
    if forced:
        return None
    if is_text(column):
        if distinct == n - missing and n - missing > 2:
            if missing:
                return (
                    f"its {distinct} texts all differ ({_shown_cells(column)}), and {count(missing, 'row')} have none"
                )
            return f"every row has another text ({_shown_cells(column)}), as an identifier does"
        if distinct > max(TEXT_LEVELS, 0.5 * (n - missing)):
            return (
                f"it is text with {distinct:,} different values ({_shown_cells(column)}) in {count(n - missing, 'row')}"
            )
    elif column.dtype.is_integer() and distinct >= max(10, 0.9 * n) and ID_NAME.fullmatch(column.name):
        return "by its name and its values it numbers the rows"
    return None


def _shown_cells(column):
    """Some cells of a column, for a message."""
    return ", ".join(repr(str(cell)[:30]) for cell in column.drop_nulls()[:2]) + ", …"


def as_floats(column, kind="number", origin=0.0, style=None):
    """The values as float64: NaN where missing, days after ``origin`` for dates, hours for times, 0 and 1."""
    import polars as pl

    if column.dtype == pl.Null:
        column = column.cast(pl.Float64)
    if is_text(column):
        column = _text_as(column.cast(pl.String), kind, style)
    days = digits_as_dates(column, 0) if kind == "date" and column.dtype.is_integer() else None
    column = column if days is None else days
    found = kind_of(column)
    if (found in ("date", "time") or kind in ("date", "time")) and found != kind and column.null_count() < len(column):
        raise DataError(f"column {column.name!r} holds {_PLURAL[found]}; the model was fitted on {_PLURAL[kind]}.")
    if found == "date":
        micro = column.cast(pl.Datetime("us")).cast(pl.Int64)
        return micro.cast(pl.Float64).fill_null(float("nan")).to_numpy() / 86_400e6 - origin
    if found == "time":
        nano = column.cast(pl.Duration("ns") if isinstance(column.dtype, pl.Duration) else pl.Time).cast(pl.Int64)
        return nano.cast(pl.Float64).fill_null(float("nan")).to_numpy() / (3600 * 1e9)
    values = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    infinite = np.flatnonzero(np.abs(values) > LARGEST)
    if infinite.size:
        raise BadRows(
            f"column {column.name!r} is infinite, or beyond {LARGEST:.0e}, in ",
            infinite,
            ". Correct these cells, or say --missing inf to treat them as missing.",
        )
    return values


_PLURAL = {"number": "numbers", "boolean": "truth values", "date": "dates", "time": "times"}


def _text_as(column, kind, style):
    """A column of text as numbers or dates, where a model or the user asks for them; codes are numbers then."""
    import polars as pl

    dash = column.is_in(DASHES).fill_null(False)
    column = pl.select(pl.when(dash).then(None).otherwise(column).alias(column.name)).to_series()
    present = column.drop_nulls()
    if not len(present):
        return column.cast(pl.Float64)
    if kind in ("date", "time"):
        found = durations_in(column, []) if kind == "time" else None
        found = dates_in(column, [], {column.name: style} if style else {}) if found is None else found
        if found is not None:
            return found
        bad, end = not_dates(column, style), f" ({ORDERS[style]}, as in the fit)" if style else ""
        raise _cells_error(column, f"{_PLURAL[kind]}{end}", bad or column.is_not_null().arg_true().to_list())
    truths = truths_in(column, [], mixed=False) if kind == "boolean" else None
    if truths is not None:
        return truths
    sign, good = sign_of(column)
    bad = (~good).fill_null(False).arg_true().to_list()
    if bad:
        found = amounts_in(column, sign, [], {column.name: style} if style else {}, sure=False)
        if found is not None:
            return found
        raise _cells_error(column, "numbers", bad)
    if sign == ",":
        raise DataError(_another_sign(column.name, sign))
    return parse_numbers(column, sign, [])


def _cells_error(column, what, bad):
    """The error for cells that are not what a column must hold."""
    cells = column.gather(bad).unique(maintain_order=True)
    has = "has" if len(bad) == 1 else "have"
    return BadRows(f"column {column.name!r} must hold {what}, but ", bad, f" {has} {quote(cells, 4)}; correct it.")


def _another_sign(name, sign):
    """A sentence on a column whose numbers are not written as those of its table."""
    other = "," if sign == "." else "."
    return (
        f"column {name!r} is text, and all its cells are numbers with a decimal {SIGNS[sign]}. If the others have a "
        f"decimal {SIGNS[other]}, correct them, or say --decimal {sign}; --categorical {name!r} makes categories of "
        "them."
    )


def as_texts(column):
    """The values as texts, whole floats without their point; None where missing."""
    import polars as pl

    if column.dtype == pl.Boolean:
        return [None if value is None else str(value).lower() for value in column.to_list()]
    if column.dtype.is_float():
        return [None if value is None or value != value else _integer_text(value) for value in column.to_list()]
    return [None if value is None else str(value) for value in column.to_list()]


def _integer_text(value):
    """3.0 is 3, as a category."""
    return str(int(value)) if value.is_integer() else repr(value)


LIMIT_WORDS = (  # of a column of numbers that were too small or too large for the instrument
    "<lod|<loq|< lod|< loq|bdl|bld|blq|bql|n.n.|n.b.|n.q.|<ng|<bg|< ng|< bg|ol|ovld|over|overflow|overrange|sat|trace|"
    "tr.|spuren|below lod"
).split("|")


def check_mixed(column, target=False):
    """Refuse a column of text that is mostly numbers, or that is numbers with another decimal sign."""
    import polars as pl

    name, column = column.name, column.cast(pl.String)
    doubt = doubt_in(column)
    if doubt is not None and (doubt.numbers or reason_to_ignore(column) is not None):
        if not doubt.reading:
            mend = "write them alike" if doubt.numbers else "make two columns of it"
            raise DataError(
                f"column {name!r} has {doubt.why}: {mend}, or say --categorical {name!r} for "
                f"categories, or --ignore {name!r}."
            )
        raise DataError(
            f"column {name!r} has {doubt.why}: --numeric {name!r} reads {doubt.reading}, --categorical {name!r} makes "
            f"categories of them, --ignore {name!r} leaves them out."
        )
    column = without_dashes(column, measured=True)
    good = max((numberlike(column, sign) for sign in SIGNS), key=lambda cells: cells.sum())
    limits = column.str.to_lowercase().is_in(LIMIT_WORDS).fill_null(False)
    present, what = len(column) - column.null_count() - limits.sum(), "numbers"
    many = column.drop_nulls().n_unique() > TEXT_LEVELS or reason_to_ignore(column) is not None
    unread = unread_in(column) if many else None
    few = column.filter(good).n_unique() <= 20  # they may be categories, unless every row has another one
    few = few and not present == column.drop_nulls().n_unique() > 3
    if not present or good.sum() < NUMERIC_SHARE * present or few:
        what, good = "dates", dates_among(column)
        if good is None or good.all() or good.sum() < NUMERIC_SHARE * present:
            _refuse_unread(column, unread)
            return
    bad = (~good).fill_null(False).arg_true().to_list()
    if not bad:
        _refuse_unread(column, None)
        sign, plain = sign_of(column)
        why = why_no_numbers(column, sign)
        if plain.all() and not all(is_number(column, other).all() for other in SIGNS):  # else they are codes
            raise DataError(_another_sign(name, sign))
        if why:
            raise DataError(
                f"column {name!r} is numbers, and {why}. Make it one, or say --categorical {name!r} for categories, or "
                f"--ignore {name!r}."
            )
        return
    cells = column.gather(bad).unique(maintain_order=True)
    words = " ".join(f"--missing {cell!r}" for cell in cells[:2])
    fates = f"--categorical {name!r} for labels." if target else f"--categorical {name!r} for categories, or --ignore "
    raise BadRows(
        f"column {name!r} is {what} except for ",
        bad,
        f": {quote(cells, 4)}. Correct these cells, or say {words} if they stand for nothing, {'or ' * target}{fates}"
        + ("" if target else f"{name!r}."),
    )


def _refuse_unread(column, whole):
    """DataError for a text that would be left out though it has numbers in it, or for dates that are not understood."""
    found = whole or unread_dates(column)
    if found is not None:
        what, cells = found
        raise DataError(
            f"column {column.name!r} looks like {what} ({quote(cells, 2)}), in a form that is not known: write "
            f"them in another one, or say --categorical {column.name!r} for categories, or --ignore {column.name!r}."
        )


def dates_among(column):
    """Which cells are dates; None where they are not looked at, as they do not look like dates."""
    import polars as pl

    present = column.drop_nulls()
    if present.str.contains(r"^\w{1,9}[-/. ]\w{1,9}[-/., ]").sum() < NUMERIC_SHARE * len(present):
        return None
    bad = pl.Series(range(len(column))).is_in(not_dates(column))
    return pl.select(pl.when(column.is_not_null()).then(~bad)).to_series()


# ------------------------------------------------------------------------------------------------ objects in text
READ_AS = {
    "dna": ("sequences of DNA or RNA", "Spectrum(3)"),
    "protein": ("sequences of proteins", "Spectrum(3)"),
    "smiles": ("molecules (SMILES)", "TanimotoOf(AtomEnvironments(2))"),
}


def suggest_object_kernel(column):
    """(what a text looks like, the kernel that reads it), or None: molecules as SMILES, sequences."""
    import polars as pl

    kind = text_kind(column.cast(pl.String).drop_nulls().head(LOOKED_AT).to_list())
    return (READ_AS[kind][0], f'{READ_AS[kind][1]}.on("{column.name}")') if kind else None


def as_values(y):
    """A column as a list or an array, whatever it came in."""
    return y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)


def as_frame(X):
    """A table of polars: as it is, from pandas, from a dict of columns, from a list of records, or from an array."""
    import polars as pl

    if isinstance(X, pl.DataFrame):
        return X
    if hasattr(X, "columns"):  # pandas: objects and categories as Python values, what is missing as null
        plain = {str(name): X[name].to_numpy() for name in X.columns}
        kinds = {name: [None if v is None or v != v else v for v in x.tolist()] if x.dtype.kind == "O" else x
                 for name, x in plain.items()}  # fmt: skip
        return pl.DataFrame(kinds).fill_nan(None)
    if isinstance(X, dict):
        return pl.DataFrame(X)
    if isinstance(X, list | tuple) and X and all(isinstance(row, dict) for row in X):
        return pl.DataFrame([*X], infer_schema_length=None)
    X = np.asarray(X)
    if X.ndim != 2:
        raise DataError(
            "a table is a data frame, a dict of columns, a list of dicts or an array of rows and columns, not an array "
            f"of {count(X.ndim, 'axis').replace('axiss', 'axes')}; one row is [{{'column': value}}]."
        )
    return pl.DataFrame({f"x{j + 1}": X[:, j] for j in range(X.shape[1])})


def usable_rows(frame, target, labels, notes, least=3):
    """(rows, y): the rows whose target is there, and the targets as floats, or ``labels`` as texts."""
    column = frame[target]
    if labels:
        texts = unify_spelling(as_texts(column), target, notes)
        present = np.array([text is not None for text in texts])
        y = np.array([text for text in texts if text is not None], dtype=str)
    else:
        if is_text(column) and column.null_count() < len(column):
            _refuse_labels(column)
        if not is_text(column) and column.dtype.is_temporal():
            raise DataError(f"the target {target!r} holds dates or times; make a number of it first.")
        values = as_floats(column)
        present = ~np.isnan(values)
        y = values[present]
    gone = int((~present).sum())
    if gone:
        notes.append(f"{count(gone, 'row')} without a target {target!r} dropped.")
    if len(y) < least:
        raise DataError(f"{count(len(y), 'row')} with a target {target!r}; at least {least} are needed.")
    if labels and least > 1 and len(set(y)) < 2:
        raise DataError(f"the target {target!r} is {str(y[0])!r} in all rows; at least two classes are needed.")
    return np.flatnonzero(present), y


def _refuse_labels(column):
    """DataError for a target that is text, where numbers are needed."""
    check_mixed(column, target=True)
    shown = quote(column.drop_nulls().unique(maintain_order=True), 3)
    raise DataError(f"the target {column.name!r} is text ({shown}), and the model is one for numbers.")
