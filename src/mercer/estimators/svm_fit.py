"""The ε-insensitive dual of one target, in units of y's spread, and what an SVR makes of its solutions."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._clock import FOREVER
from mercer._parameters import cached_property
from mercer._policies import OptionSet
from mercer._warn import warn
from mercer.approximate.fitted import conventions
from mercer.approximate.kernels import refuse_without_points
from mercer.dual import DualLimits
from mercer.dual.working_set import DualSolution, solve_dual
from mercer.estimators._regressor import KernelRegressor
from mercer.gram import take
from mercer.gram.rows import power_of_two
from mercer.losses import EpsilonInsensitive
from mercer.uncertainty.alo import span


class FittedTarget(NamedTuple):
    """A fitted target, in the units of y."""

    alpha: np.ndarray
    b: float
    epsilon: float
    residual: np.ndarray
    gap: float
    objective: float
    primal: float
    unit: float
    solution: DualSolution

    @property
    def solver(self):
        """The name of what solved it, for a report."""
        return "interior point, Newton" if self.solution.info.get("interior_steps") else "working set"


def centre_and_unit(y, weight, centred):
    """(centre, unit): weighted mean (0 unless centred) and root mean square about it; 1 for a constant y."""
    size = float(power_of_two(y[:, None])[0])
    u = y / size
    total = weight.sum()
    centre = float((weight * u).sum() / total) if centred else 0.0
    unit = float(np.sqrt((weight * (u - centre) ** 2).sum() / total))
    return centre * size, size * (unit if unit > 1e-12 else 1.0)


@dataclass(frozen=True, eq=False)
class EpsilonDual:
    """The dual of the ε-insensitive loss on one K, |αᵢ| <= C wᵢ: each target, C and ε is a fit of it."""

    K: Any
    weight: np.ndarray
    intercept: bool
    nu: float | None = None
    tol: float = 1e-3
    max_iter: int | None = None
    memory: float | None = None
    options: OptionSet = OptionSet()

    def fit(self, y, C, epsilon, *, start=None, clock=FOREVER):
        """`FittedTarget` of one target; ``start`` is α, or (α, Kα).

        With y = c + s ỹ the dual in ỹ has the box C/s and the tube ε/s, and α = s α̃: the same model, and a tolerance
        that means the same for every unit of y.
        """
        centre, unit = centre_and_unit(y, self.weight, self.intercept)
        target, box = (y - centre) / unit, C * self.weight / unit
        eps = epsilon / unit if self.nu is None else 0.0
        if start is not None:
            start = tuple(v / unit for v in start) if isinstance(start, tuple) else start / unit
        options = {"limits": DualLimits(self.max_iter, clock.budget, self.memory), "options": self.options}
        options |= {"intercept": self.intercept, "nu": self.nu, "tol": self.tol, "start": start}
        found = solve_dual(self.K, EpsilonInsensitive(eps).dual(target, box), **options)
        return FittedTarget(
            alpha=unit * found.alpha,
            b=unit * found.b + centre,
            epsilon=unit * (eps if self.nu is None else found.epsilon),
            residual=unit * (target - found.info["product"] - found.b),
            gap=unit**2 * found.gap,
            # with an intercept Σα = 0, so that centring changes neither objective
            objective=unit**2 * found.objective,
            primal=unit**2 * found.primal,
            unit=unit,
            solution=found,
        )


class FittedSVR(KernelRegressor):
    """What a fitted SVR keeps of its targets, and says of its rows."""

    state_extras = {**KernelRegressor.state_extras, "residual": "_residual", "point_weight": "_weight"}
    state_extras |= {"copies": "_copies", "point": "_point"}
    C_: float
    tol: float

    @property
    def _intercept(self):
        """Whether there is a constant, on which Σα = 0."""
        return self._given_trend() is not None

    def _publish(self, kernel, rows, C, found, flat):
        """Set the support vectors, what is known about them, and what the span rule needs of all rows."""
        self.C_, self.lam_ = C, 1.0 / (2.0 * C)
        every = conventions(self.lam_, rows.total)
        self.regularization_ = {name: every[name] for name in ("C", "lam", "lam_over_n")}
        alpha, box = np.column_stack([one.alpha for one in found]), C * rows.weights()
        self._residual, self._weight = np.column_stack([one.residual for one in found]), rows.weights()
        self._copies, self._point = np.bincount(rows.index, minlength=rows.n), rows.point_index()
        self.__dict__.pop("_loo", None)  # those of an earlier fit
        chosen = np.flatnonzero(np.any(alpha != 0, axis=1))
        units = np.array([one.unit for one in found])
        size = np.abs(alpha[chosen]) / units  # the solver's own numbers: a bound is met exactly there
        bounded = size >= (box[chosen, None] / units) * (1.0 - 1e-12)
        intercept = np.array([one.b for one in found])
        self._set_model(kernel, take(rows.X, chosen), alpha[chosen], intercept, flat)
        number = np.full(rows.n + 1, -1)  # one more, for rows that are no point
        number[chosen] = np.arange(len(chosen))
        self.point_index_ = number[rows.point_index()]
        free = (alpha[chosen] != 0) & ~bounded
        self.bounded_, self.free_ = (bounded[:, 0], free[:, 0]) if flat else (bounded, free)

        def numbers(values):
            values = np.array(values, dtype=float)
            return float(values[0]) if flat else values

        self.epsilon_ = numbers([one.epsilon for one in found])
        self.dual_gap_ = numbers([one.gap for one in found])
        self.dual_objective_ = numbers([one.objective for one in found])
        self.primal_objective_ = numbers([one.primal for one in found])
        self.kkt_violation_ = numbers([one.solution.violation for one in found])
        self.n_iter_ = max(1, sum(one.solution.iterations for one in found))  # a fit without a step is one look
        self._report(found, rows)
        for one in found:
            self._warn_of(one)

    def _report(self, found, rows):
        """Fill ``fit_report_``."""
        infos = [one.solution.info for one in found]
        epsilon = self.epsilon_ if np.ndim(self.epsilon_) == 0 else self.epsilon_.tolist()
        said = {"kernel": repr(self.kernel_), "C": self.C_, "lam": self.lam_, "epsilon": epsilon, **rows.counts()}
        said |= {"support_vectors": len(self.points_), "bounded": int(np.sum(self.bounded_))}
        said |= {"free": int(np.sum(self.free_)), "solver": found[-1].solver, "gram": infos[-1]["gram"]}
        said |= {"status": ", ".join(sorted({one.solution.status for one in found})), "iterations": self.n_iter_}
        counted = ("rounds", "interior_steps", "newton_steps", "refinements")
        said |= {name: sum(info[name] for info in infos) for name in counted}
        said |= {"jitter": max(info["jitter"] for info in infos), "y_unit": [one.unit for one in found]}
        said |= {"kkt_violation": float(np.max(self.kkt_violation_)), "dual_gap": float(np.max(self.dual_gap_))}
        self.fit_report_.update(said)

    def _warn_of(self, one):
        """Warn with numbers of a target that has not converged."""
        solution = one.solution
        if solution.status == "converged":
            return
        otherwise = "Rounding allows no more, or the kernel matrix is not positive semi-definite"
        limit = solution.status in ("max_iter", "time_budget")
        advice = f"Raise {solution.status}" if limit else otherwise
        share = one.gap / max(abs(one.primal), np.finfo(float).tiny)
        warn(
            f"SVR stopped ({solution.status}) after {solution.iterations} steps with a KKT violation of "
            f"{solution.violation:.2g} (tol = {self.tol:g}, in standard deviations of y). The duality gap is "
            f"{one.gap:.3g}, {100 * share:.2g} % of the objective: it cannot be improved by more. The factors of "
            f"the search had {solution.info['jitter']:.1g} of K's diagonal added. {advice}, or use a smaller C, a "
            "larger epsilon or tol, or scaled columns of X.",
            ConvergenceWarning,
        )

    def decision_tube(self, X):
        """(f(x) − ε, f(x) + ε): the tube inside of which rows cost nothing.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        ndarray of shape (m, 2) or (m, 2, t)
        """
        f = self.predict(X)
        return np.stack([f - self.epsilon_, f + self.epsilon_], axis=1)

    # ------------------------------------------------------------------ rows left out
    @property
    def row_weight_(self):
        """Weight of each row given to ``fit``, in equal parts among equal rows; 0 for rows that were left out."""
        self._check_fitted()
        return np.where(self._point >= 0, (self._weight / self._copies)[self._point], 0.0)

    @cached_property
    def loo_residuals_(self):
        """yᵢ − f₋ᵢ(xᵢ) ≈ yᵢ − f(xᵢ) + αᵢSᵢ²: the span rule; nan for rows of weight 0.

        One of several equal rows takes away only what the others cannot carry.
        """
        self._check_fitted()
        use = 'use the kernel itself, or predict_interval(..., method="split")'
        refuse_without_points(self.kernel_, self.points_, f"there is no span rule; {use}")
        left, jitter, merged = self._residual.copy(), 0.0, self._point[self.support_]
        alpha, free, bounded = (
            v.reshape(len(merged), left.shape[1]) for v in (self.dual_coef_, self.free_, self.bounded_)
        )
        for j in range(left.shape[1]):
            inside, at_bound = np.flatnonzero(free[:, j]), np.flatnonzero(bounded[:, j])
            parts = take(self.points_, inside), take(self.points_, at_bound)
            distance = span(self.kernel_, *parts, intercept=self._intercept)
            jitter = max(jitter, distance.jitter)
            for chosen, s in ((inside, distance.free), (at_bound, distance.bounded)):
                row = merged[chosen]
                others = self.C_ * self._weight[row] * (1.0 - 1.0 / self._copies[row])
                size = np.abs(alpha[chosen, j])
                left[row, j] += np.sign(alpha[chosen, j]) * np.maximum(size - others, 0.0) * s
        self.fit_report_["span_jitter"] = jitter
        return self._shaped(np.where((self._point >= 0)[:, None], left[self._point], np.nan))
