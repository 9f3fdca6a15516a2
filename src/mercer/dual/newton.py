"""Newton's method (IRLS) for smooth losses: every step is a ridge problem on a ScaledGram.

The loss is a log likelihood, log p = −Σᵢ cᵢL(yᵢ, fᵢ) with c = w/(2λ), and the solution its mode: `Newton` goes
there. With h = cL″ and S = √h a step solves (S K S + I) β = …, Δα = S β. A row without curvature (outside the
margin of a squared hinge, beyond δ of Huber's loss) takes α = −cL′ at once and leaves the system: that is the
active set of a semismooth Newton method, which ends after finitely many steps. Far from the solution these sets
are wrong and steps short; there the curvature is raised to a part of the largest, at first to all of it, which
majorises.
"""

from typing import NamedTuple

import numpy as np

from mercer import _machine
from mercer._clock import Clock
from mercer._policies import OptionSet
from mercer.gram import DenseGram
from mercer.gram.chosen import part_of
from mercer.inference.mode import Newton
from mercer.solvers.plan import SOLVERS
from mercer.solvers.plan_approximate import factors_steps
from mercer.solvers.plan_class import Sizes, StorageOptions

DRIFT = 1e-6  # of the objective: what may lie between the steps and the α they end with
REPORTED = ("condition", "jitter", "rank", "residual")


class NewtonSolution(NamedTuple):
    """α, b, f = Kα + b at the rows, and how good they are, in units of Σᵢ cᵢL(yᵢ, fᵢ) + ½‖f‖².

    ``gap`` is primal − dual at the feasible point a = −cL′(f); ``violation`` is max|α − a|/max|a|, with a max|a| of
    1e-8 max|cy| at least; ``objective`` is the dual, to be maximised, as of the working-set solver; ``status``
    "converged", "max_iter", "time_budget" or "stalled".
    """

    alpha: np.ndarray
    b: float
    f: np.ndarray
    gap: float
    violation: float
    primal: float
    objective: float
    iterations: int
    status: str
    info: dict


def solve_smooth(K, likelihood, *, intercept=True, tol=1e-6, max_iter=100, time_budget=None, start=None, **options):
    """`NewtonSolution` of min over α, b of Σᵢ cᵢ L(yᵢ, [Kα]ᵢ + b) + ½αᵀKα, for the `LossLikelihood` of a smooth loss.

    ``tol`` bounds max|α + cL′(f)|/max|cL′(f)|; with a factor one more step follows, and the error is about its square.
    The budget is looked at between steps, and between products of conjugate gradients. ``start`` is (α, b) of a problem
    near by. Options are ``solver`` ("auto", a name or a `Solver`), ``memory``, ``options`` (an `OptionSet`), and
    ``callback``, which is called with (iteration, violation).
    """
    clock = Clock(time_budget)
    sizes = Sizes(K.n, memory=options.get("memory"), options=options.get("options", OptionSet()))
    system = _System(K, options.get("solver"), sizes, clock)
    way = _SmoothLoss(K, likelihood, start, system, intercept, tol)
    return way.run(max_iter, clock, options.get("callback"))


class LossLikelihood:
    """log p(y | f) = −Σᵢ cᵢL(yᵢ, fᵢ), with c = w/(2λ) > 0."""

    def __init__(self, loss, y, c):
        self.loss, self.y = loss, np.asarray(y, dtype=float)
        self.c = np.broadcast_to(np.asarray(c, dtype=float), self.y.shape)

    def value(self, f):
        """Return −Σ cL."""
        with np.errstate(over="ignore"):  # −∞ is what a step too far gives: it is taken back
            return -np.sum(self.c * self.loss.value(self.y, f))

    def gradient(self, f):
        """−cL′."""
        return -self.c * self.loss.grad(self.y, f)

    def curvature(self, f):
        """h = cL″."""
        return self.c * self.loss.hess(self.y, f)


class Certified(Newton):
    """Newton's way, until α = ∇log p to a tolerance; with the duality gap of where it ends.

    With a factor one more step follows, which doubles the digits. A subclass writes ``_direction`` and ``violation``.
    """

    exact = True  # whether steps are solved exactly
    least = 0.0  # slopes below it are rounding

    def __init__(self, K, likelihood, a, v, b, tol):
        self.tol, self.iterations, self.length, self._polished = tol, 0, 1.0, False
        super().__init__(K, likelihood, a, v, b)

    def violation(self):
        """max|α − ∇log p|/max|∇log p|, but a max|∇log p| that is rounding."""
        size = max(float(np.abs(self.gradient).max(initial=0.0)), self.least)
        return self._relative(float(np.abs(self.a - self.gradient).max(initial=0.0)), size)

    def _relative(self, worst, size):
        return worst / size if size > 0 else float(worst > 0)

    def _escape(self):
        """What else to try where a step leads nowhere; whether there is something."""
        return False

    def _verdict(self):
        if self.factored:  # else nothing was tried yet
            if self.length == 0.0 and (self._polished or not self._escape()):
                return "converged" if self._polished else "stalled"
            self.iterations += 1
        self.violated = self.violation()
        if self.violated <= self.tol and (self._polished or not self.exact or self.violated == 0.0):
            return "converged"
        self._polished = self.violated <= self.tol
        return None

    def run(self, max_iter, clock, callback=None):
        """Climb, and return the solution."""
        report = None if callback is None else lambda way: callback(way.iterations, way.violated)
        self.climb(max_iter, clock, report)
        if self.violated <= self.tol:
            self.status = "converged"
        return self.solution()

    def solution(self):
        """With the certificate: gap = ½(α − a)ᵀK(α − a) for a = ∇log p, by the equality of Fenchel and Young.

        It is that of the α which predicts, with Kα computed from it: what the steps carried along may have drifted.
        """
        a, psi, free = self.a, self.psi, self.gradient == 0.0
        if self.converged and free.any():  # a row that costs nothing is no support vector: exactly 0
            sparse = np.where(free, 0.0, a)
            self._go(sparse, self.K @ sparse, self.b)
        if self.a is a or self.psi < psi - DRIFT * abs(psi):  # not where α is so large that its errors count
            self._go(a, self.K @ a, self.b)
        if self.psi < psi - DRIFT * abs(psi):
            self.violated, self.status = self.violation(), "stalled"
        d = self.a - self.gradient
        gap, primal = max(0.0, 0.5 * float(np.vdot(d, self.K @ d))), -self.height(self.a, self.v, self.b)
        return NewtonSolution(
            self.a, self.b, self.f, gap, self.violated, primal, primal - gap, self.iterations, self.status, self.info
        )


class _SmoothLoss(Certified):
    """One function; b is the best for each α, so that Σ cL′ = 0 and −cL′ is feasible in the dual."""

    def __init__(self, K, likelihood, start, system, intercept, tol):
        self.intercept, self.system, self.info, self.exact = intercept, system, system.info, system.exact
        self.floor = 1.0 if start is None else 0.0  # of the curvature, as a part of the largest
        self.least = 1e-8 * float(np.max(likelihood.c * np.abs(likelihood.y), initial=0.0))  # y fitted by a constant
        a, b = (np.zeros(K.n), 0.0) if start is None else (np.array(start[0], dtype=float), float(start[1]))
        super().__init__(K, likelihood, a, K @ a if start is not None else np.zeros(K.n), b, tol)

    def _look(self):
        if self.intercept:
            scale = 1.0 + float(np.abs(self.v).max(initial=0.0))
            gradient, v = self.likelihood.gradient, self.v  # not self: brentq leaves a cycle behind, K in it
            self.b = _root(lambda b: -float(gradient(v + b).sum()), self.b, scale)
            self.psi = self.height(self.a, self.v, self.b)
        super()._look()

    def _direction(self):
        self.factored += 1
        return self.system.direction(self, self.floor if self.violated > 0.05 else 0.0)

    def _verdict(self):
        verdict = super()._verdict()
        if self.factored:  # a tenth after a full step, ten times after a very short one; at last Newton's own method
            if self.length == 1.0:
                self.floor = 0.1 * self.floor if self.floor > 1e-3 else 0.0
            elif self.length <= 0.1:
                self.floor = min(1.0, 10.0 * self.floor)
        return verdict

    def _escape(self):
        """α = −cL′ where f does not see the difference (equal rows, say): a minimum. Else more exact steps."""
        d = self.a - self.gradient
        Kd = self.K @ d
        if not 0.5 * float(d @ Kd) <= 1e-14 * abs(self.psi):
            return self.system.sharpen()
        self._go(self.gradient, self.v - Kd, self.b)
        self.length = 1.0
        return True


def step_solver(solver, sizes):
    """The solver of Newton's steps: the one that is given, or of "auto" a factor where that is quick and fits."""
    if solver is None or (isinstance(solver, str) and solver == "auto"):
        solver = "cholesky" if factors_steps(sizes) else "cg"
    return SOLVERS[solver]() if isinstance(solver, str) else solver


class _System:
    """The linear system of a step: a factor of the rows that are curved, or conjugate gradients on all rows."""

    def __init__(self, K, solver, sizes, clock):
        self.K, self.sizes, self.solver = K, sizes, step_solver(solver, sizes).until(clock)
        self.exact, self.tol = not self.solver.iterative, 0.03
        self.info = {"solver": type(self.solver).__name__.lower(), "products": 0}
        self._fast = self._shared = None

    def sharpen(self):
        """Solve more exactly from now on; False where that is not possible."""
        self.tol *= 0.1
        return not self.exact and self.tol >= 1e-8

    def direction(self, way, floor):
        """(Δα, Δb) of Newton's step, no curvature below ``floor`` times the largest for its weight."""
        r, h, c = way.gradient - way.a, way.likelihood.curvature(way.f), way.likelihood.c
        if floor > 0.0:
            h = np.maximum(h, floor * c * float(np.max(h / c)))
        bent = h > 1e-12 * h.max(initial=0.0)  # the others count as straight
        curved = np.flatnonzero(bent)
        dalpha = np.where(bent, 0.0, r)
        if not curved.size:
            return dalpha, None
        s = np.sqrt(h[curved])
        right = r[curved] / s
        if dalpha.any():
            right -= s * (self._stored() @ dalpha)[curved]
        columns = [right, s] if way.intercept else [right]
        both = self._solve(curved, s, np.column_stack(columns), way.violated)
        if not way.intercept:
            dalpha[curved] = s * both[:, 0]
            return dalpha, None
        db = float((s @ both[:, 0] + (way.a + dalpha).sum()) / (s @ both[:, 1]))  # so that Σα comes back to 0
        dalpha[curved] = s * (both[:, 0] - db * both[:, 1])
        return dalpha, db

    def _solve(self, curved, s, B, violation):
        """(S K S + I)⁻¹ B on the curved rows; conjugate gradients see all rows, with S = 0 where one is straight."""
        if self.exact:
            K = self._stored()
            inverse = self.solver.rescaled(part_of(K, curved))(s)
            found = inverse @ B
        else:
            if self._shared is None:
                self._shared = self.solver.rescaled(self.K, self._stored())
            n = self.K.n
            tol = min(self.tol, float(np.clip(0.1 * np.sqrt(violation), 1e-6, 1.0)))
            inverse = self._shared(_scatter(n, curved, s), tol)
            found = (inverse @ _scatter(n, curved, B))[curved]
        self.info.update({key: value for key, value in inverse.info.items() if key in REPORTED})
        self.info["products"] += inverse.info.get("iterations", 0)
        return found

    def _stored(self):
        """K in memory where it fits: float64 for a factor, float32 for the products of an inexact direction."""
        if self._fast is None:
            dtype, spare = (np.float64, 1) if self.exact else (np.float32, 0)
            self._fast = store(self.K, dtype, self.sizes.memory, spare, self.sizes.options)
        return self._fast


def store(K, dtype, memory=None, spare=0, options=OptionSet()):
    """K as a stored matrix, when it and ``spare`` more of its size fit in memory; K itself otherwise."""
    if K.matrix is not None:
        return K
    need, room = (1 + spare) * np.dtype(dtype).itemsize * float(K.n) ** 2, _machine.within(memory).bytes
    fits = room is None or need <= options[StorageOptions].stored_share * room
    return DenseGram.from_matrix(K.dense(dtype)) if fits else K


def _scatter(n, index, values):
    """The values at their rows among n, 0 elsewhere."""
    out = np.zeros((n, *values.shape[1:]))
    out[index] = values
    return out


def _root(slope, b, scale):
    """The b where a non-decreasing function is 0, between bounds that grow from a start."""
    from scipy.optimize import brentq  # slow to import

    def finite(b):
        with np.errstate(over="ignore", invalid="ignore"):
            value = slope(b)
        return float(np.clip(value, -1e300, 1e300)) if not np.isnan(value) else 1e300

    here, width = finite(b), 1e-3 * scale
    if here == 0.0:
        return b
    sign, low = np.sign(here), b
    for _ in range(200):
        high = low - sign * width
        if finite(high) * sign <= 0.0:
            return float(brentq(finite, min(low, high), max(low, high), xtol=1e-15 * scale, rtol=1e-15, maxiter=200))
        low, width = high, 2.0 * width
    return b
