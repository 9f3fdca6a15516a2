"""What the inverse of a fit says of it: how many digits it has, and every row under the model without it."""

from typing import NamedTuple

import numpy as np

from mercer._warn import warn
from mercer.exceptions import NumericalWarning
from mercer.gram.rows import power_of_two
from mercer.solvers.base import column_norms
from mercer.solvers.factoring import Probe
from mercer.solvers.pivoted import leading_columns

ROUGH = 1e-8  # ‖f‖² with a larger one is computed another way,
RANK = 512  # by a factor of K of at most so many columns


class Accuracy(NamedTuple):
    """Relative errors to be expected, from rounding alone.

    fitted : float
        ‖δf‖/‖y − Hb‖ of the fitted values, and of predictions among the rows.
    dual_coef : float
        ‖δα‖/‖α‖.
    norm : float
        Of √(αᵀKα).
    """

    fitted: float
    dual_coef: float
    norm: float


class LeftOut(NamedTuple):
    """What is known of each row from the others.

    residuals : ndarray of shape (n, t)
        yᵢ − f₋ᵢ(xᵢ); nan where row i alone determines a direction of the trend.
    leverage : ndarray of shape (n,)
        ∂f(xᵢ)/∂yᵢ.
    variance : ndarray of shape (n,)
        Of yᵢ given the other rows, noise included, in the Gaussian reading.
    """

    residuals: np.ndarray
    leverage: np.ndarray
    variance: np.ndarray


def examine_fit(K, Kinv, alpha, y, H=None, b=None):
    """(√(αᵀKα) of each column, Accuracy or None) of α = (K + λI)⁻¹ rest, rest = y − Hb.

    αᵀKα = αᵀ(rest − λα) loses digits where α is much larger than what it explains (K of low rank, λ small): there it is
    ‖Fᵀα‖² with F Fᵀ ≈ K from pivots. Errors r of the system change K^½α by at most ‖K^½(K + λI)⁻¹r‖ <= ‖r‖/2√λ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers import Cholesky
    >>> from mercer.solvers.fitted import examine_fit
    >>> K, y = DenseGram.from_matrix(np.ones((3, 3))), np.array([[1.0], [2.0], [4.0]])
    >>> Kinv = Cholesky().resolvent(K)(1e-8)
    >>> norms, found = examine_fit(K, Kinv, Kinv @ y, y)
    >>> norms.round(6), found.fitted < 1e-6  # the mean of y
    (array([2.333333]), True)
    """
    y = np.asarray(y, dtype=float)
    left_over = y if H is None or not H.shape[1] else y - H @ b
    unit, size = power_of_two(y), float(power_of_two(K.diag()[:, None])[0])  # so that no square overflows
    a, rest, lam = (alpha * size) / unit, left_over / unit, Kinv.lam / size
    squares, errors = np.einsum("ij,ij->j", a, rest - lam * a), Kinv.errors(alpha, left_over)
    if errors is None:
        return unit / np.sqrt(size) * np.sqrt(np.maximum(squares, 0.0)), None
    whole = column_norms(y / unit)
    rounded = np.finfo(float).eps * whole  # a sum with the trend has that error
    wrong, left = errors[0] / unit + rounded, errors[1] / unit
    length, target = column_norms(a), np.maximum(column_norms(rest), 1e-9 * whole)  # no more digits than y has
    share = _ratio(wrong * length, squares)
    if share.max(initial=0.0) > ROUGH:
        F, missed = leading_columns(K, RANK)
        halves = np.square(column_norms((F.T @ alpha) / unit * np.sqrt(size)))
        bound = wrong / (2.0 * np.sqrt(lam)) if lam > 0 else np.full_like(wrong, np.inf)
        dropped = (len(a) * np.finfo(float).eps + missed / size) * np.square(length)  # what is not in F
        other = _ratio(bound, np.sqrt(halves)) + _ratio(dropped, halves)
        if not missed or other.max() < share.max():
            squares, share = halves, other
    condition = Kinv.info.get("condition") or Kinv.info.get("condition_bound") or np.inf
    dual = condition * (np.finfo(float).eps + _ratio(left, (1.0 + lam) * length))
    found = Accuracy(*(float(np.minimum(e, 1.0).max(initial=0.0)) for e in (_ratio(wrong, target), dual, share)))
    _warn_of_few_digits(found, K, Kinv.lam)
    return unit / np.sqrt(size) * np.sqrt(np.maximum(squares, 0.0)), found


def examine_interpolant(K, condition, alpha, y, norm):
    """Accuracy of Kα = y by a factor of this condition, ‖L⁻¹y‖ of each column being ``norm``; few digits are a warning.

    An error E of K changes ‖f‖² by αᵀEα.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers.fitted import examine_interpolant
    >>> K, y = DenseGram.from_matrix(4.0 * np.eye(3)), np.ones((3, 1))
    >>> examine_interpolant(K, 1.0, y / 4, y, np.full(1, 0.75**0.5)).fitted < 1e-14
    True
    """
    unit, (wrong, left) = np.finfo(float).eps, Probe(K).errors(0.0, alpha, y)
    largest = float(K.diag().max())
    dual = condition * (unit + _ratio(left, largest * column_norms(alpha)))
    share = _ratio(unit * largest * np.square(np.abs(alpha).sum(axis=0)), np.square(norm))
    errors = _ratio(wrong, column_norms(y)), dual, share
    found = Accuracy(*(float(np.minimum(error, 1.0).max(initial=0.0)) for error in errors))
    _warn_of_few_digits(found, K, 0.0)
    return found


def norms(K, alpha):
    """√(αᵀKα) of each column: ‖Fᵀα‖ with F Fᵀ ≈ K from pivots where sums of Kα cancel beyond `ROUGH`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers.fitted import norms
    >>> norms(DenseGram.from_matrix(np.ones((2, 2))), np.array([[2.0], [1.0]]))
    array([3.])
    """
    unit, size = power_of_two(alpha), float(power_of_two(K.diag()[:, None])[0])  # so that no square overflows
    a = alpha / unit
    squares = np.einsum("ij,ij->j", a, (K @ a) / size)
    if _ratio(np.finfo(float).eps * np.square(np.abs(a).sum(axis=0)), squares).max(initial=0.0) > ROUGH:
        F, missed = leading_columns(K, RANK)
        if not missed:
            squares = np.square(column_norms(F.T @ a)) / size
    return unit * np.sqrt(size) * np.sqrt(np.maximum(squares, 0.0))


def _ratio(part, whole):
    """part/whole; 0 where there is no part, and 1 where there is nothing else."""
    with np.errstate(over="ignore", invalid="ignore"):
        out = np.divide(part, whole, out=np.ones_like(part), where=whole > 0)
    return np.where(part == 0, 0.0, np.where(np.isfinite(out), out, 1.0))


def _warn_of_few_digits(found, K, lam):
    """Warn where fitted values have fewer than six digits."""
    if found.fitted <= 1e-6:
        return
    digits = [max(0, int(-np.log10(max(error, 1e-16)))) for error in found]
    what = "no correct digit" if digits[0] == 0 else f"about {digits[0]} correct digit{'s' * (digits[0] > 1)}"
    more = "Use a larger lam" if lam > 0 else "Use KernelRidge(lam > 0)"
    warn(
        f"fitted values and predictions have {what} ({K!r}, lam = {lam:.3g}), dual_coef_ {digits[1]}, the norm "
        f"{digits[2]}: α is so large that rounding in sums of K α shows. {more}, or merge nearly equal rows.",
        NumericalWarning,
    )


# ---------------------------------------------------------------------------------------- rows left out
def left_out(P, rows, beta):
    """e = [(y − ȳ) + λβ/√c] / [(1 − w/c) + (w/c) λs],  s = diag P: for a row that is its own point, β/(√c s).

    Parameters
    ----------
    P : Inverse
        Of S K S + λI of the points, S = diag(√c), the trend projected out.
    rows : Rows
    beta : ndarray of shape (m, t)
        P S ȳ.

    Returns
    -------
    LeftOut

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.solvers import Explicit
    >>> from mercer.solvers.fitted import left_out
    >>> rows, P = Rows(np.array([[0.0], [9.0]]), np.array([[1.0], [3.0]])), Explicit(np.eye(2) / 2, lam=1.0)
    >>> found = left_out(P, rows, P @ rows.y)
    >>> found.residuals.ravel(), found.leverage, found.variance
    (array([1., 3.]), array([0.5, 0.5]), array([2., 2.]))
    """
    of, lam, share = rows.index, P.lam, rows.shares()
    s = np.maximum(P.diag(), 0.0) if rows.n > rows.q else np.zeros(rows.n)  # else the trend goes through every point
    beta = beta / np.sqrt(rows.weights())[:, None]
    rest = (1.0 - share) + share * lam * s[of]
    s = np.where(s > 0, s, np.nan)  # no fit without a row that alone determines a direction of the trend
    with np.errstate(divide="ignore", invalid="ignore"):
        within = ((rows.row_y - rows.y[of]) + lam * beta[of]) / rest[:, None]
        alone = (beta / s[:, None])[of]  # λ cancels, and may be 0
        variance = np.where(share == 1.0, 1.0 / (rows.row_weight * s[of]), lam / rows.row_weight / rest)
    return LeftOut(np.where((share == 1.0)[:, None], alone, within), 1.0 - rest, variance)


def constant_model(rows):
    """(b, LeftOut) of λ = ∞: f = b, the weighted mean of y, or 0 without a trend.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.gram.rows import constant
    >>> from mercer.solvers.fitted import constant_model
    >>> constant_model(Rows(np.array([[0.0], [1.0]]), np.array([[1.0], [3.0]]), trend=constant))[0]
    array([[2.]])
    """
    y, w = rows.row_y, rows.row_weight
    unknown = np.full(len(y), np.inf)
    if not rows.q:
        return np.zeros((0, rows.t)), LeftOut(y.copy(), np.zeros(len(y)), unknown)
    b, leverage = (w @ y / w.sum())[None], w / w.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return b, LeftOut((y - b) / (1.0 - leverage)[:, None], leverage, unknown)
