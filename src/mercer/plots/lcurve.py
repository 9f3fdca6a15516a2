"""The L-curve: how much norm the last bit of residual costs."""

import numpy as np

from mercer.plots._base import BLUE, GREEN, GREY, INK, ORANGE, PathDisplay, format_number, plain_ticks
from mercer.selection import LCurve
from mercer.selection.shown import point_at


class LCurveDisplay(PathDisplay):
    """‖f‖ against ‖y − f‖ for all λ, on logarithmic axes, with the corner marked.

    How to read: from right to left λ falls; along the flat part the fit improves at no price, along the steep part the
    norm explodes for nothing, and the corner between them is the λ to take.

    Parameters
    ----------
    lams, residual, norm : ndarray of shape (L,)
        λ, ‖y − f‖ and ‖f‖.
    corner : Choice, default=None
        What `LCurve` chose.
    corner_at : (float, float), default=None
        Residual and norm there.
    lam, lam_at : float and (float, float), default=None
        λ of a fitted model, and its place.
    solution : str, default="f"
        What has the norm: f of a kernel, x of a plain matrix.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it is drawn.
    line_ : Line2D
        The curve.
    corner_, model_ : Line2D or None
        The marks.
    labels_ : list of Annotation
        λ along the curve.

    Examples
    --------
    >>> from mercer.datasets import load_mcycle
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import LCurveDisplay
    >>> from mercer.selection import path
    >>> X, y = load_mcycle(return_X_y=True)
    >>> display = LCurveDisplay.from_path(path(Gaussian(5.0), X, y))
    >>> display.ax_.get_xlabel()
    'residual  ‖y − f‖  (units of y)'
    """

    def __init__(self, *, lams, residual, norm, corner=None, corner_at=None, lam=None, lam_at=None, solution="f"): ...

    @classmethod
    def from_path(cls, path, *, lam=None, rule=None, ax=None, **line_kwargs):
        """Draw the L-curve of a `Path`.

        Parameters
        ----------
        path : Path
        lam : float, default=None
            λ of a model to mark as well.
        rule : LCurve, default=None
            Finds the corner.
        ax : Axes, default=None
            None is a new figure.
        **line_kwargs
            For the curve.

        Returns
        -------
        LCurveDisplay
        """
        corner = (LCurve() if rule is None else rule).choose(path)
        display = cls(
            lams=path.lams,
            residual=path.table["residual"],
            norm=path.table["norm"],
            corner=corner,
            corner_at=point_at(path, corner.lam),
            lam=lam,
            lam_at=None if lam is None else point_at(path, lam),
            solution="f" if path.matrix is None else "x",
        )
        return display.plot(ax, **line_kwargs)

    def plot(self, ax=None, **line_kwargs):
        """Draw on ``ax``, or on a new figure; return self."""
        ax = self._start(ax)
        shown = (self.residual > 1e-8 * self.residual.max(initial=0.0)) & (self.norm > 0)  # not what is rounding
        x, y = self.residual[shown], self.norm[shown]
        (self.line_,) = ax.plot(x, y, **{"color": BLUE, "linewidth": 2.2, "label": "all λ", **line_kwargs})
        if len(x):
            ax.set(xscale="log", yscale="log")
            plain_ticks(ax.xaxis, x)
            plain_ticks(ax.yaxis, y)
        marked = [place for place in (self.corner_at, self.lam_at) if place is not None]
        self.labels_ = _write_lams(ax, x, y, self.lams[shown], marked)
        self.corner_ = self._mark_corner(ax)
        self.model_ = None
        if self.lam_at is not None and min(self.lam_at) > 0:
            (self.model_,) = ax.plot(*self.lam_at, "D", color=GREEN, markersize=6, zorder=6, markeredgecolor="white",
                                     label=f"the model, λ = {format_number(self.lam)}")  # fmt: skip
        if self.solution == "f":
            ax.set(xlabel="residual  ‖y − f‖  (units of y)", ylabel="norm  ‖f‖  in the space of the kernel")
        else:
            ax.set(xlabel="residual  ‖Ax − b‖  (units of b)", ylabel="norm  ‖x‖  (units of x)")
        return self._finish(ax, "L-curve: what the fit costs", loc="upper right")

    def _mark_corner(self, ax):
        """Mark the corner: filled if the rule is sure, hollow if not."""
        if self.corner is None or self.corner_at is None or not min(self.corner_at) > 0:
            return None
        sure = self.corner.ok
        words = f"corner, λ = {format_number(self.corner.lam)}" + (
            "" if sure else f"  ({self.corner.status.replace('_', ' ')})"
        )
        (mark,) = ax.plot(*self.corner_at, "o", color=ORANGE, markersize=11, zorder=5, label=words,
                          markerfacecolor=ORANGE if sure else "white", markeredgewidth=2)  # fmt: skip
        return mark


def _write_lams(ax, x, y, lams, avoid):
    """Write λ at whole powers of ten along the curve, an eighth of the picture from one another and from the marks."""
    if len(x) < 2:
        return []

    def share(values, of):
        """Where values are on the log axis of others, from 0 to 1."""
        return (np.log10(values) - np.log10(of).min()) / max(np.ptp(np.log10(of)), 1e-12)

    u, v = share(x, x), share(y, y)
    places = [(share(a, x), share(b, y)) for a, b in avoid if min(a, b) > 0]
    out = []
    for power in range(int(np.ceil(np.log10(lams[0]) - 1e-9)), int(np.floor(np.log10(lams[-1]) + 1e-9)) + 1):
        i = int(np.argmin(np.abs(np.log10(lams) - power)))
        if any(np.hypot(u[i] - a, v[i] - b) < 0.13 for a, b in places):
            continue
        places.append((u[i], v[i]))
        ax.plot(x[i], y[i], "o", color=GREY, markersize=4, zorder=3)
        out.append(ax.annotate(format_number(10.0**power), (x[i], y[i]), xytext=(6, 5), textcoords="offset points",
                               fontsize=8.5, color=INK))  # fmt: skip
    return out
