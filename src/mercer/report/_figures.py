"""The charts of each section, made of the findings alone."""

import numpy as np

from mercer.report._html import last_doubling, percent, show
from mercer.report.charts import COLOURS, along, axis, band, bars, cells, chart, level_axis, line, points, rule

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


SURFACE = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # nats


def data_charts(s):
    """The distribution of the target."""
    target = s["data"]["target"]
    if "histogram" not in target:
        return []
    edges, counts = target["histogram"]["edges"], target["histogram"]["counts"]
    return [chart(
        "target", f"Distribution of {s['title']}", "Each bar counts the rows in a range of the target.",
        axis(s["title"], [edges], margin=0.01), axis("rows", [counts], include=(0.0,), margin=0.0),
        [bars(edges, counts)],
        f"{s['title']} goes from {show(target['low'])} to {show(target['high'])}; half of the rows lie between "
        f"{show(target['q1'])} and {show(target['q3'])}.",
    )]  # fmt: skip


def fit_charts(s):
    """Predicted against measured, residuals, and their distribution; or the ROC curve."""
    fit = s["fit"]
    if s["task"] == "classification":
        return _roc(s)
    measured, predicted = np.array(fit["measured"], dtype=float), np.array(fit["predicted"], dtype=float)
    r = measured - predicted
    note = None if fit["shown"] == fit["rows"] else f"{fit['shown']} of {fit['rows']} rows are drawn."
    z = fit["quantiles"]
    largest = float(np.nanmax(np.abs(np.array(z["residual"], dtype=float))))
    normal = axis("", [z["normal"], z["residual"]])
    return [
        predicted_chart("fit", "Predicted and measured", fit, note),
        chart("residuals", "Residuals", "A cloud without a shape around 0 is what a good model leaves over.",
              axis("predicted, row left out", [predicted]), axis("measured − predicted", [r]),
              [rule(y=0.0), points(predicted, r, "rows", text=fit["labels"])],
              f"Half of the residuals are within ±{show(float(np.median(np.abs(r))))} of 0.", note),
        chart("normal", "Are the residuals normal?", "On the line they are; a steep end says that there are outliers.",
              {**normal, "label": "normal distribution, deviations"}, {**normal, "label": "residual, deviations"},
              [rule(diagonal=True, name="normal"), points(z["normal"], z["residual"], "residuals", "orange")],
              f"The largest residual is {show(largest)} standard deviations."),
    ]  # fmt: skip


def predicted_chart(key, title, fit, note=None):
    """Measured against predicted."""
    both = axis("", [fit["measured"], fit["predicted"]])
    return chart(
        key, title, "On the line the prediction is right; above it, too small.",
        {**both, "label": "predicted, row left out"}, {**both, "label": "measured"},
        [rule(diagonal=True, name="prediction = measurement"),
         points(fit["predicted"], fit["measured"], "rows", text=fit["labels"])],
        f"The root mean square difference is {show(fit['rmse'])}.", note,
    )  # fmt: skip


def column_charts(s):
    """Quartiles of the residuals along each column."""
    out = []
    for j, one in enumerate(s["fit"].get("by_column") or []):
        places = list(range(len(one["levels"]))) if one.get("levels") else one["centre"]
        if len(places) < 3 and not one.get("levels"):
            continue
        read = "The line should stay near 0; where it leaves it, the model misses a shape."
        if one.get("levels"):
            read = "The dots should lie near 0; a category whose residuals all lie on one side is misjudged."
        x, marks, note = along(one, places, one["middle"], "middle half", "median")
        out.append(chart(
            f"along-{j}", f"Residuals along {one['name']}", read, x,
            axis("residual", [one["low"], one["high"]], include=(0.0,)), [rule(y=0.0), *marks],
            f"Medians of the residuals go from {show(min(one['middle']))} to {show(max(one['middle']))}.", note,
        ))  # fmt: skip
    return out


def _roc(s):
    """True against false positives."""
    roc = s["fit"]["roc"]
    if roc is None:
        return []
    return [chart(
        "roc", "ROC curve", "The further the curve is above the line, the better the two classes are told apart.",
        axis("false positives, share", [[0.0, 1.0]]), axis("true positives, share", [[0.0, 1.0]]),
        [rule(diagonal=True, name="chance"), line(roc["false"], roc["true"], "model, rows left out")],
        f"The area under the curve is {roc['area']:.3f}.",
    )]  # fmt: skip


def uncertainty_charts(s):
    """Coverage against what is stated, the histogram of Φ(z), stated deviation against error; or reliability."""
    u = s["uncertainty"]
    if "kind" not in u:
        return []
    if u["kind"] == "probabilities":
        stated, found, sd = (np.array(u[k], dtype=float) for k in ("stated", "found", "deviation"))
        return [_calibration(
            "reliability", "Do the probabilities come true?",
            "On the line they do; the band is what chance alone does.",
            (f"stated probability of {u['of']}", "how often it was so"), stated, found, sd, 0.0,
            f"Stated and found differ by {100 * u['error']:.1f} points on average.",
        )]  # fmt: skip
    level, found = np.array(u["levels"]), np.array(u["coverage"])
    quantiles = u["kind"] == "quantiles"
    low = 0.0 if quantiles else max(min(level.min(), found.min()) - 0.1, 0.0)
    words = ", ".join(f"{100 * b:.0f} % at {100 * a:.0f} %" for a, b in zip(level, found, strict=True))
    made = _calibration(
        "coverage", "Do the quantiles hold?" if quantiles else "Do the intervals hold what they state?",
        "On the line they do; below it they are too narrow. The band is what chance alone does.",
        ("level of the quantile" if quantiles else "stated coverage", "share of the rows"), level, found,
        np.sqrt(level * (1 - level) / max(u["rows"], 1)), low, f"Found: {words}.",
    )  # fmt: skip
    return [made, *(_gaussian_charts(s, u) if u["kind"] == "gaussian" else ())]


def _calibration(key, title, read, labels, stated, found, sd, low, alt):
    """What was found against what was stated, with what chance does."""
    share = axis("", [[low, 1.0]], margin=0.02)
    marks = [rule(diagonal=True, name="calibrated"),
             band(stated, stated - 2 * sd, stated + 2 * sd, "two deviations", "sky"), line(stated, found),
             points(stated, found, "rows left out", big=True)]  # fmt: skip
    return chart(key, title, read, *({**share, "label": label} for label in labels), marks, alt)


def _gaussian_charts(s, u):
    """What the stated deviations of a Gaussian process are worth."""
    counts = u["histogram"]
    edges = np.linspace(0.0, 1.0, len(counts) + 1)
    std, error = u["std"], u["error"]
    return [
        chart("pit", "Where in its prediction each row lies", "Flat is right; a hill: too wide; a valley: too narrow.",
              axis("Φ(z), place in the stated distribution", [edges], margin=0.01),
              axis("rows", [counts], include=(0.0,), margin=0.0),
              [bars(edges, counts, "rows left out", "sky"), rule(y=sum(counts) / len(counts), name="flat")],
              f"The mean square of the z-scores is {show(u['mean_square'])}; 1 is right."),
        chart("sharpness", "Stated deviation and error", "Errors should grow with what is stated.",
              axis("stated standard deviation", [std], "log"), axis("error of the row left out", [error], "log"),
              [rule(diagonal=True, name="error = deviation"), points(std, error, "rows")],
              f"Half of the intervals of 90 % are narrower than {show(u['width'])}."),
    ]  # fmt: skip


def selection_charts(s):
    """The L-curve, all criteria, the Picard plot and the surface."""
    sel = s["selection"]
    out = []
    path = sel["path"] or {}
    if "picks" in path:
        note = None if path["rows"] == path["of"] else f"Of {path['rows']} rows, drawn from {path['of']}."
        out += [_criteria(path, note), _lcurve(path, note), _picard(path, note)]
    surface = sel["surface"] or {}
    if "loss" in surface:
        out.append(_surface(surface))
    tried = sel.get("tried")
    if tried:
        out.append(chart(
            "tried", "What the search tried", "The lowest point was taken.", axis("λ", [tried["lam"]], "log"),
            axis("criterion", [tried["value"]]), [points(tried["lam"], tried["value"], "trials")],
            f"{len(tried['lam'])} values were tried.",
        ))  # fmt: skip
    return out


def _colour(k):
    return COLOURS[k % len(COLOURS)]


def _criteria(path, note):
    """Every criterion against λ, and in a row below the λ of each rule."""
    lam, values = path["curves"]["lam"], path["curves"]["values"]
    order = [one["rule"] for one in path["picks"]]
    marks = [line(lam, values[rule_], rule_, _colour(k), k % 5)
             for k, rule_ in enumerate(order) if rule_ in values]  # fmt: skip
    height = {rule_: -0.11 * (k + 1) for k, rule_ in enumerate(order)}
    low, high = lam[0], lam[-1]
    for k, one in enumerate(path["picks"]):
        if isinstance(one["lam"], float) and one["lam"] > 0:
            at = min(max(one["lam"], low), high)
            shape = "circle" if one["status"] == "ok" else "ring"
            name = None if one["rule"] in values else one["rule"]
            marks.append(points([at], [height[one["rule"]]], name, _colour(k), shape, [one["rule"]], True))
    if isinstance(path["lam"], float) and path["lam"] > 0:
        marks.insert(0, rule(x=path["lam"], name=f"this model, λ = {show(path['lam'])}", colour="ink", dash=2))
    bottom = -0.11 * (len(order) + 0.8)
    return chart(
        "criteria", "Which λ does each rule choose?",
        "Each curve is 0 at its best λ. Below, a dot for the choice of each rule (hollow: unsure); dots in one column "
        "agree, a wide valley says that λ hardly matters.",
        axis("λ, added to the diagonal of K", [lam], "log", margin=0.02),
        axis("criterion, scaled", [[bottom, 1.3]], margin=0.0, ticks=[[0.0, "best"], [0.5, "0.5"], [1.0, "1"]]), marks,
        _range(path["picks"]), note,
    )  # fmt: skip


def _range(picks):
    """Where the sure choices lie."""
    sure = [one["lam"] for one in picks if one["status"] == "ok" and isinstance(one["lam"], float)]
    if not sure:
        return "No rule is sure of its choice."
    return f"The sure choices lie between λ = {show(min(sure))} and {show(max(sure))}."


def _lcurve(path, note):
    """Norm against residual."""
    curve, at = path["lcurve"], path["at"]
    marks = [line(curve["residual"], curve["norm"], "all λ")]
    corner = next((one for one in path["picks"] if one["rule"] == "LCurve"), None)
    if corner and corner["residual"]:
        shape, name = "circle" if corner["status"] == "ok" else "ring", f"corner, λ = {show(corner['lam'])}"
        marks.append(points([corner["residual"]], [corner["norm"]], name, "orange", shape, big=True))
    if at[0]:
        name = f"this model, λ = {show(path['lam'])}"
        marks.append(points([at[0]], [at[1]], name, "green", "diamond", big=True))
    sure = "" if corner is None or corner["status"] == "ok" else f" ({corner['status'].replace('_', ' ')})"
    return chart(
        "lcurve", "L-curve: what the fit costs",
        "From right to left λ falls. On the flat part the fit improves for free, on the steep part the norm grows for "
        "nothing; the corner lies between.",
        axis("residual ‖y − f‖", [curve["residual"]], "log"), axis("norm ‖f‖", [curve["norm"]], "log"), marks,
        f"The corner is at λ = {show(corner['lam'])}{sure}." if corner else "There is no corner.", note,
    )  # fmt: skip


def _picard(path, note):
    """Eigenvalues, coefficients and their ratio."""
    p = path["picard"]
    i = list(range(1, len(p["eigenvalue"]) + 1))
    floor = 1e-17 * max([v for v in p["eigenvalue"] if v] or [1.0])
    e = [v if v and v > floor else None for v in p["eigenvalue"]]
    small = [v if v and v > floor else None for v in p["coefficient"]]
    ratio = [r if v else None for r, v in zip(p["ratio"], e, strict=True)]
    marks = [line(i, e, "eᵢ, eigenvalue of K", "ink"), points(i, small, "|uᵢᵀy|, share of y", "blue"),
             points(i, ratio, "|uᵢᵀy|/√eᵢ, its price in norm", "orange", "triangle")]  # fmt: skip
    if isinstance(path["lam"], float) and path["lam"] > 0:
        marks.append(rule(y=path["lam"], name="λ", colour="green", dash=2))
    return chart(
        "picard", "Picard plot: where signal ends",
        "While |uᵢᵀy| falls, directions hold signal; where it levels off only noise is left. λ should cut the "
        "eigenvalues there.",
        axis("i, smooth to rough", [i], include=(0.0,), margin=0.01), axis("size", [e, small, ratio], "log"), marks,
        f"{sum(1 for v in e if v and isinstance(path['lam'], float) and v > path['lam'])} of {p['of']} eigenvalues are "
        "larger than λ.", note,
    )  # fmt: skip


def _surface(surface):
    """Log evidence lost, over the length scales and λ."""
    x, y = surface["x"], surface["y"]
    note = None if surface["rows"] == surface["of"] else f"Of {surface['rows']} rows, drawn from {surface['of']}."
    return chart(
        "surface", "How sharply the evidence decides",
        "Stronger colour is likelier: shades end at a loss of log evidence of 0.5, 1, 2, 5, 10, 20 against the best "
        "point; 2 is little, 10 is a lot. A long ridge says that only a combination is known.",
        axis(x["label"], [x["values"]], "log"), axis(y["label"], [y["values"]], "log"),
        [cells(x["values"], y["values"], surface["loss"], SURFACE, "log evidence lost"),
         points([surface["chosen"][0]], [surface["chosen"][1]], "this model", "orange", "diamond", big=True)],
        f"The model is at {show(surface['chosen'][0])} ({x['label']}) and {show(surface['chosen'][1])} "
        f"({y['label'].split(',')[0]}).", note,
    )  # fmt: skip
