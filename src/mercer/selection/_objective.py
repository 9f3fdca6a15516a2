"""One evaluation of a search: (log θ, log λ) ↦ the criterion and its gradient, with a record of every trial."""

import time
from contextlib import nullcontext

import numpy as np

from mercer._tiles import one_blas_thread
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import ScaledGram, TiledGram, take
from mercer.selection._starts import has_amplitude
from mercer.selection.path import trend
from mercer.selection.projected import Projected, invert

ONE_THREAD = 2000  # rows up to which BLAS runs on one thread: more gain little alone, and lose much on a busy machine
LOG_ZERO = -700.0  # log of a criterion that is exactly 0
WORSE = 10.0  # what a failed trial is worth beyond the worst finite one


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
        self.history, self.failed, self.last_error = [], 0, None

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


class Objective:
    """z = (log θ of the free parameters, log λ) ↦ (C, ∂C/∂z); C is log of a positive criterion, a mean of a summed one.

    Failed trials (a matrix that cannot be factored, a value or gradient that is not finite) count, and are worth a
    little more than the worst finite one, so that a line search turns back.
    """

    def __init__(self, kernel, X, y, criterion, record, *, weight=None, intercept=True, free=None):
        self.kernel, self.X, self.criterion, self.record = kernel, X, criterion, record
        self.weight = weight
        self.s = None if weight is None else np.sqrt(weight)
        self.y = y if self.s is None else self.s[:, None] * y
        self.H = trend(weight, len(y), intercept)
        self.free = np.ones(kernel.n_theta, dtype=bool) if free is None else free
        self.best, self.best_z, self.best_value = np.inf, None, np.nan
        self.worst = -np.inf
        # The largest |∂C/∂z| seen; not known where there is no adjoint.
        self.slope = np.full(int(self.free.sum()) + 1, 0.0 if criterion.smooth else np.inf)

    def rows(self, index):
        """Return the same objective on some of the rows."""
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
            free=self.free,
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

    def inverse(self, z):
        """(Gram, P) at z."""
        kernel, lam = self.at(z)
        K = TiledGram(kernel, self.X)
        K = K if self.s is None else ScaledGram(K, self.s)
        P = invert(K, lam)
        return K, Projected(P, self.H) if self.H.shape[1] else P

    def __call__(self, z):
        """(C, ∂C/∂z)."""
        return self._try(z, self._with_gradient)

    def value(self, z):
        """C alone."""
        return self._try(z, self._without)[0]

    def _with_gradient(self, z):
        K, P = self.inverse(z)
        lam = P.lam
        direct = self.criterion.explicit(P, self.y, self.weight)
        value, W = self.criterion.value_and_adjoint(P, self.y, self.weight)
        del P  # its array is W's by now, or free
        gradient = np.append(K.grad(W)[self.free] if self.free.any() else [], lam * np.trace(W) + direct)
        return value, gradient

    def _without(self, z):
        value = self.criterion.value(self.inverse(z)[1], self.y, self.weight)
        return value, np.zeros(len(z))

    def _try(self, z, evaluate):
        raw = np.nan
        try:
            # One thread for few rows: the many small products would wait for threads longer than they run.
            with (
                one_blas_thread() if len(self.y) <= ONE_THREAD else nullcontext(),
                np.errstate(over="ignore", invalid="ignore", divide="ignore"),
            ):
                raw, gradient = evaluate(np.asarray(z, dtype=float))
                value, gradient = self._transformed(raw, gradient)
        except (NotPositiveDefinite, np.linalg.LinAlgError, FloatingPointError) as error:
            self.record.last_error, value, gradient = error, np.nan, np.full(len(z), np.nan)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            self.record.failed += 1
            value, gradient = self._penalty(), np.zeros(len(z))
        else:
            self.worst = max(self.worst, value)
            self.slope = np.maximum(self.slope, np.abs(gradient))
            if value < self.best:
                self.best, self.best_z, self.best_value = value, np.array(z), float(raw)
        self.record.add(n=len(self.y), value=float(raw), lam=float(np.exp(z[-1])), theta=list(map(float, z[:-1])))
        return value, gradient

    def _transformed(self, value, gradient):
        """log C of a positive criterion, the mean over rows and targets of a summed one."""
        if self.criterion.positive:
            return (np.log(value), gradient / value) if value != 0 else (LOG_ZERO, np.zeros_like(gradient))
        if self.criterion.summed:
            return value / self.y.size, gradient / self.y.size
        return value, gradient

    def _penalty(self):
        return (self.worst if np.isfinite(self.worst) else 1e3) + WORSE
