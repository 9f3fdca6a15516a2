"""The exact fit: one system of all rows, and every fit without a row from its inverse."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mercer import uncertainty
from mercer.approximate.base import Approximation
from mercer.approximate.fitted import Fitted, Scores
from mercer.approximate.kernels import refuse_without_points
from mercer.kernels import Kernel
from mercer.solvers.fitted import LeftOut
from mercer.uncertainty import Deletion


@dataclass(frozen=True)
class Exact(Approximation):
    """K + λI of all rows: what ``approximation=None`` is."""

    exact: ClassVar[bool] = True

    def plan(self, problem, binding=True):
        """See `Approximation.plan`."""
        return problem.plan_exactly(binding)

    def search(self, problem):
        """See `Approximation.search`."""
        return problem.search_exactly()

    def fit(self, problem, at):
        """See `Approximation.fit`."""
        return problem.fit_exactly(at)


class ExactFit(Fitted):
    """A fit that is linear in y and keeps its rows: intervals, influence and calibration come from one inverse.

    That is made at the first call, and left out of copies and files.

    Attributes
    ----------
    kernel : Kernel
    rows : Rows
    lam : float
    flat : bool
    memory : float or None
        Bytes that the inverse may use.
    left : LeftOut or None
        The rows left out, where the fit knows them, without those of weight 0.
    """

    exact = True
    kernel: Kernel
    lam: float
    memory: float | None
    left: LeftOut | None
    _deletion: Deletion | None = None

    def __getstate__(self):
        """Return what copies and pickles have: no inverse."""
        return {name: value for name, value in self.__dict__.items() if name != "_deletion"}

    @property
    def points(self):
        """What the kernel keeps of the inputs."""
        return self.kernel.stored_inputs(self.rows.X)

    @abstractmethod
    def _inverse(self):
        """The inverse of the fit, where it was kept; None where it is made again."""

    # ---------------------------------------------------------------------- rows left out
    def deletion(self):
        """`Deletion`: every fit without a row, in the unit of the rows."""
        if self._deletion is None:
            use = 'use the kernel itself, or predict_interval(..., method="split")'
            refuse_without_points(self.kernel, self.points, f"there are no fits without a row; {use}")
            # λ = ∞ is the constant model, which is also that of a vanishing kernel at any λ
            kernel, lam = (self.kernel, self.lam) if np.isfinite(self.lam) else (1e-300 * self.kernel, 1.0)
            self._deletion = Deletion(kernel, self.rows, lam, self.flat, self.memory, self._inverse())
        return self._deletion

    def _left(self):
        """`LeftOut` of the rows used, in their unit."""
        if self.left is not None:
            return self.left
        n = len(self.rows.index)
        if n <= self.rows.q or (self.lam == 0 and self.rows.merged):  # there is no fit without a row
            return LeftOut(np.full((n, self.rows.t), np.nan), np.ones(n), np.full(n, np.nan))
        return self.deletion().left

    def left_out(self):
        left, rows = self._left(), self.rows
        return LeftOut(
            rows.to_rows(left.residuals * rows.unit), rows.to_rows(left.leverage), rows.to_rows(left.variance)
        )

    @property
    def dof(self):
        return float(self._left().leverage.sum())

    def deviation(self, X, weight=None):
        return np.sqrt(np.concatenate([kappa for *_, kappa in self.deletion().tiles(X, weight)] or [np.zeros(0)]))

    def scores(self, X, normalise, weight):
        left = self._left()  # with the deviation of each row given the others
        known = np.isfinite(left.residuals).all(axis=1) & (left.variance > 0)
        scale = np.sqrt(left.variance[known])
        return Scores(left.residuals[known] * self.rows.unit, scale, self.deviation(X, weight))

    def calibration(self, levels):
        fits = self.deletion()
        if np.isinf(self.lam):
            raise ValueError("lam_ is inf: the constant model states no finite errors that could be right or wrong.")
        found = uncertainty.calibration(fits, levels)
        return replace(found, z=self.rows.to_rows(found.z))
