"""The dual with ν: ½αᵀKα − yᵀα, |α| <= box, Σ|α| <= total [Σα = 0]; ε is the multiplier of the total.

α = p − m with p, m in [0, box]; Σp = Σm = total/2 with an intercept, Σp + Σm = total without. That is no restriction: a
row may have both p and m, which cancel. It happens only when ε = 0, and then the problem is that of ε = 0. A few rows
are solved by an interior-point method, more by rounds of working sets as in `_rounds`, with pairs of one sign
(`_loops.nu`). Newton on the free rows (`_nu_face`) follows, then the certificate in float64 at the ε found.
"""

import time

import numpy as np

from mercer._threads import waiting_threads
from mercer.dual import working_set
from mercer.dual._interior import few, interior
from mercer.dual._nu_face import face_step
from mercer.dual._nu_rounds import Sides, one_round
from mercer.dual._programme import Programme
from mercer.dual._rounds import Budget
from mercer.dual._store import exact_product
from mercer.dual.working_set import DualSolution
from mercer.losses import EpsilonInsensitive

COARSE = 1e-2  # violation, in units of the largest target, from which on Newton is tried
FINISH = 1e-10  # the violation that Newton aims at, in the same unit
FACES = 40  # tried in a row
SLACK = 1e-9  # of the total: ε = 0 when it is not exceeded by more
REFINE = 12  # times the gradient is computed afresh in float64


@waiting_threads()
def solve(K, target, box, total, *, intercept=True, tol=1e-3, max_iter=None, time_budget=None, memory=None):
    """min ½αᵀKα − yᵀα,  |αᵢ| <= boxᵢ,  Σ|α| <= total  [Σα = 0].

    Parameters
    ----------
    K : Gram
    target, box : ndarray of shape (n,)
        y, and the bounds > 0.
    total : float
        ν Σ box, with 0 < ν <= 1.
    intercept, tol, max_iter, time_budget, memory
        As for `working_set.solve`.

    Returns
    -------
    epsilon : float
        The multiplier of the total: α is the solution of the ε-insensitive dual with this ε.
    DualSolution
        With the gap and the violation of that dual.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.dual.nu import solve
    >>> from mercer.gram import DenseGram
    >>> y = np.array([1.0, 0.05, -1.0])
    >>> epsilon, found = solve(DenseGram.from_matrix(np.eye(3)), y, np.ones(3), 1.0)
    >>> found.alpha.round(6), round(epsilon, 6)
    (array([ 0.5,  0. , -0.5]), 0.5)
    """
    if not 0.0 < total <= float(box.sum()) * (1.0 + 1e-12):
        raise ValueError(f"total must be above 0 and at most Σ box = {box.sum():.6g} (ν in (0, 1]), got {total:.6g}.")
    options = {"tol": tol, "max_iter": max_iter, "time_budget": time_budget, "memory": memory}
    work = _Work(K, target, box, total, intercept, options)
    status = work.start()
    while status != "no tube":
        work.refresh()
        violation = work.certificate()[2]
        if violation <= tol or status != "converged" or work.budget.spent():
            break
        if work.refined == REFINE:
            status = "stalled"
            break
        work.refined += 1
        status = work.run(0.3 * tol)
    if status == "no tube":
        return 0.0, work.tubeless
    if violation > tol and status == "converged":
        status = work.budget.spent() or "stalled"
    return work.solution("converged" if violation <= tol else status)


class _Work:
    """p, m and g = Kα − y on the way to the solution."""

    def __init__(self, K, target, box, total, intercept, options):
        self.K, self.target, self.total, self.intercept = K, target, total, intercept
        self.tol, self.memory = options["tol"], options["memory"]
        self.budget = Budget(options["max_iter"], options["time_budget"])
        self.sides = Sides(box, np.asarray(K.diag(), dtype=float), bool(intercept))
        self.store, self.stored = working_set._store(K, self.tol, self.memory)
        self.unit = max(float(np.abs(target).max()), np.finfo(float).tiny)
        self.v, self.g = np.zeros((2, K.n)), -target.copy()
        self.faces, self.tubeless, self.refined, self.inner = 0, None, 0, 0

    # ------------------------------------------------------------------ start
    def start(self):
        """From nothing to the tolerance; returns a status, or "no tube" when ε = 0 is the solution."""
        n, box = self.K.n, self.sides.box
        if not self.target.any():
            return "no tube" if self._without_tube(None) else "stalled"
        if few(n) and self.store.capacity >= n:
            M = self.store.square(np.arange(n))
            inner = interior(M, self.target, box, total=self.total, intercept=self.intercept, budget=self.budget)
            self.inner = inner.steps
            if not inner.binds and self._without_tube(inner.alpha):
                return "no tube"
            self._put(inner.alpha)
            stop = self.budget.spent()
            if stop:
                return stop
            self._newton()
            return "converged" if self.violation() <= self.tol else self.run(self.tol)
        # p = m, so that α = 0: full boxes, as libsvm fills them
        want = 0.5 * self.total
        before = np.concatenate([[0.0], np.cumsum(box)[:-1]])
        self.v[:] = np.clip(want - before, 0.0, box)
        return self.run(self.tol)

    def _put(self, alpha):
        """Take over an α, with sums as they must be, and its gradient."""
        alpha = _with_sums(np.clip(alpha, -self.sides.box, self.sides.box), self.sides, self.total)
        self.v[:] = np.maximum(alpha, 0.0), np.maximum(-alpha, 0.0)
        self.g[:] = -self.target
        self.store.add(np.arange(self.K.n), alpha, self.g)

    def _without_tube(self, start):
        """Whether ε = 0 keeps within the total; its solution is kept either way."""
        left = self.budget
        seconds = None if np.isinf(left.end) else max(left.end - time.perf_counter(), 1e-3)
        steps = None if np.isinf(left.left) else max(int(left.left), 1)
        dual = EpsilonInsensitive(0.0).dual(self.target, self.sides.box)
        options = {"tol": self.tol, "max_iter": steps, "time_budget": seconds, "memory": self.memory}
        found = working_set.solve(self.K, dual, intercept=self.intercept, start=start, **options)
        left.take(found.iterations, 0.0)
        info = found.info | {"interior_steps": self.inner}
        self.tubeless = found._replace(iterations=left.steps, info=info)
        return found.status != "converged" or float(np.abs(found.alpha).sum()) <= self.total * (1.0 + SLACK)

    # ------------------------------------------------------------------ on the way
    def violation(self):
        """As libsvm measures it for ν."""
        return self.sides.violation(*self.sides.slopes(self.v, self.g))

    def run(self, tol):
        """Rounds to a coarse violation, Newton, and finer rounds where that is not enough."""
        goal = max(tol, COARSE * self.unit)
        while True:
            status = self._rounds(goal)
            common = self.v.min(axis=0)
            if status == "converged" and common.any() and self.tubeless is None:
                if self._without_tube(self.v[0] - self.v[1]):
                    return "no tube"
                self._put(self.tubeless.alpha)
                continue
            if status == "converged" and not common.any():
                self._newton()
                if self.violation() <= tol:
                    return status
            if status != "converged" or goal <= tol:
                self.v -= common  # what cancels; 2ε is then below the violation
                return status
            goal = max(tol, 0.1 * goal)

    def _rounds(self, goal):
        """Rounds of working sets; "converged" or why they ended."""
        block, still = np.zeros(0, dtype=np.int64), 0
        while self.violation() > goal:
            stop = self.budget.spent()
            if stop or still == 3:
                return stop or "stalled"
            before = self.budget.steps
            block = one_round(self.store, self.sides, self.v, self.g, block, goal, self.budget)
            still = still + 1 if self.budget.steps == before else 0
        return "converged"

    def _newton(self):
        """Newton steps on the free rows, others let in as they ask, while that helps."""
        a, goal, best, vain, status = self.v[0] - self.v[1], FINISH * self.unit, np.inf, 0, "part"
        for _ in range(FACES):
            if self.budget.spent() or vain > 5:
                return
            self.faces += 1
            status = self._enter(a) if status == "full" else face_step(self.store, self.sides, a, self.g)
            self.v[:] = np.maximum(a, 0.0), np.maximum(-a, 0.0)
            violation = self.violation()
            if violation <= goal:
                return
            if status == "failed":
                return
            vain = 0 if violation < 0.7 * best else vain + 1
            best = min(best, violation)

    def _enter(self, a):
        """Let rows into the face that have the wrong slope: many, or if that fails the worst."""
        sides, v = self.sides, self.v
        G, level = np.stack([self.g, -self.g]), sides.levels(v, self.g, free=True)[:, None]
        wrong = np.where(v >= sides.box, G - level, np.where((v <= 0.0) & (v[::-1] <= 0.0), level - G, -np.inf))
        side, rows = np.nonzero(wrong > 0.0)
        order = np.argsort(-wrong[side, rows])
        free = int(((v > 0.0) & (v < sides.box)).sum())
        for most in (8 + free // 4, 2):
            chosen = order[:most]
            status = "failed"
            if chosen.size:
                status = face_step(self.store, sides, a, self.g, (rows[chosen], 1.0 - 2.0 * side[chosen]))
            if status != "failed":
                return status
        return "failed"

    # ------------------------------------------------------------------ the end
    def refresh(self):
        """g from α in float64."""
        self.g[:] = exact_product(self.K, self.v[0] - self.v[1]) - self.target

    def certificate(self):
        """(ε, programme, violation) of the dual at the ε found; weight that is missing is a violation of size ε."""
        a, box = self.v[0] - self.v[1], self.sides.box
        eps = max(-0.5 * float(self.sides.levels(self.v, self.g).sum()), 0.0)
        dual = EpsilonInsensitive(eps).dual(self.target, box)
        programme = Programme.check(dual, self.sides.diag, self.intercept)
        violation = programme.violation(*programme.slopes(a, self.g))
        full = float(np.abs(a).sum()) >= self.total * (1.0 - SLACK)
        return eps, programme, violation if full else max(violation, eps)

    def solution(self, status):
        """(ε, DualSolution)."""
        eps, programme, violation = self.certificate()
        a = self.v[0] - self.v[1]
        level = self.sides.levels(self.v, self.g)  # −(b + ε) and b − ε; not unique where a sign has no free row
        b = 0.5 * float(level[1] - level[0]) if self.intercept else 0.0
        primal, objective, gap = programme.values(a, self.g, b)
        info = {"gram": self.stored, "rounds": self.budget.rounds, "newton_steps": self.faces,
                "refinements": self.refined, "interior_steps": self.inner, "product": self.g + self.target}  # fmt: skip
        return eps, DualSolution(a, b, gap, violation, primal, objective, self.budget.steps, status, info)


def _with_sums(alpha, sides, total):
    """α whose weight of each sign (or of both) is as it must be: free rows give and take first, then all."""
    size, sign = np.abs(alpha), np.sign(alpha)
    groups = [(sign > 0, sign >= 0, 0.5 * total, 1.0), (sign < 0, sign <= 0, 0.5 * total, -1.0)]
    if not sides.apart:
        groups = [(sign != 0, sign != 0, total, 1.0)]
    for own, open_, want, side in groups:
        inside = own & (size < sides.box)
        for rows in (inside, own, open_):
            need = want - float(size[own | rows].sum())
            if rows is not inside and abs(need) <= SLACK * want:
                continue  # rounding: bounds and zeros stay exact
            room = np.where(rows, sides.box - size if need > 0 else size, 0.0)
            share = need / max(float(room.sum()), abs(need), np.finfo(float).tiny)
            size = size + share * room
            sign = np.where(rows & (sign == 0) & (size > 0), side, sign)
    return sign * size
