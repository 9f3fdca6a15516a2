"""What if a column were different? The model in numbers that a page evaluates: its own, or a small stand-in's."""

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils import _safe_indexing

from mercer.estimators import KernelRidge
from mercer.kernels import Matern52
from mercer.report._answers import COVERAGE, answers, has_several, interval, is_skewed, name_of_values
from mercer.report._effects import AHEAD
from mercer.report._factors import LEVELS, NUMBER, set_factor
from mercer.report.parts import Missing
from mercer.report.parts_effects import ConstantWidth, KernelSum, ModelWidth, Slider, StandInError, WhatIfFindings
from mercer.selection.judging import quietly, root_mean_square

LEVELS_SHOWN = 12  # levels of a category
PLACES, TRIED = 320, 500  # random places that a stand-in learns from, and those that it is tried at
TESTED = 8  # points on which the formula of a kernel is held to its values
EXACT = 1e-6  # of the spread of the predictions: rounding
GOOD = 0.5  # of the error of the model: a stand-in that is further off is not shown
POINTS = 0.1  # what stands for that error where probabilities are shown
CLASSES, LEAST = 7, 1e-6  # classes with a curve at most, and the least probability


def whatif_section(case, left):
    """Sliders of the strongest columns, and the numbers that the script evaluates; or why there are none."""
    every = [factor for factor in case.by_importance if not factor.marks] if case.factors else []
    moving = [factor for factor in every if factor.moves][: case.limits.sliders]
    if not moving:
        return Missing(missing="Whole objects have no columns to change.")
    if case.classes is not None and not (hasattr(case.model, "predict_proba") and len(case.classes) <= CLASSES):
        return Missing(missing=f"There are sliders for numbers, and for the probabilities of up to {CLASSES} classes.")
    if case.budget.skips("sliders"):
        return case.budget.missing
    start = _typical(case)
    seen = _Places(case, moving, start, TRIED, 1)
    shown = answers(case, seen.rows)
    own = _own(case, seen.rows, shown)
    if own is None:
        learnt = _Places(case, moving, start, PLACES, 0)
        model = _fit_stand_in(case, learnt.coded, _to_link(case, answers(case, learnt.rows)))
        off = np.abs(_from_link(case, quietly(model.predict, seen.coded)) - shown).reshape(len(shown), -1).max(axis=1)
        made = _numbers_of(model, learnt.coded)
    else:
        made, off = own
    usual, unit = float(np.quantile(off, 0.95)), _unit(case, left)
    if own is None and usual > GOOD * unit:
        return Missing(missing="The prediction bends too much for a small stand-in of the model: there are no sliders.")
    width = _width(case, left, moving, start, seen)
    return WhatIfFindings(
        what=case.target if has_several(case) else name_of_values(case),
        link="identity" if case.classes is None else "softmax" if has_several(case) else "logistic",
        classes=[str(one) for one in case.classes] if has_several(case) else None,
        own=own is not None,
        error=StandInError(usual=usual, largest=float(off.max()), places=TRIED, share=usual / unit),
        start=seen.coded.shape[1] * [0.0] if own is None else start[0].tolist(),
        factors=_sliders(case, moving, own is None),
        held=[factor.name for factor in every if factor not in moving][:20],
        model=KernelSum(**made),
        width=width,
        coverage=None if width is None else COVERAGE,
        typical=answers(case, start)[0].tolist(),
        low=float(shown.min()),
        high=float(shown.max()),
    )


def _to_link(case, f):
    """f; of probabilities the logit, of several the logarithms, centred."""
    if case.classes is None:
        return f
    p = np.clip(f, LEAST, 1 - LEAST)
    if not has_several(case):
        return np.log(p / (1 - p))
    return np.log(p) - np.log(p).mean(axis=1, keepdims=True)


def _from_link(case, f):
    """The way back: what a reader sees."""
    if case.classes is None:
        return f
    return softmax(f, axis=1) if has_several(case) else expit(f)


def _unit(case, left):
    """What an error of a stand-in is compared with: the error of rows left out, for probabilities some points."""
    if case.classes is not None:
        return POINTS
    e = case.y - left.predicted
    return root_mean_square(e[np.isfinite(e)]) or 1.0


# ----------------------------------------------------------------------------------------------- places
def _typical(case):
    """One row: of each column the median, or the commonest level."""
    row = case.take(np.zeros(1, dtype=int))
    for factor in case.factors:
        if factor.kind in (NUMBER, LEVELS):
            middle = int(np.bincount(factor.values).argmax()) if factor.kind == LEVELS else np.median(factor.values)
            row = set_factor(case, row, factor, middle)
    return row


class _Places:
    """Random places in the range of the sliders, the other columns as in the typical row: as rows, and coded."""

    def __init__(self, case, moving, start, count, seed):
        rng = np.random.default_rng(seed)
        self.rows, coded = _safe_indexing(start, np.zeros(count, dtype=int)), []
        for factor in moving:
            if factor.kind == LEVELS:
                drawn = rng.choice(factor.common_levels(LEVELS_SHOWN), count)
                coded.append(np.eye(len(factor.levels))[drawn])
            else:
                place = rng.uniform(-1.0, 1.0, count)
                low, high = _slider_ends(case, factor)
                drawn = (low + high) / 2 + place * (high - low) / 2
                coded.append(place[:, None])
            self.rows = set_factor(case, self.rows, factor, drawn)
        self.coded = np.column_stack(coded)


def _slider_ends(case, factor):
    """Ends of a slider: where all but one in a hundred rows are; of a series with what is foreseen of it."""
    low, high = np.quantile(factor.values, [0.005, 0.995])
    if case.forward and len(case.factors) == 1 or not high > low:
        low, high = factor.values.min(), factor.values.max() + (AHEAD * np.ptp(factor.values) if case.forward else 0.0)
    return low, high


def _sliders(case, moving, stand_in):
    """Of each slider its ends, where it begins, and which columns of the model have what value then."""
    out, at = [], 0
    for factor in moving:
        own: dict = {}
        if factor.kind == LEVELS:
            kept = factor.common_levels(LEVELS_SHOWN)
            states = [np.eye(len(factor.levels))[k] if stand_in else np.ravel(factor.states[k]) for k in kept]
            begin = int(np.flatnonzero(kept == np.bincount(factor.values).argmax())[0])
            own |= {"levels": [factor.levels[k] for k in kept], "states": [s.tolist() for s in states], "start": begin}
        else:
            low, high = sorted(float(factor.shown(v)) for v in _slider_ends(case, factor))
            shown = factor.shown(factor.values)
            own |= {"low": low, "high": high, "start": float(factor.shown(np.median(factor.values))),
                    "whole": bool(np.all(shown == np.round(shown)))}  # fmt: skip
            own |= {"centre": factor.centre, "scale": factor.scale}
            if stand_in:
                sign = 1.0 if factor.scale > 0 else -1.0
                own |= {"centre": (low + high) / 2, "scale": sign * (high - low) / 2}
        size = len(factor.levels) if factor.kind == LEVELS else 1
        own["columns"] = list(range(at, at + size)) if stand_in else list(factor.columns)
        out.append(Slider(name=factor.name, kind=factor.kind, dates=factor.dates, **own))
        at += size
    return out


# ------------------------------------------------------------------------------------ the model's own numbers
def _own(case, tried, f):
    """(points, coefficients and kernels of the model itself, how far off they are); None without, or of too many."""
    if not case.vectors or case.classes is not None or case.sampled:
        return None
    try:
        points, parts = _parts(case)
    except (AttributeError, TypeError, ValueError):
        return None
    formulas = [kernel.slider(points[:TESTED]) for kernel, _ in parts]
    if (
        None in formulas
        or points.size > case.limits.numbers_in_page
        or any(len(coef) != len(points) for _, coef in parts)
    ):
        return None
    rest = f - sum(quietly(kernel, tried, points) @ coef for kernel, coef in parts)  # a constant, if there is no more
    if not np.ptp(rest) <= EXACT * (float(f.std()) or 1.0):
        return None
    off = np.abs(rest - rest.mean())
    made = [{"kernel": steps, "coef": coef.tolist()} for steps, (_, coef) in zip(formulas, parts, strict=True)]
    return {"points": points.tolist(), "parts": made, "constant": float(rest.mean())}, off


def _parts(case):
    """(points, [(kernel, coefficients), …]): of a mixture one for each kernel, with its weight in the coefficients."""
    model = case.model
    try:
        mixed = list(zip(model.kernels_, model.lams_, model.weights_, strict=True))
    except AttributeError:
        return np.asarray(model.points_, dtype=float), [
            (case.kernel, case.one(np.asarray(model.dual_coef_, dtype=float)))
        ]
    if case.n * case.X.shape[1] > case.limits.numbers_in_page:
        raise ValueError("too many numbers")
    fitted = [quietly(KernelRidge(kernel, lam).fit, case.X, case.y, case.weight) for kernel, lam, _ in mixed]
    weighed = [(kernel, w * one.dual_coef_) for (kernel, _, w), one in zip(mixed, fitted, strict=True)]
    return np.asarray(fitted[0].points_, dtype=float), weighed


# ------------------------------------------------------------------------------------------------ a stand-in
def _fit_stand_in(case, coded, answered):
    """A ridge regression of the model's answers at random places."""
    model = KernelRidge(Matern52(np.full(coded.shape[1], 2.0)), lam=1e-4, criterion="loo",
                        time_budget=case.limits.seconds_of_stand_in)  # fmt: skip
    return quietly(model.fit, coded, answered)


def _numbers_of(model, coded):
    """Points, coefficients, kernel and constant of a stand-in."""
    part = {"kernel": model.kernel_.slider(coded[:TESTED]), "coef": model.dual_coef_.tolist()}
    constant = np.asarray(model.intercept_, dtype=float).tolist()
    return {"points": model.points_.tolist(), "parts": [part], "constant": constant}


def _width(case, left, moving, start, tried):
    """How far the interval reaches: one number, or a stand-in of its logarithm; None without intervals.

    Of quantiles below the prediction and above it, and how low and high they may be.
    """
    ends = interval(case, left, tried.rows)
    if ends is None:
        return None
    reach = _reach(case, tried.rows, ends)
    if np.ptp(reach) <= 1e-9 * float(np.abs(reach).max()):
        return ConstantWidth(is_="constant", value=float(reach.flat[0]))
    learnt = _Places(case, moving, start, PLACES, 0)
    model = _fit_stand_in(case, learnt.coded, np.log(_reach(case, learnt.rows, interval(case, left, learnt.rows))))
    off = np.abs(quietly(model.predict, tried.coded) - np.log(reach)).reshape(len(reach), -1).max(axis=1)
    return ModelWidth(
        is_="model",
        off=float(np.expm1(np.quantile(off, 0.95))),
        bounds=[float(ends[0].min()), float(ends[1].max())] if is_skewed(case) else None,
        factors=_sliders(case, moving, True),
        **_numbers_of(model, learnt.coded),
    )


def _reach(case, X, ends):
    """Half the width of an interval; of quantiles how far they are below the prediction, and above it."""
    low, high = ends
    if not is_skewed(case):
        return (high - low) / 2
    f, least = case.predict(X), 1e-6 * float(np.max(high - low))
    return np.maximum(np.column_stack([f - low, high - f]), least)
