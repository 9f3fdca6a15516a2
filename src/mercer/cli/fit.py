"""``mercer fit``: read, plan, fit, judge, keep; files are written at the very end, or not at all."""

from mercer.cli import _fit_text
from mercer.cli._errors import Usage
from mercer.cli._models import LABELS, TITLES, criterion_name, make_estimator, model_name, read_kernel
from mercer.cli._outputs import CARD_ENDINGS, write_outputs
from mercer.cli._session import Session, print_json
from mercer.cli._tables import as_recipe, check_free, check_names, check_target, read_input, say_differences
from mercer.cli._units import bytes_of, seconds, whole

LONG = 600.0  # seconds: a fit that is predicted to take longer has fewer rows, unless --time-budget says otherwise
LEAST_SCORED, MOST_SCORED = 10, 5000  # rows of the cross-validation
COST = {"ridge": 1.0, "gp": 3.0, "svr": 3.0}  # of a fit, in fits of a ridge regression; of the other models:
ITERATED = 20.0


def run(settings):
    """Fit a model to a table."""
    for option, endings in (("output", ()), ("report", (".html", ".htm")), ("card", CARD_ENDINGS)):
        check_free(getattr(settings, option), f"--{option}", settings.force, endings)
    if settings.test == "-" and settings.data == "-":
        raise Usage("only one of DATA and --test can be standard input")
    kernel = read_kernel(settings.kernel)
    with Session(settings) as session:
        reading = read_input(settings, session, settings.data)
        check_target(reading.frame, settings.target)
        check_names(settings, reading.frame)
        test = _read_test(settings, session, reading.frame)
        model, facts = _model(settings, reading.frame, kernel)
        facts |= {"file": settings.data, "sha256": reading.sha256, "reading": reading.notes}
        if settings.dry_run:
            return _dry_run(settings, facts)
        session.say(_fit_text.announcement(facts))
        session.stages(1 + (0 if facts["folds"] == 0 else facts["folds"]))
        fitted = _fit(model, reading.frame, session)
        scores = _scores(model, fitted, reading.frame, facts, settings, session)
        session.close_bar()
        session.flush()
        facts["test"] = None if test is None else _test(fitted, test, session)
        result, findings = _result(settings, fitted, scores, facts, session, reading.frame)
        session.flush()
        result["warnings"] = list(session.warnings)
        result["files"] = write_outputs(settings, fitted, result, findings)
    print_json(result) if settings.json else print(_fit_text.page(result))
    return 0


def _read_test(settings, session, frame):
    """The test table, text where the other one has text; None if there is none."""
    from mercer.tabular._columns import is_text

    if settings.test is None:
        return None
    texts = tuple(column.name for column in frame.get_columns() if is_text(column))
    test = read_input(settings, session, settings.test, texts).frame
    check_target(test, settings.target, "--test")
    return test


def _model(settings, frame, kernel):
    """(unfitted TableModel, facts): what is going to be fitted, and on how many rows."""
    import numpy as np
    from sklearn.base import clone

    from mercer.tabular import TableModel
    from mercer.tabular._targets import usable_rows

    notes = []
    name = model_name(settings, frame[settings.target], notes)
    labels = name in LABELS
    rows, y = usable_rows(frame, settings.target, labels, notes)
    recipe = clone(as_recipe(settings)).fit(frame[rows], settings.target)
    _check_kernel(kernel, recipe)
    criterion = criterion_name(settings, name)
    folds = 0 if settings.no_score or len(y) < LEAST_SCORED else min(settings.folds, len(y) // 2)
    most, plan, why = _rows(settings, name, len(rows), len(recipe.feature_names_))
    if why:
        notes.append(why)
    _check_values(settings, name, y, notes)
    if not labels and np.ptp(y) == 0:
        folds = 0
    estimator = make_estimator(settings, name, criterion, kernel, folds)
    options = {"target": settings.target, "fit_rows": most, "random_state": settings.seed}
    options["optimize"] = "lam" if settings.fix_kernel else "all"
    facts = {
        "name": name,
        "title": TITLES[name],
        "criterion": criterion,
        "rows": frame.height,
        "target_rows": len(rows),
        "features": len(recipe.feature_names_),
        "folds": folds,
        "plan": plan,
        "search_rows": min(TableModel(None).search_rows, plan.n),
        "notes": notes,
        "recipe": recipe,
    }
    return TableModel(estimator, as_recipe(settings), **options), facts


def _check_values(settings, name, y, notes):
    """Refuse targets that the model cannot have, and say what else the values may mean."""
    import numpy as np

    from mercer.exceptions import DataError

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
    elif name not in LABELS and len(values) == 2 < len(y):
        notes.append(f"the target {target!r} has two values; --model gpc treats them as classes.")


def _check_kernel(kernel, recipe):
    """Refuse a kernel that cannot read the columns, before anything is fitted."""
    if kernel is None:
        return
    import numpy as np

    from mercer.tabular import by_number

    try:
        kernel = by_number(kernel, recipe)
        X = kernel.validate(np.zeros((2, len(recipe.feature_names_))))
        kernel(X)
    except (TypeError, ValueError) as error:
        raise Usage(f"--kernel: {error} (columns of the model: {', '.join(recipe.feature_names_[:12])})") from None


def _rows(settings, name, n, d):
    """(most rows to fit on or None, plan, why): all rows, if they are predicted to fit into time and memory."""
    from mercer.solvers.auto import plan as plan_of

    memory = bytes_of(settings.memory, "--memory")

    def plan(rows):
        return plan_of(rows, d, memory=memory, inverse=name != "ridge")

    def fits(rows):
        return COST.get(name, ITERATED) * plan(rows).seconds <= budget

    given = whole(settings.max_rows, "--max-rows")
    budget = seconds(settings.time_budget, "--time-budget") or LONG
    most = n if given is None else min(n, given)
    if given is not None or fits(most):
        return (None if most == n else most), plan(most), None
    low, high = 1, most
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    why = (
        f"all {n:,} rows would take longer than {budget:.0f} s: {low:,} of them are used, drawn at random. --max-rows "
        f"{n} takes all."
    )
    return low, plan(low), why


def _dry_run(settings, facts):
    """Print what would be done."""
    if settings.json:
        from mercer.cli.plan import plan_dict

        kept = ("title", "criterion", "rows", "target_rows", "features", "folds", "notes")
        found = {key: facts[key] for key in kept} | {"feature_names": facts["recipe"].feature_names_}
        print_json({"schema": "mercer.plan/1", "model": facts["name"], **found, "plan": plan_dict(facts["plan"])})
    else:
        print(_fit_text.dry_run(facts))
    return 0


def _fit(model, frame, session):
    """The fitted model."""
    from sklearn.base import clone

    from mercer.tabular.kernels import length_scales

    fitted = clone(model).fit(frame, session.listener)
    known = length_scales(fitted.estimator_.kernel_, fitted.recipe_)
    session.names = {name: f"the length scale of {column!r}" for name, column, _ in known}
    session.listener(1, 1)
    return fitted


def _scores(model, fitted, frame, facts, settings, session):
    """(nested cross-validation, its rows among those of the fit), or None."""
    from mercer.tabular import score

    if not facts["folds"]:
        if facts["target_rows"] < LEAST_SCORED:
            facts["notes"].append(f"fewer than {LEAST_SCORED} rows: not judged by cross-validation.")
        return None
    options = {"outer": facts["folds"], "random_state": settings.seed, "listener": session.listener}
    rows = _some_rows(len(fitted.rows_), settings.seed)
    if len(rows) < len(fitted.rows_):
        facts["notes"].append(
            f"judged on {MOST_SCORED:,} of {len(fitted.rows_):,} rows, drawn at random; with all of them it would "
            "rather be better."
        )
    return score(model, frame[fitted.rows_[rows]], fitted=fitted, **options), rows


def _some_rows(n, seed):
    """The rows that judge a model, and that its report is about: all, or 5,000 drawn at random."""
    import numpy as np

    every = np.arange(n)
    return every if n <= MOST_SCORED else np.sort(np.random.default_rng(seed).choice(every, MOST_SCORED, replace=False))


def _test(fitted, frame, session):
    """The measures on the test table."""
    from mercer.cli.evaluate import measures

    say_differences(fitted, frame, session)
    return measures(fitted, frame, session)


def _result(settings, fitted, scored, facts, session, frame):
    """(everything about the fit as plain values, findings of the report or None)."""
    import mercer

    scores, rows = (None, None) if scored is None else scored
    if scores is not None and scores.residuals is not None:
        fitted.calibrate(scores.residuals)
    estimator = fitted.estimator_
    lam = getattr(estimator, "lam_", None)
    given = None if scores is None else scores.to_dict()
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
        "data": {
            "file": facts["file"],
            "sha256": facts["sha256"],
            "rows": facts["rows"],
            "used_rows": len(fitted.rows_),
            "target": fitted.target_,
            "task": "classification" if facts["name"] in LABELS else "regression",
            "columns": fitted.recipe_.columns_,
            "ignored": fitted.recipe_.ignored_,
            "features": fitted.feature_names_,
        },
        "model": {
            "name": facts["name"],
            "title": facts["title"],
            "kernel": repr(estimator.kernel_),
            "lam": None if lam is None else float(lam),
            "criterion": facts["criterion"],
            "selection": fitted.selection_,
            "scales": _fit_text.scales(estimator, fitted.recipe_),
            "fit_report": dict(estimator.fit_report_),
        },
        "score": None if given is None else {key: given[key] for key in given if key != "predictions"},
        "test": facts["test"],
        "notes": [*facts["reading"], *facts["notes"], *(n for n in fitted.notes_ if n not in facts["notes"])],
    }
    findings = None
    if settings.report or settings.output:
        findings = _findings(settings, fitted, given, result, frame)
    return result | {"seconds": session.seconds}, findings


def _findings(settings, fitted, scores, result, frame):
    """What the report says, from the rows of the fit."""
    from mercer.report import collect

    n, notes = len(fitted.rows_), result["notes"]
    some = _some_rows(n, settings.seed) if result["data"]["task"] == "regression" else range(n)
    if len(some) < n:  # left-out predictions of all of them would take five more fits
        notes = [*notes, f"this page is about {len(some):,} of the {n:,} rows of the fit, drawn at random."]
        scores = scores and {**scores, "predictions": [scores["predictions"][i] for i in some]}
    table = frame[fitted.rows_[some]]
    return collect(
        fitted.estimator_,
        fitted.inputs(table),
        fitted.targets(table)[1],
        feature_names=fitted.feature_names_,
        target=fitted.target_,
        scores=scores,
        notes=notes,
        command=settings.command,
        row_labels=[str(row + 1) for row in fitted.rows_[some]],
    )
