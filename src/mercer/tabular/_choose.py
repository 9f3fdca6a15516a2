"""What an estimator leaves open that its own criterion cannot choose; and who listens to a search."""

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

from mercer.estimators import KernelRidge

SCALES = (0.35, 0.7, 1.4)  # times the default length scales: what a classifier chooses among
NORMAL = 1.4826  # median |e| to standard deviation, for normal errors


def prepared(estimator, X, y, notes, own=True, optimize="all", listener=None):
    """The estimator with what its own criterion cannot choose: length scales, and what the noise sets.

    Gradients in the length scales exist for the squared loss and the evidence only. For the other losses they are what
    kernel ridge regression chooses by leave-one-out; the residuals also give the scale of the noise.
    """
    if estimator.learns_lengths:
        return estimator
    if is_classifier(estimator):
        if not own:
            return estimator
        notes.append("the length scales are the best of three multiples of the standard deviations.")
        kernel = estimator.kernel
        return clone(estimator).set_params(kernel=[kernel.with_theta(kernel.theta + np.log(f)) for f in SCALES])
    target = np.log1p(y) if get_tags(estimator).target_tags.positive_only else y
    budget = None if estimator.time_budget is None else estimator.time_budget / 2  # the other half is for the model
    options = {"optimize": optimize, "time_budget": budget, "memory": estimator.memory}
    first = listen(KernelRidge(estimator.kernel, criterion="loo", **options), listener).fit(X, target)
    sigma = NORMAL * float(np.median(np.abs(first.loo_residuals_))) or float(np.std(target)) or 1.0
    if optimize == "all":
        notes.append("the length scales are those that ridge regression chooses by leave-one-out.")
    model = estimator.for_noise(sigma, len(y)).set_params(kernel=first.kernel_, time_budget=budget)
    for name, value in model.get_params(deep=False).items():
        if repr(value) != repr(getattr(estimator, name)) and name not in ("kernel", "time_budget"):
            notes.append(f"{name} = {value!r}, from the left-out residuals: they have a deviation of {sigma:.4g}.")
    return model.set_params(lam=min(max(first.lam_, 1e-6), 1e6) * sigma) if model.criterion == "loo" else model


# --------------------------------------------------------------------------------------------- progress
class Listener:
    """A callback of scikit-learn that calls a function after each evaluation of a search; true asks it to stop."""

    def __init__(self, call):
        self.call = call

    def setup(self, estimator, context):
        """Nothing to do."""

    def teardown(self, estimator, context):
        """Nothing to do."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to do."""

    def on_fit_task_end(self, estimator, context):
        """Report an evaluation."""
        return bool(self.call()) if context.task_name == "evaluation" else False


def listen(estimator, listener):
    """The estimator, telling the listener of each evaluation where it can."""
    if listener is not None and hasattr(estimator, "set_callbacks"):
        estimator.set_callbacks(Listener(listener))
    return estimator
