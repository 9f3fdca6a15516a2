"""Findings of a report with one field at another value, for tests of what reads them."""

from dataclasses import MISSING, fields, is_dataclass, replace


def changed(part, where, value):
    """A copy of findings with one field at another value, at a place such as "rows.residuals.outliers".

    A dictionary is the fields of the part that differ; a dictionary on the way is changed by its keys.
    """
    name, _, rest = where.partition(".")
    before = part.get(name) if isinstance(part, dict) else getattr(part, name)
    if rest:
        value = changed(before, rest, value)
    elif isinstance(value, dict) and is_dataclass(before):
        value = replace(before, **value)
    return {**part, name: value} if isinstance(part, dict) else replace(part, **{name: value})


def made(part, /, **given):
    """A part of findings, whose fields that are not given are None."""
    empty = {one.name: None for one in fields(part) if one.default is MISSING}
    return part(**empty | given)
