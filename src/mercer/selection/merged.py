"""The evidence of rows from that of their points: equal rows are merged, and what they differ by is added."""

import numpy as np

from mercer.selection.base import SmoothCriterion
from mercer.selection.criteria import Evidence


class MergedEvidence(SmoothCriterion):
    """−log p(ȳ of the points, as repeats) + Σ w (y − ȳ)²/(2λ): −log p(y) of the rows, on the smaller matrix.

    Copies of a row make K̃ nearly singular where λ is small; their points do not.

    Parameters
    ----------
    spread : ndarray of shape (m, t)
        Σ w (y − ȳ)² within each point.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import Evidence, Explicit
    >>> from mercer.selection.merged import MergedEvidence
    >>> K, y = np.ones((2, 2)) + 0.5 * np.eye(2), np.array([[1.0], [2.0]])  # two equal rows, λ = ½
    >>> rows = Evidence().value(Explicit(np.linalg.inv(K), 0.5, np.log(np.linalg.det(K))), y)
    >>> point = Explicit(np.array([[1 / 2.5]]), 0.5, np.log(2.5))  # of weight 2: 2 + λ
    >>> merged = MergedEvidence(np.array([[0.5]])).value(point, np.array([[np.sqrt(2) * 1.5]]), np.array([2.0]))
    >>> bool(np.isclose(rows, merged))
    True
    """

    summed = True

    def __init__(self, spread):
        self.spread = spread

    @property
    def name(self):
        """What a table calls it: that of the rows."""
        return Evidence().name

    def restrict(self, index):
        """Return the criterion of some of the points."""
        return MergedEvidence(self.spread[index])

    def _rest(self, lam):
        total = float(np.sum(self.spread))
        return total / (2.0 * lam) if total else 0.0

    def value(self, Kinv, y, weight=None):
        return Evidence().value(Kinv, y, weight) + self._rest(Kinv.lam)

    def value_and_adjoint(self, Kinv, y, weight=None):
        lam = Kinv.lam
        value, W = Evidence().value_and_adjoint(Kinv, y, weight)
        return value + self._rest(lam), W

    def explicit(self, Kinv, y, weight=None):
        return Evidence().explicit(Kinv, y, weight) - self._rest(Kinv.lam)
