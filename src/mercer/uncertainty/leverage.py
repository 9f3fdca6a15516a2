"""What each row does to the fit, and whether the fit knows its own errors."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Influence:
    """What each row does to the fit; made by `influence`.

    Parameters
    ----------
    leverage : ndarray of shape (n,)
        hᵢ = ∂f(xᵢ)/∂yᵢ = 1 − λsᵢ/wᵢ, the diagonal of A = I − λW⁻¹P, for which f = A y.
    loo_residuals : ndarray of shape (n,) or (n, t)
        rᵢ = yᵢ − f₋ᵢ(xᵢ).
    cook : ndarray of shape (n,) or (n, t)
        Σⱼ wⱼ (f(xⱼ) − f₋ᵢ(xⱼ))²/(dof σ²): how far row i moves the whole fit.
    dffits : ndarray of shape (n,) or (n, t)
        (f(xᵢ) − f₋ᵢ(xᵢ))/(σ₋ᵢ [AW⁻¹Aᵀ]ᵢᵢ^½): how far it moves the fit at xᵢ, in standard errors; σ₋ᵢ² is the exact
        residual sum of squares without row i over one degree of freedom less.
    dof : float
        tr A = tr(I − λW⁻¹P), the intercept counted.
    sigma2 : float or ndarray of shape (t,)
        Noise variance, RSS/(n − 2 tr A + tr AᵀWAW⁻¹); NaN when nothing is left to estimate it from.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [9.0]], [0.0, 1.0, 0.0, 1.0, 5.0]
    >>> found = KernelRidge(Gaussian(1.0), 0.1).fit(X, y).influence()
    >>> int(found.leverage.argmax())  # the row far from the others
    4
    """

    leverage: np.ndarray
    loo_residuals: np.ndarray
    cook: np.ndarray
    dffits: np.ndarray
    dof: float
    sigma2: float | np.ndarray


@dataclass(frozen=True)
class Calibration:
    """Whether the Gaussian reading of a model, y ~ N(f, κ), knows its own errors; made by `calibration`.

    Parameters
    ----------
    z : ndarray of shape (n,) or (n, t)
        LOO z-scores: the residual of row i by the fit without it, over the standard deviation which that fit states.
    mean_square : float or ndarray of shape (t,)
        mean z²: 1 for a calibrated model. Variances times this (λ and the scale of the kernel) are right on average.
    levels : ndarray of shape (L,)
        Stated coverage.
    coverage : ndarray of shape (L,) or (L, t)
        Part of the rows inside the central Gaussian interval of each level.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.0, 0.0, 1.0, 0.0]
    >>> found = KernelRidge(Gaussian(1.0), 0.1).fit(X, y).calibration()
    >>> bool(abs(found.mean_square - (found.z**2).mean()) < 1e-12)
    True
    """

    z: np.ndarray
    mean_square: float | np.ndarray
    levels: np.ndarray
    coverage: np.ndarray

    def __str__(self):
        square = "  ".join(f"{value:.3g}" for value in np.atleast_1d(self.mean_square))
        rows = [
            f"stated {level:6.1%}  found {'  '.join(f'{found:6.1%}' for found in np.atleast_1d(row))}"
            for level, row in zip(self.levels, self.coverage, strict=True)
        ]
        return "\n".join([f"mean square of the LOO z-scores  {square}", *rows])


def calibration(fits, levels=LEVELS):
    """zᵢ = aᵢ/√sᵢ: LOO z-scores, their mean square, and the part of the rows inside Gaussian intervals.

    Parameters
    ----------
    fits : Deletion
    levels : array-like of shape (L,), default=(0.5, 0.8, 0.9, 0.95, 0.99)

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.gram.rows import constant
    >>> from mercer.kernels import Gaussian
    >>> from mercer.uncertainty import Deletion, calibration
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> y = np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(200)
    >>> print(calibration(Deletion(Gaussian(0.3), Rows(X, y[:, None], trend=constant), 0.01), [0.5, 0.9]))
    mean square of the LOO z-scores  0.931
    stated  50.0%  found  49.5%
    stated  90.0%  found  92.5%
    """
    return calibration_of(fits.a / np.sqrt(fits.s)[:, None], fits.flat, levels)


def calibration_of(z, flat, levels=LEVELS):
    """The `Calibration` of z-scores of rows that were left or held out, (n, t); ``flat`` without an axis of targets.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.uncertainty import calibration_of
    >>> calibration_of(np.array([[-1.0], [2.0]]), True, [0.9]).coverage
    array([0.5])
    """
    levels = np.atleast_1d(np.asarray(levels, dtype=float))
    if not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"levels must be between 0 and 1, got {levels}.")
    inside = (np.abs(z) <= ndtri((1.0 + levels) / 2.0)[:, None, None]).mean(axis=1)
    square = np.mean(z**2, axis=0)
    if flat:
        return Calibration(z=z[:, 0], mean_square=float(square[0]), levels=levels, coverage=inside[:, 0])
    return Calibration(z=z, mean_square=square, levels=levels, coverage=inside)


def influence(fits):
    """f(xⱼ) − f₋ᵢ(xⱼ) = Aⱼᵢ rᵢ  with  A = I − λW⁻¹P: leverage, Cook's distance, DFFITS, degrees of freedom.

    Parameters
    ----------
    fits : Deletion

    Returns
    -------
    Influence

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Rows
    >>> from mercer.gram.rows import constant
    >>> from mercer.kernels import Linear
    >>> from mercer.uncertainty import Deletion, influence
    >>> X, y = np.array([[0.0], [1.0], [2.0], [9.0]]), np.array([0.0, 1.1, 1.9, 3.0])
    >>> found = influence(Deletion(Linear(), Rows(X, y[:, None], trend=constant), 1e-6))
    >>> round(found.dof, 4), int(np.argmax(found.cook))  # all but a straight line: two degrees of freedom
    (2.0, 3)
    """
    lam, total, share, of = fits.lam, fits.total, fits.share, fits.index
    leverage = share * np.clip(1.0 - lam * fits.p / total, 0.0, 1.0)[of]
    dof = float(leverage.sum())
    norms = total - 2.0 * lam * fits.p + lam**2 * _column_norms(fits)
    g = np.maximum(share**2 * norms[of], 0.0)  # [AᵀWA]ᵢᵢ
    fitted = fits.rows.y - lam * fits.alpha / total[:, None]
    e, r, w = fits.y - fitted[of], fits.residuals, fits.weight[:, None]
    rss = np.sum(w * e**2, axis=0)
    free = len(e) - 2.0 * dof + float(np.sum(g / fits.weight))
    sigma2 = rss / free if free > 1e-9 * len(e) else np.full(len(rss), np.nan)
    along = lam * fits.alpha - lam**2 * fits.project(fits.alpha / total[:, None])  # AᵀWe, summed over a point
    without = rss + 2.0 * r * share[:, None] * along[of] + r**2 * (g[:, None] - w)  # RSS of the fit without row i
    noise = np.sqrt(np.maximum(without, 0.0) / (free - 1.0)) if free > 1.0 else np.full(r.shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        cook = r**2 * g[:, None] / (dof * sigma2)
        dffits = leverage[:, None] * r * w / (noise * np.sqrt(g)[:, None])
    return Influence(
        leverage=leverage,
        loo_residuals=fits.shape(r),
        cook=fits.shape(cook),
        dffits=fits.shape(dffits),
        dof=dof,
        sigma2=float(sigma2[0]) if fits.flat else sigma2,
    )


def _column_norms(fits):
    """Σ_q P_qp²/W_q of every point p, by tiles of columns."""
    size = len(fits.total)
    out = np.empty(size)
    step = int(np.clip(fits.entries // size, 1, 1024))
    for i in range(0, size, step):
        P = fits.columns(np.arange(i, min(i + step, size)))
        out[i : i + step] = np.einsum("ij,ij,i->j", P, P, 1.0 / fits.total)
    return out
