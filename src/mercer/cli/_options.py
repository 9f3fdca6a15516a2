"""From the words on the command line to estimators, and to time and memory that are dealt out."""

import re

import numpy as np

from mercer import estimators
from mercer.cli import Usage
from mercer.cli._app import CRITERIA, MODELS, TARGETS
from mercer.exceptions import DataError
from mercer.kernels import parse_kernel
from mercer.selection import LOO
from mercer.selection.judging import quietly
from mercer.tabular import objects_of, place_kernel
from mercer.tabular.cells import suggest
from mercer.tabular.columns import as_texts, check_mixed, is_text
from mercer.tabular.objects import check_readable, find_object_columns
from mercer.tabular.reads import check_reads

SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
BYTES = {"": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2.0**10, "mib": 2.0**20}
BYTES |= {"gib": 2.0**30, "tib": 2.0**40, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}

MOST = 1e15  # whole numbers up to here are exact as floats


def seconds(text, option):
    """Seconds of "60s", "5m", "2h"; None of None."""
    return None if text is None else _parse_quantity(text, SECONDS, option, "a time such as 60s, 5m or 2h")


def bytes_of(text, option):
    """Bytes of "500MB", "8GB"; None of None."""
    return None if text is None else _parse_quantity(text, BYTES, option, "a size such as 500MB or 8GB")


def whole(text, option, least=1):
    """A whole number of "500", "2e6", "20_000"; None of None."""
    if text is None:
        return None
    plain = str(text).replace("_", "").replace(",", "")
    value = _parse_quantity(plain, {"": 1.0, "k": 1e3, "m": 1e6}, option, "a number")
    if value != int(value):
        raise Usage(f"{option}: {text} is not a whole number")
    if not least <= value <= MOST:
        raise Usage(f"{option} must be from {least} to {MOST:.0e}, got {text}")
    return int(value)


def _parse_quantity(text, units, option, what):
    """A positive number with a unit."""
    match = re.fullmatch(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)\s*([a-z]*)\s*", str(text).lower())
    if not match or match[2] not in units:
        raise Usage(f"{option} must be {what}, got {text!r}")
    value = float(match[1]) * units[match[2]]
    if not 0 < value < float("inf"):
        raise Usage(f"{option} must be positive, got {text!r}")
    return value


AUTO = "auto"  # the kernel that a search over expressions finds
# Models with the log densities that can compare kernels.
SEARCHED = {"ridge": ("evidence",), "gp": ("evidence", "loo"), "stack": ("evidence", "loo"), "gpc": ("evidence",)}


def read_kernel(text):
    """The kernel of an expression; None of None, and "auto" as it is."""
    if text is None or text.strip() == AUTO:
        return text and AUTO
    try:
        return parse_kernel(text)
    except (TypeError, ValueError) as error:
        said, unknown, known = str(error).partition(" is not a kernel class; known are ")
        if unknown:  # the list is long: say the nearest one
            said += f" is not a kernel{suggest(said.rsplit(None, 1)[1], known.strip('.').split(', '))}"
        raise Usage(f"--kernel: {said}") from None


def strings_of(kernel, target):
    """Columns that a kernel reads as strings: to be read from the file as they stand."""
    if kernel is None or kernel == AUTO:
        return ()
    try:
        if target in kernel.named_columns():
            raise Usage(f"--kernel: the kernel reads column {target!r}, which is the target")
        return tuple(name for name, kind in objects_of(kernel).items() if kind in ("string", "graph"))
    except ValueError as error:
        raise Usage(f"--kernel: {error}") from None


def kernel_objects(kernel, frame, settings):
    """{column: kind} of what a kernel, or a search for one, reads as it is, checked to be columns of the table."""
    target = settings.target
    if kernel == AUTO:
        said = {*(settings.ignore or ()), *(settings.categorical or ()), *(settings.numeric or ()), settings.id}
        return find_object_columns(frame.drop(target), said | {settings.group})
    if kernel is None:
        return {}
    try:
        check_reads(kernel, frame, target)
        return objects_of(kernel)
    except ValueError as error:
        raise Usage(f"--kernel: {error}") from None


def check_kernel_reads(kernel, recipe, frame):
    """Refuse a kernel that cannot read the columns, and columns that a kernel on objects cannot read."""
    if kernel is None or kernel == AUTO:
        return
    names = recipe.feature_names_
    try:
        kernel = place_kernel(kernel, recipe)
        if not recipe.has_objects:
            kernel(kernel.validate(np.zeros((2, len(names)))))
    except (TypeError, ValueError) as error:
        raise Usage(f"--kernel: {error} (columns of the model: {', '.join(names[:12])})") from None
    if not recipe.has_objects:
        return
    X, few = (quietly(recipe.transform, part) for part in (frame, frame[:2]))  # a table does not differ from itself
    try:
        check_readable(kernel, X)
        kernel(kernel.validate(few))
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise Usage(f"--kernel: {error}") from None


LABELS = ("gpc", "logistic")
SOME = 3  # rows with each of two numbers, at least, that are taken for two classes
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
    name = settings.model
    if name not in MODELS:
        raise Usage(f"--model: there is no model {name!r}{suggest(name, MODELS)} There are {', '.join(MODELS)}")
    asked, number = (column.name in (given or ()) for given in (settings.categorical, settings.numeric))
    if asked and number:
        raise Usage(f"--categorical {column.name} and --numeric {column.name}: one of them")
    if is_text(column) and not asked:
        check_mixed(column, target=True)
    kind = "categories" if asked else None if number else _label_kind(column, name == "auto")
    if name == "auto":
        name = "ridge" if kind is None else "gpc"
        if kind is not None:
            notes.append(f"the target {column.name!r} is {kind}: a classifier is fitted (--model gpc).")
    if kind is not None and name not in LABELS:
        raise Usage(f"--model {name} predicts numbers, but the target {column.name!r} is labels; use --model gpc or "
                    "logistic")  # fmt: skip
    return name


def _label_kind(column, numbers):
    """What labels a target is, in words; None of numbers. Two ``numbers`` are two classes, if each is in some rows."""
    if is_text(column):
        return None if column.null_count() == len(column) else "text"
    if str(column.dtype) == "Boolean":
        return "true or false"
    counts = column.drop_nulls().value_counts() if numbers and column.dtype.is_numeric() else ()
    if len(counts) != 2 or counts["count"].min() < SOME:
        return None
    both = " or ".join(as_texts(counts[column.name].sort()))
    return f"{both} in all rows, two classes unless --numeric {column.name!r} says that they are numbers"


def check_transform(settings, name):
    """The transform of the target, checked against the model."""
    given = settings.target_transform
    if given is not None and given not in TARGETS:
        raise Usage(
            f"--target-transform: there is no {given!r}{suggest(given, TARGETS)} There are {', '.join(TARGETS)}"
        )
    if given not in (None, "none") and name not in ("ridge", "gp", "stack"):
        raise Usage(f"--target-transform is for --model ridge, gp and stack, not for {name}")
    return None if given == "none" else given


def resolve_kernel(settings, kernel, name, rows, budget):
    """The kernel that was asked for; where none was, "auto" if there is time for a search over so many rows."""
    if kernel == AUTO:
        if settings.fix_kernel or settings.quick:
            raise Usage(f"--kernel auto is a search, and {'--quick' if settings.quick else '--fix-kernel'} is none")
    if name == "stack":
        if kernel not in (None, AUTO) or settings.quick or settings.fix_kernel:
            raise Usage("--model stack searches for its kernels: leave --kernel, --quick and --fix-kernel away")
        return AUTO
    if kernel is not None or settings.quick or settings.fix_kernel or name not in SEARCHED:
        return kernel
    limits = budget.limits
    few = min(rows, budget.most_rows or rows) <= (limits.rows_of_labels if name in LABELS else limits.rows)
    able = few and settings.criterion in ("auto", "evidence")
    return AUTO if able and (budget.total is None or budget.total >= limits.least_seconds) else None


def default_model(settings, name, series):
    """What is fitted where neither a model nor a kernel was asked for, and there is time for a search.

    A mixture of the best kernels; of a series one process, whose intervals grow with the distance ahead.
    """
    if series is not None:
        return "gp"
    return "stack" if settings.criterion == "auto" else name


def criterion_name(settings, name, kernel=None):
    """The name of the criterion, checked against the model and its kernel."""
    given, can = settings.criterion, kind_of(name).criteria
    if given not in CRITERIA:
        raise Usage(f"--criterion: there is no {given!r}{suggest(given, CRITERIA)} There are {', '.join(CRITERIA)}")
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
    options = {"memory": budget.memory, "time_budget": budget.of_fit, "random_state": settings.seed}
    if criterion == "loo" and name == "ridge" and settings.criterion == "auto":
        criterion = LOO(together=True)  # copies of a row leave with it: one of them foretells the other
    if name == "stack":
        return cls(criterion=criterion, **options)
    if name not in ("ridge", "gp", "gpc", "svr"):
        options["loss"] = name
    if name == "gpc":  # of several classes Laplace's probabilities are far too cautious; one number mends most of it
        options["temperature"] = True
    if fixed and name == "gpc":  # it has no λ
        return cls(kernel, criterion=None, **options)
    return cls(kernel, criterion=criterion, optimize="lam" if fixed else "all", **options)
