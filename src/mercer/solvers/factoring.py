"""The one place that factors K + λI, and says how well.

Try; tell NaN apart; add to the diagonal, and say so; refuse, with a witness. The condition is from the largest
eigenvalue of a few rows, and the smallest by a few solves with the factor.
"""

import math
from functools import lru_cache

import numpy as np

from mercer._warn import warn
from mercer.exceptions import NotPositiveDefinite, NumericalWarning
from mercer.solvers.base import column_norms
from mercer.solvers.engine.lapack import backward, cholesky_lower, columns, forward
from mercer.solvers.witness import negative_witness

LARGEST = {"float64": 1e-6, "float32": 1e-2}  # most that is added, relative to the largest diagonal entry


def factor(K, lam, dtype=np.float64, jitter="auto", first=None):
    """(L, added) with L Lᵀ = K + (λ + added) I, in one n × n array; added is 0 unless the factorisation failed without.

    Parameters
    ----------
    K : Gram
    lam : float
    dtype : {float64, float32}
    jitter : "auto", None or float
        What may be added after a failure, relative to the largest diagonal entry: "auto" begins at 4 u √n (u the unit
        roundoff) and grows by tens up to 1e-6 (1e-2 in float32); None adds nothing; a number is tried once.
    first : (ndarray, int), default=None
        What `lower` made of K + λI, where somebody has tried.

    Raises
    ------
    ValueError
        If K has a NaN or an infinite entry: it is named.
    NotPositiveDefinite
        If nothing helps.
    """
    dtype = np.dtype(dtype)
    A, bad = attempt(K, lam, dtype) if first is None else first
    if not bad:
        return A, 0.0
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
                return A, amount
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
    for i in range(0, len(A), 512):
        block = np.tril(A[i : i + 512, : i + 512], i)
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            _refuse_entry(K, i + row, column, block[row, column])


def check_finite_products(K):
    """The same from products and rows only: a row sum shows the row."""
    with np.errstate(all="ignore"):
        sums = K @ np.ones(K.n)
    bad = np.flatnonzero(~np.isfinite(sums))
    if bad.size:
        row = K.rows(bad[:1])[0]
        columns = np.flatnonzero(~np.isfinite(row))
        _refuse_entry(K, bad[0], columns[0] if columns.size else 0, row[columns[0]] if columns.size else sums[bad[0]])


def _refuse_entry(K, row, column, value):
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


def eigen(A):
    """(Λ, U) with A = U Λ Uᵀ of a small symmetric matrix, ascending."""
    return np.linalg.eigh(A)


def thin_svd(A):
    """(U, s, Vᵀ) with A = U s Vᵀ, no more columns of U than of A."""
    return np.linalg.svd(A, full_matrices=False)


def square_root(C):
    """(A, below): A Aᵀ = C of a covariance, by a Cholesky factor; of a singular one by eigenvectors, none below 0.

    ``below`` is the most negative eigenvalue that was set to 0, relative to the largest.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.factoring import square_root
    >>> square_root(np.array([[4.0, 2.0], [2.0, 5.0]]))
    (array([[2., 0.],
           [1., 2.]]), 0.0)
    >>> A, below = square_root(np.array([[1.0, 2.0], [2.0, 1.0]]))  # eigenvalues 3 and -1
    >>> (A @ A.T).round(12), round(below, 4)
    (array([[1.5, 1.5],
           [1.5, 1.5]]), 0.3333)
    """
    L, bad = lower(np.array(C, dtype=float))
    if not bad:
        return np.tril(L), 0.0
    e, U = eigen(C)
    below = max(0.0, float(-e[0] / e[-1])) if e[-1] > 0 else 0.0
    return U * np.sqrt(np.maximum(e, 0.0)), below


class Probe:
    """A few rows of K: from them ‖K + λI‖ and the residual of a solution are estimated, at no further evaluation."""

    def __init__(self, K):
        self._diagonal = np.abs(K.diag())
        self._index, self._start = _sample(K.n)
        self._rows = K.rows(self._index)

    def largest_eigenvalue(self):
        """λ_max(K) from below: the Rayleigh quotient ‖K w‖²/wᵀKw of a vector w that lives on the rows.

        With K = FᵀF it is the quotient of FFᵀ at Fw, so half a step of the power method is already in it.
        """
        rows, most = self._rows, float(self._diagonal.max(initial=0.0))
        if not (np.isfinite(rows).all() and np.isfinite(most) and most > 0):
            return most
        rows = rows / most  # so that no square overflows
        S = rows[:, self._index]
        w = S @ (S @ self._start)  # towards the leading eigenvector of the small block; no entry of S is above 1
        image = np.einsum("ij,it->jt", rows, w)
        below = np.einsum("it,it->t", w, S @ w)
        quotient = np.divide(np.einsum("jt,jt->t", image, image), below, out=np.zeros(2), where=below > 0)
        return most * float(np.clip(quotient.max(), 1.0, (self._diagonal / most).sum()))

    def eigenvalues(self):
        """All eigenvalues of K, ascending, where the rows looked at are all of it; else None."""
        rows = self._rows
        return np.linalg.eigvalsh(rows) if len(rows) == rows.shape[1] and np.isfinite(rows).all() else None

    def residual(self, lam, X, B):
        """max over columns of ‖b − (K + λI)x‖/‖b‖, from the rows looked at (all of them up to n = 32)."""
        index = self._index
        rest = column_norms(B[index] - np.einsum("ij,jt->it", self._rows, X) - lam * X[index])
        size = column_norms(B)
        rest *= np.sqrt(len(B) / max(1, len(index)))
        return float(np.divide(rest, size, out=np.zeros_like(size), where=size > 0).max(initial=0.0))

    def errors(self, lam, alpha, rest):
        """‖δf‖ of the fitted values f = Kα of (K + λI)α = rest, for each column, and ‖r‖ of what that leaves.

        With r = rest − (K + λI)α the fitted values differ from the true ones by K(K + λI)⁻¹r, never more than r. To
        this come errors of rounding in the entries of K and in their sums, which are of the size of |K||α|: they are in
        each prediction, whichever way α was found. From the rows looked at.
        """
        index, unit = self._index, np.finfo(float).eps / 2
        up = np.sqrt(len(alpha) / max(1, len(index)))
        left = rest[index] - np.einsum("ij,jt->it", self._rows, alpha) - lam * alpha[index]
        sums = np.einsum("ij,jt->it", np.abs(self._rows), np.abs(alpha)) + lam * np.abs(alpha[index])
        r = up * column_norms(left)
        return r + 4 * unit * up * column_norms(sums), r


@lru_cache(maxsize=8)
def _sample(n):
    """(index, start): which rows are looked at, and two vectors on them; the same for every matrix of this order."""
    rng = np.random.default_rng(0)
    index = np.sort(rng.permutation(n)[:32])
    return index, np.stack([np.ones(len(index)), rng.standard_normal(len(index))], axis=1)


@lru_cache(maxsize=8)
def _start(n):
    """Where inverse iteration begins, the same for every matrix of this order."""
    return np.random.default_rng(0).standard_normal(n)


def smallest_eigenvalue(L):
    """λ_min(L Lᵀ), from above: inverse iteration with the factor, a Rayleigh quotient after every half step.

    Each triangular solve gives one. A pair of equal rows, which hides from the usual estimate in the 1-norm, is found,
    because its eigenvalue stands far below the others. Steps go on while they pay, and while they cost little
    beside the factorisation.
    """
    n = len(L)
    v = columns(_start(n), L.dtype)
    v /= np.sqrt(np.square(v).sum(dtype=float))
    best = 0.0
    for step in range(4 + n // 2000):
        (forward if step % 2 == 0 else backward)(L, v)
        growth = float(np.square(v, dtype=float).sum())
        if not np.isfinite(growth) or growth == 0.0:
            return 0.0
        v /= L.dtype.type(np.sqrt(growth))
        if step >= 2 and growth < 1.1 * best:
            break
        best = max(best, growth)
    return 1.0 / max(best, growth)


def condition_number(L, largest, lam, added=0.0):
    """κ(K + λI) from the factor of K + (λ + added) I."""
    return _ratio(largest, smallest_eigenvalue(L) - added, lam)


def norm_and_condition(probe, L, lam, added=0.0):
    """(‖K + λI‖, κ(K + λI)): from the eigenvalues where the rows looked at are all of K, else estimated."""
    every = probe.eigenvalues()
    if every is None:
        norm = probe.largest_eigenvalue() + lam
        return norm, condition_number(L, norm, lam, added)
    norm = float(every[-1]) + lam
    return norm, _ratio(norm, float(every[0]) + lam, lam)


def _ratio(largest, smallest, lam):
    """largest/smallest, where neither λ nor rounding lets the smallest be less."""
    return float(max(1.0, largest / max(smallest, lam, np.finfo(float).eps / 2 * largest)))


def warn_of_condition(condition, K, lam):
    """Say so when few digits are left."""
    if condition > 1e12:
        digits = max(0, int(round(15.95 - np.log10(condition))))
        warn(
            f"K + lam I has condition {condition:.1e} ({K!r}, lam = {lam:.3g}): the solution has about {digits} "
            "correct digits. Use a larger lam, merge equal or nearly equal rows, or a shorter length scale.",
            NumericalWarning,
        )
