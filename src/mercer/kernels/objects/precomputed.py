"""Kernels from what a user already has: a function of two inputs, or the kernel matrix itself."""

import operator
import reprlib

import numpy as np

from mercer._state import check
from mercer.kernels.base import Kernel, result_dtype
from mercer.kernels.conversion import as_collection, refuse_entries


class Pairwise(Kernel):
    """k(x, z) = f(x, z) for a user's function f of two inputs.

    Nothing is known about f, so estimators test symmetry and positive semi-definiteness on the data, and every value
    is checked to be a finite number. f is called once for each pair, and once for both orders of a pair where a
    matrix is symmetric: write a `Kernel` when speed matters.

    Parameters
    ----------
    function : callable
        f(x, z) returns a number; x and z are rows of an array, or elements of a list.

    Examples
    --------
    >>> from mercer.kernels import Pairwise
    >>> def common_letters(a, b):
    ...     return len(set(a) & set(b))
    >>> Pairwise(common_letters)(["abc", "bcd", "e"])
    array([[3., 2., 0.],
           [2., 3., 0.],
           [0., 0., 1.]])
    """

    domain = "objects"
    psd = False

    def __init__(self, function): ...

    def validate(self, X):
        """X as a sequence: a 2-D array of numbers as rows of floats, a list as it is."""
        return as_collection(X, "Pairwise")

    def _value(self, x, z):
        """f(x, z), checked to be a finite real number."""
        try:
            value = self.function(x, z)
        except Exception as error:
            error.add_note(f"in {self!r} for {_show_pair(x, z)}")
            raise
        array = np.asarray(value)
        if array.ndim or array.dtype.kind not in "buif" or not np.isfinite(array):
            raise ValueError(
                f"{self!r}: the function must return one finite real number; for {_show_pair(x, z)} it returned "
                f"{reprlib.repr(value)} ({type(value).__name__})."
            )
        return float(array)

    def _tile(self, X, Z):
        m, n = len(X), len(Z)
        K = np.empty((m, n), dtype=result_dtype(X))
        # A tile on the diagonal of a symmetric matrix ends with its own rows: that square is evaluated by half.
        mirrored = n >= m > 0 and same_inputs(X, Z if n == m else Z[n - m :])
        left = n - m if mirrored else n
        for i in range(m):
            for j in range(left + i + 1 if mirrored else left):
                K[i, j] = self._value(X[i], Z[j])
        if mirrored:
            self._mirror(K[:, left:], X)
        return K

    def _mirror(self, square, X):
        """Fill the upper triangle from the lower one; in every row one pair is called both ways."""
        for i in range(1, len(square)):
            j = 7919 % i  # some earlier row, another one in every row
            x, z = X[i], X[j]
            there, back = float(square[i, j]), self._value(z, x)
            if abs(there - back) > 1e-6 * max(abs(there), abs(back)) + np.finfo(float).tiny:
                raise ValueError(
                    f"{self!r} is not symmetric: for {_show_pair(x, z)} it gives {there:.6g} one way and {back:.6g} "
                    "the other. A kernel is symmetric: use for example (f(x, z) + f(z, x))/2."
                )
            square[:i, i] = square[i, :i]

    def diag(self, X):
        """f(x, x)."""
        return np.array([self._value(x, x) for x in X], dtype=result_dtype(X))


def _show_pair(x, z):
    """The two inputs, shortened, for a message."""
    return f"x = {reprlib.repr(x)}, z = {reprlib.repr(z)}"


def same_inputs(A, B):
    """Whether two collections hold the same inputs in the same order, by identity: cheap, and never wrong when true."""
    if isinstance(A, np.ndarray) and isinstance(B, np.ndarray):
        return A.__array_interface__ == B.__array_interface__
    lists = isinstance(A, list) and isinstance(B, list)
    return lists and len(A) == len(B) and all(map(operator.is_, A, B))


class MatrixRows:
    """Rows of a kernel matrix, as a collection of inputs: what `Precomputed` reads.

    Parameters
    ----------
    matrix : ndarray of shape (m, n_train)
        Kernel values of m inputs with every training input.
    index : ndarray of shape (m,) or None
        Which training input each row is; None for new inputs.
    asymmetry : str, default=""
        What is wrong with the whole matrix as one of training inputs; empty if it is symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Precomputed
    >>> rows = Precomputed().validate(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> type(rows).__name__, len(rows), rows.index.tolist()
    ('MatrixRows', 2, [0, 1])
    """

    def __init__(self, matrix, index=None, asymmetry=""):
        self.matrix, self.index, self.asymmetry = matrix, index, asymmetry

    def __len__(self):
        return len(self.matrix)

    def __getitem__(self, chosen):
        """Return the chosen rows (a slice, integers or a mask) as a collection; an integer gives one row."""
        if not isinstance(chosen, slice):
            chosen = np.atleast_1d(np.asarray(chosen))
            if chosen.size == 0 and chosen.dtype.kind == "f":  # np.asarray([])
                chosen = chosen.astype(int)
        return MatrixRows(self.matrix[chosen], None if self.index is None else self.index[chosen], self.asymmetry)

    def state(self):
        """{name: value} by public names: what a file keeps; a matrix that was not retained has a shape only."""
        forgotten = 0 in self.matrix.strides and self.matrix.size > 0
        matrix = None if forgotten else self.matrix
        return {
            "shape": tuple(map(int, self.matrix.shape)),
            "matrix": matrix,
            "index": self.index,
            "asymmetry": self.asymmetry,
        }

    @classmethod
    def from_state(cls, state):
        """Return the rows that had this state."""
        check(
            state,
            {"shape": tuple, "matrix": ("float m n", None), "index": ("int m", None), "asymmetry": str},
            "MatrixRows",
        )
        shape, matrix, index = state["shape"], state["matrix"], state["index"]
        if len(shape) != 2 or not all(type(n) is int and 0 <= n < 2**40 for n in shape):
            raise ValueError(f"{shape!r:.60} is no shape of a kernel matrix.")
        if (matrix is None and index is None) or any(
            part is not None and len(part) != shape[0] for part in (matrix, index)
        ):
            raise ValueError(f"MatrixRows of shape {shape} have other rows.")
        return cls(np.broadcast_to(np.nan, shape) if matrix is None else matrix, index, state["asymmetry"])

    def __repr__(self):
        kind = "new" if self.index is None else "training"
        return f"MatrixRows({len(self)} {kind} rows, {self.matrix.shape[1]} columns)"


class Precomputed(Kernel):
    """k(xᵢ, xⱼ) = Kᵢⱼ: the data are the rows of a kernel matrix, as in scikit-learn.

    ``fit(K, y)`` takes the square matrix of the training inputs, ``predict(K_new)`` the (m, n_train) matrix of the
    new inputs with the training inputs. Estimators test positive semi-definiteness on the data.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Precomputed
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> Precomputed()(K)
    array([[2., 1.],
           [1., 2.]])
    >>> Precomputed()([[0.5, 0.25]], K)
    array([[0.5 , 0.25]])
    """

    pairwise = True
    domain = "objects"
    reads = None
    psd = False

    def validate(self, X):
        """Rows of a matrix: of training inputs if it is square, else of new inputs.

        Whether a square matrix is symmetric is found out here, but held against it only where it stands for
        training inputs: the matrix of n_train new inputs is square too.
        """
        if isinstance(X, MatrixRows):
            return X
        K = np.asarray(X)
        if K.ndim != 2:
            raise ValueError(f"Precomputed: expected a 2-D kernel matrix, got {K.ndim}-D of shape {K.shape}.")
        if K.dtype.kind not in "buif":
            raise ValueError(f"Precomputed: the kernel matrix must hold real numbers, got dtype {K.dtype}.")
        rounding = 1e-5 if K.dtype in (np.float32, np.float16) else 1e-9
        K = K.astype(np.float64, copy=False)
        refuse_entries(~np.isfinite(K), K, "Precomputed: K")
        if K.shape[0] != K.shape[1]:
            return MatrixRows(K)
        return MatrixRows(K, np.arange(len(K)), _asymmetry(K, rounding))

    def stored_inputs(self, X):
        """Which training inputs they are, without their matrix: prediction reads the rows of the new inputs."""
        return MatrixRows(np.broadcast_to(np.nan, X.matrix.shape), X.index)

    def _training(self, Z):
        """The index of Z, checked to be rows of training inputs."""
        if Z.index is None:
            raise ValueError(
                f"Precomputed: the matrix must be square to stand for training inputs, got {len(Z)} rows and "
                f"{Z.matrix.shape[1]} columns."
            )
        if Z.asymmetry:
            raise ValueError(f"Precomputed: {Z.asymmetry}")
        return Z.index

    def _tile(self, X, Z):
        index = self._training(Z)
        if X.matrix.shape[1] != Z.matrix.shape[1]:
            raise ValueError(
                f"Precomputed: the matrix of the new inputs has {X.matrix.shape[1]} columns, but there are "
                f"{Z.matrix.shape[1]} training inputs; column j must hold the values with training input j."
            )
        return X.matrix[:, index]

    def diag(self, X):
        """Kᵢᵢ of training inputs; for new inputs k(x, x) is not known."""
        X = self.validate(X)
        if X.index is None:
            raise ValueError(
                f"Precomputed: a matrix of {len(X)} rows and {X.matrix.shape[1]} columns holds new inputs, whose "
                "k(x, x) is not in it: for a fit give the square matrix of the training inputs; a predictive variance "
                "cannot be computed."
            )
        if X.asymmetry:
            raise ValueError(
                f"Precomputed: {X.asymmetry} That is for training inputs. If the {len(X)} rows are as many new inputs, "
                "their k(x, x) is not in the matrix: what needs it, as a predictive variance or a probability, cannot "
                "be computed."
            )
        return X.matrix[np.arange(len(X)), X.index]


def _asymmetry(K, rounding):
    """What keeps a square matrix from being symmetric, with the pair; empty if nothing does."""
    largest = np.abs(K).max(initial=0.0)
    for i in range(0, len(K), 256):  # by rows: no second n × n array
        difference = np.abs(K[i : i + 256] - K[:, i : i + 256].T)
        if difference.max(initial=0.0) > rounding * largest:
            a, b = np.unravel_index(np.argmax(difference), difference.shape)
            return (
                f"the kernel matrix must be symmetric, but K[{i + a}, {b}] = {K[i + a, b]:.6g} and "
                f"K[{b}, {i + a}] = {K[b, i + a]:.6g}."
            )
    return ""
