"""Plans of fits that are not exact, and when "auto" takes them: landmarks, neighbours, Fourier features, iterations."""

import math
from dataclasses import replace

from mercer import _machine
from mercer._clock import duration, latest
from mercer.exceptions import NotEnoughMemory
from mercer.solvers.cg import CG
from mercer.solvers.plan_class import CostOptions, LandmarkSizeOptions, PlanOptions, StorageOptions

PASSES = 40  # products with all of K that a solution takes after landmarks
SUBSET = 1000  # rows that a search by neighbours begins with, exactly
FEATURES = 30_000  # that a plan counts before length scales are known


def why_approximate(exact, sizes):
    """Why the exact plan is not made, or "" where it is."""
    steer, budget = sizes.options[PlanOptions], sizes.time_budget
    late = budget is not None and steer.caution * exact.last > latest(budget)  # first asked, the machine is timed
    if sizes.n < steer.exact_below and not late:
        return ""
    budget = steer.exact_seconds if budget is None else budget
    if exact.available_bytes is not None and exact.memory_bytes > steer.headroom * exact.available_bytes:
        return f"The exact fit needs {_machine.gigabytes(exact.memory_bytes)}."
    if exact.seconds > budget or late:
        long, most = duration(exact.seconds), duration(budget)
        return f"The exact fit ({exact.solver!r}) is predicted to take {long}; it may take {most}."
    return ""


# ------------------------------------------------------------------------------------------------ landmarks
def plan_landmarks(sizes, m="auto", *, factors=0, why="", elsewhere=None, solve=False):
    """`Plan` of a fit on m landmarks, or ("auto") on as many as fit in memory and time.

    Parameters
    ----------
    sizes : Sizes
    m : int or "auto"
    factors : int, default=0
        Length scales that are tried on all rows with 512 landmarks.
    why : str
        Why not exactly.
    elsewhere : Memory, default=None
        Where the tasks of a pass run elsewhere: what each of them has.
    solve : bool, default=False
        Whether all rows are solved for afterwards.
    """
    reasons, n = [why] if why else [], sizes.n
    if m == "auto":
        free = _machine.within(sizes.memory, float("inf"))
        m = min(_most_landmarks(sizes, factors, free, elsewhere), n)
        reasons.append(f"Up to {m} landmarks: they double until the leave-one-out error no longer falls.")
    else:
        m = min(int(m), n)
        free = _machine.within(sizes.memory, _bytes(sizes, m))
        reasons.append(f"{m} landmarks stand for {n} rows.")
    _machine.refuse_beyond(
        free, _bytes(sizes, m), f"a fit on {m} landmarks", "fewer landmarks: approximation=Landmarks(m)"
    )
    if elsewhere is not None:
        more = "fewer landmarks: approximation=Landmarks(m); workers with more memory, or with fewer threads"
        _machine.refuse_beyond(elsewhere, _task_bytes(sizes, m), f"a task on {m} landmarks", more)
    if solve:
        reasons.append(f"They precondition a solution for all rows: some {PASSES} products of K in float32.")
    return _on_landmarks(sizes, m, factors, free, reasons, PASSES if solve else 0)


def _most_landmarks(sizes, factors, free, elsewhere):
    """How many landmarks fit in memory and time, here and where the tasks run."""
    few, steer = sizes.options[LandmarkSizeOptions], sizes.options[PlanOptions]
    budget = steer.landmark_seconds if sizes.time_budget is None else sizes.time_budget
    room, there = sizes.room(free), math.inf if elsewhere is None else steer.headroom * elsewhere.bytes

    def seconds(m):
        return _on_landmarks(sizes, m, factors, free, ()).seconds

    m = few.first
    while m > few.fewest and (_bytes(sizes, m) > room or (sizes.time_budget is not None and seconds(m) > budget / 2)):
        m //= 2
    while 2 * m <= min(sizes.n, few.largest) and _bytes(sizes, 2 * m) <= room:
        # the stages before the last one take a third of its time
        if _task_bytes(sizes, 2 * m) > there or seconds(2 * m) * 4 / 3 > budget:
            break
        m *= 2
    return m


def affordable(sizes, **options):
    """The `Plan` of a solution for all rows after landmarks, where it ends in time; else None."""
    steer = sizes.options[PlanOptions]
    try:
        plan = plan_landmarks(sizes, sizes.options[LandmarkSizeOptions].preconditioning, solve=True, **options)
    except NotEnoughMemory:
        return None
    budget = steer.landmark_seconds if sizes.time_budget is None else sizes.time_budget
    return plan if steer.caution * plan.seconds <= budget else None


def stages(m, auto, first=LandmarkSizeOptions.first):
    """[256, 512, …, m], or m alone where it was given."""
    if not auto:
        return [m]
    sizes = [first * 2**k for k in range(20) if first * 2**k < m]
    return [*sizes, m]


def _on_landmarks(sizes, m, factors, free, reasons, passes=0):
    """The `Plan` of m landmarks."""
    n, d, small, certifying = float(sizes.n), sizes.d, min(m, 512), 512  # columns that a certificate is made at
    squares = n * m * m + factors * n * small * small
    entries = n * (3 * m + 2 * certifying) + factors * n * small  # one pass for sums, two that check
    candidates = min(sizes.n, 10 * m)
    work = {"float64": 4.0 * m**3 + 4.0 * n * m * sizes.targets, "float32": float(candidates) * m * m}
    work["entries"] = entries + float(candidates) * m
    work["float64" if d is None else "float32"] += squares  # of vectors they are summed in float32
    work["float32"] += passes * n * n * (d or 10)
    work["entries"] += passes * n * n / 2
    solver = "all rows" if passes else "landmarks"
    plan = sizes.plan(solver, "landmarks", _bytes(sizes, m), free, reasons, work)
    return replace(plan, landmarks=m)


def _bytes(sizes, m, leaves=256, leaf=2048):
    """The most of: sums and leaves; the solution, and rows that it is judged by; the certificate; candidates."""
    n, columns, cores, width = sizes.n, sizes.d or 10, sizes.cores, m + 1 + sizes.targets
    tasks = min(leaves, -(-n // leaf))
    read = cores * 8.0 * (-(-n // tasks)) * (columns + 1)
    waiting = math.floor(math.log2(tasks + 1)) + (tasks > leaves / 2)  # as many sums as a number of tasks has ones
    sums = (waiting + cores) * 8.0 * width**2 + cores * (8.0 * leaf * width + 4.0 * width**2)
    own, judged = 6 * 8.0 * m**2, 16.0 * min(n, 4096) * width
    proof = own / 2 + judged / 2 + cores * 8.0 * leaf * (width + 512)
    candidates = min(n, max(4 * m, min(n // 5, 10 * m))) * (4.0 * m + 8.0 * columns) + 2 * 8.0 * m**2
    return max(sums + read, own + judged, proof + read, candidates)


def _task_bytes(sizes, m, leaves=256, leaf=2048):
    """What a task on a worker holds: its sum and two that are added, a leaf, and its rows as they come and go."""
    width, rows = m + 1 + sizes.targets, -(-sizes.n // min(leaves, -(-sizes.n // leaf)))
    return 4 * 8.0 * width**2 + 8.0 * leaf * (2 * width + 1024) + 3 * 8.0 * rows * ((sizes.d or 10) + 1)


# ------------------------------------------------------------------------------------------------ neighbours
def plan_neighbours(sizes, k, *, m=0, most=0, learnt=True, why="", fourier=False):
    """`Plan` of a fit by k neighbours, or as many as ``most`` where it takes them, with m landmarks for a global part.

    With ``fourier`` the mean is a sum of features: how many there are is known when the length scales are.
    """
    n, columns, targets = sizes.n, sizes.d or 10, sizes.targets
    k, most = min(k, n), min(max(k, most), n)
    fitted = 30_000  # systems of a trend, of rows left out and of the evidence
    systems = min(fitted if not m else n + fitted, 3 * n + fitted)

    def count(systems, looked_up):
        search = 0.0 if columns <= 3 else 4.0 * columns * float(n) * looked_up
        # rows are brought together in the time of 4e5 operations; small factors are 16 times as slow as large ones
        flops = systems * (4e5 + 16.0 * k**3 / 3 + k * k * columns + 2.0 * k * m) + search
        return {"float64": flops, "entries": float(systems) * k * k}

    # a search has 60 000 systems, of batches of 7 000 rows
    work, searching = count(systems, fitted), count(60_000, 7_000) if learnt else {}
    work["float64"] += float(n) * m * m
    if learnt:
        searching["float64"] += 40.0 * SUBSET**3
    need = 8.0 * n * (4 * columns + 2 * targets + 3 + m + 1) + 6 * 8.0 * min(n, fitted) * (k + 1)  # who is near whom
    if fourier:
        product = 4e7 * 200  # of some 200 steps of an iteration
        need += 8.0 * n * (columns + 6) + 64.0 * FEATURES * (3 + targets)  # angles, and what a transform copies
        work["float64"] += 25.0**columns * n + product * (1 + targets)
        searching = {**searching, "float64": searching["float64"] + product * 12 * (9 + targets)} if learnt else {}
    need += sizes.cores * 8.0 * 32 * 6 * (most + 1) * (most + 1 + m)  # systems under way
    free = _machine.within(sizes.memory, need)
    _machine.refuse_beyond(free, need, f"a fit by {k} neighbours", "fewer neighbours: approximation=Neighbours(k)")
    words = _describe_neighbours(n, k, most, fourier) + (f", beside a global part on {m} landmarks." if m else ".")
    solver, gram = ("toeplitz", "fourier") if fourier else ("neighbours", "neighbours")
    plan = sizes.plan(solver, gram, need, free, [why, words] if why else [words], work, searching)
    return replace(plan, neighbours=k)


def _describe_neighbours(n, k, most, fourier):
    """How predictions are made."""
    if fourier:
        words = "The mean is a sum of Fourier features, from a Toeplitz system whose size does not depend on the rows; "
        return words + f"variances come from its factor, or with many features from the {k} nearest of {n} rows"
    more = f", or more, up to {most}, where rows left out gain by it" if most > k else ""
    return f"Each prediction is made from the {k} nearest of {n} rows{more}"


def features_within(plan, d, columns):
    """How many features of d columns memory has room for beside what a plan counts; inf where nobody knows.

    The sums of frequencies up to 2J are made by two threads, on a grid twice as fine in each direction; they and
    products have a grid of 2J for each column, four times over.
    """
    there = _machine.available_memory().bytes if plan.available_bytes is None else plan.available_bytes
    each = 32.0 * 4**d + (64.0 * 2**d + 64.0) * (1 + columns)
    return float("inf") if there is None else FEATURES + max(there - plan.memory_bytes, 0.0) / each


def factors_steps(sizes):
    """Whether Newton's steps factor matrices: few rows, and K and a factor of the rows that are curved fit."""
    return sizes.n <= sizes.options[StorageOptions].factored_up_to and _fits(16.0 * sizes.n**2, sizes)


def plan_smooth(sizes, *, direct=None, classes=0, folds=False, left_out=False):
    """The plan of Newton's method for a smooth loss, or for the softmax of some ``classes``.

    Parameters
    ----------
    sizes : Sizes
    direct : bool, default=None
        Whether steps factor a matrix; None is as `factors_steps` says.
    classes : int, default=0
        Functions that a softmax joins.
    folds, left_out : bool, default=False
        Whether λ is chosen by folds, or by approximate leave-one-out.
    """
    n, cost, storage = sizes.n, sizes.options[CostOptions], sizes.options[StorageOptions]
    factored = factors_steps(sizes) if direct is None else direct

    def need(rows):
        if classes:
            return 8.0 * rows**2 * (classes + 3)
        return 16.0 * rows**2 if factored else 8.0 * rows**2 + CG().memory(rows)

    inverse = 16.0 * n**2 + 8.0 * n * min(n, 2048) if left_out else 0.0  # 2048 columns at once, for its diagonal
    again = 4.0 * n**2 if _fits(4.0 * n**2, sizes) else 0.0  # in float32, for the products
    few = n <= storage.factored_up_to and direct is not False
    steps = cost.newton * n**3 / 3 if few else cost.newton_by_cg * n * n
    work = {"float64": 2.0 * cost.passes * n * n + max(1, classes) ** 2 * steps}
    both = max(_with_folds(need, n, folds), inverse)
    name = "softmax" if classes else "newton"
    return _store_or_tile(name, sizes, both, again + CG().memory(n), work, storage.stored_up_to, cost.passes)


def plan_dual(sizes, *, tol=1e-3, double=False, folds=False, hard=1.0):
    """The plan of the working-set method for the dual of a loss with corners.

    Parameters
    ----------
    sizes : Sizes
    tol : float, default=1e-3
        Below 1e-5 K is kept in float64.
    double : bool, default=False
        Whether K is kept in float64 in any case.
    folds : bool, default=False
        Whether λ is chosen by folds.
    hard : float, default=1.0
        C, in units of y's spread over the amplitude of the kernel: more takes longer.
    """
    n, cost, storage = sizes.n, sizes.options[CostOptions], sizes.options[StorageOptions]
    size = 8.0 if double or n <= storage.float64_up_to or tol < storage.float64_below else 4.0
    block = 4096  # rows of the largest block that is solved at once

    def need(rows):
        return size * rows**2 + (2.0 if size == 8.0 else 4.0) * min(rows, block) ** 2

    # 40 n³ is what an interior-point method takes at most
    steps = min(cost.dual * float(n) ** 1.5 * hard**cost.dual_power, 40.0 * float(n) ** 3)
    rest = 4.0 * n**2 + 4.0 * min(n, block) ** 2  # in float32, or as many rows of it as there is room for
    free = _machine.within(sizes.memory, rest)
    rest = rest if free.bytes is None else min(rest, storage.dual_share * free.bytes)
    limit = storage.stored_up_to if double else block
    return _store_or_tile("working_set", sizes, _with_folds(need, n, folds), rest, {"float64": steps}, limit, 5.0)


def _with_folds(need, n, folds):
    """Bytes of a fit of all rows; with folds also of one on nine tenths of them beside K of all."""
    return max(need(n), 8.0 * n**2 + need(0.9 * n)) if folds else need(n)


def _fits(need, sizes):
    """Whether so many bytes may be taken."""
    room = _machine.within(sizes.memory, need).bytes
    return room is None or need <= sizes.options[StorageOptions].stored_share * room


def _store_or_tile(name, sizes, need, tiled, work, limit, passes):
    """The plan: ``need`` bytes with a K that is kept, or ``tiled`` bytes and ``passes`` over K without."""
    n, share, free = sizes.n, sizes.options[StorageOptions].stored_share, _machine.within(sizes.memory, need)
    entries = n * n / 2
    if n > limit:
        why = f"K of more than {limit} rows is evaluated where it is needed."
    elif not _fits(need, sizes):
        why = (
            f"K and what is made of it needs {_machine.gigabytes(need)}; {_machine.gigabytes(share * free.bytes)} may "
        )
        why += f"be used ({free.source})."
    else:
        why = "K is stored: it is read again and again."
        return sizes.plan(name, "dense", need, free, [why], work | {"entries": entries})
    return sizes.plan(name, "tiled", tiled, free, [why], work | {"entries": entries * passes})
