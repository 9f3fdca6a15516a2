"""ProbabilityDisplay: the probability of each class over one input, or over a plane of two."""

import numpy as np

from mercer.inference.likelihood import LINKS
from mercer.plots._base import CYCLE, DASHES, INK, Display, grid_over, rows_like

MARKERS = "osD^vPX"


class ProbabilityDisplay(Display):
    """P(class | x): curves over one input with the band of ±2 latent standard deviations, or shades over a plane.

    Parameters
    ----------
    grid : tuple of ndarray
        One or two axes.
    prob : ndarray of shape (..., C)
        On the grid.
    classes : ndarray of shape (C,)
        The labels, in the order of the curves or shades.
    band : pair of ndarray or None
        σ(m ± 2s) of the second of two classes over one input: where the probability itself may lie.
    X, y : ndarray or None
        The rows that are drawn.
    names : sequence of str
        Of the inputs.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    lines_, shades_, boundary_, points_
        What was drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mercer import GaussianProcessClassifier
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import ProbabilityDisplay
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["cold", "cold", "warm", "warm"]
    >>> model = GaussianProcessClassifier(4.0 * Gaussian(1.0), criterion=None).fit(X, y)
    >>> display = ProbabilityDisplay.from_estimator(model, X, y, names=["temperature"])
    >>> display.ax_.get_ylabel()
    'probability'
    """

    def __init__(self, *, grid, prob, classes, band=None, X=None, y=None, names=("x", "x₂")): ...

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, names=None, ax=None):
        """Draw the probabilities of a fitted classifier over the range of X.

        Parameters
        ----------
        estimator : classifier
            With ``predict_proba`` and ``classes_``; with ``predict_latent`` a band is drawn for two classes.
        X : array-like of shape (n, 1) or (n, 2)
        y : array-like of shape (n,), default=None
            Labels of the rows, to draw them.
        names : sequence of str, default=None
            Names with units; None are the columns of a frame, else x, or x₁ and x₂.
        ax : Axes, default=None

        Returns
        -------
        ProbabilityDisplay
        """
        rows = np.asarray(X, dtype=float)
        if rows.ndim != 2 or rows.shape[1] not in (1, 2):
            raise ValueError(f"X must have 1 or 2 columns to be drawn, got shape {rows.shape}.")
        d = rows.shape[1]
        if names is None:
            names = [str(c) for c in X.columns] if hasattr(X, "columns") else ["x"] if d == 1 else ["x₁", "x₂"]
        size = 301 if d == 1 else 121 if len(estimator.classes_) == 2 else 81  # more classes cost more
        grid = tuple(grid_over(column, size, 0.08) for column in rows.T)
        points = np.stack([axis.ravel() for axis in np.meshgrid(*grid, indexing="ij")], axis=1)
        new = rows_like(X, points)
        prob = np.asarray(estimator.predict_proba(new))
        shape = tuple(len(axis) for axis in grid)
        latent = d == 1 and prob.shape[1] == 2 and hasattr(estimator, "predict_latent")
        band = _latent_band(*estimator.predict_latent(new), LINKS[estimator.link]()) if latent else None
        y = None if y is None else np.asarray(y)
        return cls(grid=grid, prob=prob.reshape(*shape, -1), classes=np.asarray(estimator.classes_), band=band,
                   X=rows, y=y, names=names).plot(ax)  # fmt: skip

    def plot(self, ax=None):
        """Draw on ``ax``, or on a new figure; return self."""
        ax = self._start(ax)
        self.lines_, self.points_, self.shades_, self.boundary_ = [], [], None, None
        what = self._curves(ax) if len(self.grid) == 1 else self._plane(ax)
        return self._finish(ax, what, frameon=len(self.grid) == 2)

    def _curves(self, ax):
        """Draw the curves of one input; return the title."""
        x = self.grid[0]
        if self.band is not None:
            ax.fill_between(x, *self.band, color=CYCLE[1], alpha=0.18, linewidth=0, label="σ(mean ± 2 std of f)")
        for c in [1] if len(self.classes) == 2 else range(len(self.classes)):
            colour, dashes = CYCLE[c % len(CYCLE)], DASHES[0 if len(self.classes) == 2 else c % len(DASHES)]
            (line,) = ax.plot(x, self.prob[:, c], color=colour, linestyle=dashes, linewidth=2.2,
                              label=f"P({self.classes[c]})")  # fmt: skip
            self.lines_.append(line)
        heights = [0.0, 1.0] if len(self.classes) == 2 else [-0.03 - 0.04 * c for c in range(len(self.classes))]
        self._rows(ax, 26, lambda mine, c: (mine[:, 0], np.full(len(mine), heights[c])))
        ax.set(xlabel=self.names[0], ylabel="probability", xlim=(x[0], x[-1]))
        ax.set_ylim(min(-0.04, heights[-1] - 0.02), 1.04)
        return "Probability of each class" if len(self.classes) > 2 else f"Probability of {self.classes[1]}"

    def _plane(self, ax):
        """Draw the shades of two inputs; return the title."""
        from matplotlib.colors import LinearSegmentedColormap, to_rgb

        a, b = self.grid
        if len(self.classes) == 2:
            shades = LinearSegmentedColormap.from_list("classes", [CYCLE[0], "#f7f7f7", CYCLE[1]])
            levels = np.linspace(0.0, 1.0, 11)
            self.shades_ = ax.contourf(a, b, self.prob[:, :, 1].T, levels=levels, cmap=shades, alpha=0.8)
            bar = ax.figure.colorbar(self.shades_, ax=ax, ticks=levels[::2])
            bar.set_label(f"P({self.classes[1]})")
            self.boundary_ = _contour(ax, a, b, self.prob[:, :, 1], [0.5])
            what = f"Probability of {self.classes[1]}, and where it is ½"
        else:
            colours = np.array([to_rgb(CYCLE[c % len(CYCLE)]) for c in range(len(self.classes))])
            picture = 0.25 + 0.75 * (self.prob @ colours)  # a mixture of the colours, by probability
            extent = (a[0], a[-1], b[0], b[-1])
            self.shades_ = ax.imshow(np.swapaxes(np.clip(picture, 0, 1), 0, 1), origin="lower", extent=extent,
                                     aspect="auto", interpolation="bilinear")  # fmt: skip
            others = [np.delete(self.prob, c, axis=2).max(axis=2) for c in range(len(self.classes))]
            leads = self.prob - np.stack(others, axis=2)  # how far each class is above the best other one
            self.boundary_ = [_contour(ax, a, b, leads[:, :, c], [0.0]) for c in range(len(self.classes))]
            what = "Probability of each class, and the likeliest"
        self._rows(ax, 26 if len(self.X) <= 300 else 9, lambda mine, c: mine.T)
        ax.grid(False)
        ax.set(xlabel=self.names[0], ylabel=self.names[1], xlim=(a[0], a[-1]), ylim=(b[0], b[-1]))
        return what

    def _rows(self, ax, size, places):
        """Draw the rows of each class, c, at the places (x, y) of them."""
        for c in range(len(self.classes)) if self.y is not None else ():
            mine = self.X[self.y == self.classes[c]]
            self.points_.append(ax.scatter(*places(mine, c), s=size, color=CYCLE[c % len(CYCLE)],
                                           marker=MARKERS[c % len(MARKERS)], edgecolor="white", linewidth=0.6, zorder=3,
                                           label=f"{self.classes[c]}: {len(mine)} rows"))  # fmt: skip


def _latent_band(mean, std, link):
    """σ(m − 2s), σ(m + 2s) of the latent function."""
    return link.prob(mean - 2.0 * std), link.prob(mean + 2.0 * std)


def _contour(ax, a, b, values, levels):
    """A line where the values cross, or None where they do not."""
    if not values.min() < levels[0] < values.max():
        return None
    return ax.contour(a, b, values.T, levels=levels, colors=INK, linewidths=1.6)
