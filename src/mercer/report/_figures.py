"""The charts of each section, made of the findings alone."""

from dataclasses import replace

import numpy as np

from mercer.report._html import day, last_doubling, number, percent, show
from mercer.report.charts import (
    BROAD,
    COLOURS,
    SIZE,
    SMALL,
    Chart,
    along,
    axis,
    band,
    bars,
    cells,
    level_axis,
    line,
    points,
    rule,
)

BANDS, FIRST = 6, 3  # shades of a field, and effects on the first screen


def effect_charts(s, first):
    """Partial dependence of the three strongest columns, or of the others, all on one scale."""
    e = s.effects
    if not e or e.one_input:
        return []
    scale = axis(e.what, [values for one in e.curves for values in (one.low, one.high)])
    if e.classes:
        scale = axis("probability", [[0.0, 1.0]], margin=0.02)
    few = FIRST - bool(e.classes)  # a table of classes is as wide as two
    chosen = range(few) if first else range(few, len(e.curves))
    return [_effect(j, e.curves[j], e, scale, SMALL if first else SIZE) for j in chosen if j < len(e.curves)]


def one_input_charts(s):
    """The rows of a single input, the fitted curve and its interval."""
    one = s.effects.one_input if s.effects else None
    if not one:
        return []
    x, y = one.x, axis(s.title, [one.measured, one.mean, one.low or [], one.high or []])
    marks = [line(x, one.mean, "model", "orange")]
    last = day(max(one.at)) if one.dates else number(max(one.at), 6)
    ahead = f"; beyond {last} it is a forecast" if max(x) > max(one.at) else ""
    marks = [points(one.at, one.measured, "rows", text=one.labels), *marks]
    if one.low:
        marks.insert(0, band(x, one.low, one.high, f"{percent(one.coverage)} interval of a new row", "sky"))
    return [Chart(
        "curve", f"{s.title} against {one.name}", "Dots are the rows, the line is what the model predicts, the "
        "band is where a new row is expected.",
        axis(one.name, [x, one.at], margin=0.02, dates=bool(one.dates)), y, marks,
        f"The curve goes from {show(min(one.mean))} to {show(max(one.mean))}{ahead}.", size=BROAD,
    )]  # fmt: skip


def _rows_in_words(taken, of):
    """The rows that an average goes over, in words."""
    return "all rows" if taken >= of else f"a sample of {taken} of the {of:,} rows"


def _each_class(j, one, e, scale, size):
    """The probabilities of several classes along a column."""
    classes = e.classes
    if one.levels:
        x, kind = level_axis(one.name, one.levels), {"big": True}
        marks = [points(one.x, p, name, colour, **kind) for p, name, colour in _with_colours(one.each, classes)]
    else:
        x = axis(one.name, [one.x], margin=0.01, dates=bool(one.dates))
        marks = [line(one.x, p, name, colour) for p, name, colour in _with_colours(one.each, classes)]
    best = [classes[k] for k in np.argmax(one.each, axis=0)]
    order = [best[0], *(b for a, b in zip(best[:-1], best[1:], strict=True) if a != b)]
    words = f"The likeliest: {', then '.join(order)}."
    if len(order) == 1:
        words = f"The likeliest is {order[0]} throughout."
    if one.levels:
        words = "The likeliest: " + ", ".join(f"{b} for {a}" for a, b in zip(one.levels, best, strict=True)) + "."
    rows = _rows_in_words(e.averaged, e.of)
    read = f"The probability of each class, averaged over {rows}, as only this column changes."
    return Chart(f"effect-{j}", f"Effect of {one.name}", read, x, scale, marks, words, None, size)


def _with_colours(each, classes):
    """(probabilities, class, colour) of each class."""
    return zip(each, classes, COLOURS, strict=False)


def _effect(j, one, e, scale, size):
    """A curve with its band; of a category a mark for each level."""
    if e.classes:
        return _each_class(j, one, e, scale, size)
    shade = "±2 posterior deviations" if e.band == "posterior" else "middle 80 % of the rows"
    x, marks, note = along(one, one.x, one.mean, shade, "average")
    low, high = min(one.mean), max(one.mean)
    if one.levels:
        least, most = (one.levels[one.mean.index(value)] for value in (low, high))
        read = f"The prediction, averaged over {_rows_in_words(e.averaged, e.of)}, if all had this category."
        words = f"From {show(low)} for {least} to {show(high)} for {most}."
    else:
        read = f"The prediction, averaged over {_rows_in_words(e.averaged, e.of)}, as only this column changes."
        words = f"The average goes from {show(low)} to {show(high)}."
        widest = max(b - a for a, b in zip(one.low, one.high, strict=True))
        if widest <= 1e-9 * (scale.domain[1] - scale.domain[0]):
            marks = [line(one.x, one.mean)]
    return Chart(f"effect-{j}", f"Effect of {one.name}", read, x, scale, marks, words, note, size)


def pair_charts(s):
    """The average prediction over the two columns that interact most."""
    pairs = s.effects.pairs if s.effects else None
    if not pairs:
        return []
    z, best = pairs.surface, pairs.listed[0]
    x, y = _side(z.x), _side(z.y)
    limits = np.linspace(z.low, z.high, BANDS + 1)[1:-1].tolist() if z.high > z.low else [z.low]
    note = "Where the field is empty there are no rows." if z.hidden > 0 else None
    return [Chart(
        "pair", f"{z.x.name} and {z.y.name} together",
        f"The prediction ({s.effects.what}), averaged over {_rows_in_words(pairs.rows, s.effects.of)}, while these two "
        "change; the stronger the colour, the higher. Without interaction every row of cells has the same shape.",
        x, y, [cells(z.x.values, z.y.values, z.z, limits, s.effects.what, "high")],
        f"Between {show(z.low)} and {show(z.high)}. {_strength(best)}", note,
    )]  # fmt: skip


def _strength(best):
    """How much of a pair is more than its sum, in words."""
    h = "not known" if best.H is None else f"{best.H:.2f}"
    return f"Interaction H = {h}: 0 is a plain sum of two effects, 1 nothing but interaction."


def _side(side):
    """One axis of the field."""
    if side.levels:
        return level_axis(side.name, side.levels)
    half = (side.values[1] - side.values[0]) / 2
    ends = [side.values[0] - half, side.values[-1] + half]
    return axis(side.name, [ends], margin=0.0, dates=bool(side.dates))


# ------------------------------------------------------------------------------------------ learning curve
def learning_charts(s):
    """The error against the number of rows."""
    found = s.learning
    if not found:
        return []
    sizes, error, spread = (np.array(part, dtype=float) for part in (found.sizes, found.error, found.spread))
    floor, one = found.floor, found.all_but_one
    marks = [band(sizes, error - 2 * spread, error + 2 * spread, "±2 standard errors", "sky"), line(sizes, error),
             points(sizes, error, f"{found.metric}, five folds", big=True)]  # fmt: skip
    if one is not None:
        marks.append(points([found.of - 1], [one], "leave-one-out, all rows", "orange", "diamond", big=True))
    if floor:
        word = "noise floor" if floor.exact else "noise floor, at most"
        marks.append(rule(y=floor.value, name=f"{word} {show(floor.value)}", colour="green", dash=2))
    near = [floor.value] if floor and floor.value < 2 * error.max() else []
    note = None if found.rows == found.of else f"Of {found.rows} rows, drawn from {found.of}."
    ends = [*sizes, *([found.of] if one is not None else [])]
    return [Chart(
        "learning", "Would more rows help?",
        "A curve that still falls says yes; one that has levelled off says that more rows bring little. Kernel and λ "
        "are held.",
        axis("rows learnt from", [ends], "log"), axis(found.metric, [error - spread, error + spread, near]), marks,
        learning_words(found), note,
    )]  # fmt: skip


def learning_words(found):
    """What the curve says."""
    gain, sure = last_doubling(found)
    if not sure or gain < 0.01:
        words = "The last doubling of the rows brought no gain beyond chance."
    else:
        words = f"The last doubling of the rows lowered the {found.metric} by {percent(gain)}."
    floor = found.floor
    if floor and floor.value > 0:
        times = found.error[-1] / floor.value
        where = f"{times:.2f} times the noise floor" if times >= 1 else "at the noise floor"
        words += f" It ends {where} (from {floor.how})."
    return words


def first_charts(s):
    """The charts of the first screen: how good, what matters most; of objects, whether it is sure and would gain."""
    made = [*first_chart(s), *one_input_charts(s), *effect_charts(s, True)]
    spare = [*uncertainty_charts(s)[:1], *learning_charts(s)] if len(made) < 2 else []
    return [*made, *(replace(one, size=SMALL) for one in spare)]


def data_charts(s):
    """The distribution of the target."""
    target = s.data.target
    if not target.histogram:
        return []
    edges, counts = target.histogram.edges, target.histogram.counts
    return [Chart(
        "target", f"Distribution of {s.title}", "Each bar counts the rows in a range of the target.",
        axis(s.title, [edges], margin=0.01), axis("rows", [counts], include=(0.0,), margin=0.0),
        [bars(edges, counts)],
        f"{s.title} goes from {show(target.low)} to {show(target.high)}; half of the rows lie between "
        f"{show(target.q1)} and {show(target.q3)}.",
    )]  # fmt: skip


def fit_charts(s):
    """Predicted against measured, residuals, and their distribution; or the ROC curve."""
    fit = s.fit
    if not s.regression:
        return []
    measured, predicted = np.array(fit.measured, dtype=float), np.array(fit.predicted, dtype=float)
    r = measured - predicted
    z = fit.quantiles
    largest = float(np.nanmax(np.abs(np.array(z.residual, dtype=float))))
    normal = axis("", [z.normal, z.residual])
    return [
        Chart("residuals", "Residuals", "A cloud without a shape around 0 is what a good model leaves over.",
              axis("predicted, row left out", [predicted]), axis("measured − predicted", [r]),
              [rule(y=0.0), points(predicted, r, "rows", text=fit.labels)],
              f"Half of the residuals are within ±{show(float(np.median(np.abs(r))))} of 0.", _note_on_sample(fit)),
        Chart("normal", "Are the residuals normal?", "On the line they are; a steep end says that there are outliers.",
              replace(normal, label="normal distribution, deviations"), replace(normal, label="residual, deviations"),
              [rule(diagonal=True, name="normal"), points(z.normal, z.residual, "residuals", "orange")],
              f"The largest residual is {show(largest)} standard deviations."),
    ]  # fmt: skip


def first_chart(s):
    """Predicted against measured, or the ROC curve: the picture of how good the model is."""
    fit = s.fit
    if not s.regression:
        return _roc(s)
    both = axis("", [fit.measured, fit.predicted])
    return [Chart(
        "fit", "Predicted and measured", "On the line the prediction is right; above it, too small.",
        replace(both, label="predicted, row left out"), replace(both, label="measured"),
        [rule(diagonal=True, name="prediction = measurement"),
         points(fit.predicted, fit.measured, "rows", text=fit.labels)],
        f"The root mean square difference is {show(fit.rmse)}.", _note_on_sample(fit), SMALL,
    )]  # fmt: skip


def _note_on_sample(fit):
    """How many rows are drawn, where these are not all."""
    return None if fit.shown == fit.rows else f"{fit.shown} of {fit.rows} rows are drawn."


def column_charts(s):
    """Quartiles of the residuals along each column."""
    out = []
    for j, one in enumerate(s.fit.by_column):
        places = list(range(len(one.levels))) if one.levels else one.centre
        if len(places) < 3 and not one.levels:
            continue
        read = "The line should stay near 0; where it leaves it, the model misses a shape."
        if one.levels:
            read = "The dots should lie near 0; a category whose residuals all lie on one side is misjudged."
        x, marks, note = along(one, places, one.middle, "middle half", "median")
        out.append(Chart(
            f"along-{j}", f"Residuals along {one.name}", read, x,
            axis("residual", [one.low, one.high], include=(0.0,)), [rule(y=0.0), *marks],
            f"Medians of the residuals go from {show(min(one.middle))} to {show(max(one.middle))}.", note,
        ))  # fmt: skip
    return out


def _roc(s):
    """True against false positives."""
    roc = s.fit.roc
    if roc is None:
        return []
    return [Chart(
        "roc", "ROC curve", "The further the curve is above the line, the better the two classes are told apart.",
        axis("false positives, share", [[0.0, 1.0]]), axis("true positives, share", [[0.0, 1.0]]),
        [rule(diagonal=True, name="chance"), line(roc.false, roc.true, "model, rows left out")],
        f"The area under the curve is {roc.area:.3f}.", size=SMALL,
    )]  # fmt: skip


def uncertainty_charts(s):
    """Coverage against what is stated, the histogram of Φ(z), stated deviation against error; or reliability."""
    u = s.uncertainty
    if not u:
        return []
    if u.kind == "probabilities":
        stated, found, sd = (np.array(part, dtype=float) for part in (u.stated, u.found, u.deviation))
        drawn = _calibration((f"stated probability of {u.of}", "how often it was so"), stated, found, sd)
        return [Chart("reliability", "Do the probabilities come true?",
                      "On the line they do; the band is what chance alone does.", *drawn,
                      f"Stated and found differ by {100 * u.error:.1f} points on average.")]  # fmt: skip
    level, found = np.array(u.levels), np.array(u.coverage)
    quantiles = u.kind == "quantiles"
    low = 0.0 if quantiles else max(min(level.min(), found.min()) - 0.1, 0.0)
    words = ", ".join(f"{100 * b:.0f} % at {100 * a:.0f} %" for a, b in zip(level, found, strict=True))
    labels = ("level of the quantile" if quantiles else "stated coverage", "share of the rows")
    drawn = _calibration(labels, level, found, np.sqrt(level * (1 - level) / max(u.rows, 1)), low)
    made = Chart(
        "coverage", "Do the quantiles hold?" if quantiles else "Do the intervals hold what they state?",
        "On the line they do; below it they are too narrow. The band is what chance alone does.", *drawn,
        f"Found: {words}. From {u.how}.",
    )  # fmt: skip
    return [made, *(_gaussian_charts(u) if u.histogram else ())]


def _calibration(labels, stated, found, sd, low=0.0):
    """(axes, marks) of what was found against what was stated, with what chance does."""
    share = axis("", [[low, 1.0]], margin=0.02)
    marks = [rule(diagonal=True, name="calibrated"),
             band(stated, stated - 2 * sd, stated + 2 * sd, "two deviations", "sky"), line(stated, found),
             points(stated, found, "rows left out", big=True)]  # fmt: skip
    return *(replace(share, label=label) for label in labels), marks


def _gaussian_charts(u):
    """What the stated deviations of a Gaussian process are worth."""
    counts = u.histogram
    edges = np.linspace(0.0, 1.0, len(counts) + 1)
    std, error = u.std, u.error
    return [
        Chart("pit", "Where in its prediction each row lies", "Flat is right; a hill: too wide; a valley: too narrow.",
              axis("Φ(z), place in the stated distribution", [edges], margin=0.01),
              axis("rows", [counts], include=(0.0,), margin=0.0),
              [bars(edges, counts, "rows left out", "sky"), rule(y=sum(counts) / len(counts), name="flat")],
              f"The mean square of the z-scores is {show(u.mean_square)}; 1 is right."),
        Chart("sharpness", "Stated deviation and error", "Errors should grow with what is stated.",
              axis("stated standard deviation", [std], "log"), axis("error of the row left out", [error], "log"),
              [rule(diagonal=True, name="error = deviation"), points(std, error, "rows")],
              f"Half of the intervals of 90 % are narrower than {show(u.own_width or u.width)}."),
    ]  # fmt: skip
