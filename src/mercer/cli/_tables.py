"""What the commands share about tables: reading them as the options say, and the model's own columns."""

import gzip
import io
import os
import stat
import sys
import tempfile
from pathlib import Path

from mercer._atomic import replacing
from mercer.cli import Usage
from mercer.exceptions import DataError
from mercer.tabular import Recipe, read
from mercer.tabular.cells import count, quote, suggest
from mercer.tabular.dialect import check_separator
from mercer.tabular.reading import no_file
from mercer.tabular.shapes import hint
from mercer.tabular.types import not_there

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs what begins like this
ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq")


def read_input(settings, session, source, missing=(), **columns):
    """The `Reading` of a file, as the options say; what was decided is said.

    ``missing`` are words for a missing value beside those of the option, which need not be in the table; ``columns``
    are more options of `read`.
    """
    how = written_as(settings)
    given = tuple(settings.missing or ())
    more = [word for word in missing if word not in given]
    options = how | {"missing": (*given, *more)}
    options |= {"skip_lines": settings.skip_lines, "sheet": settings.sheet}
    roles = {name: tuple(getattr(settings, name, None) or ()) for name in ("numeric", "ignore", "categorical")}
    options |= {"numeric": roles["numeric"], "fill_down": tuple(settings.fill_down or ())}
    options |= {"target": vars(settings).get("target"), "settled": sum(roles.values(), ())}
    found = read(source, header=not settings.no_header, **options | columns)
    quiet = {not_there(word) for word in more}
    for note in found.notes:
        if note not in quiet:
            session.say(f"note: {note}")
    return found


def written_as(settings):
    """{option of `read`: separator and decimal sign that were given}, or a refusal."""
    if settings.decimal not in (None, ".", ","):
        raise Usage(f"--decimal must be . or , and not {settings.decimal!r}")
    separator = {"tab": "\t", "\\t": "\t"}.get(settings.separator, settings.separator)
    if separator is not None:
        try:
            check_separator(separator)
        except DataError as error:
            raise Usage(f"--separator: {error}") from None
    return {"separator": separator, "decimal": settings.decimal}


def check_target(frame, target, option="--target"):
    """Refuse a name that is no column."""
    if target not in frame.columns:
        end, shape = suggest(target, frame.columns), hint(frame, target)
        raise Usage(f"{option}: there is no column {target!r}{end} There are {quote(frame.columns)}" + (
            f". But {shape}" if shape else ""))  # fmt: skip


def check_names(settings, frame, labels=False):
    """Refuse names of columns that are not there, and the target; ``labels``: but for --categorical and --numeric."""
    for option in ("ignore", "categorical", "numeric"):
        for name in getattr(settings, option) or ():
            check_target(frame, name, f"--{option}")
            if name == settings.target and not (labels and option != "ignore"):
                raise Usage(f"--{option} {name}: this is the target; the option is for the other columns")
    for option in ("id", "group", "time"):
        name = getattr(settings, option, None)
        if name is not None:
            check_target(frame, name, f"--{option}")
            if name == settings.target:
                raise Usage(f"--{option} {name}: this is the target; the option is for another column")


def as_recipe(settings):
    """The recipe that the options describe."""
    names = ("ignore", "categorical", "numeric")
    given = {name: tuple(getattr(settings, name) or ()) for name in names}
    given["ignore"] += tuple(name for name in (getattr(settings, option, None) for option in ("id", "group")) if name)
    return Recipe(**{name: tuple(one for one in some if one != settings.target) for name, some in given.items()})


def load_model(path):
    """(model, header) of a model file."""
    from mercer import files

    if not os.path.exists(path):
        raise no_file(path)
    header = files.read_header(path)
    model = files.load(path)
    if "recipe_" not in vars(model):
        raise DataError(f"{path} holds a {type(model).__name__}, not a model of `mercer fit`; use it from Python.")
    return model, header


def note_of(header, *path):
    """What a fit has noted under some names, one inside the other; None where a file holds something else."""
    found = header["note"]
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def read_for(model, header, settings, session, keep=()):
    """The `Reading` of a command, for a model: what was text or missing in the fit is so, cells are written alike."""
    columns = {"text": tuple(model.text_columns_), "strings": tuple(model.string_columns), "written": model.written}
    if not settings.fill_down:
        known = note_of(header, "fill_down")
        columns["fill_down"] = tuple(name for name in known if isinstance(name, str)) if isinstance(known, list) else ()
    columns["sentinels"] = vars(model).get("sentinels_", {})  # a model of batches has none
    words = missing_words(header)
    if words:
        session.say(f"note: missing as in the fit: {quote(words)}.")
    return read_input(settings, session, settings.data, words, raw=keep, **columns)


def missing_words(header):
    """Words that stood for a missing value in the fit of a model file."""
    words = note_of(header, "missing")
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def say_differences(model, frame, session, keep=()):
    """Say which columns of a table are neither the model's nor passed through."""
    extra = [name for name in model.recipe_.differences(frame, model.target_) if name not in keep]
    if extra:
        session.say(f"note: {count(len(extra), 'column')} that the model does not know, not used: {quote(extra)}.")


def check_free(path, option, force, endings=(), pipe=False):
    """Refuse a file that is there or cannot be written, or has a wrong ending; ``pipe``: - is standard output."""
    if path is None or (pipe and path == "-"):
        return
    target = Path(path)
    if path == "-":
        raise Usage(f"{option}: - is no file, and standard output is for the result")
    if endings and not str(path).lower().endswith(tuple(endings)):
        raise Usage(f"{option} {path}: the name must end in {', '.join(endings)}")
    folder = os.path.isdir(target)
    if folder or not os.path.isdir(target.parent):
        raise Usage(f"{option}: {path} is a folder" if folder else f"{option}: no folder {target.parent}")
    try:
        with tempfile.TemporaryFile(dir=target.parent):  # before hours of work
            there = os.lstat(target).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise Usage(f"{option}: {path} cannot be written: {error.strerror}") from None
    if not (stat.S_ISREG(there) or stat.S_ISLNK(there)):
        raise Usage(f"{option}: {path} is no plain file")
    if not force:
        raise Usage(f"{option}: {path} is there already; --force replaces it")


def check_apart(settings, outputs, inputs):
    """Refuse two options with one file, of which one is to be written; --force does not help."""
    met = {}
    for option in (*inputs, *outputs):
        path = getattr(settings, option, None)
        if path is None or path == "-":
            continue
        name = option.upper() if option in ("data", "model") else f"--{option}"
        other = met.setdefault(os.path.realpath(path), name)
        if other != name and option in outputs:
            raise Usage(f"{name}: {path} is the file of {other}, too; give it another name")


def write_bytes(data, path, force):
    """Write a file whole or not at all."""
    with replacing(path, force) as file:
        file.write(data)


def write_table(frame, path, force):
    """Write a table by the ending of its name; ``-`` is CSV on standard output."""
    name = str(path).lower()
    if name == "-":
        sys.stdout.write(csv_bytes(frame, ",").decode())
        sys.stdout.flush()
        return
    if name.endswith((".parquet", ".pq")):
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        data = buffer.getvalue()
    else:
        data = csv_bytes(frame, "\t" if name.removesuffix(".gz").endswith(".tsv") else ",")
        data = gzip.compress(data, mtime=0) if name.endswith(".gz") else data
    write_bytes(data, path, force)


def csv_bytes(frame, separator, header=True):
    """A frame as CSV, its names harmless in a spreadsheet."""
    names = {name: f"'{name}" for name in frame.columns if name.startswith(FORMULA)}
    return frame.rename(names).write_csv(separator=separator, include_header=header).encode()
