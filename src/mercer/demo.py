"""The main job on bundled data: kernel ridge regression of car stopping distances.

The example of the lectures: a squared exponential plus a polynomial kernel, λ = 0.01.
``python -m mercer demo`` runs it.
"""

import textwrap

import numpy as np

from mercer import KernelRidge
from mercer.datasets import load_cars
from mercer.kernels import Gaussian, Polynomial

EVERY = 5  # each fifth car is shown in the table


def run(output: str | None = "mercer_demo.png") -> None:
    """Fit, print what was fitted, and draw it into ``output`` with matplotlib.

    Parameters
    ----------
    output : str or None, default="mercer_demo.png"
        File of the picture; None for no picture.

    Examples
    --------
    >>> from mercer.demo import run
    >>> run(output=None)
    Stopping distance of cars: kernel ridge regression
    ...
    """
    cars = load_cars()
    scale = Standardise(cars.data)
    kernel = Gaussian(length_scale=2.0) + Polynomial(degree=2, offset=1.0)  # 2.0: two standard deviations of speed
    model = KernelRidge(kernel, lam=0.01, trend="constant").fit(scale(cars.data), cars.target)
    print(describe(cars, model, scale))
    if output is not None:
        drawn = draw(cars, model, scale, output)
        print(f"\nThe picture is in {output}." if drawn else "\nFor a picture: pip install matplotlib")


class Standardise:
    """(x − mean) / sd, with the mean and the standard deviation of the data it was made from."""

    def __init__(self, X):
        self.mean, self.sd = X.mean(axis=0), X.std(axis=0)

    def __call__(self, X):
        """Return X in standard units."""
        return (X - self.mean) / self.sd


# ------------------------------------------------------------------------------------------- the text
def describe(cars, model, scale):
    """Return the data, the model, λ in every convention, predictions with residuals and the fit report, as text."""
    speed, dist = cars.data[:, 0], cars.target
    predicted = model.predict(scale(cars.data))
    residual = dist - predicted
    line = np.polynomial.Polynomial.fit(speed, dist, 1)
    order = np.argsort(speed, kind="stable")[::EVERY]
    rows = [f"{speed[i]:>10.0f}{dist[i]:>10.0f}{predicted[i]:>12.1f}{residual[i]:>+11.1f}" for i in order]
    heading = f"{'speed':>10}{'dist':>10}{'predicted':>12}{'residual':>11}"
    return "\n".join(
        [
            "Stopping distance of cars: kernel ridge regression",
            "",
            f"  data     {len(dist)} cars, speed {speed.min():.0f} to {speed.max():.0f} mph, "
            f"distance {dist.min():.0f} to {dist.max():.0f} ft",
            "  model    f(x) = Σ αⱼ k(x, xⱼ) + b   with   (K + λI) α = y − b",
            f"  kernel   {model.kernel!r}",
            "           k(x, z) = exp(−(x − z)²/8) + (xz + 1)²   of standardised speed",
            f"  fit      R² {model.score(scale(cars.data), dist):.3f}, residual rms {rms(residual):.2f} ft "
            f"(a straight line: {rms(dist - line(speed)):.2f} ft)",
            "",
            "λ in every convention",
            *(f"  {name:<16}{value:.6g}" for name, value in model.regularization_.items()),
            "",
            f"Predictions (each {EVERY}th car)",
            heading,
            *rows,
            "",
            "Fit report",
            textwrap.indent(str(model.fit_report_), "  "),
        ]
    )


def rms(values):
    """√(mean of squares)."""
    return np.sqrt(np.mean(values**2))


# ---------------------------------------------------------------------------------------- the picture
def draw(cars, model, scale, output):
    """Draw data and fit into a file; return False where matplotlib is not installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(7.2, 4.5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)  # its own canvas: pyplot's backend and open figures stay as they are
    axes = figure.add_subplot()
    speed, dist = cars.data[:, 0], cars.target
    grid = np.linspace(speed.min(), speed.max(), 300)
    axes.vlines(speed, dist, model.predict(scale(cars.data)), color="0.8", linewidth=1, label="residuals")
    axes.scatter(speed, dist, s=28, color="#0072b2", edgecolor="white", linewidth=0.6, zorder=3, label="50 cars")
    axes.plot(grid, model.predict(scale(grid[:, None])), color="#d55e00", linewidth=2.2, zorder=2, label="kernel ridge")
    line = np.polynomial.Polynomial.fit(speed, dist, 1)
    axes.plot(grid, line(grid), color="0.45", linewidth=1.2, linestyle="--", label="straight line")
    axes.set(xlabel="speed (mph)", ylabel="stopping distance (ft)", ylim=(-5, None))
    axes.set_title(f"{model.kernel!r},  λ = {model.lam:g}", fontsize=11, loc="left")
    axes.legend(frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(output)
    return True
