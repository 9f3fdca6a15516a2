"""The Picard plot: does y decay faster than the eigenvalues, and where does noise begin?"""

import numpy as np

from mercer.plots._base import BLUE, GREEN, INK, ORANGE, PathDisplay, format_number


class PicardDisplay(PathDisplay):
    """eᵢ, |uᵢᵀy| and |uᵢᵀy|/√eᵢ against i: the eigenvalues of K, what of y lies along each, and the price in norm.

    How to read: as long as |uᵢᵀy| falls, those directions hold signal; where it levels off only noise is left, and the
    ratio, whose squares add up to ‖f‖² at λ = 0, begins to climb. λ should cut there, at eᵢ = λ.

    Parameters
    ----------
    eigenvalues : ndarray of shape (k,)
        eᵢ, descending; squares of the singular values of a plain matrix.
    coefficients : ndarray of shape (k,)
        |uᵢᵀy|; the root mean square over targets.
    lam : float, default=None
        λ to mark; 0 has no mark.
    matrix : bool, default=False
        Whether it is of a plain matrix: singular values are shown.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it is drawn.
    eigenvalues_, coefficients_, ratio_ : Line2D
        The three series.
    lam_ : Line2D or None
        The mark of λ.

    Examples
    --------
    >>> from mercer.datasets import load_mcycle
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import PicardDisplay
    >>> from mercer.selection import path
    >>> X, y = load_mcycle(return_X_y=True)
    >>> PicardDisplay.from_path(path(Gaussian(5.0), X, y), lam=0.1).lam_.get_label()
    'eᵢ = λ = 0.1'
    """

    def __init__(self, *, eigenvalues, coefficients, lam=None, matrix=False): ...

    @classmethod
    def from_path(cls, path, *, lam=None, ax=None):
        """Draw the Picard plot of a `Path`.

        Parameters
        ----------
        path : Path
        lam : float, default=None
            λ to mark.
        ax : Axes, default=None
            None is a new figure.

        Returns
        -------
        PicardDisplay
        """
        size = np.sqrt(np.mean(path.coefficients**2, axis=1))
        return cls(eigenvalues=path.eigenvalues, coefficients=size, lam=lam, matrix=path.matrix is not None).plot(ax)

    @property
    def ratio(self):
        """|uᵢᵀy|/√eᵢ; NaN where eᵢ is zero."""
        root = np.sqrt(np.maximum(self.eigenvalues, 0.0))
        return np.divide(self.coefficients, root, out=np.full(len(root), np.nan), where=root > 0)

    def plot(self, ax=None):
        """Draw on ``ax``, or on a new figure; return self."""
        ax = self._start(ax)
        i = np.arange(1, len(self.eigenvalues) + 1)
        small = {"markersize": 4 if len(i) <= 200 else 2, "linewidth": 1.0}
        values, name = (np.sqrt(self.eigenvalues), "σᵢ") if self.matrix else (self.eigenvalues, "eᵢ")
        first = f"{name}, {'singular value of A' if self.matrix else 'eigenvalue of K'}"
        target, root = ("b", "σᵢ") if self.matrix else ("y", "√eᵢ")
        (self.eigenvalues_,) = ax.plot(i, _positive(values), "-", color=INK, linewidth=2, label=first)
        (self.coefficients_,) = ax.plot(i, _positive(self.coefficients), "o", color=BLUE, **small,
                                        label=f"|uᵢᵀ{target}|, share of {target}")  # fmt: skip
        (self.ratio_,) = ax.plot(i, _positive(self.ratio), "^", color=ORANGE, **small, fillstyle="none",
                                 label=f"|uᵢᵀ{target}|/{root}, its price in norm")  # fmt: skip
        self.lam_ = None
        if self.lam is not None and self.lam > 0:  # λ = 0 cuts nowhere
            cut = np.interp(-np.log(self.lam), -np.log(np.maximum(self.eigenvalues, np.finfo(float).tiny)), i)
            mark = "σᵢ² = λ" if self.matrix else "eᵢ = λ"
            self.lam_ = ax.axvline(cut, color=GREEN, linewidth=1.8, linestyle=(0, (5, 2)),
                                   label=f"{mark} = {format_number(self.lam)}")  # fmt: skip
        ax.set(xlabel="i  (direction uᵢ, smooth to rough)", ylabel=f"size  (units of K and of {target})", yscale="log")
        if self.matrix:
            ax.set_ylabel("size  (units of A and of b)")
        return self._finish(ax, "Picard plot: where signal ends and noise begins")


def _positive(values):
    """What a logarithmic axis can show; the rest, and what is nothing but rounding, is NaN."""
    with np.errstate(invalid="ignore"):
        return np.where(values > 1e-17 * np.nanmax(values, initial=0.0), values, np.nan)
