"""Why this λ and this kernel: the L-curve, every rule on one axis, the Picard plot, the surface of the criterion."""

import re
from itertools import islice

import numpy as np

from mercer.kernels.hyper import lengths_of
from mercer.kernels.words import describe_together, without_ranks
from mercer.report._additive import parts_of
from mercer.report._data import landmarks_section, local_section
from mercer.report._factors import labels
from mercer.report._html import rounded
from mercer.report.findings import missing, plain, short, spread
from mercer.selection import Evidence, compare, path
from mercer.selection.judging import quietly
from mercer.selection.shown import is_error, point_at, scale_to_unit, short_names

PATH_ROWS, SURFACE_ROWS = 1000, 250
HYPER = 40  # hyper-parameters that are listed
CANDIDATES, LETTERS = 20, 500  # kernels of a list, and letters of each
CURVE = 80  # points of a curve that are kept
DIRECTIONS = 400
FACTORS = np.geomspace(0.25, 4.0, 17)  # of all length scales, for the surface
LAMS, REACH = 25, 18.0
COUNTED = re.compile(r"all \d+ columns")  # of X: a category is several of them
LEFT, RIGHT = 1e3, 1e2  # how far the curves go beyond the choices


def selection_section(case):
    """What was chosen, how, and what each rule would have chosen."""
    model = case.model
    out = {
        "chosen": _chosen(case),
        "path": None,
        "surface": None,
        "candidates": _candidates(case),
        **plain(parts_of(case, words)),
    }
    if not model.linear:
        out["path"] = missing(_why_not(model))
        drawn = model.has_evidence and case.classes is not None and not model.fit_report_.get("approximation")
        out["surface"] = _label_surface(case) if drawn else out["path"]
        out["tried"] = _tried(case)
        return out
    if not _constant(model):
        out["path"] = out["surface"] = missing("The path of λ and the evidence are drawn for a constant trend or none.")
        return out
    lam = float(model.lam_)
    rows = case.shown(PATH_ROWS)
    if case.pairwise and len(rows) < case.n:
        out["path"] = missing(f"A matrix of kernel values is not sampled; the path is computed up to {PATH_ROWS} rows.")
        return out
    X, y, w = _rows(case, rows)
    try:
        found = quietly(path, case.kernel, X, y, sample_weight=w, intercept=_intercept(model), criteria=[])
    except np.linalg.LinAlgError as error:
        out["path"] = missing(f"The path of λ could not be computed: {str(error).splitlines()[0]}")
        return out
    out["path"] = quietly(_path, found, lam, len(rows), case.fitted_rows)
    out["surface"] = _surface(case, lam)
    return out


def _constant(model):
    """Whether the trend is a constant or none: a path knows no other."""
    return model.trend is None or isinstance(model.trend, bool) or model.trend == "constant"


def _intercept(model):
    """Whether there is an unpenalised constant."""
    return model.trend not in (None, False)


def _why_not(model):
    """Why there is no path for this model, in one line."""
    if model.lam_ == 0:
        return "λ is 0: the function of smallest norm through all rows has no λ to choose."
    if model.lam_ is None:
        return "This model has no λ to choose."
    if model.fit_report_.get("approximation"):
        below = local_section(model) or landmarks_section(model)
        see = f"; see {below.get('kind', 'Landmarks')} below." if below else "."
        return f"The L-curve, the Picard plot and the surface of the criterion need all of K{see}"
    if model.interval_method == "mapped":
        return "The path of λ and the evidence are drawn for a model of the target as it is, not of a transformed one."
    if model.get_params(deep=False).get("loss") is None and len(_mixed(model)) > 1:
        return "A mixture of kernels has a λ for each of them, and no one path of λ to draw."
    return "The L-curve, the criteria and the Picard plot belong to the squared loss; this model has another one."


def _mixed(model):
    """{kernel: weight} of a mixture; empty of other models."""
    found = model.fit_report_.get("kernels")
    return found if isinstance(found, dict) else {}


def _chosen(case):
    """What was chosen and by what; hyper-parameters by the names of their columns, at most some of them."""
    model, kernel = case.model, case.kernel
    search, errors = case.selection, {}
    if model.linear and model.has_evidence and model.selection_ is not None and case.n <= PATH_ROWS:
        errors = quietly(lambda: model.hyper_std_) or {}
    known = labels(case)
    called = {name: known.get(name) or name.split("__")[-1].replace("_", " ") for name in kernel.names}
    each = zip(kernel.names, np.exp(kernel.theta), np.exp(kernel.theta_bounds), strict=True)
    out = {
        "kernel": repr(kernel),
        "words": _all_words(case),
        "lam": model.lam_,
        "for_each_row": model.row_lam_ is not None,
        "parameters": [{"name": called[name], "value": float(value), "low": float(low), "high": float(high),
                        "error": errors.get(name)} for name, value, (low, high) in islice(each, HYPER)],
        "more": max(len(kernel.names) - HYPER, 0),
        "criterion": None,
        "status": "given",
        "noise": model.fit_report_.get("noise"),  # of a loss that was set for it
    }  # fmt: skip
    if search is not None:
        edge = dict(search.at_bound)
        out |= {
            "criterion": search.criterion,
            "status": search.status,
            "message": without_ranks(search.message),
            "value": search.value,
            "lam_at_bound": next((edge[name] for name in ("lam", "noise") if name in edge), None),
            "at_bound": [[called[name], value] for name, value in edge.items() if name in called][:HYPER],
            "flat": [called[name] for name in search.flat if "length_scale" in name][:HYPER],
            "evaluations": search.evaluations,
            "failed": search.failed,
        }
    return plain(out)


def _candidates(case):
    """The kernels of a list, best first, in words where a search over expressions made them."""
    tried = [] if case.selection is None else case.selection.candidates
    weights = _mixed(case.model)
    table = [{"kernel": short(repr(one.kernel), LETTERS), "words": words(case, one.kernel), "lam": one.lam,
              "value": one.value, "status": one.status, "weight": weights.get(repr(one.kernel))}
             for one in tried]  # fmt: skip
    return sorted(table, key=lambda one: one["value"])[:CANDIDATES]


def _all_words(case):
    """The kernel in words; of a mixture how many there are, and the heaviest."""
    said, count = words(case, case.kernel), len(_mixed(case.model))
    return said if count < 2 else f"a mixture of {count} kernels, first of all {said}"


def words(case, *kernels):
    """A kernel in words, periods in the units of the reader; or what several do that read the same columns."""
    said = describe_together([_in_units(case, kernel) for kernel in kernels], case.names if case.vectors else None)
    return short(rounded(COUNTED.sub("all columns", said)), LETTERS)


def _in_units(case, kernel):
    """A kernel with its periods in the units of the reader."""
    units = {name: unit[1] for name, unit in (case.units or {}).items()}
    if case.vectors:
        scale = np.array([units.get(j, 1.0) for j in range(len(case.names))])
        return kernel.in_units(np.zeros(len(scale)), scale)
    return kernel.in_units({}, units)


def _tried(case):
    """λ and the value of the criterion where a search kept them."""
    history = [] if case.selection is None else case.selection.history
    pairs = [(one["lam"], one["value"]) for one in history if np.isfinite(one.get("value", np.nan)) and "lam" in one]
    pairs = sorted(pairs)[:200]
    return {"lam": [a for a, _ in pairs], "value": [b for _, b in pairs]} if len({a for a, _ in pairs}) > 2 else None


# ---------------------------------------------------------------------------------------------- the path
def _path(found, lam, rows, n):
    """Curves, picks and spectrum of a path, thinned."""
    comparison = compare(found)
    names = short_names(comparison.choices)
    low, high = _view(found, comparison, lam)
    inside = np.flatnonzero((found.lams >= low) & (found.lams <= high))
    pick = inside[spread(len(inside), CURVE)]
    residual, norm = found.table["residual"], found.table["norm"]
    seen = np.flatnonzero((residual > 1e-8 * residual.max()) & (norm > 0))
    seen = seen[spread(len(seen), CURVE)]
    e, best = found.eigenvalues, comparison.choices["LOO()"].value

    def about(lam):
        """What is known of one λ, and its place on the L-curve."""
        known = {"lam": lam, "dof": found.q + float((e / (e + lam)).sum()), "loss": _times_best(found, lam, best)}
        return known, point_at(found, lam) if np.isfinite(lam) else (None, None)

    picks = []
    for rule, choice in comparison.choices.items():
        known, (residual_at, norm_at) = about(choice.lam)
        told = {"rule": names[rule], "status": choice.status, "message": choice.message}
        picks.append({**told, **known, "residual": residual_at, "norm": norm_at})
    curves = {names[rule]: scale_to_unit(found.table[rule][inside], is_error(rule))[np.searchsorted(inside, pick)]
              for rule in comparison.choices if rule in found.table}  # fmt: skip
    known, at = about(lam)
    return {
        **known,
        "rows": rows,
        "of": n,
        "at": list(at),
        "lcurve": {"lam": found.lams[seen], "residual": residual[seen], "norm": norm[seen]},
        "curves": {"lam": found.lams[pick], "values": curves},
        "picks": picks,
        "picard": _picard(found),
    }


def _times_best(found, lam, best):
    """The leave-one-out error at λ over the smallest one on the path."""
    if found.constant or not best > 0 or not lam > 0:
        return None
    place = np.clip(lam, found.lams[0], found.lams[-1])
    return float(np.interp(np.log(place), np.log(found.lams), found.table["LOO()"]) / best)


def _view(found, comparison, lam):
    """The part of the grid around the choices."""
    chosen = [c.lam for c in comparison.choices.values() if np.isfinite(c.lam) and c.lam > 0]
    chosen += [lam] if np.isfinite(lam) and lam > 0 else []
    if not chosen:
        return found.lams[0], found.lams[-1]
    return max(found.lams[0], min(chosen) / LEFT), min(found.lams[-1], max(chosen) * RIGHT)


def _picard(found):
    """Eigenvalues, coefficients of y and their price, the first few hundred."""
    size = np.sqrt(np.mean(found.coefficients**2, axis=1))[:DIRECTIONS]
    e = found.eigenvalues[:DIRECTIONS]
    ratio = np.divide(size, np.sqrt(np.maximum(e, 0)), out=np.full(len(e), np.nan), where=e > 0)
    return {"eigenvalue": e, "coefficient": size, "ratio": ratio, "of": len(found.eigenvalues)}


# ------------------------------------------------------------------------------------------- the surface
def _surface(case, lam):
    """Log evidence lost against the best point, over a factor on all length scales and λ."""
    lengths = lengths_of(case.kernel.names)
    if not lengths.any():
        return missing("The kernel has no free length scale: there is no surface of the evidence to draw.")
    if not (np.isfinite(lam) and lam > 0) or case.pairwise:
        return missing("There is no positive λ to draw a surface around.")
    if skipped := case.budget.skips("evidence surface"):
        return skipped
    rows = case.shown(SURFACE_ROWS)
    data = _rows(case, rows)
    process = case.model.probabilistic
    criterion = Evidence() if process else Evidence(profile_scale=True)
    lams = np.geomspace(lam / REACH, lam * REACH, LAMS)
    theta, columns = case.kernel.theta, []
    for factor in FACTORS:
        moved = case.kernel.with_theta(theta + lengths * np.log(factor))  # beyond bounds too: they bind the search
        columns.append(_evidence(case, moved, data, lams, criterion))
        if skipped := case.budget.skips("evidence surface"):
            return skipped
    up = "σ², noise variance" if process else "λ", lams
    return _field(case, np.array(columns).T, FACTORS, up, len(rows), criterion.name, lam)


def _field(case, loss, factors, up, rows, what, chosen):
    """Loss against the best point, over factors on all length scales and ``up``, a label and its values."""
    loss = np.where(np.isfinite(loss), loss, np.nan)
    if not np.isfinite(loss).any():
        return missing("The evidence could not be evaluated around the chosen point.")
    lengths = lengths_of(case.kernel.names)
    single = lengths.sum() == 1
    base = float(np.exp(case.kernel.theta[lengths][0])) if single else 1.0
    return {
        "rows": rows,
        "of": case.fitted_rows,
        "what": what,
        "x": {"label": "length scale" if single else "factor on all length scales", "values": base * factors},
        "y": {"label": up[0], "values": up[1]},
        "loss": np.minimum(loss - np.nanmin(loss), 1e6),
        "chosen": [base, chosen],
    }


def _evidence(case, kernel, data, lams, criterion):
    """The criterion for all λ, nan where the kernel is singular to rounding."""
    X, y, w = data
    try:
        found = quietly(path, kernel, X, y, lams=lams, sample_weight=w, intercept=_intercept(case.model), criteria=[])
    except np.linalg.LinAlgError:
        return np.full(len(lams), np.nan)
    return quietly(lambda: found.curve(criterion, lams))


def _rows(case, rows):
    """(X, Y, weights) of some rows, all targets; rows of weight 0 are no part of the fit, λᵢ is the weight λ/λᵢ."""
    weight = case.precision
    if weight is not None:
        rows = rows[weight[rows] > 0]
    X = case.X if len(rows) == case.n else case.take(rows)
    return X, case.Y[rows], None if weight is None else weight[rows]


def _label_surface(case):
    """The evidence of a classifier over its amplitude and its length scales."""
    kernel, lengths = case.kernel, lengths_of(case.kernel.names)
    others = np.flatnonzero(~lengths)
    if not lengths.any() or not len(others) or case.n > SURFACE_ROWS or len(case.classes) > 2:
        return missing(
            "The surface of the evidence is drawn for a length scale and an amplitude, two classes, and up to "
            f"{SURFACE_ROWS} rows."
        )
    if skipped := case.budget.skips("evidence surface"):
        return skipped
    theta, j = kernel.theta, int(others[0])
    factors, amplitudes = FACTORS[::2], np.geomspace(0.1, 10, 9)
    loss = np.full((len(amplitudes), len(factors)), np.nan)
    for a, amplitude in enumerate(amplitudes):
        for b, factor in enumerate(factors):
            moved = theta + lengths * np.log(factor)
            moved[j] += np.log(amplitude)
            loss[a, b] = -quietly(case.model.log_marginal_likelihood, moved)
    chosen = float(np.exp(theta[j]))
    up = kernel.names[j].split("__")[-1], chosen * amplitudes
    return _field(case, loss, factors, up, case.n, "log p(y)", chosen)
