"""Bias and variance against λ: why there is a best λ at all."""

import numpy as np

from mercer.plots._base import BLUE, GREY, INK, LAMBDA, ORANGE, Display, format_number


class BiasVarianceDisplay(Display):
    """error(λ) = bias²(λ) + variance(λ): the three curves, with the least error marked.

    How to read: to the left the model follows the noise and its variance is large, to the right it is too stiff and its
    bias is large; the error is their sum, and smallest where one gains as fast as the other loses.

    Parameters
    ----------
    lam : ndarray of shape (L,)
        λ, ascending.
    bias2, variance, error : ndarray of shape (L,)
        Means over the inputs, in squared units of y.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it is drawn.
    bias2_, variance_, error_ : Line2D
        The curves.
    best_ : Line2D
        The mark of the least error.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.plots import BiasVarianceDisplay
    >>> lam = np.geomspace(0.01, 100, 50)
    >>> table = {"lam": lam, "bias2": (lam / (1 + lam)) ** 2, "variance": 1 / (1 + lam) ** 2}
    >>> table["error"] = table["bias2"] + table["variance"]
    >>> round(float(BiasVarianceDisplay.from_table(table).best_lam), 2)
    1.1
    """

    def __init__(self, *, lam, bias2, variance, error): ...

    @classmethod
    def from_table(cls, table, *, ax=None):
        """Draw a table of bias and variance.

        Parameters
        ----------
        table : mapping
            Columns lam, bias2, variance and error, of shape (L,), or (L, …) with one value for each input (and
            target), of which the mean is drawn. λ = 0 has no place on a logarithmic axis and is left out.
        ax : Axes, default=None
            None is a new figure.

        Returns
        -------
        BiasVarianceDisplay
        """
        if "lam" not in table:
            raise ValueError(f"the table has no column lam, only {', '.join(table)}: a curve needs several λ.")
        lam = np.asarray(table["lam"], dtype=float)
        order = np.argsort(lam)
        order = order[lam[order] > 0]
        columns = {}
        for name in ("bias2", "variance", "error"):
            column = np.asarray(table[name], dtype=float)
            if column.shape[:1] != lam.shape:
                raise ValueError(f"{name} has shape {column.shape}, but there are {len(lam)} lam.")
            columns[name] = column.reshape(len(lam), -1).mean(axis=1)[order]
        return cls(lam=lam[order], **columns).plot(ax)

    @property
    def best_lam(self):
        """λ of the least error among those given."""
        return float(self.lam[int(np.nanargmin(self.error))])

    def plot(self, ax=None):
        """Draw on ``ax``, or on a new figure; return self."""
        ax = self._start(ax)
        (self.bias2_,) = ax.plot(self.lam, self.bias2, color=BLUE, linewidth=2, linestyle=(0, (6, 2)), label="bias²")
        (self.variance_,) = ax.plot(self.lam, self.variance, color=ORANGE, linewidth=2, linestyle=(0, (1.2, 1.2)),
                                    label="variance")  # fmt: skip
        (self.error_,) = ax.plot(self.lam, self.error, color=INK, linewidth=2.4, label="error, their sum")
        i = int(np.nanargmin(self.error))
        (self.best_,) = ax.plot(self.lam[i], self.error[i], "o", color=INK, markersize=9, markerfacecolor="white",
                                markeredgewidth=2, zorder=5,
                                label=f"least, λ = {format_number(self.lam[i])}")  # fmt: skip
        ax.set(xscale="log", xlabel=LAMBDA, ylabel="mean over x  (squared units of y)")
        if self.lam[i] > 1e5 * self.lam[0]:  # five decades to the left of the best λ are enough
            ax.set_xlim(left=1e-5 * self.lam[i])
        ax.set_ylim(0, min(1.08 * np.nanmax(self.error), 8.0 * self.error[i]) or 1.0)
        below = {"transform": ax.transAxes, "fontsize": 9, "color": GREY, "va": "bottom"}
        ax.text(0.01, 1.0, "← follows the noise", ha="left", **below)
        ax.text(0.99, 1.0, "too stiff →", ha="right", **below)
        return self._finish(ax, "Bias and variance: why there is a best λ", pad=18)
