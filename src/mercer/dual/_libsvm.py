"""A start from libsvm, as scikit-learn keeps it: of a few rows its pairs of variables are faster than any factor."""

import numpy as np

FEW = 200  # rows up to which it is
EPSILON_SVR = 3  # libsvm's number for it
LOOSE = 1e-3  # violation, of the largest target, at which it ends: what is free or bounded is then known
PAIRS = 30  # steps for each row after which it gives up, as it would where C is large


def start(K, programme, budget):
    """α of an ε-insensitive dual with an intercept, to three digits; None where it has none, or the dual is another."""
    box, eps = programme.upper, float(programme.epsilon[0])
    same = len(box) <= FEW and programme.intercept and not programme.ridge.any() and (programme.epsilon == eps).all()
    if not (same and (box == -programme.lower).all() and box.min() > 0.0):
        return None
    try:  # its estimator checks for half a millisecond what was checked before, as long as the rest of a fit takes
        from sklearn.svm import _libsvm
    except ImportError:
        return None
    C, unit, a = float(box.max()), float(np.abs(programme.target).max()), np.zeros(len(box))
    most = int(min(PAIRS * len(box), budget.left))
    _libsvm.set_verbosity_wrap(0)
    support, _, _, coef, _, _, _, failed, steps = _libsvm.fit(
        K, programme.target, svm_type=EPSILON_SVR, kernel="precomputed", C=C, epsilon=eps, tol=LOOSE * unit,
        sample_weight=box / C, max_iter=most,
    )  # fmt: skip
    steps = int(steps[0])
    budget.take(steps, float(steps) * len(box))
    budget.pairs += steps
    a[support] = coef[0]
    return None if failed else programme.feasible(a)
