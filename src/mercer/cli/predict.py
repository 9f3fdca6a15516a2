"""``mercer predict``: each row of a table, in its order; of a large one batch by batch, written as they are made."""

from contextlib import ExitStack, contextmanager

import numpy as np
from sklearn.base import is_classifier

from mercer._atomic import replacing
from mercer.cli import Usage
from mercer.cli._budget import JobOptions
from mercer.cli._session import Session, not_of_data
from mercer.cli._tables import (
    ENDINGS,
    check_apart,
    check_free,
    check_target,
    csv_bytes,
    load_model,
    missing_words,
    note_of,
    read_for,
    say_differences,
    write_table,
)
from mercer.cli.evaluate import quiet_interval
from mercer.cli.large import batches_of
from mercer.tabular import rows_ahead
from mercer.tabular.cells import renumber_rows

METHODS = {
    "gaussian": "from the posterior of the Gaussian process",
    "calibrated": "from the Gaussian process, with as many deviations as rows left out ask for",
    "conformal": "conformal, from the fits without each row; a little short, as λ was chosen on the same rows",
    "mixture": "between two quantiles of the mixture of processes",
    "mapped": "from those of the transformed target",
    "left-out": "prediction ± a quantile of the errors on rows left out of fits that chose everything again",
}


def run_predict(settings):
    """Write the predictions of a table, or of the rows that come next."""
    if (settings.data is None) == (settings.forecast is None):
        raise Usage("give a table to predict, or --forecast N for the next N rows of a series")
    if settings.forecast is not None and settings.keep:
        raise Usage("--keep passes columns of a table through, and --forecast reads none")
    if settings.interval is not None and not 0 < settings.interval < 1:
        raise Usage(f"--interval must be between 0 and 1, got {settings.interval:g}")
    check_free(settings.output, "--output", settings.force, ENDINGS, pipe=True)
    check_apart(settings, ("output",), ("model", "data"))
    with Session(settings) as session:
        model, header = load_model(settings.model)
        keep, known = tuple(dict.fromkeys(settings.keep or ())), note_of(header, "result", "data", "id")
        known = [known] if isinstance(known, str) else []
        if settings.forecast is not None:
            write_table(_ahead(settings, model, session), settings.output, settings.force)
            return _finish(settings, settings.forecast, session)
        pages = _pages(settings, missing_words(header))
        if pages is not None:
            return _finish(settings, _in_batches(settings, pages, model, keep, session), session)
        reading = read_for(model, header, settings, session, tuple(dict.fromkeys([*known, *keep])))
        frame = reading.frame
        for name in keep:
            check_target(frame, name, "--keep")
        keep = tuple(dict.fromkeys([*(name for name in known if name in frame.columns), *keep]))
        say_differences(model, frame, session, keep)
        columns = _output_columns(settings, model, frame, session)
        session.flush()
        write_table(_join_columns(reading.raw, columns), settings.output, settings.force)
        return _finish(settings, frame.height, session)


def _pages(settings, missing):
    """`Pages` of a table that is large, or of several files; None for one that is read as a whole."""
    whole = settings.output == "-" or settings.output.lower().endswith(".gz")
    if whole or settings.skip_lines is not None or settings.sheet is not None:
        return None
    return batches_of(settings, settings.options[JobOptions].rows_predicted_in_batches, missing)


def _in_batches(settings, pages, model, keep, session):
    """Write the predictions of all batches to one file, whole or not at all; return how many rows."""
    import polars as pl

    for name in keep:
        check_target(pl.DataFrame(schema=pages.names), name, "--keep")
    for note in pages.notes:
        session.say(f"note: {note}")
    text, dates, rows = tuple(model.text_columns_), dict(model.written), 0
    tick = session.rows("predicted")
    with replacing(settings.output, settings.force) as file, _appending(file, settings.output) as append:
        for start, raw in pages:
            with renumber_rows(range(start, start + raw.height)):
                frame = pages.infer_types(raw, text, dates)
                if not start:
                    say_differences(model, frame, session, keep)
                append(_join_columns(raw.select(keep), _output_columns(settings, model, frame, session)))
            rows = start + raw.height
            if tick is not None:
                tick(rows)
    return rows


@contextmanager
def _appending(file, path):
    """What appends batches to a file, by its ending: CSV with the names once, or Parquet with a row group for each."""
    name = path.lower()
    if not name.endswith((".parquet", ".pq")):
        separator, first = "\t" if name.endswith(".tsv") else ",", iter([True])
        yield lambda frame: file.write(csv_bytes(frame, separator, next(first, False)))
        return
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise Usage(
            f"--output {path}: Parquet of a large table is written by pyarrow, which is not installed; a name that "
            "ends in .csv needs nothing"
        ) from None
    opened = []
    with ExitStack() as stack:

        def append(frame):
            table = frame.to_arrow()
            if not opened:
                opened.append(stack.enter_context(pq.ParquetWriter(file, table.schema)))
            opened[0].write_table(table.cast(opened[0].schema))

        yield append


def _ahead(settings, model, session):
    """The next rows of a series with their predictions; that they are beyond those of the fit need not be said."""
    frame = rows_ahead(model, settings.forecast)
    with not_of_data():
        return _join_columns(frame, _output_columns(settings, model, frame, session))


def _output_columns(settings, model, frame, session):
    """The predictions, with as many digits as they have where they are written as text."""
    columns = _predictions(settings, model, frame, session)
    return columns if settings.output.lower().endswith((".parquet", ".pq")) else round_columns(columns, model)


def _finish(settings, rows, session):
    """Say what was written."""
    if settings.output != "-":
        settings.written = [settings.output]
        session.say(f"{rows:,} rows written to {settings.output}.")
    return 0


def _predictions(settings, model, frame, session):
    """{name: values} of the predictions and what was asked for beside them."""
    estimator, X = model.estimator_, model.inputs(frame)
    if is_classifier(estimator):
        if settings.interval is not None or settings.std:
            raise Usage("a classifier has probabilities, which are always written; leave --interval and --std away")
        P = estimator.predict_proba(X)
        found = {"prediction": estimator.predict(X)}
        return found | {f"p({label})": P[:, i] for i, label in enumerate(estimator.classes_)}
    if settings.std and not estimator.probabilistic:
        raise Usage("--std is for Gaussian processes: fit with --model gp, or ask for --interval")
    made = estimator.predict(X, return_std=True, noisy=True) if settings.std else [estimator.predict(X)]
    found = dict(zip(("prediction", "std"), made, strict=False))
    if settings.interval is not None:
        session.once(f"note: {100 * settings.interval:g}% intervals: {METHODS[model.interval_method]}.")
        ends = quiet_interval(model, frame, settings.interval)
        found |= {"lower": ends[:, 0], "upper": ends[:, 1]}
    return found


def round_columns(columns, model):
    """The columns with as many digits as mean something: to a ten-thousandth of the deviation of y, or of 1."""
    spread = 1.0 if is_classifier(model.estimator_) else vars(model).get("target_spread_", 0.0)
    if not 0 < spread < np.inf:
        return columns
    digits = 4 - int(np.floor(np.log10(spread)))
    return {
        name: np.round(v, digits) if np.asarray(v).dtype.kind == "f" and -300 < digits < 300 else v
        for name, v in columns.items()
    }


def _join_columns(kept, columns):
    """The columns to keep, cell by cell as they are in the file, and the predictions beside them."""
    import polars as pl

    clash = [name for name in kept.columns if name in columns]
    if clash:
        raise Usage(f"--keep {clash[0]}: a column of that name is written; rename it first")
    return pl.DataFrame([*kept.get_columns(), *(pl.Series(name, v) for name, v in columns.items())])
