"""Loss: L(y, f) and what the solvers need to know of it. NumPy only; no kernel, no λ."""

import inspect
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np


class Dual(NamedTuple):
    """h(a) = −target·a + epsilon|a| + ½ ridge a²  for  lower <= a <= upper, one h for each row.

    The dual of Σᵢ wᵢ L(yᵢ, f(xᵢ)) + λ‖f‖² is, with cᵢ = wᵢ/(2λ), min over α of ½αᵀKα + Σᵢ hᵢ(αᵢ); f = Σⱼ αⱼ k(·, xⱼ).

    Attributes
    ----------
    target, epsilon, ridge, lower, upper : ndarray of shape (n,)
        lower <= 0 <= upper, which may be infinite; epsilon, ridge >= 0.

    Examples
    --------
    >>> from mercer.losses import EpsilonInsensitive
    >>> dual = EpsilonInsensitive(epsilon=0.1).dual([1.0], c=[5.0])
    >>> dual.target, dual.epsilon, dual.ridge, dual.lower, dual.upper
    (array([1.]), array([0.1]), array([0.]), array([-5.]), array([5.]))
    """

    target: np.ndarray
    epsilon: np.ndarray
    ridge: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def value(self, a):
        """h(a); +inf outside the bounds."""
        h = -self.target * a + self.epsilon * np.abs(a) + 0.5 * self.ridge * a**2
        return np.where((a >= self.lower) & (a <= self.upper), h, np.inf)

    def take(self, index):
        """Return the rows of an index."""
        return Dual(*(part[index] for part in self))


def as_dual(target, epsilon, ridge, lower, upper):
    """Dual with every part a float array of one common shape."""
    parts = np.broadcast_arrays(*(np.asarray(part, dtype=float) for part in (target, epsilon, ridge, lower, upper)))
    return Dual(*(part.copy() for part in parts))


class Loss(ABC):
    """L(y, f): how wrong f is where y was seen; convex in f.

    An author writes ``value`` and one of two things, or both: ``grad`` and ``hess`` (then Newton's method applies),
    or ``dual`` (then the working-set solver does). Nothing else in the library has to know the loss.

    Attributes
    ----------
    classification : bool
        Whether y is a label, −1 or +1 inside.
    positive_only : bool
        Whether y must be >= 0.
    softmax : bool
        Whether e^f are odds of labels: there are probabilities, and one softmax for several classes.
    deviance : {"squared", "pinball", "poisson"}
        What a score explains a part of; "pinball" at the ``levels``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Huber
    >>> loss, y, f = Huber(1.0), np.array([0.5, 3.0]), np.zeros(2)
    >>> loss.value(y, f), loss.grad(y, f)
    (array([0.25, 5.  ]), array([-1., -2.]))
    """

    classification = False
    positive_only = False
    softmax = False
    deviance = "squared"

    @property
    def levels(self):
        """The levels of a loss for quantiles; none for others."""
        return ()

    @abstractmethod
    def value(self, y, f):
        """L(y, f), one number for each entry."""

    def grad(self, y, f):
        """∂L/∂f."""
        raise NotImplementedError(f"{type(self).__name__} has no derivative.")

    def hess(self, y, f):
        """∂²L/∂f²; where L has a kink in its slope, either one-sided value."""
        raise NotImplementedError(f"{type(self).__name__} has no derivative.")

    def dual(self, y, c):
        """`Dual` of c·L(y, ·): h(a) is the conjugate of c·L at −a.

        Parameters
        ----------
        y : ndarray of shape (n,)
        c : float or ndarray of shape (n,)
            w/(2λ) > 0.
        """
        raise NotImplementedError(f"the conjugate of {type(self).__name__} is not quadratic in pieces.")

    # ------------------------------------------------------------------------------ written once, never overridden
    @property
    def smooth(self):
        """Whether the loss has ``grad`` and ``hess``."""
        return type(self).grad is not Loss.grad

    @property
    def boxed(self):
        """Whether the loss has ``dual``."""
        return type(self).dual is not Loss.dual

    def box(self, y, c):
        """(lower, upper): the bounds of αᵢ."""
        return self.dual(y, c)[3:]

    def dual_step(self, u, k, y, c):
        """argmin over a of h(a) + ½k(a − u)²: one coordinate of the dual, exactly.

        Parameters
        ----------
        u, k : float or ndarray of shape (n,)
            Where the quadratic model has its minimum, and its curvature > 0.
        y, c : ndarray of shape (n,)
            Targets, and the largest size of each dual coefficient.
        """
        d = self.dual(y, c)
        pull = k * np.asarray(u, dtype=float) + d.target
        a = np.sign(pull) * np.maximum(np.abs(pull) - d.epsilon, 0.0) / (k + d.ridge)
        return np.clip(a, d.lower, d.upper)

    # ------------------------------------------------------------- what an author may add for his own kind of target
    def check_target(self, y):
        """Return y, or raise ValueError where the loss cannot see it."""
        return y

    def mean(self, f):
        """What is predicted where the model says f; f itself unless there is a link."""
        return f

    def for_noise(self, sigma, n):
        """Return the loss as noise of this standard deviation in n rows asks for; itself where that changes nothing."""
        return self

    def split(self):
        """Return the losses that are fitted side by side: one, except for several levels at once."""
        return [self]

    # ------------------------------------------- scikit-learn's protocol of parameters, without importing scikit-learn
    def get_params(self, deep=True):
        """Return the arguments of the constructor, by name."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params):
        """Set arguments of the constructor by name, and return self."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {sorted(known)}.")
            setattr(self, name, value)
        return self

    def __repr__(self):
        defaults = {name: p.default for name, p in inspect.signature(type(self)).parameters.items()}
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if not _equal(value, defaults[name])]
        return f"{type(self).__name__}({', '.join(given)})"

    def __eq__(self, other):
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self):
        return hash(repr(self))


def _equal(a, b):
    """Whether two parameters are equal, arrays included."""
    return a is b or (np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b))))


def check_number(name, value, low, high, closed=True):
    """Return a parameter as a float; ValueError outside [low, high], or (low, high) when not closed."""
    x = float(value)
    if not (low <= x <= high if closed else low < x < high):
        raise ValueError(f"{name} must lie in {'[' if closed else '('}{low}, {high}{']' if closed else ')'}, got {x}.")
    return x
