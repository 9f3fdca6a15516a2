"""scikit-learn's own signatures, arguments and attributes on mercer's solvers: change one import line.

``from mercer.compat import SVR`` in place of ``from sklearn.svm import SVR``, and nothing else. What differs on purpose
is in ``docs/compat.md``.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mercer.compat.gpc import GaussianProcessClassifier
    from mercer.compat.gpr import GaussianProcessRegressor
    from mercer.compat.ridge import KernelRidge
    from mercer.compat.svm import SVR, NuSVR

__all__ = ["SVR", "GaussianProcessClassifier", "GaussianProcessRegressor", "KernelRidge", "NuSVR"]


def __getattr__(name):
    """Load an estimator when it is first asked for."""
    if name == "KernelRidge":
        return import_module("mercer.compat.ridge").KernelRidge
    if name in ("SVR", "NuSVR"):
        return getattr(import_module("mercer.compat.svm"), name)
    if name == "GaussianProcessRegressor":
        return import_module("mercer.compat.gpr").GaussianProcessRegressor
    if name == "GaussianProcessClassifier":
        return import_module("mercer.compat.gpc").GaussianProcessClassifier
    raise AttributeError(f"module 'mercer.compat' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
