"""Squared distances of two sets of points: the one place that decides products or differences, centring, clipping.

‖a − b‖² = ‖a‖² + ‖b‖² − 2 aᵀb turns the work into a matrix product, but cancels for near pairs and far from the
origin. So the points are centred first, and pairs for which more than a few digits cancel are done again by
differences: equal rows give exactly 0.
"""

import numpy as np

from mercer import _native
from mercer._parameters import cached_property
from mercer._tiles import EVERYTHING
from mercer.kernels.one_pass import LARGEST, Program

BY_DIFFERENCES = {np.dtype(np.float64): 20, np.dtype(np.float32): 32}  # columns up to which differences are faster
NEAR = {np.dtype(np.float64): 1e-3, np.dtype(np.float32): np.float32(2e-2)}
PRODUCT_SAFE = {np.dtype(np.float64): 1e145, np.dtype(np.float32): 1e17}  # beyond, squares overflow


class Points:
    """Two sets of points a and b: what is asked of their distances, tile by tile.

    Parameters
    ----------
    A, B : ndarray of shape (m, d), (n, d)
        In C order, of one dtype; B is A where the sets are one.
    size : float
        The largest coordinate, without its sign.

    Attributes
    ----------
    safe : bool
        Whether squares of coordinates do not overflow.
    by_differences : bool
        Whether distances are quicker, or only right, by differences.
    contracts : bool
        Whether the compiled loops contract weights of these distances.
    """

    strip = 64  # rows of a tile whose product and φ are done together
    modest = 1e3  # coordinates up to which Σ V (a − b)² may be multiplied out

    def __init__(self, A, B, size):
        self.A, self.B, self.size = A, B, size
        self.safe = size < PRODUCT_SAFE[A.dtype]
        self.by_differences = A.shape[1] <= BY_DIFFERENCES[A.dtype] or not self.safe
        self.contracts = self.safe and A.dtype == np.float64

    # ------------------------------------------------------------------ φ of the distances
    def tiles(self, loop, phi, shape=1.0):
        """t(i, j) = φ(‖a − b‖²) for a in A[i], b in B[j].

        Parameters
        ----------
        loop : str or None
            The name of φ in ``_native.CODES``; None if it is not one of these.
        phi : callable
            Applied to the array of squared distances, which it may overwrite.
        shape : float, default=1.0
            α, where φ has one.
        """
        if loop is not None:
            return self._values(_native.CODES[loop], shape)
        return lambda i, j: phi(self.squared(i, j))

    def squared(self, i=EVERYTHING, j=EVERYTHING):
        """‖a − b‖² for a in A[i], b in B[j], clipped at a large finite number; exactly 0 for equal rows."""
        return self._squared(i, j)

    @cached_property
    def _squared(self):
        return self._values(_native.RAW)

    @cached_property
    def _norms(self):
        """(‖a‖², ‖b‖²)."""
        aa = np.einsum("ij,ij->i", self.A, self.A)
        return aa, aa if self.B is self.A else np.einsum("ij,ij->i", self.B, self.B)

    def program(self, code, shape=1.0, lengths=2):
        """The `Program` of one φ, by differences."""
        program = Program()
        program.leaf(_native.RADIAL, self, code=code, shape=shape, lengths=lengths)
        return program.finish()

    def _values(self, code, shape=1.0):
        """The tile function of one φ; what does not depend on the tile is done here, once."""
        if self.by_differences:
            return self.program(code, shape).values
        A, B = self.A, self.B
        (aa, bb), near, largest = self._norms, NEAR[A.dtype], LARGEST[A.dtype]

        def by_product(i, j):
            rows, columns, rr, cc = A[i], B[j], aa[i], bb[j]
            out = np.empty((len(rows), len(columns)), dtype=A.dtype)
            for k in range(0, len(rows), self.strip):  # the product is still in cache when φ reads it
                strip, part = out[k : k + self.strip], slice(k, k + self.strip)
                np.matmul(rows[part], columns.T, out=strip)
                near_rows = rows[part]
                _native.pairs.radial_from_product(code, strip, rr[part], cc, near_rows, columns, near, largest, shape)
            return out

        return by_product

    # ------------------------------------------------------------------ contractions
    def contraction(self, loop, shape=1.0):
        """c(i, j, W) = (Σ W φ(s), Σ W ∂φ/∂α, Σ W ∂φ/∂log ℓₖ for every column), φ the compiled one of that name.

        φ and φ′ come from one exp, and nothing of the size of W is kept. None where it can not be had.
        """
        if loop is None or not self.contracts:
            return None
        code, A, B = _native.CODES[loop], self.A, self.B
        if self.by_differences or self.size > self.modest:
            program = self.program(code, shape)
            return lambda i, j, W: next(program.contract(i, j, W))
        (aa, bb), near, largest = self._norms, NEAR[A.dtype], LARGEST[A.dtype]

        def by_product(i, j, W):
            rows, points, rr, cc = A[i], B[j], aa[i], bb[j]
            sums, totals, columns = np.zeros(A.shape[1]), np.zeros(2), np.zeros(len(points))
            for k in range(0, len(rows), self.strip):  # the product is in cache for φ, and when it meets B again
                strip = slice(k, k + self.strip)
                part = rows[strip]
                V, across = part @ points.T, np.empty(len(part))
                totals += _native.pairs.radial_contract_product(
                    code, V, rr[strip], cc, part, points, near, largest, W[strip], across, columns, sums, shape
                )
                sums += across @ part**2 - 2.0 * np.einsum("ij,ij->j", part, V @ points)
            return *totals, -2.0 * (sums + columns @ points**2)

        return by_product

    def weighted_squares(self, V, s, i, j):
        """Σᵢⱼ Vᵢⱼ (aᵢₖ − bⱼₖ)² for every column k, V overwritten: from one product V B, near pairs by differences.

        Multiplied out, a pair loses all digits of (a − b)² that its distance s has not: and V of a rough kernel is the
        larger, the nearer a pair is.
        """
        A = self.A[i]
        B = A if self.B is self.A and i == j else self.B[j]
        if self.size > self.modest:
            with np.errstate(over="ignore"):
                return np.array(
                    [np.sum(V * np.minimum((A[:, [k]] - B[:, k]) ** 2, LARGEST[A.dtype])) for k in range(A.shape[1])]
                )
        near = self._take_near(V, s, A, B)
        across, down = np.add.reduce(V, axis=1), np.add.reduce(V, axis=0)
        squares = (across + down) @ (A * A) if B is A else across @ (A * A) + down @ (B * B)
        return near + squares - 2.0 * np.add.reduce(A * (V @ B), axis=0)

    def _take_near(self, V, s, A, B, close_to=1e-5):
        """Σ V (aₖ − bₖ)² over the near pairs, whose V becomes 0; 0.0 where there are none but equal ones.

        Near is a distance s up to ``close_to`` beside ‖a‖² + ‖b‖²: there (a − b)² may not be multiplied out.
        """
        close = s <= 2.0 * close_to * A.shape[1] * self.size**2
        count = np.count_nonzero(close)
        if count == 0:
            return 0.0
        if B is A and count == len(A) and V.flags.c_contiguous:  # each with itself, as it mostly is
            V.reshape(-1)[:: len(A) + 1] = 0.0
            return 0.0
        rows, columns = np.nonzero(close)
        near = s[close] <= close_to * (np.add.reduce(A * A, axis=1)[rows] + np.add.reduce(B * B, axis=1)[columns])
        rows, columns = rows[near], columns[near]  # an outlier makes many seem near
        sums = np.zeros(A.shape[1])
        for k in range(0, len(rows), 2**16):  # so many at once
            r, c = rows[k : k + 2**16], columns[k : k + 2**16]
            sums += V[r, c] @ (A[r] - B[c]) ** 2
            V[r, c] = 0.0
        return sums

    # ------------------------------------------------------------------ the sum norm, and column by column
    def laplacian(self, i, j):
        """exp(−‖a − b‖₁) for a in A[i], b in B[j]."""
        A, B = self.A[i], self.B[j]
        out = np.empty((len(A), len(B)), dtype=A.dtype)
        _native.pairs.laplacian(A, np.ascontiguousarray(B.T), out)
        return out

    def weighted_abs(self, V, i, j):
        """Σᵢⱼ Vᵢⱼ |aᵢₖ − bⱼₖ| for every column k."""
        A, B, sums = self.A[i], self.B[j], np.zeros(self.A.shape[1])
        _native.pairs.weighted_abs(V, A, np.ascontiguousarray(B.T), sums)
        return sums


def scale_points(X, Z, scale):
    """The `Points` (x − c)/ℓ and (z − c)/ℓ, c in the middle of Z: far from the origin the digits are in differences."""
    scale = scale.astype(X.dtype)
    with np.errstate(over="ignore"):
        centre = middle(Z)
        A = np.subtract(X, centre, order="C")
        A /= scale
        size = _largest_coordinate(A)
        B = A
        if Z is not X:
            B = np.subtract(Z, centre, order="C")
            B /= scale
            size = np.maximum(size, _largest_coordinate(B))
    if not size < np.inf:  # NaN too
        raise ValueError("x/length_scale is not finite: X holds NaN or infinity, or length_scale is too small for it.")
    return Points(A, B, size)


def middle(Z):
    """The median of about nine rows, column by column. A mean would follow an outlier, at the cost of the others."""
    n = Z.shape[0]
    few = Z[:: n // 9 or 1].copy()
    few.sort(axis=0)
    return few[few.shape[0] // 2] if n else np.zeros(Z.shape[1], dtype=Z.dtype)


def as_points(A, B):
    """The `Points` of two arrays as they are."""
    A = np.ascontiguousarray(A)
    return Points(A, np.ascontiguousarray(B), np.maximum(_largest_coordinate(A), _largest_coordinate(B)))


def squared_distances(A, B):
    """S with Sᵢⱼ = ‖aᵢ − bⱼ‖², clipped at a large finite number; exactly 0 for equal rows."""
    return as_points(A, B).squared()


def _largest_coordinate(U):
    """The largest |u|; NaN if there is one."""
    return np.maximum(-np.minimum.reduce(U, axis=None, initial=0.0), np.maximum.reduce(U, axis=None, initial=0.0))
