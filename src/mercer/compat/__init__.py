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


PLACES = {"GaussianProcessClassifier": "gpc", "GaussianProcessRegressor": "gpr", "KernelRidge": "ridge", "NuSVR": "svm",
          "SVR": "svm"}  # fmt: skip


def __getattr__(name):
    """Load an estimator when it is first asked for."""
    if name not in PLACES:
        raise AttributeError(f"module 'mercer.compat' has no attribute {name!r}")
    return getattr(import_module(f"mercer.compat.{PLACES[name]}"), name)


def __dir__():
    return sorted({*globals(), *__all__})
