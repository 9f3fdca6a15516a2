"""Sentences on how a new table differs from the one of the fit."""

import numpy as np

from mercer.tabular.words import count, listed

ENOUGH = 10  # rows below which a shift of the whole column is not judged
FAR = 5.0  # standard deviations between the new median and the mean of the fit
RATIO = 20.0  # of the spreads
BEYOND = 0.1  # of the range of the fit, on either side


def of_numbers(values, kept):
    """Whether a column looks like another unit, or goes beyond what the fit has seen."""
    if not len(values) or kept["kind"] == "boolean":
        return []
    name, spread = kept["name"], kept["spread"] or 1.0
    if len(values) >= ENOUGH:
        middle = float(np.median(values))
        shift = abs(middle - kept["centre"]) / spread
        ratio = float(values.std()) / spread if abs(values).max() < 1e150 else np.inf
        if shift > FAR or ratio > RATIO:
            date = kept["kind"] == "date"
            return [
                f"column {name!r} is on another scale than in the fit: median {shown(middle, kept)} (fit: mean "
                f"{shown(kept['centre'], kept)}, sd {spread:.3g}{' days' * date}). Is it in another unit?"
            ]
    room = BEYOND * (kept["high"] - kept["low"])
    outside = int(((values < kept["low"] - room) | (values > kept["high"] + room)).sum())
    if not outside:
        return []
    return [
        f"column {name!r}: {count(outside, 'row')} of {len(values):,} outside the range of the fit, "
        f"{shown(kept['low'], kept)} to {shown(kept['high'], kept)}; predictions there are extrapolations."
    ]


def shown(value, kept, digits=4):
    """A value of a column in its own words: a date, or a number with so many digits."""
    if kept["kind"] == "date":
        return str(np.datetime64(int(np.floor(value + kept["origin"])), "D"))
    return f"{value:.{digits}g}"


def of_levels(unseen, rows, kept):
    """Which categories are new, in how many rows, and what becomes of them."""
    if not unseen:
        return []
    fate = "they count as (other)." if kept["pooled"] else "they are equally far from all known ones."
    return [
        f"column {kept['name']!r}: {count(rows, 'row')} with categories that the fit has not seen "
        f"({listed(unseen, 4)}); {fate}"
    ]
