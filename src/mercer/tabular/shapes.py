"""Tables that are not a row for each case and a column for each measure: long ones, and those on their side."""

import re

from mercer.tabular.cells import count, quote
from mercer.tabular.columns import is_text

KEY = re.compile(
    r"(?i)(variable|parameter|measure|metric|key|name|attribute|item|indicator|analyte|sensor|channel|field|property|merkmal|"
    r"messgr(ö|oe)(ß|ss)e|größe|mesure|par[aá]met\w*|kennwert|code|element|test|question)s?(_?name|_?id)?"
)
VALUE = re.compile(
    r"(?i)(value|wert|messwert|valeur|valor|valore|result|reading|measurement|obs_?value|amount|answer)s?"
)


def long_in(frame):
    """(column of names, column of values) of a long table, a row for each case and measure; None of others."""
    names = [column for column in frame.get_columns() if is_text(column) and KEY.fullmatch(column.name.strip())]
    values = [name for name in frame.columns if VALUE.fullmatch(name.strip())]
    for key in names:
        keys = key.n_unique()
        others = [name for name in frame.columns if name != key.name and name not in values]
        if not values or not others or not 2 <= keys <= frame.height / 2:
            continue
        cases = frame.select(others).n_unique()
        pairs = frame.select([*others, key.name]).n_unique()
        if pairs == frame.height and frame.height >= 0.6 * keys * cases and cases < frame.height:
            return key.name, values[0]
    return None


def hint(frame, target=None):
    """What to do about a table that is long or on its side, as a sentence; None of a usual one.

    ``target`` is the name that was asked for, which may be among the cells.
    """
    found = long_in(frame)
    if found is not None and (target is None or target not in frame.columns or target == found[1]):
        key, value = found
        keys = quote(frame[key].drop_nulls().unique(maintain_order=True), 4)
        return (
            f"the table is long: column {key!r} has the names of what is in {value!r} ({keys}). Make a column of each "
            f"first (a pivot table; in pandas .pivot(columns={key!r}, values={value!r}); in polars .pivot({key!r}, "
            f"values={value!r}))."
        )
    first = frame.columns[0] if frame.width else None
    if first is None or not is_text(frame[first]):
        return None
    cells = frame[first].drop_nulls()
    named = target is not None and target not in frame.columns and target in cells.str.strip_chars().to_list()
    wide = frame.width - 1 > frame.height and cells.n_unique() == frame.height > 1 and _is_all_text(frame)
    if named or wide:
        return (
            f"the table stands on its side: its {count(frame.height, 'row')} are named in column {first!r} "
            f"({quote(cells, 4)}), and each case is a column. Turn it first (in a spreadsheet: copy, paste special, "
            "transpose; in pandas .set_index(…).T)."
        )
    return None


def _is_all_text(frame):
    """Whether the columns behind the first are text alike, as those of measures of several kinds are."""
    return all(is_text(column) for column in frame.get_columns()[1:])
