"""The weights of the rows: those given to the page, else those that the fit remembers."""

import numpy as np

GIVEN, REMEMBERED, UNKNOWN = "given", "remembered", "unknown"


def weights_of(model, n, given=None):
    """(weights or None, where they are from or None); equal weights of 1 are none."""
    if given is not None:
        w = np.asarray(given, dtype=float)
        if w.shape != (n,) or not np.isfinite(w).all() or (w < 0).any() or not w.any():
            raise ValueError(f"sample_weight must be {n} finite numbers >= 0, not all 0; got shape {w.shape}.")
        return (None, None) if np.all(w == 1.0) else (w, GIVEN)
    found = _remembered(model, n)
    if found is not None:
        return (None, None) if np.all(found == 1.0) else (found, REMEMBERED)
    return None, UNKNOWN if _counts_otherwise(model, n) else None


def _remembered(model, n):
    """The weights that a fit keeps, 0 for rows that it left out; None where it keeps none, or noise variances."""
    if np.ndim(getattr(model, "lam", None)) or np.ndim(getattr(model, "noise", None)):
        return None
    found = getattr(model, "row_weight_", None)
    # another number: these are not the rows of the fit; what follows says so
    return found if found is not None and len(found) == n else None


def _counts_otherwise(model, n):
    """Whether the sum of the weights, of which λ′ = λ/Σw tells, is not the number of rows."""
    found = getattr(model, "regularization_", None) or {}
    lam, over = found.get("lam"), found.get("lam_over_n")
    if not lam or not over or not np.isfinite(lam) or np.ndim(getattr(model, "lam", None)):
        return False
    return abs(lam / over - n) > 1e-6 * n and not np.ndim(getattr(model, "noise", None))


def average(values, weight=None):
    """Σ wᵢ vᵢ / Σ wᵢ; the mean without weights."""
    return float(np.mean(values)) if weight is None else float(np.average(values, weights=weight))


def part(weight, index):
    """The weights of some rows, or None."""
    return None if weight is None else weight[index]


def counted(weight, n):
    """(Σw)²/Σw², how many equal rows say as much; n without weights."""
    return float(n) if weight is None else float(weight.sum() ** 2 / np.sum(weight**2))
