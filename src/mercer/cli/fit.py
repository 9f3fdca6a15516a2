"""``mercer fit``: read, plan, fit, judge, keep; files are written at the very end, or not at all."""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from mercer._warn import Caution
from mercer.cli import Usage, _fit_text, large
from mercer.cli._options import (
    AUTO,
    LABELS,
    MOST_SERIES,
    TITLES,
    Budget,
    check_kernel,
    check_transform,
    criterion_name,
    default_model,
    kernel_objects,
    make_estimator,
    model_name,
    read_kernel,
    settled,
    strings_of,
)
from mercer.cli._outputs import result_of, some_rows, write_outputs
from mercer.cli._session import Session, not_of_data, print_json
from mercer.cli._tables import (
    as_recipe,
    check_apart,
    check_free,
    check_names,
    check_target,
    read_input,
    say_differences,
)
from mercer.cli.evaluate import measures
from mercer.cli.plan import plan_dict
from mercer.cli.predict import rounded
from mercer.exceptions import DataError
from mercer.tabular import TableModel, rows_ahead, score
from mercer.tabular.cells import quote, renumber_rows
from mercer.tabular.columns import as_texts, is_text, usable_rows
from mercer.tabular.forecast import forward_folds, series_along
from mercer.tabular.kernels import length_scales
from mercer.tabular.shapes import hint

LEAST_SCORED = 10  # rows of the cross-validation
FEW, CLASS = 5, 6  # different whole numbers, and rows of each, that may be classes


def run(settings):
    """Fit a model to a table."""
    for option, endings in (("output", ()), ("report", (".html", ".htm"))):
        check_free(getattr(settings, option), f"--{option}", settings.force, endings)
    check_apart(settings, ("output", "report"), ("data", "test"))
    if settings.group is not None and settings.time is not None:
        raise Usage(
            f"--group {settings.group} and --time {settings.time}: one of them. Folds leave whole groups out, or go "
            "forward in time"
        )
    if settings.test == "-" and settings.data == "-":
        raise Usage("only one of DATA and --test can be standard input")
    kernel = read_kernel(settings.kernel)
    pages = large.pages_of(settings, kernel)
    if pages is not None and not (large.searches(settings, kernel) and large.begins_series(settings, pages)):
        return large.run(settings, kernel, pages)
    if settings.dask is not None:
        raise Usage(
            "--dask is for tables that are read in batches: Parquet or plain CSV of 6,000 rows or more, models and "
            "options as docs/command_line.md lists them under large tables. This one is fitted here: leave --dask away"
        )
    with Session(settings) as session:
        budget = Budget(settings, session)
        reading = read_input(settings, session, settings.data, strings=strings_of(kernel, settings.target))
        settings.fill_down = [*reading.filled]  # as a table to be predicted is
        check_target(reading.frame, settings.target)
        check_names(settings, reading.frame, labels=True)
        shape = hint(reading.frame, settings.target)
        if shape:
            reading.notes.append(Caution(shape))
            session.say(f"note: {shape}")
        reading, order = _in_time(settings, reading)
        test = _read_test(settings, session, reading, strings_of(kernel, settings.target))
        model, facts = _model(settings, reading.frame, kernel, budget)
        if facts["newest_first"]:
            reading, order = reading._replace(frame=reading.frame.reverse()), order[::-1]
        facts |= {"file": settings.data, "sha256": reading.sha256, "reading": reading.notes, "order": order}
        if settings.dry_run:
            return dry_run(settings, facts)
        session.say(_fit_text.announcement(facts))
        session.stages(1 + (0 if facts["folds"] == 0 else facts["folds"]))
        began = session.seconds
        fitted = _fit(model, reading, session)
        facts["fit_seconds"] = session.seconds - began
        scores = _scores(model, fitted, reading.frame, facts, settings, session, budget)
        session.clear()
        session.flush()
        facts["test"] = None if test is None else _test(fitted, test, session)
        result, findings = result_of(settings, fitted, scores, facts, budget, reading.frame)
        session.flush()
        result["warnings"] = list(session.warnings)
        result["forecast"] = None if settings.forecast is None else _forecast(fitted, settings.forecast)
        result["files"] = write_outputs(settings, fitted, result, findings)
    print_json(result) if settings.json else print(_fit_text.page(result, () if settings.quiet else reading.notes))
    return 0


def _in_time(settings, reading):
    """(the reading with its rows in the order of --time, the number of each row in the file)."""
    if settings.time is None:
        return reading, np.arange(reading.frame.height)
    column = reading.frame[settings.time]
    if column.null_count() or not (column.dtype.is_numeric() or column.dtype.is_temporal()):
        what = f"{column.null_count():,} cells are missing" if column.null_count() else f"it holds {column.dtype}"
        raise DataError(
            f"--time {settings.time}: rows cannot be put in order, {what}; give a column of dates or numbers"
        )
    order = np.argsort(column.to_numpy(), kind="stable")
    return reading._replace(frame=reading.frame[order]), order


def _read_test(settings, session, reading, strings):
    """The test table, text where the other one has text, its cells written alike; None if there is none."""
    if settings.test is None:
        return None
    texts = tuple(column.name for column in reading.frame.get_columns() if is_text(column))
    columns = {"text": texts, "strings": strings, "written": reading.written, "sentinels": reading.sentinels}
    test = read_input(settings, session, settings.test, **columns).frame
    check_target(test, settings.target, "--test")
    return test


def _model(settings, frame, kernel, budget):
    """(unfitted TableModel, facts): what is going to be fitted, and on how many rows."""
    notes = []
    name = model_name(settings, frame[settings.target], notes)
    labels = name in LABELS
    rows, y = usable_rows(frame, settings.target, labels, notes)
    if not labels and len(rows) > MOST_SERIES and budget.most_rows is None and large.searches(settings, kernel):
        budget.most_rows = MOST_SERIES if large.continues(settings, frame[rows]) else None
    kernel = settled(settings, kernel, name, len(rows), budget)
    objects = kernel_objects(kernel, frame[rows], settings)
    with renumber_rows(rows):
        recipe = as_recipe(settings).fit(frame[rows].drop(settings.target), objects=objects, sentinels={})
        check_kernel(kernel, recipe, frame[rows])
    budget.searching = min(len(rows), budget.most_rows or len(rows)) if kernel == AUTO else 0
    budget.judge_classes(name, len(np.unique(y)) if labels else 0, settings.quick)
    choosing = kernel == AUTO and not labels
    along = None if labels else series_along(recipe, frame[rows].drop(settings.target))
    series, backwards = along or (None, False)
    budget.series = series is not None
    _check_forecast(settings, recipe, series)
    if settings.group is not None:
        series = None  # whoever names groups is judged by new ones, in order or not
    if (series is not None or settings.time is not None) and not settings.no_score:
        how = f"a series along {series!r}" if settings.time is None else f"in the order of {settings.time!r}"
        notes.append(f"rows are {how}: folds are of the second half, each predicted from what was before.")
    if choosing and settings.model == "auto":
        name = default_model(settings, name, series)
    series = series or settings.time
    criterion = criterion_name(settings, name, kernel)
    folds = _folds(settings, y, labels, budget, notes)
    most, plan, searched, said = budget.rows(name, len(rows), len(recipe.feature_names_), folds)
    notes += said
    _check_values(settings, name, y, notes)
    if not labels and np.ptp(y) == 0:
        folds = 0
    estimator = make_estimator(settings, name, criterion, kernel, budget)
    options = {"target": settings.target, "fit_rows": most, "search_rows": searched, "random_state": settings.seed}
    options["optimize"] = "lam" if settings.fix_kernel else "all"
    options["target_transform"] = check_transform(settings, name)
    facts = {
        "name": name,
        "title": TITLES[name],
        "criterion": criterion,
        "searched": (budget.search, budget.folds) if budget.searching else None,
        "series": series,
        "even": along is not None,
        "newest_first": backwards,
        "rows": frame.height,
        "target_rows": len(rows),
        "features": len(recipe.feature_names_),
        "folds": folds,
        "plan": plan,
        "search_rows": searched,
        "notes": notes,
        "recipe": recipe,
    }
    return TableModel(estimator, as_recipe(settings), **options), facts


def _check_forecast(settings, recipe, series):
    """Refuse, before anything is fitted, to continue rows that are no series, or that have inputs beside time."""
    if settings.forecast is None:
        return
    if series is None:
        raise DataError(
            "--forecast continues a series of numbers, and these rows are none: they would be in the order of a column "
            "of dates or numbers, at even steps (--time NAME puts them in order)"
        )
    others = [column["name"] for column in recipe.used if column["name"] != series]
    if others:
        raise DataError(
            f"--forecast knows what comes next in {series!r} alone, and the model would also read {quote(others)}: "
            f"leave them out (--ignore {others[0]}), or predict a table of the rows to come"
        )


def _folds(settings, y, labels, budget, notes):
    """Folds that can judge the model: none of few rows, nor of classes that would be whole in one fold."""
    used = min(len(y), budget.most_rows or len(y))
    if settings.no_score or used < LEAST_SCORED:
        return 0
    if labels and sorted(np.unique(y, return_counts=True)[1])[-2:][0] < 2:
        notes.append("one class alone has two rows or more: not judged by cross-validation.")
        return 0
    return min(settings.folds, used // 2)


def _check_values(settings, name, y, notes):
    """Refuse targets that the model cannot have, and say what else the values may mean."""
    values, target = np.unique(y), settings.target
    if name in LABELS and len(values) > max(2, len(y) / 2):
        raise DataError(
            f"the target {target!r} has {len(values):,} different labels in {len(y):,} rows: too many to learn"
        )
    if name == "poisson" and values[0] < 0:
        raise DataError(
            f"the target {target!r} is {values[0]:g} in a row, and --model poisson is for counts, 0 or more"
        )
    if name not in LABELS and len(values) == 1:
        notes.append(f"the target {target!r} is {values[0]:g} in all rows: the model is that constant.")
    elif name not in LABELS and len(values) == len(y) > 2 and (np.diff(values) == 1).all():
        notes.append(
            f"the target {target!r} is every whole number from {values[0]:g} to {values[-1]:g} once: it may number the "
            "rows, and then there is nothing to learn."
        )
    elif name not in LABELS and 1 < len(values) <= FEW and CLASS * len(values) <= len(y) and (values % 1 == 0).all():
        notes.append(
            f"the target {target!r} is predicted as a number, of {len(values)} whole ones; --categorical {target!r} "
            "makes classes of them."
        )


def dry_run(settings, facts):
    """Print what would be done."""
    if settings.json:
        kept = ("title", "criterion", "rows", "target_rows", "features", "folds")
        found = {key: facts[key] for key in kept} | {"feature_names": facts["recipe"].feature_names_}
        found["notes"] = [*facts["notes"], *facts["recipe"].notes_]
        print_json({"schema": "mercer.plan/1", "model": facts["name"], **found, "plan": plan_dict(facts["plan"])})
    else:
        print(_fit_text.dry_run(facts))
    return 0


def _fit(model, reading, session):
    """The fitted model."""
    try:
        fitted = clone(model).fit(
            reading.frame, listener=session.listener, written=reading.written, sentinels=reading.sentinels
        )
    except ValueError as error:
        if "target=" not in str(error):
            raise
        raise DataError(f"--target-transform: {error}") from None
    known = length_scales(fitted.estimator_.kernel_, fitted.recipe_)
    session.names = {name: f"the length scale of {column!r}" for name, column in known}
    session.listener(1, 1)
    return fitted


def _scores(model, fitted, frame, facts, settings, session, budget):
    """(nested cross-validation, its rows among those of the fit), or None."""
    notes, folds = facts["notes"], facts["folds"]
    if fitted.selection_ is not None and fitted.selection_.status == "time_budget":
        notes.append("the search was stopped when its share of the time budget was spent; the best so far is kept.")
    few = len(fitted.rows_) < LEAST_SCORED
    if few and not settings.no_score:
        notes.append(f"fewer than {LEAST_SCORED} rows: not judged by cross-validation.")
    if few or not folds:
        return None
    rows = some_rows(len(fitted.rows_), settings.seed)
    outer = folds
    if settings.group is not None:
        outer = _group_folds(settings, frame[fitted.rows_[rows]], folds, notes)
    ordered = facts["series"] is not None
    thinned = ordered and facts["even"] and len(fitted.rows_) < facts["target_rows"]
    rows = np.arange(len(fitted.rows_)) if thinned else rows
    table = frame if thinned else frame[fitted.rows_[rows]]
    if ordered:  # of a long series each fold has its own last rows, and the later half of those of the fit are judged
        outer = forward_folds(facts["target_rows"] if thinned else len(rows), folds, len(rows) // (2 * folds))
    options = {"outer": outer, "random_state": settings.seed, "listener": session.listener}
    try:
        with renumber_rows(np.arange(frame.height) if thinned else fitted.rows_[rows]):
            found = score(model, table, fitted=fitted, **budget.of_folds(facts["fit_seconds"]), **options)
            found = found.take(fitted.rows_) if thinned and found is not None else found
    except ValueError as error:  # of some rows: the model on all of them is there, and is kept
        notes.append(f"not judged by cross-validation, as a fit without some of the rows failed: {error}")
        return None
    if len(rows) < len(fitted.rows_) and found is not None:
        notes.append(
            f"judged on {len(rows):,} of {len(fitted.rows_):,} rows, drawn at random; with all of them it would rather "
            "be better."
        )
    if found is None:
        notes.append("the time budget was spent before a fold could begin: not judged by cross-validation.")
        return None
    done = len(found.scores)
    if done < found.planned:
        these = "this one" if done == 1 else f"these {done}"
        unasked = "each fold takes as long as the fit, and there was time for"
        why = "the time budget was spent after" if budget.asked else unasked
        more = "." if budget.asked else "; --time-budget gives more."
        notes.append(f"{why} {done} of {found.planned} folds: the score is of {these}{more}")
    return found, rows


def _group_folds(settings, frame, folds, notes):
    """[(train, test), …] with the rows of each group in one fold."""
    groups = as_texts(frame[settings.group])
    if None in groups:
        raise DataError(f"--group {settings.group}: {groups.count(None):,} cells are missing; fill them")
    many = len(set(groups))
    if many < 2:
        raise DataError(f"--group {settings.group}: there is one group alone, {groups[0]!r}; at least two are needed")
    notes.append(f"the rows of each {settings.group!r} are in one fold ({many:,} groups): judged on new ones.")
    return list(GroupKFold(min(folds, many)).split(np.zeros(len(groups)), groups=groups))


def _forecast(fitted, count):
    """{column: values}: the next rows of the series, their predictions and intervals of 90 %."""
    frame = rows_ahead(fitted, count)
    with not_of_data():  # that they are beyond the rows of the fit
        mean, ends = fitted.predict(frame), fitted.predict_interval(frame)
    found = rounded({"prediction": mean, "lower": ends[:, 0], "upper": ends[:, 1]}, fitted)
    return frame.to_dict(as_series=False) | {name: values.tolist() for name, values in found.items()}


def _test(fitted, frame, session):
    """The measures on the test table."""
    say_differences(fitted, frame, session)
    return measures(fitted, frame, session)
