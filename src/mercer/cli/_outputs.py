"""What `mercer fit` found, as plain values; and its files: the model, and the page about it."""

import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import mercer
from mercer._atomic import replacing
from mercer.cli._options import LABELS
from mercer.cli._session import as_json
from mercer.selection.kernels_search.found import words_of


def describe(job):
    """What is known of a fit without its page, as plain values."""
    settings, model = job.settings, job.model
    estimator, recipe = model.estimator_, model.recipe_
    return {
        "schema": "mercer.fit/1",
        "mercer": mercer.__version__,
        "command": settings.command,
        "seed": settings.seed,
        "data": {
            "file": settings.data,
            "sha256": job.sha256,
            "rows": job.rows,
            "used_rows": job.judged.fitted,
            "target": model.target_,
            "task": "classification" if job.name in LABELS else "regression",
            "columns": recipe.used,
            "ignored": recipe.ignored_,
            "features": model.feature_names_,
            "id": settings.id,
        },
        "model": {
            "name": job.name,
            "title": job.title,
            "criterion": job.criterion,
            "kernel": repr(estimator.kernel_),
            "lam": None if estimator.lam_ is None else float(estimator.lam_),
            "selection": None if model.selection_ is None else model.selection_.to_dict(),
            "candidates": _leaderboard(model.selection_, estimator.fit_report_) if job.searched else [],
            "fit_report": dict(estimator.fit_report_),
        },
        "score": job.score,
        "test": job.measured,
        "notes": list(job.notes),
    }


def findings_of(job, notes):
    """What the page says of the rows that judged a fit."""
    from mercer.report import CheckThresholds, PageContext, ReportLimits, collect

    model, rows = job.model, job.judged
    context = PageContext(
        notes=[*notes, *rows.notes], command=job.settings.command, row_labels=rows.labels, units=model.recipe_.units,
        fitted_rows=rows.fitted, selection=model.selection_, seen=rows.seen, errors=model.left_out_,
    )  # fmt: skip
    limits = replace(job.settings.options[ReportLimits], time_budget=job.budget.for_page)
    return collect(
        model.estimator_, rows.X, rows.y, feature_names=model.feature_names_, target=model.target_, scores=rows.scores,
        context=context, options=[limits, job.settings.options[CheckThresholds]],
    )  # fmt: skip


def add_page(result, findings, importance=()):
    """The result with what its page says, or with the importance of its columns that is known without one."""
    if findings is not None:
        importance = [(one.name, one.rise) for one in (findings.effects.columns if findings.effects else ())]
    result["model"]["importance"] = [list(pair) for pair in importance]
    result["verdict"] = None if findings is None else findings.verdict.sentences
    fired = [] if findings is None else findings.checks
    result["checks"] = [{"code": one.code, "severity": one.severity, "text": one.text, "remedy": one.remedy}
                        for one in fired]  # fmt: skip
    return result


def _leaderboard(found, report):
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

    note = {"command": settings.command, "result": as_json(result), "findings": findings.to_dict()}
    note["missing"] = [str(word) for word in settings.missing or ()]  # what they meant in the fit they mean later
    note["fill_down"] = [str(name) for name in settings.fill_down or ()]
    with tempfile.TemporaryDirectory(dir=Path(settings.output).parent, prefix=".mercer-") as folder:
        path = Path(folder, "model.mercer")
        files.save(fitted, path, note=note)
        with open(path, "rb") as whole:
            shutil.copyfileobj(whole, file)
