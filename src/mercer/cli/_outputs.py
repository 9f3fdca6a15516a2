"""What `mercer fit` found, as plain values; and its files: the model, and the page about it."""

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np

import mercer
from mercer._atomic import replacing
from mercer.cli._options import LABELS
from mercer.cli._session import plain
from mercer.selection.kernels_search.found import words_of
from mercer.tabular.columns import as_texts

MOST_SCORED = 6000  # rows of the cross-validation and of the page
EACH_ROW = ("predictions", "probabilities", "deviations")  # of scores
RANKED = 400  # rows that say what matters, without a page


def some_rows(n, seed):
    """The rows that judge a model, and that its report is about: all, or 6,000 drawn at random."""
    every = np.arange(n)
    return every if n <= MOST_SCORED else np.sort(np.random.default_rng(seed).choice(every, MOST_SCORED, replace=False))


def result_of(settings, fitted, scored, facts, budget, frame):
    """(everything about the fit as plain values, findings of the report or None)."""
    from mercer.report import ranked

    scores, rows = (None, None) if scored is None else scored
    if scores is not None and scores.residuals is not None:
        own = scores.forward and fitted.interval_method != "left-out"  # deviations that grow with the distance ahead
        if not own:
            stated = None if scores.forward else scores.deviations
            fitted.calibrate(scores.target, scores.predictions, stated, scores.fold)
    given = None if scores is None else scores.to_dict()
    if given is not None:
        scores = scores.spread(rows, len(fitted.rows_)).to_dict()
        given |= {key: scores[key] for key in EACH_ROW}
    score = None if given is None else {key: given[key] for key in given if key not in EACH_ROW}
    result = described(settings, fitted, facts, score, len(fitted.rows_))
    result["notes"] = [*facts["reading"], *facts["notes"], *(n for n in fitted.notes_ if n not in facts["notes"])]
    findings = _findings(settings, fitted, given, result, frame, facts["order"], budget)
    if findings is None:
        table = frame[fitted.rows_[:RANKED]]
        X, y = fitted.inputs(table), fitted.targets(table)[1]
        return add_page(result, None, budget, ranked(fitted.estimator_, X, y, fitted.feature_names_)), None
    missing = findings.data.left_out
    if missing:
        result["notes"].append(f"the time budget was spent: the report is without {', '.join(missing)}.")
    return add_page(result, findings, budget), findings


def described(settings, fitted, facts, score, used):
    """What is known of a fit without its page, as plain values; ``used`` is the number of rows of the fit."""
    estimator, recipe = fitted.estimator_, fitted.recipe_
    return {
        "schema": "mercer.fit/1",
        "mercer": mercer.__version__,
        "command": settings.command,
        "seed": settings.seed,
        "data": {
            **{key: facts[key] for key in ("file", "sha256", "rows")},
            "used_rows": used,
            "target": fitted.target_,
            "task": "classification" if facts["name"] in LABELS else "regression",
            "columns": recipe.used,
            "ignored": recipe.ignored_,
            "features": fitted.feature_names_,
            "id": settings.id,
        },
        "model": {
            **{key: facts[key] for key in ("name", "title", "criterion")},
            "kernel": repr(estimator.kernel_),
            "lam": None if estimator.lam_ is None else float(estimator.lam_),
            "selection": None if fitted.selection_ is None else fitted.selection_.to_dict(),
            "candidates": _candidates(fitted.selection_, estimator.fit_report_) if facts["searched"] else [],
            "fit_report": dict(estimator.fit_report_),
        },
        "score": score,
        "test": facts["test"],
        "notes": fitted.notes_,
    }


def add_page(result, findings, budget, importance=()):
    """The result with what its page says, or with the importance of its columns that is known without one."""
    if findings is not None:
        importance = [(one.name, one.rise) for one in (findings.effects.columns if findings.effects else ())]
    result["model"]["importance"] = [list(pair) for pair in importance]
    result["verdict"] = None if findings is None else findings.verdict.sentences
    kept = ("code", "severity", "text", "remedy")
    result["checks"] = [] if findings is None else [{key: getattr(one, key) for key in kept} for one in findings.checks]
    return result | {"seconds": budget.session.seconds}


def _candidates(found, report):
    """The leaderboard of a search over kernels, the best first: by the criterion and half a nat for each parameter.

    Of a mixture, with the weight that a kernel has in it.
    """
    listed = [] if found is None else found.candidates
    score = [one.value + 0.5 * one.kernel.n_theta for one in listed]
    return [
        {"name": one.kernel.outline(), "words": words_of(one), "kernel": repr(one.kernel), "lam": one.lam,
         "value": one.value, "behind": behind - score[0], "weight": report.get("kernels", {}).get(repr(one.kernel))}
        for one, behind in zip(listed, score, strict=True)
    ]  # fmt: skip


def _findings(settings, fitted, scores, result, frame, order, budget):
    """What the report says, from the rows of the fit; None if nobody asks for it."""
    n = len(fitted.rows_)
    some = some_rows(n, settings.seed)
    if len(some) < n and scores:  # left-out predictions of all of them would take five more fits
        kept = {key: scores[key] for key in EACH_ROW if scores[key] is not None}
        scores = scores | {key: [values[i] for i in some] for key, values in kept.items()}
    table = frame[fitted.rows_[some]]
    labels = [str(row + 1) for row in order[fitted.rows_[some]]]
    own = (name for name, why in fitted.recipe_.ignored_.items() if "identifier" in why)
    names = next(own, None) if settings.id is None else settings.id  # a column that was left out since it names rows
    if names is not None:
        labels = [text or f"row {label}" for text, label in zip(as_texts(table[names]), labels, strict=True)]
    y = fitted.targets(table)[1]
    return page_about(settings, fitted, fitted.inputs(table), y, scores, result["notes"], labels, n, budget)


def page_about(settings, fitted, X, y, scores, notes, labels, rows, budget, seen=True):
    """Findings about some rows of a model that was fitted on so many; None if nobody asks for them."""
    from mercer.report import PageContext, ReportLimits, collect

    if not (settings.report or settings.output):
        return None
    context = PageContext(
        notes=notes, command=settings.command, row_labels=labels, units=fitted.recipe_.units, fitted_rows=rows,
        selection=fitted.selection_, seen=seen, errors=fitted.left_out_,
    )  # fmt: skip
    return collect(
        fitted.estimator_, X, y, feature_names=fitted.feature_names_, target=fitted.target_, scores=scores,
        context=context, options=[ReportLimits(time_budget=budget.telling)],
    )  # fmt: skip


def write_outputs(settings, fitted, result, findings):
    """Write what was asked for, all files or none; return {what: path}."""
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

    note = {"command": settings.command, "result": plain(result), "findings": findings.to_dict()}
    note["missing"] = [str(word) for word in settings.missing or ()]  # what they meant in the fit they mean later
    note["fill_down"] = [str(name) for name in settings.fill_down or ()]
    with tempfile.TemporaryDirectory(dir=Path(settings.output).parent, prefix=".mercer-") as folder:
        path = Path(folder, "model.mercer")
        files.save(fitted, path, note=note)
        with open(path, "rb") as whole:
            shutil.copyfileobj(whole, file)
