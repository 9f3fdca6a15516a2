"""Charts as plain data: axes and marks, which `svg` draws, and the numbers behind them as a table."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.report._html import LARGEST, day, group_thousands, number, power_of_ten, show
from mercer.report.findings import evenly

LETTER = 8.7  # how wide a digit is in a picture on a telephone, where letters are largest
NARROW, WIDE = ".,:;'|!()[] \u202fijlftr", "mwMW<>=+−×…@%&#~"
GAP, SIDE = 7.0, 70.0  # between two texts, and for the name of a level at the side


def find_ticks(axis, room=None):
    """([(value, text)], n): ticks of an axis, in units of 10ⁿ where plain numbers would be too long.

    ``room`` is the length of a level axis, along which texts must not touch; None is an upright one.
    """
    if axis.levels:
        names = list(enumerate(axis.levels))
        if room is None:
            return [(k, cut(name, SIDE)) for k, name in names], 0
        each = room / len(names)  # where not all fit, every second or third is named; the marks say the others
        steps = (step for step in (1, 2, 3) if all(width(name) <= step * each - GAP for _, name in names[::step]))
        step = next(steps, 1)
        return [(k, cut(name, step * each - GAP)) for k, name in names[::step]], 0
    if axis.ticks:
        return axis.ticks, 0
    low, high = axis.domain
    if axis.dates:
        return _dates(low, high, 4 if room is None else max(2, int(room / (width("2000-00") + 2 * GAP)))), 0
    for most in (6, 5, 4, 3, 2):
        found, unit = _log(low, high, most) if axis.scale == "log" else _round(low, high, most)
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
    scale = math.log10 if axis.scale == "log" else float
    low, high = map(scale, axis.domain)
    ends = [((scale(v) - low) / (high - low) * room, width(text) / 2) for v, text in found]
    return all(b - a >= s + t + GAP for (a, s), (b, t) in zip(ends[:-1], ends[1:], strict=True))


def _round(low, high, most):
    """At most about so many round numbers in a range."""
    raw = (high - low) / most
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(scale * m for m in (1, 2, 2.5, 5, 10) if scale * m >= raw * 0.999)
    largest = max(abs(low), abs(high))
    unit = 0 if 1e-3 <= largest < 1e6 or step < 1e-4 * largest else math.floor(math.log10(largest))
    unit = 3 * (unit // 3) if 1e6 <= largest < 1e12 else unit  # millions, billions
    shown = step / 10.0**unit
    decimals = max(0, -math.floor(math.log10(shown) + 1e-9))
    decimals += abs(shown * 10**decimals - round(shown * 10**decimals)) > 1e-9  # 2.5
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(k * step, group_thousands(k * shown, decimals)) for k in range(first, last + 1)], unit


def _dates(low, high, most):
    """The first days of years, months or weeks, or days."""
    days = high - low
    for unit, length, steps in (
        ("Y", 365.25, (100, 50, 20, 10, 5, 2, 1)),
        ("M", 30.44, (6, 3, 1)),
        ("D", 1.0, (14, 7, 2, 1)),
    ):
        fine = [step for step in steps if days / (length * step) <= most]
        if not fine or (unit != "D" and days / (length * fine[-1]) < 1.5):
            continue
        first, last = (
            np.datetime64(math.floor(end), "D").astype(f"datetime64[{unit}]").astype(int) for end in (low, high)
        )
        origin = 1970 if unit == "Y" else 0
        places = [k for k in range(first, last + 2) if (k + origin) % fine[-1] == 0]
        found = [
            (float(np.datetime64(k, unit).astype("datetime64[D]").astype(int)), str(np.datetime64(k, unit)))
            for k in places
        ]
        found = [pair for pair in found if low <= pair[0] <= high]
        if found:
            return found
    return [(math.ceil(low), day(math.ceil(low)))]


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
    plain = -3 <= powers[0] and 10.0 ** powers[-1] < LARGEST / 100
    return [(10.0**p, number(10.0**p) if plain or p == 0 else power_of_ten(p)) for p in powers], 0


COLOURS = ("blue", "orange", "green", "purple", "yellow", "sky", "ink")
SIZE, SMALL, BROAD = (360, 256), (300, 236), (640, 290)  # of one of three charts in a row, of four, of two


@dataclass(frozen=True)
class Axis:
    """An axis from ``domain[0]`` to ``domain[1]``: of numbers, of days that are shown as dates, or of levels."""

    label: str
    domain: list
    scale: str = "linear"
    ticks: list | None = None  # (value, text), where they are given
    levels: list | None = None
    dates: bool = False


@dataclass(frozen=True)
class Mark:
    """What is drawn: a line, points, a band, sticks, bars, a rule or cells; None where a value is missing."""

    kind: str
    name: str | None = None  # in the legend
    colour: str = "blue"
    x: Any = None
    y: Any = None
    low: list | None = None  # of a band and of sticks
    high: list | None = None
    edges: list | None = None  # of bars
    dash: int = 0
    shape: str = "circle"  # of points: circle, diamond, triangle or ring
    text: list | None = None  # what each point is
    big: bool = False
    diagonal: bool = False  # a rule along x = y
    z: list | None = None  # of cells
    levels: list | None = None  # between the shades of cells
    what: str | None = None  # what z is called
    dark: str = "low"  # which cells are dark
    shade: int = 0  # of a cell in the legend


@dataclass(frozen=True)
class Chart:
    """A chart: what it is called, how to read it, its axes and marks, in words what it shows; width and height."""

    key: str
    title: str
    read: str
    x: Axis
    y: Axis
    marks: list
    alt: str
    note: str | None = None
    size: tuple = SIZE


def axis(label, values, scale="linear", *, include=(), margin=0.04, ticks=None, dates=False):
    """An axis: label, scale, and a domain that holds the values; a log axis holds the positive ones; days are dates."""
    found = np.array([v for part in values for v in np.ravel(_clean(part))], dtype=float)
    found = np.concatenate([found, np.asarray(include, dtype=float)])
    found = found[np.isfinite(found) & ((found > 0) | (scale == "linear"))]
    ends = (float(found.min()), float(found.max())) if found.size else (1.0, 10.0) if scale == "log" else (0.0, 1.0)
    low, high = map(math.log10, ends) if scale == "log" else ends
    if not high > low:
        pad = 0.5 if scale == "log" else abs(high) * 0.1 or 1.0
        low, high = low - pad, high + pad
    reach = margin * (high - low)
    low, high = low - reach, high + reach
    domain = [10.0**low, 10.0**high] if scale == "log" else [low, high]
    return Axis(label, domain, scale, ticks, dates=dates)


def level_axis(label, levels):
    """An axis of categories: a place for each."""
    return Axis(label, [-0.5, len(levels) - 0.5], levels=levels)


def line(x, y, name=None, colour="blue", dash=0):
    """A line; gaps where a value is missing."""
    return Mark("line", name, colour, _clean(x), _clean(y), dash=dash)


def points(x, y, name=None, colour="blue", shape="circle", text=None, big=False):
    """Points; ``text`` says what each is."""
    return Mark("points", name, colour, _clean(x), _clean(y), shape=shape, text=text, big=big)


def band(x, low, high, name=None, colour="blue", kind="band"):
    """The area between two lines; of the kind "sticks" an upright stroke at each place."""
    return Mark(kind, name, colour, _clean(x), low=_clean(low), high=_clean(high))


def bars(edges, heights, name=None, colour="blue"):
    """Bars of a histogram."""
    return Mark("bars", name, colour, y=_clean(heights), edges=_clean(edges))


def rule(x=None, y=None, diagonal=False, name=None, colour="grey", dash=1):
    """A straight line across: at x, at y, or from corner to corner where x = y."""
    return Mark("rule", name, colour, x, y, diagonal=diagonal, dash=dash)


def cells(x, y, z, levels, what, dark="low"):
    """Shaded cells around grid points; z, which is called ``what``, in bands between the levels, low or high dark."""
    name = what if dark == "high" else None
    return Mark("cells", name, x=_clean(x), y=_clean(y), z=[_clean(row) for row in z], levels=list(levels), what=what,
                dark=dark)  # fmt: skip


def along(one, x, middle, shade, name):
    """(axis, marks, note) along a column: a line with its band, or for each category a point with its stroke."""
    if one.levels:
        note = f"{one.more} rarer levels are not drawn." if one.more else None
        marks = [band(x, one.low, one.high, shade, "sky", "sticks"), points(x, middle, name, big=True)]
        return level_axis(one.name, one.levels), marks, note
    across = axis(one.name, [x], margin=0.01, dates=bool(one.dates))
    return across, [band(x, one.low, one.high, shade, "sky"), line(x, middle, name)], None


def with_numbers(marks):
    """The marks that have numbers of their own: of a line and points in the same places the one with a name."""
    kept = []
    for mark in marks:
        twin = next(
            (k for k, one in enumerate(kept) if mark.y is not None and (one.x, one.y) == (mark.x, mark.y)), None
        )
        if mark.kind == "rule" or (twin is not None and not mark.name):
            continue
        if twin is None or kept[twin].name:
            kept.append(mark)
        else:
            kept[twin] = mark
    return kept


def numbers_of(made):
    """(head, rows, of how many) behind a chart: those of its largest mark, and of others in the same places."""
    marks = with_numbers(made.marks)
    if not marks:
        return None
    mark = max(marks, key=lambda one: (one.kind == "cells", len(one.x or one.y)))
    if mark.kind == "cells":
        return _field(made, mark)
    if mark.kind == "bars":
        head, columns = [f"{made.x.label} from", "to"], [mark.edges[:-1], mark.edges[1:]]
    else:
        places = [None if v is None else day(v) for v in mark.x] if made.x.dates else mark.x
        head, columns = [made.x.label], [made.x.levels or places]
    for one in (one for one in marks if one.x == mark.x):
        if one.low is not None:
            head, columns = [*head, f"{one.name or 'band'}, low", "high"], [*columns, one.low, one.high]
        else:
            head, columns = [*head, one.name or made.y.label], [*columns, one.y]
    pick = evenly(len(columns[0]), 24 if mark.kind == "bars" else 12)
    return head, [[column[i] for column in columns] for i in pick], len(columns[0])


def _field(made, mark):
    """The numbers of shaded cells: one row for each of some places up, one column for each of some across."""
    across, up = evenly(len(mark.x), 6), evenly(len(mark.y), 12)
    x, y = made.x.levels or mark.x, made.y.levels or mark.y
    corner = f"{mark.what}: {made.y.label} down, {made.x.label} across"
    rows = [[y[j], *(mark.z[j][i] for i in across)] for j in reversed(up)]
    return [corner, *(show(x[i]) for i in across)], rows, len(mark.y)


def _clean(values):
    """A list of numbers and None."""
    return [
        None if v is None or isinstance(v, str) or not math.isfinite(v) else float(v) for v in np.ravel(values).tolist()
    ]
