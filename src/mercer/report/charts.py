"""Charts as plain data: axes and marks, which `svg` draws, and the numbers behind them as a table."""

import math

import numpy as np

from mercer.report._words import show

COLOURS = ("blue", "orange", "green", "purple", "yellow", "sky", "ink")
ROWS, ACROSS = 12, 6  # of the numbers behind a chart


def axis(label, values, scale="linear", *, include=(), margin=0.04, ticks=None):
    """An axis: label, scale, and a domain that holds the values; a log axis holds the positive ones."""
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
    return {"label": label, "scale": scale, "domain": domain, "ticks": ticks, "levels": None}


def level_axis(label, levels):
    """An axis of categories: a place for each."""
    return {"label": label, "scale": "linear", "domain": [-0.5, len(levels) - 0.5], "ticks": None, "levels": levels}


def chart(key, title, read, x, y, marks, alt, note=None):
    """A chart: how it is called, how to read it, its axes and marks, and in words what it shows."""
    return {"key": key, "title": title, "read": read, "x": x, "y": y, "marks": marks, "alt": alt, "note": note}


def line(x, y, name=None, colour="blue", dash=0):
    """A line; gaps where a value is missing."""
    return {"kind": "line", "x": _clean(x), "y": _clean(y), "name": name, "colour": colour, "dash": dash}


def points(x, y, name=None, colour="blue", shape="circle", text=None, big=False):
    """Points: circle, diamond, triangle or ring; ``text`` says what each is."""
    return {"kind": "points", "x": _clean(x), "y": _clean(y), "name": name, "colour": colour, "shape": shape,
            "text": text, "big": big}  # fmt: skip


def band(x, low, high, name=None, colour="blue"):
    """The area between two lines."""
    return {"kind": "band", "x": _clean(x), "low": _clean(low), "high": _clean(high), "name": name, "colour": colour}


def sticks(x, low, high, name=None, colour="blue"):
    """An upright stroke at each place."""
    return {**band(x, low, high, name, colour), "kind": "sticks"}


def bars(edges, heights, name=None, colour="blue"):
    """Bars of a histogram."""
    return {"kind": "bars", "edges": _clean(edges), "y": _clean(heights), "name": name, "colour": colour}


def rule(x=None, y=None, diagonal=False, name=None, colour="grey", dash=1):
    """A straight line across: at x, at y, or from corner to corner where x = y."""
    return {"kind": "rule", "x": x, "y": y, "diagonal": diagonal, "name": name, "colour": colour, "dash": dash}


def cells(x, y, z, levels, what, dark="low"):
    """Shaded cells around grid points; z, which is called ``what``, in bands between the levels, low or high dark."""
    return {"kind": "cells", "x": _clean(x), "y": _clean(y), "z": [_clean(row) for row in z], "levels": list(levels),
            "what": what, "name": what if dark == "high" else None, "dark": dark}  # fmt: skip


def along(one, x, middle, shade, name):
    """(axis, marks, note) along a column: a line with its band, or for each category a point with its stroke."""
    low, high = one["low"], one["high"]
    if one.get("levels"):
        note = f"{one['more']} rarer levels are not drawn." if one.get("more") else None
        marks = [sticks(x, low, high, shade, "sky"), points(x, middle, name, big=True)]
        return level_axis(one["name"], one["levels"]), marks, note
    return axis(one["name"], [x], margin=0.01), [band(x, low, high, shade, "sky"), line(x, middle, name)], None


def told(marks):
    """The marks that have numbers of their own: of a line and points in the same places the one with a name."""
    kept = []
    for mark in marks:
        twin = next((k for k, one in enumerate(kept) if "y" in mark and _place(one) == _place(mark)), None)
        if mark["kind"] == "rule" or (twin is not None and not mark["name"]):
            continue
        if twin is None or kept[twin]["name"]:
            kept.append(mark)
        else:
            kept[twin] = mark
    return kept


def _place(mark):
    return mark.get("x"), mark.get("y")


def numbers_of(made):
    """(head, rows, of how many) behind a chart: those of its largest mark, and of others in the same places."""
    marks = told(made["marks"])
    if not marks:
        return None
    mark = max(marks, key=lambda one: (one["kind"] == "cells", len(one.get("x") or one["y"])))
    if mark["kind"] == "cells":
        return _field(made, mark)
    if mark["kind"] == "bars":
        head, columns = [f"{made['x']['label']} from", "to"], [mark["edges"][:-1], mark["edges"][1:]]
    else:
        head, columns = [made["x"]["label"]], [made["x"]["levels"] or mark["x"]]
    for one in (one for one in marks if one.get("x") == mark.get("x")):
        if "low" in one:
            head, columns = [*head, f"{one['name'] or 'band'}, low", "high"], [*columns, one["low"], one["high"]]
        else:
            head, columns = [*head, one["name"] or made["y"]["label"]], [*columns, one["y"]]
    pick = _spread(len(columns[0]), 2 * ROWS if mark["kind"] == "bars" else ROWS)
    return head, [[column[i] for column in columns] for i in pick], len(columns[0])


def _field(made, mark):
    """The numbers of shaded cells: one row for each of some places up, one column for each of some across."""
    across, up = _spread(len(mark["x"]), ACROSS), _spread(len(mark["y"]), ROWS)
    x, y = made["x"]["levels"] or mark["x"], made["y"]["levels"] or mark["y"]
    corner = f"{mark['what']}: {made['y']['label']} down, {made['x']['label']} across"
    rows = [[y[j], *(mark["z"][j][i] for i in across)] for j in reversed(up)]
    return [corner, *(show(x[i]) for i in across)], rows, len(mark["y"])


def _spread(count, most):
    """At most so many places of a list, evenly spread, with both ends."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()


def _clean(values):
    """A list of numbers and None."""
    return [
        None if v is None or isinstance(v, str) or not math.isfinite(v) else float(v) for v in np.ravel(values).tolist()
    ]
