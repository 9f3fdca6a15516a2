"""``mercer inspect`` and ``mercer report``: what a model file says of itself."""

from pathlib import Path

from mercer import files
from mercer.cli import _fit_text
from mercer.cli._session import Session, print_json
from mercer.cli._tables import check_free
from mercer.exceptions import DataError, ModelFileError


def run_inspect(settings):
    """Print what a model file holds; its arrays are not read."""
    with Session(settings):
        header = files.read_header(settings.model)
    note = header.get("note") or {}
    found = {key: value for key, value in header.items() if key != "note"}
    result = note.get("result")
    if settings.json:
        print_json({"schema": "mercer.inspect/1", "file": settings.model, **found, "fit": result})
    else:
        print(words(settings.model, header, result))
    return 0


def words(path, header, result):
    """The header as text."""
    rows = [("file", f"{path}, {header['bytes'] / 1e6:.3g} MB, format {header['format']}")]
    rows.append(("holds", header["class"]))
    rows.append(
        ("made by", f"mercer {header['mercer']}; " + ", ".join(f"{k} {v}" for k, v in header["versions"].items()))
    )
    if result:
        rows.append(("command", result["command"]))
    text = "\n".join(f"{name:<8}  {value}" for name, value in rows)
    text += "\n\nThe file contains the training inputs: whoever has it has them."
    if not result:
        return f"{text}\n\nkernel    {header['kernel']}\n\nNot made by `mercer fit`: there is no more in its header."
    return f"{text}\n\n{_fit_text.page({**result, 'files': {}}).rsplit(chr(10) * 2, 1)[0]}"


def run_report(settings):
    """Write the page of a model file."""
    output = settings.output or str(Path(settings.model).with_suffix(".html"))
    check_free(output, "--output", settings.force, (".html", ".htm"))
    with Session(settings) as session:
        note = files.read_header(settings.model).get("note") or {}
        if "findings" not in note:
            raise DataError(f"{settings.model} has no findings for a report; it was not made by `mercer fit -o`.")
        _write_page(note["findings"], output, settings)
        session.say(f"Written: {output}.")
    return 0


def _write_page(values, output, settings):
    """Write the page of findings as a model file holds them: whatever they are, they end in a page or a message."""
    from mercer.report import Findings, write

    try:
        found = Findings.from_dict(values)
    except ValueError as error:
        raise ModelFileError(f"{settings.model}: {error}") from error
    try:
        write(found, output, force=settings.force)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{settings.model}: its findings are damaged ({type(error).__name__}: {error}); use a copy of the file, or "
            "fit again."
        ) from error
