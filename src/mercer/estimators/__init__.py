"""scikit-learn estimators, thin: they check, ask the layers below, and keep what prediction needs."""

from importlib import import_module
from typing import TYPE_CHECKING

from mercer.estimators._fitting import FitReport
from mercer.estimators._protocol import KernelEstimator
from mercer.estimators.basis import BasisRegression
from mercer.estimators.interpolation import KernelInterpolator
from mercer.estimators.ridge import KernelRidge
from mercer.selection.judging import RowsLeftOut

if TYPE_CHECKING:
    from mercer.estimators._svm_path import svr_path
    from mercer.estimators.gp import GaussianProcessRegressor
    from mercer.estimators.gpc import GaussianProcessClassifier
    from mercer.estimators.machine import KernelMachine
    from mercer.estimators.stacked import StackedKernels
    from mercer.estimators.svm import SVR
    from mercer.estimators.transformed import TransformedTarget

__all__ = [
    "BasisRegression",
    "FitReport",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "KernelEstimator",
    "KernelInterpolator",
    "KernelMachine",
    "KernelRidge",
    "RowsLeftOut",
    "SVR",
    "StackedKernels",
    "TransformedTarget",
    "svr_path",
]


PLACES = {"GaussianProcessClassifier": "gpc", "GaussianProcessRegressor": "gp", "KernelMachine": "machine",
          "SVR": "svm", "StackedKernels": "stacked", "TransformedTarget": "transformed",
          "svr_path": "_svm_path"}  # fmt: skip


def __getattr__(name):
    """Load an estimator when it is first asked for: ridge regression does not pay for the others."""
    if name not in PLACES:
        raise AttributeError(f"module 'mercer.estimators' has no attribute {name!r}")
    return getattr(import_module(f"mercer.estimators.{PLACES[name]}"), name)
