"""The dual of every boxed loss: ½αᵀKα + Σ hᵢ(αᵢ) over a box, with or without Σα = 0, by working sets and Newton.

Rounds of block working sets (`_rounds`) find which rows are zero, free and bounded; Newton on the free rows (`_active`)
finds their values. K is stored in float32 when the tolerance allows it and it fits, else rows are cached. At the end
the gradient is computed afresh in float64, and the rounds go on from there if the violation is too large.
"""

from typing import NamedTuple

import numpy as np

from mercer import _tiles
from mercer._machine import gigabytes, within
from mercer.dual import _plain
from mercer.dual._active import newton
from mercer.dual._programme import Programme
from mercer.dual._rounds import BLOCK, LARGE, NESTED, Budget, one_round
from mercer.dual._store import Cached, Evaluated, Stored, dense, exact_product
from mercer.gram import DenseGram, TiledGram

EXACT = 2048  # rows up to which K is stored in float64
QUICK = 4096  # rows up to which K is stored at once, whatever the kernel
FINE = 1e-5  # tolerance below which float32 would not do
FINISH = 1e-10  # violation, relative to the largest target, that the last Newton steps aim at
NEAR = 0.05  # violation, relative to the spread of the targets, above which a large problem waits with Newton
SETTLED = 0.04  # share of a block's free rows that change in a round: with more, Newton's face would be another
SOON = 10.0  # tolerances: with a violation of so many a Newton step waits for its own cost in rounds
CHEAP = 2e9  # multiplications that a Newton step may cost at any time
REFINE = 12  # times the gradient is computed afresh in float64
ENTRIES = 60  # faces tried in a row in a small problem, two steps each
STEPS = 12  # and in a large one, as long as they help
SURE = 0.5  # share of the tolerance that leaves room for what float32 rounds
SHARE = 0.8  # of the free memory that K may take


class DualSolution(NamedTuple):
    """What `solve` found.

    Attributes
    ----------
    alpha : ndarray of shape (n,)
        α: exactly 0 off the support, exactly at its bound where bounded.
    b : float
        The intercept; 0 without one.
    gap : float
        primal − objective >= 0: how far the objective is from the optimum at most.
    violation : float
        Libsvm's maximal violation of the optimality conditions, in float64.
    primal : float
        ½‖f‖² + Σ loss.
    objective : float
        −½αᵀKα − Σ hᵢ(αᵢ): the dual objective, to be maximised.
    iterations : int
        Steps, of two variables each (of one without an intercept).
    status : str
        "converged", "max_iter", "time_budget", "callback" or "stalled".
    info : dict
        Rounds, Newton steps, refinements; how K was stored (``gram``); Kα in float64 (``product``).
    """

    alpha: np.ndarray
    b: float
    gap: float
    violation: float
    primal: float
    objective: float
    iterations: int
    status: str
    info: dict


def solve(
    K, dual, *, intercept=False, tol=1e-3, max_iter=None, time_budget=None, start=None, memory=None, callback=None
):  # fmt: skip
    """min ½αᵀKα + Σᵢ hᵢ(αᵢ),  hᵢ(a) = −yᵢa + εᵢ|a| + ½rᵢa²,  lᵢ <= a <= uᵢ  [Σα = 0].

    Parameters
    ----------
    K : Gram
    dual : object
        With vectors ``target`` (y), ``epsilon`` (ε >= 0), ``ridge`` (r >= 0), ``lower`` (l <= 0) and ``upper``
        (u >= 0), one number for each row; bounds may be infinite where r > 0.
    intercept : bool, default=False
        Whether Σα = 0, the condition of an unpenalised b.
    tol : float, default=1e-3
        Maximal KKT violation, with the meaning of libsvm's: the largest slope that falls minus the smallest that grows.
        Without an intercept the largest slope of the wrong sign.
    max_iter : int, default=None
        Most steps.
    time_budget : float, default=None
        Seconds, the evaluation of K included as far as it can be interrupted.
    start : array-like of shape (n,), default=None
        α to start from; moved into the box and onto Σα = 0 if need be.
    memory : float, default=None
        Bytes that may be used; None is what the machine has.
    callback : callable, default=None
        Called after each round with {"iterations", "violation", "rounds"}; a true result ends the work.

    Returns
    -------
    DualSolution

    Examples
    --------
    >>> from collections import namedtuple
    >>> import numpy as np
    >>> from mercer.dual.working_set import solve
    >>> from mercer.gram import DenseGram, TiledGram
    >>> Dual = namedtuple("Dual", "target epsilon ridge lower upper")
    >>> y, ones = np.array([1.0, 0.05, -1.0]), np.ones(3)
    >>> found = solve(DenseGram.from_matrix(np.eye(3)), Dual(y, 0.1 * ones, 0 * ones, -ones, ones))
    >>> found.alpha.round(6)
    array([ 0.9,  0. , -0.9])
    """
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol}.")
    budget = Budget(max_iter, time_budget)
    programme = Programme.check(dual, K.diag(), bool(intercept))
    store, stored = _store(K, tol, memory)
    a = np.zeros(K.n) if start is None else programme.feasible(start)
    g = programme.ridge * a - programme.target
    store.add(np.arange(K.n), a, g)
    search = _Search(store, programme, a, g, tol, budget, callback)
    status, refined = search.run(), 0
    while True:
        a[:] = programme.feasible(a)  # Σα = 0 but for rounding: the gap is a certificate of a feasible point only
        g[:] = exact_product(K, a) + programme.ridge * a - programme.target
        violation = programme.violation(*programme.slopes(a, g))
        if violation <= tol:
            status = "converged"
        if status != "converged" or violation <= tol or refined == REFINE or budget.spent():
            break
        refined += 1
        status = search.run()
    if status == "converged" and violation > tol:
        status = budget.spent() or "stalled"
    b = programme.bias(a, g)
    primal, objective, gap = programme.values(a, g, b)
    info = {"gram": stored, "rounds": budget.rounds, "newton_steps": search.newtons, "refinements": refined,
            "product": g + programme.target - programme.ridge * a}  # fmt: skip
    return DualSolution(a, b, gap, violation, primal, objective, budget.steps, status, info)


def hold(K, tol=1e-3, memory=None):
    """K evaluated and stored once, for several calls of `solve`; K itself where it does not fit."""
    dtype = _dtype(K.n, tol, memory)
    if dtype is None or not isinstance(K, TiledGram) or (_is_quick(K, tol) and K.n > NESTED):
        return K
    held = DenseGram.from_matrix(dense(K, dtype, _loops(K.n)))
    held.tiled = K  # so that products are exact, whatever is stored
    return held


def _loops(n):
    """The compiled loops, or for a few rows the plain ones: steps read rows many times over."""
    loops = _tiles.loops(200 * n * n)
    return loops.dual if loops is not None else _plain


def _store(K, tol, memory):
    """(rows of K, words about them): stored as the tolerance asks, or a cache where that does not fit."""
    n = K.n
    loops = _loops(n)
    if isinstance(K, DenseGram) and K.matrix.flags.c_contiguous and K.matrix.flags.writeable:
        return Stored(K.matrix, loops), f"{K.matrix.dtype.name}, stored before"
    dtype = _dtype(n, tol, memory)
    if _is_quick(K, tol):
        return Evaluated(K, loops, dtype is not None), "float32, evaluated when needed"
    if dtype is not None:
        M = dense(K, dtype, loops)
        return Stored(M, loops), f"{M.dtype.name}, stored, {gigabytes(M.nbytes)}"
    room = SHARE * within(memory).bytes
    capacity = int(min(n, max((room - 4.0 * LARGE[1] ** 2) / (4.0 * n), 64)))
    return Cached(K, capacity, loops), f"float32, {capacity} of {n} rows cached"


def _is_quick(K, tol):
    """Whether the values of K are faster to compute than to store and read."""
    if not isinstance(K, TiledGram) or K.n <= QUICK or tol < FINE or not isinstance(K.X, np.ndarray):
        return False
    return K.X.ndim == 2 and K.X.shape[1] <= K.kernel.columns_quick and _tiles.loops() is not None


def _dtype(n, tol, memory):
    """The precision of a stored K: float64 for few rows or a fine tolerance, else float32; None if it is too large."""
    free = within(memory).bytes if 8.0 * n * n > 2**25 or memory is not None else None
    room = np.inf if free is None else SHARE * free
    fine = n <= EXACT or tol < FINE
    for dtype, wanted in ((np.float64, fine), (np.float32, True)):
        if wanted and float(np.dtype(dtype).itemsize) * (n * n + min(n, LARGE[1]) ** 2) <= room:
            return dtype
    return None


class _Search:
    """Rounds and Newton steps from a gradient to a tolerance; α and g are worked on in place."""

    def __init__(self, store, programme, a, g, tol, budget, callback):
        self.store, self.programme, self.a, self.g = store, programme, a, g
        self.tol, self.budget, self.callback = tol, budget, callback
        size = max(float(np.abs(programme.target).max(initial=0.0)), np.finfo(float).tiny)
        self.fine = min(tol, FINISH * size) if store.dtype == np.float64 else 0.1 * tol
        self.near = max(30.0 * tol, NEAR * float(np.std(programme.target)))
        self.newtons = 0
        self.churn = 0.0  # of the rows of the last block, the share that became free or ceased to be
        self.patience, self.last = 1.0, 0.0  # a Newton step waits for so many times its own cost in rounds

    def run(self):
        """Until the violation is within the tolerance, the budget is spent, or nothing moves; returns which."""
        block = np.zeros(0, dtype=np.int64)
        still = 0
        while True:
            slopes = self.programme.slopes(self.a, self.g)
            violation = self.programme.violation(*slopes)
            if violation <= self.tol:
                self._finish()
                return "converged"
            stop = self.budget.spent()
            if stop or self._report(violation):
                return stop or "callback"
            if self._newton_is_due(violation):
                self._newton()
                continue
            work, free = self.budget.steps, self.programme.free(self.a)
            block = one_round(self.store, self.programme, self.a, self.g, slopes, block, self.tol, self.budget)
            now = self.programme.free(self.a)
            changed = np.setxor1d(free, now, assume_unique=True).size
            self.churn = changed / max(min(len(block), now.size), 1)
            still = still + 1 if self.budget.steps == work else 0
            if still >= 2:
                if self._newton() not in ("full", "part") or still > 6:
                    return "stalled"

    def _report(self, violation):
        """Tell the callback; whether it wants an end."""
        if self.callback is None:
            return False
        now = {"iterations": self.budget.steps, "violation": violation, "rounds": self.budget.rounds}
        return bool(self.callback(now))

    def _cost(self):
        """Multiplications of a Newton step, in those of rounds: a factorisation runs nearer to the machine's peak."""
        m = float(self.programme.free(self.a).size)
        return 0.08 * m**3 + 100.0 * m**2 + m * len(self.a)

    def _newton_is_due(self, violation):
        """Whether the rounds since the last Newton step have cost as much as one, and the face is about to settle."""
        n = len(self.a)
        if n > EXACT and (violation > self.near or self.churn > SETTLED):
            return False
        cost = self._cost()
        wait = self.patience * (1.0 if n <= EXACT else np.clip(violation / (SOON * self.tol), 0.2, 4.0))
        return cost > 0 and self.budget.work - self.last > wait * max(cost, 20.0 * n * min(n, BLOCK))

    def _newton(self, tol=None):
        """Newton steps, rows let in as they ask; what comes too early or does not help makes the next wait longer."""
        small, goal = len(self.a) <= EXACT, tol or self.tol
        spent = (self.budget.work - self.last) / max(self._cost(), 1.0)  # rounds and Newton share the time
        most = int(np.clip(2 * spent, 4, 2 * ENTRIES)) if small else STEPS
        status, before, best, vain = "part", self._violation(), np.inf, 0
        for _ in range(most):
            self.newtons += 1
            if status == "full":
                status = self._enter()
            else:
                status = newton(self.store, self.programme, self.a, self.g, patient=small)
            violation = self._violation()
            if status in ("early", "failed") or violation <= goal or self.budget.spent():
                break
            vain = 0 if violation < 0.7 * best else vain + 1
            best = min(best, violation)
            if not small and (status == "part" or vain > 2):
                break
        helped = status in ("full", "part") and (small or self._violation() < 0.5 * before)
        self.patience = max(0.5, 0.5 * self.patience) if helped else 1.5 * self.patience
        self.last = self.budget.work
        return status

    def _enter(self):
        """Let rows into the face whose slope has the wrong sign: many of them, or the worst if that does not help.

        Returns the status of the Newton step on the larger face.
        """
        programme, a, g = self.programme, self.a, self.g
        b = programme.bias(a, g)
        grows, falls = programme.slopes(a, g)
        wrong, side = np.maximum(-(grows + b), falls + b), np.where(-(grows + b) >= falls + b, 1.0, -1.0)
        free = programme.free(a)
        wrong[free] = -np.inf
        worst = np.flatnonzero(wrong > 0)
        worst = worst[np.argsort(-wrong[worst])]
        both = [int(np.argmin(grows)), int(np.argmax(falls))]
        if programme.intercept and not free.size and both[0] != both[1]:
            few = np.array(both), np.array([1.0, -1.0])
        else:
            few = worst[:1], side[worst[:1]]
        many = worst[: 8 + free.size // 4]
        for rows, sides in ((many, side[many]), few):
            status = newton(self.store, programme, a, g, enter=(rows, sides), patient=True) if len(rows) else "failed"
            if status in ("full", "part"):
                return status
        return "failed"

    def _finish(self):
        """Newton steps beyond the tolerance, while they are cheap and help: the free rows to rounding.

        Where K is in float32, and so rounded by more than that, a step or two makes sure of the tolerance.
        """
        if self.store.dtype == np.float32 and self._violation() <= SURE * self.tol:
            return
        start = self.budget.work
        for _ in range(4):
            kept = self.a.copy(), self.g.copy(), self._violation()
            if kept[2] <= self.fine or self._cost() > max(CHEAP, 0.2 * start) or self.budget.spent():
                return
            status = self._newton(self.fine)
            if self._violation() > max(self.tol, kept[2]):
                self.a[:], self.g[:] = kept[:2]
                return
            if status not in ("full", "part"):
                return

    def _violation(self):
        """The violation now."""
        return self.programme.violation(*self.programme.slopes(self.a, self.g))
