"""Kernels of the inner product xᵀz: constant, linear, polynomial, quadratic form, arc-cosine."""

import numpy as np

from mercer import _native
from mercer.kernels import distance
from mercer.kernels.base import Kernel, result_dtype
from mercer.kernels.conversion import as_collection
from mercer.kernels.definite import semidefinite
from mercer.kernels.one_pass import PreparedLeaf


class Constant(Kernel):
    """k(x, z) = c, c >= 0: adds a constant function to the model.

    It looks at no input, so it can be added to a kernel on objects of any kind.

    Parameters
    ----------
    value : float, default=1.0
        c >= 0, the value for all pairs.
    value_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-10, 1e10).

    Examples
    --------
    >>> from mercer.kernels import Constant
    >>> Constant(3.0)([[0.0], [1.0]])
    array([[3., 3.],
           [3., 3.]])
    """

    hyper = {"value": (1e-10, 1e10)}
    stationary = True

    def __init__(self, value=1.0, *, value_bounds=None): ...

    def validate(self, X):
        """X, of any kind."""
        return as_collection(X, "Constant")

    def _tile(self, X, Z):
        return np.full((len(X), len(Z)), self._at_least_zero("value"), dtype=result_dtype(X))

    def prepare(self, X, Z, keep=False):
        """An operation of a program."""
        if type(self) is not Constant:
            return super().prepare(X, Z)
        return PreparedLeaf(self, X, Z, _native.CONSTANT, self._at_least_zero("value"))

    def diag(self, X):
        """c at every input."""
        return np.full(len(X), self._at_least_zero("value"), dtype=result_dtype(X))

    def _grad(self, X, Z, W):
        return {"value": np.sum(W)}

    def _dx(self, X, Z):
        return np.zeros((len(X), len(Z), X.shape[1]))

    def columns_read(self, columns=()):
        """None."""
        return []

    def formula(self, x, z):
        """c."""
        return self._at_least_zero("value")

    def _phrase(self, place):
        return "a constant"


class Linear(Kernel):
    """k(x, z) = xᵀz.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def _tile(self, X, Z):
        return X @ Z.T

    def prepare(self, X, Z, keep=False):
        """An operation of a program, of few columns."""
        if type(self) is not Linear or X.shape[1] > distance.BY_DIFFERENCES[X.dtype]:
            return super().prepare(X, Z)
        return PreparedLeaf(self, X, Z, _native.LINEAR, 1.0, distance.as_points(X, Z))

    def diag(self, X):
        """‖x‖²."""
        return np.einsum("ij,ij->i", X, X)

    def _dx(self, X, Z):
        return np.broadcast_to(Z, (len(X), *Z.shape))

    def formula(self, x, z):
        """xᵀz."""
        return np.add.reduce(x * z)

    def _phrase(self, place):
        return f"a line in {place.all()}"


class Polynomial(Kernel):
    """k(x, z) = (xᵀz + c)ᵖ: all monomials up to total degree p.

    Parameters
    ----------
    degree : int, default=2
        p >= 1, a whole number; not searched.
    offset : float, default=1.0
        c >= 0; at 0 it is left alone by a search, and only monomials of degree p remain.
    offset_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> Polynomial(3, offset=1.0)([[2.0]], [[3.0]])
    array([[343.]])
    """

    hyper = {"offset": (1e-5, 1e5)}
    whole_numbers = {"degree": (1, 10_000, "; (xᵀz + c)ᵖ for other p is in general not a kernel")}

    def __init__(self, degree=2, offset=1.0, *, offset_bounds=None): ...

    def formula(self, x, z):
        """(xᵀz + c)ᵖ."""
        return (np.add.reduce(x * z) + self._at_least_zero("offset")) ** self._whole_number("degree")

    def _phrase(self, place):
        return f"{'a line' if self.degree == 1 else f'a polynomial of degree {self.degree}'} in {place.all()}"

    def _tile(self, X, Z):
        K = X @ Z.T
        K += self._at_least_zero("offset")
        return np.power(K, self._whole_number("degree"), out=K)

    def diag(self, X):
        """(‖x‖² + c)ᵖ."""
        return (np.einsum("ij,ij->i", X, X) + self._at_least_zero("offset")) ** self._whole_number("degree")

    def _grad(self, X, Z, W):
        """∂k/∂c = p (xᵀz + c)ᵖ⁻¹."""
        p = self._whole_number("degree")
        return {"offset": p * np.sum(W * (X @ Z.T + self._at_least_zero("offset")) ** (p - 1))}

    def _dx(self, X, Z):
        p = self._whole_number("degree")
        return (p * (X @ Z.T + self._at_least_zero("offset")) ** (p - 1))[:, :, None] * Z


class QuadraticForm(Kernel):
    """k(x, z) = xᵀAz, A symmetric and positive semi-definite.

    Parameters
    ----------
    A : array-like of shape (d, d), default=None
        Checked; an indefinite A is refused with its smallest eigenvalue. None is the identity.

    Examples
    --------
    >>> from mercer.kernels import QuadraticForm
    >>> QuadraticForm([[2.0, 1.0], [1.0, 2.0]])([[1.0, 0.0]], [[1.0, 1.0]])
    array([[3.]])
    """

    def __init__(self, A=None): ...

    def _form(self, X):
        """A for the columns of X. The eigenvalues are found once for a given A, not once for every tile."""
        A, checked = getattr(self, "_checked", (None, None))
        if checked is None or A is not self.A:
            checked = semidefinite(self.A, "QuadraticForm: A", 1e-10)
            self._checked = (self.A, checked)
        if len(checked) != X.shape[1]:
            raise ValueError(f"QuadraticForm: A is {len(checked)} × {len(checked)}, but X has {X.shape[1]} columns.")
        return checked.astype(X.dtype, copy=False)

    def _tile(self, X, Z):
        return X @ Z.T if self.A is None else (X @ self._form(X)) @ Z.T

    def diag(self, X):
        """xᵀAx."""
        return np.einsum("ij,ij->i", X if self.A is None else X @ self._form(X), X)

    def _dx(self, X, Z):
        return np.broadcast_to(Z if self.A is None else Z @ self._form(Z), (len(X), *Z.shape))


class ArcCosine(Kernel):
    """k(x, z) = ‖x‖ⁿ‖z‖ⁿ Jₙ(θ)/π, θ the angle of x and z: a layer of infinitely many units (Cho and Saul, 2009).

    J₀ = π − θ,  J₁ = sin θ + (π − θ) cos θ,  J₂ = 3 sin θ cos θ + (π − θ)(1 + 2 cos² θ). Order 0 stands for step
    units, 1 for rectified linear units, 2 for their squares. A zero vector is at a right angle to every vector,
    itself included: k(0, z) = 1/2 for order 0, and 0 for the others.

    Parameters
    ----------
    order : {0, 1, 2}, default=1
        n: 0 for steps, 1 for ramps, 2 for smoother features of one layer.

    Examples
    --------
    >>> from mercer.kernels import ArcCosine
    >>> ArcCosine(0)([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    array([[1. , 0.5, 0. ]])
    """

    def __init__(self, order=1): ...

    def _order(self):
        """n, checked."""
        if isinstance(self.order, bool) or self.order not in (0, 1, 2):
            raise ValueError(f"ArcCosine: order must be 0, 1 or 2, got {self.order!r}.")
        return int(self.order)

    def _tile(self, X, Z):
        n = self._order()
        (A, a), (B, b) = _directions(X), _directions(Z)
        angle = _angles(A, B)
        angle[a == 0] = 0.5 * np.pi
        angle[:, b == 0] = 0.5 * np.pi
        J = (np.pi - angle) / np.pi
        if n == 0:
            return J
        sine, cosine = np.sin(angle) / np.pi, np.cos(angle)
        J = sine + J * cosine if n == 1 else 3.0 * sine * cosine + J * (1.0 + 2.0 * cosine**2)
        return J * (a**n)[:, None] * b**n

    def diag(self, X):
        """1, ‖x‖² or 3‖x‖⁴ for order 0, 1 or 2; 1/2 for the zero vector and order 0."""
        n = self._order()
        _, a = _directions(X)
        if n == 0:
            return np.where(a > 0, 1.0, 0.5).astype(X.dtype)
        return (1.0, 3.0)[n - 1] * a ** (2 * n)

    def _dx(self, X, Z):
        """With u = ẑ − cos θ x̂:  u/(π‖x‖ sin θ),  ‖z‖(sin θ x̂ + (π − θ) ẑ)/π,  ‖z‖²(2x J₂ + 4‖x‖ J₁ u)/π."""
        n, (A, a), (B, b) = self._order(), _directions(X), _directions(Z)
        angle = _angles(A, B)[:, :, None]
        sine, cosine = np.sin(angle), np.cos(angle)
        A, B, b = A[:, None], B[None], b[None, :, None]
        if n == 1:
            out = b * (sine * A + (np.pi - angle) * B)
        elif n == 0:
            below = sine * a[:, None, None]
            out = np.divide(B - cosine * A, below, out=np.zeros(below.shape[:2] + X.shape[1:]), where=below > 1e-12)
        else:
            J = 3.0 * sine * cosine + (np.pi - angle) * (1.0 + 2.0 * cosine**2)
            J1 = sine + (np.pi - angle) * cosine
            out = b**2 * a[:, None, None] * (2.0 * J * A + 4.0 * J1 * (B - cosine * A))
        return np.where((a == 0)[:, None, None] | (b == 0), 0.0, out) / np.pi


def _angles(A, B):
    """θ = 2 arctan(‖a − b‖/‖a + b‖) of unit vectors: arccos(aᵀb) would lose half of the digits where θ is small."""
    return 2.0 * np.arctan2(np.sqrt(distance.squared_distances(A, B)), np.sqrt(distance.squared_distances(A, -B)))


def _directions(X):
    """(X/‖x‖, ‖x‖) row by row; a zero row stays zero. Scaled first, so that squares neither overflow nor vanish."""
    largest = np.abs(X).max(axis=1, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0).astype(X.dtype)
    U = X / safe[:, None]
    norm = np.sqrt(np.einsum("ij,ij->i", U, U))
    return U / np.where(norm > 0, norm, 1.0).astype(X.dtype)[:, None], (largest * norm).astype(X.dtype, copy=False)
