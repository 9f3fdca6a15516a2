"""The plan of a fit on landmarks: how many fit in memory and time, and when they are better than the exact fit."""

import math

from mercer import _machine
from mercer._clock import duration, latest
from mercer.exceptions import NotEnoughMemory
from mercer.solvers.plan import CAUTION, HEADROOM, cores_for
from mercer.solvers.plan_class import Plan

LEAST = 10_000  # rows below which nobody asks, unless the exact fit takes longer than it may
FIRST = 256  # landmarks of the first stage
FEWEST = 64  # landmarks, where time or memory is so short
LARGEST = 8192  # beyond, m³ is as much as the passes
PATIENCE = 600.0  # seconds that an exact fit may be predicted to take without a time budget
AUTO = 300.0  # seconds that landmarks may take without a time budget
LEAVES, LEAF = 256, 2048  # of a pass: see `mercer.sources.passes`
CANDIDATES = 10  # for each landmark
PASSES = 40  # products with all of K that a solution takes after landmarks
BEFOREHAND = 1024  # landmarks that "auto" solves for before all rows
JUDGED, CERTIFYING = 4096, 512  # rows that leave-one-out is asked of, and that a certificate is made at


def plan_landmarks(
    n, d=None, m="auto", *, memory=None, time_budget=None, targets=1, factors=0, why="", elsewhere=None, solve=False,
):  # fmt: skip
    """`Plan` of a fit on m landmarks, or ("auto") on as many as fit in memory and time.

    Parameters
    ----------
    n : int
        Rows.
    d : int, default=None
        Columns.
    m : int or "auto"
    memory, time_budget : float, default=None
        Bytes and seconds.
    targets : int, default=1
    factors : int, default=0
        Length scales that are tried on all rows with 512 landmarks.
    why : str
        Why not exactly.
    elsewhere : Memory, default=None
        Where the tasks of a pass run elsewhere: what each of them has.
    solve : bool, default=False
        Whether all rows are solved for afterwards.
    """
    budget = AUTO if time_budget is None else time_budget
    reasons = [why] if why else []
    if m == "auto":
        free = _machine.within(memory, float("inf"))
        room = math.inf if free.bytes is None else HEADROOM * free.bytes
        m = FIRST
        while m > FEWEST and (
            _bytes(n, d, m, targets) > room
            or (time_budget is not None and _plan(n, d, m, targets, factors, free, ()).seconds > budget / 2)
        ):
            m //= 2
        there = math.inf if elsewhere is None else HEADROOM * elsewhere.bytes
        while 2 * m <= min(n, LARGEST) and _bytes(n, d, 2 * m, targets) <= room:
            if _task_bytes(n, d, 2 * m, targets) > there:
                break
            more = _plan(n, d, 2 * m, targets, factors, free, ())
            if more.seconds * 4 / 3 > budget:  # the stages before it take a third of it
                break
            m *= 2
        m = min(m, n)
        reasons.append(f"Up to {m} landmarks: they double until the leave-one-out error no longer falls.")
    else:
        m = min(int(m), n)
        free = _machine.within(memory, _bytes(n, d, m, targets))
        reasons.append(f"{m} landmarks stand for {n} rows.")
    need = _bytes(n, d, m, targets)
    _machine.refuse_beyond(free, need, f"a fit on {m} landmarks", "fewer landmarks: approximation=Landmarks(m)")
    if elsewhere is not None:
        more = "fewer landmarks: approximation=Landmarks(m); workers with more memory, or with fewer threads"
        _machine.refuse_beyond(elsewhere, _task_bytes(n, d, m, targets), f"a task on {m} landmarks", more)
    if solve:
        reasons.append(f"They precondition a solution for all rows: some {PASSES} products of K in float32.")
    return _plan(n, d, m, targets, factors, free, tuple(reasons), PASSES if solve else 0)


def preferred(exact, n, *, memory=None, time_budget=None):
    """Why landmarks are better than the exact plan of n points, or "" where they are not."""
    late = time_budget is not None and CAUTION * exact.last > latest(time_budget)  # first asked, the machine is timed
    if n < LEAST and not late:
        return ""
    budget = PATIENCE if time_budget is None else time_budget
    if exact.available_bytes is not None and exact.memory_bytes > HEADROOM * exact.available_bytes:
        return f"The exact fit needs {_machine.gigabytes(exact.memory_bytes)}."
    if exact.seconds > budget or late:
        long, most = duration(exact.seconds), duration(budget)
        return f"The exact fit ({exact.solver!r}) is predicted to take {long}; it may take {most}."
    return ""


def affordable(n, d, *, time_budget=None, **options):
    """The `Plan` of a solution for all rows after landmarks, where it ends in time; else None."""
    try:
        plan = plan_landmarks(n, d, BEFOREHAND, time_budget=time_budget, solve=True, **options)
    except NotEnoughMemory:
        return None
    return plan if CAUTION * plan.seconds <= (AUTO if time_budget is None else time_budget) else None


def stages(m, auto):
    """[256, 512, …, m], or m alone where it was given."""
    if not auto:
        return [m]
    sizes = [FIRST * 2**k for k in range(20) if FIRST * 2**k < m]
    return [*sizes, m]


def _plan(n, d, m, targets, factors, free, reasons, passes=0):
    small = min(m, 512)
    squares = float(n) * m * m + factors * float(n) * small * small
    entries = float(n) * (3 * m + 2 * CERTIFYING) + factors * float(n) * small  # one pass for sums, two that check
    candidates = min(n, CANDIDATES * m)
    work = {"float64": 4.0 * m**3 + 4.0 * n * m * targets, "float32": float(candidates) * m * m}
    work["entries"] = entries + float(candidates) * m
    work["float64" if d is None else "float32"] += squares  # of vectors they are summed in float32
    work["float32"] += passes * float(n) * n * (d or 10)
    work["entries"] += passes * float(n) * n / 2
    need = _bytes(n, d, m, targets)
    solver = "all rows" if passes else "landmarks"
    return Plan(n, solver, "landmarks", need, cores_for(n), reasons, free.bytes, work, m)


def _bytes(n, d, m, targets):
    """The most of: sums and leaves; the solution, and rows that it is judged by; the certificate; candidates."""
    cores, width = cores_for(n), m + 1 + targets
    tasks = min(LEAVES, -(-n // LEAF))
    read = cores * 8.0 * (-(-n // tasks)) * ((d or 10) + 1)
    waiting = math.floor(math.log2(tasks + 1)) + (tasks > LEAVES / 2)  # as many sums as a number of tasks has ones
    sums = (waiting + cores) * 8.0 * width**2 + cores * (8.0 * LEAF * width + 4.0 * width**2)
    own, judged = 6 * 8.0 * m**2, 16.0 * min(n, JUDGED) * width
    proof = own / 2 + judged / 2 + cores * 8.0 * LEAF * (width + CERTIFYING)
    candidates = min(n, max(4 * m, min(n // 5, CANDIDATES * m))) * (4.0 * m + 8.0 * (d or 10)) + 2 * 8.0 * m**2
    return max(sums + read, own + judged, proof + read, candidates)


def _task_bytes(n, d, m, targets):
    """What a task on a worker holds: its sum and two that are added, a leaf, and its rows as they come and go."""
    width, rows = m + 1 + targets, -(-n // min(LEAVES, -(-n // LEAF)))
    return 4 * 8.0 * width**2 + 8.0 * LEAF * (2 * width + 1024) + 3 * 8.0 * rows * ((d or 10) + 1)
