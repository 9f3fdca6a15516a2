"""``mercer fit`` of tables larger than memory: two readings, a fit on landmarks, and rows held out that judge it."""

import os
from contextlib import nullcontext

from mercer.cli import _fit_text
from mercer.cli._options import (
    AUTO,
    LABELS,
    LEAST_SECONDS,
    TITLES,
    Budget,
    criterion_name,
    make_estimator,
    model_name,
    seconds,
    strings_of,
)
from mercer.cli._outputs import add_page, described, page_about, write_outputs
from mercer.cli._session import Session, print_json
from mercer.cli._tables import as_recipe, check_names, check_target, written_as

LEAST = 6000  # rows from which a table is read in batches
MODELS = {"auto", "ridge", "gp", "huber", "poisson", "logistic"}  # which are fitted on landmarks
CRITERIA = {"auto", "loo", "gcv", "evidence"}
SOUGHT = {"auto", "evidence"}  # by which kernels are searched for
SMALL = (
    "max_rows",
    "id",
    "group",
    "time",
    "forecast",
    "target_transform",
    "skip_lines",
    "sheet",
    "fill_down",
)  # which need the table at once
FIT = 0.65  # of the time that is left after reading, for the fit
WAITED, SECONDS = 100_000, 60.0  # rows up to which somebody waits for the fit, and how long, where nothing is said
MANY, WHOLE = 10_000, 10**8  # rows from which, and numbers up to which, a process has a table at once
HEAD = 1000  # rows that tell a series
SEARCHED = 3000  # rows that hyper-parameters are chosen on first
SIMPLE = 20_000  # rows that simple models are fitted on
SHOWN = 5000  # rows of the page
GROUPS = 5  # of the rows that judge: how far their scores differ


def pages_of(settings, kernel):
    """`Pages` of a table that is large, or of several files; None for a table that is read as a whole."""
    plain = kernel is None or (kernel != AUTO and not strings_of(kernel, settings.target))
    more = any(getattr(settings, name) is not None for name in SMALL)
    if more or not plain or settings.model not in MODELS or settings.criterion not in CRITERIA:
        return None
    return batches_of(settings, LEAST)


def batches_of(settings, least, missing=()):
    """`Pages` of several files, or of a table with so many rows; None for one that is read as a whole.

    ``missing`` are words for a missing value beside those of the option.
    """
    from mercer.tabular.pages import Pages, is_readable_in_batches, is_text, lines_about

    if not is_readable_in_batches(settings.data):
        return None
    several = not os.path.isfile(settings.data)
    if not several and os.path.getsize(settings.data) < least:
        return None
    if not several and is_text(settings.data) and lines_about(settings.data) < least:
        return None
    options = written_as(settings) | {"missing": (*(settings.missing or ()), *missing)}
    options["target"] = vars(settings).get("target")
    pages = Pages(settings.data, header=not settings.no_header, **options)
    return pages if several or pages.about() >= least else None


def searches(settings, kernel):
    """Whether nothing that was asked for is in the way of a search over kernels."""
    asked = settings.quick or settings.fix_kernel or settings.dask is not None or kernel not in (None, AUTO)
    long = settings.time_budget is None or seconds(settings.time_budget, "--time-budget") >= LEAST_SECONDS
    return not asked and long and settings.model in ("auto", "ridge", "gp") and settings.criterion in SOUGHT


def begins_series(settings, pages):
    """Whether the first rows of one table are a series, and nothing but their time is read."""
    if len(pages.paths) > 1:
        return False
    _, frame = next(iter(pages))
    return settings.target in frame.columns and continues(settings, pages.infer_types(frame[:HEAD]))


def continues(settings, frame):
    """Whether the rows are a series along the one column that is read beside the target."""
    from mercer.tabular.forecast import series_along

    table = frame.drop(settings.target)
    recipe = as_recipe(settings).fit(table)
    return len(recipe.used) == 1 and series_along(recipe, table) is not None


def run(settings, kernel, pages):
    """Fit a model to a table that is read in batches."""
    from mercer.tabular.cells import renumber_rows
    from mercer.tabular.large import HELD, PART, Converter, as_model, make_numbers, survey

    with Session(settings) as session, workers_of(settings) as workers:
        budget = Budget(settings, session)
        found = survey(pages, settings.categorical or (), session.rows("first reading"), settings.numeric or ())
        session.say(f"first reading: {found.rows:,} rows in {session.seconds:.1f} s.")
        check_target(found.frame, settings.target)
        check_names(settings, found.frame, labels=True)
        notes = list(found.notes)
        name = model_name(settings, found.frame[settings.target], notes)
        if name == "gpc":
            name, said = "logistic", "kernel logistic regression is fitted"
            notes[-1] = notes[-1].replace("a classifier is fitted (--model gpc)", said)
        with renumber_rows(found.place):
            known = {"written": found.styles, "sentinels": found.sentinels}
            recipe = as_recipe(settings).fit(found.frame.drop(settings.target), **known)
        facts = {"name": name, "title": TITLES[name], "criterion": criterion_name(settings, name), "folds": 0,
                 "searched": None, "sha256": pages.digest(), "own": kernel is None, "rows": found.rows,
                 "target_rows": found.rows, "recipe": recipe, "notes": notes, "features": len(recipe.feature_names_),
                 "file": settings.data, "search_rows": SEARCHED}  # fmt: skip
        estimator = _estimator(settings, facts, kernel, budget)
        if settings.dry_run:
            facts["plan"] = estimator.plan(found.rows, facts["features"])
            facts["held"] = min(HELD, found.rows // PART) // 2  # the other half is for intervals
            from mercer.cli.fit import dry_run

            return dry_run(settings, facts)
        converter = Converter(pages, found, recipe, settings.target, name in LABELS)
        tick = session.rows("second reading", found.rows)
        data = make_numbers(converter, memory=budget.memory, tick=tick, workers=workers)
        if data.dropped:
            notes.append(f"{data.dropped:,} rows without a target {settings.target!r} dropped.")
        session.say(f"second reading: {facts['features']} columns of numbers in {session.seconds:.1f} s.")
        fitted = _fit(estimator, facts, data, budget, session)
        model = as_model(estimator, fitted, converter, settings.target, data.held[1::2], notes, _spread(data.y, name))
        result, findings = _judge(settings, model, facts, data, budget, session)
        session.flush()
        result["warnings"] = list(session.warnings)
        result["files"] = write_outputs(settings, model, result, findings)
    print_json(result) if settings.json else print(_fit_text.page(result))
    return 0


def workers_of(settings):
    """A block with the workers of --dask, or with None."""
    if settings.dask is None or settings.dry_run:
        return nullcontext()
    from mercer.sources.cluster import cluster

    return cluster(settings.dask)


def _spread(y, name):
    """Standard deviation of the target; 1 of labels."""
    return 1.0 if name in LABELS else float(y.std())


def _estimator(settings, facts, kernel, budget):
    """The estimator on landmarks, with a kernel that reads the columns of X."""
    from mercer import Landmarks
    from mercer.kernels import Matern32
    from mercer.tabular import default_kernel, place_kernel

    recipe = facts["recipe"]
    if kernel is None:
        kernel = default_kernel(recipe, facts["rows"], Matern32)
        kernel = 1.0 * kernel if facts["name"] == "gp" else kernel
    else:
        kernel = place_kernel(kernel, recipe)
    estimator = make_estimator(settings, facts["name"], facts["criterion"], kernel, budget)
    time_budget = _seconds(budget, facts["rows"])
    approximation = "auto" if _at_once(settings, facts) else Landmarks(random_state=settings.seed)
    return estimator.set_params(approximation=approximation, time_budget=time_budget)


def _at_once(settings, facts):
    """Whether a process has all rows as one array: for Fourier features or neighbours."""
    some = facts["rows"] >= MANY and facts["rows"] * facts["features"] <= WHOLE
    return facts["name"] == "gp" and settings.dask is None and some


def _seconds(budget, rows):
    """Seconds for the fit; None for as many as it takes."""
    if budget.left is not None:
        return max(min(FIT * budget.left, budget.left - budget.after), 1.0)
    return SECONDS if rows <= WAITED else None


def _fit(estimator, facts, data, budget, session):
    """The fitted estimator."""
    import numpy as np
    from sklearn.base import clone

    from mercer.tabular.kernels import choose_first, listen

    estimator = clone(estimator).set_params(time_budget=_seconds(budget, facts["rows"]))
    y, classes = data.y, None
    if facts["name"] in LABELS:
        classes, y = np.unique(y, return_inverse=True)
    some = np.sort(np.random.default_rng(0).choice(len(y), min(SEARCHED, len(y)), replace=False))
    options = {"own": facts["own"], "optimize": estimator.optimize, "listener": session.listener}
    estimator = choose_first(estimator, np.asarray(data.X[some], dtype=float), y[some], facts["notes"], **options)
    session.say(f"{facts['title']} on {len(y):,} rows; {len(data.y_held):,} more are held out, to judge it …")
    session.stages(1)
    whole = isinstance(estimator.approximation, str)
    rows = (np.asarray(data.X, dtype=float), y) if whole else (data.source(classes), None)
    fitted = listen(clone(estimator), session.listener).fit(*rows)
    fitted.__dict__.pop("_skl_callbacks", None)
    if classes is not None:
        fitted.classes_ = classes
    session.clear()
    words = fitted.fit_report_.get("approximation", {"words": "all rows are fitted exactly."})["words"]
    session.say(f"{words} ({session.seconds:.0f} s so far)")
    if data.there is not None:
        facts["notes"].append(f"the rows were read and summed by {fitted.fit_report_['engine']}.")
    return fitted


def _judge(settings, model, facts, data, budget, session):
    """(everything about the fit as plain values, findings of the page or None): by rows that the fit has not seen."""
    labels, fitted = facts["name"] in LABELS, model.estimator_
    X, y = data.X_held[1::2], data.y_held[1::2]
    if not labels and model.interval_method == "left-out":
        half = slice(None, None, 2)
        model.calibrate(data.y_held[half], fitted.predict(data.X_held[half]))
    facts["test"] = _test(settings, model, session)
    predicted = fitted.predict(X)
    result = described(settings, model, facts, _score(predicted, data, X, y, labels), len(data.y))
    X, y = X[:SHOWN], y[:SHOWN]
    scores = result["score"] | {"predictions": predicted[:SHOWN]}
    notes = [*result["notes"], f"this page is about {len(y):,} rows, which the fit on {len(data.y):,} has not seen."]
    rows = [str(row + 1) for row in model.rows_[: len(y)]]
    findings = page_about(settings, model, X, y, scores, notes, rows, len(data.y), budget, seen=False)
    return add_page(result, findings, budget), findings


def _score(predicted, data, X, y, labels):
    """The model and simple ones on rows held out; intervals too."""
    import numpy as np

    from mercer.selection.judging import measure, predict_simply, simple_models

    some = np.sort(np.random.default_rng(0).choice(len(data.y), min(SIMPLE, len(data.y)), replace=False))
    part, target = np.asarray(data.X[some], dtype=float), data.y[some]

    def judged(values):
        groups = [measure(y[g::GROUPS], values[g::GROUPS], labels)["score"] for g in range(GROUPS)]
        return measure(y, values, labels) | {"scores": groups}

    others = [{"name": name, **judged(predict_simply(model, part, target, X))}
              for name, model in simple_models(labels, len(some), X.shape[1]).items()]  # fmt: skip
    this = judged(predicted)
    return {
        "how": f"{len(y):,} rows held out", "scoring": "accuracy" if labels else "r2", "score": this["score"],
        "standard_error": this["error"], "scores": this["scores"], "baselines": others, "optimism": None,
        **({} if labels else {"rmse": this["rmse"], "mae": this["mae"]}),
    }  # fmt: skip


def _test(settings, model, session):
    """The measures on the test table; None without one."""
    if settings.test is None:
        return None
    from mercer.cli._tables import read_input
    from mercer.cli.evaluate import measures

    columns = {"text": tuple(model.text_columns_), "written": model.written, "sentinels": model.sentinels_}
    test = read_input(settings, session, settings.test, **columns).frame
    check_target(test, settings.target, "--test")
    return measures(model, test, session)
