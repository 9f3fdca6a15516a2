"""The evidence over two hyper-parameters, the chosen point with its error, and what pulls it either way."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.plots._base import BLUE, GREEN, INK, ORANGE, Display, format_number, plain_ticks
from mercer.selection.judging import quietly


class EvidenceSurfaceDisplay(Display):
    """log p(y | θ) over two hyper-parameters on a log grid, all others as they were learnt.

    How to read: each contour is a loss of log evidence against the chosen point (the cross). A loss of 2 is weak
    evidence against a point, 10 is strong. The ellipse is one standard error, from the curvature, with the other
    hyper-parameters free: it reaches beyond the contours where those make up for a change. Where the contours are far
    from ellipses, do not believe it. A long ridge says that the data see only a combination of the two.

    Parameters
    ----------
    names : (str, str)
        Of the two hyper-parameters.
    first, second : ndarray of shape (p,), (q,)
        Their values.
    values : ndarray of shape (q, p)
        log p(y), the log evidence, at each place of the grid.
    chosen : (float, float)
        Where the fit is: the length scale and the noise, or the two that are drawn.
    best : float
        log p(y) at the chosen point.
    covariance : ndarray of shape (2, 2), default=None
        Of the two logs; None or nan draws no ellipse.
    terms : dict of ndarray of shape (p,), default=None
        "fidelity", "complexity" and "constant" along the first, with the second as chosen.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        What it is drawn on.
    contours_ : QuadContourSet
        The lines of equal evidence.
    chosen_ : PathCollection
        The mark of the fit.
    ellipse_ : Line2D or None
        Two standard errors around it, where they are known.
    lines_ : dict of Line2D
        Of ``plot_terms``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianProcessRegressor
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plots import EvidenceSurfaceDisplay
    >>> X = np.linspace(0, 1, 8)[:, None]
    >>> model = GaussianProcessRegressor(Gaussian(0.3), 0.1, criterion=None).fit(X, np.sin(6 * X[:, 0]))
    >>> EvidenceSurfaceDisplay.from_estimator(model, points=5).names
    ('length_scale', 'noise')
    """

    def __init__(self, *, names, first, second, values, chosen, best, covariance=None, terms=None): ...

    @classmethod
    def from_estimator(cls, estimator, names=None, *, ranges=None, points=25, terms=False, ax=None):
        """Evaluate the evidence of a fitted `GaussianProcessRegressor` on a grid, and draw it.

        Parameters
        ----------
        estimator : GaussianProcessRegressor
            Fitted.
        names : (str, str), default=None
            Two of ``[*kernel_.names, "noise"]``; None is the first length scale (else the first) and the noise.
        ranges : pair of (low, high), default=None
            Of the values; None is three standard errors either way.
        points : int, default=25
            Along each axis; each costs a factorisation.
        terms : bool, default=False
            Whether fidelity and complexity along the first axis are drawn instead of the surface.
        ax : Axes, default=None

        Returns
        -------
        EvidenceSurfaceDisplay
        """
        check_is_fitted(estimator)
        known = [*estimator.kernel_.names, "noise"]
        if names is None:
            lengths = [name for name in known if name.split("__")[-1].startswith("length_scale")]
            names = ((lengths or known)[0], "noise")
        if len(set(names)) != 2 or not set(names) <= set(known):
            raise ValueError(f"names must be two of {known}, got {names!r}.")
        if not estimator.lam_ > 0:
            raise ValueError(
                "noise is 0: there is no log axis for it, and log p(y) is asked for at log noise; fit with noise > 0 "
                "(1e-10 times the variance of y is close to none)."
            )
        index = [known.index(name) for name in names]
        theta = np.append(estimator.kernel_.theta, np.log(estimator.lam_))
        covariance = estimator.hyper_cov_[np.ix_(index, index)]
        axes = [_axis(theta[i], covariance[k, k], points, ranges and ranges[k]) for k, i in enumerate(index)]

        def at(*pair):
            z = theta.copy()
            z[index] = np.log(pair)
            return z

        chosen = tuple(np.exp(theta[index]))
        best = float(estimator.log_marginal_likelihood_value_)
        decomposed = [estimator.evidence_terms(at(a, chosen[1])) for a in axes[0]] if terms else []
        values = (
            np.array([[_evidence_at(estimator.log_marginal_likelihood, at(a, b)) for a in axes[0]] for b in axes[1]])
            if not terms
            else None
        )
        display = cls(
            names=tuple(names), first=axes[0], second=axes[1], values=values, chosen=chosen, best=best,
            covariance=covariance,
            terms={key: np.array([one[key] for one in decomposed]) for key in decomposed[0]} if terms else None,
        )  # fmt: skip
        return display.plot_terms(ax) if terms else display.plot(ax)

    def plot(self, ax=None):
        """Draw the surface on ``ax``, or on a new figure; return self."""
        ax = self._start(ax)
        below = np.minimum(self.best - self.values, 1e300)
        top = max(2.0, float(np.nanmax(below)))
        levels = [level for level in (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0) if level <= top]
        grid = (self.first, self.second, np.maximum(below, 0.0))
        ax.contourf(*grid, levels=levels, cmap="Blues_r", extend="max", alpha=0.5)
        self.contours_ = ax.contour(*grid, levels=levels[1:], colors=INK, linewidths=0.5)
        ax.clabel(self.contours_, fmt=lambda level: f"−{level:g}", fontsize=8)
        self.ellipse_ = None
        if self.covariance is not None and np.isfinite(self.covariance).all():
            x, y = _ellipse(self.chosen, self.covariance)
            (self.ellipse_,) = ax.plot(x, y, color=ORANGE, linewidth=1.8, label="one standard error, the others free")
        chosen = ", ".join(map(format_number, self.chosen))
        self.chosen_ = ax.scatter(*self.chosen, marker="P", s=70, color=ORANGE, edgecolor="white", zorder=4,
                                  label=f"chosen: {chosen}")  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel=self.names[0], ylabel=self.names[1])
        ax.set_xlim(self.first[0], self.first[-1])
        ax.set_ylim(self.second[0], self.second[-1])
        plain_ticks(ax.xaxis, self.first)
        plain_ticks(ax.yaxis, self.second)
        ax.grid(False)
        what = f"log p(y) below its value at the chosen point, {self.best:.4g}"
        return self._finish(ax, what, frameon=True, framealpha=0.9, edgecolor="none")

    def plot_terms(self, ax=None):
        """Draw fidelity and complexity along the first hyper-parameter; return self."""
        if self.terms is None:
            raise ValueError("there are no terms to draw; ask for them with from_estimator(..., terms=True).")
        ax = self._start(ax)
        total = sum(self.terms.values())
        curves = {"log p(y)": (total, INK, "-"), "fidelity: −½ yᵀK̃⁻¹y": (self.terms["fidelity"], BLUE, "--"),
                  "complexity: −½ log det K̃": (self.terms["complexity"], GREEN, "-.")}  # fmt: skip
        self.lines_ = {}
        for label, (values, colour, dashes) in curves.items():
            (self.lines_[label],) = ax.plot(
                self.first, values, color=colour, linestyle=dashes, linewidth=2, label=label
            )
        ax.axvline(self.chosen[0], color=ORANGE, linewidth=1.2, label=f"chosen: {format_number(self.chosen[0])}")
        ax.set(xscale="log", xlabel=self.names[0], ylabel="log density")
        ax.set_xlim(self.first[0], self.first[-1])
        return self._finish(ax, "What the evidence weighs: closeness to y against the volume of K̃")


def _axis(centre, variance, points, given):
    """Values of one hyper-parameter on a log grid, three standard errors to both sides where no range is given."""
    if given is not None:
        low, high = given
        if not 0 < low < high:
            raise ValueError(f"ranges must satisfy 0 < low < high, got ({low}, {high}).")
        return np.geomspace(low, high, points)
    reach = 3.0 * (np.clip(np.sqrt(variance), 0.1, 2.0) if np.isfinite(variance) else 0.7)
    return np.exp(np.linspace(centre - reach, centre + reach, points))


def _evidence_at(log_marginal_likelihood, theta):
    """log p(y), or −inf where it cannot be evaluated."""
    try:
        return float(quietly(log_marginal_likelihood, theta))  # of the condition at points that nobody chose
    except np.linalg.LinAlgError:
        return -np.inf


def _ellipse(centre, covariance):
    """Points of {Δ : ΔᵀΣ⁻¹Δ = 1} around the centre, in logs; its shadow on each axis is the standard error."""
    angle = np.linspace(0, 2 * np.pi, 200)
    first = np.sqrt(covariance[0, 0])
    along = covariance[1, 0] / first
    second = along * np.cos(angle) + np.sqrt(max(covariance[1, 1] - along**2, 0.0)) * np.sin(angle)
    return centre[0] * np.exp(first * np.cos(angle)), centre[1] * np.exp(second)
