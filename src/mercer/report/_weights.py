"""What rows count: weights given to the page, else those that the fit remembers, and noise variances."""

import numpy as np

GIVEN, REMEMBERED, UNKNOWN = "given", "remembered", "unknown"
LARGEST = 1e150  # stands for λ = ∞, the constant model


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
    """The weights that a fit keeps, 0 for rows that it left out; None where it keeps none."""
    found = getattr(model, "row_weight_", None)
    if found is None or len(found) != n:  # another number: these are not the rows of the fit; what follows says so
        return None
    noise = row_noise(model, n)
    if noise is None:
        return found
    found = found * noise / shared_lam(model)  # wᵢ of wᵢλ/λᵢ, whole where it was
    whole = np.rint(found)
    return np.where(np.abs(found - whole) <= 1e-12 * whole, whole, found)


def shared_lam(model):
    """λ of the fit as a finite number; of one λ for each row the geometric mean."""
    return float(min(model.lam_, LARGEST))


def row_noise(model, n=None):
    """λᵢ of the n rows with the common factor that was learnt; None where all rows share λ."""
    found = model.row_lam_
    if found is not None and n is not None and len(found) != n:
        raise ValueError(
            f"the model was fitted on {len(found)} rows with a λ for each, X and y have {n}: a report needs the rows "
            "of the fit."
        )
    return found


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
