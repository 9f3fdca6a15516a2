"""What a fitted model can be asked, how an answer follows the unit of y, and the one comparer."""

from typing import Any, NamedTuple

import numpy as np

METHODS = ("auto", "gaussian", "conformal", "jackknife+", "cv+", "left-out", "split")


class Question(NamedTuple):
    """ask(model, data), the power of the unit of y in the answer ("y" is one with the offset), the axis of rows."""

    ask: Any
    unit: Any = 0
    rows: bool = False  # whether the first axis is that of the training rows
    exact: bool = True  # whether an approximation that is exact has the exact fit's answer
    counts: bool = False  # whether rows are counted or left out, so that a weight is no repeated row
    follows: tuple = ()  # approximations by which copies leave together, so that a weight is repeated rows after all
    total: str = ""  # how answers for each target make up that for all: "sum", "mean" or "first"


def interval(method, normalise):
    def ask(model, data):
        options = {"normalise": True} if normalise else {}
        options |= {"folds": list(data.folds)} if method == "cv+" else {}
        if method == "split":
            labels = data.new_y
            options["calibration"] = (data.new, labels)
        return model.predict_interval(data.new, 0.6, method=method, **options)

    together = ("Neighbours", "Fourier") if method == "conformal" or normalise else ()
    counts = method not in ("auto", "gaussian", "split")  # "auto" is one of them where it counts copies
    return Question(ask, "y", exact=method in ("gaussian", "split"), counts=counts, follows=together)


def certificate(key):
    def ask(model, data):
        found = model.fit_report_.get("approximation", {})
        if key not in found:
            raise Absent
        return found[key]

    return ask


def held(model, data):
    if not data.held and data.aside is None:
        raise Absent
    options = {} if data.held else {"calibration": data.aside}
    return model.predict_interval(data.new, 0.6, method="split", normalise=True, **options)


def parts(model, data):
    return np.stack([part.mean for part in model.decompose(data.new)[:-1]])  # without the trend


def slope(model, data):
    """By the amplitude, by all lengths together, and by the noise: columns may be more."""
    found = model.log_marginal_likelihood(eval_gradient=True)[1]
    return np.array([found[0], found[1 : len(data.lengths) + 1].sum(), *found[len(data.lengths) + 1 :]])


def reported(model, data):
    return model.fit_report_["rows"] - model.fit_report_.get("dropped_rows", 0)


def offset(model, data):
    found = model.trend_coef_ if hasattr(model, "trend_coef_") else model.intercept_
    if np.ndim(found) and len(found) > 1 and hasattr(model, "trend_coef_"):  # of 1, beside x less some centre
        raise Absent
    return np.squeeze(found)


def inclination(model, data):
    if len(model.trend_coef_) < 2:
        raise Absent
    return np.squeeze(data.along @ model.trend_coef_[1:])


def spread(model, data):
    if len(data.lengths) > 2:  # hyper-parameters that others make useless
        raise Absent
    return model.hyper_cov_


def derivative(model, data):
    return np.einsum("md...,d->m...", model.derivative(data.new)[0], data.along)


def new_row_density(model, data):
    return model.log_density(data.new, data.new_y)


QUESTIONS = {
    "mean": Question(lambda m, d: m.predict(d.new), "y"),
    "latent std": Question(lambda m, d: m.predict(d.new, return_std=True)[1], 1, total="first"),
    "noisy std": Question(lambda m, d: m.predict(d.new, return_std=True, noisy=True)[1], 1, total="first"),
    "moments": Question(lambda m, d: m.posterior(d.new).noisy_std, 1, total="first"),
    "covariance": Question(lambda m, d: m.predict(d.new, return_cov=True)[1], 2, total="first"),
    "draws": Question(lambda m, d: m.sample(d.new, 2, random_state=0), "y", exact=False),
    "parts": Question(parts, 1),
    "derivative": Question(derivative, 1),
    "prior": Question(lambda m, d: m.prior_moments(d.new).noisy_std, 1, total="first"),
    "decision": Question(lambda m, d: m.decision_function(d.new)),
    "probabilities": Question(lambda m, d: m.predict_proba(d.new)),
    "quick probabilities": Question(lambda m, d: m.quick_proba(d.new), exact=False),
    "latent": Question(lambda m, d: np.stack(m.predict_latent(d.new))),
    "tube": Question(lambda m, d: np.stack(m.decision_tube(d.new)), "y"),
    "power function": Question(lambda m, d: m.power_function(d.new), 1, total="first"),
    "quantile": Question(lambda m, d: m.quantile(d.new, [0.1, 0.7]), "y"),
    "normals": Question(lambda m, d: m.normals(d.new)[0], "y"),
    "log density": Question(new_row_density, "log"),
    "residuals left out": Question(lambda m, d: m.loo_residuals_, 1, rows=True, counts=True),
    "std left out": Question(lambda m, d: m.loo_std_, 1, rows=True, counts=True, total="first"),
    "left out": Question(lambda m, d: m.left_out().predicted, "y", rows=True, counts=True),
    "density left out": Question(lambda m, d: m.left_out_density_, "log", exact=False, counts=True),
    "decision left out": Question(lambda m, d: m.loo_decision_, "y", rows=True, counts=True),
    "leverage": Question(lambda m, d: m.leverage_, rows=True, counts=True, total="first"),
    "degrees of freedom": Question(lambda m, d: m.dof_, total="first"),
    "norm": Question(lambda m, d: m.rkhs_norm_),
    "evidence": Question(lambda m, d: m.log_marginal_likelihood_value_, "log of all", total="sum"),
    "slope of the evidence": Question(slope, total="sum"),
    "fidelity": Question(lambda m, d: m.evidence_terms()["fidelity"], total="sum"),
    "uncertainty of hyper-parameters": Question(spread, exact=False, total="none"),
    "z": Question(lambda m, d: m.calibration().z, "ratio", rows=True, counts=True),
    "mean square": Question(lambda m, d: m.calibration().mean_square, "ratio", counts=True),
    "calibration": Question(lambda m, d: m.calibration([0.37, 0.71]).coverage, "ratio", counts=True),
    "Cook": Question(lambda m, d: m.influence().cook, "ratio", rows=True, counts=True),
    "DFFITS": Question(lambda m, d: m.influence().dffits, "ratio", rows=True, counts=True),
    "noise of influence": Question(lambda m, d: m.influence().sigma2, 2, counts=True),
    "targets": Question(lambda m, d: m.row_target_, "y", rows=True, counts=True),
    "row weights": Question(lambda m, d: m.row_weight_, rows=True, counts=True, total="first"),
    "offset": Question(offset, "y"),
    "inclination": Question(inclination, 1),
    "interval of rows held": Question(held, "y"),
    "missing": Question(certificate("trace_missing"), exact=False, total="first"),
    "distance": Question(certificate("distance"), 1, exact=False, total="none"),
    "coverage": Question(certificate("coverage"), exact=False, counts=True, total="mean"),
    "mean square left out": Question(certificate("mean_square"), exact=False, counts=True, total="mean"),
    "rows of the report": Question(reported, counts=True, total="first"),
} | {f"interval {how}{' normalised' * unlike}": interval(how, unlike) for how in METHODS for unlike in (False, True)}

# Public names that are no question: how a fit is made, kept or described, and what other answers are made of.
NOT_ASKED = set("""
    fit from_state frozen get_metadata_routing get_params set_params set_callbacks plan save state score
    criterion_used for_noise readable update forget partial_fit fit_report_ selection_ lam_ regularization_ kernel_
    our_kernel_ points_ support_ row_lam_ quantile_levels_ hyper_std_ transform_
""".split())  # fmt: skip


class Absent(Exception):
    """A model does not have what was asked for."""


def expected(question, before, pair, answer, trend):
    """What an answer after a transformation has to be, from that (or those, one for each target) before it."""
    after, start = pair.after, pair.before
    if isinstance(start, list):
        each = not question.total or (question.total == "first" and answer.ndim > before[0].ndim)
        together = {"sum": sum, "first": lambda every: every[0], "mean": lambda every: np.mean(every, axis=0)}
        start, before = start[0], np.stack(before, axis=-1) if each else together[question.total](before)
    ratio, shift = after.size / start.size, after.offset - start.offset
    if question.unit == "y":
        before = ratio * before + shift
    elif question.unit == "log":
        before = before - np.log(ratio)
    elif question.unit == "log of all":
        before = before - (start.n - trend) * np.log(ratio)  # beside so many columns of a trend
    elif question.unit != "ratio":
        before = ratio**question.unit * before
    return before[pair.rows] if question.rows else before


def unit_of(question, data, shape):
    """What errors are measured by: the size of y of each target, or 1; offsets cost digits."""
    y = data.y.reshape(data.n, -1)
    if y.dtype.kind != "f":
        return 1.0
    spread = np.abs(y - y.mean(axis=0)).max(axis=0)
    size = np.where(spread > 1e-9 * np.abs(y).max(axis=0), spread, np.abs(y).max(axis=0))
    lost = 1.0 + 1e-7 * np.abs(y).max(axis=0) / size
    each = len(shape) > 0 and shape[-1] == len(size) > 1 and not question.total
    power = {"y": 1, "log": 0, "log of all": 0, "ratio": 0}.get(question.unit, question.unit)
    found = (size if each else data.size) ** power * (lost if each else lost.max())
    return found


def wrong(question, found, right, data, tol):
    """How far an answer is off in units of what it may be off, where that is more than 1; else 0."""
    found, right = np.asarray(found, dtype=float), np.asarray(right, dtype=float)
    if found.shape != right.shape and found.size > 1:
        return np.inf
    if question.rows and data.weight is not None:
        found, right = found[data.weight > 0], right[data.weight > 0]
    if question.unit == "ratio" and data.y.ndim > 1:  # 0/0 for a constant target
        found, right = (part[..., np.ptp(data.y, axis=0) > 0] for part in (found, right))
    unit = unit_of(question, data, right.shape)
    if question.unit in (0, "ratio", "log", "log of all"):
        unit = unit * np.maximum(1.0, np.abs(right))
    same = (found == right) | (np.isnan(found) & np.isnan(right))
    with np.errstate(invalid="ignore"):
        off = np.where(same, 0.0, np.abs(found - right) / (tol * unit))
    worst = np.nanmax(np.where(np.isnan(off), np.inf, off), initial=0.0)
    return 0.0 if worst <= 1.0 else float(worst * tol)
