"""Several targets and one λ: errors count relative to the variance of each, so that units do not matter."""

import numpy as np

from mercer._warn import warn
from mercer.solvers import Span
from mercer.solvers.projected import relative_to_mean


def deviations_of(y, weight=None, H=None):
    """√(Σ w r²/Σ w) of each target, r what the trend leaves; 0 of what is rounding."""
    w = np.ones(len(y)) if weight is None else weight
    root, size = np.sqrt(w)[:, None], np.abs(y).max(axis=0, initial=0.0)
    size[size == 0.0] = 1.0
    H = np.ones((len(y), 1)) if H is None else H
    found = np.sqrt(np.square(Span(root * H).project_out(root * y / size)).sum(axis=0) / w.sum())
    return np.where(found > 1e-12, size * found, 0.0)


def target_scale(rows):
    """sⱼ of each target: errors of y/s are relative to the variance of each, in units of their mean variance.

    A constant target has s = ∞, and does not count.
    """
    found = deviations_of(rows.y, rows.weight, rows.H)
    within = np.sqrt(rows.within_squares.sum(axis=0) / rows.weights().sum())  # of equal rows that were merged
    return relative_to_mean(np.hypot(found, within))


def check_units(rule, rows):
    """Warn where one λ is chosen for targets of unlike size by a rule that depends on their units."""
    if rows.t > 1 and not (rule.relative or rule.scale_free):
        warn_of_unlike_targets(rows.y, rows.weight, rule.name, "Use LOO() or GCV(), or divide")


def warn_of_unlike_targets(y, weight, who, remedy="Divide", unlike=3.0):
    """Warn that ``who`` chooses one λ for targets on whose units it depends, if deviations differ by a factor."""
    found = deviations_of(y, weight)
    found = found[found > 0.0]
    if found.size > 1 and found.max() > unlike * found.min():
        warn(
            f"{who} chooses one lam for {y.shape[1]} targets whose deviations reach from {found.min():.3g} to "
            f"{found.max():.3g}, and depends on their units. {remedy} each target by its deviation, or fit one model "
            "for each.",
            UserWarning,
        )
