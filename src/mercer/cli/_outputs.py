"""What `mercer fit` found, as plain values; and its files: the model, the page about it, the card beside it."""

import json
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from mercer.cli import _fit_text
from mercer.cli._fit_text import as_it_is
from mercer.cli._options import LABELS
from mercer.cli._session import plain
from mercer.tabular.learn import shown

MOST_SCORED = 5000  # rows of the cross-validation and of the page
RANKED = 400  # rows that say what matters, without a page


def some_rows(n, seed):
    """The rows that judge a model, and that its report is about: all, or 5,000 drawn at random."""
    import numpy as np

    every = np.arange(n)
    return every if n <= MOST_SCORED else np.sort(np.random.default_rng(seed).choice(every, MOST_SCORED, replace=False))


def result_of(settings, fitted, scored, facts, budget, frame):
    """(everything about the fit as plain values, findings of the report or None)."""
    import mercer

    scores, rows = (None, None) if scored is None else scored
    if scores is not None and scores.residuals is not None:
        fitted.calibrate(scores.residuals)
    given = None if scores is None else scores.to_dict()
    if given is not None and facts["series"] is not None:  # lengths in deviations of all rows mean others before a fold
        given |= {"optimism": None, "optimism_error": None, "plain_scores": [None] * len(given["scores"])}
    if given is not None:
        every = [None] * len(fitted.rows_)
        for row, value in zip(rows, given["predictions"], strict=True):
            every[row] = value
        given["predictions"] = every
    result = {
        "schema": "mercer.fit/1",
        "mercer": mercer.__version__,
        "command": settings.command,
        "seed": settings.seed,
        "data": _data(fitted, facts) | {"id": settings.id},
        "model": _model(fitted, facts),
        "score": None if given is None else {key: given[key] for key in given if key != "predictions"},
        "test": facts["test"],
        "notes": [*facts["reading"], *facts["notes"], *(n for n in fitted.notes_ if n not in facts["notes"])],
    }
    findings = None
    if settings.report or settings.output:
        findings = _findings(settings, fitted, given, result, frame, facts["order"], budget)
        missing = findings["data"]["left_out"]
        if missing:
            result["notes"].append(f"the time budget was spent: the report is without {', '.join(missing)}.")
    result["model"]["importance"] = _importance(fitted, frame, findings)
    result["verdict"] = None if findings is None else findings["verdict"]["sentences"]
    return result | {"seconds": budget.session.seconds}, findings


def _importance(fitted, frame, findings):
    """[[column, importance], …], the strongest first: of the page, or of some rows without one."""
    from mercer.report import ranked

    if findings is not None:
        return [[one["name"], one["rise"]] for one in findings["effects"].get("columns", ())]
    table = frame[fitted.rows_[:RANKED]]
    X, y = fitted.inputs(table), fitted.targets(table)[1]
    return [list(pair) for pair in ranked(fitted.estimator_, X, y, feature_names=fitted.feature_names_)]


def _data(fitted, facts):
    """The table and what became of its columns."""
    return {
        "file": facts["file"],
        "sha256": facts["sha256"],
        "rows": facts["rows"],
        "used_rows": len(fitted.rows_),
        "target": fitted.target_,
        "task": "classification" if facts["name"] in LABELS else "regression",
        "columns": fitted.recipe_.used,
        "ignored": fitted.recipe_.ignored_,
        "features": fitted.feature_names_,
    }


def _model(fitted, facts):
    """The model and how it was chosen."""
    estimator = fitted.estimator_
    lam = estimator.lam_
    return {
        "name": facts["name"],
        "title": facts["title"],
        "kernel": repr(estimator.kernel_),
        "lam": None if lam is None else float(lam),
        "criterion": facts["criterion"],
        "selection": None if fitted.selection_ is None else fitted.selection_.to_dict(),
        "candidates": _candidates(fitted.selection_, estimator.fit_report_) if facts["searched"] else [],
        "scales": _fit_text.scales(estimator, fitted.recipe_),
        "fit_report": dict(estimator.fit_report_),
    }


def _candidates(found, report):
    """The leaderboard of a search over kernels, the best first: by the criterion and half a nat for each parameter.

    Of a mixture, with the weight that a kernel has in it.
    """
    from mercer.selection.kernels_search.found import words_of

    listed = [] if found is None else found.candidates
    score = [one.value + 0.5 * one.kernel.n_theta for one in listed]
    return [
        {"name": _fit_text.shape(one.kernel), "words": words_of(one), "kernel": repr(one.kernel), "lam": one.lam,
         "value": one.value, "behind": behind - score[0], "weight": report.get("kernels", {}).get(repr(one.kernel))}
        for one, behind in zip(listed, score, strict=True)
    ]  # fmt: skip


def _findings(settings, fitted, scores, result, frame, order, budget):
    """What the report says, from the rows of the fit."""
    from mercer.report import collect
    from mercer.tabular.columns import as_texts

    n, notes = len(fitted.rows_), result["notes"]
    some = some_rows(n, settings.seed) if result["data"]["task"] == "regression" else range(n)
    if len(some) < n:  # left-out predictions of all of them would take five more fits
        scores = scores and {**scores, "predictions": [scores["predictions"][i] for i in some]}
    table = frame[fitted.rows_[some]]
    labels = [str(row + 1) for row in order[fitted.rows_[some]]]
    own = (name for name, why in fitted.recipe_.ignored_.items() if "identifier" in why)
    names = next(own, None) if settings.id is None else settings.id  # a column that was left out since it names rows
    if names is not None:
        labels = [text or f"row {label}" for text, label in zip(as_texts(table[names]), labels, strict=True)]
    return collect(
        fitted.estimator_,
        fitted.inputs(table),
        fitted.targets(table)[1],
        feature_names=fitted.feature_names_,
        target=fitted.target_,
        scores=scores,
        notes=notes,
        command=settings.command,
        row_labels=labels,
        units=fitted.recipe_.units,
        time_budget=budget.left,
        fitted_rows=n,
        selection=fitted.selection_,
    )


CARD_ENDINGS = (".md", ".json")


def write_outputs(settings, fitted, result, findings):
    """Write what was asked for, all files or none; return {what: path}."""
    from mercer._atomic import replacing

    written = {"model": settings.output, "report": settings.report, "card": settings.card}
    settings.written, file = [], {}
    with ExitStack() as stack:  # all are whole before the first is put in its place
        for what, path in written.items():
            if path:
                stack.push(lambda kind, *_, path=path: settings.written.append(path) if kind is None else None)
                file[what] = stack.enter_context(replacing(path, settings.force))
        if "report" in file:
            from mercer.report import render

            file["report"].write(render(findings).encode())
        if "card" in file:
            text = card(result) if settings.card.lower().endswith(".md") else card_json(result)
            file["card"].write(text.encode())
        if "model" in file:
            _save(fitted, settings, result, findings, file["model"])
    return written


def _save(fitted, settings, result, findings, file):
    """The model file, written beside its place and copied into the open file."""
    from mercer import files

    note = {"command": settings.command, "result": plain(result), "findings": plain(findings.to_dict())}
    note["missing"] = [str(word) for word in settings.missing or ()]  # what they meant in the fit they mean later
    with tempfile.TemporaryDirectory(dir=Path(settings.output).parent, prefix=".mercer-") as folder:
        path = Path(folder, "model.mercer")
        files.save(fitted, path, note=note)
        with open(path, "rb") as whole:
            shutil.copyfileobj(whole, file)


def card_json(result):
    """The card as JSON."""
    kept = ("mercer", "command", "seed", "data", "model", "score", "test", "notes", "warnings")
    found = {"schema": "mercer.card/1", **{key: result.get(key) for key in kept}, "limits": LIMITS, "licence": None}
    return json.dumps(plain(found | {"versions": versions()}), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


LIMITS = [
    "A kernel model falls back on its mean far from the rows it was fitted on; it does not extrapolate.",
    "Scores and intervals hold for rows that are drawn as the training rows were.",
    "The model file contains the training inputs, so whoever has the file has them.",
]


def versions():
    """What the model was made with."""
    import platform

    import numpy
    import polars
    import scipy
    import sklearn

    import mercer

    found = {"mercer": mercer.__version__, "python": platform.python_version(), "numpy": numpy.__version__}
    return found | {"scipy": scipy.__version__, "scikit-learn": sklearn.__version__, "polars": polars.__version__}


def card(result):
    """The card as Markdown."""
    data, model, score = result["data"], result["model"], result["score"]
    lines = [f"# Model card: {data['target']}", "", f"{model['title']}, {data['task']}.", "", "## Data", ""]
    lines += [f"- file: {data['file']}, SHA-256 {data['sha256']}"]
    lines += [
        f"- rows: {data['rows']:,}, used: {data['used_rows']:,}",
        "",
        "| column | role | range or levels | missing |",
    ]
    lines += ["|---|---|---|---|", *(_row(column) for column in data["columns"]), "", "## Model", ""]
    lines += [f"- kernel: `{model['kernel']}`"]
    lines += [] if model["lam"] is None else [f"- λ: {model['lam']:.6g} (of K + λI)"]
    if model["selection"]:
        lines.append(f"- chosen by {model['selection']['criterion']}, value {model['selection']['value']:.6g}")
    lines += ["", "## Scores", ""]
    if score:
        lines += [f"{score['how']}; {score['scoring']}.", "", "| model | score | standard error |", "|---|---|---|"]
        this = {"name": "this model", "score": score["mean"], "error": score["standard_error"]}
        for one in [this, *score["baselines"]]:
            error = "one fold" if one["error"] is None else f"{one['error']:.4f}"
            lines.append(f"| {one['name']} | {one['score']:.4f} | {error} |")
    else:
        lines.append("Not judged by cross-validation.")
    if result.get("test"):
        shown = {key: value for key, value in result["test"].items() if isinstance(value, float)}
        lines += ["", "On the test table: " + ", ".join(f"{key} {value:.4g}" for key, value in shown.items()) + "."]
    said = [*result["notes"], *result.get("warnings", ())]
    lines += ["", "## Notes", "", *(f"- {_cell(note)}" for note in said or ["none"])]
    lines += ["", "## Limits", "", *(f"- {limit}" for limit in LIMITS), "- licence: not stated"]
    made = ", ".join(f"{name} {number}" for name, number in versions().items())
    lines += ["", "## Made by", "", f"    {result['command']}", "", f"Seed {result['seed']}; {made}.", ""]
    return "\n".join(lines)


def _row(column):
    """A column of the table as a row of the card."""
    if column["role"] == "object":
        known = as_it_is(column)
    elif column["role"] == "categorical":
        known = f"{len(column['levels'])} levels"
    else:
        known = f"{shown(column['low'], column, 6)} to {shown(column['high'], column, 6)}"
    return f"| {_cell(column['name'])} | {column['role']} | {known} | {column['missing']} |"


def _cell(text):
    """Text that cannot break a Markdown table, nor become HTML."""
    for sign, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("\n", " ")):
        text = str(text).replace(sign, safe)
    return text
