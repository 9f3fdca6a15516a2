"""The data, the numbers of the fit, and what is needed to do it again."""

import platform

import numpy as np
import scipy
import sklearn

import mercer
from mercer._warn import Caution
from mercer.report._case import counted, data_hash
from mercer.report._choices import CERTIFICATE, LOCAL_NUMBERS
from mercer.report._factors import LEVELS, NUMBER, TEXT
from mercer.report._given_away import leak_of, stand_in_of
from mercer.report.findings import TEXT as TEXT_LENGTH
from mercer.report.findings import all_short, plain, short
from mercer.selection.judging import root_mean_square

COLUMNS = 200  # columns that are listed
BINS = 24
CAUTIONS = 3  # notes that a verdict begins with
ENTRIES = 60  # of the fit report
ITEMS = 12
LOCAL = {"neighbours": "Neighbours", "fourier": "Fourier features"}


def data_section(case, notes):
    """Rows, columns, the distribution of the target."""
    factors = case.factors
    numbers, levels, texts = ([f for f in factors if f.kind == kind and not f.marks] for kind in (NUMBER, LEVELS, TEXT))
    out = {
        "rows": case.n,
        "fitted_rows": case.fitted_rows,
        "columns": sum(not factor.marks for factor in factors) or len(case.names),
        "targets": case.columns,
        "vectors": case.vectors,
        "notes": all_short(list(notes)[:50], TEXT_LENGTH),
        "cautions": all_short([note for note in notes if isinstance(note, Caution)][:CAUTIONS], TEXT_LENGTH),
        "features": [{**_column(f.name, f.shown(f.values)), "dates": f.dates} for f in numbers[:COLUMNS]],
        "categories": [_category(f) for f in levels[:COLUMNS]],
        "texts": [f.name for f in texts[:COLUMNS]],
        "more": sum(max(len(part) - COLUMNS, 0) for part in (numbers, levels, texts)),
        "target": _target(case),
        "weights": _weights(case),
        "leak": leak_of(case, numbers),
        "stand_in": stand_in_of(numbers),
    }
    if not factors:
        kind = "rows of a kernel matrix" if case.pairwise else type(case.X).__name__
        first = None if case.pairwise or not len(case.X) else type(case.X[0]).__name__
        out["objects"] = short(kind if first is None else f"{kind} of {first}", 60)
    return out


def _weights(case):
    """What is known of the weights of the rows."""
    w = case.weight
    if w is None:
        return None
    return {"low": float(w.min()), "high": float(w.max()), "zero": int(np.sum(w == 0)), "equal": counted(w, case.n)}


def _category(factor):
    """One line about one category."""
    counts = np.bincount(factor.values, minlength=len(factor.levels))
    most, least = int(np.argmax(counts)), int(np.argmin(counts))
    return {
        "name": factor.name,
        "distinct": int(np.sum(counts > 0)),
        "most": factor.levels[most],
        "most_rows": int(counts[most]),
        "least": factor.levels[least],
        "least_rows": int(counts[least]),
    }


def _column(name, x):
    """One line about one column."""
    low, q1, middle, q3, high = np.quantile(x, [0, 0.25, 0.5, 0.75, 1])
    distinct = len(np.unique(x))
    return {"name": name, "low": low, "q1": q1, "middle": middle, "q3": q3, "high": high, "distinct": distinct}


def _target(case):
    """The distribution of the target."""
    if case.classes is not None:
        counts = [int(np.sum(case.y == c)) for c in case.classes]
        order = np.argsort([-c for c in counts], kind="stable")[:30]
        return {"classes": [{"name": short(case.classes[i], 40), "rows": counts[i]} for i in order],
                "smallest": min(counts)}  # fmt: skip
    counts, edges = np.histogram(case.y, bins=min(BINS, max(5, int(np.sqrt(case.n)))))
    return {
        **{key: value for key, value in _column(case.target, case.y).items() if key != "name"},
        "mean": float(case.y.mean()),
        "sd": root_mean_square(case.y - case.y.mean()),
        "histogram": {"edges": edges, "counts": counts},
    }


def numerics_section(case):
    """The fit report as it is, cut at a bound."""
    report = dict(case.model.fit_report_)
    search = report.pop("selection", None)
    if search is None and case.selection is not None:
        search = case.selection.to_dict()
    for name in ("selection_warnings", "approximation", "stages"):  # the last two have a place of their own
        report.pop(name, None)
    out = {"entries": {}, "search": None}
    for key in list(report)[:ENTRIES]:
        value = plain(report[key])
        out["entries"][str(key)] = value[:ITEMS] if isinstance(value, list) else value
    if isinstance(search, dict):
        kept = ("criterion", "value", "status", "evaluations", "failed", "seconds")
        out["search"] = {key: plain(search.get(key)) for key in kept}
    vectors = report.get("support_vectors")
    out["support"] = None if vectors is None else {"vectors": vectors, "bounded": report.get("bounded")}
    return out


def landmarks_section(model):
    """{verdict, words, curve, …} of a fit on landmarks, or None."""
    report = model.fit_report_
    found = report.get("approximation")
    if not found or not found.get("loo"):
        return None
    curve = {int(m): float(error) for m, error, _ in found["loo"]}
    stages = [{"m": one["m"], "error": one["loo"], "seconds": one["seconds"]} for one in report.get("stages", ())]
    kept = {name: found[name] for name in ("m", "verdict", "words", *CERTIFICATE) if name in found}
    dimension = found.get("effective_dimension")
    return kept | {"curve": sorted(curve.items()), "stages": stages, "rows": found["loo_rows"], "dimension": dimension}


def local_section(model):
    """{kind, words, numbers} of a fit by neighbours or Fourier features, or None."""
    found = model.fit_report_.get("approximation")
    if not found or found["kind"] not in LOCAL:
        return None
    numbers = {name: found[name] for name in LOCAL_NUMBERS if found.get(name) is not None}
    return {"kind": LOCAL[found["kind"]], "words": found["words"], "numbers": numbers}


def reproduce_section(case, command):
    """Command, the estimator as a call, versions, seed and the hash of the data."""
    model = case.model
    return {
        "command": None if command is None else plain(str(command)),
        "call": plain(repr(model)),
        "fitted": plain(repr(model.frozen())),
        "draws": bool(model.get_params(deep=False).get("n_hyper_samples")),
        "versions": {
            "mercer": mercer.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
            "python": platform.python_version(),
        },
        "seed": getattr(model, "random_state", None),
        "data": data_hash(case),
    }
