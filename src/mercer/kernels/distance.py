"""Squared distances of two sets of points: the one place that decides products or differences, centring, clipping.

‖a − b‖² = ‖a‖² + ‖b‖² − 2 aᵀb turns the work into a matrix product, but cancels for near pairs and far from the
origin. So the points are centred first, and pairs for which more than a few digits cancel are done again by
differences: equal rows give exactly 0.
"""

import numpy as np

from mercer import _tiles

EVERYTHING = slice(None)
STRIP = 64  # rows of a tile whose product and φ are done together
BY_DIFFERENCES = {np.dtype(np.float64): 12, np.dtype(np.float32): 32}  # columns up to which differences are faster
LARGEST = {np.dtype(np.float64): 1e300, np.dtype(np.float32): np.float32(1e36)}  # so that φ never meets inf · 0
NEAR = {np.dtype(np.float64): 1e-3, np.dtype(np.float32): np.float32(2e-2)}
MODEST = 1e3  # coordinates up to which Σ V (a − b)² may be multiplied out
PRODUCT_SAFE = {np.dtype(np.float64): 1e145, np.dtype(np.float32): 1e17}  # beyond, squares overflow


def scaled(X, Z, scale):
    """(X − c)/ℓ and (Z − c)/ℓ, with c in the middle of Z: far from the origin the digits are in the differences."""
    scale = scale.astype(X.dtype)
    with np.errstate(over="ignore"):
        centre = middle(Z)
        A = X - centre
        A /= scale
        B = A
        if Z is not X:
            B = Z - centre
            B /= scale
        for U in (A, B):
            if not np.isfinite(U.sum()) and not np.isfinite(U).all():
                raise ValueError(
                    "x/length_scale is not finite: X holds NaN or infinity, or length_scale is too small for it."
                )
        return A, B


def middle(Z):
    """The median of about nine rows, column by column. A mean would follow an outlier, at the cost of the others."""
    few = Z[:: max(1, len(Z) // 9)]
    return np.sort(few, axis=0)[len(few) // 2] if len(Z) else np.zeros(Z.shape[1], dtype=Z.dtype)


def tiles(code, A, B, phi):
    """t(i, j) = φ(‖a − b‖²) for a in A[i], b in B[j]: by the compiled loop ``code`` if it is loaded, else by ``phi``.

    Parameters
    ----------
    code : int or None
        Which compiled φ; None if there is none.
    A, B : ndarray of shape (m, d), (n, d)
        From ``scaled``.
    phi : callable
        Applied to the array of squared distances, which it may overwrite.
    """
    A, B = np.ascontiguousarray(A), np.ascontiguousarray(B)
    loops = _tiles.loops()
    if loops is None:
        return lambda i, j: phi(squared(A[i], B[j]))
    compiled = _compiled(loops, loops.RAW if code is None else code, A, B)
    return compiled if code is not None else lambda i, j: phi(compiled(i, j))


def radial(code, A, B, phi):
    """φ(‖aᵢ − bⱼ‖²) for all of A and B: one tile of ``tiles``."""
    return tiles(code, A, B, phi)(EVERYTHING, EVERYTHING)


def squared(A, B):
    """S with Sᵢⱼ = ‖aᵢ − bⱼ‖², clipped at a large finite number; exactly 0 for equal rows."""
    loops = _tiles.loops()
    if loops is not None:
        return _compiled(loops, loops.RAW, np.ascontiguousarray(A), np.ascontiguousarray(B))(EVERYTHING, EVERYTHING)
    from scipy.spatial.distance import cdist

    with np.errstate(over="ignore"):
        if A.shape[1] <= 32 or not _product_safe(A, B):
            S = cdist(A, B, "sqeuclidean").astype(A.dtype, copy=False)
        else:
            S = _by_product(A, B)
    return np.minimum(S, LARGEST[A.dtype], out=S)


def weighted_squares(V, A, B):
    """Σᵢⱼ Vᵢⱼ (aᵢₖ − bⱼₖ)² for every column k, from one product V B; by differences where that would cancel."""
    if max(_size(A), _size(B)) <= MODEST:
        return V.sum(axis=1) @ A**2 + V.sum(axis=0) @ B**2 - 2.0 * np.einsum("ij,ij->j", A, V @ B)
    with np.errstate(over="ignore"):
        return np.array(
            [np.sum(V * np.minimum((A[:, [k]] - B[:, k]) ** 2, LARGEST[A.dtype])) for k in range(A.shape[1])]
        )


def contraction(code, A, B):
    """c(i, j, W) = (Σᵢⱼ Wᵢⱼ φ(s), Σᵢⱼ Wᵢⱼ φ′(s)(aᵢₖ − bⱼₖ)² for every k) for a in A[i], b in B[j], φ the compiled one.

    φ and φ′ come from one exp, and nothing of the size of W is kept. None where it can not be had.
    """
    loops = _tiles.loops()
    if loops is None or code is None or A.dtype != np.float64:
        return None
    size, largest = max(_size(A), _size(B)), LARGEST[A.dtype]
    if size > PRODUCT_SAFE[A.dtype]:
        return None
    if A.shape[1] > BY_DIFFERENCES[A.dtype] and size <= MODEST:
        return _contraction_by_product(loops, code, A, B)
    Bt = _transposed(B)

    def by_differences(i, j, W):
        sums, first = np.zeros(A.shape[1]), j.indices(len(B))[0]
        return loops.radial_contract(code, A[i], Bt, first, W, largest, sums), sums

    return by_differences


def _contraction_by_product(loops, code, A, B):
    """``contraction`` from products of the points."""
    aa, bb, near, largest = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B), NEAR[A.dtype], LARGEST[A.dtype]

    def by_product(i, j, W):
        rows, points, rr, cc = A[i], B[j], aa[i], bb[j]
        sums, total, columns = np.zeros(A.shape[1]), 0.0, np.zeros(len(points))
        for k in range(0, len(rows), STRIP):  # the product is still in cache when φ reads it, and when it meets B again
            strip = slice(k, k + STRIP)
            part = rows[strip]
            V, across = part @ points.T, np.empty(len(part))
            total += loops.radial_contract_product(
                code, V, rr[strip], cc, part, points, near, largest, W[strip], across, columns
            )
            sums += across @ part**2 - 2.0 * np.einsum("ij,ij->j", part, V @ points)
        return total, sums + columns @ points**2

    return by_product


def _transposed(B):
    """Bᵀ in memory; rows a power of two apart would fall into the same sets of the cache."""
    Bt = np.empty((B.shape[1], len(B) + (8 if len(B) % 64 == 0 else 0)), dtype=B.dtype)
    Bt[:, : len(B)] = B.T
    return Bt


def _size(U):
    """The largest |u|."""
    return max(-U.min(initial=0.0), U.max(initial=0.0))


def _compiled(loops, code, A, B):
    """The tile function of the compiled loops; what does not depend on the tile is done here, once."""
    d, dtype, largest = A.shape[1], A.dtype, LARGEST[A.dtype]
    if d <= BY_DIFFERENCES[dtype] or not _product_safe(A, B):
        Bt = _transposed(B)

        def by_differences(i, j):
            rows = A[i]
            first, last, _ = j.indices(len(B))
            out = np.empty((len(rows), max(0, last - first)), dtype=dtype)
            loops.radial(code, rows, Bt, first, largest, out)
            return out

        return by_differences
    aa, bb, near = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B), NEAR[dtype]

    def by_product(i, j):
        rows, columns, rr, cc = A[i], B[j], aa[i], bb[j]
        out = np.empty((len(rows), len(columns)), dtype=dtype)
        for k in range(0, len(rows), STRIP):  # the product is still in cache when φ reads it
            strip, part = out[k : k + STRIP], slice(k, k + STRIP)
            np.matmul(rows[part], columns.T, out=strip)
            loops.radial_from_product(code, strip, rr[part], cc, rows[part], columns, near, largest)
        return out

    return by_product


def _product_safe(A, B):
    """Whether squares of the coordinates stay finite."""
    safe = PRODUCT_SAFE[A.dtype]
    return all(-safe < U.min(initial=0.0) and U.max(initial=0.0) < safe for U in (A, B))


def _by_product(A, B):
    """‖a‖² + ‖b‖² − 2 aᵀb, near pairs again by differences."""
    scale = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)
    S = A @ B.T
    S *= -2
    S += scale
    i, j = np.nonzero(NEAR[A.dtype] * scale >= S)
    for k in range(0, i.size, 2**16):
        ik, jk = i[k : k + 2**16], j[k : k + 2**16]
        difference = A[ik] - B[jk]
        S[ik, jk] = np.einsum("ij,ij->i", difference, difference)
    return S
