"""Prediction intervals: a band over one input, or one bar for each row."""

import numpy as np

from mercer.plots._base import BLUE, INK, ORANGE, SKY, Display, axis_name, grid_over, rows_like, single_input


class IntervalDisplay(Display):
    """f(x) with [lower(x), upper(x)] and the y that were seen.

    How to read: about the stated share of new points falls inside; those outside are drawn as orange crosses, and how
    many there are stands in the legend. With one input it is a band over x; with more, rows are ordered by their
    prediction, and good intervals are narrow.

    Parameters
    ----------
    prediction : ndarray of shape (m,)
        f(x), the prediction at each place.
    lower, upper : ndarray of shape (m,)
        Ends of the intervals.
    coverage : float
        The share that was asked for.
    grid : ndarray of shape (m,), default=None
        x of one input, ascending; None orders rows by their prediction.
    x, y : ndarray of shape (n,), default=None
        The points; y of each row when there is no grid.
    inside : ndarray of bool of shape (n,), default=None
        Whether each y is in its interval.
    x_name, y_name : str
        What stands along the axes.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it is drawn.
    line_ : Line2D
        The predictions.
    band_ : PolyCollection or LineCollection
        The intervals.
    points_, outside_ : PathCollection or None
        y inside and outside of its interval.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.plots import IntervalDisplay
    >>> y = np.array([0.0, 1.0, 5.0])
    >>> interval = np.array([[-1.0, 1.0], [0.0, 2.0], [1.0, 3.0]])
    >>> display = IntervalDisplay.from_predictions(interval.mean(axis=1), interval, y, coverage=0.9)
    >>> display.inside
    array([ True,  True, False])
    """

    def __init__(
        self, *, prediction, lower, upper, coverage, grid=None, x=None, y=None, inside=None, x_name="x", y_name="y"
    ): ...

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, coverage=0.9, target=None, x_name=None, y_name="y", ax=None, **interval_kwargs
    ):  # fmt: skip
        """Draw the intervals of a fitted estimator around the rows of X.

        Parameters
        ----------
        estimator : fitted estimator
            With ``predict(X)`` and ``predict_interval(X, coverage=...)``.
        X : array-like of shape (n, d), or a sequence of objects
            Best rows that the estimator has not seen; one column gives a band over its range.
        y : array-like of shape (n,) or (n, t)
        coverage : float, default=0.9
        target : int, default=None
            Which column of y, if there are several.
        x_name, y_name : str
            Names with units for the axes; None is the name of the column.
        ax : Axes, default=None
            None is a new figure.
        **interval_kwargs
            For ``predict_interval``, such as ``method="jackknife+"``.

        Returns
        -------
        IntervalDisplay
        """
        y = pick_target(np.asarray(y, dtype=float), target, "y")

        def predicted(rows):
            interval = np.asarray(estimator.predict_interval(rows, coverage=coverage, **interval_kwargs))
            interval = interval if interval.ndim == 2 else interval[..., target or 0]
            return pick_target(np.asarray(estimator.predict(rows)), target, "predictions"), interval

        prediction, interval = predicted(X)
        x = single_input(X)
        if x is None:
            return cls.from_predictions(prediction, interval, y, coverage=coverage, y_name=y_name, ax=ax)
        grid = grid_over(x)
        f, band = predicted(rows_like(X, grid[:, None]))
        return cls(prediction=f, lower=band[:, 0], upper=band[:, 1], coverage=coverage, grid=grid, x=x, y=y,
                   inside=_inside(y, interval), x_name=axis_name(X, 0, x_name), y_name=y_name).plot(ax)  # fmt: skip

    @classmethod
    def from_predictions(cls, prediction, interval, y=None, *, coverage, y_name="y", ax=None):
        """Draw predictions with intervals, one bar for each row, ordered by prediction.

        Parameters
        ----------
        prediction : array-like of shape (n,)
        interval : array-like of shape (n, 2)
            Lower and upper ends.
        y : array-like of shape (n,), default=None
            What was seen.
        coverage : float
            The share that was asked for.
        y_name : str, default="y"
            Name with unit for the axis.
        ax : Axes, default=None

        Returns
        -------
        IntervalDisplay
        """
        prediction, interval = np.asarray(prediction, dtype=float), np.asarray(interval, dtype=float)
        if prediction.ndim != 1 or interval.shape != (len(prediction), 2):
            raise ValueError(f"give n predictions and n pairs, got shapes {prediction.shape} and {interval.shape}.")
        order = np.argsort(prediction, kind="stable")
        y = None if y is None else np.asarray(y, dtype=float)[order]
        interval = interval[order]
        return cls(prediction=prediction[order], lower=interval[:, 0], upper=interval[:, 1], coverage=coverage, y=y,
                   inside=None if y is None else _inside(y, interval), y_name=y_name).plot(ax)  # fmt: skip

    def plot(self, ax=None):
        """Draw on ``ax``, or on a new figure; return self."""
        ax = self._start(ax)
        words = f"{100 * self.coverage:.3g} % interval"
        if self.grid is not None:
            self.band_ = ax.fill_between(self.grid, *_within_view(self, self.lower, self.upper), color=SKY, alpha=0.35,
                                         linewidth=0, label=words)  # fmt: skip
            (self.line_,) = ax.plot(self.grid, self.prediction, color=BLUE, linewidth=2.2, label="prediction")
            self._points(ax, self.x)
            ax.set(xlabel=self.x_name, ylabel=self.y_name)
        else:
            i = np.arange(1, len(self.prediction) + 1)
            width = float(np.clip(180 / max(len(i), 1), 0.8, 5))
            self.band_ = ax.vlines(i, *_within_view(self, self.lower, self.upper), color=SKY, alpha=0.6,
                                   linewidth=width, label=words)  # fmt: skip
            (self.line_,) = ax.plot(i, self.prediction, color=BLUE, linewidth=2, label="prediction",
                                    marker="_" if len(i) < 40 else None, markersize=8)  # fmt: skip
            self._points(ax, i)
            ax.set(xlabel="row, ordered by prediction", ylabel=self.y_name)
            ax.grid(axis="x", visible=False)
        one = self.grid is not None
        return self._finish(ax, f"Prediction with its {words}" if one else f"Predictions with their {words}s")

    def _points(self, ax, x):
        """Draw y: inside as dots, outside as crosses."""
        self.points_ = self.outside_ = None
        if self.y is None:
            return
        size = 22 if len(self.y) <= 300 else 8
        out = ~self.inside
        words = f"inside: {int((~out).sum())} of {len(out)} ({100 * np.mean(~out):.0f} %)"
        self.points_ = ax.scatter(x[~out], self.y[~out], s=size, color=INK, edgecolor="white", linewidth=0.5, zorder=3,
                                  label=words)  # fmt: skip
        if out.any():
            self.outside_ = ax.scatter(x[out], self.y[out], s=1.6 * size, color=ORANGE, marker="x", linewidth=1.6,
                                       zorder=4, label=f"outside: {int(out.sum())}")  # fmt: skip


def _inside(y, interval):
    """Whether each y is in its interval."""
    return (interval[:, 0] <= y) & (y <= interval[:, 1])


def _within_view(display, lower, upper):
    """Return the ends, infinite ones moved to three ranges beyond all finite values, so that their band is visible."""
    seen = [display.prediction, lower[np.isfinite(lower)], upper[np.isfinite(upper)]]
    seen = np.concatenate(seen if display.y is None else [*seen, display.y])
    low, high = seen.min(), seen.max()
    reach = 3.0 * (high - low or abs(high) or 1.0)
    return np.maximum(lower, low - reach), np.minimum(upper, high + reach)


def pick_target(values, target, what):
    """Return one target of an array of shape (n,) or (n, t)."""
    if values.ndim == 1:
        return values
    if target is None and values.shape[1] > 1:
        raise ValueError(f"{what} has {values.shape[1]} columns; say which one with target=.")
    return values[:, target or 0]
