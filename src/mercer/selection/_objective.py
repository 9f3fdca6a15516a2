"""One evaluation of a search: (log θ, log λ) ↦ the criterion and its gradient, with a record of every trial."""

import time
from abc import ABC, abstractmethod

import numpy as np
from scipy.linalg import qr

from mercer._threads import few_threads
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import ScaledGram, TiledGram, take
from mercer.selection._starts import has_amplitude
from mercer.selection.base import Criterion, total_weight
from mercer.selection.path import trend as constant
from mercer.selection.projected import Projected, invert

LOG_ZERO = -700.0  # log of a criterion that is exactly 0
WORSE = 10.0  # what a failed trial is worth beyond the worst finite one
# What ends a descent: gained in one iteration, and the largest derivative; of log C, or of a mean log density.
# An estimate of an error is not worth more than four digits; going on would follow flat directions to their bounds.
LOOSE = {"ftol": 1e-4, "gtol": 1e-3}
# A log density is a sum over rows, of which comparisons see a hundredth; for many rows TIGHT is enough.
NATS, SLOPE, TIGHT = 1e-3, 1e-2, {"ftol": 1e-6, "gtol": 1e-5}


class Stop(Exception):
    """The time budget is spent, or the callback asked to stop."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


class Record:
    """What all levels of a search share: the clock, the history, the callback."""

    def __init__(self, time_budget=None, callback=None):
        self.started = time.perf_counter()
        self.time_budget, self.callback = time_budget, callback
        self.history, self.failed, self.last_error, self.succeeded = [], 0, None, False

    @property
    def seconds(self):
        """Since the search began."""
        return time.perf_counter() - self.started

    def add(self, **entry):
        """Keep an evaluation; raises Stop when it is to be the last."""
        self.history.append({"evaluation": len(self.history) + 1, "seconds": self.seconds, **entry})
        if self.callback is not None and self.callback(self.history[-1]):
            raise Stop("stopped")
        if self.time_budget is not None and self.seconds > self.time_budget:
            raise Stop("time_budget")


class Trials(ABC):
    """z = log of what is searched ↦ (C, ∂C/∂z), with the best point, the worst value and the largest slopes seen.

    Failed trials (a matrix that cannot be factored, a θ that the kernel refuses, a value or gradient that is not
    finite) count, and are worth a little more than the worst finite one, so that a line search turns back. A subclass
    writes ``at``, ``rows``, ``start``, ``_evaluate`` and ``_transformed``.

    Parameters
    ----------
    kernel : Kernel
    X : collection of n inputs
    n : int
    names : list of str
        Of z.
    record : Record
    prior : callable, default=None
        (names, z) ↦ −log density of z and its gradient; beside C, not in ``best_value``.
    smooth : bool, default=True
        Whether there is a gradient.
    """

    by_levels = True  # whether an optimum on few rows leads to that on all

    def __init__(self, kernel, X, n, names, record, prior=None, smooth=True):
        self.kernel, self.X, self.n, self.names, self.record = kernel, X, n, names, record
        self.prior, self.smooth = prior, smooth
        self.best, self.best_z, self.best_value = np.inf, None, np.nan
        self.worst = -np.inf
        # The largest |∂C/∂z| seen; not known where there is no adjoint.
        self.slope = np.full(len(names), 0.0 if smooth else np.inf)

    @property
    def fine(self):
        """Tolerances of the last descent."""
        return LOOSE

    @abstractmethod
    def rows(self, index):
        """Return the same on some of the rows."""

    @abstractmethod
    def start(self, *guess):
        """z of a guess."""

    @abstractmethod
    def at(self, z):
        """What z stands for; the kernel first."""

    @abstractmethod
    def _evaluate(self, z, gradient):
        """(C, ∂C/∂z or zeros)."""

    @abstractmethod
    def _transformed(self, value, gradient, prior):
        """(C, ∂C/∂z) as a search sees them, from C, ∂C/∂z and the prior's (value, gradient)."""

    def safer(self, z, box):
        """Yield points that are likelier to be evaluated than z, where that failed."""
        return ()

    def entry(self, z):
        """What the history keeps of z."""
        return {"theta": list(map(float, z))}

    def __call__(self, z):
        """(C, ∂C/∂z)."""
        return self._try(z, True)

    def value(self, z):
        """C alone."""
        return self._try(z, False)[0]

    def exact(self, z, gradient=True):
        """(C, ∂C/∂z or zeros) as they are, without a prior; errors are the caller's."""
        with few_threads(self.n):
            return self._evaluate(z, gradient)

    def _try(self, z, wanted):
        raw, z = np.nan, np.asarray(z, dtype=float)
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                raw, gradient = self.exact(z, wanted)
                prior = (0.0, 0.0) if self.prior is None else self.prior(self.names, z)
                value, gradient = self._transformed(raw, gradient, prior)
        except (NotPositiveDefinite, ValueError, FloatingPointError) as error:
            # A kernel refuses a θ by a ValueError; before any trial has succeeded it may be the data that it refuses.
            if not (self.record.succeeded or isinstance(error, (NotPositiveDefinite, np.linalg.LinAlgError))):
                raise
            self.record.last_error, value, gradient = error, np.nan, np.full(len(z), np.nan)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            self.record.failed += 1
            value, gradient = self._penalty(), np.zeros(len(z))
        else:
            self.record.succeeded = True
            self.worst = max(self.worst, value)
            if wanted:
                self.slope = np.maximum(self.slope, np.abs(gradient))
            if value < self.best:
                self.best, self.best_z, self.best_value = value, np.array(z), float(raw)
        self.record.add(n=self.n, value=float(raw), **self.entry(z))
        return value, gradient

    def _penalty(self):
        return (self.worst if np.isfinite(self.worst) else 1e3) + WORSE


class Objective(Trials):
    """z = (log θ of the free parameters, log λ) ↦ (C, ∂C/∂z); C is log of a positive criterion, a mean of a summed one.

    Parameters
    ----------
    kernel, X, record, prior
        See `Trials`.
    y : ndarray of shape (n, t)
    criterion : Criterion
    weight : ndarray of shape (n,), default=None
    trend : ndarray of shape (n, q), default=None
        Unpenalised columns; None is a constant with ``intercept``, else none.
    intercept : bool, default=True
    free : ndarray of bool, default=None
        Which of θ are searched.
    """

    def __init__(
        self, kernel, X, y, criterion, record, *, weight=None, intercept=True, trend=None, free=None, prior=None
    ):
        self.free = np.ones(kernel.n_theta, dtype=bool) if free is None else free
        names = [*np.array(kernel.names)[self.free], "lam"] if self.free.any() else ["lam"]
        super().__init__(kernel, X, len(y), names, record, prior, criterion.smooth)
        self.criterion, self.weight, self.trend = criterion, weight, trend
        self.by_levels = criterion.by_levels if isinstance(criterion, Criterion) else True
        self.s = None if weight is None else np.sqrt(weight)
        self.y = y if self.s is None else self.s[:, None] * y
        self.H = constant(weight, len(y), intercept) if trend is None else scaled(self.s, trend)

    @property
    def fine(self):
        """Tolerances of the last descent."""
        return as_sum(self._size()) if self.criterion.summed else LOOSE

    def rows(self, index):
        """Return the same objective on some of the rows; of the trend what is independent there."""
        w = self.weight
        y = self.y if self.s is None else self.y / self.s[:, None]
        return Objective(
            self.kernel,
            take(self.X, index),
            y[index],
            self.criterion.restrict(index),
            self.record,
            weight=None if w is None else w[index],
            intercept=self.H.shape[1] > 0,
            trend=None if self.trend is None else independent(self.trend[index]),
            free=self.free,
            prior=self.prior,
        )

    def start(self, kernel, lam):
        """z of a kernel and λ."""
        return np.append(kernel.theta[self.free], np.log(lam))

    def at(self, z):
        """(kernel, λ) of z."""
        theta = self.kernel.theta
        theta[self.free] = z[:-1]
        kernel = self.kernel.with_theta(theta)
        if has_amplitude(kernel) and not self.free[0]:
            kernel.scale = self.kernel.scale  # to the last digit, which exp(log c) may lose
        return kernel, float(np.exp(z[-1]))

    def safer(self, z, box):
        """Yield z with a larger and larger λ."""
        z = z.copy()
        while z[-1] < box[-1, 1]:
            z[-1] = min(z[-1] + np.log(100.0), box[-1, 1])
            yield z.copy()

    def entry(self, z):
        """λ, and log θ."""
        return {"lam": float(np.exp(z[-1])), "theta": list(map(float, z[:-1]))}

    def inverse(self, z):
        """(Gram, P) at z."""
        kernel, lam = self.at(z)
        K = TiledGram(kernel, self.X)
        K = K if self.s is None else ScaledGram(K, self.s)
        P = invert(K, lam)
        return K, Projected(P, self.H) if self.H.shape[1] else P

    def _evaluate(self, z, gradient):
        if not gradient:
            return self.criterion.value(self.inverse(z)[1], self.y, self.weight), np.zeros(len(z))
        K, P = self.inverse(z)
        lam = P.lam
        direct = self.criterion.explicit(P, self.y, self.weight)
        value, W = self.criterion.value_and_adjoint(P, self.y, self.weight)
        del P  # its array is W's by now, or free
        return value, np.append(K.grad(W)[self.free] if self.free.any() else [], lam * np.trace(W) + direct)

    def _size(self):
        """Rows times targets; a row of weight 2 is two rows, unless weights are precisions."""
        counted = getattr(self.criterion, "weights", "repeats") == "repeats"
        return total_weight(self.weight if counted else None, self.n) * self.y.shape[1]

    def _transformed(self, value, gradient, prior):
        """log C of a positive criterion, the mean over rows and targets of a summed one; the prior is a sum."""
        if self.criterion.positive:
            return (np.log(value), gradient / value) if value != 0 else (LOG_ZERO, np.zeros_like(gradient))
        size = self._size()
        if self.criterion.summed:
            value, gradient = value / size, gradient / size
        return value + prior[0] / size, gradient + prior[1] / size


def as_sum(size):
    """Tolerances for the mean of a log density over ``size`` rows and targets."""
    return {"ftol": max(NATS / size, TIGHT["ftol"]), "gtol": max(SLOPE / size, TIGHT["gtol"])}


def scaled(s, H):
    """S H."""
    return H if s is None else s[:, None] * H


def independent(H):
    """A basis of the columns of H, for rows on which some of them depend on others."""
    Q, R, _ = qr(H, mode="economic", pivoting=True)
    size = np.abs(np.diagonal(R))
    return H if (size > 1e-10 * size.max(initial=0.0)).all() else Q[:, size > 1e-10 * size.max(initial=0.0)]
