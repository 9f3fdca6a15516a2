"""The later sections of the page: what if, the choice of λ and kernel, effects, rows, and how to do it again."""

from mercer.report import _choices, _figures
from mercer.report._additive import part_charts
from mercer.report._html import el, filled, fitted_rows, listed, name, percent, rounded, show, size_text, table
from mercer.report._panels import absent, bar, code, figures, folded, panels, remark, section

LISTED = 8  # columns of the table of importance, before the rest is folded away


def selection(s):
    """Why this λ and this kernel."""
    sel = s["selection"]
    chosen, path, surface = sel["chosen"], sel["path"] or {}, sel["surface"] or {}
    title = "Why this kernel" if chosen["lam"] is None else "Why this λ and kernel"
    by = f"chosen by {chosen['criterion']}" if chosen["criterion"] else "given, not chosen"
    if chosen.get("noise") is not None and not chosen["criterion"]:
        by = f"the loss and its weight are set for the noise that was found, σ = {show(chosen['noise'])}"
    lam = None if chosen["lam"] is None else f", λ = {show(chosen['lam'])}"
    if chosen.get("for_each_row"):
        lam += ", the geometric mean, since each row has its own"
    words = [el("p", "The kernel is ", el("span", chosen.get("words") or rounded(chosen["kernel"])), lam, f"; {by}.")]
    why = [one["missing"] for one in (path, surface if surface != path else {}) if "missing" in one]
    charts = figures(_choices.selection_charts(s))
    shown, more = charts[:3], charts[3:]
    mixed = [one for one in sel["candidates"] if one.get("weight")]
    if mixed:
        shown, more = [], charts  # what the search tried is for those who ask
        rows = [[el("span", one["words"]), one["lam"], percent(one["weight"]), bar(one["weight"])]
                for one in sorted(mixed, key=lambda one: -one["weight"])]  # fmt: skip
        head = ["kernel", "λ", "weight", ""]
        shown.append(table("Kernels that are mixed, by how well they foresee rows they have not seen", head, rows,
                           classes="wide"))  # fmt: skip
    hyper = [absent(one) for one in why]
    hyper += [remark(f"{chosen['more']} more hyper-parameters are not listed.")] if chosen["more"] else []
    inside = panels(more, _picks(path), _hyper(chosen), _candidates(sel["candidates"]))
    return section(
        "selection", title, *words, panels(_moves(sel), figures(part_charts(s))), panels(shown),
        folded("The rules, the hyper-parameters and the kernels that were compared", *hyper, inside),
        *_choices.landmarks(s),
        *_choices.local(s),
    )  # fmt: skip


def _moves(sel):
    """How far each part of the kernel moves the prediction."""
    sizes = sel.get("moves") or []
    top = max([one["size"] for one in sizes] + [1e-300])
    rows = [[el("span", one["words"]), one["size"], bar(one["size"] / top)] for one in sizes]
    head = ["part", "standard deviation over the rows", ""]
    return table("How far each part moves the prediction", head, rows, classes="wide") if rows else None


def _hyper(chosen):
    """The hyper-parameters, their bounds, and their errors where they are known."""
    rows = [[name(one["name"]), one["value"], el("span", f"{show(one['low'])} to {show(one['high'])}", class_="keep"),
             one["error"]] for one in chosen["parameters"]]  # fmt: skip
    head = ["hyper-parameter", "value", "bounds", "error of its log"]
    return table("Hyper-parameters of the kernel", *filled(head, rows)) if rows else None


def _picks(path):
    """What each rule chooses, and what the model without a row would lose by it."""
    if "picks" not in path:
        return None
    rows = []
    for one in path["picks"]:
        end = "" if one["status"] == "ok" else one["status"].replace("_", " ")
        rows.append([one["rule"], one["lam"], one["dof"], one.get("loss"), end])
    head = ["rule", "λ", "degrees of freedom", "leave-one-out error, times the least", "where it ended"]
    return table("The λ that each rule chooses", *filled(head, rows))


def _candidates(listed):
    """Kernels that were compared, in words."""
    rows = [
        [el("span", one.get("words") or rounded(one["kernel"])), one["value"] - listed[0]["value"]] for one in listed
    ]
    head = ["kernel", "criterion, behind the first"]
    return table("Kernels that were compared, best first", head, rows, classes="wide") if rows else None


# ---------------------------------------------------------------------------------------------- effects
def effects(s):
    """What each column does."""
    e, title = s["effects"], "What each column does"
    sliders = s.get("whatif") or {}
    if "missing" in e:
        return section("effects", title, absent(e["missing"]))
    words = [el("p", "Importance is the ", e["measure"], ".")]
    top = max([one["rise"] for one in e["columns"]] + [1e-12])
    rows = [[name(one["name"]), one["rise"], bar(one["rise"] / top)] for one in e["columns"]]
    if e["more"]:
        words.append(remark(f"{e['more']} weaker columns are not listed."))
    if e.get("texts"):
        words.append(absent(f"Texts have importance, but neither curve nor slider: {listed(e['texts'], 5)}."))
    elif "missing" in sliders:
        words.append(absent(sliders["missing"]))
    pairs = e.get("pairs") or {}
    if "missing" in pairs and e["curves"]:
        words.append(absent(pairs["missing"]))
    told = table("Columns, the strongest first", ["column", "importance", ""], rows[:LISTED])
    rest = [folded("All columns by importance", table("Weaker columns", ["column", "importance", ""], rows[LISTED:]))]
    curves = figures([*_figures.effect_charts(s, False), *_figures.pair_charts(s)])
    made = panels(told, curves)
    return section("effects", title, *words, made, *(rest if len(rows) > LISTED else ()), _pairs(pairs))


def _pairs(pairs):
    """How strongly columns interact, folded away."""
    if "listed" not in pairs:
        return None
    rows = [[name(" and ".join(one["names"])), one["H"], one["strength"]] for one in pairs["listed"]]
    head = ["pair", "H", "size, in sd of the prediction"]
    return folded("Interactions of the strongest columns", table("Interactions", head, rows))


# ------------------------------------------------------------------------------------------------- rows
def rows(s):
    """Rows that deserve a look, with their inputs; a value that is far from most is marked."""
    r, regression = s["rows"], s["task"] == "regression"
    words = []
    if regression and not r["influence"]:
        words.append(absent("Influence is known for ridge models and Gaussian processes with a constant trend, up to "
                            "3000 rows."))  # fmt: skip
    if not r["duplicates"]["listed"]:
        equal = "There are no equal inputs with different targets."
        compared = r["duplicates"].get("compared", s["data"]["vectors"])
        words.append(absent(equal if compared else "Objects of this kind are not compared for equality."))
    spread = "spread of the target" if regression else "classes beyond one"
    inputs = r.get("inputs") or []
    first = [
        _listed("Rows whose class surprises the model most", r.get("surprising"),
                {"row": "row", "class": "class", "predicted": "predicted", "probability": "probability of its class"},
                inputs),
        _listed("Largest residuals of rows left out", (r["residuals"] or {}).get("rows"),
                {"row": "row", "measured": f"{s['title']}, measured", "predicted": "predicted", "residual": "residual",
                 "z": "in sd"}, inputs),
    ]  # fmt: skip
    tables = [
        _listed("Rows that move the fit most", (r["influence"] or {}).get("rows"),
                {"row": "row", "cook": "Cook's distance", "leverage": "leverage", "dffits": "DFFITS"}),
        _listed("Equal inputs with different targets", r["duplicates"]["listed"],
                {"rows": "rows", "count": "how many", "spread": spread}),
        _listed("Rows far from all others", (r["alone"] or {}).get("rows"),
                {"row": "row", "nearest": "nearest", "correlation": "correlation under the kernel"}),
    ]  # fmt: skip
    first, tables = ([one for one in part if one is not None] for part in (first, tables))
    names = "Rows that move the fit, that are equal, or far from all others"
    more = folded(names, *words, panels(*tables)) if tables or words else None
    return section("rows", "Rows to look at", *first, more)


def _listed(caption, listed, columns, inputs=()):
    """A table of dictionaries, with the inputs of each row after it; texts from the data are isolated."""
    if not listed:
        return None
    body = []
    for one in listed:
        cells = [_odd(show(one[key])) if key == "measured" and one.get("odd") else _cell(one[key]) for key in columns]
        there = zip(inputs, one.get("inputs") or (), strict=False)
        body.append([*cells, *(_odd(value) if odd else name(value) for _, (value, odd) in there)])
    return table(
        caption, [*columns.values(), *(name(one) for one in inputs)], body, classes="whole" if inputs else None
    )


def _odd(value):
    """A value that is far from those of most rows."""
    return el("mark", name(value), title="far from most rows")


def _cell(value):
    """A cell: a number as it is, text as a name, a list as its names."""
    if isinstance(value, list):
        return name(", ".join(value))
    return name(value) if isinstance(value, str) else value


# -------------------------------------------------------------------------------- numerics and the rest
def _numerics(s):
    """What the solver did, folded away."""
    n = s["numerics"]
    told = []
    for key, value in n["entries"].items():
        text = "; ".join(show(v) for v in value) if isinstance(value, list) else _with_unit(key, value)
        if text not in ("", "–"):
            told.append([key.replace("_", " "), rounded(text) if key == "kernel" else text])
    search = None
    if n["search"]:
        found = [[key, _words(value)] for key, value in n["search"].items() if value is not None]
        search = table("The search", ["what", "value"], found)
    words = None
    if n["support"]:
        bounded = n["support"]["bounded"]
        tail = "." if bounded is None else f", {bounded} of them at the bound."
        words = el("p", f"{n['support']['vectors']} of {fitted_rows(s)} rows are support vectors{tail}")
    made = panels(table("The fit report", ["what", "value"], told, classes="wide"), search)
    return folded("Numerics and cost", words, made)


def _with_unit(key, value):
    """A value of a report as text; bytes and seconds as a person writes them."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if "memory" in key or key.endswith("bytes"):
            return size_text(value)
        if "seconds" in key:
            return f"{show(float(value))} s"
    return _words(value)


def _words(value):
    """A value of a report as text."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(item)}" for key, item in value.items() if item not in (None, "", [], {}))
    return show(value)


def reproduce(s):
    """What is needed to do it again."""
    r = s["reproduce"]
    command = [el("h3", "The command"), code(r["command"])] if r["command"] else []
    search = "a search; predictions of the draws are not part of it" if r.get("draws") else "a search"
    call = f"model = {r['call']}\nmodel.fit(X, y)\n\n# the same model without {search}\nmodel = {r['fitted']}"
    told = [*r["versions"].items()]
    if r["seed"] is not None:
        told.append(("seed", r["seed"]))
    told.append(("SHA-256 of X and y", r["data"] or "not known for these objects"))
    return section(
        "reproduce",
        "How to do it again",
        *command,
        folded(
            "In Python, with versions",
            code(call),
            table("Versions and data", ["what", "value"], [[label, el("code", value)] for label, value in told]),
        ),
        _numerics(s),
        remark(_held(s)),
        el("p", el("button", "Save all numbers as JSON", type="button", id="save"), hidden=True, class_="save"),
    )


def _held(s):
    """Which of the data are in the file."""
    inputs = "and the inputs of those rows that it lists"
    if s["effects"].get("one_input"):
        inputs = "and their inputs, which the curve is drawn through"
    if (s.get("whatif") or {}).get("own"):
        inputs = "and the inputs of all rows of the model, which the sliders need"
    return (
        f"This page holds targets and predictions of up to 1000 rows, {inputs}: do not publish it if they are private."
    )


# ----------------------------------------------------------------------------------------------- what if
def _off(s, error):
    """How far a stand-in is off, in the units of the target or in points of probability."""
    usual, largest = error["usual"], error["largest"]
    if s["task"] == "classification":
        return f"{show(100 * usual)} points in 95 of 100, and by {show(100 * largest)}"
    return f"{show(usual)} in 95 of 100 ({percent(error['share'])} of the error of the model), and by {show(largest)}"


def whatif(s):
    """Sliders that move the prediction and its interval; the script of the page brings them to life."""
    w, title = s["whatif"], "What if?"
    held = f" Held at their middle: {listed(w['held'], 6)}." if w["held"] else ""
    how = (
        "These are the model's own numbers."
        if w["own"]
        else (
            f"A small stand-in for the model: at {w['error']['places']} random places it is off by at most "
            f"{_off(s, w['error'])} at worst."
        )
    )
    if (w["width"] or {}).get("is") == "model":
        how += f" The width of the interval is a stand-in's, off by at most {percent(w['width']['off'])} in 95 of 100."
    begin = None if w["classes"] else show(w["typical"])
    return section(
        "whatif", title,
        el("div", el("div", el("p", w["what"], class_="what"), el("output", begin, class_="now"),
                     el("p", class_="interval"), class_="answer"),
           el("div", class_="sliders"), class_="whatif", id="sliders"),
        remark(f"Move a slider: the prediction and each curve follow.{held} {how}"),
        el("noscript", el("p", "The sliders need JavaScript; everything else on this page does not.")),
    )  # fmt: skip
