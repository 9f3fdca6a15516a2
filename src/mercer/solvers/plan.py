"""The plan: every rule about Gram, solver, memory, threads and time, asked before anything is allocated."""

from dataclasses import replace

import numpy as np

from mercer import _machine
from mercer._clock import duration, refuse_late
from mercer._warn import warn
from mercer.exceptions import NumericalWarning
from mercer.solvers.base import Solver
from mercer.solvers.cg import CG
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.mixed import Mixed
from mercer.solvers.plan_class import CostOptions, PlanOptions, rates
from mercer.solvers.spectral import Spectral

SOLVERS = {"cholesky": Cholesky, "mixed": Mixed, "spectral": Spectral, "cg": CG}


# ---------------------------------------------------------------------------------------- K + λI once, or in a search
def choose_solver(
    solver, sizes, *, dtype=np.float64, path=False, inverse=False, search=None, arrays=2, lam_alone=False
):
    """(solver, plan) for K + λI: the fastest solver that fits in memory, or the one asked for; refused if it does not.

    The rule: for every λ at once (``path``) one eigen-decomposition up to n = 3000. Else a float64 Cholesky factor, or,
    where it is predicted to be faster and only K̃⁻¹y is wanted, a float32 factor refined in float64. Else, when the
    float64 factor does not fit in memory, the float32 one; and when that does not fit, conjugate gradients.

    Parameters
    ----------
    solver : {"auto", "cholesky", "mixed", "spectral", "cg"} or Solver
    sizes : Sizes
        A fit that is predicted to take longer than its time budget, without its search, is refused.
    dtype : {float64, float32}
        Precision of the data, and so of the evaluation of the kernel.
    path : bool, default=False
        Whether all λ are wanted.
    inverse : bool, default=False
        Whether the diagonal of the inverse or the log-determinant is wanted (leave-one-out, evidence, variances).
    search : int, default=None
        Rows of a search of hyper-parameters that comes first.
    arrays : int, default=2
        Arrays of n × n in float64 that it has at its peak.
    lam_alone : bool, default=False
        Whether only λ is searched: up to 3000 rows by an eigen-decomposition, which needs six.

    Returns
    -------
    Solver
    Plan

    Raises
    ------
    NotEnoughMemory, NotEnoughTime
        Before anything is allocated, with the alternatives.

    Examples
    --------
    >>> from mercer.solvers import Sizes, choose_solver
    >>> choose_solver("auto", Sizes(500, 3))[1].solver, choose_solver("auto", Sizes(500, 3), path=True)[1].solver
    ('cholesky', 'spectral')
    >>> print(choose_solver("auto", Sizes(100_000, 10, memory=2e9, binding=False))[1])
    n = 100000: solver 'cg' on a tiled Gram matrix
    memory  ... of ... GB
    time    about ...
    - ...
    """
    made, steer = as_solver(solver), sizes.options[PlanOptions]
    need = _need(made or (Spectral() if path else Cholesky()), sizes, path)
    # a search of λ alone has six arrays at its peak, by eigenvectors
    arrays = 6 if lam_alone and search is not None and search <= steer.decomposed_up_to else arrays
    searched = 0.0 if search is None else arrays * 8.0 * search**2
    free = _machine.within(sizes.memory, max(need, searched))
    if search is not None and sizes.binding:
        what = f"a search of hyper-parameters for n = {search}"
        _machine.refuse_beyond(free, searched, what, "fewer rows, or criterion=None")
    automatic = made is None
    if automatic:
        name, reasons = _fastest(sizes, dtype, free, path, inverse)
        made = SOLVERS[name]()
    else:
        name = next((name for name, cls in SOLVERS.items() if type(made) is cls), type(made).__name__)
        reasons = [f"{made!r} was asked for."]
    plan = _system(name, made, sizes, dtype, free, path, search, reasons)
    if searched > plan.memory_bytes:
        plan = replace(plan, memory_bytes=searched)
    if sizes.binding:
        _refuse_beyond_limits(made, plan, sizes, free)
        if automatic and sizes.n > steer.mixed_from and plan.seconds > steer.warn_seconds:
            warn(
                f"this fit is predicted to take {duration(plan.seconds)} (n = {sizes.n}, {name!r}). Use fewer rows, "
                "more memory (a factor is faster than conjugate gradients), or name a solver to go on without this "
                "warning.",
                NumericalWarning,
            )
    return made, plan


def as_solver(solver):
    """A `Solver` for its name, None for "auto"."""
    if isinstance(solver, Solver):
        return solver
    if isinstance(solver, str) and solver == "auto":
        return None
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]()
    raise ValueError(f"solver must be 'auto', {', '.join(map(repr, SOLVERS))} or a Solver, got {solver!r}.")


def _fastest(sizes, dtype, free, path, inverse):
    """(name, reasons) of the fastest solver that fits in what is free."""
    n, targets, room = sizes.n, sizes.targets, sizes.room(free)

    def fits(name):
        return SOLVERS[name]().memory(n, targets) <= room

    unknown = free.bytes is None and free is not _machine.NOT_ASKED
    reasons = ["The free memory is not known: it is taken to suffice."] if unknown else []
    if path and n <= sizes.options[PlanOptions].decomposed_up_to and fits("spectral"):
        return "spectral", [*reasons, "All λ are wanted: one eigen-decomposition serves them all."]
    if fits("cholesky"):
        name, why = _direct(sizes, dtype, path or inverse)
        return name, [*reasons, why]
    need = _machine.gigabytes(Cholesky().memory(n, targets))
    reasons.append(f"A float64 factor needs {need}; {_machine.gigabytes(room)} may be used ({free.source}).")
    if fits("mixed"):
        return "mixed", [*reasons, "A float32 factor fits, and is refined to float64 accuracy."]
    need, products = _machine.gigabytes(Mixed().memory(n, targets)), sizes.options[CostOptions].cg_products
    why = f"A float32 factor needs {need}. Conjugate gradients store no n × n array; the predicted time is that of "
    return "cg", [*reasons, f"{why}{products} products K V."]


def _direct(sizes, dtype, whole):
    """The faster of the two factors that fit, and why."""
    if whole:
        return "cholesky", "More than K̃⁻¹y is wanted from the inverse: a float64 factor gives all of it."
    if sizes.d is None:
        return "cholesky", "The inputs are not vectors: K is evaluated once, and factored in float64."
    if sizes.n >= sizes.options[PlanOptions].mixed_from:
        full, half = (_predict_seconds(operations(name, sizes, dtype)) for name in ("cholesky", "mixed"))
        if half <= 0.95 * full:
            return "mixed", f"A float32 factor refined in float64 is predicted to take {half / full:.0%} of the time."
    return "cholesky", "A float64 factor is fast at this size, and exact."


def _system(name, solver, sizes, dtype, free, path, search, reasons):
    """The Plan of a solver: whether K is stored, the memory, the work."""
    both, cost = _need(solver, sizes, path), sizes.options[CostOptions]
    gram = "dense" if path and both <= sizes.room(free) else "tiled"
    need = both if gram == "dense" else solver.memory(sizes.n, sizes.targets)
    work, searching = operations(name, sizes, dtype), {}
    if search is not None:
        one = operations("cholesky", replace(sizes, n=search))
        searching = {kind: cost.evaluations * cost.gradient * count for kind, count in one.items()}
    return sizes.plan(name, gram, need, free, reasons, work, searching)


def operations(name, sizes, dtype=np.float64):
    """{"float64": …, "float32": …, "entries": …} of one λ: evaluation of K, factorisation, solves."""
    n, columns, cost = sizes.n, sizes.d or 10, sizes.options[CostOptions]
    half, own = n * n / 2, np.dtype(dtype).name
    product = 2.0 * n * n * sizes.targets + 2.0 * columns * half
    solve = 4.0 * n * n * sizes.targets
    if name == "spectral":
        return {"float64": 7.0 * n**3 + 2.0 * columns * half + solve, "entries": half}
    if name == "mixed":
        times = cost.mixed_products
        work = {"float32": n**3 / 3 + solve * times, "entries": half * (0.5 + times)}
        return work | {own: work.get(own, 0.0) + times * product}
    if name == "cg":
        return {own: 100.0 * n * n + cost.cg_products * product, "entries": cost.cg_products * half}
    return {"float64": n**3 / 3 + 2.0 * columns * half + solve, "entries": half}


# ---------------------------------------------------------------------------------------- other ways
def plan_arrays(name, sizes, arrays, *, reason="", what=None, instead="fewer rows", operations=None, searches=False):
    """The plan of a method that needs so many n × n arrays of float64; refused where they do not fit.

    ``operations`` are those of the fit, n³/3 by default; a search before it has as many for each evaluation.
    """
    n = sizes.n
    need = arrays * 8.0 * float(n) ** 2
    free = _machine.within(sizes.memory, need)
    work = {"float64": n**3 / 3 if operations is None else operations, "entries": n * n / 2}
    evaluations = sizes.options[CostOptions].evaluations
    searching = {kind: evaluations * count for kind, count in work.items()} if searches else {}
    plan = sizes.plan(name, "dense", need, free, [reason] if reason else [], work, searching)
    return sizes.check(plan, free, what or f"{name} for n = {n}", instead)


def plan_features(sizes, m):
    """The plan of least squares on m explicit features, by QR: five arrays n × m; refused where they do not fit."""
    n = sizes.n
    work = {"float64": sizes.options[CostOptions].qr * float(n) * m * m}
    free, reason = _machine.within(sizes.memory, 40.0 * n * m), f"{m} features are explicit: no n × n array is needed."
    plan = sizes.plan("qr", "features", 40.0 * n * m, free, [reason], work)
    return sizes.check(plan, free, f"least squares of {n} rows on {m} features", "fewer features or rows")


# ---------------------------------------------------------------------------------------- pieces
def _predict_seconds(work):
    """Predicted seconds on one core."""
    return sum(count / getattr(rates(), kind) for kind, count in work.items())


def _need(solver, sizes, path):
    """Bytes of a solver, and of K where all λ are wanted from it."""
    return solver.memory(sizes.n, sizes.targets) + (8.0 * sizes.n**2 if path else 0.0)


def _refuse_beyond_limits(solver, plan, sizes, free):
    """NotEnoughMemory with what would fit instead, or NotEnoughTime."""
    n, needed = sizes.n, solver.memory(sizes.n, sizes.targets)
    what = f"solver {plan.solver!r} with n = {n}"
    if free.bytes is not None and needed > free.bytes:  # asking the others takes longer than a small fit
        others = [(name, cls().memory(n, sizes.targets)) for name, cls in SOLVERS.items()]
        less = [f"solver={name!r} ({_machine.gigabytes(bytes_)})" for name, bytes_ in others if bytes_ < needed]
        _machine.refuse_beyond(free, needed, what, ", ".join([*less, "fewer rows"]))
    if sizes.time_budget is not None:
        refuse_late(plan.last, sizes.time_budget, what, "fewer rows, landmarks (approximation='auto')")
