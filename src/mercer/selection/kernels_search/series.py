"""What the columns are: their unit, which one is time, and the periods that repeat along it."""

import numpy as np

LAST_ROWS = 600  # of a series, whose waves are looked at one by one; of more rows, these and means of neighbours
LEAST_SERIES = 20  # rows below which no season is looked for
TURNS = 2.0  # times that a period has to be in the data
LOOKED_AT = 4  # waves
FINER = 0.125  # of a wave more or less over the whole series: steps by which a period is refined


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


def time_column(X):
    """The column along which the rows are a series: in its order, at even steps; None if there is none."""
    if len(X) < LEAST_SERIES:
        return None
    for j, column in enumerate(X.T):
        gaps = np.diff(column)
        if (gaps > 0).all() or (gaps < 0).all():
            gaps = np.abs(gaps)
            times = gaps / np.median(gaps)
            # Most gaps are one step, as business days are; nearly all others a small multiple:
            even = np.abs(times - np.round(times)) < 0.25  # a weekend is three days, a missing row two steps
            usual = np.mean(even & (np.round(times) == 1.0))
            if usual >= 0.6 and np.mean(even & (np.round(times) >= 1.0) & (times < 7.25)) >= 0.9:
                return j
    return None


def seasons(t, y):
    """Periods of a series in its order that repeat, the strongest first: each cycle is like the others.

    Short ones are looked for in the last rows and long ones in means over neighbours. Where a multiple of a period
    explains more, it follows it: a week after its day.
    """
    found: list[float] = []
    gap = step_of(t)
    for p in (_round_to_steps(p, gap, np.ptp(t)) for p in _candidate_periods(t, y, gap)):
        # What is left of a trend of thirteen periods; other cycles have to explain a twentieth of it.
        rest = y - _moving_mean(y, min(int(13 * p / gap), len(y) // 2) | 1)
        left, turns = _residual_share(t, rest, p, gap), np.ptp(t) / p
        if left > 1.0 - max(0.05, 1.0 / turns) or any(_is_harmonic(other, p) for other in found):
            continue
        found.append(p)
        longer = {k * p: _residual_share(t, rest, k * p, gap) for k in range(2, 9) if TURNS * k <= turns}
        best = min(longer, key=lambda q: longer[q], default=p)
        if longer.get(best, 1.0) < 0.9 * left:
            found.append(best)
    return found[:3]


def step_of(t):
    """The usual distance between neighbours, without gaps where rows are missing."""
    gaps = np.diff(t)
    usual = np.median(gaps)
    return float(np.mean(gaps[np.abs(gaps - usual) <= 0.25 * usual]))


def _candidate_periods(t, y, gap):
    """Periods of waves, short and long in turn."""
    if len(t) <= LAST_ROWS:
        return periods(t, y, LOOKED_AT)
    size = -(-len(t) // LAST_ROWS)
    wide = int(np.clip(3 * size, LAST_ROWS // 10, LAST_ROWS // 2))  # rows: where long ends and short begins
    blocks = np.arange(0, len(t) - size + 1, size)
    long = periods(*(np.add.reduceat(v[: blocks[-1] + size], blocks) / size for v in (t, y)), LOOKED_AT)
    short = periods(t[-LAST_ROWS:], y[-LAST_ROWS:] - _moving_mean(y[-LAST_ROWS:], wide), LOOKED_AT)
    short, long = [p for p in short if p < wide * gap], [p for p in long if p >= wide * gap]
    short = [_refine_period(t, y - _moving_mean(y, wide), p, gap) for p in short]
    return [p for pair in zip(short, long, strict=False) for p in pair] + short[len(long) :] + long[len(short) :]


def _moving_mean(y, wide):
    """Means over so many neighbours, fewer at the ends."""
    total = np.concatenate([[0.0], np.cumsum(y)])
    low = np.maximum(np.arange(len(y)) - wide // 2, 0)
    high = np.minimum(np.arange(len(y)) + wide // 2 + 1, len(y))
    return (total[high] - total[low]) / (high - low)


def _refine_period(t, rest, p, gap):
    """The period near p of the last rows whose wave is the strongest in all of them."""
    from scipy.signal import lombscargle  # slow to load, and only a series needs it

    span = np.ptp(t)
    reach = 1.0 / (LAST_ROWS * gap)
    waves = 1.0 / p + np.arange(-reach, reach, FINER / span)
    power = lombscargle(t - t[0], rest - rest.mean(), 2.0 * np.pi * waves, normalize=True)
    return float(1.0 / waves[np.argmax(power)])


def _round_to_steps(p, gap, span):
    """The period, or the whole number of steps that the waves of the series cannot tell from it."""
    whole = gap * round(p / gap)
    return whole if abs(whole - p) < 0.5 * FINER * p * p / span else p


def _residual_share(t, rest, p, gap):
    """Mean square of what is left of ``rest`` after the means at the same phase of every other cycle, over its own."""
    steps = int(np.clip(round(p / gap), 2, max(len(t) // 8, 2)))
    turns = (t - t[0]) / p
    cycle = np.floor(turns + 0.5 / steps).astype(int)
    phase = np.rint((turns - cycle) * steps).astype(int) % steps
    left = 0.0
    for half in (0, 1):
        seen = cycle % 2 == half
        count = np.bincount(phase[seen], minlength=steps)
        mean = np.bincount(phase[seen], rest[seen], steps) / np.maximum(count, 1)
        left += np.sum((rest[~seen] - mean[phase[~seen]]) ** 2)
    return float(left / max(np.sum(rest**2), 1e-300))


def _is_harmonic(other, p):
    """Whether a wave of period p goes with a season of another one: the shape of a season is free."""
    return abs(other / p - max(1, round(other / p))) < 0.04


def periods(t, y, most=2):
    """Periods of waves in y beside a smooth trend, the strongest first; none that the data do not hold twice.

    A wave that is a harmonic of a longer one goes with it: the shape of a season is free.
    """
    from scipy.signal import find_peaks, lombscargle

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
    found: list[float] = []
    for i in sorted(peaks - 1, key=lambda i: -power[i]):
        if power[i] < max(0.08, 0.1 * power.max()) or len(found) == most:
            break
        period = 1.0 / waves[i]
        if not any(_is_harmonic(other, period) for other in found):
            found.append(float(period))
    return found
