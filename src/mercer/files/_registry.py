"""The closed table of what a model file may name, found by reflection over mercer itself.

A name is ``unit.Class``: a public, final class below ``mercer.unit`` that has ``state`` and ``from_state``, or that is
known by the arguments of its constructor. Nothing is imported or called by any other name from a file.
"""

import contextlib
import importlib
import inspect
import pkgutil
from dataclasses import is_dataclass
from functools import cache, lru_cache

from scipy import sparse
from sklearn.base import BaseEstimator

from mercer._state import check
from mercer.approximate import Approximation
from mercer.exceptions import ModelFileError
from mercer.kernels import Kernel
from mercer.kernels.parse import check_read
from mercer.losses import Loss
from mercer.selection import Priors, Rule
from mercer.solvers import Solver

UNITS = (
    "kernels",
    "losses",
    "selection",
    "solvers",
    "gram",
    "sources",
    "dual",
    "inference",
    "uncertainty",
    "primal",
    "approximate",
    "estimators",
    "compat",
    "tabular",
)
GP = "sklearn.gaussian_process.kernels"
SPARSE = {cls.__name__: cls for cls in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)}
PARTS = {"data": "matrix k", "indices": "int k", "indptr": "int n", "shape": tuple}  # of a sparse array


@contextlib.contextmanager
def refusing(where):
    """Make a ModelFileError that says where of whatever is wrong inside."""
    try:
        yield
    except (MemoryError, OSError):
        raise
    except Exception as error:
        text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(f"{where}: {text.rstrip('.'):.500}.") from error


def is_public(name):
    """Whether a name may stand in a file."""
    return name.isidentifier() and not name.startswith("_")


def class_of(name):
    """The class of a name in a file."""
    found = _look_up(name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(f"there is no class {name!r:.80} in model files of this version of mercer")
    return found


@cache
def name_of(cls):
    """The name of a class in files, or None if it has none."""
    package, _, rest = cls.__module__.partition(".")
    unit = rest.partition(".")[0] if package == "mercer" else "gp" if cls.__module__ == GP else "sparse"
    name = f"{unit}.{cls.__name__}"
    return name if _look_up(name) is cls else None


@lru_cache(maxsize=1000)
def _look_up(name):
    """The class of a name, or None."""
    unit, _, rest = name.partition(".")
    if unit == "sparse" or not is_public(rest):
        return SPARSE.get(rest)
    if unit not in (*UNITS, "gp"):
        return None
    package = importlib.import_module(GP if unit == "gp" else f"mercer.{unit}")
    exported = unit == "gp" or rest in getattr(package, "__all__", ())
    found = getattr(package, rest, None) if exported else _inside(package).get(rest)
    return found if isinstance(found, type) and is_storable(found) and _is_final(found) else None


@cache
def _inside(package):
    """{name: class} of the classes that are defined in the modules of a package."""
    found = {}
    for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        with contextlib.suppress(ImportError):  # what is not installed is not in the table
            classes = vars(importlib.import_module(one.name)).items()
            found |= {name: cls for name, cls in classes if getattr(cls, "__module__", None) == one.name}
    return found


def _is_final(cls):
    """Whether nothing in mercer derives from the class, and it can have instances."""
    return not inspect.isabstract(cls) and not any(c.__module__.startswith("mercer.") for c in cls.__subclasses__())


def is_kernel(cls):
    """Whether this is a kernel, ours or scikit-learn's own."""
    return issubclass(cls, Kernel) or (cls.__module__ == GP and issubclass(cls, importlib.import_module(GP).Kernel))


def is_storable(cls):
    """Whether a class says what a file keeps of it, or is known by its arguments, which its constructor only stores."""
    return (
        "from_state" in dir(cls)
        or is_kernel(cls)
        or issubclass(cls, Approximation | Loss | Rule | Solver | Priors)
        or is_dataclass(cls)
    )


def is_model(cls):
    """Whether an object of this class may be all that a file holds: an estimator, or a kernel."""
    return issubclass(cls, Kernel) or (issubclass(cls, BaseEstimator) and "from_state" in dir(cls))


def state_of(value):
    """(version, {public name: value}) of an object that may be stored."""
    cls = type(value)
    if cls in SPARSE.values():
        return 1, {name: getattr(value, name) for name in PARTS}
    state = value.state() if "from_state" in dir(cls) else {name: getattr(value, name) for name in _arguments(cls)}
    return state_version(cls), state


def state_version(cls):
    """The version of the state that a class writes and reads; the first where it does not say."""
    return cls.state_version if "state_version" in dir(cls) else 1


def restore(cls, version, state):
    """The object of a class with a state; the class refuses what is no good, with any error."""
    known = state_version(cls)
    if type(version) is not int or version != known:
        raise ValueError(
            f"its state is of version {version!r:.40}, and this mercer reads version {known}: "
            "load it with the mercer that wrote it, or fit the model again"
        )
    if cls in SPARSE.values():
        check(state, PARTS, cls.__name__)
        made = cls((state["data"], state["indices"], state["indptr"]), shape=state["shape"])
        made.check_format(full_check=True)  # SciPy's loops trust the indices
        return made
    made = cls.from_state(state) if "from_state" in dir(cls) else cls(**state)
    if isinstance(made, Kernel):
        check_read(made)
    return made


@cache
def _arguments(cls):
    """Names of the arguments of a constructor."""
    found = inspect.signature(cls).parameters.values()
    return tuple(p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
