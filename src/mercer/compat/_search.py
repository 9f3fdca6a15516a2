"""The search for θ as scikit-learn does it: L-BFGS-B from the given θ, restarts from the bounds, or a function."""

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer._threads import few_threads
from mercer._warn import warn


def optimise_theta(kernel, objective, rows, report, *, optimizer, restarts=0, random_state=None):
    """Set the θ of a kernel to the best of some descents, and return the value there; None if nothing is open.

    They begin at the kernel's own θ, and at θ drawn uniformly from its log bounds. An optimizer that is a function is
    called as ``optimizer(objective, theta, bounds=bounds)``, and returns (θ, value); the report gets counts.
    """
    if optimizer is None or not kernel.n_dims:
        return None
    bounds, counted, rng = kernel.bounds, _Counted(objective), check_random_state(random_state)
    if restarts and not np.isfinite(bounds).all():
        raise ValueError(
            f"Multiple optimizer restarts (n_restarts_optimizer={restarts}) requires that all bounds are finite: "
            f"log bounds are {bounds.tolist()}."
        )
    starts = [np.array(kernel.theta, dtype=float)]
    starts += [rng.uniform(bounds[:, 0], bounds[:, 1]) for _ in range(restarts)]
    optima = []
    for start in starts:
        if callable(optimizer):
            found = optimizer(counted, start, bounds=bounds)
        else:
            with few_threads(rows):  # once, not in every evaluation
                found = _minimise(counted, start, bounds)
        optima.append((np.asarray(found[0], dtype=float), np.float64(found[1])))
    report.update(evaluations=counted.evaluations, failed_evaluations=counted.failed, restarts=restarts)
    best = min(optima, key=lambda found: found[1] if np.isfinite(found[1]) else np.inf)
    if not np.isfinite(best[1]):
        warn(
            f"nothing was learnt: of {counted.evaluations} evaluations {counted.failed} were not finite, and the best "
            f"log marginal likelihood is {-best[1]}; θ is {best[0].tolist()}. Scale y (normalize_y=True in a "
            "regression) and the columns of X, or change the start of the kernel's hyper-parameters.",
            ConvergenceWarning,
        )
    kernel.theta = best[0]
    kernel._check_bounds_params()
    return best[1]


class _Counted:
    """The objective, with a count of its evaluations and of those that were not finite."""

    def __init__(self, objective):
        self.objective, self.evaluations, self.failed = objective, 0, 0

    def __call__(self, theta, eval_gradient=True):
        found = self.objective(theta, eval_gradient=eval_gradient)
        self.evaluations += 1
        self.failed += not np.isfinite(found[0] if eval_gradient else found)
        return found


def _minimise(objective, start, bounds):
    """L-BFGS-B; the best finite point it has seen, whatever it says of itself."""
    best, worst = (start, np.inf), -np.inf

    def value_and_gradient(theta):
        nonlocal best, worst
        value, gradient = objective(theta)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return (worst if np.isfinite(worst) else 1e3) + 10.0, np.zeros_like(theta)  # a line search turns back
        worst = max(worst, value)
        if value < best[1]:
            best = theta.copy(), float(value)
        return value, gradient

    result = minimize(value_and_gradient, start, method="L-BFGS-B", jac=True, bounds=bounds)
    if result.status != 0:
        warn(
            f"lbfgs failed to converge after {result.nit} iterations and {result.nfev} evaluations (status "
            f"{result.status}: {result.message}); the best of them, {best[1]:.6g}, is used. Scale the columns of X, "
            "or change the bounds or the start of the kernel's hyper-parameters.",
            ConvergenceWarning,
        )
    return best
