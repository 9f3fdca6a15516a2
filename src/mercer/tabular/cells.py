"""Words about cells: names, rows, counts; and the error that names rows."""

import difflib
from contextlib import contextmanager

from mercer.exceptions import DataError


class BadRows(DataError):
    """Some rows cannot be used: ``parts`` are words, and between them lists of rows, counted from 0."""

    def __init__(self, *parts):
        super().__init__("".join(part if isinstance(part, str) else name_rows(part) for part in parts))
        self.parts = parts


@contextmanager
def renumber_rows(rows):
    """Errors inside name rows as numbered in the whole table: row i of the part is ``rows[i]`` of the table."""
    try:
        yield
    except BadRows as error:
        parts = (part if isinstance(part, str) else [rows[i] for i in part] for part in error.parts)
        raise BadRows(*parts) from error.__cause__


def quote(names, most=8):
    """Names in quotes, at most so many of them."""
    names = list(names)
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown}, … ({len(names)} in all)" if len(names) > most else shown


def suggest(name, names):
    """The end of a sentence: '; did you mean "x"?', or a full stop where no name is near."""
    lower = {str(other).lower(): str(other) for other in names}
    near = difflib.get_close_matches(str(name).lower(), list(lower), n=1, cutoff=0.6)
    return f"; did you mean {lower[near[0]]!r}?" if near else "."


def name_rows(rows, most=5):
    """'row 3' or 'rows 3, 8, … (12 in all)': counted from 1, the header aside."""
    rows = [int(row) + 1 for row in rows]
    if len(rows) == 1:
        return f"row {rows[0]}"
    shown = ", ".join(map(str, rows[:most]))
    return f"rows {shown}, … ({len(rows):,} in all)" if len(rows) > most else f"rows {shown}"


def count(number, what):
    """'1 row', '20,640 rows'."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
