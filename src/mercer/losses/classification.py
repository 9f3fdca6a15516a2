"""Losses for labels y = ±1; f > 0 says +1."""

import numpy as np

from mercer.losses.base import Loss, as_dual


class Logistic(Loss):
    """L = log(1 + e^(−yf)),  y = ±1: p(y = +1 | x) = 1/(1 + e^(−f)).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Logistic
    >>> Logistic().value(1.0, np.array([-2.0, 0.0, 2.0])).round(3)
    array([2.127, 0.693, 0.127])
    """

    classification = True
    softmax = True

    def value(self, y, f):
        """log(1 + e^(−yf))."""
        return np.logaddexp(0.0, -np.asarray(y, dtype=float) * f)

    def grad(self, y, f):
        """−y σ(−yf)."""
        y = np.asarray(y, dtype=float)
        return -y * sigmoid(-y * f)

    def hess(self, y, f):
        """σ(f) σ(−f)."""
        f = np.asarray(f, dtype=float) + 0.0 * np.asarray(y, dtype=float)
        return sigmoid(f) * sigmoid(-f)


class Hinge(Loss):
    """L = max(0, 1 − yf),  y = ±1: the support vector classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Hinge
    >>> Hinge().value(1.0, np.array([-2.0, 0.0, 2.0]))
    array([3., 1., 0.])
    """

    classification = True

    def value(self, y, f):
        """max(0, 1 − yf)."""
        return np.maximum(0.0, 1.0 - np.asarray(y, dtype=float) * f)

    def dual(self, y, c):
        """0 <= ya <= c,  h(a) = −ya."""
        y = np.asarray(y, dtype=float)
        return as_dual(y, 0.0, 0.0, np.minimum(y * c, 0.0), np.maximum(y * c, 0.0))


class SquaredHinge(Loss):
    """L = max(0, 1 − yf)²,  y = ±1: the hinge without its corner.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import SquaredHinge
    >>> SquaredHinge().value(1.0, np.array([-2.0, 0.0, 2.0]))
    array([9., 1., 0.])
    """

    classification = True

    def value(self, y, f):
        """max(0, 1 − yf)²."""
        return np.maximum(0.0, 1.0 - np.asarray(y, dtype=float) * f) ** 2

    def grad(self, y, f):
        """−2y max(0, 1 − yf)."""
        y = np.asarray(y, dtype=float)
        return -2.0 * y * np.maximum(0.0, 1.0 - y * f)

    def hess(self, y, f):
        """2 where yf < 1, else 0."""
        return 2.0 * (np.asarray(y, dtype=float) * f < 1.0)

    def dual(self, y, c):
        """ya >= 0,  h(a) = −ya + a²/(4c)."""
        y = np.asarray(y, dtype=float)
        return as_dual(y, 0.0, 0.5 / np.asarray(c, dtype=float), *_half_line(y))


def _half_line(y):
    """(lower, upper) of ya >= 0."""
    return np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0)


def sigmoid(f):
    """1/(1 + e^(−f)) without overflow, and without losing small values."""
    e = np.exp(-np.abs(f))
    return np.where(np.asarray(f) >= 0, 1.0, e) / (1.0 + e)
