"""The dual of every boxed loss: ½αᵀKα + Σ hᵢ(αᵢ) over a box, with or without Σα = 0, by working sets and Newton.

Rounds of block working sets (`_search`) find which rows are zero, free and bounded; Newton on the free rows
(`_active_set`) finds their values. Up to a few thousand rows a round is one call of a compiled loop on all of K. Where
C is large and rounds are slow an interior-point method takes over (`_interior`). With ν, ε is found too (`_nu`). K
is stored in float32 when the tolerance allows it and it fits, else rows are cached. At the end the gradient is computed
afresh in float64, and the search goes on from there if the violation is too large.
"""

from typing import NamedTuple

import numpy as np

from mercer import _native, _threads
from mercer._machine import gigabytes, within
from mercer._policies import OptionSet
from mercer.dual._nu import NuSearch
from mercer.dual._quadratic import QuadraticProgramme
from mercer.dual._search import DualSearch
from mercer.dual._store import Cached, Evaluated, Stored, dense
from mercer.dual.options import DualLimits, Effort, WorkingSetOptions
from mercer.gram import DenseGram
from mercer.solvers.plan_class import StorageOptions
from mercer.solvers.small import threads_for


class DualSolution(NamedTuple):
    """What `solve_dual` found.

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


def solve_dual(
    K, dual, *, intercept=False, nu=None, tol=1e-3, start=None, limits=DualLimits(), options=OptionSet()
):  # fmt: skip
    """min ½αᵀKα + Σᵢ hᵢ(αᵢ),  hᵢ(a) = −yᵢa + εᵢ|a| + ½rᵢa²,  lᵢ <= a <= uᵢ  [Σα = 0, with an intercept].

    ``dual`` has the vectors ``target`` (y), ``epsilon`` (ε >= 0), ``ridge`` (r >= 0), ``lower`` (l <= 0) and ``upper``
    (u >= 0); bounds may be infinite where r > 0. With ν in (0, 1], for l = −u, ε = 0 and r = 0, Σ|α| must not exceed
    ν Σu: the multiplier of that condition is ε, and α the solution of the dual with this ε; 0 where Σ|α| stays below.

    ``tol`` is libsvm's maximal KKT violation: the largest slope that falls minus the smallest that grows; without an
    intercept the largest slope of the wrong sign. ``start`` is α, which is moved into the box and onto Σα = 0, or
    (α, Kα) with the product in float64: if that is a solution, nothing else is evaluated. With
    `WorkingSetOptions(exact=False)` violation and gap are those of the stored K, and a second call from (α, Kα) makes
    them certain.
    """
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol}.")
    budget = Effort(limits)
    given = QuadraticProgramme.check(dual, K.diag(), bool(intercept))
    qp, bound = given.with_finite_bounds()
    total = None if nu is None else _total_weight(qp, nu)
    start, product = start if isinstance(start, tuple) else (start, None)
    a = np.zeros(K.n) if start is None else qp.feasible(start)
    if product is not None and nu is None and bound is None:
        g = product + qp.ridge * a - qp.target
        violation = qp.violation(*qp.slopes(a, g))
        if violation <= tol:
            return _solution(qp, a, g, violation, "converged", budget, {"gram": "not needed"})
    working_set = options[WorkingSetOptions]
    few = K.n <= working_set.whole
    with _threads.one_thread() if few else _threads.waiting_threads(), _threads.ALONE if few else threads_for(K.n):
        store, stored = _store(K, _is_fine(K, tol, options, qp), limits.memory, options)
        g = qp.ridge * a - qp.target
        store.add(np.arange(K.n), a, g)
        full = _in_float64(K, store, limits.memory, options)
        search = DualSearch(store, qp, a, g, tol, budget, working_set, K, full, total)
        way = search if total is None else NuSearch(search, total)
        status, violation, refined = _run_and_refine(K, way, search)
    qp = search.qp
    if bound is not None:  # the certificate is that of the problem that was given
        qp = given if nu is None else given.with_epsilon(qp.epsilon[0])
        violation = max(violation, qp.violation(*qp.slopes(a, g)))
    if status == "converged" and violation > tol:
        status = budget.spent() or "stalled"
    info = {"gram": stored, "refinements": refined, "bound": bound}
    return _solution(qp, a, g, violation, status, budget, info, nu)


def _run_and_refine(K, way, search, most=12):
    """(status, violation, how often) of searches, each from a gradient computed afresh in float64."""
    a, g, qp, status, refined = search.a, search.g, search.qp, way.run(), 0
    while True:
        a[:] = qp.balanced(a)  # Σα = 0 but for rounding: the gap is a certificate of a feasible point only
        if search.options.exact:
            Ka = K.exact_product(a[:, None])[:, 0] if search.store.dtype != np.float64 else search.store.product(a)
            g[:] = Ka + qp.ridge * a - qp.target
        violation = way.violation()
        if violation <= search.tol:
            return "converged", violation, refined
        if status != "converged" or refined == most or search.budget.spent():
            return status, violation, refined
        refined += 1
        status = way.run()


def _solution(qp, a, g, violation, status, budget, info, nu=None):
    """b, both objectives and the gap of α, from its gradient."""
    b = qp.bias(a, g)
    primal, objective, gap = qp.values(a, g, b)
    epsilon = None if nu is None else float(qp.epsilon[0])
    info = {"refinements": 0, "bound": None, **info, "rounds": budget.rounds, "newton_steps": budget.newtons,
            "interior_steps": budget.interior, "jitter": budget.jitter,
            "product": g + qp.target - qp.ridge * a}  # fmt: skip
    return DualSolution(a, b, gap, violation, primal, objective, epsilon, budget.steps, status, info)


def _total_weight(qp, nu):
    """ν Σu; refuse what ν cannot be, and a programme that has no ε to be found."""
    if not 0.0 < nu <= 1.0:
        raise ValueError(f"nu must be above 0 and at most 1, got {nu}.")
    if qp.epsilon.any() or qp.ridge.any() or (qp.upper != -qp.lower).any():
        raise ValueError("nu needs a dual with |α| <= box, without an epsilon of its own and without a ridge.")
    return nu * float(qp.upper.sum())


def hold(K, tol=1e-3, memory=None, options=OptionSet()):
    """K evaluated and stored once, for several calls of `solve_dual`; K itself where it does not fit."""
    fine = _is_fine(K, tol, options)
    dtype = _dtype(K.n, fine, memory, options)
    quicker = _is_quick(K, fine, options) and K.n > 12_000  # up to there storing K for several solutions pays
    if dtype is None or K.matrix is not None or quicker:
        return K
    return DenseGram.from_matrix(dense(K, dtype), K)


def _in_float64(K, store, memory, options):
    """A function that returns K in float64, for an interior point; None where a factor of it would not fit."""
    storage = options[StorageOptions]
    if K.n > storage.float64_up_to:
        if K.n > options[WorkingSetOptions].interior_full or 24.0 * K.n**2 > storage.dual_share * within(memory).bytes:
            return None
    return (lambda: store.whole) if store.whole is not None and store.dtype == np.float64 else K.dense


def _is_fine(K, tol, options, qp=None):
    """Whether float32 is not enough for K: a fine tolerance, or coefficients that make a rounding larger than it.

    The gradient is a sum of n terms αⱼ k(xᵢ, xⱼ), each rounded: an error of about √n max|α| max k(x, x) · 6e-8.
    """
    if tol < options[StorageOptions].float64_below or qp is None:
        return tol < options[StorageOptions].float64_below
    box = np.maximum(qp.upper, -qp.lower)
    largest = float(np.max(box[np.isfinite(box)], initial=0.0)) * float(np.max(K.diag()))
    return np.sqrt(K.n) * largest * np.finfo(np.float32).eps / 2.0 > tol


def _store(K, fine, memory, options):
    """(rows of K, words about them): stored as the tolerance asks, or a cache where that does not fit."""
    n, largest = K.n, options[WorkingSetOptions].block[1]
    if K.matrix is not None and K.matrix.flags.c_contiguous and K.matrix.flags.writeable:
        return Stored(K.matrix), f"{K.matrix.dtype.name}, stored before"
    dtype = _dtype(n, fine, memory, options)
    if _is_quick(K, fine, options):
        return Evaluated(K, dtype is not None), "float32, evaluated when needed"
    if dtype is not None:
        M = dense(K, dtype)
        return Stored(M), f"{M.dtype.name}, stored, {gigabytes(M.nbytes)}"
    room = options[StorageOptions].dual_share * within(memory).bytes
    capacity = int(min(n, max((room - 4.0 * largest**2) / (4.0 * n), 64)))
    return Cached(K, capacity), f"float32, {capacity} of {n} rows cached"


def _is_quick(K, fine, options):
    """Whether the values of K are faster to compute than to store and read."""
    return K.quick and K.n > options[WorkingSetOptions].whole and not fine and _native.COMPILED


def _dtype(n, fine, memory, options):
    """The precision of a stored K: float64 for few rows or where it must be fine, else float32; None if too large."""
    free = within(memory).bytes if 8.0 * n * n > 2**25 or memory is not None else None
    storage, block = options[StorageOptions], options[WorkingSetOptions].block[1]
    room = np.inf if free is None else storage.dual_share * free
    for dtype, wanted in ((np.float64, fine or n <= storage.float64_up_to), (np.float32, True)):
        if wanted and float(np.dtype(dtype).itemsize) * (n * n + min(n, block) ** 2) <= room:
            return dtype
    return None
