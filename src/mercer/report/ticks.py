"""Ticks: round numbers along an axis, as many as there is room for."""

import math

from mercer.report._words import grouped, number, power

LETTER = 8.7  # how wide a digit is in a picture on a telephone, where letters are largest
NARROW, WIDE = ".,:;'|!()[] \u202fijlftr", "mwMW<>=+−×…@%&#~"
GAP, SIDE = 7.0, 70.0  # between two texts, and for the name of a level at the side


def find_ticks(axis, room=None):
    """([(value, text)], n): ticks of an axis, in units of 10ⁿ where plain numbers would be too long.

    Parameters
    ----------
    axis : dict
        As `charts.axis` makes it; its own ticks, if it has some, are taken as they are.
    room : float, default=None
        Length of a level axis, along which texts must not touch; None is an upright one.
    """
    if axis["levels"]:
        each = SIDE if room is None else room / len(axis["levels"]) - GAP
        return [(k, cut(name, each)) for k, name in enumerate(axis["levels"])], 0
    if axis["ticks"]:
        return axis["ticks"], 0
    low, high = axis["domain"]
    for most in (6, 5, 4, 3, 2):
        found, unit = _log(low, high, most) if axis["scale"] == "log" else _round(low, high, most)
        if room is None or _fit(found, axis, room):
            break
    return found, unit


def width(text):
    """About how wide a text is, in units of the picture."""
    return LETTER * sum(map(_share, text))


def _share(letter):
    """How wide a letter is beside a digit."""
    if letter in NARROW:
        return 0.5
    return 1.55 if letter in WIDE or ord(letter) >= 0x2E80 else 1.1 if letter.isupper() else 1.0


def cut(text, room):
    """A text, or as much of it as there is room for."""
    if width(text) <= room:
        return text
    while text and width(text + "…") > room:
        text = text[:-1]
    return text + "…"


def _fit(found, axis, room):
    """Whether the texts stand apart along a level axis."""
    scale = math.log10 if axis["scale"] == "log" else float
    low, high = map(scale, axis["domain"])
    ends = [((scale(v) - low) / (high - low) * room, width(text) / 2) for v, text in found]
    return all(b - a >= s + t + GAP for (a, s), (b, t) in zip(ends[:-1], ends[1:], strict=True))


def _round(low, high, most):
    """At most about so many round numbers in a range."""
    raw = (high - low) / most
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(scale * m for m in (1, 2, 2.5, 5, 10) if scale * m >= raw * 0.999)
    largest = max(abs(low), abs(high))
    unit = 0 if 1e-3 <= largest < 1e6 or step < 1e-4 * largest else math.floor(math.log10(largest))
    shown = step / 10.0**unit
    decimals = max(0, -math.floor(math.log10(shown) + 1e-9))
    decimals += abs(shown * 10**decimals - round(shown * 10**decimals)) > 1e-9  # 2.5
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(k * step, grouped(k * shown, decimals)) for k in range(first, last + 1)], unit


def _log(low, high, most):
    """Powers of ten; 1, 2 and 5 of each over little more than a decade, round numbers over less."""
    a, b = math.log10(low), math.log10(high)
    if b - a < 1.5:
        places = [m * 10.0**p for p in range(math.floor(a), math.ceil(b) + 1) for m in (1, 2, 5)]
        inside = [(v, number(v)) for v in places if low <= v <= high]
        if 3 <= len(inside) <= most:
            return inside, 0
        found, unit = _round(low, high, most)
        return [pair for pair in found if pair[0] > 0], unit
    powers = range(math.ceil(a), math.floor(b) + 1)
    step = math.ceil(len(powers) / most)
    powers = [p for p in powers if p % step == 0]
    plain = -3 <= powers[0] and powers[-1] <= 4
    return [(10.0**p, number(10.0**p) if plain or p == 0 else power(p)) for p in powers], 0
