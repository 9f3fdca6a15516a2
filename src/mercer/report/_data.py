"""The data, the numbers of the fit, and what is needed to do it again."""

import platform

import numpy as np
import scipy
import sklearn

import mercer
from mercer._warn import Caution
from mercer.report._choices import LOCAL_NUMBERS
from mercer.report._factors import LEVELS, NUMBER, TEXT
from mercer.report._given_away import leak_of, stand_in_of
from mercer.report._left_out import data_hash, equal_rows_of
from mercer.report.findings import TEXT as TEXT_LENGTH
from mercer.report.findings import all_short, plain, short
from mercer.report.parts import (
    CategoryColumn,
    ClassCount,
    DataFindings,
    Histogram,
    NumberColumn,
    TargetDistribution,
    WeightRange,
)
from mercer.report.parts_about import (
    LandmarkFindings,
    LandmarkStage,
    LocalFindings,
    NumericsFindings,
    ReproduceFindings,
    SupportCount,
)
from mercer.selection.judging import root_mean_square

CAUTIONS = 3  # notes that a verdict begins with
ENTRIES, ITEMS = 60, 12  # of the fit report, and of a list in it
LOCAL = {"neighbours": "Neighbours", "fourier": "Fourier features"}


def data_section(case):
    """Rows, columns, the distribution of the target."""
    factors, notes, most = case.factors, list(case.context.notes), case.limits.columns
    numbers, levels, texts = ([f for f in factors if f.kind == kind and not f.marks] for kind in (NUMBER, LEVELS, TEXT))
    return DataFindings(
        rows=case.n,
        fitted_rows=case.fitted_rows,
        columns=sum(not factor.marks for factor in factors) or len(case.names),
        targets=case.columns,
        vectors=case.vectors,
        notes=all_short(notes[:50], TEXT_LENGTH),
        cautions=all_short([note for note in notes if isinstance(note, Caution)][:CAUTIONS], TEXT_LENGTH),
        features=[NumberColumn(name=f.name, dates=f.dates, **_quartiles(f.shown(f.values))) for f in numbers[:most]],
        categories=[_category(f) for f in levels[:most]],
        texts=[f.name for f in texts[:most]],
        more=sum(max(len(part) - most, 0) for part in (numbers, levels, texts)),
        target=_target(case),
        weights=_weights(case.weight),
        leak=leak_of(case, numbers[:most]),
        stand_in=stand_in_of(numbers[:most]),
        left_out=[],
        objects=None if factors else _objects(case),
    )


def _objects(case):
    """What inputs without columns are."""
    kind = "rows of a kernel matrix" if case.pairwise else type(case.X).__name__
    first = None if case.pairwise or not len(case.X) else type(case.X[0]).__name__
    return short(kind if first is None else f"{kind} of {first}", 60)


def _weights(w):
    """What is known of the weights of the rows."""
    if w is None:
        return None
    return WeightRange(low=float(w.min()), high=float(w.max()), zero=int(np.sum(w == 0)), equal=equal_rows_of(w, 0))


def _category(factor):
    """One line about one category."""
    counts = np.bincount(factor.values, minlength=len(factor.levels))
    most, least = int(np.argmax(counts)), int(np.argmin(counts))
    return CategoryColumn(
        name=factor.name, distinct=int(np.sum(counts > 0)), most=factor.levels[most], most_rows=int(counts[most]),
        least=factor.levels[least], least_rows=int(counts[least]),
    )  # fmt: skip


def _quartiles(x):
    """The quartiles of some numbers, and how many different ones there are."""
    low, q1, middle, q3, high = np.quantile(x, [0, 0.25, 0.5, 0.75, 1])
    return {"low": low, "q1": q1, "middle": middle, "q3": q3, "high": high, "distinct": len(np.unique(x))}


def _target(case):
    """The distribution of the target."""
    if case.classes is not None:
        counts = [int(np.sum(case.y == c)) for c in case.classes]
        order = np.argsort([-c for c in counts], kind="stable")[:30]
        classes = [ClassCount(name=short(case.classes[i], 40), rows=counts[i]) for i in order]
        return TargetDistribution(classes=classes, smallest=min(counts))
    counts, edges = np.histogram(case.y, bins=min(24, max(5, int(np.sqrt(case.n)))))
    return TargetDistribution(
        **_quartiles(case.y), mean=float(case.y.mean()), sd=root_mean_square(case.y - case.y.mean()),
        histogram=Histogram(edges=edges, counts=counts),
    )  # fmt: skip


def numerics_section(case):
    """The fit report as it is, cut at a bound."""
    report = dict(case.model.fit_report_)
    search = report.pop("selection", None)
    if search is None and case.selection is not None:
        search = case.selection.to_dict()
    for name in ("selection_warnings", "approximation", "stages"):  # the last two have a place of their own
        report.pop(name, None)
    entries = {}
    for key in list(report)[:ENTRIES]:
        value = plain(report[key])
        entries[str(key)] = value[:ITEMS] if isinstance(value, list) else value
    if isinstance(search, dict):
        kept = ("criterion", "value", "status", "evaluations", "failed", "seconds")
        search = {key: plain(search.get(key)) for key in kept}
    vectors = report.get("support_vectors")
    support = None if vectors is None else SupportCount(vectors=vectors, bounded=report.get("bounded"))
    return NumericsFindings(entries=entries, search=search if isinstance(search, dict) else None, support=support)


def landmarks_section(report):
    """What the report of a fit on landmarks says of them, or None."""
    found = report.get("approximation")
    if not found or not found.get("loo"):
        return None
    curve = {int(m): float(error) for m, error, _ in found["loo"]}
    stages = [LandmarkStage(m=one["m"], error=one["loo"], seconds=one["seconds"]) for one in report.get("stages", ())]
    known = {name: found.get(name) for name in ("verdict", "distance", "distance_relative", "trace_missing")}
    return LandmarkFindings(m=found["m"], words=found["words"], curve=sorted(curve.items()), stages=stages,
                            rows=found["loo_rows"], dimension=found.get("effective_dimension"), **known)  # fmt: skip


def local_section(report):
    """What the report of a fit by neighbours or Fourier features says, or None."""
    found = report.get("approximation")
    if not found or found["kind"] not in LOCAL:
        return None
    numbers = {name: found[name] for name in LOCAL_NUMBERS if found.get(name) is not None}
    return LocalFindings(kind=LOCAL[found["kind"]], words=found["words"], numbers=numbers)


def reproduce_section(case):
    """Command, the estimator as a call, versions, seed and the hash of the data."""
    model, command = case.model, case.context.command
    return ReproduceFindings(
        command=None if command is None else plain(str(command)),
        call=plain(repr(model)),
        fitted=plain(repr(model.frozen())),
        draws=bool(model.get_params(deep=False).get("n_hyper_samples")),
        versions={
            "mercer": mercer.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
            "python": platform.python_version(),
        },
        seed=getattr(model, "random_state", None),
        data=data_hash(case),
    )
