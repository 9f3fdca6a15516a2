"""What `mercer fit` found, as plain values; and its files: the model, and the page about it."""

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from mercer.cli import _fit_text
from mercer.cli._options import LABELS
from mercer.cli._session import plain

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


def write_outputs(settings, fitted, result, findings):
    """Write what was asked for, all files or none; return {what: path}."""
    from mercer._atomic import replacing

    written = {"model": settings.output, "report": settings.report}
    settings.written, file = [], {}
    with ExitStack() as stack:  # all are whole before the first is put in its place
        for what, path in written.items():
            if path:
                stack.push(lambda kind, *_, path=path: settings.written.append(path) if kind is None else None)
                file[what] = stack.enter_context(replacing(path, settings.force))
        if "report" in file:
            from mercer.report import render

            file["report"].write(render(findings).encode())
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
