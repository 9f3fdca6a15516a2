"""Kernel methods: ridge regression, interpolation, Gaussian processes, support vectors, and how to choose λ."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mercer import kernels
    from mercer.approximate import Fourier, Landmarks, Neighbours
    from mercer.estimators import (
        SVR,
        BasisRegression,
        GaussianProcessClassifier,
        GaussianProcessRegressor,
        KernelInterpolator,
        KernelMachine,
        KernelRidge,
        StackedKernels,
        TransformedTarget,
        svr_path,
    )
    from mercer.estimators.planning import plan
    from mercer.features import empirical_feature_map
    from mercer.files import load, save
    from mercer.versions import show_versions

__version__ = "0.2.0"
__all__ = [
    "SVR",
    "BasisRegression",
    "Fourier",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "KernelInterpolator",
    "KernelMachine",
    "KernelRidge",
    "Landmarks",
    "Neighbours",
    "StackedKernels",
    "TransformedTarget",
    "empirical_feature_map",
    "kernels",
    "load",
    "plan",
    "save",
    "show_versions",
    "svr_path",
]


# Where a name is, if not in estimators; and the parts that can be asked for as attributes.
_HOMES = {"empirical_feature_map": "features", "load": "files", "plan": "estimators.planning", "save": "files"}
_HOMES |= {
    "show_versions": "versions",
    "Fourier": "approximate",
    "Landmarks": "approximate",
    "Neighbours": "approximate",
}
_PARTS = {"approximate", "bias_variance", "diagnostics", "estimators", "exceptions", "features", "gram", "kernels"}
_PARTS |= {"losses", "options", "selection", "solvers", "sources", "uncertainty"}


def __getattr__(name):
    """Load a name when it is first asked for: ``mercer --help`` loads nothing, a ridge regression what it needs."""
    if name in _PARTS:
        return import_module(f"mercer.{name}")
    if name in __all__:
        return getattr(import_module(f"mercer.{_HOMES.get(name, 'estimators')}"), name)
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
