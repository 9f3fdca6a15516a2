"""Warnings and errors of mercer: each says what was wrong, with numbers, and what to do."""

import numpy as np


class NumericalWarning(UserWarning):
    """The answer is usable, but rounding or a repair took part in it."""


class InfeasibleWarning(UserWarning):
    """The interpolation problem has no solution: y is not in the range of K."""


class NotEnoughMemory(MemoryError):
    """The plan needs more memory than the machine, its cgroup or the caller allows."""


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
