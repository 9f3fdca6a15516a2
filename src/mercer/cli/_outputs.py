"""The files of `mercer fit`: the model, the page about it, the card beside it."""

import json
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from mercer.cli._fit_text import as_it_is
from mercer.cli._session import plain
from mercer.tabular.learn import shown

CARD_ENDINGS = (".md", ".json")


def write_outputs(settings, fitted, result, findings):
    """Write what was asked for, all files or none; return {what: path}."""
    from mercer.files.atomic import replacing

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
