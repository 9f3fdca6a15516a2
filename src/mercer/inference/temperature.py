"""One number that makes probabilities bolder or more careful, learnt on rows that were left out."""

import numpy as np
from scipy.optimize import minimize_scalar

RANGE = (-3.0, 3.0)  # of log T


def apply_temperature(prob, temperature):
    """p_c^(1/T) / Σ_d p_d^(1/T).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.temperature import apply_temperature
    >>> apply_temperature(np.array([[0.2, 0.8]]), 2.0).round(3)
    array([[0.333, 0.667]])
    """
    if temperature == 1.0:
        return prob
    with np.errstate(divide="ignore"):
        logs = np.log(prob) / temperature
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def best_temperature(prob, y, weight=None):
    """T that minimises −Σᵢ wᵢ log p_T(yᵢ) + ½ (log T)², between e⁻³ and e³.

    The second term is a prior on T, of the weight of a few rows: where every row is on its right side, or every one on
    its wrong side, the first alone has no minimum.

    Parameters
    ----------
    prob : ndarray of shape (n, C)
        Of rows that the model has not seen: leave-one-out.
    y : ndarray of int of shape (n,)
    weight : ndarray of shape (n,), default=None

    Examples
    --------
    Right nine times of ten, and sure of 99 %:

    >>> import numpy as np
    >>> from mercer.inference.temperature import best_temperature
    >>> prob = np.tile([0.01, 0.99], (10, 1))
    >>> round(best_temperature(prob, np.array([1] * 9 + [0])), 3)
    1.836
    """
    weight = np.ones(len(y)) if weight is None else weight
    prob = np.clip(prob, 1e-300, None)
    rows = np.arange(len(y))

    def loss(log_t):
        own = np.clip(apply_temperature(prob, np.exp(log_t))[rows, y], 1e-300, None)
        return 0.5 * log_t**2 - float(weight @ np.log(own))

    found = minimize_scalar(loss, bounds=RANGE, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


def at_end(temperature):
    """Whether T is at an end of the range in which it is looked for.

    Examples
    --------
    >>> from mercer.inference.temperature import at_end
    >>> at_end(1.0), at_end(20.05)
    (False, True)
    """
    return bool(abs(np.log(temperature)) > RANGE[1] - 0.01)


def left_out_losses(prob, y, weight):
    """(of the model, of the class frequencies): −Σᵢ wᵢ log p(yᵢ)/Σᵢ wᵢ, each row judged without one copy of itself.

    The frequencies have half a row of each class beside the others, so that a class of one member has some.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.temperature import left_out_losses
    >>> left_out_losses(np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([0, 1]), np.ones(2))
    (0.6931471805599453, 1.3862943611198906)
    """
    one, counts = np.minimum(weight, 1.0), np.bincount(y, weights=weight, minlength=prob.shape[1])
    others = (counts[y] - one + 0.5) / (weight.sum() - one + 0.5 * prob.shape[1])
    own = np.maximum(prob[np.arange(len(y)), y], np.finfo(float).tiny)
    return tuple(float(weight @ -np.log(p) / weight.sum()) for p in (own, others))
