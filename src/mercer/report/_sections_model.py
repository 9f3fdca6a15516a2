"""The later sections of the page: what if, the choice of λ and kernel, effects, rows, and how to do it again."""

from mercer.report import _choices, _figures
from mercer.report._additive import part_charts
from mercer.report._html import (
    Safe,
    drop_empty_columns,
    el,
    name,
    name_some,
    percent,
    show,
    size_text,
    table,
    with_four_digits,
)
from mercer.report._panels import absent, bar, code, figures, fold, panels, remark, section

LISTED = 8  # columns of the table of importance; the rest is folded away


def selection(s):
    """Why this λ and this kernel."""
    sel = s.selection
    chosen = sel.chosen
    title = "Why this kernel" if chosen.lam is None else "Why this λ and kernel"
    by = f"chosen by {chosen.criterion}" if chosen.criterion else "given, not chosen"
    if chosen.noise is not None and not chosen.criterion:
        by = f"the loss and its weight are set for the noise that was found, σ = {show(chosen.noise)}"
    lam = None if chosen.lam is None else f", λ = {show(chosen.lam)}"
    if chosen.for_each_row:
        lam += ", the geometric mean, since each row has its own"
    words = [el("p", "The kernel is ", el("span", chosen.words or with_four_digits(chosen.kernel)), lam, f"; {by}.")]
    why = dict.fromkeys(one.missing for one in (sel.path, sel.surface) if one is not None and not one)
    charts = figures(_choices.selection_charts(s))
    shown, more = charts[:3], charts[3:]
    mixed = [one for one in sel.candidates if one.weight]
    if mixed:
        shown, more = [], charts  # what the search tried is for those who ask
        rows = [[el("span", one.words), one.lam, percent(one.weight), bar(one.weight)]
                for one in sorted(mixed, key=lambda one: -one.weight)]  # fmt: skip
        head = ["kernel", "λ", "weight", ""]
        shown.append(table("Kernels that are mixed, by how well they foresee rows they have not seen", head, rows,
                           classes="wide"))  # fmt: skip
    hyper = [absent(one) for one in why]
    hyper += [remark(f"{chosen.more} more hyper-parameters are not listed.")] if chosen.more else []
    inside = panels(more, _picks(sel.path), _hyper(chosen), _candidate_table(sel.candidates))
    return section(
        "selection", title, *words, panels(_moves(sel), figures(part_charts(s))), panels(shown),
        fold("The rules, the hyper-parameters and the kernels that were compared", *hyper, inside),
        *_choices.landmarks(s),
        *_choices.local(s),
    )  # fmt: skip


def _moves(sel):
    """How far each part of the kernel moves the prediction."""
    sizes = sel.moves or []
    top = max([one.size for one in sizes] + [1e-300])
    rows = [[el("span", one.words), one.size, bar(one.size / top)] for one in sizes]
    head = ["part", "standard deviation over the rows", ""]
    return table("How far each part moves the prediction", head, rows, classes="wide") if rows else None


def _hyper(chosen):
    """The hyper-parameters, their bounds, and their errors where they are known."""
    rows = [[name(one.name), one.value, el("span", f"{show(one.low)} to {show(one.high)}", class_="keep"),
             one.error] for one in chosen.parameters]  # fmt: skip
    head = ["hyper-parameter", "value", "bounds", "error of its log"]
    return table("Hyper-parameters of the kernel", *drop_empty_columns(head, rows)) if rows else None


def _picks(path):
    """What each rule chooses, and what the model without a row would lose by it."""
    if not path:
        return None
    rows = []
    for one in path.picks:
        end = "" if one.status == "ok" else one.status.replace("_", " ")
        rows.append([one.rule, one.lam, one.dof, one.loss, end])
    head = ["rule", "λ", "degrees of freedom", "leave-one-out error, times the least", "where it ended"]
    return table("The λ that each rule chooses", *drop_empty_columns(head, rows))


def _candidate_table(listed):
    """Kernels that were compared, in words."""
    rows = [[el("span", one.words or with_four_digits(one.kernel)), one.value - listed[0].value] for one in listed]
    head = ["kernel", "criterion, behind the first"]
    return table("Kernels that were compared, best first", head, rows, classes="wide") if rows else None


# ---------------------------------------------------------------------------------------------- effects
def effects(s):
    """What each column does."""
    e, title = s.effects, "What each column does"
    if not e:
        return section("effects", title, absent(e.missing))
    words = [el("p", "Importance is the ", e.measure, ".")]
    top = max([one.rise for one in e.columns] + [1e-12])
    rows = [[name(one.name), one.rise, bar(one.rise / top)] for one in e.columns]
    if e.more:
        words.append(remark(f"{e.more} weaker columns are not listed."))
    if e.texts:
        words.append(absent(f"Texts have importance, but neither curve nor slider: {name_some(e.texts, 5)}."))
    elif not s.whatif:
        words.append(absent(s.whatif.missing))
    if not e.pairs and e.curves:
        words.append(absent(e.pairs.missing))
    first = table("Columns, the strongest first", ["column", "importance", ""], rows[:LISTED])
    rest = [fold("All columns by importance", table("Weaker columns", ["column", "importance", ""], rows[LISTED:]))]
    curves = figures([*_figures.effect_charts(s, False), *_figures.pair_charts(s)])
    made = panels(first, curves)
    return section("effects", title, *words, made, *(rest if len(rows) > LISTED else ()), _pairs(e.pairs))


def _pairs(pairs):
    """How strongly columns interact, folded away."""
    if not pairs:
        return None
    rows = [[name(" and ".join(one.names)), one.H, one.strength] for one in pairs.listed]
    head = ["pair", "H", "size, in sd of the prediction"]
    return fold("Interactions of the strongest columns", table("Interactions", head, rows))


# ------------------------------------------------------------------------------------------------- rows
def rows(s):
    """Rows that deserve a look, with their inputs; a value that is far from most is marked."""
    r, regression = s.rows, s.regression
    words = []
    if regression and not r.influence:
        words.append(absent("Influence is known for ridge models and Gaussian processes with a constant trend, up to "
                            "3000 rows."))  # fmt: skip
    if not r.duplicates.listed:
        equal = "There are no equal inputs with different targets."
        words.append(absent(equal if r.duplicates.compared else "Objects of this kind are not compared for equality."))
    first = [_surprising(r), _largest_table(s)] if regression else [_surprising(r)]
    spread = "spread of the target" if regression else "classes beyond one"
    tables = [
        _isolated_table("Rows that move the fit most", ["row", "Cook's distance", "leverage", "DFFITS"],
               [[one.row, one.cook, one.leverage, one.dffits] for one in (r.influence.rows if r.influence else ())]),
        _isolated_table("Equal inputs with different targets", ["rows", "how many", spread],
               [[", ".join(one.rows), one.count, one.spread] for one in r.duplicates.listed]),
        _isolated_table("Rows far from all others", ["row", "nearest", "correlation under the kernel"],
               [[one.row, one.nearest, one.correlation] for one in (r.alone.rows if r.alone else ())]),
    ]  # fmt: skip
    first, tables = ([one for one in part if one is not None] for part in (first, tables))
    names = "Rows that move the fit, that are equal, or far from all others"
    more = fold(names, *words, panels(*tables)) if tables or words else None
    return section("rows", "Rows to look at", *first, more)


def _largest_table(s):
    """The rows with the largest residuals, and their inputs."""
    r = s.rows
    rows = [[one.row, _odd(show(one.measured)) if one.odd else one.measured, one.predicted, one.residual, one.z,
             *_input_cells(one)] for one in (r.residuals.rows if r.residuals else ())]  # fmt: skip
    head = ["row", f"{s.title}, measured", "predicted", "residual", "in sd", *map(name, r.inputs)]
    return _isolated_table("Largest residuals of rows left out", head, rows, bool(r.inputs))


def _surprising(r):
    """The rows whose class surprises the model, and their inputs."""
    rows = [[one.row, one.class_, one.predicted, one.probability, *_input_cells(one)] for one in r.surprising or ()]
    head = ["row", "class", "predicted", "probability of its class", *map(name, r.inputs)]
    return _isolated_table("Rows whose class surprises the model most", head, rows, bool(r.inputs))


def _input_cells(one):
    """The inputs of a row; a value that is far from most is marked."""
    return [_odd(value) if odd else name(value) for value, odd in one.inputs]


def _isolated_table(caption, head, rows, whole=False):
    """A table whose texts, which come from the data, are isolated; None without rows."""
    cells = [[name(cell) if isinstance(cell, str) and not isinstance(cell, Safe) else cell for cell in row]
             for row in rows]  # fmt: skip
    return table(caption, head, cells, classes="whole" if whole else None) if rows else None


def _odd(value):
    """A value that is far from those of most rows."""
    return el("mark", name(value), title="far from most rows")


# -------------------------------------------------------------------------------- numerics and the rest
def _numerics(s):
    """What the solver did, folded away."""
    n = s.numerics
    report = []
    for key, value in n.entries.items():
        text = "; ".join(show(v) for v in value) if isinstance(value, list) else _with_unit(key, value)
        if text not in ("", "–"):
            report.append([key.replace("_", " "), with_four_digits(text) if key == "kernel" else text])
    search = None
    if n.search:
        found = [[key, _value_as_text(value)] for key, value in n.search.items() if value is not None]
        search = table("The search", ["what", "value"], found)
    words = None
    if n.support:
        bounded = n.support.bounded
        tail = "." if bounded is None else f", {bounded} of them at the bound."
        words = el("p", f"{n.support.vectors} of {s.data.fitted_rows} rows are support vectors{tail}")
    made = panels(table("The fit report", ["what", "value"], report, classes="wide"), search)
    return fold("Numerics and cost", words, made)


def _with_unit(key, value):
    """A value of a report as text; bytes and seconds as a person writes them."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if "memory" in key or key.endswith("bytes"):
            return size_text(value)
        if "seconds" in key:
            return f"{show(float(value))} s"
    return _value_as_text(value)


def _value_as_text(value):
    """A value of a report as text."""
    if isinstance(value, dict):
        known = {key: item for key, item in value.items() if item not in (None, "", [], {})}
        return ", ".join(f"{key} {_value_as_text(item)}" for key, item in known.items())
    return show(value)


def reproduce(s):
    """What is needed to do it again."""
    r = s.reproduce
    command = [el("h3", "The command"), code(r.command)] if r.command else []
    search = "a search; predictions of the draws are not part of it" if r.draws else "a search"
    call = f"model = {r.call}\nmodel.fit(X, y)\n\n# the same model without {search}\nmodel = {r.fitted}"
    facts = [*r.versions.items()]
    if r.seed is not None:
        facts.append(("seed", r.seed))
    facts.append(("SHA-256 of X and y", r.data or "not known for these objects"))
    return section(
        "reproduce",
        "How to do it again",
        *command,
        fold(
            "In Python, with versions",
            code(call),
            table("Versions and data", ["what", "value"], [[label, el("code", value)] for label, value in facts]),
        ),
        _numerics(s),
        remark(_data_in_file(s)),
        el("p", el("button", "Save all numbers as JSON", type="button", id="save"), hidden=True, class_="save"),
    )


def _data_in_file(s):
    """Which of the data are in the file."""
    inputs = "and the inputs of those rows that it lists"
    if s.effects and s.effects.one_input:
        inputs = "and their inputs, which the curve is drawn through"
    if s.whatif and s.whatif.own:
        inputs = "and the inputs of all rows of the model, which the sliders need"
    return (
        f"This page holds targets and predictions of up to 1000 rows, {inputs}: do not publish it if they are private."
    )


# ----------------------------------------------------------------------------------------------- what if
def _off(s, error):
    """How far a stand-in is off, in the units of the target or in points of probability."""
    usual, largest = error.usual, error.largest
    if not s.regression:
        return f"{show(100 * usual)} points in 95 of 100, and by {show(100 * largest)}"
    return f"{show(usual)} in 95 of 100 ({percent(error.share)} of the error of the model), and by {show(largest)}"


def whatif(s):
    """Sliders that move the prediction and its interval; the script of the page brings them to life."""
    w, title = s.whatif, "What if?"
    held = f" Held at their middle: {name_some(w.held, 6)}." if w.held else ""
    how = (
        "These are the model's own numbers."
        if w.own
        else (
            f"A small stand-in for the model: at {w.error.places} random places it is off by at most "
            f"{_off(s, w.error)} at worst."
        )
    )
    if w.width and w.width.is_ == "model":
        how += f" The width of the interval is a stand-in's, off by at most {percent(w.width.off)} in 95 of 100."
    begin = None if w.classes else show(w.typical)
    return section(
        "whatif", title,
        el("div", el("div", el("p", w.what, class_="what"), el("output", begin, class_="now"),
                     el("p", class_="interval"), class_="answer"),
           el("div", class_="sliders"), class_="whatif", id="sliders"),
        remark(f"Move a slider: the prediction and each curve follow.{held} {how}"),
        el("noscript", el("p", "The sliders need JavaScript; everything else on this page does not.")),
    )  # fmt: skip
