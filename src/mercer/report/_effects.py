"""What each column does: importance by shuffling, partial dependence with bands, pairs that interact."""

from itertools import combinations

import numpy as np
from scipy.ndimage import maximum_filter

from mercer._clock import Clock
from mercer.report._factors import LEVELS, NUMBER, TEXT, put, shuffled
from mercer.report.findings import missing
from mercer.selection.judging import quietly

SHUFFLED, REPEATS, LEAST_SHUFFLED = 400, 5, 40  # rows and repeats of the shuffling, and rows at least
FEWEST_SHUFFLED, SHUFFLING = 15, 0.4  # rows where the time budget ends, and the share of what is left of it
TOGETHER = 1000  # rows, shuffled for several factors, that are predicted in one call
WIDE = 50  # columns beyond which they are shuffled once
SHUFFLED_ENTRIES = 2e8  # values of the kernel that the shuffling may ask for
COVERAGE = 0.9  # of the intervals that the page shows


def several(case):
    """Whether there are probabilities of more than two classes: each has a curve of its own."""
    return case.classes is not None and len(case.classes) > 2 and hasattr(case.model, "predict_proba")


def named(case, most):
    """Numbers of the commonest classes, in their order."""
    counts = np.bincount(np.searchsorted(case.classes, case.y), minlength=len(case.classes))
    return np.sort(np.argsort(-counts, kind="stable")[:most])


def what(case):
    """What the curves show."""
    if case.classes is None:
        return case.target
    if hasattr(case.model, "predict_proba"):
        return f"P({case.target} = {case.classes[_class(case)]})"
    return "decision function"


def _class(case):
    """Which class the curves show: the second of two, else the first."""
    return 1 if len(case.classes) == 2 else 0


def values(case, X):
    """The number that a curve shows."""
    if case.classes is None:
        return case.predict(X)
    if hasattr(case.model, "predict_proba"):
        return quietly(case.model.quick_proba, X)[:, _class(case)]
    found = np.asarray(quietly(case.model.decision_function, X))
    return found if found.ndim == 1 else found[:, 0]


def answers(case, X):
    """What is predicted: a number, the probability of the second of two classes, or that of each of several."""
    return quietly(case.model.quick_proba, X) if several(case) else values(case, X)


def importance(case):
    """How much the prediction moves when a factor is shuffled: root mean square, in standard deviations of all.

    Where time is short it is told from fewer rows: each factor asks for as many predictions as there are rows.
    """
    repeats = REPEATS if len(case.factors) <= WIDE else 1
    count = int(SHUFFLED_ENTRIES / (case.fitted_rows * repeats * max(len(case.factors), 1)))
    rows, clock = case.shown(min(max(count, LEAST_SHUFFLED), SHUFFLED)), Clock()
    base = answers(case, case.take(rows)).reshape(len(rows), -1)
    whole = clock.seconds * repeats * len(case.factors)
    if whole > SHUFFLING * case.budget.left:
        repeats, whole = 1, whole / repeats
        share = SHUFFLING * case.budget.left / whole
        rows = case.shown(min(max(int(share * len(rows)), FEWEST_SHUFFLED), len(rows)))
        base = answers(case, case.take(rows)).reshape(len(rows), -1)
    unit = float(np.abs(base).max()) or 1.0
    scale = float(np.sqrt(np.sum((base / unit).var(axis=0)))) or 1.0
    rng = np.random.default_rng(0)
    X, order = case.take(np.tile(rows, repeats)), np.concatenate([rng.permutation(len(rows)) for _ in range(repeats)])
    rise, together = np.zeros(len(case.factors)), max(TOGETHER // len(X), 1) if case.vectors else 1
    for first in range(0, len(rise), together):  # few rows of each factor are asked for in one call
        some = case.factors[first : first + together]
        Z = np.concatenate([shuffled(case, X, factor, order) for factor in some]) if together > 1 else (
            shuffled(case, X, some[0], order))  # fmt: skip
        moved = answers(case, Z).reshape(len(some), repeats, *base.shape) - base
        size = np.sqrt(np.mean(np.sum((moved / unit) ** 2, axis=3), axis=2))
        rise[first : first + len(some)] = np.mean(size, axis=1) / scale
    return rise


def reach(residuals, coverage=COVERAGE):
    """The ⌈coverage·(n + 1)⌉-th smallest |residual| of rows left out; None where there are too few of them."""
    size = np.sort(np.abs(residuals[np.isfinite(residuals)]))
    place = int(np.ceil(coverage * (len(size) + 1)))
    return float(size[place - 1]) if place <= len(size) else None


def interval(case, left, X):
    """(low, high) of 90 % at some rows: those that the model states, else ± what held rows left out.

    None for labels, and where too few rows were left out.
    """
    if case.classes is not None:
        return None
    if case.errors is not None:
        ends = quietly(case.errors.interval_of, case.model, X, COVERAGE)
        return (ends[:, 0], ends[:, 1]) if np.isfinite(ends).all() else None
    if case.model.probabilistic or skewed(case):
        ends = quietly(case.model.predict_interval, X, COVERAGE)
        return case.one(ends[:, 0]), case.one(ends[:, 1])
    q, f = reach(case.y - left.predicted), case.predict(X)
    return None if q is None else (f - q, f + q)


def skewed(case):
    """Whether intervals need not lie evenly around the prediction: between quantiles, or of a transformed target."""
    method = case.model.interval_method
    return method == "mapped" or (method == "mixture" and case.errors is None)


# ----------------------------------------------------------------------------------------- pairs of columns
STRONGEST = 4  # columns whose pairs are looked at
ROWS, FEWEST = 30, 8  # rows that the averages go over, and at which H is evaluated; and at least
ENTRIES = 200_000  # of the kernel, for a prediction of each of these rows
GRID, LEVEL_GRID = 15, 8
LIMIT = 10.0  # seconds for the interactions
SMALL = 1e-9


def pairs_section(case, moving):
    """H of the pairs among the strongest factors, and the surface of the pair that interacts most."""
    if len(moving) < 2:
        return missing("There is only one column that varies: no pair to look at.")
    if skipped := case.budget.skips("effects of pairs of columns"):
        return skipped
    found = _interactions(case, moving[:STRONGEST])
    if not found:
        return missing("The interaction of columns takes too long for this model, and is left out.")
    found.sort(key=lambda one: -one[1]["strength"])
    (first, second), _ = found[0]
    return {
        "listed": [one for _, one in found],
        "rows": min(_averaged(case), case.n),
        "surface": _surface(case, first, second),
    }


def _averaged(case):
    """Rows that an average over pairs goes over: fewer where each prediction asks for many values of the kernel."""
    return int(min(ROWS, max(ENTRIES // case.fitted_rows, FEWEST)))


def _interactions(case, factors):
    """[(factors, {names, H, strength})] of the pairs that were done within the time."""
    index, clock = case.shown(_averaged(case)), Clock(min(case.budget.left, LIMIT))
    base = values(case, case.take(index))
    scale = float(base.std())
    unit = float(np.abs(base).max()) or 1.0
    if not scale > SMALL * unit:
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
        found.append((two, {"names": [factor.name for factor in two], "H": h, "strength": strength}))
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
        Z = put(case, Z, factor, np.repeat(value, len(index)).astype(factor.values.dtype))
    return values(case, Z).reshape(at.shape[1], -1).mean(axis=1)


def _places(factor):
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
    x, y = _places(first), _places(second)
    index = case.shown(_averaged(case))
    z = np.array([_averages(case, (first, second), np.array([x, np.full(len(x), b)]), index) for b in y])
    near = _near(first, second, x, y)
    return {
        "x": {"name": first.name, **first.along(x, "values")},
        "y": {"name": second.name, **second.along(y, "values")},
        "z": np.where(near, z, np.nan),
        "low": float(z[near].min()),
        "high": float(z[near].max()),
        "hidden": float(1.0 - near.mean()),
    }


def _near(first, second, x, y):
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


CURVES = 4  # columns with a curve of partial dependence: three on the first screen
POINTS, AVERAGED = 25, 40  # points of a curve, rows it is an average over
SHOWN_LEVELS = 10  # levels of a category with a mark
SHOWN_CLASSES = 5  # classes with a curve
COLUMNS = 40
FINE, AHEAD = 120, 0.15  # points of the curve of a single input, and how far a series is foreseen, of its length
MEASURE = "root mean square change of the prediction when the column is shuffled, in its standard deviations"


def effects_section(case, left):
    """Importance and curves of the columns, and the strongest pair; one line for objects."""
    factors = case.factors
    if not factors:
        kind = "a matrix of kernel values" if case.pairwise else "whole objects"
        return missing(f"The inputs are {kind}, not columns: there is no importance and no partial dependence.")
    if skipped := case.budget.skips("effects of the columns", _seconds_of_curve(case)):
        return skipped
    rows = [{"name": factors[j].name, "kind": factors[j].kind, "rise": float(case.importance[j])}
            for j in case.order[:COLUMNS]]  # fmt: skip
    moving = [factor for factor in case.by_importance if factor.moves]
    return {
        "columns": rows,
        "more": len(factors) - len(rows),
        "measure": MEASURE,
        "what": what(case),
        "classes": [str(case.classes[k]) for k in named(case, SHOWN_CLASSES)] if several(case) else None,
        "band": "posterior" if _process(case) else "rows",
        "averaged": min(AVERAGED, case.n),
        "of": case.n,
        "curves": _curves(case, moving[:CURVES]),
        "one_input": one_input(case, left, moving[0]) if len(moving) == 1 and len(factors) == 1 else None,
        "texts": [factor.name for factor in factors if factor.kind == TEXT][:COLUMNS],
        "pairs": pairs_section(case, moving),
    }


def _seconds_of_curve(case):
    """What the first curve takes, from one of its points; 0 without a time budget."""
    if not case.budget.limited or case.budget.spent:
        return 0.0
    clock = Clock()
    answers(case, case.take(case.shown(AVERAGED)))
    return POINTS * clock.seconds


def one_input(case, left, factor):
    """The rows of a single column of numbers, the fitted curve, and its 90 % interval; None for levels and labels.

    Of a series that was judged by forecasts the curve goes on beyond its end.
    """
    if factor.kind != NUMBER or case.classes is not None:
        return None
    shown = case.shown()
    end = factor.values.max() + (AHEAD * np.ptp(factor.values) if case.forward else 0.0)
    places = np.linspace(factor.values.min(), end, FINE * (3 if case.forward else 1))
    Z = put(case, case.take(np.zeros(len(places), dtype=int)), factor, places)
    f, ends = case.predict(Z), interval(case, left, Z)
    return {
        "name": factor.name,
        "dates": factor.dates,
        "coverage": None if ends is None else COVERAGE,
        "x": factor.shown(places),
        "mean": f,
        "low": None if ends is None else ends[0],
        "high": None if ends is None else ends[1],
        "at": factor.shown(factor.values[shown]),
        "measured": case.y[shown],
        "labels": [case.label(i) for i in shown],
    }


def _process(case):
    """Whether the posterior of the curve is known, and lies evenly around it."""
    return case.model.probabilistic and case.model.interval_method != "mapped"


def grid(factor, points):
    """Values of a factor that a curve goes through: evenly from the 2 % to the 98 % point, or all if they are few."""
    if factor.kind == LEVELS:
        return factor.common_levels(SHOWN_LEVELS)
    x = factor.values
    low, high = np.quantile(x, [0.02, 0.98])
    if high > low and len(np.unique(x)) > points:
        return np.linspace(low, high, points)
    return np.unique(np.quantile(x, np.linspace(0.0, 1.0, points)))


def _average(case, Z, shape):
    """(f, standard deviation of its mean over the rows of each place); at most that where covariances are not known."""
    if not case.model.correlated:
        f, std = quietly(case.model.predict, Z, return_std=True)
        std = std[..., case.column or 0] if np.ndim(std) == 2 else std
        return case.one(f).reshape(shape), std.reshape(shape).mean(axis=1)
    f, cov = quietly(case.model.predict, Z, return_cov=True)
    cov = cov[..., case.column or 0] if np.ndim(cov) == 3 else cov
    own = np.einsum("iajb->ij", cov.reshape(shape * 2)).diagonal() / shape[1] ** 2
    return case.one(f).reshape(shape), np.sqrt(np.maximum(own, 0.0))


def _curves(case, factors):
    """The curves of the factors, as many as there is time for, but for the first."""
    found: list = []
    clock = Clock(case.budget.left if case.budget.limited else None)
    for factor in factors:
        if found and not clock.fits(clock.seconds / len(found)):
            break
        found.append(dependence(case, factor))
    return found


def dependence(case, factor):
    """The prediction averaged over rows, with one factor at each value of a grid; the band says how sure that is."""
    places, index, each = grid(factor, POINTS), case.shown(AVERAGED), None
    shape = len(places), len(index)
    Z = put(case, case.take(np.tile(index, len(places))), factor, np.repeat(places, len(index)))
    if several(case):
        each = quietly(case.model.quick_proba, Z)[:, named(case, SHOWN_CLASSES)].reshape(*shape, -1).mean(axis=1)
        mean = down = up = each[:, 0]
    elif _process(case):
        f, sd = _average(case, Z, shape)
        mean = f.mean(axis=1)
        down, up = mean - 2 * sd, mean + 2 * sd
    else:
        f = values(case, Z).reshape(shape)
        mean, (down, up) = f.mean(axis=1), np.quantile(f, [0.1, 0.9], axis=1)
    out = {"name": factor.name, "mean": mean, "low": down, "high": up, **factor.along(places)}
    return out if each is None else out | {"each": each.T}
