"""What another model finds out first: a kernel for a loss that cannot compare kernels, lengths, the noise."""

import numpy as np

from mercer.approximate.expressions import SECONDS
from mercer.approximate.labels import stratified_order
from mercer.estimators.validation import seed_of
from mercer.gram import take
from mercer.selection import LOO
from mercer.selection.judging import quietly

HALF = 0.5  # of the time, for the kernel of a loss that cannot compare kernels; the rest is for its own λ
MOST_PROPOSED, FEW_PROPOSED = 2000, 250  # rows by which that kernel is chosen; and where there is no time for more
HURRY = 5.0  # fits that there is to be time for
NORMAL = 1.4826  # median |e| to standard deviation, for normal errors
LAM_RANGE = 1e-6, 1e6  # of ridge regression, where another loss goes by it


def proposed(estimator, X, y, weight, labels, clock, **options):
    """The model, of labels or of numbers, that chooses a kernel for a loss that cannot compare kernels: by some rows.

    Without ``options`` of its own it searches for a kernel by the evidence. The clock is that of the whole fit.
    """
    if labels:
        from mercer.estimators.gpc import GaussianProcessClassifier as kind  # both import this module
    else:
        from mercer.estimators.ridge import KernelRidge as kind

    seconds = clock.part(HALF).budget if clock.limited else HALF * SECONDS
    options = options or {"kernel": "auto", "criterion": "evidence"}
    seed = seed_of(estimator.random_state)
    model = kind(memory=estimator.memory, time_budget=seconds, random_state=estimator.random_state, **options)
    used, most = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0), MOST_PROPOSED
    while most > FEW_PROPOSED and HURRY * model.plan(most).last > seconds:
        most //= 2
    if len(used) > most:
        order = stratified_order(y[used], seed) if labels else np.random.default_rng(seed).permutation(len(used))
        used = np.sort(used[order[:most]])
    return quietly(model.fit, take(X, used), y[used], None if weight is None else weight[used])


def ridge_first(estimator, X, y, weight, clock):
    """(kernel, λ, σ) by ridge regression and leave-one-out: lengths of a kernel that is not given, and the noise.

    Other losses have no gradient in the length scales, and have to know how large the noise is.
    """
    given = estimator.kernel is not None
    options = {"kernel": estimator.kernel if given else None, "criterion": LOO(together=True)}
    options["optimize"] = "lam" if given else "all"
    model = proposed(estimator, X, y, weight, False, clock, **options)
    sigma = NORMAL * float(np.nanmedian(np.abs(model.loo_residuals_)))
    return model.kernel_, float(np.clip(model.lam_, *LAM_RANGE)), sigma or float(np.std(y)) or 1.0
