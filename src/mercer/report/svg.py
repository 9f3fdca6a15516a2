"""Charts as SVG: small, without styles of their own, so that the page colours them and a strict policy allows them."""

import math

from mercer.plots._base import number
from mercer.report._html import Safe, el
from mercer.report.charts import round_ticks

WIDTH, HEIGHT = 420, 290
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 10, 46
LETTERS = 44  # of an axis label
SIZE = 3.2  # half the size of a single mark


def draw(made):
    """Return the SVG of a chart; its text alternative is its title and description."""
    x, y = _Scale(made["x"], LEFT, WIDTH - RIGHT), _Scale(made["y"], HEIGHT - BOTTOM, TOP)
    key = made["key"]
    inside = [_frame(x, y), *[_MARKS[mark["kind"]](mark, x, y) for mark in made["marks"]]]
    return el(
        "svg",
        el("title", made["title"], id=f"{key}-t"),
        el("desc", made["alt"], id=f"{key}-d"),
        _ticks(made, x, y),
        el("g", inside, clip_path="url(#plot-area)"),
        class_="still",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_labelledby=f"{key}-t {key}-d",
    )


def definitions():
    """The clip path that all charts share; once in a page."""
    area = el("rect", x=LEFT, y=TOP, width=WIDTH - LEFT - RIGHT, height=HEIGHT - TOP - BOTTOM)
    return el(
        "svg", el("defs", el("clipPath", area, id="plot-area")), class_="defs", width=0, height=0, aria_hidden="true"
    )


class _Scale:
    """Numbers to places; None where there is none."""

    def __init__(self, axis, start, end):
        self.log = axis["scale"] == "log"
        self.axis, self.start, self.end = axis, start, end
        low, high = axis["domain"]
        self.low, self.high = (math.log10(low), math.log10(high)) if self.log else (low, high)

    def __call__(self, value):
        if value is None or (self.log and value <= 0):
            return None
        value = math.log10(value) if self.log else value
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, -3.0), 4.0) * (self.end - self.start)

    def ticks(self):
        """[(value, text)]: those given, powers of ten, or round numbers."""
        if self.axis.get("ticks"):
            return [tuple(pair) for pair in self.axis["ticks"]]
        if self.log and self.high - self.low >= 1.5:
            powers = range(math.ceil(self.low), math.floor(self.high) + 1)
            step = math.ceil(len(powers) / 6)
            return [(10.0**p, number(10.0**p)) for p in powers if p % step == 0]
        return [tuple(pair) for pair in round_ticks(*self.axis["domain"])]


# ------------------------------------------------------------------------------------------------ frame
def _frame(x, y):
    """Grid lines."""
    parts = [f"M{_p(x(v))} {TOP}V{HEIGHT - BOTTOM}" for v, _ in x.ticks() if x(v) is not None]
    parts += [f"M{LEFT} {_p(y(v))}H{WIDTH - RIGHT}" for v, _ in y.ticks() if y(v) is not None]
    return el("path", class_="grid", d="".join(parts))


def _ticks(made, x, y):
    """Numbers along the axes, the axes and their names."""
    out = [el("path", class_="axis", d=f"M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}")]
    for v, text in x.ticks():
        out.append(el("text", text, x=_p(x(v)), y=HEIGHT - BOTTOM + 16, class_="mid"))
    for v, text in y.ticks():
        out.append(el("text", text, x=LEFT - 6, y=_p(y(v) + 4), class_="end"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(el("text", _cut(made["x"]["label"]), x=(LEFT + WIDTH - RIGHT) // 2, y=HEIGHT - 8, class_="mid name"))
    out.append(
        el("text", _cut(made["y"]["label"]), transform=f"translate(13 {middle:g}) rotate(-90)", class_="mid name")
    )
    return el("g", out)


def _cut(text):
    """An axis label that fits."""
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"


def _p(value):
    """A place with one decimal."""
    return f"{value:.1f}".removesuffix(".0")


# ------------------------------------------------------------------------------------------------ marks
def _line(mark, x, y):
    d, pen = [], "M"
    for a, b in zip(mark["x"], mark["y"], strict=True):
        u, v = x(a), y(b)
        if u is None or v is None:
            pen = "M"
            continue
        d.append(f"{pen}{_p(u)} {_p(v)}")
        pen = "L"
    return el("path", class_=f"line c-{mark['colour']} d{mark['dash']}", d="".join(d))


def _points(mark, x, y):
    places = [(x(a), y(b)) for a, b in zip(mark["x"], mark["y"], strict=True)]
    places = [(u, v) for u, v in places if u is not None and v is not None]
    kind = f"{'big ' if mark['big'] else ''}{mark['shape']} c-{mark['colour']}"
    if mark["shape"] in ("circle", "square"):  # a line of no length with a cap: seven characters for a point
        return el("path", class_=f"dots {kind}", d="".join(f"M{_p(u)} {_p(v)}h0" for u, v in places))
    r = SIZE * (1.7 if mark["big"] else 1)
    shape = {
        "ring": f"m{-r:g} 0a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0z",
        "diamond": f"m0 {-r * 1.2:g}l{r:g} {r * 1.2:g}l{-r:g} {r * 1.2:g}l{-r:g} {-r * 1.2:g}z",
        "triangle": f"m0 {-r:g}l{r:g} {1.8 * r:g}h{-2 * r:g}z",
    }[mark["shape"]]
    return el("path", class_=f"mark {kind}", d="".join(f"M{_p(u)} {_p(v)}{shape}" for u, v in places))


def _band(mark, x, y):
    rows = [(x(a), y(b), y(c)) for a, b, c in zip(mark["x"], mark["low"], mark["high"], strict=True)]
    rows = [row for row in rows if None not in row]
    there = "L".join(f"{_p(u)} {_p(low)}" for u, low, _ in rows)
    back = "L".join(f"{_p(u)} {_p(high)}" for u, _, high in reversed(rows))
    return el("path", class_=f"band c-{mark['colour']}", d=f"M{there}L{back}Z") if rows else Safe("")


def _bars(mark, x, y):
    floor, d = y(0.0), []
    for a, b, v in zip(mark["edges"][:-1], mark["edges"][1:], mark["y"], strict=True):
        if v:
            d.append(f"M{_p(x(a) + 0.5)} {_p(floor)}V{_p(y(v))}H{_p(x(b) - 0.5)}V{_p(floor)}Z")
    return el("path", class_=f"bars c-{mark['colour']}", d="".join(d))


def _rule(mark, x, y):
    if mark["diagonal"]:
        low, high = max(x.axis["domain"][0], y.axis["domain"][0]), min(x.axis["domain"][1], y.axis["domain"][1])
        d = f"M{_p(x(low))} {_p(y(low))}L{_p(x(high))} {_p(y(high))}"
    elif mark["x"] is not None:
        d = f"M{_p(x(mark['x']))} {TOP}V{HEIGHT - BOTTOM}"
    else:
        d = f"M{LEFT} {_p(y(mark['y']))}H{WIDTH - RIGHT}"
    return el("path", class_=f"rule c-{mark['colour']} d{mark['dash']}", d=d)


def _cells(mark, x, y):
    """One path for each band between levels."""
    across, up = _edges([x(v) for v in mark["x"]]), _edges([y(v) for v in mark["y"]])
    n, high = len(mark["levels"]), mark.get("dark") == "high"
    paths = [[] for _ in range(n + 1)]
    for j, row in enumerate(mark["z"]):
        for i, z in enumerate(row):
            if z is None and high:
                continue  # no rows there: nothing is drawn
            level = n if z is None else sum(z >= limit for limit in mark["levels"])
            paths[n - level if high else level].append(
                f"M{_p(across[i])} {_p(up[j])}H{_p(across[i + 1])}V{_p(up[j + 1])}H{_p(across[i])}Z"
            )
    return el("g", [el("path", class_=f"cell s{k}", d="".join(d)) for k, d in enumerate(paths) if d])


def _edges(places):
    """Borders half-way between neighbouring places."""
    middle = [(a + b) / 2 for a, b in zip(places[:-1], places[1:], strict=True)]
    return [2 * places[0] - middle[0], *middle, 2 * places[-1] - middle[-1]]


_MARKS = {"line": _line, "points": _points, "band": _band, "bars": _bars, "rule": _rule, "cells": _cells}


def key(mark):
    """A small picture of a mark, for the legend."""
    colour = f"c-{mark.get('colour', 'blue')}"
    inside = {
        "line": lambda: el("path", class_=f"line {colour} d{mark['dash']}", d="M1 7H27"),
        "rule": lambda: el("path", class_=f"rule {colour} d{mark['dash']}", d="M1 7H27"),
        "band": lambda: el("path", class_=f"band {colour}", d="M1 2H27V12H1Z"),
        "bars": lambda: el("path", class_=f"bars {colour}", d="M8 2H20V12H8Z"),
        "cells": lambda: el("path", class_=f"cell s{mark.get('shade', 0)}", d="M6 1H22V13H6Z"),
    }
    if mark["kind"] == "points":
        one = _points({**mark, "x": [14.0], "y": [7.0]}, lambda v: v, lambda v: v)
    else:
        one = inside[mark["kind"]]()
    return el("svg", one, class_="key", viewBox="0 0 28 14", aria_hidden="true")
