"""The exact fit: one system of all rows, every fit without a row from its inverse, and ridge regression by it."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mercer import uncertainty
from mercer._state import check, check_vectors
from mercer._threads import few_threads
from mercer.approximate.base import Approximation, Hyperparameters, Problem
from mercer.approximate.fitted import (
    Fitted,
    Scores,
    conventions,
    expansion,
    number_by_target,
    slopes_of,
    trend_attributes,
)
from mercer.approximate.kernels import default_prior, refuse_without_points, search_expressions, searchable
from mercer.gram import Rows, take
from mercer.kernels import Kernel
from mercer.selection import SearchOptions
from mercer.selection.search import Record, SearchSpace, search_rows
from mercer.selection.targets import check_units
from mercer.solvers.fitted import LeftOut, constant_model, examine_fit, left_out
from mercer.solvers.plan import SOLVERS, as_solver, choose_solver
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


@dataclass(frozen=True, eq=False, kw_only=True)
class RidgeProblem(Problem):
    """The squared loss: λ and the kernel as given, or as a criterion chooses them."""

    model = "ridge"

    @property
    def may_approximate(self):
        able = isinstance(self.solver, str) and self.solver == "auto"
        return super().may_approximate and able and (self.criterion is None or bool(self.criterion.on_landmarks))

    def plan_exactly(self, binding=True):
        rule = self.criterion
        options = {"inverse": rule is not None, "lam_alone": self.optimize == "lam"}
        options["search"] = None if rule is None else self.n if rule.merges else self.count
        options["arrays"] = 2 if rule is None else max(2, rule.arrays)  # two of the rows left out, after any search
        return choose_solver(self.solver, self.sizes(binding), **options)[1]

    def _solver(self):
        """The solver of the plan."""
        return as_solver(self.solver) or SOLVERS[self.plan.solver]()

    def search_exactly(self):
        rows, rule = self.rows, self.criterion
        if rule is None or self.too_few():
            return Hyperparameters(self.kernels[0], self.lam)
        if self.automatic and searchable(rows):
            return self.search_expressions(self._solver())
        for kernel in [] if self.unnamed else self.kernels:
            kernel(take(rows.X, [0]))  # what it cannot read is refused in words, not by a trial
        check_units(rule, rows)
        unseen = self.unnamed and rule.smooth and self.optimize != "lam"
        kernels, rule = list(self.kernels) if self.several else self.kernels[0], rule.restrict(rows.used)
        prior = default_prior(self.kernels[0]) if unseen else None
        space = SearchSpace(kernels, self.lam, optimize=self.optimize, prior=prior)
        found = search_rows(
            space, rows, rule.in_unit(rows.unit), solver=self._solver(), seed=self.seed,
            record=Record(self.search_clock(), self.report), options=self.options[SearchOptions],
        )  # fmt: skip
        return Hyperparameters.of(found.warn() if self.asked else found)

    def search_expressions(self, solver=None):
        """`Hyperparameters` with the kernel that a search over expressions finds."""
        rows = self.rows
        rule = self.criterion if solver is None else self.criterion.restrict(rows.used).in_unit(rows.unit)
        found = search_expressions(self, rows, rule, solver, clock=self.search_clock()).result()
        return Hyperparameters.of(found if solver is None else found.warn())

    def fit_exactly(self, at):
        rows, kernel, lam, left = self.rows, at.kernel, at.lam, None
        if np.isinf(lam):
            beta, info = np.zeros_like(rows.y), {"solver": "none: the constant model"}
            b, left = constant_model(rows)
            norm = np.zeros(rows.t)
        else:
            K = rows.gram(kernel)
            with few_threads(rows.n):
                Kinv = self._solver().until(self.clock).resolvent(K, rows.scaled(rows.H))(lam)
                beta, b = Kinv.regress(rows.scaled(rows.y))
                norm, accuracy = examine_fit(K, Kinv, beta, rows.scaled(rows.y), rows.scaled(rows.H), b)
                left = None if at.result is None else left_out(Kinv, rows, beta)
            info = Kinv.info | {"accuracy": accuracy and accuracy._asdict()}
        fit, unit = ExactRidge(kernel, rows, lam, self.flat, self.memory, left), rows.unit
        trend = trend_attributes(rows.trend, b * unit, self.flat)
        fit.slopes, fit.result = slopes_of(rows.trend, b * unit), at.result
        fit.learnt = expansion(kernel, rows.X, rows.scaled(beta) * unit, np.zeros(0), self.flat) | trend
        fit.learnt |= {"lam_": lam, "rkhs_norm_": number_by_target(norm * unit, self.flat)}
        fit.learnt |= {"point_index_": rows.point_index(), "regularization_": conventions(lam, rows.total)}
        fit.said = {"kernel": repr(kernel), "lam": lam, **rows.counts(), "gram": "TiledGram"}
        fit.said |= {"reasons": list(self.plan.reasons), "memory_predicted": self.plan.memory_bytes, **info}
        return fit


class ExactRidge(ExactFit):
    """Ridge regression on all rows."""

    FIELDS = {
        "kernel": Kernel, "rows": Rows, "lam": "number", "flat": bool, "memory": ("number", None),
        "left": (tuple, None),
    }  # fmt: skip

    def __init__(self, kernel, rows, lam, flat, memory=None, left=None):
        self.kernel, self.rows, self.lam, self.flat, self.memory = kernel, rows, lam, flat, memory
        self.left = None if left is None else LeftOut(*left)

    @classmethod
    def from_state(cls, state):
        """Return the fit that had this state."""
        check(state, cls.FIELDS, cls.__name__)
        check_vectors(state["kernel"], state["rows"].X, f"{cls.__name__}.rows.X")
        return cls(**state)

    def _inverse(self):
        return None
