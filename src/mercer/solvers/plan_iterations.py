"""The plans of methods that go over K again and again, for losses other than the square: K is kept where it fits."""

from mercer import _machine
from mercer.solvers.cg import CG
from mercer.solvers.plan_class import CostOptions, StorageOptions


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
