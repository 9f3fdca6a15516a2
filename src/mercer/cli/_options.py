"""From the names on the command line to estimators."""

from mercer.cli._app import CRITERIA, MODELS
from mercer.cli._run import Usage
from mercer.tabular.words import meant

AUTO = "auto"  # the kernel that a search over expressions finds
# Models with the log densities that can compare kernels.
SEARCHED = {"ridge": ("evidence",), "gp": ("evidence", "loo"), "stack": ("evidence", "loo")}
MOST_SEARCHED = 2000  # rows up to which kernels are searched for where nothing is said
LEAST_SECONDS = 10.0  # of a time budget below which they are not


def read_kernel(text):
    """The kernel of an expression; None of None, and "auto" as it is."""
    if text is None or text.strip() == AUTO:
        return text and AUTO
    from mercer.kernels import parse_kernel

    try:
        return parse_kernel(text)
    except (TypeError, ValueError) as error:
        said, unknown, known = str(error).partition(" is not a kernel class; known are ")
        if unknown:  # the list is long: say the nearest one
            said += f" is not a kernel{meant(said.rsplit(None, 1)[1], known.strip('.').split(', '))}"
        raise Usage(f"--kernel: {said}") from None


def strings_of(kernel, target):
    """Columns that a kernel reads as strings: to be read from the file as they stand."""
    if kernel is None or kernel == AUTO:
        return ()
    from mercer.kernels.inputs import named_columns
    from mercer.tabular import objects_of

    try:
        if target in named_columns(kernel):
            raise Usage(f"--kernel: the kernel reads column {target!r}, which is the target")
        return tuple(name for name, kind in objects_of(kernel).items() if kind in ("string", "graph"))
    except ValueError as error:
        raise Usage(f"--kernel: {error}") from None


def kernel_objects(kernel, frame, target):
    """{column: kind} of what a kernel reads as it is, checked to be columns of the table."""
    if kernel is None or kernel == AUTO:
        return {}
    from mercer.tabular import objects_of
    from mercer.tabular.reads import check_reads

    try:
        check_reads(kernel, frame, target)
        return objects_of(kernel)
    except ValueError as error:
        raise Usage(f"--kernel: {error}") from None


def check_kernel(kernel, recipe, frame):
    """Refuse a kernel that cannot read the columns, and columns that a kernel on objects cannot read."""
    if kernel is None or kernel == AUTO:
        return
    import warnings

    import numpy as np

    from mercer.tabular import placed
    from mercer.tabular.objects import check_readable

    names = recipe.feature_names_
    try:
        kernel = placed(kernel, recipe)
        if not recipe.has_objects:
            kernel(kernel.validate(np.zeros((2, len(names)))))
    except (TypeError, ValueError) as error:
        raise Usage(f"--kernel: {error} (columns of the model: {', '.join(names[:12])})") from None
    if not recipe.has_objects:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a table does not differ from itself
        X, few = recipe.transform(frame), recipe.transform(frame[:2])
    try:
        check_readable(kernel, X)
        kernel(kernel.validate(few))
    except (TypeError, ValueError) as error:
        from mercer.exceptions import DataError

        if isinstance(error, DataError):
            raise
        raise Usage(f"--kernel: {error}") from None


LABELS = ("gpc", "logistic")
TITLES = {
    "ridge": "kernel ridge regression",
    "gp": "Gaussian process regression",
    "stack": "a mixture of Gaussian processes",
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


def settled(settings, kernel, name, rows, budget):
    """The kernel that was asked for; where none was, "auto" if there is time for a search over so many rows."""
    if kernel == AUTO:
        if name in LABELS:
            raise Usage("--kernel auto is for targets that are numbers; leave --kernel away")
        if settings.fix_kernel or settings.quick:
            raise Usage(f"--kernel auto is a search, and {'--quick' if settings.quick else '--fix-kernel'} is none")
    if name == "stack":
        if kernel not in (None, AUTO) or settings.quick or settings.fix_kernel:
            raise Usage("--model stack searches for its kernels: leave --kernel, --quick and --fix-kernel away")
        return AUTO
    if kernel is not None or settings.quick or settings.fix_kernel or name not in SEARCHED:
        return kernel
    few = min(rows, budget.most_rows or rows) <= MOST_SEARCHED
    able = few and settings.criterion in ("auto", "evidence")
    return AUTO if able and (budget.total is None or budget.total >= LEAST_SECONDS) else None


def series_along(recipe, table):
    """The name of the column along which rows are a series: in its order, at even steps; None if there is none."""
    import warnings

    from mercer.selection.kernels_search.columns import time_column

    if recipe.has_objects:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a table does not differ from itself
        j = time_column(recipe.transform(table))
    return None if j is None else recipe.feature_names_[j]


def criterion_name(settings, name, kernel=None):
    """The name of the criterion, checked against the model and its kernel."""
    given, can = settings.criterion, kind_of(name).criteria
    if given not in CRITERIA:
        raise Usage(f"--criterion: there is no {given!r}{meant(given, CRITERIA)} There are {', '.join(CRITERIA)}")
    if kernel == AUTO and name in SEARCHED:
        if given not in ("auto", *SEARCHED[name]):
            raise Usage(f"--kernel auto compares kernels by {' or '.join(SEARCHED[name])}, not by {given}")
        return SEARCHED[name][0] if given == "auto" else given
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
        "stack": "StackedKernels",
        "gpc": "GaussianProcessClassifier",
        "svr": "SVR",
    }
    return getattr(estimators, classes.get(name, "KernelMachine"))


def make_estimator(settings, name, criterion, kernel, budget):
    """The estimator of a name, with nothing fitted; its searches have their share of the time."""
    cls, fixed = kind_of(name), settings.fix_kernel or criterion in ("lcurve", "discrepancy")
    options = {"memory": budget.memory, "time_budget": budget.search, "random_state": settings.seed}
    if name == "stack":
        return cls(criterion=criterion, **options)
    if name not in ("ridge", "gp", "gpc", "svr"):
        options["loss"] = name
    if fixed and name == "gpc":  # it has no λ
        return cls(kernel, criterion=None, **options)
    return cls(kernel, criterion=criterion, optimize="lam" if fixed else "all", **options)
