"""Kernel methods: ridge regression, interpolation, Gaussian processes, support vectors, and how to choose λ."""

from typing import TYPE_CHECKING

from mercer import kernels
from mercer.estimators import BasisRegression, KernelInterpolator, KernelRidge
from mercer.features import empirical_feature_map
from mercer.solvers.auto import plan

if TYPE_CHECKING:
    from mercer.estimators import SVR, GaussianProcessClassifier, GaussianProcessRegressor, KernelMachine, svr_path

__version__ = "0.1.0"
__all__ = [
    "SVR",
    "BasisRegression",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "KernelInterpolator",
    "KernelMachine",
    "KernelRidge",
    "empirical_feature_map",
    "kernels",
    "plan",
    "svr_path",
]


def __getattr__(name):
    """Load an estimator when it is first asked for: importing mercer costs what ridge regression needs."""
    if name in __all__:
        from mercer import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
