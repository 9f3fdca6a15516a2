"""What every search minimises, z = log of the hyper-parameters ↦ C and its gradient, and the record of its trials."""

import math
from abc import ABC, abstractmethod

import numpy as np

from mercer._clock import Clock
from mercer._threads import few_threads
from mercer.exceptions import NotPositiveDefinite
from mercer.selection.options import SearchOptions
from mercer.selection.search.space import has_amplitude
from mercer.solvers import Cholesky
from mercer.solvers.projected import Span, as_resolvent, independent


class Stop(Exception):
    """The time budget is spent, or the callback asked to stop."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


class Record:
    """The clock of a search, its history, and the callback that is called with each evaluation."""

    def __init__(self, clock=None, callback=None):
        self.started, self.clock, self.callback = Clock(), Clock() if clock is None else clock, callback
        self.history, self.failed, self.last_error, self.succeeded = [], 0, None, False
        self.stopped = False  # whether the callback has asked for it
        self._took = {}  # {rows: seconds of the longest evaluation}

    @property
    def seconds(self):
        """Since the search began."""
        return self.started.seconds

    def begin(self, n):
        """Return the time at which an evaluation of n rows begins; raise Stop where it would end too late.

        The first evaluation is never refused.
        """
        if self.stopped:
            raise Stop("stopped")
        if self.clock.limited and self._took and not self.clock.fits(self.expected(n)):
            raise Stop("time_budget")
        return self.seconds

    def expected(self, n):
        """Seconds of an evaluation of n rows, from those of as many rows, or of the most there were, n^2.8 as long."""
        rows = n if n in self._took else max(self._took)
        return self._took[rows] * max(n / rows, 1.0) ** 2.8

    def add(self, began, **entry):
        """Keep an evaluation of entry["n"] rows; raise Stop when it is to be the last."""
        now, n = self.seconds, entry["n"]
        self._took[n] = max(self._took.get(n, 0.0), now - began)
        self.history.append({"evaluation": len(self.history) + 1, "seconds": now, **entry})
        self.stopped = self.callback is not None and bool(self.callback(self.history[-1]))
        if self.stopped:
            raise Stop("stopped")
        if self.clock.spent:
            raise Stop("time_budget")


__all__ = ["CriterionObjective", "Objective", "Record", "Stop"]


class Objective(ABC):
    """z = (log θ, log λ) ↦ (C, ∂C/∂z), with the best point, the worst value and the largest slopes seen.

    Failed trials (a matrix that cannot be factored, a θ that the kernel refuses, a value or gradient that is not
    finite) count, and are worth a little more than the worst finite one, so that a line search turns back. A subclass
    writes ``_evaluate``, and ``take`` where it is searched on more and more rows. C is a mean over the ``n`` rows;
    ``best_value`` and the history have it as ``_evaluate`` gives it, without the prior.
    """

    by_levels = True  # whether an optimum on few rows leads to that on all
    exacting = True  # whether digits of C beyond the fourth mean anything, as they do in a log density

    def __init__(self, kernel, n, names, record, prior=None, options=SearchOptions(), smooth=True):
        self.kernel, self.n, self.names, self.record = kernel, n, names, record
        self.prior, self.options, self.smooth = prior, options, smooth
        self.best, self.best_z, self.best_value = np.inf, None, np.nan
        self.worst, self._tried = -np.inf, []
        # The largest |∂C/∂z| seen; not known where there is no adjoint.
        self.slope = np.full(len(names), 0.0 if smooth else np.inf)

    @property
    def fine(self):
        """What a descent on all rows may leave to gain."""
        return 0.0

    @abstractmethod
    def _evaluate(self, z, gradient):
        """(C, ∂C/∂z or zeros), as it is."""

    def _normalise(self, value, gradient, prior):
        """(C, ∂C/∂z) as a descent sees them, from C, ∂C/∂z and the prior's (value, gradient)."""
        return (value + prior[0]) / self.n, (gradient + prior[1]) / self.n

    def take(self, index):
        """Return the same on some of the rows."""
        raise NotImplementedError(f"{type(self).__name__} is not searched by levels of rows.")

    def start(self, kernel, lam):
        """z of a kernel and λ."""
        return np.append(kernel.theta, np.log(lam))

    def at(self, z):
        """(kernel, λ) of z."""
        return self.kernel.with_theta(z[:-1]), math.exp(z[-1])

    def safer(self, z, box):
        """Yield points that are likelier to be evaluated than z, where that failed."""
        return ()

    def entry(self, z):
        """What the history keeps of z: λ, and log θ."""
        z = z.tolist()
        return {"lam": math.exp(z[-1]), "theta": z[:-1]}

    def __call__(self, z):
        """(C, ∂C/∂z)."""
        return self._try(z, True)

    def value(self, z):
        """C alone."""
        return self._try(z, False)[0]

    def once(self, z):
        """Evaluate C where that is all there is to do: a budget that it has spent, or a stop, changes nothing then."""
        try:
            self.value(z)
        except Stop:
            if self.best_z is None and self.record.succeeded:  # of a list: there are results without it
                raise

    def exact(self, z, gradient=True):
        """(C, ∂C/∂z or zeros) as they are, without a prior; errors are the caller's."""
        with few_threads(self.n):
            return self._evaluate(z, gradient)

    def _try(self, z, wanted):
        raw, z, began = np.nan, np.asarray(z, dtype=float), self.record.begin(self.n)
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                raw, gradient = self._evaluate(z, wanted)
                prior = (0.0, 0.0) if self.prior is None else self.prior(self.names, z)
                value, gradient = self._normalise(raw, gradient, prior)
        except (NotPositiveDefinite, ValueError, FloatingPointError) as error:
            # A kernel refuses a θ by a ValueError; before any trial has succeeded it may be the data that it refuses.
            if not (self.record.succeeded or isinstance(error, (NotPositiveDefinite, np.linalg.LinAlgError))):
                raise
            self.record.last_error, value, gradient = error, np.nan, np.full(len(z), np.nan)
        if not math.isfinite(value + np.add.reduce(gradient)):
            self.record.failed += 1
            value, gradient = (self.worst if np.isfinite(self.worst) else 1e3) + 10.0, np.zeros(len(z))
        else:
            self._keep(value, z, raw, gradient if wanted else None)
        self.record.add(began, n=self.n, value=float(raw), **self.entry(z))
        return value, gradient

    def _keep(self, value, z, raw, gradient):
        """Note a trial that succeeded."""
        self.record.succeeded = True
        self.worst = max(self.worst, value)
        if gradient is not None:
            self.slope = np.maximum(self.slope, np.abs(gradient))
        if value < self.best:
            self.best, self.best_z, self.best_value = value, np.array(z), float(raw)
        if not self.exacting:
            self._tried.append((value, z.copy(), float(raw)))

    def prefer_large_lam(self, box):
        """Of the trials of an error that are equal in the digits that mean something, take the one with the largest λ.

        Where a line can be imitated, C hardly falls towards a vanishing λ: the ends of such valleys are bounds, and
        what stands at one is taken only if nothing inside is as good.
        """
        good = [tried for tried in self._tried if tried[0] <= self.best + 0.5 * self.options.error_gain]
        if good:

            def preferred(tried):
                z = tried[1]
                return bool(((z > box[:, 0]) & (z < box[:, 1])).all()), z[-1]

            self.best, self.best_z, self.best_value = max(good, key=preferred)


class CriterionObjective(Objective):
    """A criterion on rows: log of a positive one, the mean of a summed one; z has the free ones of θ, and log λ."""

    def __init__(self, kernel, rows, criterion, record, *, solver=None, free=None, prior=None, options=SearchOptions()):
        self.free = np.ones(kernel.n_theta, dtype=bool) if free is None else free
        names = [*np.array(kernel.names)[self.free], "lam"] if self.free.any() else ["lam"]
        super().__init__(kernel, rows.n, names, record, prior, options, criterion.smooth)
        self.rows, self.criterion, self.solver = rows, criterion, Cholesky() if solver is None else solver
        self.by_levels, self.exacting = criterion.by_levels, criterion.density
        self.span = Span(rows.scaled(rows.H))
        self.y = self.span.project_out(rows.scaled(rows.y))  # an offset costs no digits
        self._extras = criterion.extras(rows)
        self._theta, self._pinned = kernel.theta, has_amplitude(kernel) and not self.free[0]

    @property
    def fine(self):
        return density_tolerance(self._size()) if self.criterion.summed else self.options.error_gain

    def take(self, index):
        """Return the same objective on some of the points; of the trend what is independent there."""
        rows = self.rows.take(index)
        rows.H = independent(rows.H) if rows.q > 1 else rows.H
        same = {"solver": self.solver, "free": self.free, "prior": self.prior, "options": self.options}
        return CriterionObjective(self.kernel, rows, self.criterion.restrict(index), self.record, **same)

    def start(self, kernel, lam):
        """z of a kernel and λ."""
        return np.append(kernel.theta[self.free], np.log(lam))

    def at(self, z):
        """(kernel, λ) of z."""
        theta = self._theta.copy()
        theta[self.free] = z[:-1]
        kernel = self.kernel.with_theta(theta)
        if self._pinned:
            kernel.scale = self.kernel.scale  # to the last digit, which exp(log c) may lose
        return kernel, float(np.exp(z[-1]))

    def safer(self, z, box):
        """Yield z with a larger and larger λ."""
        z = z.copy()
        while z[-1] < box[-1, 1]:
            z[-1] = min(z[-1] + np.log(100.0), box[-1, 1])
            yield z.copy()

    def inverse(self, z, whole=False):
        """(Gram, P) at z."""
        kernel, lam = self.at(z)
        K = self.rows.gram(kernel)
        return K, as_resolvent(self.solver.resolvent(K, self.span)).unchecked(lam, whole)

    def _evaluate(self, z, gradient):
        K, P = self.inverse(z, gradient)
        arguments = P, self.y, self.rows.weight
        if not gradient:
            return self.criterion.value(*arguments, **self._extras), np.zeros(len(z))
        direct = self.criterion.explicit(*arguments, **self._extras)
        value, W = self.criterion.value_and_adjoint(*arguments, **self._extras)
        lam, slope = P.lam, np.empty(len(z))
        del P, arguments  # its array is W's by now, or free
        if len(z) > 1:
            slope[:-1] = K.grad(W)[self.free]
        slope[-1] = lam * W.trace() + direct
        return value, slope

    def _size(self):
        """Rows times targets; a row of weight 2 is two rows, unless weights are precisions."""
        counted = self.rows.weight is not None and self.criterion.weights == "repeats"
        return (float(self.rows.weight.sum()) if counted else len(self.rows.index)) * self.rows.t

    def _normalise(self, value, gradient, prior):
        """log C of a positive criterion, the mean over rows and targets of a summed one; the prior is a sum.

        Beside an error C a prior counts as beside the density of rows whose variance it is, ½ n log C.
        """
        size = self._size()
        if self.criterion.positive:
            value, gradient = (np.log(value), gradient / value) if value != 0 else (-700.0, np.zeros_like(gradient))
            return value + 2.0 * prior[0] / size, gradient + 2.0 * prior[1] / size
        if self.criterion.summed:
            value, gradient = value / size, gradient / size
        return value + prior[0] / size, gradient + prior[1] / size


def density_tolerance(size):
    """What a descent may leave to gain of the mean log density of ``size`` rows and targets.

    A hundredth of a nat, which is what comparisons see; for many rows five digits are enough.
    """
    return max(1e-2 / size, 1e-5)
