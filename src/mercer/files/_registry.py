"""The closed table of classes that a model file may name. Nothing is imported or called by a name from a file.

A name is ``unit.Class``. For each unit the modules are written out here; their classes are found by reflection. Classes
of the inside (`inference`, `gram`, …) are stored only if `_schema` says what their attributes are.
"""

import inspect
import sys
from functools import cache
from types import SimpleNamespace

from mercer.exceptions import ModelFileError

OPEN = ("compat.", "tabular.")  # whose classes check themselves, or need no more than that their attributes are data


@cache
def table(unit):
    """{name: class} of one unit; empty if there is none of that name."""
    return UNITS[unit]() if unit in UNITS else {}


def name_of(cls):
    """The name of a class in files, or None if it has none."""
    unit = HOMES.get(cls)
    if unit is None:
        package, _, rest = cls.__module__.partition(".")
        unit = rest.partition(".")[0] if package == "mercer" else _outside(cls)
    name = cls.__name__
    return f"{unit}.{name}" if table(unit).get(name) is cls else None


def class_of(name, where):
    """The class of a name in a file."""
    unit, _, rest = name.partition(".") if isinstance(name, str) else ("", "", "")
    found = table(unit).get(rest)
    if found is None:
        raise ModelFileError(f"{where}: there is no class {name!r:.80} in model files of this version of mercer.")
    return found


@cache
def is_parameter(cls):
    """Whether objects of a class are known by the arguments of their constructor, which only stores them."""
    from mercer.kernels import Kernel
    from mercer.losses import Loss
    from mercer.selection import LogNormal, Priors, Rule
    from mercer.solvers import Solver

    return issubclass(cls, Kernel | Loss | Rule | Solver | LogNormal | Priors) or is_sklearn_kernel(cls)


def is_sklearn_kernel(cls):
    """Whether this is a kernel of scikit-learn's own."""
    return _outside(cls) == "gp"


def is_estimator(cls):
    """Whether this is an estimator of mercer, whose parameters are those of its constructor."""
    return hasattr(cls, "_fit_all_or_nothing")


@cache
def parameters(cls):
    """Names of the arguments of a constructor."""
    if cls.__init__ is object.__init__:
        return ()
    found = inspect.signature(cls.__init__).parameters.values()
    return tuple(p.name for p in found if p.name != "self" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))


def _outside(cls):
    """The unit of a class of scikit-learn or of SciPy's sparse arrays."""
    if cls.__module__ == "sklearn.gaussian_process.kernels":
        return "gp"
    if cls.__module__.startswith("sklearn."):
        return "sklearn"
    return "sparse" if cls.__module__.startswith("scipy.sparse.") else ""


# ------------------------------------------------------------------------------------------------ the units
def _classes(*modules):
    """{name: class} of the classes that are defined in some modules and can have instances."""
    found = {}
    for module in modules:
        for name, cls in vars(module).items():
            own = isinstance(cls, type) and cls.__module__ == module.__name__ and cls.__name__ == name
            if own and not inspect.isabstract(cls) and not issubclass(cls, Exception):
                found[name] = cls
    return found


def _package(package):
    """The classes of all modules of a package, loaded by asking for each of its public names."""
    for name in package.__all__:
        getattr(package, name)
    prefix = f"{package.__name__}."
    inside = [module for name, module in sorted(sys.modules.items()) if name.startswith(prefix)]
    return _classes(*(module for module in [*inside, package] if module is not None))


def _kernels():
    from mercer.kernels.objects.collection import Objects
    from mercer.kernels.objects.doors import MatrixRows
    from mercer.kernels.objects.graph import Graph
    from mercer.kernels.objects.measures import GaussianMeasure
    from mercer.kernels.objects.molecules import SparseRows
    from mercer.kernels.objects.tables import Table
    from mercer.kernels.parse import kernel_classes

    collections = (Objects, MatrixRows, Graph, GaussianMeasure, SparseRows, Table)
    return kernel_classes() | {cls.__name__: cls for cls in collections}


def _estimators():
    from mercer.estimators import _gp_learn, _gp_trend, _report, basis, gp, gpc, interpolation, machine, ridge, svm

    known = _classes(basis, gp, gpc, interpolation, machine, ridge, svm, _report)
    return known | {"Trend": _gp_trend.Trend, "_Shifted": _gp_learn._Shifted}


def _losses():
    from mercer.losses import BY_NAME

    return {cls.__name__: cls for cls in BY_NAME.values()}


def _selection():
    from mercer.selection import base, criteria, folds, merged, priors, result, rules, spectrum
    from mercer.selection.path import Path  # selection.path is the function

    found = _classes(base, criteria, folds, merged, priors, result, rules, spectrum) | {"Path": Path}
    return _listed("selection", found)


def _solvers():
    from mercer.solvers import cg, cholesky, condition, mixed, spectral, update

    return _listed("solvers", _classes(cg, cholesky, mixed, spectral, condition, update))


def _gram():
    from mercer.gram import dense, scaled, tiled

    return _listed("gram", _classes(dense, scaled, tiled))


def _inference():
    from mercer.inference import elliptical, likelihood, links, models, nodes, posterior, quadrature, sites, softmax

    modules = (elliptical, likelihood, links, models, nodes, posterior, quadrature, sites, softmax)
    return _listed("inference", _classes(*modules))


def _listed(unit, classes):
    """Those that are known by their parameters, or whose attributes are in the schema."""
    from mercer.files._fields import schema

    return {name: cls for name, cls in classes.items() if is_parameter(cls) or f"{unit}.{name}" in schema()}


def _compat():
    from mercer import compat

    return _package(compat)


def _tabular():
    from mercer import tabular

    return _package(tabular)


def _gp():
    from sklearn.gaussian_process import kernels

    return {name: cls for name, cls in _classes(kernels).items() if issubclass(cls, kernels.Kernel)}


def _sklearn():
    """What compat.GaussianProcessClassifier makes several classes of."""
    from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, _ConstantPredictor
    from sklearn.preprocessing import LabelBinarizer

    known = (OneVsOneClassifier, OneVsRestClassifier, _ConstantPredictor, LabelBinarizer)
    return {cls.__name__: cls for cls in known}


def _sparse():
    from scipy import sparse

    known = (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)
    return {cls.__name__: cls for cls in known}


UNITS = {
    "kernels": _kernels,
    "estimators": _estimators,
    "losses": _losses,
    "selection": _selection,
    "solvers": _solvers,
    "gram": _gram,
    "inference": _inference,
    "compat": _compat,
    "tabular": _tabular,
    "gp": _gp,
    "sklearn": _sklearn,
    "sparse": _sparse,
    "python": lambda: {"SimpleNamespace": SimpleNamespace},
}
HOMES = {SimpleNamespace: "python"}
