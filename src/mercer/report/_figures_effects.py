"""The charts of the effects, of the learning curve, and of several targets."""

import numpy as np

from mercer.report._figures import predicted_chart
from mercer.report._words import last_doubling, percent, show
from mercer.report.charts import along, axis, band, cells, chart, level_axis, line, points, rule

BANDS = 6


def effect_charts(s):
    """Partial dependence of each of the strongest columns, all on one scale."""
    e = s["effects"]
    if "curves" not in e:
        return []
    scale = axis(e["what"], [values for one in e["curves"] for values in (one["low"], one["high"])])
    return [_effect(j, one, e, scale) for j, one in enumerate(e["curves"])]


def _effect(j, one, e, scale):
    """A curve with its band; of a category a mark for each level."""
    shade = "±2 posterior deviations" if e["band"] == "posterior" else "middle 80 % of the rows"
    x, marks, note = along(one, one["x"], one["mean"], shade, "average")
    low, high = min(one["mean"]), max(one["mean"])
    if one.get("levels"):
        least, most = (one["levels"][one["mean"].index(value)] for value in (low, high))
        read = "The prediction, averaged over rows, if all had this category."
        said = f"From {show(low)} for {least} to {show(high)} for {most}."
    else:
        read = "The prediction, averaged over rows, as only this column changes."
        said = f"The average goes from {show(low)} to {show(high)}."
        widest = max(b - a for a, b in zip(one["low"], one["high"], strict=True))
        if widest <= 1e-9 * (scale["domain"][1] - scale["domain"][0]):
            marks = [line(one["x"], one["mean"])]
    return chart(f"effect-{j}", f"Effect of {one['name']}", read, x, scale, marks, said, note)


def pair_charts(s):
    """The average prediction over the two columns that interact most."""
    pairs = s["effects"].get("pairs") or {}
    if "surface" not in pairs:
        return []
    z, best = pairs["surface"], pairs["listed"][0]
    x, y = _side(z["x"]), _side(z["y"])
    limits = np.linspace(z["low"], z["high"], BANDS + 1)[1:-1].tolist() if z["high"] > z["low"] else [z["low"]]
    note = "Where the field is empty there are no rows." if z["hidden"] > 0 else None
    return [chart(
        "pair", f"{z['x']['name']} and {z['y']['name']} together",
        f"The prediction ({s['effects']['what']}), averaged over rows, while these two change; the stronger the "
        "colour, the higher. Without interaction every row of cells has the same shape.",
        x, y, [cells(z["x"]["values"], z["y"]["values"], z["z"], limits, s["effects"]["what"], "high")],
        f"Between {show(z['low'])} and {show(z['high'])}. {_strength(best)}", note,
    )]  # fmt: skip


def _strength(best):
    """How much of a pair is more than its sum, in words."""
    h = "not known" if best["H"] is None else f"{best['H']:.2f}"
    return f"Interaction H = {h}: 0 is a plain sum of two effects, 1 nothing but interaction."


def _side(side):
    """One axis of the field."""
    if side["levels"]:
        return level_axis(side["name"], side["levels"])
    half = (side["values"][1] - side["values"][0]) / 2
    return axis(side["name"], [[side["values"][0] - half, side["values"][-1] + half]], margin=0.0)


# ------------------------------------------------------------------------------------------ learning curve
def learning_charts(s):
    """The error against the number of rows."""
    found = s.get("learning") or {}
    if "error" not in found:
        return []
    sizes, error, spread = (np.array(found[key], dtype=float) for key in ("sizes", "error", "spread"))
    floor, one = found["floor"], found["all_but_one"]
    marks = [band(sizes, error - 2 * spread, error + 2 * spread, "±2 standard errors", "sky"), line(sizes, error),
             points(sizes, error, f"{found['metric']}, five folds", big=True)]  # fmt: skip
    if one is not None:
        marks.append(points([found["of"] - 1], [one], "leave-one-out, all rows", "orange", "diamond", big=True))
    if floor:
        word = "noise floor" if floor["exact"] else "noise floor, at most"
        marks.append(rule(y=floor["value"], name=f"{word} {show(floor['value'])}", colour="green", dash=2))
    near = [floor["value"]] if floor and floor["value"] < 2 * error.max() else []
    note = None if found["rows"] == found["of"] else f"Of {found['rows']} rows, drawn from {found['of']}."
    ends = [*sizes, *([found["of"]] if one is not None else [])]
    return [chart(
        "learning", "Would more rows help?",
        "A curve that still falls says yes; one that has levelled off says that more rows bring little. Kernel and λ "
        "are held.",
        axis("rows learnt from", [ends], "log"), axis(found["metric"], [error - spread, error + spread, near]), marks,
        learning_words(found), note,
    )]  # fmt: skip


def learning_words(found):
    """What the curve says."""
    gain, sure = last_doubling(found)
    if not sure or gain < 0.01:
        said = "The last doubling of the rows brought no gain beyond chance."
    else:
        said = f"The last doubling of the rows lowered the {found['metric']} by {percent(gain)}."
    floor = found["floor"]
    if floor and floor["value"] > 0:
        times = found["error"][-1] / floor["value"]
        where = f"{times:.2f} times the noise floor" if times >= 1 else "at the noise floor"
        said += f" It ends {where} (from {floor['how']})."
    return said


# ------------------------------------------------------------------------------------------ several targets
def target_charts(s):
    """Predicted and measured of a few other targets."""
    found = (s.get("targets") or {}).get("pictures", ())
    return [predicted_chart(f"target-{j}", f"Predicted and measured: {one['name']}", one)
            for j, one in enumerate(found)]  # fmt: skip
