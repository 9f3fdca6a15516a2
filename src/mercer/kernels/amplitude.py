"""The amplitude of a kernel expression, and its additive parts."""

import copy

from mercer.kernels.algebra import Product, Scaled, Sum
from mercer.kernels.dot import Constant


def rescale(kernel, factor):
    """Return c·k as the same expression with other amplitudes, exactly for a power of two; None if it has none.

    Only amplitudes that are free and have no bounds of their own are touched: what a user has pinned down stays.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.kernels.amplitude import rescale
    >>> rescale(2.0 * Gaussian(1.0), 4.0), rescale(Gaussian(1.0), 4.0)
    (8.0 * Gaussian(1.0), None)
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
    """[k₁, k₂, …] with Σ kᵢ = k: sums taken apart, also under an amplitude.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.kernels.amplitude import additive_parts
    >>> additive_parts(2.0 * (Gaussian(1.0) + Linear()))
    [2.0 * Gaussian(1.0), 2.0 * Linear()]
    """
    if isinstance(kernel, Sum):
        return additive_parts(kernel.left) + additive_parts(kernel.right)
    if isinstance(kernel, Scaled) and isinstance(kernel.kernel, Sum | Scaled):
        inside = additive_parts(kernel.kernel)
        return [Scaled(part, kernel.scale) for part in inside] if len(inside) > 1 else [kernel]
    return [kernel]
