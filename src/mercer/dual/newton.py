"""Newton's method (IRLS) for smooth losses: every step is a ridge problem on a ScaledGram.

At f, the loss of row i has the slope gᵢ = cᵢL′ and the curvature hᵢ = cᵢL″, c = w/(2λ). The solution has α = −g(f), so
a step solves Δα + h(KΔα + Δb) = −g − α: with S = √(λh) this is (S K S + λI) β = …, Δα = S β. A row without curvature
(outside the margin of a squared hinge, beyond δ of Huber's loss) takes α = −g at once and leaves the system: that is
the active set of a semismooth Newton method, which ends after finitely many steps. Far from the solution these sets are
wrong and steps short; there the curvature is raised to a part of the largest, at first to all of it, which majorises.
"""

import time
from typing import NamedTuple

import numpy as np

from mercer import _machine
from mercer.dual._memory import restrict, store
from mercer.gram import ScaledGram
from mercer.solvers.cg import MAX_ITER, CGInverse, PartialCholesky
from mercer.solvers.plan import SOLVERS

DIRECT_UP_TO = 4_000  # rows; beyond, a factor in every step takes longer than the products of conjugate gradients
FLAT = 1e-12  # of the largest curvature: a row below it counts as straight
ARMIJO = 1e-4
LINE_STEPS = 60
ROUNDING = 1e-8  # of max|cy|: slopes below this (y is fitted by a constant, say) are mostly rounding
NEAR = 0.05  # violation from which on no curvature is raised
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


def solve(K, loss, y, c, *, intercept=True, tol=1e-6, max_iter=100, time_budget=None, start=None, **options):
    """min over α, b of Σᵢ cᵢ L(yᵢ, [Kα]ᵢ + b) + ½αᵀKα, for a loss with ``grad`` and ``hess``.

    Parameters
    ----------
    K : Gram
    loss : Loss
    y, c : ndarray of shape (n,)
        Targets, and w/(2λ) > 0.
    intercept : bool, default=True
    tol : float, default=1e-6
        Of max|α + cL′(f)|/max|cL′(f)|. With a factor one more step follows, and the error is about its square.
    max_iter : int, default=100
    time_budget : float, default=None
        Seconds; looked at between steps.
    start : (alpha, b), default=None
        A solution near by, for instance for another λ.
    **options
        ``solver``: "auto", a name or a `Solver`; ``memory``: bytes; ``callback``: called with (iteration, violation).

    Returns
    -------
    NewtonSolution

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.dual import newton
    >>> from mercer.gram import DenseGram
    >>> from mercer.losses import Squared
    >>> K = DenseGram.from_matrix(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> found = newton.solve(K, Squared(), np.array([1.0, 2.0]), np.full(2, 1.0), intercept=False)
    >>> found.alpha.round(3), found.status
    (array([0.25, 1.25]), 'converged')
    """
    deadline = np.inf if time_budget is None else time.perf_counter() + time_budget
    state = _State(K, loss, y, c, intercept, start)
    system = _System(state.K, **{name: options.get(name) for name in ("solver", "memory")})
    status, callback, polished = "max_iter", options.get("callback"), False
    violation, iteration, floor = state.violation(), 0, 0.0 if start is not None else 1.0
    while True:
        if violation <= tol and (polished or not system.direct or violation == 0.0):
            status = "converged"
            break
        if iteration >= max_iter or time.perf_counter() > deadline:
            status = "max_iter" if iteration >= max_iter else "time_budget"
            break
        polished = violation <= tol
        length = state.step(*system.direction(state, violation, floor if violation > NEAR else 0.0))
        if length == 0.0 and not polished and state.project():
            length = 1.0
        if length == 0.0 and (polished or not system.sharpen()):
            status = "converged" if polished else "stalled"
            break
        floor = _next_floor(floor, length)
        iteration, violation = iteration + 1, state.violation()
        if callback is not None and callback(iteration, violation):
            break
    if status != "converged" and violation <= tol:
        status = "converged"
    return state.solution(iteration, status, system.info)


class _State:
    """α, b, v = Kα, and the loss there."""

    def __init__(self, K, loss, y, c, intercept, start):
        self.K, self.loss, self.y, self.intercept = K, loss, np.asarray(y, dtype=float), intercept
        self.c = np.broadcast_to(np.asarray(c, dtype=float), self.y.shape)
        self.least = ROUNDING * float(np.max(self.c * np.abs(self.y), initial=0.0))
        self.alpha, self.v, self.b = np.zeros(len(y)), np.zeros(len(y)), 0.0
        if start is not None:
            self.alpha, self.b = np.array(start[0], dtype=float), float(start[1])
            self.v = K @ self.alpha
        self.settle()

    @property
    def f(self):
        return self.v + self.b

    def slope(self, f):
        """g = cL′(f)."""
        return self.c * self.loss.grad(self.y, f)

    def settle(self):
        """The best b for this α, so that Σ cL′ = 0 and a = −cL′ is feasible in the dual."""
        if self.intercept:
            self.b = _root(lambda b: float(self.slope(self.v + b).sum()), self.b, 1.0 + float(np.abs(self.v).max()))
        self.g = self.slope(self.f)

    def violation(self):
        """max|α + g|/max|g|, but a max|g| that is rounding."""
        size = max(float(np.abs(self.g).max(initial=0.0)), self.least)
        worst = float(np.abs(self.alpha + self.g).max(initial=0.0))
        return worst / size if size > 0 else float(worst > 0)

    def primal(self, t=0.0, dalpha=None, dv=None, db=0.0):
        """Σ cL + ½αᵀKα at a step t along a direction."""
        if dalpha is None:
            alpha, v = self.alpha, self.v
        else:
            alpha, v = self.alpha + t * dalpha, self.v + t * dv
        value = float(np.sum(self.c * self.loss.value(self.y, v + self.b + t * db)))
        return value + 0.5 * float(alpha @ v)

    def step(self, dalpha, db):
        """Go along a direction as far as the objective falls; return the length, 0 when it does not fall any more."""
        dv = self.K @ dalpha

        def slope(t):
            v = self.v + t * dv
            return float(self.slope(v + self.b + t * db) @ (dv + db) + dalpha @ v)

        here, first = self.primal(), slope(0.0)
        if not first < 0.0:
            return 0.0
        t = 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            there = self.primal(1.0, dalpha, dv, db)
            rounding = 1e-14 * abs(here)
            if not there <= here + ARMIJO * first + rounding:
                t = line(slope)
                there = self.primal(t, dalpha, dv, db)
        if not there <= here + rounding:
            return 0.0
        self.alpha, self.v, self.b = self.alpha + t * dalpha, self.v + t * dv, self.b + t * db
        self.settle()
        return t

    def project(self):
        """α = −g where f does not see the difference (equal rows, say); whether it is so: this is then a minimum."""
        d = self.alpha + self.g
        Kd = self.K @ d
        if not 0.5 * float(d @ Kd) <= 1e-14 * abs(self.primal()):
            return False
        self.alpha, self.v = -self.g, self.v - Kd
        self.settle()
        return True

    def solution(self, iterations, status, info):
        """With the certificate: gap = ½(α − a)ᵀK(α − a) for a = −g, by the equality of Fenchel and Young."""
        a = -self.g
        d = self.alpha - a
        gap = max(0.0, 0.5 * float(d @ (self.K @ d)))
        primal = self.primal()
        if status == "converged":  # a row that costs nothing is no support vector: exactly 0
            self.alpha = np.where(self.g == 0.0, 0.0, self.alpha)
        return NewtonSolution(
            self.alpha, self.b, self.f, gap, self.violation(), primal, primal - gap, iterations, status, info
        )


class _System:
    """The linear system of a step: a factor of the rows that are curved, or conjugate gradients on all rows."""

    def __init__(self, K, solver=None, memory=None):
        self.K, self.n, self.memory = K, K.n, memory
        solver = "auto" if solver is None else solver
        if isinstance(solver, str) and solver == "auto":
            room = _machine.within(memory).bytes
            fits = room is None or 24.0 * self.n**2 <= 0.8 * room
            solver = "cholesky" if self.n <= DIRECT_UP_TO and fits else "cg"
        self.solver = SOLVERS[solver]() if isinstance(solver, str) else solver
        self.direct = not isinstance(self.solver, SOLVERS["cg"])
        self.info = {"solver": type(self.solver).__name__.lower(), "products": 0}
        self.factor, self.fast, self.tol = None, None, 0.03

    def sharpen(self):
        """Solve more exactly from now on; False where that is not possible."""
        self.tol *= 0.1
        return not self.direct and self.tol >= 1e-8

    def direction(self, state, violation, floor):
        """(Δα, Δb) of Newton's step, no curvature below ``floor`` times the largest for its weight."""
        rho = -state.g - state.alpha
        h = state.c * state.loss.hess(state.y, state.f)
        if floor > 0.0:
            h = np.maximum(h, floor * state.c * float(np.max(h / state.c)))
        curved = np.flatnonzero(h > FLAT * h.max(initial=0.0))
        flat = np.ones(self.n, dtype=bool)
        flat[curved] = False
        dalpha = np.where(flat, rho, 0.0)
        if not curved.size:
            return dalpha, 0.0
        lam = 1.0 / float(np.median(h[curved]))  # a shared λ near the typical one: S is then near 1
        s = np.sqrt(lam * h[curved])
        right = rho[curved] * lam / s
        if flat.any() and dalpha.any():
            right -= s * (self._stored() @ dalpha)[curved]
        beta, db = self._solve(curved, s, lam, right, -float((state.alpha + dalpha).sum()), state.intercept, violation)
        dalpha[curved] = s * beta
        return dalpha, db

    def _solve(self, curved, s, lam, right, total, intercept, violation):
        """(S K S + λI) β = r − S1 Δb with 1ᵀSβ = total: the sum of α comes back to 0."""
        rows = slice(None) if self.direct else curved  # conjugate gradients see all rows: S is 0 where one is straight
        if not self.direct:
            right, s = _spread(self.n, curved, right), _spread(self.n, curved, s)
        inverse = self._inverse(curved, s, lam, violation)
        both = inverse @ np.column_stack([right, s] if intercept else [right])
        self.info.update({k: v for k, v in inverse.info.items() if k in REPORTED})
        self.info["products"] += inverse.info.get("iterations", 0)
        if not intercept:
            return both[rows, 0], 0.0
        db = float((s @ both[:, 0] - total) / (s @ both[:, 1]))
        return both[rows, 0] - db * both[rows, 1], db

    def _inverse(self, curved, s, lam, violation):
        """(S K S + λI)⁻¹ on the curved rows, or on all of them by conjugate gradients to a tolerance that suffices."""
        if self.direct:
            return self.solver.resolvent(ScaledGram(restrict(self._stored(), curved), s))(lam)
        if self.factor is None:
            rank = self.solver._rank(self.n)
            self.factor = PartialCholesky(self.K, rank, max(1, min(100, -(-rank // 10))), self.solver.random_state)
        tol = min(self.tol, float(np.clip(0.1 * np.sqrt(violation), 1e-6, 1.0)))
        return CGInverse(ScaledGram(self._stored(), s), lam, _ScaledFactor(self.factor, s), tol, MAX_ITER)

    def _stored(self):
        """K in memory where it fits: float64 for a factor, float32 for the products of an inexact direction."""
        if self.fast is None:
            dtype, spare = (np.float64, 2) if self.direct else (np.float32, 0)
            self.fast = store(self.K, dtype, self.memory, spare)
        return self.fast


class _ScaledFactor:
    """S F for a shared F: the preconditioner of every step comes from one factor of K."""

    def __init__(self, factor, s):
        self.factor, self.s, self.scale = factor, s, factor.scale * float(s.max()) ** 2

    def columns(self, target):
        """S F, and the trace it leaves."""
        F, trace = self.factor.columns(target / float(self.s.max()) ** 2)
        return self.s[:, None] * F, trace


def _next_floor(floor, length):
    """A tenth after a full step, ten times after a very short one: Newton's own method once its steps are full."""
    if length == 1.0:
        return 0.1 * floor if floor > 1e-3 else 0.0
    return floor if length > 0.1 else min(1.0, 10.0 * floor)


def _spread(n, index, values):
    """The values at their rows among n, 0 elsewhere."""
    out = np.zeros(n)
    out[index] = values
    return out


def line(slope):
    """The t in (0, 1) where the slope of a convex function turns positive, to two digits."""
    low, high = 0.0, 1.0
    for _ in range(LINE_STEPS):
        middle = 0.5 * (low + high)
        rising = slope(middle)
        low, high = (low, middle) if not rising <= 0.0 else (middle, high)  # a NaN is beyond
        if low > 0.0 and high - low <= 0.02 * high:
            break
    return low


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
