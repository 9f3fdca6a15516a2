"""The first sections of the page: verdict, checks, data, fit and uncertainty."""

from mercer.report import _figures
from mercer.report._html import el, name, show, table
from mercer.report._panels import SIGNS, absent, bar, figures, panels, remark, section, span


def verdict(s):
    """The first thing on the page."""
    v = s["verdict"]
    numbers = [
        el("div", el("dt", label), el("dd", value, el("small", note) if note else None))
        for label, value, note in v["numbers"]
    ]
    return el(
        "section",
        el("h2", el("span", SIGNS[v["level"]], class_="sign", aria_hidden="true"), v["headline"], id="verdict"),
        el("p", " ".join(v["sentences"]), class_="lead"),
        el("dl", numbers, class_="numbers") if numbers else None,
        class_=f"verdict {v['level']}",
        aria_labelledby="verdict",
    )


def checks(s):
    """Everything that fired, worst first."""
    if not s["checks"]:
        return section("checks", "Checks", el("p", "All checks passed in silence."))
    return section("checks", "Checks", el("ul", [_check(one) for one in s["checks"]], class_="checks"))


def _check(one):
    """One check that fired."""
    head = el(
        "h3",
        el("span", SIGNS[one["severity"]], class_="sign", aria_hidden="true"),
        el("span", one["severity"], class_="severity"),
        " ",
        one["title"],
        " ",
        el("code", one["code"], class_="code"),
    )
    return el(
        "li",
        head,
        el("p", one["text"]),
        el("p", one["remedy"], class_="remedy"),
        el("p", f"More: {one['docs']}", class_="docs"),
        class_=f"check {one['severity']}",
        id=one["code"].lower(),
    )


# ------------------------------------------------------------------------------------------------- data
def data(s):
    """Rows, columns, notes, and the target."""
    d = s["data"]
    many = "" if d["columns"] == 1 else "s"
    size = f", {d['columns']} column{many} of numbers." if d["features"] else f" of objects ({d.get('objects')})."
    notes = el("ul", [el("li", note) for note in d["notes"]]) if d["notes"] else None
    columns = classes = more = None
    if d["features"]:
        keys = ("low", "q1", "middle", "q3", "high", "distinct")
        rows = [[name(one["name"]), *(one[key] for key in keys)] for one in d["features"]]
        head = ["column", "least", "quarter", "median", "three quarters", "most", "values"]
        columns = table("The columns", head, rows, classes="wide")
        more = remark(f"{d['more']} more columns are not listed.") if d["more"] else None
    if "classes" in d["target"]:
        rows = [[name(one["name"]), one["rows"], bar(one["rows"] / d["rows"])] for one in d["target"]["classes"]]
        classes = table(f"Classes of {s['title']}", ["class", "rows", "share"], rows)
    made = panels(columns, classes, figures(_figures.data_charts(s)))
    return section("data", "Data", el("p", f"{d['rows']} rows{size}"), notes, more, made)


# -------------------------------------------------------------------------------------------------- fit
def fit(s):
    """Scores beside the baselines, predictions, residuals; or the confusion of classes."""
    scores = s["scores"]
    words = [el("p", f"Judged by {scores['how']}.")]
    if not scores["nested"]:
        words.append(remark("The kernel and λ were chosen on all rows, so this score may be a little too good; nested "
                            "cross-validation, scores=nested_cv(...), leaves no such doubt."))  # fmt: skip
    if scores["optimism"]:
        value = show(scores["optimism"]["value"])
        words.append(el("p", f"Without the outer loop the score would be {value} better: that is the optimism."))
    tables = [_scores(scores, "wide" if scores["folds"] else "full")]
    if scores["folds"]:
        rows = [[k + 1, value] for k, value in enumerate(scores["folds"])]
        tables.append(table("Score of each fold", ["fold", scores["metric"]], rows))
    if s["task"] == "classification":
        if s["fit"]["roc"] is None:
            words.append(absent("A ROC curve needs two classes with probabilities or decision values."))
        made = panels(tables, _confusion(s["fit"]), figures(_figures.fit_charts(s)))
        return section("fit", "How well it classifies", *words, made)
    along = _figures.column_charts(s)
    more = [el("h3", "Residuals along the columns"), panels(figures(along, "h4"))] if along else []
    return section("fit", "How well it fits", *words, panels(tables, figures(_figures.fit_charts(s))), *more)


def _scores(scores, width):
    """The model beside simple ones."""
    known = [one["score"] for one in scores["models"] if isinstance(one["score"], float)]
    top = max([*known, 1e-9])
    rows = []
    for k, one in enumerate(scores["models"]):
        label = el("strong", name(one["name"])) if k == 0 else name(one["name"])
        share = bar(max(one["score"] or 0.0, 0.0) / top)
        rows.append([label, one["score"], one.get("error"), one.get("rmse"), one.get("mae"), share])
    head = ["model", scores["metric"], "±", "RMSE", "mean |error|", "beside the best"]
    if all(row[3] is None for row in rows):
        head, rows = [*head[:3], head[5]], [[*row[:3], row[5]] for row in rows]
    return table("How good, beside simple models", head, rows, classes=width)


def _confusion(fit_):
    """True classes down, predicted classes across; shades are shares of a row."""
    classes = fit_["classes"]
    head = [el("th", "true class", scope="col"), *[el("th", name(c), scope="col", class_="num") for c in classes]]
    rows = []
    for label, counts in zip(classes, fit_["confusion"], strict=True):
        total = max(sum(counts), 1)
        cells = [el("td", value, class_=f"num shade{round(5 * value / total)}") for value in counts]
        rows.append(el("tr", el("th", name(label), scope="row"), cells))
    caption = "Confusion of the rows left out: true class down, predicted class across"
    if fit_["more_classes"]:
        caption += f"; {fit_['more_classes']} more classes are not listed"
    made = el("table", el("caption", caption), el("thead", el("tr", head)), el("tbody", rows), class_="confusion")
    return el("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


# ------------------------------------------------------------------------------------------ uncertainty
def uncertainty(s):
    """Whether the model knows its own errors."""
    u, title = s["uncertainty"], "Does it know its own errors?"
    if "missing" in u:
        return section("uncertainty", title, absent(u["missing"]))
    rows = [[label, u[key]] for key, label in UNCERTAIN[u["kind"]].items()]
    words = [el("p", f"From {u['how']}; {u['rows']} rows.")]
    if len(rows) == 1:
        words.append(el("p", f"The {rows[0][0]} is {show(rows[0][1])}."))
    charts = _figures.uncertainty_charts(s)
    told = table("In numbers", ["what", "value"], rows, classes=span(charts)) if len(rows) > 1 else None
    return section("uncertainty", title, *words, panels(told, figures(charts)))


UNCERTAIN = {
    "gaussian": {
        "mean_square": "mean square of the z-scores; 1 is right",
        "log_density": "mean log density",
        "crps": "CRPS, in units of the target",
        "width": "median width of 90 % intervals",
    },
    "intervals": {"width": "median width of 90 % intervals"},
    "quantiles": {"crossing": "share of the rows in which quantiles cross"},
    "probabilities": {
        "error": "mean difference of stated and found",
        "by_chance": "of that by chance",
        "log_loss": "log loss",
        "brier": "Brier score",
    },
}
