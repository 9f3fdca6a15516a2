"""Findings: everything the page shows, as plain values that go into JSON and come back."""

import json
import math
import numbers

import numpy as np

from mercer._clock import Clock


class Allowance(Clock):
    """Seconds that the costly parts of a page may take together, from now on; None is no limit."""

    def __init__(self, seconds):
        if seconds is not None and not seconds >= 0:
            raise ValueError(f"time_budget must be >= 0 seconds or None, got {seconds}.")
        super().__init__(seconds)
        self.given, self.left_out = seconds, []

    def skips(self, what, seconds=0.0):
        """The line of a part that is left out, which takes so long at least; None while there is time."""
        if self.fits(seconds):
            return None
        self.left_out.append(what)
        return missing(f"{what[0].upper()}{what[1:]}: left out, the time budget of {self.given:g} s was used up.")


SCHEMA = 2
LARGEST = 2_000_000  # characters of JSON; what `collect` writes stays far below
NAME, TEXT = 80, 4000  # characters of a name and of a text that are kept
MOST, LEAST = 60_000, 8  # bytes of many names together, and characters that each of them keeps at least
DIGITS = 6  # significant digits of the numbers in lists: more than a picture shows


class Findings(dict):
    """What is to be said about a fitted model, section by section: plain data, of bounded size.

    Made by `collect`, shown by `render`. The same findings give the same page, byte for byte. A section that does not
    apply is ``{"missing": "why"}``.

    Parameters
    ----------
    sections : dict
        Plain values: None, bool, int, float, str, and lists and dictionaries of these.

    Examples
    --------
    >>> from mercer.report import Findings
    >>> found = Findings({"title": "y", "checks": []})
    >>> Findings.from_dict(found.to_dict()) == found
    True
    """

    def __repr__(self):
        return f"Findings({self.get('title', '')!r}, {len(self.get('checks', ()))} checks fired)"

    def to_dict(self):
        """Return plain values: what `from_dict` reads, and what a model file keeps in its note."""
        return plain({"schema": SCHEMA, **self})

    @classmethod
    def from_dict(cls, values):
        """Return the findings that ``to_dict`` wrote.

        Parameters
        ----------
        values : dict

        Returns
        -------
        Findings
        """
        if not isinstance(values, dict) or "schema" not in values:
            raise ValueError("these are not findings of a report: there is no 'schema'. Use Findings.to_dict().")
        if values["schema"] != SCHEMA:
            raise ValueError(
                f"findings of schema {values['schema']!r} cannot be read, this version knows {SCHEMA}; "
                "collect them again, or use the version of mercer that wrote them."
            )
        kept = plain({name: value for name, value in values.items() if name != "schema"})
        size = len(json.dumps(kept))
        if size > LARGEST:
            raise ValueError(f"the findings have {size} characters, more than the {LARGEST} that a page may hold.")
        return cls(kept)


def plain(value):
    """The value in JSON's types: arrays as lists, nan as None, infinity as "∞", texts cut at a bound."""
    if value is None or isinstance(value, bool | np.bool_):
        return value if value is None else bool(value)
    if isinstance(value, str):
        return value if len(value) <= TEXT else value[: TEXT - 1] + "…"
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return _number(float(value))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return plain(repr(value))


def short(text, limit=NAME):
    """A name on one line, without control characters, cut at a bound: whatever a column is called, it fits."""
    text = "".join(c if c.isprintable() else " " for c in str(text)[: 4 * limit])
    text = " ".join(text.split()) or "(no name)"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def all_short(texts, limit=NAME, most=MOST, drawn=None):
    """Names cut at a bound, and further where those that are drawn would fill the page with more bytes than most."""
    cut = [short(text, limit) for text in texts]
    share = 1.0 if drawn is None or not cut else min(1.0, drawn / len(cut))
    while limit > LEAST and share * sum(map(_bytes, cut)) > most:
        limit //= 2
        cut = [short(text, limit) for text in cut]
    return cut


def _bytes(text):
    """Bytes of a text in the data block of the page, where signs of markup take six."""
    return len(text.encode(errors="replace")) + 5 * sum(text.count(sign) for sign in "<>&")


def spread(count, most):
    """Numbers of at most so many items of a list, evenly spread, with both ends."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def missing(why):
    """A section that does not apply, and why in one line."""
    return {"missing": why}


def _number(value):
    """Return a finite number as it is; nan is None and infinity a sign."""
    if math.isfinite(value):
        return value
    return None if math.isnan(value) else "∞" if value > 0 else "-∞"


def _array(values):
    """A list of an array; numbers with as many digits as a picture needs, nan and infinity as None."""
    if values.dtype.kind in "fc":
        return [_array(row) for row in values] if values.ndim > 1 else [_rounded(x) for x in values.tolist()]
    return [plain(item) for item in values.tolist()] if values.ndim else plain(values.tolist())


def _rounded(x):
    """Six significant digits."""
    return float(f"{x:.{DIGITS}g}") if math.isfinite(x) else None
