"""The rule that chooses a solver, and that can be asked before anything is allocated."""

from dataclasses import dataclass

import numpy as np

from mercer import _machine
from mercer._threads import ONE_THREAD
from mercer._warn import warn
from mercer.exceptions import NumericalWarning
from mercer.solvers.base import Solver
from mercer.solvers.cg import CG
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.mixed import Mixed
from mercer.solvers.spectral import Spectral

SOLVERS = {"cholesky": Cholesky, "mixed": Mixed, "spectral": Spectral, "cg": CG}
SPECTRAL_UP_TO = 3000  # rows; one eigen-decomposition costs as much as 27 Cholesky factors
LONG = 3600.0  # predicted seconds of a fit above which "auto" warns
HEADROOM = 0.9  # part of the free memory that a plan may use

# Rates on which the predicted times rest, for each core: a current AVX2 core. Half or twice as fast is possible.
FLOPS = {"float64": 50e9, "float32": 100e9}  # operations per second in a factorisation
ENTRIES = {"float64": 3e8, "float32": 6e8}  # kernel entries per second, on top of 2d operations for each
BANDWIDTH = 1e10  # bytes per second that a triangular solve reads
MIXED_PRODUCTS, CG_PRODUCTS = 7, 100  # products K V that are expected


@dataclass(frozen=True, repr=False)
class Plan:
    """What a fit will do, with the reasons: solver, Gram, memory and time.

    Attributes
    ----------
    n : int
        Rows, after equal rows are merged.
    solver : str
        "cholesky", "mixed", "spectral", "cg", or the class name of another solver.
    gram : str
        "dense": K is stored; "tiled": it is evaluated where it is needed.
    memory_bytes : float
        Predicted peak of the solver, and of K where it is stored.
    available_bytes : int or None
        What is there; None where it is not known, or not asked because a fit needs so little.
    seconds : float
        Predicted time, rough: from the count of operations and the rates stated in `mercer.solvers.auto`.
    reasons : tuple of str
        One sentence each.

    Examples
    --------
    >>> import mercer
    >>> plan = mercer.plan(n=2000, d=5)
    >>> plan.n, plan.solver in ("cholesky", "mixed")
    (2000, True)
    """

    n: int
    solver: str
    gram: str
    memory_bytes: float
    available_bytes: int | None
    seconds: float
    reasons: tuple

    def __str__(self):
        free = "unknown" if self.available_bytes is None else _machine.gigabytes(self.available_bytes)
        lines = [
            f"n = {self.n}: solver {self.solver!r} on a {self.gram} Gram matrix",
            f"memory  {_machine.gigabytes(self.memory_bytes)} of {free}",
            f"time    about {_duration(self.seconds)}",
            *(f"- {reason}" for reason in self.reasons),
        ]
        return "\n".join(lines)

    def __repr__(self):
        memory, seconds = _machine.gigabytes(self.memory_bytes), _duration(self.seconds)
        return f"Plan(n={self.n}, solver={self.solver!r}, gram={self.gram!r}, memory={memory}, time={seconds})"


def plan(n, d=None, *, dtype=np.float64, path=False, inverse=False, memory=None, targets=1):
    """The solver for n rows: the fastest that fits in memory, with the reasons.

    The rule: for every λ at once (``path``) one eigen-decomposition up to n = 3000. Else a float64 Cholesky factor, or,
    where it is predicted to be faster and only K̃⁻¹y is wanted, a float32 factor refined in float64. Else, when the
    float64 factor does not fit in memory, the float32 one; and when that does not fit, conjugate gradients.

    Parameters
    ----------
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

    Returns
    -------
    Plan

    Examples
    --------
    >>> from mercer.solvers.auto import plan
    >>> plan(500, 3).solver
    'cholesky'
    >>> plan(500, 3, path=True).solver
    'spectral'
    >>> print(plan(100_000, 10, memory=2e9))
    n = 100000: solver 'cg' on a tiled Gram matrix
    memory  ... of ... GB
    time    about ...
    - ...
    """
    context = {"d": d, "dtype": np.dtype(dtype), "targets": targets}
    return _fastest(_check(n), _machine.within(memory), path, inverse, context)


def _fastest(n, free, path, inverse, context):
    """The Plan of the fastest solver that fits in what is free."""
    targets = context["targets"]
    room = np.inf if free.bytes is None else HEADROOM * free.bytes

    def fits(name):
        return SOLVERS[name]().memory(n, targets) <= room

    unknown = free.bytes is None and free is not _machine.NOT_ASKED
    reasons = ["The free memory is not known: it is taken to suffice."] if unknown else []
    if path and n <= SPECTRAL_UP_TO and fits("spectral"):
        name = "spectral"
        reasons.append("All λ are wanted: one eigen-decomposition serves them all.")
    elif fits("cholesky"):
        name, why = _direct(n, context, path or inverse)
        reasons.append(why)
    else:
        need = _machine.gigabytes(Cholesky().memory(n, targets))
        reasons.append(f"A float64 factor needs {need}; {_machine.gigabytes(room)} may be used ({free.source}).")
        name = "mixed" if fits("mixed") else "cg"
        reasons.append(_second_best(name, n, targets))
    return _plan(name, SOLVERS[name](), n, free, path, context, reasons)


def choose(solver, n, d=None, *, dtype=np.float64, path=False, inverse=False, memory=None, targets=1):
    """(solver, plan) for "auto", the name of a solver, or a Solver; refused here if it does not fit in memory.

    Parameters
    ----------
    solver : {"auto", "cholesky", "mixed", "spectral", "cg"} or Solver
    n, d, dtype, path, inverse, memory, targets
        As for `plan`.

    Returns
    -------
    Solver
    Plan

    Raises
    ------
    NotEnoughMemory
        Before anything is allocated, with the alternatives.

    Examples
    --------
    >>> from mercer.solvers.auto import choose
    >>> choose("cholesky", 1000)
    (Cholesky(), Plan(n=1000, solver='cholesky', gram='tiled', memory=..., time=...))
    """
    n, context = _check(n), {"d": d, "dtype": np.dtype(dtype), "targets": targets}
    if isinstance(solver, str) and solver == "auto":
        free = _machine.within(memory, _need(Spectral() if path else Cholesky(), n, targets, path))
        chosen = _fastest(n, free, path, inverse, context)
        _refuse_if_too_large(SOLVERS[chosen.solver](), chosen, targets, free)
        if chosen.seconds > LONG:
            warn(
                f"this fit is predicted to take {_duration(chosen.seconds)} (n = {chosen.n}, {chosen.solver!r}). "
                "Use fewer rows, more memory (a factor is faster than conjugate gradients), or name a solver to go on "
                "without this warning.",
                NumericalWarning,
            )
        return SOLVERS[chosen.solver](), chosen
    if isinstance(solver, str):
        if solver not in SOLVERS:
            raise ValueError(f"solver must be 'auto', {', '.join(map(repr, SOLVERS))} or a Solver, got {solver!r}.")
        solver = SOLVERS[solver]()
    if not isinstance(solver, Solver):
        raise ValueError(f"solver must be 'auto', the name of a solver or a Solver, got {solver!r}.")
    free = _machine.within(memory, _need(solver, n, targets, path))
    name = next((name for name, cls in SOLVERS.items() if type(solver) is cls), type(solver).__name__)
    chosen = _plan(name, solver, n, free, path, context, [f"{solver!r} was asked for."])
    _refuse_if_too_large(solver, chosen, targets, free)
    return solver, chosen


def predicted_seconds(name, n, d=None, dtype=np.float64, targets=1):
    """Seconds for one λ: evaluation of K, factorisation, solves; rough."""
    cores, dtype = 1 if n <= ONE_THREAD else _machine.cores(), np.dtype(dtype).name
    flops, single = (cores * FLOPS[kind] for kind in ("float64", "float32"))

    def evaluate(kind):
        return n * n / 2 * (1 / (cores * ENTRIES[kind]) + 2 * (d or 10) / (cores * FLOPS[kind]))

    product = evaluate(dtype) + 2.0 * n * n * targets / flops
    factor, solve = n**3 / 3, 8.0 * n * n / BANDWIDTH + 4.0 * n * n * targets / flops
    if name == "spectral":
        return evaluate(dtype) + 9.0 * n**3 / flops + solve
    if name == "mixed":
        return evaluate("float32") + factor / single + MIXED_PRODUCTS * (product + solve / 2)
    if name == "cg":
        return 100.0 * n * n / flops + CG_PRODUCTS * product
    return evaluate(dtype) + factor / flops + solve


# ---------------------------------------------------------------------------------------- pieces of the rule
def _direct(n, context, whole):
    """The faster of the two factors that fit, and why."""
    if whole:
        return "cholesky", "More than K̃⁻¹y is wanted from the inverse: a float64 factor gives all of it."
    if context["d"] is None:
        return "cholesky", "The inputs are not vectors: K is evaluated once, and factored in float64."
    full, half = (predicted_seconds(name, n, **context) for name in ("cholesky", "mixed"))
    if half > 0.95 * full:
        return "cholesky", "A float64 factor is fast at this size, and exact."
    return "mixed", f"A float32 factor refined in float64 is predicted to take {half / full:.0%} of the time."


def _second_best(name, n, targets):
    """Why not the float64 factor's place but this."""
    if name == "mixed":
        return "A float32 factor fits, and is refined to float64 accuracy."
    need = _machine.gigabytes(Mixed().memory(n, targets))
    return (
        f"A float32 factor needs {need}. Conjugate gradients store no n × n array; the predicted time is that of "
        f"{CG_PRODUCTS} products K V."
    )


def _plan(name, solver, n, free, path, context, reasons):
    """The Plan of a solver: whether K is stored, the memory, the time."""
    need = solver.memory(n, context["targets"])
    room = np.inf if free.bytes is None else HEADROOM * free.bytes
    both = _need(solver, n, context["targets"], path)
    gram = "dense" if path and both <= room else "tiled"
    need = both if gram == "dense" else need
    seconds = predicted_seconds(name, n, **context)
    return Plan(n, name, gram, need, free.bytes, seconds, tuple(reasons))


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


def _check(n):
    """N as a positive whole number."""
    if int(n) != n or n < 1:
        raise ValueError(f"n must be a positive whole number, got {n!r}.")
    return int(n)


def _duration(seconds):
    """Seconds as a person reads them."""
    if seconds < 1:
        return f"{max(seconds, 1e-3) * 1e3:.0f} ms"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
