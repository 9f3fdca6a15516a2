"""Losses for numbers: y and f on the same scale, or counts with a logarithmic link."""

import numpy as np

from mercer.losses.base import Loss, as_dual, check_number


class Squared(Loss):
    """L = (y − f)²: the mean; kernel ridge regression.

    Examples
    --------
    >>> from mercer.losses import Squared
    >>> float(Squared().value(1.0, 3.0))
    4.0
    """

    def value(self, y, f):
        """(y − f)²."""
        return (np.asarray(y, dtype=float) - f) ** 2

    def grad(self, y, f):
        """−2(y − f)."""
        return -2.0 * (np.asarray(y, dtype=float) - f)

    def hess(self, y, f):
        """2, the same for all rows."""
        return np.full(np.broadcast(y, f).shape, 2.0)

    def dual(self, y, c):
        """h(a) = −ya + a²/(4c)."""
        return as_dual(y, 0.0, 0.5 / np.asarray(c, dtype=float), -np.inf, np.inf)


class _Tube(Loss):
    """A loss of how far y lies outside the tube f ± ε."""

    def __init__(self, epsilon=0.1):
        self.epsilon = epsilon

    def _epsilon(self):
        """ε, checked."""
        return check_number("epsilon", self.epsilon, 0.0, np.inf)

    def _outside(self, y, f):
        """max(0, |y − f| − ε)."""
        return np.maximum(np.abs(np.asarray(y, dtype=float) - f) - self._epsilon(), 0.0)


class EpsilonInsensitive(_Tube):
    """L = max(0, |y − f| − ε): support vector regression; nothing is paid inside the tube.

    Parameters
    ----------
    epsilon : float, default=0.1
        ε >= 0, half the width of the tube, in units of y.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(0.5).value(0.0, np.array([0.25, 1.5]))
    array([0., 1.])
    """

    def for_noise(self, sigma, n):
        """ε = 3σ√(ln n/n) (Cherkassky and Ma, 2004)."""
        return type(self)(float(3.0 * sigma * np.sqrt(np.log(n) / n)))

    def value(self, y, f):
        """max(0, |y − f| − ε)."""
        return self._outside(y, f)

    def dual(self, y, c):
        """|a| <= c,  h(a) = −ya + ε|a|."""
        c = np.asarray(c, dtype=float)
        return as_dual(y, self._epsilon(), 0.0, -c, c)


class SquaredEpsilonInsensitive(_Tube):
    """L = max(0, |y − f| − ε)²: a tube with a smooth edge.

    Parameters
    ----------
    epsilon : float, default=0.1
        ε >= 0, half the width of the tube, in units of y.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(0.5).value(0.0, np.array([0.25, 2.5]))
    array([0., 4.])
    """

    def value(self, y, f):
        """max(0, |y − f| − ε)²."""
        return self._outside(y, f) ** 2

    def grad(self, y, f):
        """−2 sign(y − f) max(0, |y − f| − ε)."""
        return -2.0 * np.sign(np.asarray(y, dtype=float) - f) * self._outside(y, f)

    def hess(self, y, f):
        """2 outside the tube, 0 inside."""
        return 2.0 * (np.abs(np.asarray(y, dtype=float) - f) >= self._epsilon())

    def dual(self, y, c):
        """h(a) = −ya + ε|a| + a²/(4c)."""
        return as_dual(y, self._epsilon(), 0.5 / np.asarray(c, dtype=float), -np.inf, np.inf)


class Huber(Loss):
    """L = r² where |r| <= δ, else 2δ|r| − δ²,  r = y − f: squared near, absolute far, so outliers pull no harder.

    Parameters
    ----------
    delta : float, default=1.35
        δ > 0, in units of y. 1.35 standard deviations of the noise keep 95 % of the efficiency of the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Huber
    >>> Huber(1.0).value(0.0, np.array([0.5, 3.0]))
    array([0.25, 5.  ])
    """

    def __init__(self, delta=1.35):
        self.delta = delta

    def for_noise(self, sigma, n):
        """δ = 1.345σ: 95 % of the efficiency of least squares where the noise is normal."""
        return Huber(1.345 * sigma)

    def _delta(self):
        """δ, checked."""
        return check_number("delta", self.delta, 0.0, np.inf, closed=False)

    def value(self, y, f):
        """r² where |r| <= δ, else 2δ|r| − δ²."""
        r = np.abs(np.asarray(y, dtype=float) - f)
        near = np.minimum(r, self._delta())
        return near * (2.0 * r - near)

    def grad(self, y, f):
        """−2 clip(r, −δ, δ)."""
        return -2.0 * np.clip(np.asarray(y, dtype=float) - f, -self._delta(), self._delta())

    def hess(self, y, f):
        """2 where |r| <= δ, else 0."""
        return 2.0 * (np.abs(np.asarray(y, dtype=float) - f) <= self._delta())

    def dual(self, y, c):
        """|a| <= 2cδ,  h(a) = −ya + a²/(4c)."""
        c = np.asarray(c, dtype=float)
        edge = 2.0 * c * self._delta()
        return as_dual(y, 0.0, 0.5 / c, -edge, edge)


class Absolute(Loss):
    """L = |y − f|: the median.

    Examples
    --------
    >>> from mercer.losses import Absolute
    >>> float(Absolute().value(1.0, 3.0))
    2.0
    """

    deviance = "pinball"

    @property
    def levels(self):
        """½: the median."""
        return (0.5,)

    def value(self, y, f):
        """|y − f|."""
        return np.abs(np.asarray(y, dtype=float) - f)

    def dual(self, y, c):
        """|a| <= c,  h(a) = −ya."""
        c = np.asarray(c, dtype=float)
        return as_dual(y, 0.0, 0.0, -c, c)


class Quantile(Loss):
    """L = max(τ(y − f), (τ − 1)(y − f)): the τ-quantile of y given x; τ = ½ is half the absolute loss.

    Parameters
    ----------
    level : float or list of float, default=0.5
        τ in (0, 1); a list fits one function for each level.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Quantile
    >>> Quantile(0.75).value(0.0, np.array([-1.0, 1.0]))
    array([0.75, 0.25])
    >>> Quantile([0.25, 0.75]).split()
    [Quantile(level=0.25), Quantile(level=0.75)]
    """

    deviance = "pinball"

    def __init__(self, level=0.5):
        self.level = level

    @property
    def levels(self):
        """τ, one or several."""
        return tuple(np.ravel(self._levels()).tolist())

    def value(self, y, f):
        """max(τ(y − f), (τ − 1)(y − f)); with a list of levels, the last axis of f is theirs."""
        r, level = np.asarray(y, dtype=float) - f, self._levels()
        return np.maximum(level * r, (level - 1.0) * r)

    def dual(self, y, c):
        """c(τ − 1) <= a <= cτ,  h(a) = −ya."""
        c, level = np.asarray(c, dtype=float), self._levels()
        return as_dual(y, 0.0, 0.0, c * (level - 1.0), c * level)

    def split(self):
        """One loss for each level."""
        self._levels()
        return [self] if np.ndim(self.level) == 0 else [Quantile(float(level)) for level in self.level]

    def _levels(self):
        """τ, checked: a number, or an array for a list."""
        if np.ndim(self.level) > 1 or np.size(self.level) == 0:
            raise ValueError(f"level must be a number or a list of numbers, got {self.level!r}.")
        levels = [check_number("level", level, 0.0, 1.0, closed=False) for level in np.ravel(self.level)]
        return levels[0] if np.ndim(self.level) == 0 else np.array(levels)


class Expectile(Loss):
    """L = 2τ(y − f)² where y >= f, else 2(1 − τ)(y − f)²: the τ-expectile; τ = ½ is the squared loss.

    Parameters
    ----------
    level : float, default=0.5
        τ in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Expectile
    >>> Expectile(0.75).value(0.0, np.array([-1.0, 1.0]))
    array([1.5, 0.5])
    """

    def __init__(self, level=0.5):
        self.level = level

    def value(self, y, f):
        """2|τ − 1[y < f]| (y − f)²."""
        r = np.asarray(y, dtype=float) - f
        return self._side(r) * r**2

    def grad(self, y, f):
        """−4|τ − 1[y < f]| (y − f)."""
        r = np.asarray(y, dtype=float) - f
        return -2.0 * self._side(r) * r

    def hess(self, y, f):
        """4|τ − 1[y < f]|."""
        return 2.0 * self._side(np.asarray(y, dtype=float) - f)

    def _side(self, r):
        """2τ above the fit, 2(1 − τ) below."""
        level = check_number("level", self.level, 0.0, 1.0, closed=False)
        return np.where(r >= 0, 2.0 * level, 2.0 * (1.0 - level))


class Poisson(Loss):
    """L = e^f − yf: counts y >= 0 with mean e^f.

    Examples
    --------
    >>> from mercer.losses import Poisson
    >>> float(Poisson().value(2.0, 0.0))
    1.0
    """

    positive_only = True
    deviance = "poisson"

    def value(self, y, f):
        """e^f − yf."""
        with np.errstate(over="ignore"):  # an infinite loss is what a line search has to see
            return np.exp(f) - np.asarray(y, dtype=float) * f

    def grad(self, y, f):
        """e^f − y."""
        with np.errstate(over="ignore"):
            return np.exp(f) - np.asarray(y, dtype=float)

    def hess(self, y, f):
        """e^f."""
        with np.errstate(over="ignore"):
            return np.exp(f) + 0.0 * np.asarray(y, dtype=float)

    def check_target(self, y):
        """Return y, or raise ValueError when a count is negative or none is positive."""
        if np.min(y) < 0:
            raise ValueError(f"the Poisson loss needs y >= 0, got a smallest value of {np.min(y):g}.")
        if not np.any(np.asarray(y) > 0):
            raise ValueError("the Poisson loss needs at least one y > 0: with zeros alone the mean e^f goes to 0.")
        return y

    def mean(self, f):
        """e^f."""
        with np.errstate(over="ignore"):
            return np.exp(f)
