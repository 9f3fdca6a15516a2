"""scikit-learn estimators, thin: they check, ask the layers below, and keep what prediction needs."""

from importlib import import_module
from typing import TYPE_CHECKING

from mercer.estimators._protocol import KernelEstimator
from mercer.estimators._report import FitReport
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


def __getattr__(name):
    """Load an estimator when it is first asked for: ridge regression does not pay for the others."""
    if name == "GaussianProcessRegressor":
        return import_module("mercer.estimators.gp").GaussianProcessRegressor
    if name == "GaussianProcessClassifier":
        return import_module("mercer.estimators.gpc").GaussianProcessClassifier
    if name == "KernelMachine":
        return import_module("mercer.estimators.machine").KernelMachine
    if name == "SVR":
        return import_module("mercer.estimators.svm").SVR
    if name == "StackedKernels":
        return import_module("mercer.estimators.stacked").StackedKernels
    if name == "TransformedTarget":
        return import_module("mercer.estimators.transformed").TransformedTarget
    if name == "svr_path":
        return import_module("mercer.estimators._svm_path").svr_path
    raise AttributeError(f"module 'mercer.estimators' has no attribute {name!r}")
