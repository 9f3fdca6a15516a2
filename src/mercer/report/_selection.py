"""Why this λ and this kernel: the L-curve, every rule on one axis, the Picard plot, the surface of the criterion."""

import re
from itertools import islice

import numpy as np

from mercer.kernels.words import describe_together, without_ranks
from mercer.report._additive import parts_of
from mercer.report._data import landmarks_section, local_section
from mercer.report._factors import name_parameters
from mercer.report._html import with_four_digits
from mercer.report._surface import has_constant, label_surface, lam_surface, rows_of_fit
from mercer.report.findings import evenly, short
from mercer.report.parts import Missing
from mercer.report.parts_model import (
    CandidateKernel,
    ChosenModel,
    HyperValue,
    LamCurves,
    LamPick,
    LCurvePoints,
    PathFindings,
    PicardPlot,
    SelectionFindings,
    TriedLams,
)
from mercer.selection import compare, path
from mercer.selection.judging import quietly
from mercer.selection.shown import is_error, point_at, scale_to_unit, short_names

HYPER = 40  # hyper-parameters that are listed
CANDIDATES, LETTERS = 20, 500  # kernels of a list, and letters of each
CURVE = 80  # points of a curve that are kept
DIRECTIONS = 400  # of the Picard plot
COUNTED = re.compile(r"all \d+ columns")  # of X: a category is several of them


def selection_section(case):
    """What was chosen, how, and what each rule would have chosen."""
    moves, parts = parts_of(case, kernel_in_words)
    tried = None if case.model.linear else _trials(case)
    path, surface = _path_and_surface(case)
    return SelectionFindings(
        chosen=_choice(case), path=path, surface=surface, candidates=_candidate_kernels(case), moves=moves, parts=parts,
        tried=tried,
    )  # fmt: skip


def _path_and_surface(case):
    """(path of λ, surface of the evidence), or why there is none."""
    model, most = case.model, case.limits.rows_on_path
    if not model.linear:
        why = Missing(missing=_why_not(model))
        drawn = model.has_evidence and case.classes is not None and not model.fit_report_.get("approximation")
        return why, label_surface(case) if drawn else why
    if not (isinstance(model.trend, bool) or model.trend in (None, "constant")):
        why = Missing(missing="The path of λ and the evidence are drawn for a constant trend or none.")
        return why, why
    lam, rows = float(model.lam_), case.shown(most)
    if case.pairwise and len(rows) < case.n:
        return Missing(
            missing=f"A matrix of kernel values is not sampled; the path is computed up to {most} rows."
        ), None
    X, y, w = rows_of_fit(case, rows)
    try:
        found = quietly(path, case.kernel, X, y, sample_weight=w, intercept=has_constant(model.trend), criteria=[])
    except np.linalg.LinAlgError as error:
        return Missing(missing=f"The path of λ could not be computed: {str(error).splitlines()[0]}"), None
    return quietly(_path, found, lam, len(rows), case.fitted_rows), lam_surface(case, lam)


def _why_not(model):
    """Why there is no path for this model, in one line."""
    if model.lam_ == 0:
        return "λ is 0: the function of smallest norm through all rows has no λ to choose."
    if model.lam_ is None:
        return "This model has no λ to choose."
    if model.fit_report_.get("approximation"):
        local = local_section(model.fit_report_)
        below = local.kind if local else "Landmarks" if landmarks_section(model.fit_report_) else None
        see = f"; see {below} below." if below else "."
        return f"The L-curve, the Picard plot and the surface of the criterion need all of K{see}"
    if model.interval_method == "mapped":
        return "The path of λ and the evidence are drawn for a model of the target as it is, not of a transformed one."
    if model.get_params(deep=False).get("loss") is None and len(_mixture_weights(model.fit_report_)) > 1:
        return "A mixture of kernels has a λ for each of them, and no one path of λ to draw."
    return "The L-curve, the criteria and the Picard plot belong to the squared loss; this model has another one."


def _mixture_weights(report):
    """{kernel: weight} of a mixture; empty of other models."""
    found = report.get("kernels")
    return found if isinstance(found, dict) else {}


def _choice(case):
    """What was chosen and by what; hyper-parameters by the names of their columns, at most some of them."""
    model, kernel = case.model, case.kernel
    search, errors = case.selection, {}
    if model.linear and model.has_evidence and model.selection_ is not None and case.n <= case.limits.rows_on_path:
        errors = quietly(lambda: model.hyper_std_) or {}
    known = name_parameters(case)
    called = {name: known.get(name) or name.split("__")[-1].replace("_", " ") for name in kernel.names}
    each = zip(kernel.names, np.exp(kernel.theta), np.exp(kernel.theta_bounds), strict=True)
    parameters = [HyperValue(name=called[name], value=float(value), low=float(low), high=float(high),
                             error=errors.get(name)) for name, value, (low, high) in islice(each, HYPER)]  # fmt: skip
    return ChosenModel(
        kernel=repr(kernel),
        words=_all_words(case),
        lam=model.lam_,
        for_each_row=model.row_lam_ is not None,
        parameters=parameters,
        more=max(len(kernel.names) - HYPER, 0),
        noise=model.fit_report_.get("noise"),
        **({"criterion": None, "status": "given"} if search is None else _search_facts(search, called)),
    )


def _search_facts(search, called):
    """What a search says of its end; hyper-parameters as they are called."""
    edge = dict(search.at_bound)
    return {
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


def _candidate_kernels(case):
    """The kernels of a list, best first, in words where a search over expressions made them."""
    tried = [] if case.selection is None else case.selection.candidates
    weights = _mixture_weights(case.model.fit_report_)
    table = [CandidateKernel(kernel=short(repr(one.kernel), LETTERS), words=kernel_in_words(case, one.kernel),
                             lam=one.lam, value=one.value, status=one.status, weight=weights.get(repr(one.kernel)))
             for one in tried]  # fmt: skip
    return sorted(table, key=lambda one: one.value)[:CANDIDATES]


def _all_words(case):
    """The kernel in words; of a mixture how many there are, and the heaviest."""
    text, count = kernel_in_words(case, case.kernel), len(_mixture_weights(case.model.fit_report_))
    return text if count < 2 else f"a mixture of {count} kernels, first of all {text}"


def kernel_in_words(case, *kernels):
    """A kernel in words, periods in the units of the reader; or what several do that read the same columns."""
    text = describe_together([_in_units(case, kernel) for kernel in kernels], case.names if case.vectors else None)
    return short(with_four_digits(COUNTED.sub("all columns", text)), LETTERS)


def _in_units(case, kernel):
    """A kernel with its periods in the units of the reader."""
    units = {name: unit[1] for name, unit in (case.units or {}).items()}
    if case.vectors:
        scale = np.array([units.get(j, 1.0) for j in range(len(case.names))])
        return kernel.in_units(np.zeros(len(scale)), scale)
    return kernel.in_units({}, units)


def _trials(case):
    """λ and the value of the criterion where a search kept them."""
    history = [] if case.selection is None else case.selection.history
    pairs = [(one["lam"], one["value"]) for one in history if np.isfinite(one.get("value", np.nan)) and "lam" in one]
    pairs = sorted(pairs)[:200]
    if len({a for a, _ in pairs}) <= 2:
        return None
    return TriedLams(lam=[a for a, _ in pairs], value=[b for _, b in pairs])


# ---------------------------------------------------------------------------------------------- the path
def _path(found, lam, rows, n):
    """Curves, picks and spectrum of a path, thinned."""
    comparison = compare(found)
    names = short_names(comparison.choices)
    low, high = _view(found, comparison, lam)
    inside = np.flatnonzero((found.lams >= low) & (found.lams <= high))
    pick = inside[evenly(len(inside), CURVE)]
    residual, norm = found.table["residual"], found.table["norm"]
    seen = np.flatnonzero((residual > 1e-8 * residual.max()) & (norm > 0))
    seen = seen[evenly(len(seen), CURVE)]
    e, best = found.eigenvalues, comparison.choices["LOO()"].value

    def about(lam):
        """What is known of one λ, and its place on the L-curve."""
        known = {"lam": lam, "dof": found.q + float((e / (e + lam)).sum()), "loss": _times_best(found, lam, best)}
        return known, point_at(found, lam) if np.isfinite(lam) else (None, None)

    picks = []
    for rule, choice in comparison.choices.items():
        known, (residual_at, norm_at) = about(choice.lam)
        picks.append(LamPick(rule=names[rule], status=choice.status, message=choice.message, residual=residual_at,
                             norm=norm_at, **known))  # fmt: skip
    curves = {names[rule]: scale_to_unit(found.table[rule][inside], is_error(rule))[np.searchsorted(inside, pick)]
              for rule in comparison.choices if rule in found.table}  # fmt: skip
    known, at = about(lam)
    return PathFindings(
        **known,
        rows=rows,
        of=n,
        at=list(at),
        lcurve=LCurvePoints(lam=found.lams[seen], residual=residual[seen], norm=norm[seen]),
        curves=LamCurves(lam=found.lams[pick], values=curves),
        picks=picks,
        picard=_picard(found),
    )


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
    return max(found.lams[0], min(chosen) / 1e3), min(found.lams[-1], max(chosen) * 1e2)


def _picard(found):
    """Eigenvalues, coefficients of y and their price, the first few hundred."""
    size = np.sqrt(np.mean(found.coefficients**2, axis=1))[:DIRECTIONS]
    e = found.eigenvalues[:DIRECTIONS]
    ratio = np.divide(size, np.sqrt(np.maximum(e, 0)), out=np.full(len(e), np.nan), where=e > 0)
    return PicardPlot(eigenvalue=e, coefficient=size, ratio=ratio, of=len(found.eigenvalues))
