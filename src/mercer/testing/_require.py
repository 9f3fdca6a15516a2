"""What the checks say when a promise is broken."""

import numpy as np


def require(condition, thing, what):
    """AssertionError naming the thing and the property, unless the condition holds; python -O drops ``assert``."""
    if not condition:
        raise AssertionError(f"{thing!r}: {what}.")


def close(a, b, thing, what, tol=1e-9, size=None):
    """Require |a − b| <= tol · size everywhere, size the largest |b| if it is not given; infinities are equal."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    finite = np.isfinite(b)
    size = max(float(np.abs(b[finite]).max(initial=0.0)), 1e-300) if size is None else size
    require(np.array_equal(np.isfinite(a), finite), thing, f"{what}; where it is not finite")
    require(np.array_equal(a[~finite], b[~finite]), thing, f"{what}; where it is infinite")
    worst = float(np.abs(a[finite] - b[finite]).max(initial=0.0))
    require(worst <= tol * size, thing, f"{what}; off by {worst:.3g}, allowed is {tol * size:.3g}")
