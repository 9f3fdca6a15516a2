"""What the commands share about tables: reading them as the options say, and the model's own columns."""

import sys

from mercer.cli._errors import Usage
from mercer.tabular import read
from mercer.tabular._words import count, listed, meant

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs what begins like this
ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq")


def read_input(settings, session, source, text=(), strings=()):
    """The table of a file, read as the options say; what was decided is said."""
    if settings.decimal not in (None, ".", ","):
        raise Usage(f"--decimal must be . or , and not {settings.decimal!r}")
    separator = {"tab": "\t", "\\t": "\t"}.get(settings.separator, settings.separator)
    options = {"separator": separator, "decimal": settings.decimal, "missing": tuple(settings.missing or ())}
    found = read(source, header=not settings.no_header, text=text, strings=strings, **options)
    for note in found.notes:
        session.say(f"note: {note}")
    return found


def check_target(frame, target, option="--target"):
    """Refuse a name that is no column."""
    if target not in frame.columns:
        end = meant(target, frame.columns)
        raise Usage(f"{option}: there is no column {target!r}{end} There are {listed(frame.columns)}")


def check_names(settings, frame):
    """Refuse names of columns that are not there."""
    for option in ("ignore", "categorical", "numeric"):
        for name in getattr(settings, option) or ():
            check_target(frame, name, f"--{option}")


def as_recipe(settings):
    """The recipe that the options describe."""
    from mercer.tabular import Recipe

    names = ("ignore", "categorical", "numeric")
    return Recipe(**{name: tuple(getattr(settings, name) or ()) for name in names})


def load_model(path):
    """(model, header) of a model file."""
    from mercer import files
    from mercer.exceptions import DataError
    from mercer.tabular import TableModel

    header = files.read_header(path)
    model = files.load(path)
    if not isinstance(model, TableModel):
        raise DataError(f"{path} holds a {type(model).__name__}, not a model of `mercer fit`; use it from Python.")
    return model, header


def read_for(model, settings, session, keep=()):
    """The table of a command, read for a model: what was text in the fit is text."""
    text = (*model.text_columns_, *keep)
    return read_input(settings, session, settings.data, text, tuple(model.string_columns)).frame


def say_differences(model, frame, session, keep=()):
    """Say which columns of a table are neither the model's nor passed through."""
    extra = [name for name in model.recipe_.differences(frame, model.target_) if name not in keep]
    if extra:
        session.say(f"note: {count(len(extra), 'column')} that the model does not know, not used: {listed(extra)}.")


def check_free(path, option, force, endings=()):
    """Refuse a file to write that is there, has no folder, or has a wrong ending."""
    from pathlib import Path

    if path is None or path == "-":
        return
    target = Path(path)
    if endings and not str(path).lower().endswith(tuple(endings)):
        raise Usage(f"{option} {path}: the name must end in {', '.join(endings)}")
    if target.is_dir() or not target.parent.is_dir():
        raise Usage(f"{option}: {path} is a folder" if target.is_dir() else f"{option}: no folder {target.parent}")
    if target.exists() and not force:
        raise Usage(f"{option}: {path} is there already; --force replaces it")


def write_bytes(data, path, force):
    """Write a file whole or not at all."""
    from mercer.files._atomic import replacing

    with replacing(path, force) as file:
        file.write(data)


def write_table(frame, path, force):
    """Write a table by the ending of its name; ``-`` is CSV on standard output."""
    import gzip
    import io

    name = str(path).lower()
    if name == "-":
        sys.stdout.write(_csv(frame, ",").decode())
        sys.stdout.flush()
        return
    if name.endswith((".parquet", ".pq")):
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        data = buffer.getvalue()
    else:
        data = _csv(frame, "\t" if ".tsv" in name else ",")
        data = gzip.compress(data, mtime=0) if name.endswith(".gz") else data
    write_bytes(data, path, force)


def _csv(frame, separator):
    """A frame as CSV, its names harmless in a spreadsheet."""
    names = {name: f"'{name}" for name in frame.columns if name.startswith(FORMULA)}
    return frame.rename(names).write_csv(separator=separator).encode()
