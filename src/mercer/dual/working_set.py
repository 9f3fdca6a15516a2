"""The dual of every boxed loss: ½αᵀKα + Σ hᵢ(αᵢ) over a box, with or without Σα = 0, by working sets and Newton.

Rounds of block working sets (`_blocks`) find which rows are zero, free and bounded; Newton on the free rows (`_face`)
finds their values (`_search`). Up to a few thousand rows a round is one call of a compiled loop on all of K. Where
rounds are slow an interior-point method takes over (`_interior`). With ν, ε is found too (`_tube`). K is stored in
float32 when the tolerance allows it and it fits, else rows are cached. At the end the gradient is computed afresh in
float64, and the search goes on from there if the violation is too large.
"""

from typing import NamedTuple

import numpy as np

from mercer import _native, _threads
from mercer._machine import gigabytes, within
from mercer.dual._blocks import BLOCK, Effort
from mercer.dual._programme import Programme
from mercer.dual._search import Search
from mercer.dual._store import Cached, Evaluated, Stored, dense
from mercer.dual._tube import Tube
from mercer.gram import DenseGram
from mercer.solvers.plan_class import StorageOptions
from mercer.solvers.small import threads_for

QUICK = 1500  # rows up to which K is stored at once, whatever the kernel
PAYS = 12_000  # rows up to which storing it for several solutions pays, however quick the kernel is
REFINE = 12  # times the gradient is computed afresh in float64
ALONE = 1500  # rows up to which one thread does it all: a second one takes longer to start than it saves
INSIDE = 8192  # rows up to which an interior-point method may come to help


class DualSolution(NamedTuple):
    """What `solve` found.

    ``info`` has rounds, Newton and interior steps, refinements; the largest jitter of their factors, relative
    to the diagonal of K (it slows steps down, and does not change what is solved); how K was stored (``gram``); Kα in
    float64 (``product``); what bounds beyond the resolution of float64 were taken for (``bound``, or None).
    """

    alpha: np.ndarray  # exactly 0 off the support, exactly at its bound where bounded
    b: float
    gap: float  # primal − objective >= 0: how far the objective is from the optimum at most
    violation: float  # libsvm's maximal one of the optimality conditions, in float64
    primal: float  # ½‖f‖² + Σ loss
    objective: float  # −½αᵀKα − Σ hᵢ(αᵢ): the dual one, to be maximised
    epsilon: float | None  # where it was found from ν
    iterations: int  # steps of two variables each, or of the interior-point method
    status: str  # "converged", "max_iter", "time_budget", "callback", or "stalled": nothing was gained any more
    info: dict


def solve(
    K, dual, *, intercept=False, nu=None, tol=1e-3, max_iter=None, time_budget=None, start=None, product=None,
    exact=True, memory=None, callback=None,
):  # fmt: skip
    """min ½αᵀKα + Σᵢ hᵢ(αᵢ),  hᵢ(a) = −yᵢa + εᵢ|a| + ½rᵢa²,  lᵢ <= a <= uᵢ  [Σα = 0, with an intercept].

    ``dual`` has the vectors ``target`` (y), ``epsilon`` (ε >= 0), ``ridge`` (r >= 0), ``lower`` (l <= 0) and ``upper``
    (u >= 0); bounds may be infinite where r > 0. With ν in (0, 1], for l = −u, ε = 0 and r = 0, Σ|α| must not exceed
    ν Σu: the multiplier of that condition is ε, and α the solution of the dual with this ε; 0 where Σ|α| stays below.

    ``tol`` is libsvm's maximal KKT violation: the largest slope that falls minus the smallest that grows; without an
    intercept the largest slope of the wrong sign. ``start`` is moved into the box and onto Σα = 0; ``product`` is K
    times it in float64, where that is known: if it is a solution, nothing else is evaluated. Unless ``exact``,
    violation and gap are those that the stored K says, and a second call, with ``start`` and ``product``, makes them
    certain. The callback gets {"iterations", "violation", "rounds"} after each round; a true result ends the work.
    """
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol}.")
    budget = Effort(max_iter, time_budget)
    given = Programme.check(dual, K.diag(), bool(intercept))
    programme, bound = given.resolved()
    total = None if nu is None else _total(programme, nu)
    a = np.zeros(K.n) if start is None else programme.feasible(start)
    if product is not None and nu is None and bound is None:
        g = product + programme.ridge * a - programme.target
        violation = programme.violation(*programme.slopes(a, g))
        if violation <= tol:
            return _solution(programme, a, g, violation, "converged", budget, {"gram": "not needed"})
    few = K.n <= ALONE
    with _threads.one_thread() if few else _threads.waiting_threads(), _threads.ALONE if few else threads_for(K.n):
        store, stored = _store(K, _is_fine(K, tol, programme), memory)
        g = programme.ridge * a - programme.target
        store.add(np.arange(K.n), a, g)
        search = Search(store, programme, a, g, tol, budget, callback, _whole(K, store, memory), total)
        way = search if total is None else Tube(search, total)
        status, violation, refined = _refine(K, way, search, exact)
    programme = search.programme
    if bound is not None:  # the certificate is that of the problem that was given
        programme = given if nu is None else given.with_tube(programme.epsilon[0])
        violation = max(violation, programme.violation(*programme.slopes(a, g)))
    if status == "converged" and violation > tol:
        status = budget.spent() or "stalled"
    info = {"gram": stored, "refinements": refined, "bound": bound}
    return _solution(programme, a, g, violation, status, budget, info, nu)


def _refine(K, way, search, exact):
    """(status, violation, how often) of searches, each from a gradient computed afresh in float64."""
    a, g, programme, status, refined = search.a, search.g, search.programme, way.run(), 0
    while True:
        a[:] = programme.balanced(a)  # Σα = 0 but for rounding: the gap is a certificate of a feasible point only
        if exact:
            Ka = K.exact_product(a[:, None])[:, 0] if search.store.dtype != np.float64 else search.store.product(a)
            g[:] = Ka + programme.ridge * a - programme.target
        violation = way.violation()
        if violation <= search.tol:
            return "converged", violation, refined
        if status != "converged" or refined == REFINE or search.budget.spent():
            return status, violation, refined
        refined += 1
        status = way.run()


def _solution(programme, a, g, violation, status, budget, info, nu=None):
    """b, both objectives and the gap of α, from its gradient."""
    b = programme.bias(a, g)
    primal, objective, gap = programme.values(a, g, b)
    epsilon = None if nu is None else float(programme.epsilon[0])
    info = {"refinements": 0, "bound": None, **info, "rounds": budget.rounds,
            "newton_steps": budget.newtons, "interior_steps": budget.interior,
            "jitter": budget.jitter,
            "product": g + programme.target - programme.ridge * a}  # fmt: skip
    return DualSolution(a, b, gap, violation, primal, objective, epsilon, budget.steps, status, info)


def _total(programme, nu):
    """ν Σu; refuse what ν cannot be, and a programme that has no ε to be found."""
    if not 0.0 < nu <= 1.0:
        raise ValueError(f"nu must be above 0 and at most 1, got {nu}.")
    if programme.epsilon.any() or programme.ridge.any() or (programme.upper != -programme.lower).any():
        raise ValueError("nu needs a dual with |α| <= box, without an epsilon of its own and without a ridge.")
    return nu * float(programme.upper.sum())


def hold(K, tol=1e-3, memory=None):
    """K evaluated and stored once, for several calls of `solve`; K itself where it does not fit."""
    fine = _is_fine(K, tol)
    dtype = _dtype(K.n, fine, memory)
    if dtype is None or K.matrix is not None or (_is_quick(K, fine) and K.n > PAYS):
        return K
    return DenseGram.from_matrix(dense(K, dtype), K)


def _whole(K, store, memory):
    """A function that returns K in float64, for an interior-point method; None where it would not fit."""
    if K.n > INSIDE or (
        K.n > StorageOptions.float64_up_to and 24.0 * K.n**2 > StorageOptions.dual_share * within(memory).bytes
    ):
        return None
    return (lambda: store.M) if store.dtype == np.float64 else K.dense


def _is_fine(K, tol, programme=None):
    """Whether float32 is not enough for K: a fine tolerance, or coefficients that make a rounding larger than it.

    The gradient is a sum of n terms αⱼ k(xᵢ, xⱼ), each rounded: an error of about √n max|α| max k(x, x) · 6e-8.
    """
    if tol < StorageOptions.float64_below or programme is None:
        return tol < StorageOptions.float64_below
    box = np.maximum(programme.upper, -programme.lower)
    largest = float(np.max(box[np.isfinite(box)], initial=0.0)) * float(np.max(K.diag()))
    return np.sqrt(K.n) * largest * np.finfo(np.float32).eps / 2.0 > tol


def _store(K, fine, memory):
    """(rows of K, words about them): stored as the tolerance asks, or a cache where that does not fit."""
    n = K.n
    if K.matrix is not None and K.matrix.flags.c_contiguous and K.matrix.flags.writeable:
        return Stored(K.matrix), f"{K.matrix.dtype.name}, stored before"
    dtype = _dtype(n, fine, memory)
    if _is_quick(K, fine):
        return Evaluated(K, dtype is not None), "float32, evaluated when needed"
    if dtype is not None:
        M = dense(K, dtype)
        return Stored(M), f"{M.dtype.name}, stored, {gigabytes(M.nbytes)}"
    room = StorageOptions.dual_share * within(memory).bytes
    capacity = int(min(n, max((room - 4.0 * BLOCK[1] ** 2) / (4.0 * n), 64)))
    return Cached(K, capacity), f"float32, {capacity} of {n} rows cached"


def _is_quick(K, fine):
    """Whether the values of K are faster to compute than to store and read."""
    return K.quick and K.n > QUICK and not fine and _native.COMPILED


def _dtype(n, fine, memory):
    """The precision of a stored K: float64 for few rows or where it must be fine, else float32; None if too large."""
    free = within(memory).bytes if 8.0 * n * n > 2**25 or memory is not None else None
    room = np.inf if free is None else StorageOptions.dual_share * free
    for dtype, wanted in ((np.float64, fine or n <= StorageOptions.float64_up_to), (np.float32, True)):
        if wanted and float(np.dtype(dtype).itemsize) * (n * n + min(n, BLOCK[1]) ** 2) <= room:
            return dtype
    return None
