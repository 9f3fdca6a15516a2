"""The plans of methods that go over K again and again, for losses other than the square: K is kept where it fits."""

from mercer import _machine
from mercer.solvers.cg import CG
from mercer.solvers.plan import planned, whole_number

STORED_UP_TO = 12_000  # rows of which K is kept in float64: 1.2 GB
FACTOR_UP_TO = 4000  # rows of which each Newton step of a smooth loss factors a matrix; beyond, conjugate gradients
KEPT = 0.7  # part of the free memory that K, and what is made of it, may take
EXACT, FINE = 2048, 1e-5  # a dual keeps K in float64 for so few rows, or below this tolerance; else in float32
SHARE = 0.8  # part of the free memory that K of a dual may take
BLOCK = 4096  # rows of the largest block of a dual
FOLD = 0.9  # part of the rows that a fold learns from, about
WIDE = 2048  # columns of an inverse at once, for its diagonal
PASSES = 30.0  # over K, where its values are computed again
NEWTON = 6  # factors of a fit with a smooth loss, about
ITERATED = 1200.0  # times n²: all steps of such a fit by conjugate gradients, K read from memory
ROUNDS, HARDER = 3e4, 0.33  # times n^1.5: what a dual takes at C = 1; a power of C
INTERIOR = 40.0  # times n³: the most that it takes
EVALUATED = 5.0  # times K, where a dual computes its values when they are needed
LABELS = 0.1  # as hard as this C are labels: few rows are free


def factors_steps(n, memory=None):
    """Whether Newton's steps factor matrices: few rows, and K and a factor of the rows that are curved fit."""
    return n <= FACTOR_UP_TO and _fits(16.0 * n**2, memory)


def plan_smooth(n, *, memory=None, direct=None, classes=0, folds=False, left_out=False):
    """The plan of Newton's method for a smooth loss, or for the softmax of some ``classes``.

    Parameters
    ----------
    n, memory
        As for `mercer.solvers.plan.choose`.
    direct : bool, default=None
        Whether steps factor a matrix; None is as `factors_steps` says.
    classes : int, default=0
        Functions that a softmax joins.
    folds, left_out : bool, default=False
        Whether λ is chosen by folds, or by approximate leave-one-out.
    """
    n = whole_number(n)

    def need(rows):
        if classes:
            return 8.0 * rows**2 * (classes + 3)
        factor = factors_steps(rows, memory) if direct is None else direct
        return 16.0 * rows**2 if factor else 8.0 * rows**2 + CG().memory(rows)

    both = max(_with_folds(need, n, folds), 16.0 * n**2 + 8.0 * n * min(n, WIDE) if left_out else 0.0)
    again = 4.0 * n**2 if _fits(4.0 * n**2, memory) else 0.0  # in float32, for the products
    steps = NEWTON * n**3 / 3 if n <= FACTOR_UP_TO and direct is not False else ITERATED * n * n
    work = {"float64": 2.0 * PASSES * n * n + max(1, classes) ** 2 * steps}
    return _kept("softmax" if classes else "newton", n, memory, both, again + CG().memory(n), work)


def plan_dual(n, *, memory=None, tol=1e-3, double=False, folds=False, hard=1.0):
    """The plan of the working-set method for the dual of a loss with corners.

    Parameters
    ----------
    n, memory
        As for `mercer.solvers.plan.choose`.
    tol : float, default=1e-3
        Below 1e-5 K is kept in float64.
    double : bool, default=False
        Whether K is kept in float64 in any case.
    folds : bool, default=False
        Whether λ is chosen by folds.
    hard : float, default=1.0
        C, in units of y's spread over the amplitude of the kernel: more takes longer.
    """
    n = whole_number(n)
    size = 8.0 if double or n <= EXACT or tol < FINE else 4.0

    def need(rows):
        return size * rows**2 + (2.0 if size == 8.0 else 4.0) * min(rows, BLOCK) ** 2

    steps = min(ROUNDS * float(n) ** 1.5 * hard**HARDER, INTERIOR * float(n) ** 3)
    rest = 4.0 * n**2 + 4.0 * min(n, BLOCK) ** 2  # in float32, or as many rows of it as there is room for
    free = _machine.within(memory, rest)
    rest = rest if free.bytes is None else min(rest, SHARE * free.bytes)
    limit = STORED_UP_TO if double else BLOCK
    need, work = _with_folds(need, n, folds), {"float64": steps}
    return _kept("working_set", n, memory, need, rest, work, limit, EVALUATED)


def _with_folds(need, n, folds):
    """Bytes of a fit of all rows; with folds also of one on some of them beside K of all."""
    return max(need(n), 8.0 * n**2 + need(FOLD * n)) if folds else need(n)


def _fits(need, memory):
    """Whether so many bytes may be taken."""
    room = _machine.within(memory, need).bytes
    return room is None or need <= KEPT * room


def _kept(name, n, memory, need, tiled, work, limit=STORED_UP_TO, passes=PASSES):
    """The plan: ``need`` bytes with a K that is kept, or ``tiled`` bytes without."""
    free = _machine.within(memory, need)
    if n > limit:
        gram, why = "tiled", f"K of more than {limit} rows is evaluated where it is needed."
    elif not _fits(need, memory):
        gram = "tiled"
        why = f"K and what is made of it needs {_machine.gigabytes(need)}; {_machine.gigabytes(KEPT * free.bytes)} may "
        why += f"be used ({free.source})."
    else:
        gram, why = "dense", "K is stored: it is read again and again."
    entries = n * n / 2 * (1.0 if gram == "dense" else passes)
    bytes_ = need if gram == "dense" else tiled
    return planned(n, name, gram, bytes_, free, [why], work | {"entries": entries})
