"""A Gaussian process over one input: the mean, the ±2σ bands of f and of a new y, sample paths; the prior too."""

import numpy as np

from mercer.kernels import Table
from mercer.plots._base import BLUE, CYCLE, GREY, INK, SKY, Display, axis_name, grid_over, rows_like
from mercer.plots.intervals import pick_target


class PosteriorDisplay(Display):
    """m(x) with m(x) ± 2σ(x): dark for the function f itself, pale for a new observation y.

    How to read: the dark band says where f is, and is narrow near data; the pale one is wider by the noise, and about
    95 % of new points fall into it. Before a fit, the bands are those of the prior.

    Parameters
    ----------
    grid : ndarray of shape (m,)
        x, ascending.
    mean, latent_std, noisy_std : ndarray of shape (m,)
        The posterior at each place: f(x), how sure it is, and how far a new measurement may be off.
    x, y : ndarray of shape (n,), default=None
        The rows that are drawn as points: one input and the target.
    samples : ndarray of shape (m, s), default=None
        Paths of f.
    fitted : bool, default=True
        Whether there are data behind it.
    x_name, y_name : str
        What stands along the axes.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Where it is drawn.
    line_ : Line2D
        The line of the posterior mean.
    latent_band_, noisy_band_ : PolyCollection or None
        The shades of f(x), and of new measurements.
    points_ : PathCollection or None
        The rows of the fit.
    samples_ : list of Line2D
        A line for each function that was drawn from the posterior.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianProcessRegressor
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import PosteriorDisplay
    >>> X = np.linspace(0, 1, 8)[:, None]
    >>> model = GaussianProcessRegressor(Gaussian(0.3), 0.1, criterion=None).fit(X, np.sin(6 * X[:, 0]))
    >>> PosteriorDisplay.from_estimator(model, X).mean.shape
    (300,)
    """

    def __init__(
        self, *, grid, mean, latent_std, noisy_std, x=None, y=None, samples=None, fitted=True, x_name="x", y_name="y"
    ): ...

    @classmethod
    def from_estimator(
        cls, estimator, X, y=None, *, column=0, n_samples=0, random_state=0, target=None, noisy=True, x_name=None,
        y_name="y", ax=None,
    ):  # fmt: skip
        """Draw a `GaussianProcessRegressor` over the range of one column of X.

        Parameters
        ----------
        estimator : GaussianProcessRegressor
            One that is not fitted shows its prior.
        X : array-like of shape (n, d)
            Its range is shown; with several columns the others stay at their median.
        y : array-like of shape (n,) or (n, t), default=None
            Data to draw; None draws the training rows, if X has one column.
        column : int, default=0
            Which column runs.
        n_samples : int, default=0
            Sample paths of f.
        random_state : int, default=0
        target : int, default=None
            Which target, if there are several.
        noisy : bool, default=True
            Whether the band of a new y is drawn too.
        x_name, y_name : str
            Names with units for the axes; None is the name of the column.
        ax : Axes, default=None
            None is a new figure.

        Returns
        -------
        PosteriorDisplay
        """
        values = np.asarray(X, dtype=float)
        if values.ndim != 2:
            raise ValueError(f"X must have rows and columns, got shape {values.shape}.")
        x, fitted = values[:, column], estimator.__sklearn_is_fitted__()
        grid = grid_over(x)
        rows = np.tile(np.median(values, axis=0), (len(grid), 1))
        rows[:, column] = grid
        frame = rows_like(X, rows)
        found = estimator.posterior(frame) if fitted else estimator.prior_moments(frame)
        pick = target if found.mean.ndim == 2 else None
        std = [s if s.ndim == 1 else pick_target(s, pick, "std") for s in (found.latent_std, found.noisy_std)]
        samples = estimator.sample(frame, n_samples, random_state=random_state) if n_samples else None
        if samples is not None and samples.ndim == 3:
            samples = samples[:, pick or 0]
        data = cls._data(estimator, x, y, target, fitted and values.shape[1] == 1)
        return cls(grid=grid, mean=pick_target(found.mean, pick, "the prediction"), latent_std=std[0],
                   noisy_std=std[1] if noisy else None, x=data[0], y=data[1], samples=samples, fitted=fitted,
                   x_name=axis_name(X, column, x_name), y_name=y_name).plot(ax)  # fmt: skip

    @staticmethod
    def _data(estimator, x, y, target, own):
        """(x, y) to draw: those given, the training rows, or none."""
        if y is not None:
            return x, pick_target(np.asarray(y, dtype=float), target, "y")
        if not own:
            return None, None
        index, points = estimator.point_index_, estimator.points_
        used = index >= 0
        if isinstance(points, Table):  # of a kernel that reads a column by its name
            points = np.asarray(points[points.columns[0]])[:, None]
        return np.asarray(points, dtype=float)[index[used], 0], pick_target(estimator.row_target_[used], target, "y")

    def plot(self, ax=None):
        """Draw on ``ax``, or on a new figure; return self."""
        ax = self._start(ax)
        self.noisy_band_ = self.points_ = None
        if self.noisy_std is not None:
            self.noisy_band_ = self._band(ax, self.noisy_std, 0.22, "±2σ of a new y")
        self.latent_band_ = self._band(ax, self.latent_std, 0.45, "±2σ of f")
        self.samples_ = []
        if self.samples is not None:
            for j, path in enumerate(self.samples.T):
                colour = CYCLE[1 + j % (len(CYCLE) - 1)]
                label = None if j else "samples of f"
                self.samples_ += ax.plot(self.grid, path, color=colour, linewidth=1.1, alpha=0.85, label=label)
        style = {"color": BLUE if self.fitted else GREY, "linewidth": 2.2}
        (self.line_,) = ax.plot(self.grid, self.mean, label="mean", zorder=3, **style)
        if self.x is not None:
            size = 24 if len(self.x) <= 300 else 6
            self.points_ = ax.scatter(self.x, self.y, s=size, color=INK, edgecolor="white", linewidth=0.5, zorder=4,
                                      label=f"data, n = {len(self.x)}")  # fmt: skip
        ax.set(xlabel=self.x_name, ylabel=self.y_name)
        ax.set_xlim(self.grid[0], self.grid[-1])
        what = "Posterior: where f is, and where a new y will be" if self.fitted else "Prior: before any data"
        return self._finish(ax, what)

    def _band(self, ax, std, alpha, label):
        """The band of two standard deviations."""
        ends = self.mean - 2.0 * std, self.mean + 2.0 * std
        return ax.fill_between(self.grid, *ends, color=SKY, alpha=alpha, linewidth=0, label=label)
