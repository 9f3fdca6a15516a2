"""How the Gaussian processes of this package read X: numbers, or whatever a kernel object of scikit-learn reads."""

import numpy as np


class RowsMixin:
    """For a class with a parameter ``kernel``: a kernel object of scikit-learn, or None for one of numbers."""

    def _vectors(self):
        """Whether the kernel reads rows of numbers."""
        return self.kernel is None or self.kernel.requires_vector_input

    def _reads(self):
        """How the rows of X are checked."""
        return {"ensure_2d": True, "dtype": "numeric"} if self._vectors() else {"ensure_2d": False, "dtype": None}

    def _rows(self, X):
        """Rows as the kernel evaluates them: float64, or the objects."""
        return np.asarray(X, dtype=np.float64) if self._vectors() else X


def same_columns(X, Z):
    """Refuse arrays of rows with different columns: compiled loops trust them, and a model may come from a file."""
    if isinstance(X, np.ndarray) and isinstance(Z, np.ndarray) and X.shape[1:] != Z.shape[1:]:
        raise ValueError(f"X has rows of shape {X.shape[1:]}, the training rows have {Z.shape[1:]}; they must agree.")
