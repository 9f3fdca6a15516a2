"""Kernel methods: ridge regression, interpolation, Gaussian processes, support vectors, and how to choose λ."""

from mercer import kernels
from mercer.estimators import BasisRegression, KernelInterpolator, KernelRidge
from mercer.features import empirical_feature_map
from mercer.solvers.auto import plan

__version__ = "0.1.0"
__all__ = ["BasisRegression", "KernelInterpolator", "KernelRidge", "empirical_feature_map", "kernels", "plan"]
