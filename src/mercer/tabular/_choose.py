"""What an estimator leaves open: chosen on some of the rows, and then fixed."""

import numpy as np
from sklearn.base import clone

from mercer.estimators import SVR, KernelMachine, KernelRidge
from mercer.losses import BY_NAME, EpsilonInsensitive, Huber, Loss, Poisson
from mercer.selection import LOO

CLASSIFIERS = ("logistic", "hinge", "squared_hinge")
SCALES = (0.35, 0.7, 1.4)  # times the default length scales: what a logistic regression chooses among
NORMAL = 1.4826  # median |e| to standard deviation, for normal errors


def leaves_open(estimator):
    """Whether fitting the estimator chooses something."""
    return estimator.criterion is not None


def fixed(fitted):
    """The estimator, unfitted, with what the fitted one chose, and nothing left to choose."""
    return fitted.frozen()


def within(estimator, seconds):
    """The estimator itself, its searches together within so many seconds; as it is for None."""
    if seconds is not None and "time_budget" in estimator.get_params(deep=False):
        own = estimator.time_budget
        share = seconds / (2 if isinstance(estimator, SVR | KernelMachine) else 1)  # a ridge regression comes first
        estimator.set_params(time_budget=share if own is None else min(own, share))
    return estimator


def what_was_chosen(fitted):
    """How an estimator chose, as plain values; None if it chose nothing."""
    found = fitted.selection_
    return None if found is None else found.to_dict()


def prepared(estimator, X, y, notes, own=True, optimize="all", listener=None):
    """The estimator with what its own criterion cannot choose: length scales, ε and δ, by a ridge regression.

    Gradients in the length scales exist for the squared loss and the evidence only. For the other losses they are what
    kernel ridge regression chooses by leave-one-out; the residuals also give the scale of the noise.
    """
    if isinstance(estimator, KernelMachine) and _loss_name(estimator) in CLASSIFIERS:
        if not own:
            return estimator
        notes.append("the length scales are the best of three multiples of the standard deviations.")
        kernels = [_scaled(estimator.kernel, factor) for factor in SCALES]
        return clone(estimator).set_params(kernel=kernels)
    if not isinstance(estimator, SVR | KernelMachine):
        return estimator
    target = np.log1p(y) if isinstance(getattr(estimator, "loss", None), Poisson) else y
    options = {"optimize": optimize, "time_budget": estimator.time_budget, "memory": estimator.memory}
    first = listen(KernelRidge(estimator.kernel, criterion=LOO(), **options), listener).fit(X, target)
    sigma = NORMAL * float(np.median(np.abs(first.loo_residuals_))) or float(np.std(target)) or 1.0
    if optimize == "all":
        notes.append("the length scales are those that ridge regression chooses by leave-one-out.")
    model = clone(estimator).set_params(kernel=first.kernel_)
    if isinstance(model, SVR):
        return _support_vectors(model, X, y, sigma, first.lam_, notes, listener)
    if isinstance(model.loss, Huber) or model.loss == "huber":
        model.set_params(loss=Huber(1.345 * sigma))
        notes.append(f"Huber's δ = {1.345 * sigma:.4g}, 1.345 times the scale of the left-out residuals.")
    return model


def _support_vectors(model, X, y, sigma, lam, notes, listener):
    """SVR with ε from the noise (Cherkassky and Ma, 2004) and λ by the span rule."""
    n = len(y)
    epsilon = 3.0 * sigma * np.sqrt(np.log(n) / n)
    loss = EpsilonInsensitive(epsilon)
    options = {"criterion": "loo", "time_budget": model.time_budget, "memory": model.memory}
    search = KernelMachine(model.kernel, loss, min(max(lam, 1e-6), 1e6) * sigma, **options)
    lam = listen(search, listener).fit(X, y).lam_
    notes.append(f"ε = {epsilon:.4g} from the left-out residuals (3σ√(ln n/n)); λ by approximate leave-one-out.")
    return model.set_params(epsilon=float(epsilon), lam=float(lam))


def _loss_name(estimator):
    loss = estimator.loss
    return next(name for name, cls in BY_NAME.items() if type(loss) is cls) if isinstance(loss, Loss) else loss


def _scaled(kernel, factor):
    """The kernel with all its hyper-parameters times a factor."""
    return kernel.with_theta(kernel.theta + np.log(factor))


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
