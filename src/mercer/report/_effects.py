"""What each column does: importance by shuffling, partial dependence with bands, pairs that interact."""

import numpy as np

from mercer._clock import Clock
from mercer.report._answers import (
    COVERAGE,
    answers,
    common_classes,
    has_several,
    interval,
    name_of_values,
    shown_values,
)
from mercer.report._factors import LEVELS, NUMBER, TEXT, set_factor, shuffle_factor
from mercer.report._pairs import pairs_section
from mercer.report.parts import Missing
from mercer.report.parts_effects import ColumnImportance, EffectCurve, EffectFindings, OneInput
from mercer.selection.judging import quietly

REPEATS, FEWEST_SHUFFLED = 5, 15  # of the shuffling, and its rows where the time budget ends
SHUFFLED_ENTRIES = 2e8  # values of the kernel that the shuffling may ask for


def importance(case):
    """How much the prediction moves when a factor is shuffled: root mean square, in standard deviations of all.

    Each factor asks for as many predictions as there are rows. Where time is short, from what the first predictions of
    this very run took, there are fewer rows, and fewer repeats.
    """
    if not case.factors:
        return np.zeros(0)
    repeats = REPEATS if len(case.factors) <= 50 else 1
    clock, count = case.budget.part(0.4), int(SHUFFLED_ENTRIES / (case.fitted_rows * repeats * len(case.factors)))
    most = min(max(count, 40), case.limits.rows_shuffled)
    rows = case.shown(min(FEWEST_SHUFFLED, most) if clock.limited else most)
    base = answers(case, case.take(rows)).reshape(len(rows), -1)
    affordable = clock.left / max(clock.seconds * len(case.factors), 1e-9) * len(rows)
    if clock.limited and affordable > len(rows):
        rows = case.shown(int(min(affordable, most)))
        base = answers(case, case.take(rows)).reshape(len(rows), -1)
    rng, rise, begun = np.random.default_rng(0), [], clock.seconds
    for _ in range(repeats):
        if rise and not clock.fits((clock.seconds - begun) / len(rise)):
            break
        rise.append(_moves(case, rows, base, rng.permutation(len(rows))))
    return np.mean(rise, axis=0)


def _moves(case, rows, base, order):
    """How far predictions at some rows move when each factor is taken from other rows, in their deviations."""
    unit = float(np.abs(base).max()) or 1.0
    scale = float(np.sqrt(np.sum((base / unit).var(axis=0)))) or 1.0
    X, size = case.take(rows), np.zeros(len(case.factors))
    together = max(1000 // len(rows), 1) if case.vectors else 1  # few rows of each factor are asked for in one call
    for first in range(0, len(size), together):
        some = case.factors[first : first + together]
        Z = [shuffle_factor(case, X, factor, order) for factor in some]
        moved = answers(case, np.concatenate(Z) if together > 1 else Z[0]).reshape(len(some), *base.shape) - base
        size[first : first + len(some)] = np.sqrt(np.mean(np.sum((moved / unit) ** 2, axis=2), axis=1))
    return size / scale


POINTS, AVERAGED = 25, 40  # points of a curve, rows it is an average over
SHOWN_CLASSES, SHOWN_LEVELS = 5, 10  # classes with a curve, levels of a category with a mark
COLUMNS = 40  # that are listed
AHEAD = 0.15  # how far a series is foreseen, of its length
MEASURE = "root mean square change of the prediction when the column is shuffled, in its standard deviations"


def effects_section(case, left):
    """Importance and curves of the columns, and the strongest pair; one line for objects."""
    factors = case.factors
    if not factors:
        kind = "a matrix of kernel values" if case.pairwise else "whole objects"
        return Missing(missing=f"The inputs are {kind}, not columns: there is no importance and no partial dependence.")
    if case.budget.skips("effects of the columns", _seconds_of_curve(case)):
        return case.budget.missing
    rows = [ColumnImportance(name=factors[j].name, kind=factors[j].kind, rise=float(case.importance[j]))
            for j in case.order[:COLUMNS]]  # fmt: skip
    moving = [factor for factor in case.by_importance if factor.moves]
    return EffectFindings(
        columns=rows,
        more=len(factors) - len(rows),
        measure=MEASURE,
        what=name_of_values(case),
        classes=[str(case.classes[k]) for k in common_classes(case, SHOWN_CLASSES)] if has_several(case) else None,
        band="posterior" if _has_posterior(case) else "rows",
        averaged=min(AVERAGED, case.n),
        of=case.n,
        curves=_curves(case, moving[: case.limits.curves]),
        one_input=one_input(case, left, moving[0]) if len(moving) == 1 and len(factors) == 1 else None,
        texts=[factor.name for factor in factors if factor.kind == TEXT][:COLUMNS],
        pairs=pairs_section(case, moving),
    )


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
    places = np.linspace(factor.values.min(), end, 360 if case.forward else 120)
    Z = set_factor(case, case.take(np.zeros(len(places), dtype=int)), factor, places)
    f, ends = case.predict(Z), interval(case, left, Z)
    low, high = ends or (None, None)
    return OneInput(
        name=factor.name,
        dates=factor.dates,
        coverage=None if ends is None else COVERAGE,
        x=factor.shown(places),
        mean=f,
        low=low,
        high=high,
        at=factor.shown(factor.values[shown]),
        measured=case.y[shown],
        labels=[case.label(i) for i in shown],
    )


def _has_posterior(case):
    """Whether the posterior of the curve is known, and lies evenly around it."""
    return case.model.probabilistic and case.model.interval_method != "mapped"


def curve_places(factor, points):
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
    places, index, each = curve_places(factor, POINTS), case.shown(AVERAGED), None
    shape = len(places), len(index)
    Z = set_factor(case, case.take(np.tile(index, len(places))), factor, np.repeat(places, len(index)))
    if has_several(case):
        each = (
            quietly(case.model.quick_proba, Z)[:, common_classes(case, SHOWN_CLASSES)].reshape(*shape, -1).mean(axis=1)
        )
        mean = down = up = each[:, 0]
    elif _has_posterior(case):
        f, sd = _average(case, Z, shape)
        mean = f.mean(axis=1)
        down, up = mean - 2 * sd, mean + 2 * sd
    else:
        f = shown_values(case, Z).reshape(shape)
        mean, (down, up) = f.mean(axis=1), np.quantile(f, [0.1, 0.9], axis=1)
    each = None if each is None else each.T
    return EffectCurve(name=factor.name, mean=mean, low=down, high=up, each=each, **factor.along(places))
