"""Which columns interact: Friedman's H of pairs, and the average prediction over the strongest pair."""

from itertools import combinations

import numpy as np
from scipy.ndimage import maximum_filter

from mercer._clock import Clock
from mercer.report._answers import shown_values
from mercer.report._factors import LEVELS, set_factor
from mercer.report.parts import Missing
from mercer.report.parts_effects import GridSide, PairEffect, PairFindings, PairSurface

ROWS, FEWEST = 30, 8  # rows that the averages go over, and at which H is evaluated; and at least
ENTRIES = 200_000  # of the kernel, for a prediction of each of these rows
GRID, LEVEL_GRID = 15, 8


def pairs_section(case, moving):
    """H of the pairs among the strongest factors, and the surface of the pair that interacts most."""
    if len(moving) < 2:
        return Missing(missing="There is only one column that varies: no pair to look at.")
    if case.budget.skips("effects of pairs of columns"):
        return case.budget.missing
    found = _interactions(case, moving[: case.limits.curves])
    if not found:
        return Missing(missing="The interaction of columns takes too long for this model, and is left out.")
    found.sort(key=lambda one: -one[1].strength)
    (first, second), _ = found[0]
    return PairFindings(listed=[one for _, one in found], rows=min(_count_averaged(case), case.n),
                        surface=_surface(case, first, second))  # fmt: skip


def _count_averaged(case):
    """Rows that an average over pairs goes over: fewer where each prediction asks for many values of the kernel."""
    return int(min(ROWS, max(ENTRIES // case.fitted_rows, FEWEST)))


def _interactions(case, factors):
    """[(factors, effect)] of the pairs that were done within the time."""
    index, clock = case.shown(_count_averaged(case)), Clock(min(case.budget.left, case.limits.seconds_of_pairs))
    base = shown_values(case, case.take(index))
    scale = float(base.std())
    unit = float(np.abs(base).max()) or 1.0
    if not scale > 1e-9 * unit:
        return []
    alone = {factor: _at_rows(case, (factor,), index) for factor in factors}
    found = []
    for two in combinations(factors, 2):
        if clock.spent:
            break
        both = _at_rows(case, two, index)
        rest = both - sum(alone[factor] for factor in two)
        strength = float(np.sqrt(np.mean((rest / scale) ** 2)))
        joint = float(np.sqrt(np.mean((both / scale) ** 2)))
        h = strength / joint if joint > 1e-6 else 0.0
        h = min(h, 1.0) if np.isfinite(h) else None
        found.append((two, PairEffect(names=[factor.name for factor in two], H=h, strength=strength)))
    return found


def _at_rows(case, factors, index):
    """The partial dependence on some factors at each row, centred: f averaged over all rows, with these held."""
    at = np.array([factor.values[index] for factor in factors])
    different, place = np.unique(at, axis=1, return_inverse=True)
    out = _averages(case, factors, different, index)[place.ravel()]
    return out - out.mean()


def _averages(case, factors, at, index):
    """The prediction at each column of ``at``, the values of the factors, averaged over rows; asked for all at once."""
    Z = case.take(np.tile(index, at.shape[1]))
    for factor, value in zip(factors, at, strict=True):
        Z = set_factor(case, Z, factor, np.repeat(value, len(index)).astype(factor.values.dtype))
    return shown_values(case, Z).reshape(at.shape[1], -1).mean(axis=1)


def _grid_places(factor):
    """Values of one side of the surface: evenly between the 2 % and the 98 % point, or the commonest levels."""
    if factor.kind == LEVELS:
        return factor.common_levels(LEVEL_GRID)
    low, high = np.quantile(factor.values, [0.02, 0.98])
    if not high > low:
        low, high = factor.values.min(), factor.values.max()
    return np.linspace(low, high, GRID)


def _surface(case, first, second):
    """The average prediction over two factors; None where there are no rows near."""
    if first.kind == LEVELS and second.kind != LEVELS:
        first, second = second, first  # numbers along the bottom
    x, y = _grid_places(first), _grid_places(second)
    index = case.shown(_count_averaged(case))
    z = np.array([_averages(case, (first, second), np.array([x, np.full(len(x), b)]), index) for b in y])
    near = _cells_near_rows(first, second, x, y)
    return PairSurface(
        x=GridSide(name=first.name, **first.along(x, "values")),
        y=GridSide(name=second.name, **second.along(y, "values")),
        z=np.where(near, z, np.nan),
        low=float(z[near].min()),
        high=float(z[near].max()),
        hidden=float(1.0 - near.mean()),
    )


def _cells_near_rows(first, second, x, y):
    """Which cells have a row in them or beside them; categories have no beside."""
    across, up = _cell(first, x), _cell(second, y)
    inside = (across >= 0) & (up >= 0)
    count = np.zeros((len(y), len(x)), dtype=bool)
    count[up[inside], across[inside]] = True
    return maximum_filter(count, [1 if factor.kind == LEVELS else 3 for factor in (second, first)], mode="constant")


def _cell(factor, places):
    """The cell of each row; −1 where it has none."""
    if factor.kind == LEVELS:
        where = np.full(len(factor.levels), -1)
        where[places] = np.arange(len(places))
        return where[factor.values]
    step = places[1] - places[0]
    cell = np.round((factor.values - places[0]) / step).astype(int)
    return np.where((cell >= 0) & (cell < len(places)), cell, -1)
