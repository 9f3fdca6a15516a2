"""Warnings and errors of mercer: each says what was wrong, with numbers, and what to do."""

import numpy as np


class NumericalWarning(UserWarning):
    """The answer is usable, but rounding or a repair took part in it."""


class InfeasibleWarning(UserWarning):
    """The interpolation problem has no solution: y is not in the range of K."""


class DataError(ValueError):
    """A table cannot be used as it is; the message names the column or the rows, and says what to do."""


class DataWarning(UserWarning):
    """A table was used, but not quite as it is, or it differs from the one that a model was fitted on."""


class NotEnoughMemory(MemoryError):
    """The plan needs more memory than the machine, its cgroup or the caller allows."""


class NotEnoughTime(TimeoutError):
    """Nothing that the plan knows is predicted to end within ``time_budget``."""


class ModelFileError(ValueError):
    """A file is not a model that can be loaded (damaged, foreign, newer), or a model holds what no file can."""


class NotPositiveDefinite(np.linalg.LinAlgError):
    """A Gram matrix has a negative eigenvalue.

    Attributes
    ----------
    witness : tuple of (indices, matrix, eigenvalue) or None
        The few points whose Gram matrix has a negative eigenvalue, that matrix, and the eigenvalue.
    """

    def __init__(self, message, witness=None):
        super().__init__(message)
        self.witness = witness

    def __reduce__(self):
        return type(self), (self.args[0], self.witness)


class NeedsAllRows(ValueError, AttributeError):
    """Asked of an approximation is what only one system of all rows has; `hasattr` is false then."""

    def __init__(self, what):
        super().__init__(f"{what} needs one system of all rows: approximation=None.")
        self.what = what

    def __reduce__(self):
        return type(self), (self.what,)
