"""Looks at a kernel on data (is it symmetric, is it positive semi-definite, and if not, where), and at its errors."""

import numpy as np

from mercer.bias_variance import BiasVariance, bias_variance, simulate_bias_variance
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import TiledGram, take
from mercer.solvers.witness import negative_witness

__all__ = ["BiasVariance", "bias_variance", "require_psd", "simulate_bias_variance"]


def require_psd(kernel, X, *, random_state=0):
    """Refuse a function that is not a kernel on X: k(x, z) ≠ k(z, x), or uᵀKu < 0, with the inputs that show it.

    Parameters
    ----------
    kernel : Kernel
    X : collection
        At most 300 inputs are looked at: all of them, or a random choice.
    random_state : int, default=0

    Raises
    ------
    ValueError
        If k is not symmetric.
    NotPositiveDefinite
        If a Gram matrix has a negative eigenvalue; ``witness`` holds the inputs' indices, their matrix, its eigenvalue.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.diagnostics import require_psd
    >>> from mercer.kernels import Gaussian
    >>> require_psd(Gaussian(), np.eye(3))
    """
    chosen = np.arange(len(X))
    if len(X) > 300:
        chosen = np.sort(np.random.default_rng(random_state).choice(len(X), 300, replace=False))
    inputs = kernel.validate(take(X, chosen))
    _require_symmetric(kernel, inputs, chosen)
    witness = negative_witness(TiledGram(kernel, inputs))
    if witness is None:
        return
    indices, matrix, eigenvalue = witness
    rows = chosen[np.asarray(indices)]
    raise NotPositiveDefinite(
        f"{kernel!r} is not a kernel: the Gram matrix of rows {rows.tolist()} is\n"
        f"{np.array2string(np.asarray(matrix), precision=4)}\nwith the negative eigenvalue {eigenvalue:.4g}, "
        "but uᵀKu must be >= 0 for every u. Use a function that is an inner product of features, build it from "
        "kernels (sums, products, exp), or repair the matrix (clip its eigenvalues) and use Precomputed.",
        (rows, np.asarray(matrix), float(eigenvalue)),
    )


def _require_symmetric(kernel, inputs, rows):
    """Refuse k(x, z) ≠ k(z, x), with the pair."""
    half = len(inputs) // 2
    if half == 0:
        return
    left, right = take(inputs, np.arange(half)), take(inputs, np.arange(half, len(inputs)))
    there, back = kernel(left, right), kernel(right, left).T
    tolerance = 1e-8 * max(np.abs(there).max(), np.abs(back).max(), np.finfo(float).tiny)
    difference = np.abs(there - back)
    if difference.max() > tolerance:
        i, j = np.unravel_index(np.argmax(difference), difference.shape)
        raise ValueError(
            f"{kernel!r} is not symmetric: for rows {rows[i]} and {rows[half + j]} it gives {there[i, j]:.6g} one way "
            f"and {back[i, j]:.6g} the other. A kernel is symmetric: use for example (k(x, z) + k(z, x))/2."
        )
