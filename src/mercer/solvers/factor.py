"""The one place that factors K + λI: try; tell NaN apart; add to the diagonal, and say so; refuse, with a witness."""

import math
from typing import NamedTuple

import numpy as np

from mercer.exceptions import NotPositiveDefinite
from mercer.solvers.engine.lapack import backward, cholesky_lower, columns
from mercer.solvers.witness import negative_witness

LARGEST = {"float64": 1e-6, "float32": 1e-2}  # most that is added, relative to the largest diagonal entry
ROWS = 512


class Factor(NamedTuple):
    """L with L Lᵀ = K + (λ + added) I, and what was added to the diagonal."""

    L: np.ndarray
    added: float


def factor(K, lam, dtype=np.float64, jitter="auto"):
    """L with L Lᵀ = K + (λ + added) I, in one n × n array; added is 0 unless the factorisation failed without.

    Parameters
    ----------
    K : Gram
    lam : float
    dtype : {float64, float32}
    jitter : "auto", None or float
        What may be added after a failure, relative to the largest diagonal entry: "auto" begins at 4 u √n (u the unit
        roundoff) and grows by tens up to 1e-6 (1e-2 in float32); None adds nothing; a number is tried once.

    Raises
    ------
    ValueError
        If K has a NaN or an infinite entry: it is named.
    NotPositiveDefinite
        If nothing helps.
    """
    dtype = np.dtype(dtype)
    A, bad = attempt(K, lam, dtype)
    if not bad:
        return Factor(A, 0.0)
    z = _negative_direction(A, bad)
    del A
    check_finite(K, dtype)
    largest = float(np.abs(K.diag()).max(initial=0.0)) + lam
    limit = LARGEST[dtype.name] * largest
    curvature = None if z is None else float(z @ (K @ z)) + lam
    if curvature is None or curvature > -limit:  # else no allowed amount can help, and that is proved
        for amount in amounts(K.n, largest, dtype, jitter):
            if curvature is not None and amount <= -curvature:
                continue
            A, bad = attempt(K, lam + amount, dtype)
            if not bad:
                return Factor(A, amount)
            del A
    raise not_positive_definite(K, lam, z if curvature is not None and curvature < 0 else None)


def amounts(n, largest, dtype, jitter):
    """What is added to the diagonal, one after the other."""
    if jitter is None or not largest > 0:
        return []
    if not isinstance(jitter, str):
        return [float(jitter) * largest]
    if jitter != "auto":
        raise ValueError(f"jitter must be 'auto', None or a number, got {jitter!r}.")
    amount = 2 * float(np.finfo(dtype).eps) * np.sqrt(n)
    count = int(np.floor(np.log10(LARGEST[np.dtype(dtype).name] / amount) + 1e-9)) + 1
    return [float(amount * 10**i * largest) for i in range(max(1, count))]


def check_finite(K, dtype=np.float64):
    """Refuse NaN and infinite entries, and name the first."""
    A = K.dense(dtype, lower=True)
    for i in range(0, len(A), ROWS):
        block = np.tril(A[i : i + ROWS, : i + ROWS], i)
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            _refuse(K, i + row, column, block[row, column])


def check_finite_products(K):
    """The same from products and rows only: a row sum shows the row."""
    with np.errstate(all="ignore"):
        sums = K @ np.ones(K.n)
    bad = np.flatnonzero(~np.isfinite(sums))
    if bad.size:
        row = K.rows(bad[:1])[0]
        columns = np.flatnonzero(~np.isfinite(row))
        _refuse(K, bad[0], columns[0] if columns.size else 0, row[columns[0]] if columns.size else sums[bad[0]])


def _refuse(K, row, column, value):
    raise ValueError(
        f"{K!r} has the entry {value} in row {row}, column {column}. Look at these two rows of X for missing, infinite "
        "or huge values, and at the kernel for a division by zero or an overflow."
    )


def not_positive_definite(K, lam, hint=None):
    """The error, with the points that show it."""
    witness = negative_witness(K, hint)
    text = f"K + lam I is not positive definite for {K!r} with n = {K.n} and lam = {lam:.6g}. "
    if witness is None:
        return NotPositiveDefinite(
            f"{text}No few rows show a negative eigenvalue beyond rounding: use a larger lam, or merge equal and "
            "nearly equal rows."
        )
    index, matrix, eigenvalue = witness
    shown = np.array2string(matrix, precision=4, threshold=64, edgeitems=3)
    return NotPositiveDefinite(
        f"{text}The matrix of rows {index.tolist()} is\n{shown}\nwith the negative eigenvalue {eigenvalue:.4g}: the "
        "function is not a kernel. Use a kernel that is an inner product, or add at least "
        f"{-eigenvalue:.2g} to lam.",
        witness,
    )


def attempt(K, lam, dtype):
    """The buffer, and the 1-based index of the pivot that failed (0: none). A NaN shows on the diagonal of L."""
    A = K.dense(dtype, lower=True)
    A.reshape(-1)[:: len(A) + 1] += dtype.type(lam)
    return lower(A)


def lower(A):
    """(L, 0) with A = L Lᵀ in place, or (A, the 1-based index of the pivot that failed)."""
    bad = cholesky_lower(A)
    if not bad and not math.isfinite(np.add.reduce(A.diagonal())):
        finite = np.isfinite(A.diagonal())
        bad = 0 if finite.all() else int(np.argmin(finite)) + 1
    return A, bad


def _negative_direction(A, bad):
    """u of length 1 with uᵀ(K + λI)u <= 0 from a failed factorisation: (−L⁻ᵀl, 1) for the failing row (lᵀ, pivot)."""
    p = bad - 1
    u = columns(np.zeros(len(A)), A.dtype)
    u[p] = -1.0
    if p:
        w = columns(A[p, :p], A.dtype)
        backward(A[:p, :p], w)
        u[:p] = w
    u = u[:, 0].astype(float)
    length = np.sqrt(np.square(u).sum())
    return u / length if np.isfinite(length) else None
