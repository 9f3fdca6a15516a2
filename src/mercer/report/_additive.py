"""What each additive part of the kernel of a process does: a curve along the one column that it reads."""

import numpy as np

from mercer.kernels import Columns, Scaled, Standardised
from mercer.kernels.algebra import additive_parts
from mercer.report._factors import NUMBER, put
from mercer.report._html import show
from mercer.report.charts import along, axis, chart
from mercer.selection.judging import quietly

PARTS, PLACES = 6, 240  # that are drawn, and places of each curve
LETTERS = 70  # of a title


def parts_of(case, words):
    """[{words, name, x, mean, low, high, …}]: the posterior of each part that reads one column of numbers.

    Parameters
    ----------
    case : Case
    words : callable
        (case, kernel) ↦ the kernel in words.
    """
    kernels = additive_parts(case.kernel)
    exact = case.model.decomposes and not case.model.fit_report_.get("approximation")
    if len(kernels) < 2 or not exact or not case.vectors or case.pairwise:
        return []
    known = {factor.columns[0]: factor for factor in case.factors if factor.kind == NUMBER and len(factor.columns) == 1}
    found = []
    for number, kernel in enumerate(kernels):
        factor = known.get(_column(kernel, case.X.shape[1]))
        if factor is not None and len(found) < PARTS:
            found.append(_curve(case, number, factor, words(case, kernel)))
    return found


def _column(kernel, d):
    """The one column that a kernel reads; None where it reads several."""
    while isinstance(kernel, Scaled | Standardised):
        kernel = kernel.kernel
    read = np.atleast_1d(kernel.columns) if isinstance(kernel, Columns) else np.arange(d)
    return int(read[0]) if len(read) == 1 else None


def _curve(case, number, factor, said):
    """Mean and two deviations of one part; of a season the last values, whose waves would be lost among all."""
    values, season = np.unique(factor.values[np.isfinite(factor.values)]), "season" in said
    some = np.unique(np.linspace(0, len(values) - 1, min(len(values), PLACES)).round().astype(int))
    places = values[-PLACES:] if season else values[some]
    Z = put(case, case.take(np.zeros(len(places), dtype=int)), factor, places)
    part = quietly(case.model.decompose, Z)[number]
    mean, std = case.one(part.mean), case.one(part.std)
    return {
        "words": said,
        "name": factor.name,
        "dates": factor.dates,
        "last": len(places) if season and len(places) < len(values) else None,
        "x": factor.shown(places),
        "mean": mean,
        "low": mean - 2.0 * std,
        "high": mean + 2.0 * std,
    }


def part_charts(s):
    """A chart for each part."""
    out = []
    for j, one in enumerate(s["selection"].get("parts") or []):
        x, marks, _ = along(one, one["x"], one["mean"], "±2 posterior deviations", "part")
        title = one["words"][:1].upper() + one["words"][1:]
        title = title if len(title) <= LETTERS else f"{title[: LETTERS - 1]}…"
        out.append(chart(
            f"part-{j}", title, "What this part adds to the prediction; all parts and a constant sum to it.", x,
            axis("added", [one["low"], one["high"]]), marks,
            f"It adds from {show(min(one['mean']))} to {show(max(one['mean']))}.",
            f"The last {one['last']} values of {one['name']}." if one["last"] else None,
        ))  # fmt: skip
    return out
