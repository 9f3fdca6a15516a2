"""The plan of a Gaussian process by neighbours: what it costs, and when it is better than landmarks."""

from mercer import _machine
from mercer.solvers.plan import cores_for
from mercer.solvers.plan_class import Plan

SMALL = 16.0  # how much slower a factor of few rows is, for each operation, than one of many
EACH = 4e5  # operations in whose time the rows of a system are brought together
LEARNT = 60_000  # systems of a search of hyper-parameters: batches times evaluations
BATCHED = 7_000  # rows of these batches
FITTED = 30_000  # of a trend, of rows left out and of the evidence
SUBSET = 1000  # rows that a search begins with, exactly
FEATURES, PRODUCT, STEPS, EVALUATIONS, PROBES = 30_000, 4e7, 200, 12, 8  # usual: operations of a product, steps, …
WINDOW = 25.0  # operations of a row in each direction of a grid
COLUMNS = 32  # up to which neighbours are near: pol has 26, and their error is that of the exact process


def plan_neighbours(n, d, k, *, m=0, most=0, memory=None, targets=1, learnt=True, why="", fourier=False):
    """`Plan` of a fit by k neighbours, or as many as ``most`` where it takes them, with m landmarks for a global part.

    With ``fourier`` the mean is a sum of features: how many there are is known when the length scales are.
    """
    k, columns, most = min(k, n), d or 10, min(max(k, most), n)
    systems = min(FITTED if not m else n + FITTED, 3 * n + FITTED)

    def count(systems, looked_up):
        search = 0.0 if columns <= 3 else 4.0 * columns * float(n) * looked_up
        flops = systems * (EACH + SMALL * k**3 / 3 + k * k * columns + 2.0 * k * m) + search
        return {"float64": flops, "entries": float(systems) * k * k}

    work, searching = count(systems, FITTED), count(LEARNT, BATCHED) if learnt else {}
    work["float64"] += float(n) * m * m
    if learnt:
        searching["float64"] += 40.0 * SUBSET**3
    bytes_ = 8.0 * n * (4 * columns + 2 * targets + 3 + m + 1) + 6 * 8.0 * min(n, FITTED) * (k + 1)  # who is near whom
    if fourier:
        bytes_ += 8.0 * n * (columns + 6) + 64.0 * FEATURES * (3 + targets)  # angles, and what a transform copies
        work["float64"] += WINDOW**columns * n + PRODUCT * STEPS * (1 + targets)
    if fourier and learnt:
        searching["float64"] += PRODUCT * STEPS * EVALUATIONS * (1 + targets + PROBES)
    bytes_ += cores_for(n) * 8.0 * 32 * 6 * (most + 1) * (most + 1 + m)  # systems under way
    free = _machine.within(memory, bytes_)
    _machine.refuse_beyond(free, bytes_, f"a fit by {k} neighbours", "fewer neighbours: approximation=Neighbours(k)")
    if fourier:
        said = "The mean is a sum of Fourier features, from a Toeplitz system whose size does not depend on the rows; "
        said += f"variances come from its factor, or with many features from the {k} nearest of {n} rows"
    else:
        said = f"Each prediction is made from the {k} nearest of {n} rows"
        said += f", or more, up to {most}, where rows left out gain by it" if most > k else ""
    reasons = ([why] if why else []) + [f"{said}, beside a global part on {m} landmarks." if m else f"{said}."]
    solver, gram = ("toeplitz", "fourier") if fourier else ("neighbours", "neighbours")
    return Plan(n, solver, gram, bytes_, cores_for(n), tuple(reasons), free.bytes, work, 0, k, searching)


def features_within(plan, d, columns):
    """How many features of d columns memory has room for beside what a plan counts; inf where nobody knows.

    The sums of frequencies up to 2J are made by two threads, on a grid twice as fine in each direction; they and
    products have a grid of 2J for each column, four times over.
    """
    there = _machine.available_memory().bytes if plan.available_bytes is None else plan.available_bytes
    each = 32.0 * 4**d + (64.0 * 2**d + 64.0) * (1 + columns)
    return float("inf") if there is None else FEATURES + max(there - plan.memory_bytes, 0.0) / each
