"""What each additive part of the kernel does: how far it moves the prediction, and a curve along what it reads."""

import numpy as np

from mercer.report._factors import LEVELS, TEXT, all_columns, set_factor
from mercer.report._html import show
from mercer.report.charts import Chart, along, axis
from mercer.report.findings import evenly
from mercer.report.parts_model import PartCurve, PartSize
from mercer.selection.judging import quietly

PLACES, SHOWN_LEVELS = 240, 10  # places of a curve, and levels of a category
LETTERS = 70  # of a title


def parts_of(case, words):
    """(sizes, curves) of the parts of the kernel, where it has two or more.

    A size is the standard deviation over the rows of the mean of a part; a part that reads one column of numbers, or
    one category, has a curve. ``words`` of the case and some kernels says what they do together.
    """
    if not case.model.decomposes or case.model.fit_report_.get("approximation") or case.pairwise:
        return [], []
    first = quietly(case.model.decompose, case.take([0]))
    parts = [(number, part.kernels) for number, part in enumerate(first) if part.kernels]
    if len(parts) < 2 or case.budget.skips("parts of the kernel"):
        return [], []
    called = {number: words(case, *kernels) for number, kernels in parts}
    some = quietly(case.model.decompose, case.take(case.shown(200)))
    at_rows = [float(np.std(case.one(one.mean))) for one in some]
    sizes = [PartSize(words=called.get(number, "the trend"), size=size) for number, size in enumerate(at_rows)
             if number in called or size > 1e-9 * max(at_rows)]  # fmt: skip
    single = [(number, factor) for number, kernels in parts if (factor := _factor(case, kernels[0])) is not None]
    return sorted(sizes, key=lambda one: -one.size), _curves(case, single[:6], called)


def _factor(case, kernel):
    """The one column of numbers, or category, that a kernel reads; None where it reads more, or a text."""
    read = set(kernel.columns_read(all_columns(case)))
    return next((one for one in case.factors if one.kind != TEXT and set(one.columns) == read), None)


def _curves(case, single, called):
    """Curves of the parts along their factors, all from one question: no part reads a factor of another."""
    seasons = [number for number, _ in single if "season" in called[number]]
    curves = {}
    for own in ([pair for pair in single if (pair[0] in seasons) is season] for season in (False, True)):
        places = {number: _part_places(factor, number in seasons) for number, factor in own}
        Z = case.take(np.zeros(max(map(len, places.values()), default=0), dtype=int))
        for number, factor in own:
            Z = set_factor(case, Z, factor, np.pad(places[number], (0, len(Z) - len(places[number])), mode="edge"))
        parts = quietly(case.model.decompose, Z) if own else []
        for number, factor in own:
            curves[number] = _part_curve(case, parts[number], factor, places[number], called[number])
    return [curves[number] for number, _ in single]


def _part_places(factor, season):
    """Values that a curve goes through; of a season the last ones, whose waves would be lost among all."""
    if factor.kind == LEVELS:
        return factor.common_levels(SHOWN_LEVELS)
    values = np.unique(factor.values[np.isfinite(factor.values)])
    return values[-PLACES:] if season else values[evenly(len(values), PLACES)]


def _part_curve(case, part, factor, places, words):
    """Mean and two deviations of one part at the first places that were asked for."""
    mean, std = (case.one(values)[: len(places)] for values in (part.mean, part.std))
    whole = factor.kind == LEVELS or factor.values.min() == places[0]
    return PartCurve(name=factor.name, words=words, mean=mean, low=mean - 2.0 * std, high=mean + 2.0 * std,
                     **factor.along(places), last=None if whole else len(places))  # fmt: skip


def part_charts(s):
    """A chart for each part that has a curve."""
    out = []
    for j, one in enumerate(s.selection.parts):
        x, marks, note = along(one, one.x, one.mean, "±2 posterior deviations", "part")
        title = one.words[:1].upper() + one.words[1:]
        title = title if len(title) <= LETTERS else f"{title[: LETTERS - 1]}…"
        out.append(Chart(
            f"part-{j}", title, "What this part adds to the prediction; all parts and a constant sum to it.", x,
            axis("added", [one.low, one.high]), marks,
            f"It adds from {show(min(one.mean))} to {show(max(one.mean))}.",
            f"The last {one.last} values of {one.name}." if one.last else note,
        ))  # fmt: skip
    return out
