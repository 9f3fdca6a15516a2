"""Charts as SVG: small, without styles of their own, so that the page colours them and a strict policy allows them.

Marks carry what is said of each of their places as texts, ``data-x`` and others; the script of the page finds the
places themselves in the path and shows these texts.
"""

import math
from dataclasses import replace

from mercer.report._html import Safe, day, el, number, unit_text
from mercer.report.charts import cut, find_ticks, width, with_numbers

RIGHT, TOP, BOTTOM = 12, 8, 44
SIZE = 3.0  # half the size of a single mark
DIGITS = 4  # of the numbers that are said of a place


def draw(made):
    """Return the SVG of a chart; its text alternative are its title and what it shows in words."""
    wide, high = made.size
    ticks = find_ticks(made.y)
    left = 26 + max([width(text) for _, text in ticks[0]], default=0)
    across, up = wide - RIGHT - left, high - TOP - BOTTOM
    x = _Scale(made.x, left, wide - RIGHT, find_ticks(made.x, across))
    y = _Scale(made.y, high - BOTTOM, TOP, ticks)
    tipped, inside = with_numbers(made.marks), [_frame(x, y)]
    for mark in made.marks:
        tips = _tips(mark, made) if any(mark is one for one in tipped) else {}
        inside.append(_MARKS[mark.kind](mark, x, y, tips))
    box = {"x": _p(left), "y": TOP, "width": _p(across), "height": up}
    return el(
        "svg",
        _axes(x, y),
        el("svg", inside, class_="area", **box, viewBox=" ".join(map(str, box.values()))),  # which cuts what is outside
        class_="still",
        viewBox=f"0 0 {wide} {high}",
        role="img",
        aria_label=f"{made.title}. {made.alt}",
        data_across=made.x.label,
        data_up=made.y.label,
    )


class _Scale:
    """Numbers to places; None where there is none."""

    def __init__(self, axis, start, end, ticks):
        self.log = axis.scale == "log"
        self.axis, self.start, self.end = axis, start, end
        self.ticks, self.unit = ticks
        self.low, self.high = map(math.log10, axis.domain) if self.log else axis.domain

    def __call__(self, value):
        if value is None or (self.log and value <= 0):
            return None
        value = math.log10(value) if self.log else value
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, -3.0), 4.0) * (self.end - self.start)

    def label(self, room):
        """The name of the axis, as much as fits, and its unit."""
        unit = f" ({unit_text(self.unit)})" if self.unit else ""
        return cut(self.axis.label, room - width(unit)) + unit


# ------------------------------------------------------------------------------------------------ frame
def _frame(x, y):
    """Grid lines."""
    parts = [f"M{_p(x(v))} {TOP}V{y.start}" for v, _ in x.ticks]
    parts += [f"M{_p(x.start)} {_p(y(v))}H{x.end}" for v, _ in y.ticks]
    return el("path", class_="grid", d="".join(parts))


def _axes(x, y):
    """Numbers along the axes, the axes and their names."""
    wide, high = x.end + RIGHT, y.start + BOTTOM
    out = [el("path", class_="axis", d=f"M{_p(x.start)} {TOP}V{y.start}H{x.end}")]
    for v, text in x.ticks:
        half = width(text) / 2
        out.append(el("text", text, x=_p(min(x(v), wide - half)), y=y.start + 18, class_="mid"))
    for v, text in y.ticks:
        out.append(el("text", text, x=_p(x.start - 5), y=_p(y(v) + 4), class_="end"))
    middle = (x.start + x.end) / 2
    out.append(el("text", x.label(2 * min(middle, wide - middle)), x=_p(middle), y=high - 8, class_="mid name"))
    turned = f"translate(12 {(y.start + TOP) / 2:g}) rotate(-90)"
    out.append(el("text", y.label(y.start + TOP), transform=turned, class_="mid name"))
    return el("g", out)


def _p(value):
    """A place with one decimal."""
    return f"{value:.1f}".removesuffix(".0")


# ------------------------------------------------------------------------------------- what is said of a place
def _tips(mark, made):
    """The texts of a mark: of each place that is drawn x, y, and what it is."""
    x, y = made.x, made.y
    if mark.kind == "bars":
        ends = zip(mark.edges[:-1], mark.edges[1:], mark.y, strict=True)
        rows = [(f"{number(a, DIGITS)} to {number(b, DIGITS)}", number(v, DIGITS)) for a, b, v in ends if v]
    elif mark.kind == "cells":
        rows = [(_text_of(x, mark.x[i]), _text_of(y, mark.y[j]), number(mark.z[j][i], DIGITS))
                for shade in _shades(mark) for i, j in shade if mark.z[j][i] is not None]  # fmt: skip
    elif mark.low is not None:
        ends = zip(mark.x, mark.low, mark.high, strict=True)
        rows = [
            (_text_of(x, a), f"{number(b, DIGITS)} to {number(c, DIGITS)}") for a, b, c in ends if None not in (b, c)
        ]
    else:
        ends = zip(mark.x, mark.y, mark.text or [""] * len(mark.x), strict=True)
        rows = [(_text_of(x, a), _text_of(y, b), t) for a, b, t in ends if _has_place(x, a) and _has_place(y, b)]
    columns = ["\n".join(text.replace("\n", " ") for text in texts) for texts in zip(*rows, strict=True)] or ["", ""]
    out = {"data_name": mark.name, "data_x": columns[0], "data_y": columns[1]}
    if mark.kind == "cells":
        out |= {"data_z": columns[-1], "data_what": mark.what}
    elif mark.text:
        out["data_text"] = columns[-1]
    return out


def _has_place(axis, value):
    """Whether a value has a place on an axis."""
    return value is not None and (value > 0 or axis.scale != "log")


def _text_of(axis, value):
    """A value on an axis as text: the name of a level, a date, or a number."""
    if axis.dates:
        return day(value)
    return axis.levels[round(value)] if axis.levels else number(value, DIGITS)


# ------------------------------------------------------------------------------------------------ marks
def _draw_line(mark, x, y, tips):
    d, pen = [], "M"
    for a, b in zip(mark.x, mark.y, strict=True):
        u, v = x(a), y(b)
        if u is None or v is None:
            pen = "M"
            continue
        d.append(f"{pen}{_p(u)} {_p(v)}")
        pen = "L"
    return el("path", class_=f"line c-{mark.colour} d{mark.dash}", d="".join(d), **tips)


def _draw_points(mark, x, y, tips):
    places = [(x(a), y(b)) for a, b in zip(mark.x, mark.y, strict=True)]
    places = [(u, v) for u, v in places if u is not None and v is not None]
    kind = f"{'big ' if mark.big else ''}{mark.shape} c-{mark.colour}"
    if mark.shape == "circle":  # a line of no length with a cap: seven characters for a point
        return el("path", class_=f"dots {kind}", d="".join(f"M{_p(u)} {_p(v)}h0" for u, v in places), **tips)
    r = SIZE * (1.7 if mark.big else 1)
    shape = {
        "ring": f"m{-r:g} 0a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0z",
        "diamond": f"m0 {-r * 1.2:g}l{r:g} {r * 1.2:g}l{-r:g} {r * 1.2:g}l{-r:g} {-r * 1.2:g}z",
        "triangle": f"m0 {-r:g}l{r:g} {1.8 * r:g}h{-2 * r:g}z",
    }[mark.shape]
    return el("path", class_=f"mark {kind}", d="".join(f"M{_p(u)} {_p(v)}{shape}" for u, v in places), **tips)


def _between(mark, x, y):
    """(across, low, high) of a band or of sticks, where all three are known."""
    rows = [(x(a), y(b), y(c)) for a, b, c in zip(mark.x, mark.low, mark.high, strict=True)]
    return [row for row in rows if None not in row]


def _draw_band(mark, x, y, tips):
    rows = _between(mark, x, y)
    there = "L".join(f"{_p(u)} {_p(low)}" for u, low, _ in rows)
    back = "L".join(f"{_p(u)} {_p(high)}" for u, _, high in reversed(rows))
    return el("path", class_=f"band c-{mark.colour}", d=f"M{there}L{back}Z", **tips) if rows else Safe("")


def _draw_sticks(mark, x, y, tips):
    """From the middle, which is the place, to both ends."""
    d = [f"M{_p(u)} {_p((low + high) / 2)}V{_p(low)}V{_p(high)}" for u, low, high in _between(mark, x, y)]
    return el("path", class_=f"line c-{mark.colour}", d="".join(d), **tips)


def _draw_bars(mark, x, y, tips):
    floor, d = y(0.0), []
    for a, b, v in zip(mark.edges[:-1], mark.edges[1:], mark.y, strict=True):
        if v:
            d.append(f"M{_p(x(a) + 0.5)} {_p(floor)}V{_p(y(v))}H{_p(x(b) - 0.5)}V{_p(floor)}Z")
    return el("path", class_=f"bars c-{mark.colour}", d="".join(d), **tips)


def _draw_rule(mark, x, y, tips):
    if mark.diagonal:
        low, high = max(x.axis.domain[0], y.axis.domain[0]), min(x.axis.domain[1], y.axis.domain[1])
        d = f"M{_p(x(low))} {_p(y(low))}L{_p(x(high))} {_p(y(high))}"
    elif mark.x is not None:
        d = f"M{_p(x(mark.x))} {TOP}V{y.start}"
    else:
        d = f"M{_p(x.start)} {_p(y(mark.y))}H{x.end}"
    return el("path", class_=f"rule c-{mark.colour} d{mark.dash}", d=d)


def _draw_cells(mark, x, y, tips):
    """One path for each shade."""
    across, up = _edges([x(v) for v in mark.x]), _edges([y(v) for v in mark.y])
    paths = []
    for k, shade in enumerate(_shades(mark)):
        d = [f"M{_p(across[i])} {_p(up[j])}H{_p(across[i + 1])}V{_p(up[j + 1])}H{_p(across[i])}Z" for i, j in shade]
        paths += [el("path", class_=f"cell s{k}", d="".join(d))] if d else []
    return el("g", paths, **tips)


def _shades(mark):
    """The cells (i, j) of each shade, the strongest first; what is not known is not drawn."""
    n, high = len(mark.levels), mark.dark == "high"
    shades = [[] for _ in range(n + 1)]
    for j, row in enumerate(mark.z):
        for i, z in enumerate(row):
            if z is not None:
                level = sum(z >= limit for limit in mark.levels)
                shades[n - level if high else level].append((i, j))
    return shades


def _edges(places):
    """Borders half-way between neighbouring places."""
    middle = [(a + b) / 2 for a, b in zip(places[:-1], places[1:], strict=True)]
    return [2 * places[0] - middle[0], *middle, 2 * places[-1] - middle[-1]]


_MARKS = {
    "line": _draw_line,
    "points": _draw_points,
    "band": _draw_band,
    "sticks": _draw_sticks,
    "bars": _draw_bars,
    "rule": _draw_rule,
    "cells": _draw_cells,
}


def key(mark):
    """A small picture of a mark, for the legend."""
    colour = f"c-{mark.colour}"
    if mark.kind == "points":
        one = _draw_points(replace(mark, x=[14.0], y=[7.0]), lambda v: v, lambda v: v, {})
    else:
        d = {"band": "M1 2H27V12H1Z", "bars": "M8 2H20V12H8Z", "cells": "M6 1H22V13H6Z"}.get(mark.kind, "M1 7H27")
        kind = {"sticks": "line", "cells": f"cell s{mark.shade}"}.get(mark.kind, mark.kind)
        one = el("path", class_=f"{kind} {colour} d{mark.dash}", d=d)
    return el("svg", one, class_="key", viewBox="0 0 28 14", aria_hidden="true")
