"""How KernelMachine solves: labels into columns, a convex problem for each column, the result with its certificate."""

import time
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax

from mercer.dual import newton, softmax, working_set
from mercer.dual._memory import store
from mercer.gram import TiledGram

STORED_UP_TO = 12_000  # rows: 1.2 GB
PATIENCE = 50  # Newton steps of a loss that has a dual, too


class Column(NamedTuple):
    """One fitted function, in units of Σᵢ wᵢL(yᵢ, fᵢ) + λ‖f‖²."""

    alpha: np.ndarray
    b: float
    f: np.ndarray
    gap: float
    violation: float
    objective: float
    iterations: int
    status: str
    info: dict


def encode(y, classes):
    """Labels as columns of ±1: one for two classes (+1 is the second), else one for each class against the rest."""
    index = np.searchsorted(classes, y)
    if len(classes) == 2:
        return np.where(index == 1, 1.0, -1.0)[:, None]
    return np.where(index[:, None] == np.arange(len(classes)), 1.0, -1.0)


def label_classes(y, weight):
    """The classes of the rows that count, sorted; ValueError for one class only."""
    classes = np.unique(y[weight > 0])
    if len(classes) < 2:
        raise ValueError(f"a classification loss needs at least 2 classes, got 1 class: {classes.tolist()[0]!r}.")
    return classes


def tasks(loss, Y):
    """(loss, y) of every column to be fitted: a column of Y for each target or class, a loss for each level."""
    losses = loss.split()
    if len(losses) > 1 and Y.shape[1] > 1:
        raise ValueError(f"{loss!r} has {len(losses)} levels and y has {Y.shape[1]} columns; give several of one only.")
    return [(one, Y[:, j]) for one in losses for j in range(Y.shape[1])]


def gram(kernel, X, memory):
    """K of the rows, stored in float64 up to 12 000 of them, else by tiles."""
    K = TiledGram(kernel, X)
    return store(K, np.float64, memory, spare=3) if K.n <= STORED_UP_TO else K


def fit_column(K, loss, y, weight, lam, *, intercept, tol, max_iter, time_budget, memory, solver, start=None):
    """Fit one column: Newton where the loss is smooth, the working-set solver on its dual where it is not.

    A loss that is both (Huber with a tiny δ is nearly the absolute loss) goes on to the second where the first is slow.
    """
    c, info, found, unit = weight / (2.0 * lam), {}, None, 1.0
    deadline = np.inf if time_budget is None else time.perf_counter() + time_budget
    common = {"intercept": intercept, "memory": memory}
    if loss.smooth:
        most = min(max_iter, PATIENCE) if loss.boxed else max_iter
        found = newton.solve(
            K, loss, y, c, tol=tol, max_iter=most, solver=solver, start=start, time_budget=time_budget, **common
        )
        f, start = found.f, (found.alpha, found.b)
    if not loss.smooth or (loss.boxed and found.status in ("max_iter", "stalled") and most == PATIENCE):
        info = {} if found is None else {"newton_steps_before": found.iterations}
        unit = 1.0 if loss.classification else spread(y, weight)  # of a residual, in which ``tol`` is given
        found = working_set.solve(
            K,
            loss.dual(y, c),
            tol=tol * unit,
            start=None if start is None else start[0],
            time_budget=None if np.isinf(deadline) else max(1e-3, deadline - time.perf_counter()),
            **common,
        )
        product = found.info.get("product")  # Kα in float64, where the solver has it anyway
        f = (K @ found.alpha if product is None else product) + found.b
        info["solver"] = "working_set"
    scale = 2.0 * lam
    return Column(
        found.alpha,
        found.b,
        f,
        scale * found.gap,
        found.violation / unit,
        scale * found.primal,
        found.iterations,
        found.status,
        {key: value for key, value in {**found.info, **info}.items() if np.ndim(value) == 0},
    )


def fit_columns(K, pairs, weight, lam, options, starts=None, deadline=np.inf):
    """Fit all columns on one K; ``starts`` are solutions near by."""
    out = []
    for j, (loss, y) in enumerate(pairs):
        left = None if np.isinf(deadline) else max(1e-3, (deadline - time.perf_counter()) / (len(pairs) - j))
        start = None if starts is None else starts[j]
        out.append(fit_column(K, loss, y, weight, lam, start=start, **{**options, "time_budget": left}))
    return out


def fit_softmax(K, pairs, weight, lam, options, deadline=np.inf):
    """Fit all classes at once: one problem, one certificate, which the first column carries."""
    left = None if np.isinf(deadline) else max(1e-3, deadline - time.perf_counter())
    Y = np.column_stack([y > 0 for _, y in pairs]).astype(float)
    common = {name: options[name] for name in ("intercept", "tol", "max_iter", "memory")}
    found = softmax.solve(K, Y, weight / (2.0 * lam), time_budget=left, **common)
    scale = 2.0 * lam
    return [
        Column(
            found.alpha[:, j],
            float(found.b[j]),
            found.f[:, j],
            scale * found.gap * (j == 0),
            found.violation,
            scale * found.primal * (j == 0),
            found.iterations,
            found.status,
            dict(found.info),
        )
        for j in range(Y.shape[1])
    ]


def spread(y, weight):
    """The weighted standard deviation of y, or 1 where y is constant: the unit of a residual."""
    mean = float(weight @ y / weight.sum())
    sd = float(np.sqrt(weight @ (y - mean) ** 2 / weight.sum()))
    return sd if sd > 1e-12 * max(abs(mean), 1e-300) else 1.0


def mean_loss(pairs, F, weight):
    """Σᵢ wᵢ L(yᵢ, fᵢ)/Σᵢ wᵢ, averaged over the columns."""
    values = [weight @ loss.value(y, F[:, j]) / weight.sum() for j, (loss, y) in enumerate(pairs)]
    return float(np.mean(values))


def mean_softmax_loss(pairs, F, weight):
    """Σᵢ wᵢ (log Σ_c e^(f_ic) − f_iyᵢ)/Σᵢ wᵢ, the loss that `fit_softmax` minimises."""
    own = np.argmax(np.column_stack([y for _, y in pairs]), axis=1)
    return float(weight @ -log_softmax(F, axis=1)[np.arange(len(F)), own] / weight.sum())
