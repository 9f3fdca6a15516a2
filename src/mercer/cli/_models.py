"""From the names on the command line to estimators."""

from mercer.cli._errors import Usage
from mercer.cli._options import CRITERIA, MODELS
from mercer.tabular._words import meant

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
RULES = {  # of each model, the default first
    "ridge": ("loo", "gcv", "evidence", "lcurve", "discrepancy", "kfold"),
    "gp": ("evidence", "loo", "gcv", "kfold"),
    "svr": ("loo",),
    "huber": ("loo", "kfold"),
    "poisson": ("loo", "kfold"),
    "gpc": ("evidence",),
    "logistic": ("loo", "kfold"),
}


def model_name(settings, column, notes):
    """The name of the model: for "auto", one for numbers or one for labels, as the target is."""
    from mercer.tabular._columns import check_mixed, is_text

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
    given = settings.criterion
    if given not in CRITERIA:
        raise Usage(f"--criterion: there is no {given!r}{meant(given, CRITERIA)} There are {', '.join(CRITERIA)}")
    if given == "auto":
        return RULES[name][0]
    if given not in RULES[name]:
        raise Usage(f"--model {name} chooses by {' or '.join(RULES[name])}, not by {given}")
    return given


def make_estimator(settings, name, criterion, kernel, budget):
    """The estimator of a name, with nothing fitted; its searches have their share of the time."""
    from mercer.tabular._choose import within

    return within(_estimator(settings, name, criterion, kernel, {"memory": budget.memory}), budget.search)


def _estimator(settings, name, criterion, kernel, common):
    """The estimator of a name."""
    from mercer import estimators

    if name == "ridge":
        alone = settings.fix_kernel or criterion in ("lcurve", "discrepancy")
        options = {"criterion": rule(criterion), "optimize": "lam" if alone else "all", "random_state": settings.seed}
        return estimators.KernelRidge(kernel, **options, **common)
    if name == "gp":
        options = {"criterion": rule(criterion), "optimize": "lam" if settings.fix_kernel else "all"}
        return estimators.GaussianProcessRegressor(kernel, **options, random_state=settings.seed, **common)
    if name == "gpc":
        options = {"criterion": None if settings.fix_kernel else "evidence", "random_state": settings.seed}
        return estimators.GaussianProcessClassifier(kernel, **options, **common)
    if name == "svr":
        return estimators.SVR(kernel, **common)
    options = {"criterion": "loo" if criterion == "loo" else 5, "random_state": settings.seed}
    return estimators.KernelMachine(kernel, _loss(name), **options, **common)


def _loss(name):
    from mercer.losses import BY_NAME

    return BY_NAME[name]()


def rule(name):
    """The criterion of a name."""
    from mercer import selection

    return {
        "loo": selection.LOO,
        "gcv": selection.GCV,
        "evidence": selection.Evidence,
        "lcurve": selection.LCurve,
        "discrepancy": selection.Discrepancy,
        "kfold": selection.KFold,
    }[name]()
