"""Many C and ε of an SVR with one K: each fit starts from its neighbour's α."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from mercer._clock import Clock
from mercer._policies import OptionSet
from mercer.dual import WorkingSetOptions
from mercer.dual.working_set import hold
from mercer.estimators.svm_fit import EpsilonDual
from mercer.estimators.validation import check_weight
from mercer.gram import TiledGram, apply, take
from mercer.kernels import as_kernel


class SVRPath(NamedTuple):
    """What `svr_path` found: arrays over C (first axis) and ε (second).

    Attributes
    ----------
    Cs, epsilons : ndarray of shape (p,), (q,)
        Ascending C, descending ε.
    dual_coef : ndarray of shape (p, q, n)
        α, the weight of each training row, for each C and ε.
    intercept : ndarray of shape (p, q)
        b, the constant, for each C and ε.
    support : ndarray of shape (p, q)
        How many support vectors.
    objective, gap, violation : ndarray of shape (p, q)
        Dual objective, duality gap, and KKT violation in standard deviations of y.
    iterations : ndarray of shape (p, q)
    status : ndarray of str of shape (p, q)
    kernel : Kernel
    X : collection
    """

    Cs: np.ndarray
    epsilons: np.ndarray
    dual_coef: np.ndarray
    intercept: np.ndarray
    support: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    violation: np.ndarray
    iterations: np.ndarray
    status: np.ndarray
    kernel: object
    X: object

    def predict(self, X):
        """Predictions of every fit, of shape (p, q, m); one evaluation of the kernel serves all fits."""
        flat = self.dual_coef.reshape(-1, self.dual_coef.shape[-1])
        used = np.flatnonzero(flat.any(axis=0))
        f = apply(self.kernel, self.kernel.validate(X), take(self.X, used), np.ascontiguousarray(flat[:, used].T))
        return f.T.reshape(*self.intercept.shape, -1) + self.intercept[..., None]


def _certify(fit, K, fits, settings, together=64):
    """The fits with certificates in float64, so many in one pass over K; what proves to be no solution is continued."""
    out = []
    for i in range(0, len(fits), together):
        products = K.exact_product(np.stack([one.alpha for one in fits[i : i + together]], axis=1))
        for one, product, setting in zip(fits[i : i + together], products.T, settings[i : i + together], strict=True):
            again = fit(*setting, start=(one.alpha, product))
            steps = one.solution.iterations + again.solution.iterations
            out.append(again._replace(solution=again.solution._replace(iterations=steps)))
    return out


def _warm_start(found, box, old_box):
    """α of a neighbouring problem as a start: bounded rows go to their new bound, the others stay."""
    at_bound = np.abs(found.alpha) >= old_box * (1.0 - 1e-12)
    return np.where(at_bound, np.sign(found.alpha) * box, found.alpha)


def svr_path(
    kernel, X, y, Cs, epsilons=(0.1,), *, sample_weight=None, intercept=True, tol=1e-3, time_budget=None, memory=None
):  # fmt: skip
    """α(C, ε) = argmin ½αᵀKα − yᵀα + ε‖α‖₁, |αᵢ| <= Cwᵢ, for every C and ε: one K, each fit starting from the last.

    Parameters
    ----------
    kernel : Kernel
    X : array-like of shape (n, d), or a sequence of objects
    y : array-like of shape (n,)
    Cs : array-like
        Values of C > 0.
    epsilons : array-like, default=(0.1,)
        Values of ε >= 0.
    sample_weight : array-like of shape (n,), default=None
    intercept, tol, memory
        As for `SVR`.
    time_budget : float, default=None
        Seconds for all fits.

    Returns
    -------
    SVRPath

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import svr_path
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> found = svr_path(Gaussian(1.0), X, np.sin(X[:, 0]), Cs=[0.1, 1.0, 10.0], epsilons=[0.3, 0.1])
    >>> found.support.shape, bool((found.support[:, 0] <= found.support[:, 1]).all())
    ((3, 2), True)
    """
    kernel = as_kernel(kernel)
    X = kernel.validate(X)
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and not np.isfinite(X).all():
        row = int(np.argwhere(~np.isfinite(X))[0][0])
        raise ValueError(f"X has a NaN or infinite entry in row {row}; leave the row out, or fill it in.")
    y = np.asarray(y, dtype=float)
    if y.shape != (len(X),) or not np.isfinite(y).all():
        raise ValueError(f"y must be finite, of shape ({len(X)},); got shape {y.shape}.")
    weight = check_weight(np.ones(len(y)) if sample_weight is None else sample_weight, len(y))
    Cs, epsilons = np.sort(np.asarray(Cs, dtype=float)), np.sort(np.asarray(epsilons, dtype=float))[::-1]
    if not (Cs.size and epsilons.size and (Cs > 0).all() and np.isfinite(Cs).all() and (epsilons >= 0).all()):
        raise ValueError("Cs must be positive and finite, epsilons >= 0, at least one of each.")
    K, clock = hold(TiledGram(kernel, X), tol, memory), Clock(time_budget)
    # One pass over K in float64 makes all fits certain where it costs more than to read what is stored.
    later = K.matrix is not None and K.matrix.dtype == np.float32

    exact = EpsilonDual(K, weight, intercept, tol=tol, memory=memory)
    dual = replace(exact, options=OptionSet(WorkingSetOptions(exact=not later)))
    fits, row_start = [], None
    for i, C in enumerate(Cs):
        start = None if row_start is None else _warm_start(row_start, C * weight, Cs[i - 1] * weight)
        for j, epsilon in enumerate(epsilons):
            one = dual.fit(y, C, epsilon, start=start, clock=clock)
            fits.append(one)
            start = one.alpha
            row_start = one if j == 0 else row_start
    if later:
        fits = _certify(partial(exact.fit, y, clock=clock), K, fits, [(C, epsilon) for C in Cs for epsilon in epsilons])
    shape = (Cs.size, epsilons.size)

    def table(values):
        return np.array(values).reshape(*shape, *np.shape(values[0]))

    return SVRPath(
        Cs=Cs,
        epsilons=epsilons,
        dual_coef=table([one.alpha for one in fits]),
        intercept=table([one.b for one in fits]),
        support=table([np.count_nonzero(one.alpha) for one in fits]),
        objective=table([one.objective for one in fits]),
        gap=table([one.gap for one in fits]),
        violation=table([one.solution.violation for one in fits]),
        iterations=table([one.solution.iterations for one in fits]),
        status=table([one.solution.status for one in fits]),
        kernel=kernel,
        X=X,
    )
