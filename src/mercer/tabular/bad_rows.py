"""Errors that name rows, and the numbers these rows have in the table that a part was taken from."""

from contextlib import contextmanager

from mercer.exceptions import DataError
from mercer.tabular.words import rows_named


class BadRows(DataError):
    """Some rows cannot be used: ``parts`` are words, and between them lists of rows, counted from 0."""

    def __init__(self, *parts):
        super().__init__("".join(part if isinstance(part, str) else rows_named(part) for part in parts))
        self.parts = parts


@contextmanager
def numbered(rows):
    """Errors inside name rows as numbered in the whole table: row i of the part is ``rows[i]`` of the table."""
    try:
        yield
    except BadRows as error:
        parts = (part if isinstance(part, str) else [rows[i] for i in part] for part in error.parts)
        raise BadRows(*parts) from error.__cause__
