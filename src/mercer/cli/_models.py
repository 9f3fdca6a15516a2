"""From the names on the command line to estimators."""

from mercer.cli._app import CRITERIA, MODELS
from mercer.cli._errors import Usage
from mercer.tabular.words import meant

LABELS = ("gpc", "logistic")
TITLES = {
    "ridge": "kernel ridge regression",
    "gp": "Gaussian process regression",
    "svr": "support vector regression",
    "huber": "kernel regression with Huber's loss",
    "poisson": "kernel regression of counts (Poisson)",
    "gpc": "Gaussian process classification",
    "logistic": "kernel logistic regression",
}


def model_name(settings, column, notes):
    """The name of the model: for "auto", one for numbers or one for labels, as the target is."""
    from mercer.tabular.columns import check_mixed, is_text

    name = settings.model
    if name not in MODELS:
        raise Usage(f"--model: there is no model {name!r}{meant(name, MODELS)} There are {', '.join(MODELS)}")
    asked = column.name in (settings.categorical or ())
    labels = asked or (is_text(column) and column.null_count() < len(column)) or str(column.dtype) == "Boolean"
    if is_text(column) and not asked:
        check_mixed(column, target=True)
    if name == "auto":
        name = "gpc" if labels else "ridge"
        if labels:
            kind = "categories" if asked else "text" if is_text(column) else "true or false"
            notes.append(f"the target {column.name!r} is {kind}: a classifier is fitted (--model gpc).")
    if labels and name not in LABELS:
        raise Usage(f"--model {name} predicts numbers, but the target {column.name!r} is labels; use --model gpc or "
                    "logistic")  # fmt: skip
    return name


def criterion_name(settings, name):
    """The name of the criterion, checked against the model."""
    given, can = settings.criterion, kind_of(name).criteria
    if given not in CRITERIA:
        raise Usage(f"--criterion: there is no {given!r}{meant(given, CRITERIA)} There are {', '.join(CRITERIA)}")
    if given == "auto":
        return can[0]
    if given not in can:
        raise Usage(f"--model {name} chooses by {' or '.join(can)}, not by {given}")
    return given


def kind_of(name):
    """The class of a model of the command line."""
    from mercer import estimators

    classes = {
        "ridge": "KernelRidge",
        "gp": "GaussianProcessRegressor",
        "gpc": "GaussianProcessClassifier",
        "svr": "SVR",
    }
    return getattr(estimators, classes.get(name, "KernelMachine"))


def make_estimator(settings, name, criterion, kernel, budget):
    """The estimator of a name, with nothing fitted; its searches have their share of the time."""
    cls, fixed = kind_of(name), settings.fix_kernel or criterion in ("lcurve", "discrepancy")
    options = {"memory": budget.memory, "time_budget": budget.search, "random_state": settings.seed}
    if name not in ("ridge", "gp", "gpc", "svr"):
        options["loss"] = name
    if fixed and name == "gpc":  # it has no λ
        return cls(kernel, criterion=None, **options)
    return cls(kernel, criterion=criterion, optimize="lam" if fixed else "all", **options)
