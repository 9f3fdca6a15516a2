"""Charts as plain data: axes and marks, drawn by `svg` in Python and by the script of the page."""

import math

import numpy as np

from mercer.plots._base import number

COLOURS = ("blue", "orange", "green", "purple", "yellow", "sky", "ink")


def axis(label, values, scale="linear", *, include=(), margin=0.04, ticks=None):
    """An axis: label, scale, and a domain that holds the values; a log axis holds the positive ones."""
    found = np.array([v for part in values for v in np.ravel(_clean(part))], dtype=float)
    found = np.concatenate([found, np.asarray(include, dtype=float)])
    found = found[np.isfinite(found) & ((found > 0) | (scale == "linear"))]
    if scale == "log":
        low, high = (math.log10(found.min()), math.log10(found.max())) if found.size else (0.0, 1.0)
    else:
        low, high = (float(found.min()), float(found.max())) if found.size else (0.0, 1.0)
    if not high > low:
        pad = 0.5 if scale == "log" else abs(high) * 0.1 or 1.0
        low, high = low - pad, high + pad
    reach = margin * (high - low)
    low, high = low - reach, high + reach
    domain = [10.0**low, 10.0**high] if scale == "log" else [low, high]
    if scale == "log" and ticks is None and high - low < 1.5:  # powers of ten would leave it bare
        ticks = _few_powers(low, high)
    return {"label": label, "scale": scale, "domain": domain, "ticks": ticks}


def level_axis(label, levels, letters):
    """An axis of categories: a place for each, with so many letters for all their names together."""
    each = max(letters // max(len(levels), 1), 3)
    ticks = [[k, name if len(name) <= each else name[: each - 1] + "…"] for k, name in enumerate(levels)]
    return {"label": label, "scale": "linear", "domain": [-0.5, len(levels) - 0.5], "ticks": ticks, "levels": levels}


def chart(key, title, read, x, y, marks, alt, note=None):
    """A chart: how it is called, how to read it, its axes and marks, and in words what it shows."""
    return {"key": key, "title": title, "read": read, "x": x, "y": y, "marks": marks, "alt": alt, "note": note}


def line(x, y, name=None, colour="blue", dash=0):
    """A line; gaps where a value is missing."""
    return {"kind": "line", "x": _clean(x), "y": _clean(y), "name": name, "colour": colour, "dash": dash}


def points(x, y, name=None, colour="blue", shape="circle", text=None, big=False):
    """Points: circle, square, diamond or ring."""
    return {"kind": "points", "x": _clean(x), "y": _clean(y), "name": name, "colour": colour, "shape": shape,
            "text": text, "big": big}  # fmt: skip


def sticks(x, low, high):
    """(x, y) of a line that is an upright stroke at each place."""
    across = [v for place in x for v in (place, place, None)]
    return across, [v for ends in zip(low, high, strict=True) for v in (*ends, None)]


def band(x, low, high, name=None, colour="blue"):
    """The area between two lines."""
    return {"kind": "band", "x": _clean(x), "low": _clean(low), "high": _clean(high), "name": name, "colour": colour}


def bars(edges, heights, name=None, colour="blue"):
    """Bars of a histogram."""
    return {"kind": "bars", "edges": _clean(edges), "y": _clean(heights), "name": name, "colour": colour}


def rule(x=None, y=None, diagonal=False, name=None, colour="grey", dash=1):
    """A straight line across: at x, at y, or from corner to corner where x = y."""
    return {"kind": "rule", "x": x, "y": y, "diagonal": diagonal, "name": name, "colour": colour, "dash": dash}


def cells(x, y, z, levels, name=None, dark="low", text=None):
    """Shaded cells around grid points; z in bands between the levels, the low or the high ones dark."""
    return {"kind": "cells", "x": _clean(x), "y": _clean(y), "z": [_clean(row) for row in z], "levels": list(levels),
            "name": name, "dark": dark, "text": text}  # fmt: skip


def numbers_of(made):
    """(head, rows) of the numbers behind a chart, at most a dozen rows."""
    if made["x"].get("levels") and any(mark["kind"] == "points" for mark in made["marks"]):
        return _level_numbers(made)
    for mark in made["marks"]:
        if mark["kind"] in ("line", "points", "band") and len(mark["x"]) > 1:
            break
        if mark["kind"] == "bars":
            edges = mark["edges"]
            rows = [[a, b, v] for a, b, v in zip(edges[:-1], edges[1:], mark["y"], strict=True)]
            return [f"{made['x']['label']} from", "to", made["y"]["label"]], rows[:30]
    else:
        return None
    same = [m for m in made["marks"] if m["kind"] in ("line", "points", "band") and m["x"] == mark["x"]]
    head, columns = [made["x"]["label"]], [mark["x"]]
    for m in _once(same):
        if m["kind"] == "band":
            head += [f"{m['name'] or 'band'}, low", "high"]
            columns += [m["low"], m["high"]]
        else:
            head.append(m["name"] or made["y"]["label"])
            columns.append(m["y"])
    pick = np.unique(np.linspace(0, len(mark["x"]) - 1, min(len(mark["x"]), 12)).round().astype(int))
    return head, [[column[i] for column in columns] for i in pick]


def _once(marks):
    """The marks without those that repeat another: of a line and points in the same places the one with a name."""
    kept = []
    for mark in marks:
        twin = next((k for k, one in enumerate(kept) if "y" in mark and one.get("y") == mark["y"]), None)
        if twin is None or (mark["name"] and kept[twin]["name"]):
            kept.append(mark)
        elif mark["name"]:
            kept[twin] = mark
    return kept


def _level_numbers(made):
    """The numbers of a chart over categories: their names, the marks, and the ends of the strokes."""
    head, columns = [made["x"]["label"]], [made["x"]["levels"]]
    for mark in made["marks"]:
        if mark["kind"] == "points":
            head, columns = [*head, mark["name"]], [*columns, mark["y"]]
        elif mark["kind"] == "line":  # of `sticks`
            head, columns = [*head, f"{mark['name']}, low", "high"], [*columns, mark["y"][0::3], mark["y"][1::3]]
    return head, [list(row) for row in zip(*columns, strict=True)]


def round_ticks(low, high):
    """[[value, text], …]: about five round numbers in a range."""
    step = _step(low, high)
    first = math.ceil(low / step - 1e-9)
    return [[k * step, _round(k * step, step)] for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _few_powers(low, high):
    """Ticks of a log axis over little more than a decade: 1, 2 and 5 of each power, or round numbers if few."""
    places = [m * 10.0**p for p in range(math.floor(low), math.ceil(high) + 1) for m in (1, 2, 5)]
    inside = [v for v in places if 10.0**low <= v <= 10.0**high]
    if len(inside) < 3:
        return [pair for pair in round_ticks(10.0**low, 10.0**high) if pair[0] > 0]
    return [[v, _round(v, 10.0 ** math.floor(math.log10(v)))] for v in inside]


def _step(low, high):
    """A round step that makes about five ticks."""
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    return next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * 0.999)


def _round(value, step):
    """A tick as text, with the digits that the step needs."""
    if value != 0 and not 1e-3 <= abs(value) < 1e5:
        return number(value).replace("-", "−")
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    scaled = step * 10**digits
    return f"{value:.{digits + (abs(scaled - round(scaled)) > 1e-9)}f}".replace("-", "−")


def _clean(values):
    """A list of numbers and None."""
    return [
        None if v is None or isinstance(v, str) or not math.isfinite(v) else float(v) for v in np.ravel(values).tolist()
    ]
