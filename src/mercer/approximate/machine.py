"""A kernel machine: what it is asked, how λ is chosen for its loss, and its exact fit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._warn import warn
from mercer.approximate.base import Hyperparameters, Problem, is_splitter
from mercer.approximate.fitted import Fitted, conventions, expansion
from mercer.approximate.lam_path import PathRows, choose_column_lam, loss_scale
from mercer.approximate.options import MachineOptions
from mercer.dual.columns import LossColumns
from mercer.exceptions import NumericalWarning
from mercer.gram import take
from mercer.losses import Loss
from mercer.selection.targets import warn_of_unlike_targets
from mercer.solvers.plan import as_solver
from mercer.solvers.plan_approximate import plan_dual, plan_smooth


@dataclass(frozen=True, eq=False, kw_only=True)
class MachineProblem(Problem):
    """Any convex loss; a column of y is one for each target, level or class.

    Attributes
    ----------
    loss : Loss
    joint : bool
        Whether one softmax is over all columns.
    tol, max_iter
        As the estimator has them.
    given_y : ndarray
        Numbers or labels, as they were given.
    """

    model = "machine"
    loss: Loss
    joint: bool = False
    tol: float = 1e-6
    max_iter: int = 100
    given_y: Any = None

    @property
    def may_approximate(self):
        return super().may_approximate and isinstance(self.solver, str) and self.solver == "auto"

    def plan_exactly(self, binding=True):
        rule = self.criterion
        left_out = rule is not None and not is_splitter(rule) and rule.word == "loo"
        options = {"folds": rule is not None and not left_out}
        if self.joint or all(part.smooth for part in self.loss.split()):
            solver = as_solver(self.solver)
            options["direct"] = None if solver is None else not solver.iterative
            return plan_smooth(self.sizes(), left_out=left_out, classes=self.t if self.joint else 0, **options)
        hard = 0.1 if self.loss.classification else 1.0  # of labels few rows are free
        return plan_dual(self.sizes(), double=True, hard=hard, **options)

    def columns(self, Y, weight, stored):
        """`LossColumns`: the problem of each column of some rows."""
        options = {"tol": self.tol, "max_iter": self.max_iter, "memory": self.memory, "solver": self.solver}
        options |= {"joint": self.joint, "stored": stored, "intercept": self.trend is not None}
        options["options"] = self.options
        return LossColumns(self.loss, self.loss.check_target(Y), weight, **options)

    def search_exactly(self):
        rows = self.rows
        columns = self.columns(rows.y, rows.weights(), self.plan.gram == "dense")
        columns.refuse_beyond_memory()
        if self.criterion is None or self.too_few():
            return Hyperparameters(self.kernels[0], self.single_lam(), None, (columns, None, None))
        target = self.given_y if self.given_y.ndim == 1 else self.given_y[:, 0]  # what a splitter sees
        return self.choose(rows, columns, target, self.search_limit())

    def single_lam(self):
        """λ as given; a list of them needs a criterion."""
        if np.ndim(self.lam):
            raise ValueError(f"lam is a list of {np.size(self.lam)} values; give one, or a criterion to choose by.")
        return float(self.lam)

    def choose(self, rows, columns, target, clock):
        """`Hyperparameters` as the criterion chooses them on some rows."""
        rule = self.criterion if is_splitter(self.criterion) else self.criterion.restrict(rows.used)
        kernels = self.kernels[:1] if self.optimize == "lam" else self.kernels
        lam = np.atleast_1d(self.lam)[:1] if self.optimize == "kernel" else self.lam
        options = {"seed": self.seed, "clock": clock, "report": self.report, "unasked": not self.asked}
        options["options"] = self.options[MachineOptions]
        if loss_scale(columns) is not None and not columns.quadratic:
            warn_of_unlike_targets(columns.Y, columns.weight, repr(self.loss))
        found = choose_column_lam(PathRows(rule, rows, columns, target), kernels, lam, **options)
        result = found.result.warn() if self.asked else found.result
        return Hyperparameters(result.kernel, float(result.lam), result, (columns, found.starts, found))

    def fit_exactly(self, at):
        rows, (columns, starts, search) = self.rows, at.start
        found = columns.fit(columns.gram(at.kernel, rows.X), at.lam, starts, self.clock)
        fit = MachineFit(at, self.loss, self.tol, self.flat and len(found) == 1)
        alpha, b = np.column_stack([one.alpha for one in found]), np.array([one.b for one in found])
        used = np.flatnonzero((alpha != 0.0).any(axis=1))
        used = used if used.size else np.array([0])  # one row at least
        fit.set_function(rows.X if used.size == rows.n else take(rows.X, used), alpha[used], b, rows.total)
        place, f = np.full(rows.given, -1), np.column_stack([one.f for one in found])
        place[rows.used[used]] = np.arange(len(used))
        fit.learnt |= {"point_index_": place, "row_decision_": rows.to_rows(f)}
        fit.learnt |= {"row_target_": self.given_y, "row_weight_": rows.to_rows(rows.row_weight, 0.0)}
        if search is not None and search.loo is not None:
            fit.learnt["loo_decision_"] = rows.to_rows(search.loo if search.loo.shape[1] > 1 else search.loo[:, 0])
        gap, objective = float(sum(one.gap for one in found)), float(sum(one.objective for one in found))
        violation = float(max(one.violation for one in found))
        statuses, warned = [one.status for one in found], None if search is None else search.warnings
        fit.set_certificate(gap, objective, violation, max(1, *(int(one.iterations) for one in found)))
        fit.say(rows.counts(), statuses, found[0].info, warned)
        fit.warn_of_rounding(sum(one.info["rounding"] for one in found))
        return fit


class MachineFit(Fitted):
    """A dual expansion with its certificate: there is nothing more to ask of it."""

    def __init__(self, at, loss, tol, flat):
        self.kernel, self.lam, self.result, self.loss, self.tol, self.flat = (
            at.kernel,
            at.lam,
            at.result,
            loss,
            tol,
            flat,
        )
        self.learnt, self.said = {"loss_": loss, "lam_": at.lam}, {}

    def set_function(self, points, alpha, b, total):
        """Set f = Σ αⱼ k(·, xⱼ) + b, made of rows of so much weight."""
        self.columns, self.learnt = alpha.shape[1], self.learnt | expansion(self.kernel, points, alpha, b, self.flat)
        self.learnt["regularization_"] = conventions(self.lam, total)

    def set_certificate(self, gap, objective, violation, iterations):
        """Set how near the minimum f is."""
        self.gap, self.objective, self.violation, self.iterations = gap, objective, violation, iterations
        names = ("dual_gap_", "objective_", "kkt_violation_", "n_iter_")
        self.learnt |= dict(zip(names, (gap, objective, violation, iterations), strict=True))

    def say(self, counts, statuses, info, warned=None):
        """Fill the report, and warn where a column is not at its minimum."""
        self.said = {"kernel": repr(self.kernel), "loss": repr(self.loss), "lam": self.lam, **counts}
        self.said |= {"columns": self.columns, "support_vectors": len(self.learnt["points_"])}
        self.said |= {"objective": self.objective, "dual_gap": self.gap, "kkt_violation": self.violation, **info}
        self.said |= {"iterations": self.iterations, "status": ", ".join(sorted(set(statuses)))}
        if self.result is not None:
            self.said["selection_warnings"] = warned or []
        bad = [status for status in statuses if status != "converged"]
        if bad:
            warn(
                f"KernelMachine: {len(bad)} of {self.columns} columns did not converge ({bad[0]}): violation "
                f"{self.violation:.1e} (asked: {self.tol:.1e}), duality gap {self.gap:.1e} of an objective of "
                f"{self.objective:.4g}, {self.iterations} iterations. Use more iterations or time, a larger lam, or "
                "scale X.",
                ConvergenceWarning,
            )

    def warn_of_rounding(self, lost):
        """Say so where rounding may change the objective."""
        if lost > 1e-6 * abs(self.objective):
            warn(
                f"KernelMachine: α is so large (lam = {self.lam:.3g}) that rounding in sums of K α may change the "
                f"objective {self.objective:.4g} by {lost:.1e}; it is in dual_gap_. Use a larger lam.",
                NumericalWarning,
            )
