"""A start from libsvm, as scikit-learn keeps it: of a few rows its pairs of variables are faster than any factor."""

import warnings

import numpy as np
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

FEW = 200  # rows up to which it is
LOOSE = 1e-3  # violation, of the largest target, at which it ends: what is free or bounded is then known
PAIRS = 30  # steps for each row after which it gives up, as it would where C is large


def start(K, programme, budget):
    """α of an ε-insensitive dual with an intercept, to three digits; None where it has none, or the dual is another."""
    box, eps = programme.upper, float(programme.epsilon[0])
    same = len(box) <= FEW and programme.intercept and not programme.ridge.any() and (programme.epsilon == eps).all()
    if not (same and (box == -programme.lower).all() and box.min() > 0.0):
        return None
    from sklearn.svm import SVR  # those who need no support vectors do not load it

    if not SVR.__module__.startswith("sklearn."):  # another one was put in its place, and that may be ours
        return None
    C, unit, a = float(box.max()), float(np.abs(programme.target).max()), np.zeros(len(box))
    most = int(min(PAIRS * len(box), budget.left))
    model = SVR(kernel="precomputed", C=C, epsilon=eps, tol=LOOSE * unit, max_iter=most)
    with config_context(assume_finite=True, skip_parameter_validation=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(K, programme.target, box / C)
    steps = int(model.n_iter_)
    budget.take(steps, float(steps) * len(box))
    budget.pairs += steps
    a[model.support_] = model.dual_coef_[0]
    return None if model.fit_status_ else programme.feasible(a)
