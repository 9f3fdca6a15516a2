"""Any convex loss on a Gram: a problem for each column, the result with its certificate.

A column is a target, a level of a quantile loss, or a class against the rest; the softmax solves all classes at once.
"""

from typing import NamedTuple

import numpy as np

from mercer._clock import FOREVER
from mercer._machine import check_memory
from mercer._policies import OptionSet
from mercer.dual.newton import LossLikelihood, solve_smooth, step_solver
from mercer.dual.options import DualLimits
from mercer.dual.softmax import refuse_beyond_memory, solve_softmax
from mercer.dual.working_set import solve_dual
from mercer.gram import DenseGram, TiledGram
from mercer.inference.softmax import Softmax
from mercer.solvers.plan_class import Sizes


class Column(NamedTuple):
    """One fitted function, in units of Σᵢ wᵢL(yᵢ, fᵢ) + λ‖f‖²."""

    alpha: np.ndarray
    b: float
    f: np.ndarray
    gap: float
    violation: float
    objective: float
    iterations: int
    status: str
    info: dict


class LossColumns:
    """min over f of Σᵢ wᵢ L(yᵢ, f(xᵢ)) + λ‖f‖² for every column of Y, whatever the Gram and λ.

    Parameters
    ----------
    loss : Loss
    Y : ndarray of shape (n, t)
    weight : ndarray of shape (n,)
    joint : bool
        Whether the columns are classes, ±1, that one softmax joins.
    stored : bool
        Whether K is kept, as the plan says.
    solver
        That of Newton's steps.
    options : OptionSet
    **common
        ``intercept``, ``tol``, ``max_iter`` and ``memory``, as of `solve_smooth` and `solve_dual`.
    """

    def __init__(
        self, loss, Y, weight, *, joint=False, intercept=True, tol=1e-6, max_iter=100, solver="auto", memory=None,
        stored=True, options=OptionSet(),
    ):  # fmt: skip
        losses = loss.split()
        if len(losses) > 1 and Y.shape[1] > 1:
            raise ValueError(
                f"{loss!r} has {len(losses)} levels and y has {Y.shape[1]} columns; give several of one only."
            )
        self.pairs = [(one, Y[:, j]) for one in losses for j in range(Y.shape[1])]
        self.loss, self.Y, self.weight, self.joint, self.intercept = loss, Y, weight, joint, intercept
        self.tol, self.max_iter, self.solver, self.memory, self.stored = tol, max_iter, solver, memory, stored
        self.options = options

    @property
    def n(self):
        """The number of rows."""
        return len(self.weight)

    @property
    def quadratic(self):
        """Whether the loss is a square, so that a target in another unit asks for the same λ."""
        y = np.array([1e-3, 1.0, 1e3])
        return np.allclose(self.loss.value(y, 0.0 * y) / y**2, self.loss.value(y, 0.0 * y)[1])

    @property
    def sizes(self):
        """What the rules of a plan are asked with."""
        return Sizes(self.n, memory=self.memory, options=self.options)

    def take(self, index):
        """Return the same for some of the rows."""
        names = ("joint", "intercept", "tol", "max_iter", "solver", "memory", "stored", "options")
        options = {name: getattr(self, name) for name in names}
        return LossColumns(self.loss, self.Y[index], self.weight[index], **options)

    def refuse_beyond_memory(self):
        """Refuse, before the first n × n array, a solver that was asked for and does not fit."""
        if self.joint:
            refuse_beyond_memory(self.n, self.Y.shape[1], self.memory)
        elif any(loss.smooth for loss, _ in self.pairs):
            solver = step_solver(self.solver, self.sizes)
            check_memory(solver.memory(self.n), f"{type(solver).__name__} for n = {self.n}", self.memory)

    def gram(self, kernel, X):
        """K of the rows, stored in float64 or by tiles."""
        return DenseGram(kernel, X) if self.stored else TiledGram(kernel, X)

    def fit(self, K, lam, starts=None, clock=FOREVER):
        """Return a `Column` for each of them; ``starts`` are columns of a solution near by."""
        if self.joint:
            return self._fit_joint(K, lam, clock)
        out = []
        for j, (loss, y) in enumerate(self.pairs):
            start = None if starts is None else (starts[j].alpha, starts[j].b)
            out.append(self._fit_one(K, loss, y, lam, clock.part(1.0 / (len(self.pairs) - j)), start))
        return out

    def _fit_one(self, K, loss, y, lam, clock, start):
        """Newton where the loss is smooth, the working-set solver on its dual where it is not.

        A loss that is both (Huber with a tiny δ is nearly the absolute loss) goes on to the second where the first is
        slow.
        """
        c, found, patience = self.weight / (2.0 * lam), None, 50
        if loss.smooth:
            most = min(self.max_iter, patience) if loss.boxed else self.max_iter
            options = {"solver": self.solver, "start": start, "time_budget": clock.budget, "memory": self.memory}
            options["options"] = self.options
            likelihood = LossLikelihood(loss, y, c)
            found = solve_smooth(K, likelihood, intercept=self.intercept, tol=self.tol, max_iter=most, **options)
            if not (loss.boxed and found.status in ("max_iter", "stalled") and most == patience):
                return _to_column(K, found, found.f, lam, self._risk(loss, y))
            start = found.alpha, found.b
        unit = 1.0 if loss.classification else unit_of_residuals(y, self.weight)  # in which ``tol`` is given
        before, start = found, None if start is None else start[0]
        options = {"limits": DualLimits(time_budget=clock.budget, memory=self.memory), "options": self.options}
        found = solve_dual(K, loss.dual(y, c), intercept=self.intercept, tol=self.tol * unit, start=start, **options)
        product = found.info.get("product")  # Kα in float64, where the solver has it anyway
        f = (K @ found.alpha if product is None else product) + found.b
        info = {"solver": "working_set"} | ({} if before is None else {"newton_steps_before": before.iterations})
        return _to_column(K, found, f, lam, self._risk(loss, y), unit, info)

    def _risk(self, loss, y):
        """f ↦ wᵢ L(yᵢ, fᵢ) of each row."""
        return lambda f: self.weight * loss.value(y, f)

    def _fit_joint(self, K, lam, clock):
        """All classes at once: one problem, one certificate, which the first column carries."""
        common = {name: getattr(self, name) for name in ("intercept", "tol", "max_iter", "memory")}
        found = solve_softmax(
            K, (self.Y > 0).astype(float), self.weight / (2.0 * lam), time_budget=clock.budget, **common
        )
        whole = _to_column(K, found, found.f, lam)
        columns = []
        for j in range(self.Y.shape[1]):
            one = whole._replace(alpha=found.alpha[:, j], b=float(found.b[j]), f=found.f[:, j])
            columns.append(one if j == 0 else one._replace(gap=0.0, objective=0.0))
        return columns

    def mean_loss(self, F, scale=None):
        """Σᵢ wᵢ L(yᵢ, fᵢ)/Σᵢ wᵢ, averaged over the columns, each over its scale; of a softmax its own loss."""
        total = self.weight.sum()
        if self.joint:
            return -float(Softmax(np.argmax(self.Y, axis=1), F.shape[1], self.weight).value(F) / total)
        values = [self.weight @ loss.value(y, F[:, j]) / total for j, (loss, y) in enumerate(self.pairs)]
        return float(np.mean(values if scale is None else values / scale))


def rounding(K, alpha):
    """δᵢ = 4u √(kᵢᵢ Σⱼ kⱼⱼαⱼ²): errors of rounding that (Kα)ᵢ may have, in the shape of α."""
    root = np.sqrt(np.maximum(K.diag(), 0.0)).reshape(-1, *(1,) * (np.ndim(alpha) - 1))
    length = root * np.abs(alpha)
    largest = float(length.max(initial=0.0))  # so that no square overflows
    size = largest * np.sqrt(np.square(length / largest).sum(axis=0)) if largest > 0 else 0.0
    return 2.0 * np.finfo(float).eps * root * size


def _to_column(K, found, f, lam, risk=None, unit=1.0, info=None):
    """A solution of `solve_smooth` or `solve_dual` in units of Σ wL + λ‖f‖², its violation in units of ``unit``.

    The gap is that of the model that predicts: to the one found comes what rounding of its values does to it.
    """
    delta = rounding(K, found.alpha)
    lost = lam * float(np.sum(np.abs(found.alpha) * delta))  # in λαᵀKα; and as much, to first order, in the losses
    lost += lost if risk is None else float(np.sum(np.maximum(risk(f + delta), risk(f - delta)) - risk(f)))
    plain = {key: value for key, value in {**found.info, **(info or {})}.items() if np.ndim(value) == 0}
    scale = 2.0 * lam
    violation = found.violation / unit
    plain["rounding"] = lost
    iterations, status = found.iterations, found.status
    return Column(
        found.alpha, found.b, f, scale * found.gap + lost, violation, scale * found.primal, iterations, status, plain
    )


def values_at(columns, K, index, rows):
    """f of fitted columns at other rows of K than the rows ``index`` they were fitted to: (len(rows), t)."""
    alpha = np.zeros((K.n, len(columns)))
    alpha[index] = np.column_stack([column.alpha for column in columns])
    return (K @ alpha)[rows] + np.array([column.b for column in columns])


def unit_of_residuals(y, weight):
    """The weighted standard deviation of y, or 1 where y is constant: the unit of a residual."""
    mean = float(weight @ y / weight.sum())
    sd = float(np.sqrt(weight @ (y - mean) ** 2 / weight.sum()))
    return sd if sd > 1e-12 * max(abs(mean), 1e-300) else 1.0
