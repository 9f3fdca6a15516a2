"""The charts of why this λ and this kernel: all rules on one axis, L-curve, Picard plot, evidence, landmarks."""

from mercer.report._html import el, show, table
from mercer.report._panels import figures, panels
from mercer.report.charts import COLOURS, Chart, axis, cells, line, points, rule

SURFACE = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)  # nats


def selection_charts(s):
    """All criteria, the L-curve, the surface of the evidence, and the Picard plot."""
    sel = s.selection
    out = []
    path = sel.path
    if path:
        note = None if path.rows == path.of else f"Of {path.rows} rows, drawn from {path.of}."
        out += [_criteria(path, note), _lcurve(path, note)]
    if sel.surface:
        out.append(_surface(sel.surface))
    if path:
        out.append(_picard(path, note))
    tried = sel.tried
    if tried:
        out.append(Chart(
            "tried", "What the search tried", "The lowest point was taken.", axis("λ", [tried.lam], "log"),
            axis("criterion", [tried.value]), [points(tried.lam, tried.value, "trials")],
            f"{len(tried.lam)} values were tried.",
        ))  # fmt: skip
    return out


def _colour(k):
    return COLOURS[k % len(COLOURS)]


def _criteria(path, note):
    """Every criterion against λ, and in a row below the λ of each rule."""
    lam, values = path.curves.lam, path.curves.values
    order = [one.rule for one in path.picks]
    marks = [line(lam, values[rule_], rule_, _colour(k), k % 5)
             for k, rule_ in enumerate(order) if rule_ in values]  # fmt: skip
    height = {rule_: -0.11 * (k + 1) for k, rule_ in enumerate(order)}
    low, high = lam[0], lam[-1]
    for k, one in enumerate(path.picks):
        if isinstance(one.lam, float) and one.lam > 0:
            at = min(max(one.lam, low), high)
            shape = "circle" if one.status == "ok" else "ring"
            name = None if one.rule in values else one.rule
            marks.append(points([at], [height[one.rule]], name, _colour(k), shape, [one.rule], True))
    if isinstance(path.lam, float) and path.lam > 0:
        marks.insert(0, rule(x=path.lam, name=f"this model, λ = {show(path.lam)}", colour="ink", dash=2))
    bottom = -0.11 * (len(order) + 0.8)
    return Chart(
        "criteria", "Which λ does each rule choose?",
        "Each curve is 0 at its best λ. Below, a dot for the choice of each rule (hollow: at an end); dots in "
        "one column agree, a wide valley says that λ hardly matters.",
        axis("λ, added to the diagonal of K", [lam], "log", margin=0.02),
        axis("criterion, scaled", [[bottom, 1.3]], margin=0.0, ticks=[[0.0, "best"], [0.5, "0.5"], [1.0, "1"]]), marks,
        _choices_in_words(path.picks), note,
    )  # fmt: skip


def _choices_in_words(picks):
    """Where the choices inside the range lie, and what the difference costs."""
    sure = [one for one in picks if one.status == "ok" and isinstance(one.lam, float)]
    if not sure:
        return "No rule ends inside the range of λ."
    low, high = (find(one.lam for one in sure) for find in (min, max))
    cost = max([one.loss for one in sure if one.loss], default=None)
    words = "" if cost is None else f"; the leave-one-out error there is at most {cost:.2f} times the least"
    return f"The choices lie between λ = {show(low)} and {show(high)}{words}."


def _lcurve(path, note):
    """Norm against residual."""
    curve, at = path.lcurve, path.at
    marks = [line(curve.residual, curve.norm, "all λ")]
    corner = next((one for one in path.picks if one.rule == "LCurve"), None)
    if corner and corner.residual:
        shape, name = "circle" if corner.status == "ok" else "ring", f"corner, λ = {show(corner.lam)}"
        marks.append(points([corner.residual], [corner.norm], name, "orange", shape, big=True))
    if at[0]:
        name = f"this model, λ = {show(path.lam)}"
        marks.append(points([at[0]], [at[1]], name, "green", "diamond", big=True))
    sure = "" if corner is None or corner.status == "ok" else f" ({corner.status.replace('_', ' ')})"
    return Chart(
        "lcurve", "L-curve: what the fit costs",
        "From right to left λ falls. On the flat part the fit improves for free, on the steep part the norm grows for "
        "nothing; the corner lies between.",
        axis("residual ‖y − f‖", [curve.residual], "log"), axis("norm ‖f‖", [curve.norm], "log"), marks,
        f"The corner is at λ = {show(corner.lam)}{sure}." if corner else "There is no corner.", note,
    )  # fmt: skip


def _picard(path, note):
    """Eigenvalues, coefficients and their ratio."""
    p = path.picard
    i = list(range(1, len(p.eigenvalue) + 1))
    floor = 1e-17 * max([v for v in p.eigenvalue if v] or [1.0])
    e = [v if v and v > floor else None for v in p.eigenvalue]
    small = [v if v and v > floor else None for v in p.coefficient]
    ratio = [r if v else None for r, v in zip(p.ratio, e, strict=True)]
    marks = [line(i, e, "eᵢ, eigenvalue of K", "ink"), points(i, small, "|uᵢᵀy|, share of y", "blue"),
             points(i, ratio, "|uᵢᵀy|/√eᵢ, its price in norm", "orange", "triangle")]  # fmt: skip
    if isinstance(path.lam, float) and path.lam > 0:
        marks.append(rule(y=path.lam, name="λ", colour="green", dash=2))
    return Chart(
        "picard", "Picard plot: where signal ends",
        "While |uᵢᵀy| falls, directions hold signal; where it levels off only noise is left. λ should cut the "
        "eigenvalues there.",
        axis("i, smooth to rough", [i], include=(0.0,), margin=0.01), axis("size", [e, small, ratio], "log"), marks,
        f"{sum(1 for v in e if v and isinstance(path.lam, float) and v > path.lam)} of {p.of} eigenvalues are "
        "larger than λ.", note,
    )  # fmt: skip


def _surface(surface):
    """Log evidence lost, over the length scales and λ."""
    x, y = surface.x, surface.y
    note = None if surface.rows == surface.of else f"Of {surface.rows} rows, drawn from {surface.of}."
    return Chart(
        "surface", "How sharply the evidence decides",
        "Stronger colour is likelier: shades end at a loss of log evidence of 0.5, 1, 2, 5, 10, 20 against the best "
        "point; 2 is little, 10 is a lot. A long ridge says that only a combination is known.",
        axis(x.label, [x.values], "log"), axis(y.label, [y.values], "log"),
        [cells(x.values, y.values, surface.loss, SURFACE, "log evidence lost"),
         points([surface.chosen[0]], [surface.chosen[1]], "this model", "orange", "diamond", big=True)],
        f"The model is at {show(surface.chosen[0])} ({x.label}) and {show(surface.chosen[1])} "
        f"({y.label.split(',')[0]}).", note,
    )  # fmt: skip


# -------------------------------------------------------------------------------------------- landmarks
def landmarks(s):
    """The heading, words, curve and numbers of the page; nothing for an exact fit."""
    found = s.landmarks
    if not found:
        return []
    rows = [["distance from the exact fit, at most (rms over the rows)", found.distance],
            ["the same beside the leave-one-out error", found.distance_relative],
            ["part of the trace of K that landmarks miss", found.trace_missing]]  # fmt: skip
    rows = [row for row in rows if row[1] is not None]
    if found.dimension:
        rows.append(["effective dimension", " to ".join(show(value) for value in found.dimension)])
    certificate = table("The certificate", ["what", "value"], rows)
    made = table("As landmarks doubled", ["landmarks", "leave-one-out error", "seconds"],
                 [[str(one.m), one.error, one.seconds] for one in found.stages])  # fmt: skip
    made = made if len(found.stages) > 1 else None
    curve = figures(_landmark_curve(found), "h4")
    return [el("h3", "Landmarks"), el("p", found.words), panels(curve, certificate, made)]


LOCAL_NUMBERS = {
    "k": "neighbours", "features": "features",
    "distance": "change of the mean from the grid before (rms)", "rows_left_out": "rows left out",
    "coverage": "of these within their 90 % intervals", "mean_square": "mean of their squared z-scores",
    "rmse": "their root mean square error", "log_density": "their mean log density",
}  # fmt: skip


def local(s):
    """The heading, words and numbers of a fit by neighbours or Fourier features; nothing for others."""
    found = s.local
    if not found:
        return []
    rows = [[LOCAL_NUMBERS[name], value] for name, value in found.numbers.items()]
    return [el("h3", found.kind), el("p", found.words), table("What is known of it", ["what", "value"], rows)]


def _landmark_curve(found):
    """The leave-one-out error against the number of landmarks."""
    sizes, errors = (list(column) for column in zip(*found.curve, strict=True))
    earlier = [one for one in found.stages if one.m not in sizes]
    marks = [line(sizes, errors), points(sizes, errors, "at the λ of the fit", big=True)]
    if earlier:
        xs, ys = [one.m for one in earlier], [one.error for one in earlier]
        marks.append(points(xs, ys, "earlier stages, each at its own λ", "orange", "diamond", big=True))
    marks.append(rule(x=found.m, name=f"{found.m} landmarks", colour="green", dash=2))
    every = [*errors, *(one.error for one in earlier)]
    alt = f"Leave-one-out error {show(errors[0])} at {sizes[0]} landmarks, {show(errors[-1])} at {sizes[-1]}."
    return [Chart(
        "landmarks", "Would more landmarks help?",
        f"The error of rows left out, over {found.rows} rows. A curve that still falls asks for more landmarks or "
        "more time.",
        axis("landmarks", [[*sizes, *(one.m for one in earlier)]], "log"), axis("leave-one-out error", [every]),
        marks, alt,
    )]  # fmt: skip
