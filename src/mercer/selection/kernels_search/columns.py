"""What the columns are: their unit, which one is time, and which periods repeat along it."""

import numpy as np
from scipy.signal import find_peaks, lombscargle

from mercer.kernels import Anova, Columns, Laplacian, Periodic, Product, Radial, Scaled, Standardised, Sum

EVEN = 0.9  # share of the gaps along a time axis that are like most of them, or small multiples of them
USUAL, MULTIPLE = 0.6, 7  # share of those that are like most of them, as business days are; the largest multiple
FEW = 600  # rows whose waves are looked at one by one; of more rows, the last ones and means of neighbours
LEAST_SERIES = 20  # rows below which no season is looked for
TURNS = 2.0  # times that a period has to be in the data
POWER = 0.08  # of the variance beside the trend that a wave has to explain, to be tried


def unit_of(X, weight=None):
    """(centre, scale): the mean and standard deviation of each column; 1 of a constant one."""
    size = np.abs(X).max(axis=0, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    U = X / size  # so that squares of huge columns stay finite
    centre = np.average(U, axis=0, weights=weight)
    scale = np.sqrt(np.average((U - centre) ** 2, axis=0, weights=weight))
    scale = np.where(scale > 1e-12, scale, 0.0) * size
    scale = np.where(scale > 0, scale, 1.0)
    centre = centre * size
    plain = (np.abs(centre) < 1e-3) & (np.abs(scale - 1.0) < 1e-3)  # as a recipe has made them
    return np.where(plain, 0.0, centre), np.where(plain, 1.0, scale)


def in_units(kernel, centre, scale):
    """The kernel on X that is the given one on (X − centre)/scale, as an expression with lengths in the units of X."""
    if isinstance(kernel, Sum | Product):
        return type(kernel)(in_units(kernel.left, centre, scale), in_units(kernel.right, centre, scale))
    if isinstance(kernel, Scaled):
        return Scaled(in_units(kernel.kernel, centre, scale), kernel.scale, scale_bounds=kernel.scale_bounds)
    if isinstance(kernel, Columns):
        return in_units(kernel.kernel, centre[kernel.columns], scale[kernel.columns]).on(kernel.columns)
    if not centre.any() and (scale == 1.0).all():
        return kernel
    one = float(scale[0]) if (scale == scale[0]).all() else scale
    if isinstance(kernel, Radial | Laplacian | Anova):
        return _moved(kernel, "length_scale", one)
    if isinstance(kernel, Periodic):
        return _moved(kernel, "period", one)
    return Standardised(kernel, centre.tolist(), scale.tolist())


def _moved(kernel, name, factor):
    """A copy with a length times a factor, and its bounds along where they would be in the way."""
    value = np.asarray(getattr(kernel, name)) * factor
    other = kernel.with_theta(kernel.theta)
    setattr(other, name, float(value) if value.ndim == 0 else value)
    bounds = getattr(kernel, f"{name}_bounds")
    if bounds is not None and not isinstance(bounds, str):
        setattr(other, f"{name}_bounds", np.multiply.outer(np.atleast_1d(factor), np.ravel(bounds)))
    elif value.min() < 1e-3 or value.max() > 1e3:
        setattr(other, f"{name}_bounds", np.multiply.outer(np.atleast_1d(value), (1e-5, 1e5)))
    return other


def time_column(X):
    """The column along which the rows are a series: in its order, at even steps; None if there is none."""
    if len(X) < LEAST_SERIES:
        return None
    for j, column in enumerate(X.T):
        gaps = np.diff(column)
        if (gaps > 0).all() or (gaps < 0).all():
            gaps = np.abs(gaps)
            times = gaps / np.median(gaps)
            even = np.abs(times - np.round(times)) < 0.25  # a weekend is three days, a missing row two steps
            usual = np.mean(even & (np.round(times) == 1.0))
            if usual >= USUAL and np.mean(even & (np.round(times) >= 1.0) & (times < MULTIPLE + 0.25)) >= EVEN:
                return j
    return None


def seasons(t, y, most=2):
    """`periods` of a series in its order, short ones from the last rows and long ones from means over neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection.kernels_search.columns import seasons
    >>> t = np.arange(1500.0)
    >>> [round(p) for p in seasons(t, np.sin(2 * np.pi * t / 365) + np.sin(2 * np.pi * t / 7))]
    [7, 363]
    """
    if len(t) <= FEW:
        return periods(t, y, most)
    size = -(-len(t) // FEW)
    wide = int(np.clip(3 * size, FEW // 10, FEW // 2))  # rows: where long ends and short begins
    blocks = np.arange(0, len(t) - size + 1, size)
    long = periods(*(np.add.reduceat(v[: blocks[-1] + size], blocks) / size for v in (t, y)), most)
    window = np.ones(wide)
    slow = np.convolve(y[-FEW:], window, "same") / np.convolve(np.ones(FEW), window, "same")
    short = periods(t[-FEW:], y[-FEW:] - slow, most)
    gap = np.ptp(t[-FEW:]) / (FEW - 1)
    short, long = [p for p in short if p < wide * gap], [p for p in long if p >= wide * gap]
    return [*short[:1], *long[:1], *short[1:], *long[1:]][:most]


def periods(t, y, most=2):
    """Periods of waves in y beside a smooth trend, the strongest first; none that the data do not hold twice.

    A wave that is a harmonic of a longer one goes with it: the shape of a season is free.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection.kernels_search.columns import periods
    >>> t = np.arange(100.0)
    >>> [round(p, 1) for p in periods(t, 0.1 * t + np.sin(2 * np.pi * t / 12))]
    [12.0]
    """
    t, y = np.asarray(t, dtype=float), np.asarray(y, dtype=float)
    span, gap = np.ptp(t), np.median(np.abs(np.diff(np.sort(t))))
    if len(t) < LEAST_SERIES or not gap > 0 or not np.ptp(y) > 0:
        return []
    u = 2.0 * (t - t.min()) / span - 1.0
    rest = y - np.polynomial.chebyshev.chebval(u, np.polynomial.chebyshev.chebfit(u, y, 3))
    lowest, highest = TURNS / span, 0.5 / gap
    if not highest > lowest or not np.ptp(rest) > 1e-9 * np.ptp(y):
        return []
    waves = np.linspace(lowest, highest, int(np.clip(8 * span * (highest - lowest), 50, 20000)))
    power = lombscargle(t - t.min(), rest - rest.mean(), 2.0 * np.pi * waves, normalize=True)
    peaks, _ = find_peaks(np.concatenate([[0.0], power, [0.0]]))
    found = []
    for i in sorted(peaks - 1, key=lambda i: -power[i]):
        if power[i] < max(POWER, 0.1 * power.max()) or len(found) == most:
            break
        period = 1.0 / waves[i]
        near = [abs(other / period - max(1, round(other / period))) < 0.04 for other in found]
        if not any(near):
            found.append(float(period))
    return found
