"""The plan: every rule about Gram, solver, memory, threads and time, asked before anything is allocated."""

from dataclasses import replace

import numpy as np

from mercer import _machine, _threads
from mercer._clock import duration, refuse_late
from mercer._warn import warn
from mercer.exceptions import NumericalWarning
from mercer.solvers.base import Solver
from mercer.solvers.cg import CG
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.mixed import Mixed
from mercer.solvers.plan_class import Plan
from mercer.solvers.spectral import Spectral
from mercer.solvers.speed import rates

SOLVERS = {"cholesky": Cholesky, "mixed": Mixed, "spectral": Spectral, "cg": CG}
SPECTRAL_UP_TO = 3000  # rows; one eigen-decomposition costs as much as 27 Cholesky factors
MIXED_FROM = 1000  # rows from which a float32 factor can be worth its refinement
LONG = 3600.0  # predicted seconds of a fit above which "auto" warns
DECOMPOSED = 6  # n × n arrays of float64 that a search of λ alone has at its peak, by eigenvectors
EVALUATIONS, GRADIENT = 40, 3.0  # of a search on all rows, about; and what one costs in factorisations
HEADROOM = 0.9  # part of the free memory that a plan may use
MIXED_PRODUCTS, CG_PRODUCTS = 7, 100  # products K V that are expected
QR = 45.0  # times n m²: with pivoting, and Q; half of it runs at the speed of memory
CAUTION = 1.6  # times what was predicted: what is kept for a last fit, or asked of one beside an approximation


# ---------------------------------------------------------------------------------------- K + λI once, or in a search
def choose(
    solver, n, d=None, *, dtype=np.float64, path=False, inverse=False, memory=None, targets=1, search=None,
    arrays=2, lam_alone=False, binding=True, time_budget=None,
):  # fmt: skip
    """(solver, plan) for K + λI: the fastest solver that fits in memory, or the one asked for; refused if it does not.

    The rule: for every λ at once (``path``) one eigen-decomposition up to n = 3000. Else a float64 Cholesky factor, or,
    where it is predicted to be faster and only K̃⁻¹y is wanted, a float32 factor refined in float64. Else, when the
    float64 factor does not fit in memory, the float32 one; and when that does not fit, conjugate gradients.

    Parameters
    ----------
    solver : {"auto", "cholesky", "mixed", "spectral", "cg"} or Solver
    n : int
        Rows, after equal rows are merged.
    d : int, default=None
        Columns; None for inputs that are not vectors, whose kernel may be expensive to evaluate twice.
    dtype : {float64, float32}
        Precision of the data, and so of the evaluation of the kernel.
    path : bool, default=False
        Whether all λ are wanted.
    inverse : bool, default=False
        Whether the diagonal of the inverse or the log-determinant is wanted (leave-one-out, evidence, variances).
    memory : float, default=None
        Bytes that may be used; None is what the machine has.
    targets : int, default=1
        Columns of y.
    search : int, default=None
        Rows of a search of hyper-parameters that comes first.
    arrays : int, default=2
        Arrays of n × n in float64 that it has at its peak.
    lam_alone : bool, default=False
        Whether only λ is searched: up to 3000 rows by an eigen-decomposition, which needs six.
    binding : bool, default=True
        Whether a fit follows: what does not fit is refused then, and a long time warned of. Else it is only asked.
    time_budget : float, default=None
        Seconds that the fit may take: one that is predicted to take longer, without its search, is refused.

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
    >>> from mercer.solvers.plan import choose
    >>> choose("auto", 500, 3)[1].solver, choose("auto", 500, 3, path=True)[1].solver
    ('cholesky', 'spectral')
    >>> print(choose("auto", 100_000, 10, memory=2e9, binding=False)[1])
    n = 100000: solver 'cg' on a tiled Gram matrix
    memory  ... of ... GB
    time    about ...
    - ...
    """
    n, made = whole_number(n), as_solver(solver)
    need = _need(made or (Spectral() if path else Cholesky()), n, targets, path)
    searched = _searched(search, arrays, lam_alone)
    free = _machine.within(memory, max(need, searched))
    if search is not None and binding:
        what = f"a search of hyper-parameters for n = {search}"
        _machine.refuse_beyond(free, searched, what, "fewer rows, or criterion=None")
    automatic = made is None
    if automatic:
        name, reasons = _fastest(n, d, dtype, free, path, inverse, targets)
        made = SOLVERS[name]()
    else:
        name = next((name for name, cls in SOLVERS.items() if type(made) is cls), type(made).__name__)
        reasons = [f"{made!r} was asked for."]
    plan = _system(name, made, n, d, dtype, free, path, targets, search, reasons)
    if searched > plan.memory_bytes:
        plan = replace(plan, memory_bytes=searched)
    if binding:
        _refuse_if_too_large(made, plan, targets, free)
    if binding and time_budget is not None:
        refuse_late(
            plan.last, time_budget, f"solver {name!r} with n = {n}", "fewer rows, landmarks (approximation='auto')"
        )
    if binding and automatic and n > MIXED_FROM and plan.seconds > LONG:
        warn(
            f"this fit is predicted to take {duration(plan.seconds)} (n = {n}, {name!r}). Use fewer rows, more memory "
            "(a factor is faster than conjugate gradients), or name a solver to go on without this warning.",
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


def _fastest(n, d, dtype, free, path, inverse, targets):
    """(name, reasons) of the fastest solver that fits in what is free."""
    room = np.inf if free.bytes is None else HEADROOM * free.bytes

    def fits(name):
        return SOLVERS[name]().memory(n, targets) <= room

    unknown = free.bytes is None and free is not _machine.NOT_ASKED
    reasons = ["The free memory is not known: it is taken to suffice."] if unknown else []
    if path and n <= SPECTRAL_UP_TO and fits("spectral"):
        return "spectral", [*reasons, "All λ are wanted: one eigen-decomposition serves them all."]
    if fits("cholesky"):
        name, why = _direct(n, d, dtype, targets, path or inverse)
        return name, [*reasons, why]
    need = _machine.gigabytes(Cholesky().memory(n, targets))
    reasons.append(f"A float64 factor needs {need}; {_machine.gigabytes(room)} may be used ({free.source}).")
    name = "mixed" if fits("mixed") else "cg"
    return name, [*reasons, _second_best(name, n, targets)]


def _direct(n, d, dtype, targets, whole):
    """The faster of the two factors that fit, and why."""
    if whole:
        return "cholesky", "More than K̃⁻¹y is wanted from the inverse: a float64 factor gives all of it."
    if d is None:
        return "cholesky", "The inputs are not vectors: K is evaluated once, and factored in float64."
    if n >= MIXED_FROM:
        full, half = (_seconds(operations(name, n, d, dtype, targets)) for name in ("cholesky", "mixed"))
        if half <= 0.95 * full:
            return "mixed", f"A float32 factor refined in float64 is predicted to take {half / full:.0%} of the time."
    return "cholesky", "A float64 factor is fast at this size, and exact."


def _second_best(name, n, targets):
    """Why not the float64 factor but this."""
    if name == "mixed":
        return "A float32 factor fits, and is refined to float64 accuracy."
    need = _machine.gigabytes(Mixed().memory(n, targets))
    return (
        f"A float32 factor needs {need}. Conjugate gradients store no n × n array; the predicted time is that of "
        f"{CG_PRODUCTS} products K V."
    )


def _system(name, solver, n, d, dtype, free, path, targets, search, reasons):
    """The Plan of a solver: whether K is stored, the memory, the work."""
    room = np.inf if free.bytes is None else HEADROOM * free.bytes
    both = _need(solver, n, targets, path)
    gram = "dense" if path and both <= room else "tiled"
    need = both if gram == "dense" else solver.memory(n, targets)
    work, searching = operations(name, n, d, dtype, targets), {}
    if search is not None:
        one = operations("cholesky", search, d, np.float64, targets)
        searching = {kind: EVALUATIONS * GRADIENT * count for kind, count in one.items()}
    return planned(n, name, gram, need, free, reasons, work, searching)


def _searched(search, arrays, lam_alone):
    """Bytes of a search of so many rows."""
    if search is None:
        return 0.0
    return (DECOMPOSED if lam_alone and search <= SPECTRAL_UP_TO else arrays) * 8.0 * search**2


def operations(name, n, d=None, dtype=np.float64, targets=1):
    """{"float64": …, "float32": …, "entries": …} of one λ: evaluation of K, factorisation, solves."""
    half, own = n * n / 2, np.dtype(dtype).name
    product = 2.0 * n * n * targets + 2.0 * (d or 10) * half
    solve = 4.0 * n * n * targets
    if name == "spectral":
        return {"float64": 7.0 * n**3 + 2.0 * (d or 10) * half + solve, "entries": half}
    if name == "mixed":
        work = {"float32": n**3 / 3 + solve * MIXED_PRODUCTS, "entries": half * (0.5 + MIXED_PRODUCTS)}
        return work | {own: work.get(own, 0.0) + MIXED_PRODUCTS * product}
    if name == "cg":
        return {own: 100.0 * n * n + CG_PRODUCTS * product, "entries": CG_PRODUCTS * half}
    return {"float64": n**3 / 3 + 2.0 * (d or 10) * half + solve, "entries": half}


# ---------------------------------------------------------------------------------------- other ways
def plan_arrays(
    name, n, arrays, d=None, *, memory=None, reason="", what=None, instead="fewer rows", binding=True, operations=None,
    searches=False, time_budget=None,
):  # fmt: skip
    """The plan of a method that needs so many n × n arrays of float64; refused, if ``binding``, where they do not fit.

    ``operations`` are those of the fit, n³/3 unless told; a search before it has as many for each evaluation. A fit
    that is predicted to take longer than ``time_budget`` is refused, too.
    """
    n, need = whole_number(n), arrays * 8.0 * float(n) ** 2
    free = _machine.within(memory, need)
    if binding:
        _machine.refuse_beyond(free, need, what or f"{name} for n = {n}", instead)
    work = {"float64": n**3 / 3 if operations is None else operations, "entries": n * n / 2}
    searching = {kind: EVALUATIONS * count for kind, count in work.items()} if searches else {}
    plan = planned(n, name, "dense", need, free, [reason] if reason else [], work, searching)
    if binding and time_budget is not None:  # a prediction measures the machine first
        refuse_late(plan.last, time_budget, what or f"{name} for n = {n}", instead)
    return plan


def plan_features(n, m, memory=None, time_budget=None, binding=True):
    """The plan of least squares on m explicit features, by QR: five arrays n × m; refused, if ``binding``, beyond."""
    n = whole_number(n)
    reason = f"{m} features are explicit: no n × n array is needed."
    work = {"float64": QR * float(n) * m * m}
    need, what = 40.0 * n * m, f"least squares of {n} rows on {m} features"
    free = _machine.within(memory, need)
    plan = planned(n, "qr", "features", need, free, [reason], work)
    if binding:
        _machine.refuse_beyond(free, need, what, "fewer features or rows")
        refuse_late(plan.last, time_budget, what, "fewer features or rows")
    return plan


# ---------------------------------------------------------------------------------------- pieces
def cores_for(n):
    """Cores that work on n rows is shared by."""
    return 1 if n <= _threads.ONE_THREAD else _machine.cores()


def planned(n, name, gram, need, free, reasons, work, searching=None):
    """Build the `Plan`."""
    return Plan(n, name, gram, need, cores_for(n), tuple(reasons), free.bytes, work, searching=searching or {})


def _seconds(work, cores=1):
    speed = rates()
    return sum(count / (cores * getattr(speed, kind)) for kind, count in work.items())


def _need(solver, n, targets, path):
    """Bytes of a solver, and of K where all λ are wanted from it."""
    return solver.memory(n, targets) + (8.0 * n * n if path else 0.0)


def _refuse_if_too_large(solver, chosen, targets, free):
    """NotEnoughMemory with what would fit instead."""
    n, needed = chosen.n, solver.memory(chosen.n, targets)
    if free.bytes is None or needed <= free.bytes:
        return  # before the others are asked, which takes longer than a small fit
    others = [
        f"solver={name!r} ({_machine.gigabytes(cls().memory(n, targets))})"
        for name, cls in SOLVERS.items()
        if cls().memory(n, targets) < needed
    ]
    what = f"solver {chosen.solver!r} with n = {n}"
    _machine.refuse_beyond(free, needed, what, ", ".join([*others, "fewer rows"]))


def whole_number(n):
    """N as a positive whole number."""
    if int(n) != n or n < 1:
        raise ValueError(f"n must be a positive whole number, got {n!r}.")
    return int(n)
