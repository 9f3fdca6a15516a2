"""The first sections of the page: verdict, checks, data, fit and uncertainty."""

from mercer.report import _figures
from mercer.report._html import day, drop_empty_columns, el, name, name_some, show, table
from mercer.report._panels import SIGNS, absent, bar, figures, fold, mark_commands, panels, remark, section
from mercer.report.checks import CHECKS


def verdict(s):
    """The first screen: the verdict, the error beside simple models, and the pictures that matter most."""
    v = s.verdict
    numbers = [
        el("div", el("dt", label), el("dd", value, el("small", note) if note else None))
        for label, value, note in v.numbers
    ]
    words = el(
        "div",
        el("h2", el("span", SIGNS[v.level], class_="sign", aria_hidden="true"), v.headline, id="verdict"),
        el("p", " ".join(v.sentences), class_="lead"),
        el("dl", numbers, class_="numbers") if numbers else None,
    )
    charts = figures(_figures.first_charts(s))
    if _has_confusion(s):
        charts.insert(0, el("div", _confusion(s.fit), class_="chart broad"))
    return el(
        "section",
        el("div", words, _beside_simple(s.scores), class_=f"verdict {v.level}"),
        el("div", charts, class_="first") if charts else None,
        class_="opening",
        aria_labelledby="verdict",
    )


def _has_confusion(s):
    """Whether a table of what was taken for what stands in the place of a curve of two classes."""
    return not s.regression and s.fit.roc is None


def _beside_simple(scores):
    """The error of the model beside those of simple ones, as bars: the shorter, the better."""
    key = "rmse" if scores.models[0].rmse is not None else None
    if key is None and scores.metric != "accuracy":
        return None
    errors = [one.rmse if key else None if one.score is None else 1.0 - one.score for one in scores.models]
    top = max([value for value in errors if value is not None], default=0.0) or 1.0
    rows = [[el("strong", name(one.name)) if k == 0 else name(one.name), value, bar(value / top, k == 0)]
            for k, (one, value) in enumerate(zip(scores.models, errors, strict=True))
            if value is not None]  # fmt: skip
    what = "RMSE" if key else "share that is wrong"
    return table("Error on rows it has not seen: shorter is better", ["model", what, ""], rows, classes="beside")


def checks(s):
    """Everything that fired, worst first."""
    if not s.checks:
        return section("checks", "What to know", el("p", f"All {len(CHECKS)} checks passed."))
    return section("checks", "What to know", el("ul", [_fired_check(one) for one in s.checks], class_="checks"))


def _fired_check(one):
    """One check that fired; its code leads to what it means."""
    about = f"about-{one.code.lower()}"
    head = el(
        "h3",
        el("span", SIGNS[one.severity], class_="sign", aria_hidden="true"),
        el("span", one.severity, class_="severity"),
        " ",
        one.title,
        " ",
        el("a", one.code, class_="code", href=f"#{about}"),
    )
    return el(
        "li",
        head,
        el("p", mark_commands(one.text)),
        el("p", mark_commands(one.remedy), class_="remedy"),
        el("details", el("summary", f"What {one.code} looks at"), el("p", mark_commands(one.about)), id=about),
        class_=f"check {one.severity}",
        id=one.code.lower(),
    )


# ------------------------------------------------------------------------------------------------- data
def data(s):
    """Rows, columns, notes, and the target."""
    d = s.data
    words = [el("p", f"{_count_rows(d)}{_size(d)}")]
    if d.notes:
        words.append(el("ul", [el("li", mark_commands(note)) for note in d.notes], class_="notes"))
    if d.left_out:
        words.append(remark(f"Left out of this page, since its time budget was used up: {name_some(d.left_out, 6)}."))
    if d.more:
        words.append(remark(f"{d.more} more columns are not listed."))
    classes = None
    if d.target.classes:
        rows = [[name(one.name), one.rows, bar(one.rows / d.rows)] for one in d.target.classes]
        classes = table(f"Classes of {s.title}", ["class", "rows", "share"], rows)
    columns = [one for one in (_number_columns(d), _categories(d)) if one is not None]
    columns = el("div", columns, class_="wide stack") if columns else None
    made = panels(columns, classes, figures(_figures.data_charts(s)))
    if len(d.features) + len(d.categories) > 12:
        made = fold("All columns", made)
    return section("data", "Data", *words, made, *_target_table(s))


def _count_rows(d):
    """How many rows the page is about, and the model was fitted on."""
    if d.fitted_rows == d.rows:
        return f"{show(d.rows)} rows"
    return f"{show(d.rows)} rows are looked at here, the model was fitted on {show(d.fitted_rows)}"


def _size(d):
    """How many columns, of what kind."""
    kinds = [(len(d.features), "of numbers"), (len(d.categories), "of categories"), (len(d.texts), "of texts")]
    kinds = [(count, word) for count, word in kinds if count]
    if not kinds:
        return f" of objects ({d.objects})."
    if len(kinds) == 1:
        return f", {d.columns} column{'' if d.columns == 1 else 's'} {kinds[0][1]}."
    return f", {d.columns} columns: " + ", ".join(f"{count} {word}" for count, word in kinds) + "."


def _number_columns(d):
    """The columns of numbers."""
    rows = [[name(one.name), *_quartile_cells(one), one.distinct] for one in d.features]
    head = ["column", "least", "quarter", "median", "three quarters", "most", "values"]
    return table("Columns of numbers", head, rows, classes="wide") if rows else None


def _quartile_cells(one):
    """The quartiles of a column as numbers, or as dates."""
    quartiles = (one.low, one.q1, one.middle, one.q3, one.high)
    return [day(value) for value in quartiles] if one.dates else quartiles


def _categories(d):
    """The columns of categories."""
    rows = [[name(one.name), one.distinct, name(one.most), one.most_rows, name(one.least),
             one.least_rows] for one in d.categories]  # fmt: skip
    head = ["column", "levels", "commonest", "rows", "rarest", "rows"]
    return table("Columns of categories", head, rows, classes="wide") if rows else None


def _target_table(s):
    """A table over several targets, and pictures of a few."""
    found = s.targets
    if not found:
        return []
    known = [one.score for one in found.listed if isinstance(one.score, float)]
    top = max([*known, 1e-9])
    rows = []
    for one in found.listed:
        worst = one.name == found.shown
        label = el("strong", name(one.name), " (this page)") if worst else name(one.name)
        share = bar(max(one.score or 0.0, 0.0) / top)
        rows.append([label, one.score, one.error, one.rmse, one.mae, one.sd, share])
    more = f" {found.more} more are not listed." if found.more else ""
    count = len(found.listed) + found.more
    words = remark(f"The model has {count} targets. The rest of this page is about the one that it predicts worst, ",
                   name(found.shown), f". Scores by {found.how}.{more}")  # fmt: skip
    head = ["target", "R²", "±", "RMSE", "mean |error|", "sd of the target", "beside the best"]
    return [el("h3", "All targets"), words, table("How good for each target", head, rows, classes="full")]


# -------------------------------------------------------------------------------------------------- fit
def fit(s):
    """Scores beside the baselines, residuals, the learning curve; or the confusion of classes."""
    scores = s.scores
    words = [el("p", f"Judged by {scores.how}.", _optimism(scores, s.data.rows))]
    if not scores.nested and s.selection.chosen.criterion:
        words.append(remark("The kernel and λ were chosen on all rows, so this score may be a little too good; nested "
                            "cross-validation, scores=nested_cv(...), leaves no such doubt."))  # fmt: skip
    shown, sure, more = _uncertainty(s)
    learning = _learning(s)
    above = {one.key for one in _figures.first_charts(s)}
    shown = [] if above & {"coverage", "reliability"} else shown
    learning = [] if "learning" in above else learning
    if not s.regression:
        made = panels(None if _has_confusion(s) else _confusion(s.fit), shown, *learning)
        title = "How well it classifies, and how sure"
    else:
        charts = figures(_figures.fit_charts(s))
        made, more = panels(charts[:1], shown, *learning), [*charts[1:], *more, *figures(_figures.column_charts(s))]
        title = "How well it fits, and how sure"
    return section(
        "fit",
        title,
        *words,
        made,
        fold("Scores and residuals in detail", panels(_scores(scores), sure, _left_blocks(s), more)),
    )


def _left_blocks(s):
    """The errors on rows left out in blocks, beside those of simpler models."""
    if not s.blocks:
        return None
    listed = s.blocks.listed
    names = list(dict.fromkeys(name for one in listed for name in one.rmse))
    rows = [[one.name, one.rows, *(one.rmse.get(name) for name in names)] for one in listed]
    return table("RMSE on rows left out in blocks, fitted without them", ["left out", "rows", *names], rows)


def _optimism(scores, rows):
    """What choosing and judging on the same rows would have seemed to gain, and the score of each fold of many rows."""
    said = ""
    if scores.optimism:
        gain = scores.optimism.value
        said = f" Without the outer loop the score would seem {show(gain)} better: that is the optimism."
        if not gain >= 0.001:
            said = " Without the outer loop the score would not seem better: there is no optimism."
    if scores.folds and rows >= 20 * len(scores.folds):  # R² of a few rows alone says nothing
        first = scores.metric[0].upper() + scores.metric[1:]
        said += f" {first} of each part: {', '.join(show(value) for value in scores.folds)}."
    return said


def _learning(s):
    """The learning curve, or why there is none."""
    return figures(_figures.learning_charts(s)) if s.learning else [absent(s.learning.missing)]


def _scores(scores):
    """The model beside simple ones."""
    rows = []
    for k, one in enumerate(scores.models):
        label = el("strong", name(one.name)) if k == 0 else name(one.name)
        rows.append([label, one.score, one.error, one.rmse, one.mae])
    head = ["model", scores.metric, "±", "RMSE", "mean |error|"]
    return table("How good, beside simple models", *drop_empty_columns(head, rows))


def _confusion(fit_):
    """True classes down, predicted classes across; shades are shares of a row."""
    classes = fit_.classes
    head = [el("th", "true class", scope="col"), *[el("th", name(c), scope="col", class_="num") for c in classes]]
    rows = []
    for label, counts in zip(classes, fit_.confusion, strict=True):
        total = max(sum(counts), 1)
        cells = [el("td", value, class_=f"num shade{round(5 * value / total)}") for value in counts]
        rows.append(el("tr", el("th", name(label), scope="row"), cells))
    caption = "Confusion of the rows left out: true class down, predicted class across"
    if fit_.more_classes:
        caption += f"; {fit_.more_classes} more classes are not listed"
    made = el("table", el("caption", caption), el("thead", el("tr", head)), el("tbody", rows), class_="confusion")
    return el("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


# ------------------------------------------------------------------------------------------ uncertainty
def _uncertainty(s):
    """(chart or line, tables, more charts): whether the model knows its own errors."""
    u = s.uncertainty
    if not u:
        return absent(u.missing), [], []
    tables = [table(f"How sure: {u.how}, {show(u.rows)} rows", ["what", "value"], _sureness(u))]
    if u.kind != "probabilities":
        head = ["level of the quantile", "rows below it"] if u.kind == "quantiles" else ["stated", "found"]
        shares = [[f"{100 * a:g} %", f"{100 * b:.1f} %"] for a, b in zip(u.levels, u.coverage, strict=True)]
        tables.insert(0, table("Coverage of rows left out", head, shares))
    charts = figures(_figures.uncertainty_charts(s))
    return charts[:1], tables, charts[1:]


def _sureness(u):
    """[what, value] of the numbers that say how sure a model is."""
    if u.kind == "probabilities":
        return [["mean difference of stated and found", u.error], ["of that by chance", u.by_chance],
                ["log loss", u.log_loss], ["Brier score", u.brier]]  # fmt: skip
    if u.kind == "quantiles":
        return [["share of the rows in which quantiles cross", u.crossing]]
    width = ["median width of 90 % intervals", u.width]
    if u.kind == "intervals":
        return [width]
    return [["mean square of the z-scores; 1 is right", u.mean_square], ["mean log density", u.log_density],
            ["CRPS, in units of the target", u.crps], width]  # fmt: skip
