"""The trend of a Gaussian process: nothing, a constant, a plane, or the features of a basis. And units of y."""

import copy

import numpy as np

from mercer.kernels.algebra import Product, Scaled, Sum
from mercer.kernels.basis import Features
from mercer.kernels.dot import Constant


class Trend:
    """x ↦ h(x): 1; (1, (x − c)/u); or φ(x) of a basis. Made by `make_trend`.

    Attributes
    ----------
    centre : ndarray of shape (d,) or None
        c of a linear trend, so that far from the origin no digit is lost.
    unit : ndarray or None
        u, powers of two, so that no unit of x loses digits: (d,) of a linear trend; (q,) of a basis, whose features are
        divided by it.
    """

    def __init__(self, basis=None, centre=None, unit=None):
        self.basis, self.centre, self.unit = basis, centre, unit

    def __call__(self, X):
        """H, of shape (m, q)."""
        if self.basis is not None:
            H = np.asarray(self.basis.features(X), dtype=float)
            return H if self.unit is None else H / self.unit
        ones = np.ones((len(X), 1))
        return ones if self.centre is None else np.hstack([ones, (X - self.centre) / self.unit])

    def dx(self, X):
        """∂h/∂x, of shape (m, q, d)."""
        m, d = X.shape
        if self.basis is not None:
            dH = self.basis.features_dx(X)
            return dH if self.unit is None else dH / self.unit[:, None]
        if self.centre is None:
            return np.zeros((m, 1, d))
        return np.broadcast_to(np.vstack([np.zeros((1, d)), np.diag(1.0 / self.unit)]), (m, d + 1, d))

    def natural(self, b):
        """Return the coefficients in the units of x: of a linear trend those of 1 and x − c."""
        if self.unit is None:
            return b
        return b / (self.unit if self.basis is not None else np.append(1.0, self.unit))[:, None]


def make_trend(trend, X):
    """Return the `Trend` for None, "constant", "linear" or a basis, fitted to the rows X; None for none."""
    if trend is None:
        return None
    if isinstance(trend, Features):
        made = Trend(basis=trend, unit=_powers_of_two(Trend(basis=trend)(X)))
    elif trend == "constant":
        return Trend()
    else:
        if not (isinstance(X, np.ndarray) and X.ndim == 2):
            raise TypeError('trend="linear" needs rows of numbers; use "constant" or a FeatureMap for objects.')
        still = np.flatnonzero(np.ptp(X, axis=0) == 0)
        if still.size:
            raise ValueError(
                f'trend="linear": column {still[0]} of X has one value only, so its slope cannot be told from the '
                'constant; leave the column out, or use trend="constant".'
            )
        centre = X.mean(axis=0)
        made = Trend(centre=centre, unit=_powers_of_two(X - centre))
    H = made(X)
    if not np.isfinite(H).all():
        raise ValueError(f"trend: row {int(np.argwhere(~np.isfinite(H))[0][0])} of its features is not finite.")
    rank = int(np.linalg.matrix_rank(H))
    if rank < H.shape[1]:
        raise ValueError(
            f"trend: its {H.shape[1]} columns have rank {rank} on the n_samples = {len(X)} rows; use fewer columns or "
            "more rows."
        )
    return made


def _powers_of_two(H):
    """The next power of two above the largest entry of each column; 1 where that is 0 or not finite."""
    size = np.abs(H).max(axis=0, initial=0.0)
    return np.ldexp(1.0, np.frexp(np.where((size > 0) & np.isfinite(size), size, 0.5))[1])


def rescale(kernel, factor):
    """Return c·k as the same expression with other amplitudes, exactly for a power of two; None if it has none.

    Only amplitudes that are free and have no bounds of their own are touched: what a user has pinned down stays.
    """
    if isinstance(kernel, Sum):
        left, right = rescale(kernel.left, factor), rescale(kernel.right, factor)
        return None if left is None or right is None else Sum(left, right)
    if isinstance(kernel, Product):
        for name in ("left", "right"):
            part = rescale(getattr(kernel, name), factor)
            if part is not None:
                return Product(part, kernel.right) if name == "left" else Product(kernel.left, part)
        return None
    name = {Scaled: "scale", Constant: "value"}.get(type(kernel))
    if name is None or getattr(kernel, f"{name}_bounds") is not None:
        return None
    other = copy.copy(kernel)
    setattr(other, name, float(getattr(kernel, name)) * factor)
    return other


def amplitudes(kernel):
    """Which of θ `rescale` changes, as a mask; None if the kernel cannot be rescaled."""
    other = rescale(kernel, 4.0)
    return None if other is None else other.theta - kernel.theta > 1.0


def additive_parts(kernel):
    """[k₁, k₂, …] with Σ kᵢ = k: sums taken apart, also under an amplitude."""
    if isinstance(kernel, Sum):
        return additive_parts(kernel.left) + additive_parts(kernel.right)
    if isinstance(kernel, Scaled) and isinstance(kernel.kernel, Sum | Scaled):
        inside = additive_parts(kernel.kernel)
        return [Scaled(part, kernel.scale) for part in inside] if len(inside) > 1 else [kernel]
    return [kernel]
