"""The search for θ as scikit-learn does it: L-BFGS-B from the given θ, restarts from the bounds, or a function."""

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from mercer._threads import few_threads
from mercer._warn import warn

WORSE = 10.0  # what a failed trial is worth beyond the worst finite one, so that a line search turns back


def minimise(objective, kernel, optimizer, restarts, rng, rows, report):
    """(θ, value): the best of the descents from the kernel's own θ and from θ drawn uniformly from its log bounds.

    Parameters
    ----------
    objective : callable
        ``objective(theta, eval_gradient=True)`` returns the value, and the gradient if asked.
    kernel : sklearn.gaussian_process.kernels.Kernel
        Gives θ and the bounds.
    optimizer : "fmin_l_bfgs_b" or callable
        A function is called as ``optimizer(objective, theta, bounds=bounds)`` and returns (θ, value).
    restarts : int
    rng : RandomState
    rows : int
        n.
    report : dict
        Gets ``evaluations``, ``failed_evaluations`` and ``restarts``.
    """
    bounds, counted = kernel.bounds, _Counted(objective)
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
                found = _descend(counted, start, bounds)
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
    return best


class _Counted:
    """The objective, with a count of its evaluations and of those that were not finite."""

    def __init__(self, objective):
        self.objective, self.evaluations, self.failed = objective, 0, 0

    def __call__(self, theta, eval_gradient=True):
        found = self.objective(theta, eval_gradient=eval_gradient)
        self.evaluations += 1
        self.failed += not np.isfinite(found[0] if eval_gradient else found)
        return found


def _descend(objective, start, bounds):
    """L-BFGS-B; the best finite point it has seen, whatever it says of itself."""
    best, worst = (start, np.inf), -np.inf

    def value_and_gradient(theta):
        nonlocal best, worst
        value, gradient = objective(theta)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return (worst if np.isfinite(worst) else 1e3) + WORSE, np.zeros_like(theta)
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
