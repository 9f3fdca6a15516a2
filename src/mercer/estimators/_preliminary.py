"""A first model, which finds out what the loss of the second cannot: a kernel, length scales, the size of the noise."""

from dataclasses import dataclass

import numpy as np

from mercer._policies import Options, OptionSet
from mercer.approximate.classes import stratified_order
from mercer.approximate.options import TimeOptions
from mercer.estimators._parameters import KernelParameters
from mercer.estimators.validation import seed_of
from mercer.gram import take
from mercer.selection import LOO
from mercer.selection.judging import quietly


@dataclass(frozen=True)
class PreliminaryOptions(Options):
    """How a kernel is proposed to a loss that cannot compare kernels."""

    share: float = 0.5  # of the time; the rest is for the λ of the loss itself
    most_rows: int = 2000  # by which the kernel is chosen
    fewest_rows: int = 250  # the same where there is no time for more


class PreliminaryModel(KernelParameters):
    """An estimator that asks another one first; the losses of both have no gradient in the length scales."""

    memory: float | None
    options: list | tuple

    def _propose(self, X, y, weight, labels=False, **parameters):
        """The first model, of labels or of numbers, fitted to some of the rows.

        Without ``parameters`` it searches for a kernel by the evidence.
        """
        if labels:
            from mercer.estimators.gpc import GaussianProcessClassifier as kind  # each is loaded when it is asked
        else:
            from mercer.estimators.ridge import KernelRidge as kind

        options, seed = OptionSet(self.options)[PreliminaryOptions], seed_of(self.random_state)
        limited = self._clock.limited
        seconds = self._clock.part(options.share).budget if limited else options.share * TimeOptions().unasked
        parameters = {"options": self.options} | (parameters or {"kernel": "auto", "criterion": "evidence"})
        parameters |= {"memory": self.memory, "time_budget": seconds, "random_state": self.random_state}
        model = kind(**parameters)
        used, most = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0), options.most_rows
        while most > options.fewest_rows and 5 * model.plan(most).last > seconds:  # time for some five fits
            most //= 2
        if len(used) > most:
            order = stratified_order(y[used], seed) if labels else np.random.default_rng(seed).permutation(len(used))
            used = np.sort(used[order[:most]])
        return quietly(model.fit, take(X, used), y[used], None if weight is None else weight[used])

    def _fit_ridge(self, X, y, weight, kernel=None):
        """(kernel, λ, σ) of ridge regression: the lengths of a kernel that is not given, and the size of the noise."""
        optimize = "all" if kernel is None else "lam"
        model = self._propose(X, y, weight, kernel=kernel, criterion=LOO(together=True), optimize=optimize)
        sigma = 1.4826 * float(np.nanmedian(np.abs(model._fitted.left_out().residuals)))  # of normal errors
        return model.kernel_, float(np.clip(model.lam_, 1e-6, 1e6)), sigma or float(np.std(y)) or 1.0
