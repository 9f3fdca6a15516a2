"""A fit on landmarks: the error against their number, and the certificate, in place of what needs n × n."""

from mercer.report._html import el, show, table
from mercer.report._panels import figures, panels
from mercer.report.charts import axis, chart, line, points, rule

NUMBERS = {
    "distance": "distance from the exact fit, at most (rms over the rows)",
    "distance_relative": "the same beside the leave-one-out error",
    "trace_missing": "part of the trace of K that landmarks miss",
}


def landmarks_section(model):
    """{verdict, words, curve, …} of a fit on landmarks, or None."""
    report = model.fit_report_
    found = report.get("approximation")
    if not found or not found.get("loo"):
        return None
    curve = {int(m): float(error) for m, error, _ in found["loo"]}
    stages = [{"m": one["m"], "error": one["loo"], "seconds": one["seconds"]} for one in report.get("stages", ())]
    kept = {name: found[name] for name in ("m", "verdict", "words", *NUMBERS) if name in found}
    dimension = found.get("effective_dimension")
    return kept | {"curve": sorted(curve.items()), "stages": stages, "rows": found["loo_rows"], "dimension": dimension}


def landmarks(s):
    """The heading, words, curve and numbers of the page; nothing for an exact fit."""
    found = s.get("landmarks")
    if not found:
        return []
    rows = [[label, found[name]] for name, label in NUMBERS.items() if found.get(name) is not None]
    if found["dimension"]:
        rows.append(["effective dimension", " to ".join(show(value) for value in found["dimension"])])
    told = table("The certificate", ["what", "value"], rows)
    made = table("As landmarks doubled", ["landmarks", "leave-one-out error", "seconds"],
                 [[str(one["m"]), one["error"], one["seconds"]] for one in found["stages"]])  # fmt: skip
    made = made if len(found["stages"]) > 1 else None
    return [el("h3", "Landmarks"), el("p", found["words"]), panels(figures(_curve(found), "h4"), told, made)]


def _curve(found):
    """The leave-one-out error against the number of landmarks."""
    sizes, errors = (list(column) for column in zip(*found["curve"], strict=True))
    earlier = [one for one in found["stages"] if one["m"] not in sizes]
    marks = [line(sizes, errors), points(sizes, errors, "at the λ of the fit", big=True)]
    if earlier:
        xs, ys = [one["m"] for one in earlier], [one["error"] for one in earlier]
        marks.append(points(xs, ys, "earlier stages, each at its own λ", "orange", "diamond", big=True))
    marks.append(rule(x=found["m"], name=f"{found['m']} landmarks", colour="green", dash=2))
    every = [*errors, *(one["error"] for one in earlier)]
    alt = f"Leave-one-out error {show(errors[0])} at {sizes[0]} landmarks, {show(errors[-1])} at {sizes[-1]}."
    return [chart(
        "landmarks", "Would more landmarks help?",
        f"The error of rows left out, over {found['rows']} rows. A curve that still falls asks for more landmarks or "
        "more time.",
        axis("landmarks", [[*sizes, *(one["m"] for one in earlier)]], "log"), axis("leave-one-out error", [every]),
        marks, alt,
    )]  # fmt: skip
