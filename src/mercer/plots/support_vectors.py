"""Support vectors: the fit, its tube, and the rows that carry it."""

import numpy as np

from mercer.plots._base import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    SKY,
    Display,
    axis_name,
    format_number,
    grid_over,
    rows_like,
    single_input,
)


class SupportVectorDisplay(Display):
    """f(x) with the tube f ± ε, and the support vectors among the rows: on the edge (free) or outside (bounded).

    How to read: small grey rows are inside the tube and could be left out without any change. Rings are the support
    vectors; the fit is a sum over them alone. A wider tube has fewer of them. With more than one input the rows are
    drawn by prediction against residual, where the tube is a band.

    Parameters
    ----------
    x, y : ndarray of shape (n,)
        The rows: the input, or with several inputs the prediction and the residual.
    free, bounded : ndarray of int
        Which rows are support vectors on the edge of the tube, and which outside.
    epsilon : float
        Half the width of the tube.
    grid, prediction : ndarray of shape (m,), default=None
        f over the one input; None with several inputs.
    x_name, y_name : str
        What stands along the axes.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it is drawn.
    line_ : Line2D
        The line of the fitted function f.
    tube_ : PolyCollection
        The shade of f(x) ± ε.
    rows_, free_, bounded_ : PathCollection
        Rows inside the tube, support vectors at its edge, and those beyond it, at the bound C.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import SupportVectorDisplay
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = SVR(Gaussian(1.0), C=10.0, epsilon=0.2).fit(X, np.sin(X[:, 0]))
    >>> display = SupportVectorDisplay.from_estimator(model, X, np.sin(X[:, 0]))
    >>> len(display.free) + len(display.bounded) == len(model.support_)
    True
    """

    def __init__(self, *, x, y, free, bounded, epsilon, grid=None, prediction=None, x_name="x", y_name="y"): ...

    @classmethod
    def from_estimator(cls, estimator, X, y, *, x_name=None, y_name="y", ax=None):
        """Draw a fitted `SVR` on the rows it was fitted to.

        Parameters
        ----------
        estimator : SVR
            Fitted to one target.
        X : array-like of shape (n, d), or a sequence of objects
            The training rows; one column gives a curve over its range.
        y : array-like of shape (n,)
        x_name, y_name : str
            Names with units for the axes; None is the name of the column.
        ax : Axes, default=None
            None is a new figure.

        Returns
        -------
        SupportVectorDisplay
        """
        y = np.asarray(y, dtype=float)
        if y.ndim != 1 or estimator.dual_coef_.ndim != 1:
            raise ValueError(f"one target can be drawn at a time, got y of shape {y.shape}.")
        if len(y) <= estimator.support_.max(initial=-1):
            raise ValueError(f"give the {estimator.fit_report_['rows']} rows of the fit; X and y have {len(y)}.")
        kinds = {
            "free": estimator.support_[estimator.free_],
            "bounded": estimator.support_[estimator.bounded_],
            "epsilon": float(estimator.epsilon_),
        }
        x = single_input(X)
        if x is None:
            f = estimator.predict(X)
            return cls(x=f, y=y - f, **kinds, x_name="prediction", y_name=f"residual of {y_name}").plot(ax)
        grid, name = grid_over(x), axis_name(X, 0, x_name)
        f = estimator.predict(rows_like(X, grid[:, None]))
        return cls(x=x, y=y, **kinds, grid=grid, prediction=f, x_name=name, y_name=y_name).plot(ax)

    def plot(self, ax=None):
        """Draw on ``ax``, or on a new figure; return self."""
        ax = self._start(ax)
        if self.grid is None:
            grid, f = np.array([self.x.min(), self.x.max()]), np.zeros(2)
        else:
            grid, f = self.grid, self.prediction
        words = f"tube, ε = {format_number(self.epsilon)}"
        self.tube_ = ax.fill_between(
            grid, f - self.epsilon, f + self.epsilon, color=SKY, alpha=0.3, linewidth=0, label=words
        )
        (self.line_,) = ax.plot(grid, f, color=BLUE, linewidth=2.2, label="prediction")
        inside = np.ones(len(self.y), dtype=bool)
        inside[self.free] = inside[self.bounded] = False
        size = 24 if len(self.y) <= 300 else 8
        self.rows_ = ax.scatter(self.x[inside], self.y[inside], s=size, color=GREY, edgecolor="white", linewidth=0.4,
                                zorder=3, label=f"inside the tube: {int(inside.sum())}")  # fmt: skip
        self.free_ = self._ring(ax, self.free, size, ORANGE, "on its edge")
        self.bounded_ = self._ring(ax, self.bounded, size, INK, "outside")
        ax.set(xlabel=self.x_name, ylabel=self.y_name)
        count = len(self.free) + len(self.bounded)
        return self._finish(ax, f"{count} of {len(self.y)} rows are support vectors")

    def _ring(self, ax, index, size, colour, words):
        """Support vectors of one kind: a dot in a ring."""
        ax.scatter(self.x[index], self.y[index], s=size, color=colour, edgecolor="white", linewidth=0.4, zorder=4)
        return ax.scatter(self.x[index], self.y[index], s=4.5 * size, facecolor="none", edgecolor=colour, linewidth=1.3,
                          zorder=4, label=f"{words}: {len(index)}")  # fmt: skip
