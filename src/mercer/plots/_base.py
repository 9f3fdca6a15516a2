"""What all displays share: axes, colours that everyone can tell apart, and how numbers are written."""

import numpy as np

from mercer._parameters import Parametrised
from mercer.kernels import Kernel
from mercer.selection import path

# Okabe and Ito's colours: distinct with any kind of colour vision, and in print.
BLUE, ORANGE, GREEN, PURPLE, YELLOW, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"
INK, GREY, PALE = "#222222", "#6b6b6b", "#d9d9d9"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, YELLOW, SKY, INK)
DASHES = ("-", (0, (6, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)), (0, (3, 1.5)), (0, (8, 2, 1, 2, 1, 2)), "-")
LAMBDA = "λ  (added to the diagonal of K)"
LAMBDA_A = "λ  (weight of ‖x‖²)"


class Display(Parametrised):
    """Base of the displays: axes, title and legend."""

    def _start(self, ax, figsize=(6.4, 4.4)):
        """Return the axes to draw on: those given, or those of a new figure."""
        if ax is None:
            _, ax = _pyplot().subplots(figsize=figsize, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(True, color=PALE, linewidth=0.5)
        ax.set_axisbelow(True)
        return ax

    def _finish(self, ax, text, *, pad=None, **legend):
        """Write the title where reading begins, and the legend if there is anything in it; return self."""
        ax.set_title(text, loc="left", fontsize=11, color=INK, pad=pad)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(**{"frameon": False, "fontsize": 9, "loc": "best", **legend})
        return self


def _pyplot():
    """Return matplotlib.pyplot, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need matplotlib: install mercer[plots], or matplotlib itself.") from None
    return plt


def plain_ticks(axis, values):
    """On a logarithmic axis that spans less than a decade, write round numbers instead of a lone power of ten."""
    from matplotlib.ticker import MaxNLocator, NullLocator, ScalarFormatter

    values = values[values > 0]
    if len(values) and values.max() < 10 * values.min():
        axis.set_major_locator(MaxNLocator(6))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(ScalarFormatter(useMathText=True))


def format_number(value):
    """A number as a person writes it: 0.012, 350, 1.2 × 10⁻⁵, ∞."""
    if not np.isfinite(value):
        return "∞" if value > 0 else str(value)
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{power}" if mantissa == "1.0" else f"{mantissa} × 10{power}"


def rows_like(X, rows):
    """Return rows of numbers as a data frame with the columns of X if X is one, else as they are."""
    if not hasattr(X, "columns"):
        return rows
    return type(X)({name: rows[:, j] for j, name in enumerate(X.columns)})


def single_input(X):
    """The one column of X, or None."""
    shape = getattr(X, "shape", None) or np.shape(X)
    return np.asarray(X, dtype=float)[:, 0] if len(shape) == 2 and shape[1] == 1 else None


def axis_name(X, column, given):
    """Return the name of an axis: the one given, that of the column of a frame, or x."""
    return str(X.columns[column]) if given is None and hasattr(X, "columns") else given or "x"


def grid_over(x, size=300, margin=0.04):
    """Return a grid over the range of x, extended by a share ``margin`` of it on both sides."""
    beyond = margin * np.ptp(x) or 1.0
    return np.linspace(x.min() - beyond, x.max() + beyond, size)


class PathDisplay(Display):
    """Base of the displays that draw a `Path`."""

    @classmethod
    def from_estimator(cls, estimator, X, y, *, sample_weight=None, ax=None, **options):
        """Draw the same of an estimator's kernel on X and y, and mark the λ of the model if it is fitted.

        Parameters
        ----------
        estimator : KernelRidge
        X, y, sample_weight
            The rows that it was, or will be, fitted on.
        ax : Axes, default=None
        **options
            Of ``from_path``.

        Returns
        -------
        Display
        """
        fitted, given = estimator.__sklearn_is_fitted__(), estimator.get_params(deep=False)
        kernel = estimator.our_kernel_ if fitted else given.get("kernel")
        if not isinstance(kernel, Kernel):
            raise ValueError(f"{type(estimator).__name__} has no single kernel yet (kernel={kernel!r}); fit it first.")
        X, y = X if kernel.domain == "objects" else np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        trend = given.get("trend", True) not in (None, False)
        found = path(kernel, X, y, sample_weight=sample_weight, intercept=trend, criteria=[])
        lam = estimator.lam_ if fitted and isinstance(estimator.lam_, float) else None
        return cls.from_path(found, lam=lam, ax=ax, **options)
