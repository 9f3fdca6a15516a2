"""The later sections of the page: the choice of λ and kernel, effects, rows, numerics, and how to do it again."""

from mercer.report import _figures
from mercer.report._html import el, listed, name, rounded, show, size_text, table
from mercer.report._landmarks import landmarks
from mercer.report._panels import absent, bar, code, figures, panels, remark, section


def selection(s):
    """Why this λ and this kernel."""
    sel = s["selection"]
    chosen, path, surface = sel["chosen"], sel["path"] or {}, sel["surface"] or {}
    by = f"chosen by {chosen['criterion']}" if chosen["criterion"] else "given, not chosen"
    lam = None if chosen["lam"] is None else f", λ = {show(chosen['lam'])}"
    if chosen.get("for_each_row"):
        lam += ", the geometric mean, since each row has its own"
    words = [el("p", "The kernel is ", el("code", rounded(chosen["kernel"])), lam, f"; {by}.")]
    if chosen.get("message"):
        words.append(remark(chosen["message"]))
    if chosen["more"]:
        words.append(remark(f"{chosen['more']} more hyper-parameters are not listed."))
    if "missing" in path:
        words.append(absent(path["missing"]))
    if "missing" in surface and surface != path:
        words.append(absent(surface["missing"]))
    tables = [_hyper(chosen), _picks(path), _candidates(sel["candidates"])]
    made = panels(tables, figures(_figures.selection_charts(s)))
    return section("selection", "Why this λ and kernel", *words, made, *landmarks(s))


def _hyper(chosen):
    """The hyper-parameters, their bounds, and their errors where they are known."""
    rows = [[name(one["name"]), one["value"], el("span", f"{show(one['low'])} to {show(one['high'])}", class_="keep"),
             one["error"]] for one in chosen["parameters"]]  # fmt: skip
    head = ["hyper-parameter", "value", "bounds", "error of its log"]
    if all(row[3] is None for row in rows):
        head, rows = head[:3], [row[:3] for row in rows]
    return table("Hyper-parameters of the kernel", head, rows) if rows else None


def _picks(path):
    """What each rule chooses."""
    if "picks" not in path:
        return None
    rows = []
    for one in path["picks"]:
        sure = "sure" if one["status"] == "ok" else one["status"].replace("_", " ")
        rows.append([one["rule"], one["lam"], one["dof"], sure])
    return table("The λ that each rule chooses", ["rule", "λ", "degrees of freedom", "how sure"], rows)


def _candidates(listed):
    """Kernels that were compared."""
    rows = [[el("code", rounded(one["kernel"])), one["lam"], one["value"], one["status"]] for one in listed]
    head = ["kernel", "λ", "criterion", "status"]
    return table("Kernels that were compared, best first", head, rows, classes="wide") if rows else None


# ---------------------------------------------------------------------------------------------- effects
def effects(s):
    """What each column does."""
    e, title = s["effects"], "What each column does"
    if "missing" in e:
        return section("effects", title, absent(e["missing"]))
    words = [el("p", "Kernel models have no coefficients. Importance is the ", e["measure"], ".")]
    top = max([one["rise"] for one in e["columns"]] + [1e-12])
    keys = ("length_scale", "relevance")
    rows = [[name(one["name"]), one["rise"], bar(one["rise"] / top), *(one[k] for k in keys)] for one in e["columns"]]
    head = ["column", "importance", "beside the strongest", "length scale\u00a0ℓ", "relevance sd/\u2060ℓ"]
    if any(one["length_scale"] is not None for one in e["columns"]):
        words.append(remark("Relevance says how many length scales one standard deviation of the column spans; near 0 "
                            "the column hardly matters, or acts almost linearly: importance tells which."))  # fmt: skip
    else:
        head, rows = head[:3], [row[:3] for row in rows]
    if e["more"]:
        words.append(remark(f"{e['more']} weaker columns are not listed."))
    if e.get("texts"):
        words.append(absent(f"Texts have importance, but no curve: {listed(e['texts'], 5)}."))
    pairs = e.get("pairs") or {}
    if "missing" in pairs:
        words.append(absent(pairs["missing"]))
    told = table("Columns, the strongest first", head, rows, classes="full")
    made = panels(told, figures(_figures.effect_charts(s)))
    return section("effects", title, *words, made, *_together(s, pairs))


def _together(s, pairs):
    """The strongest pair, and how strongly others interact."""
    if "listed" not in pairs:
        return []
    return [el("h3", "Two columns together"), panels(figures(_figures.pair_charts(s), "h4"), _pairs(pairs))]


def _pairs(pairs):
    """How strongly columns interact."""
    rows = [[name(" and ".join(one["names"])), one["H"], one["strength"]] for one in pairs["listed"]]
    head = ["pair", "H", "size, in sd of the prediction"]
    return table("Interactions of the strongest columns", head, rows, classes="wide")


# ------------------------------------------------------------------------------------------------- rows
def rows(s):
    """Rows that deserve a look."""
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
    tables = [
        _listed("Rows whose class surprises the model most", r.get("surprising"),
                {"row": "row", "class": "class", "predicted": "predicted", "probability": "probability of its class"}),
        _listed("Largest residuals of rows left out", (r["residuals"] or {}).get("rows"),
                {"row": "row", "measured": "measured", "predicted": "predicted", "residual": "residual",
                 "z": "in sd"}),
        _listed("Rows that move the fit most", (r["influence"] or {}).get("rows"),
                {"row": "row", "cook": "Cook's distance", "leverage": "leverage", "dffits": "DFFITS"}),
        _listed("Equal inputs with different targets", r["duplicates"]["listed"],
                {"rows": "rows", "count": "how many", "spread": spread}),
        _listed("Rows far from all others", (r["alone"] or {}).get("rows"),
                {"row": "row", "nearest": "nearest", "correlation": "correlation under the kernel"}),
    ]  # fmt: skip
    return section("rows", "Rows to look at", *words, panels(*tables))


def _listed(caption, listed, columns):
    """A table of dictionaries; texts from the data are isolated."""
    if not listed:
        return None
    body = [[_cell(one[key]) for key in columns] for one in listed]
    return table(caption, list(columns.values()), body)


def _cell(value):
    """A cell: a number as it is, text as a name, a list as its names."""
    if isinstance(value, list):
        return name(", ".join(value))
    return name(value) if isinstance(value, str) else value


# -------------------------------------------------------------------------------- numerics and the rest
def numerics(s):
    """What the solver did."""
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
        words = el("p", f"{n['support']['vectors']} of {s['data']['rows']} rows are support vectors{tail}")
    made = panels(table("The fit report", ["what", "value"], told, classes="wide"), search)
    return section("numerics", "Numerics and cost", words, made)


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
        el("h3", "In Python"),
        code(call),
        table("Versions and data", ["what", "value"], [[label, el("code", value)] for label, value in told]),
        remark("This page holds targets and predictions of up to 1000 rows, and no inputs of single rows."),
        el("p", el("button", "Save all numbers as JSON", type="button", id="save"), hidden=True, class_="save"),
    )
