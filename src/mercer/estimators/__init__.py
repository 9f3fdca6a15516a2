"""scikit-learn estimators, thin: they check, ask the layers below, and keep what prediction needs."""

from mercer.estimators._report import FitReport
from mercer.estimators.basis import BasisRegression
from mercer.estimators.interpolation import KernelInterpolator
from mercer.estimators.ridge import KernelRidge

__all__ = ["BasisRegression", "FitReport", "KernelInterpolator", "KernelRidge"]
