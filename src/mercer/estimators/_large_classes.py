"""A classifier by neighbours: the kernel from some rows, its length by rows left out, and words about both."""

import math

import numpy as np

from mercer.estimators._gpc_fit import class_model, known_mean, learnt
from mercer.estimators._labels import stratified_order
from mercer.estimators._report import FitReport
from mercer.inference.links import LINKS
from mercer.inference.neighbours_classes import NeighbourClasses
from mercer.inference.temperature import best_temperature, left_out_losses, tempered
from mercer.solvers.plan_neighbours import SUBSET, plan_neighbours

TRIED = 512  # rows left out for each length factor
FACTORS = (0.5, math.sqrt(0.5), 1.0, math.sqrt(2.0), 2.0)
JUDGED = 2048  # rows left out at the end


def plan_classes_near(estimator, n, d):
    """The `Plan` by neighbours."""
    return plan_neighbours(n, d, estimator.approximation.check().first, memory=estimator.memory)


def fit_classes(estimator, rows, kernels):
    """Fit by neighbours, and set everything that is learnt.

    Parameters
    ----------
    estimator : GaussianProcessClassifier
        With its classes and its plan.
    rows : Rows
        Whose targets are the numbers of the classes.
    kernels : list of Kernel
    """
    how, classes = estimator.approximation, len(estimator.classes_)
    estimator.plan_ = plan_classes_near(estimator, rows.n, rows.d)
    if estimator.inference != "laplace" or how.landmarks is not None:
        raise ValueError("a classifier by neighbours has inference='laplace', and no landmarks.")
    some = rows.take(np.sort(stratified_order(rows.y[:, 0], how.random_state)[:SUBSET]))
    model = class_model(estimator, some, classes, classes > 2 and estimator.multi_class == "softmax")
    estimator.selection_ = learnt(estimator, model, kernels, some)
    kernel = kernels[0] if estimator.selection_ is None else estimator.selection_.kernel
    link = LINKS[estimator.link]()
    constant = link.constant_variance if estimator.trend == "constant" or estimator.trend is True else 0.0
    number = rows.y[:, 0].astype(np.int64)
    common = number, rows.weights(), classes, estimator.link, known_mean(estimator.trend) or 0.0, constant, how.first

    def at(kernel):
        return NeighbourClasses(kernel, rows.X, *common)

    order = np.random.default_rng(how.random_state + 1).permutation(rows.n)
    if estimator.selection_ is not None and rows.n > SUBSET:
        kernel = _stretched(at, kernel, np.sort(order[:TRIED]), number)
        estimator.selection_.kernel = kernel
    _publish(estimator, rows, at(kernel), np.sort(order[:JUDGED]))


def _stretched(at, kernel, rows, number):
    """The kernel with all length scales times the factor of the least log loss of rows left out."""
    free = np.array([name.split("__")[-1].startswith("length_scale") for name in kernel.names], dtype=bool)
    tried = {}
    for factor in FACTORS if free.any() else ():
        one = kernel.with_theta(np.clip(kernel.theta + free * math.log(factor), *kernel.theta_bounds.T))
        own = at(one).left_out(rows)[np.arange(len(rows)), number[rows]]
        tried[factor] = -float(np.log(np.maximum(own, 1e-300)).mean()), one
    return min(tried.values(), key=lambda pair: pair[0])[1] if tried else kernel


def _publish(estimator, rows, f, judged):
    """Set the public attributes."""
    number, weight = rows.y[judged, 0].astype(int), rows.weights()[judged]
    prob = f.left_out(judged) if rows.n > 1 else np.full((len(judged), f.classes), 1.0 / f.classes)
    estimator.temperature_ = best_temperature(prob, number, weight) if estimator.temperature else 1.0
    prob = tempered(prob, estimator.temperature_)
    losses = left_out_losses(prob, number, weight)
    estimator.neighbours_, estimator.kernel_, estimator.points_ = f, f.kernel, rows.X
    estimator.row_weight_, estimator.point_index_ = rows.to_rows(rows.row_weight, 0.0), rows.point_index()
    error = float(np.mean(prob.argmax(axis=1) != number))
    sure = float(prob.max(axis=1).mean())
    words = (
        f"local: Laplace's approximation within the {f.k} nearest rows of each input. Of {len(judged)} rows left out "
        f"{error:.1%} are wrong, where probabilities say {1 - sure:.1%}; log loss {losses[0]:.4g}, that of the class "
        f"frequencies {losses[1]:.4g}."
    )
    said = {"kind": "neighbours", "k": f.k, "rows_left_out": len(judged), "error": error, "stated_error": 1 - sure}
    estimator.fit_report_ = FitReport(
        estimator=type(estimator).__name__, kernel=repr(f.kernel), inference="laplace, local", link=f.link,
        classes=f.classes, rows=rows.given, dropped_rows=rows.given - len(rows.used), merged_rows=rows.merged,
        points=rows.n, loo_log_loss=losses[0], frequency_log_loss=losses[1], temperature=estimator.temperature_,
        reasons=list(estimator.plan_.reasons), approximation={**said, "verdict": "local", "words": words},
    )  # fmt: skip
    if estimator.selection_ is not None:
        estimator.fit_report_["selection"] = estimator.selection_.to_dict()
    estimator._posterior, estimator.n_iter_ = f, 1
