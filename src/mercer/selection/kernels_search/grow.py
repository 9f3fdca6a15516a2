"""Which kernel expressions are tried: families with one length, with one for each column, then sums.

The order is that of what they have been worth on tables (benchmarks/defaults.py): a search that has to end early has
seen the best ones.
"""

import numpy as np

from mercer.kernels import (
    Anova,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
)
from mercer.selection.kernels_search.candidate import Candidate

MOST_LENGTHS = 60  # columns beyond which one length serves all
PERIOD = 0.5, 0.2  # waves over the whole series by which a search may move a period, and of it at most
EACH, LINE = ", a length for each column", " + linear"


def families(d):
    """[(name, kernel with one length, whether one for each column follows, and a line beside it)] in standard units."""
    typical = float(np.sqrt(d))
    if d == 1:
        shapes = (Gaussian, Matern32, RationalQuadratic, Matern52, Exponential)
        found = [(shape.__name__, 1.0 * shape(1.0), False, True) for shape in shapes]
        return [("linear", 0.3 * Linear(), False, False), *found, ("quadratic", 0.1 * Polynomial(2), False, False)]
    return [
        ("Matern32", 1.0 * Matern32(typical), True, True),
        ("interactions", 1.0 * Anova(2.0, 1.0 / d), True, True),
        ("linear", 0.3 * Linear(), False, False),
        ("Laplacian", 1.0 * Laplacian(float(d)), True, True),
        ("RationalQuadratic", 1.0 * RationalQuadratic(typical), True, False),
        ("smooth interactions", 1.0 * Anova(2.0, 1.0 / d, "gaussian"), True, True),
        ("rough interactions", 1.0 * Anova(2.0, 1.0 / d, "exponential"), True, False),
        ("Exponential", 1.0 * Exponential(2.0 * typical), True, False),
        ("Gaussian", 1.0 * Gaussian(typical), True, False),
        ("Matern52", 1.0 * Matern52(typical), True, False),
        ("quadratic", 1.0 / d**2 * Polynomial(2, float(d)), False, False),  # lines and squares of the same size
    ]


def with_lengths(candidate, d):
    """The candidate with a length scale for each column, begun at the one it has; None where columns are too many."""
    if d == 1 or d > MOST_LENGTHS:
        return None
    inner = candidate.kernel.kernel
    other = inner.with_theta(inner.theta)
    other.length_scale = np.full(d, float(inner.length_scale))
    return Candidate(candidate.name + EACH, candidate.kernel.scale * other)


def with_line(candidate, variance, d):
    """The candidate and a line in all columns."""
    return Candidate(candidate.name + LINE, candidate.kernel + 0.03 * variance / d * Linear())


def parts_along(j, d, found, gap, span, variance):
    """{name: kernel}: what may be added along the time column j of d, in standard units, with the periods found.

    ``gap`` and ``span`` are the step of the series and its length, ``variance`` that of y.
    """

    def along(share, kernel):
        return float(share * variance) * (kernel if d == 1 else kernel.on([j]))

    parts = {
        "bending trend": along(0.1, Polynomial(2)),  # a stationary one would fall back to the mean ahead
        "irregular": along(0.1, RationalQuadratic(10.0 * gap)),
        "rough": along(0.1, Matern32(5.0 * gap)),
        "short memory": along(0.1, Exponential(5.0 * gap)),
    }
    for number, p in enumerate(found):
        whole = round(p / found[0])  # a week has the length of its days
        move = min(PERIOD[0] * p / span, PERIOD[1])
        wave = Periodic(1.0 / whole if number else 1.0, p, period_bounds=((1.0 - move) * p, (1.0 + move) * p))
        more = f" {number + 1}" if number else ""
        parts[f"season{more}"] = along(0.3, wave)
        parts[f"changing season{more}"] = along(0.3, wave * Gaussian(3.0))
        parts[f"growing season{more}"] = along(0.1, wave * Polynomial(1, 2.0))
    return parts
