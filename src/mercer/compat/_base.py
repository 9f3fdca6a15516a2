"""What all estimators of this package share: reading X and y, and what a report or a model file asks of them."""

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import validation

from mercer.estimators import KernelEstimator
from mercer.kernels.conversion import refuse_nat

NONE = "no_validation"  # scikit-learn's word for what was not given


def validate_data(estimator, X=NONE, y=NONE, **options):
    """scikit-learn's own, after NaT was refused: it would be taken as −2⁶³. Targets that are no numbers are named."""
    refuse_nat(X, "Input X")
    refuse_nat(y, "Input y")
    y = numbers(y) if options.get("y_numeric") and not isinstance(y, str) else y
    return validation.validate_data(estimator, X, y, **options)


def numbers(y):
    """The targets of a regression; text, dates, sparse arrays and numbers beyond float64 are refused in words."""
    if issparse(y):
        raise TypeError("y is sparse, and a model of numbers needs it dense: use y.toarray().")
    if y is None or (isinstance(y, np.ndarray) and y.dtype.kind in "biuf" and y.dtype.itemsize <= 8):
        return y
    array = np.asarray(y)
    if array.dtype.kind in "mM":
        raise ValueError(
            f"y holds dates or times ({array.flat[0]}); make numbers of them first, such as the days after a date."
        )
    if array.dtype.kind not in "OUS" and array.dtype.char != "g":
        return y
    try:
        with np.errstate(over="ignore"):
            found = array.astype(np.float64)
    except OverflowError:
        found = np.array([np.inf])
    except (TypeError, ValueError):
        bad = next((one for one in array.ravel().tolist() if isinstance(one, str | bytes)), array.flat[0])
        raise ValueError(f"y must be numbers, and holds {bad!r:.40}; labels are for a classifier.") from None
    if np.isinf(found).any() and not (array.dtype.char == "g" and np.isinf(array).any()):
        raise ValueError("y has values that are no float64 numbers (beyond 1.8e308): give it in a larger unit.")
    return found


def same_columns(X, Z):
    """Refuse arrays of rows with different columns: compiled loops trust them, and a model may come from a file."""
    if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray) and X.shape[1:] != Z.shape[1:]:
        raise ValueError(f"X has rows of shape {X.shape[1:]}, the training rows have {Z.shape[1:]}; they must agree.")


class Compatible(KernelEstimator):
    """An estimator with the arguments of scikit-learn: its kernel is a name, a function or an object of theirs."""

    def frozen(self, rows=None):
        """Return an unfitted clone that chooses nothing; see `KernelEstimator.frozen`."""
        validation.check_is_fitted(self)
        return clone(self).set_params(**self._learnt(slice(None) if rows is None else rows))

    def _learnt(self, rows):
        return {}

    @property
    def our_kernel_(self):
        """The kernel as one of `mercer.kernels`."""
        return self._route.as_kernel()
