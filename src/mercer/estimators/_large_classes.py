"""A classifier of many rows: the kernel from some of them, its length by rows left out, and words about both.

By neighbours Laplace's approximation is a local one; on landmarks it is one of all rows.
"""

import math

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._warn import warn
from mercer.estimators import _large as large
from mercer.estimators._gpc_fit import class_model, known_mean, learnt
from mercer.estimators._labels import stratified_order
from mercer.estimators._large_machine import LabelSigns, enough, said_enough
from mercer.gram import take
from mercer.gram.landmarks import Landmarks
from mercer.inference.links import LINKS
from mercer.inference.neighbours_classes import NeighbourClasses
from mercer.inference.neighbours_kept import GAIN, enough_neighbours, said_tried
from mercer.inference.temperature import best_temperature, left_out_losses, tempered
from mercer.kernels.hyper import lengths_of
from mercer.primal.classes import LandmarkClasses, with_constant
from mercer.solvers.plan_landmarks import plan_landmarks, preferred
from mercer.solvers.plan_neighbours import SUBSET, plan_neighbours
from mercer.sources import Arrays

TRIED = 512  # rows left out for each length factor, and for each number of neighbours
FEWER = 256  # landmarks that a length factor is tried with
FACTORS = (1.0, math.sqrt(0.5), math.sqrt(2.0), 0.5, 2.0)
STRETCHED = 0.4  # of the time that is left after a search on a subset
JUDGED = 2048  # rows left out at the end
CLOSE, ROUGH = 1e-8, 1e-6  # of the objective: what a mode on landmarks may be off by, and that of a length factor


def plan_large(estimator, n, d, functions, exact):
    """The `Plan` by neighbours or on landmarks; None where the exact one, which is called for, is taken."""
    how, why = estimator.approximation, ""
    options = {"memory": estimator.memory, "time_budget": estimator.time_budget}
    if isinstance(how, str):
        why = preferred(exact(), n, **options) if estimator.inference == "laplace" else ""
        how = Landmarks() if why else None
    if how is None or not isinstance(how.check(), Landmarks):
        return None if how is None else plan_neighbours(n, d, how.first, most=how.most, memory=estimator.memory)
    return plan_landmarks(n, d, how.m if how.given is None else len(how.given), targets=functions, why=why, **options)


def fit_classes(estimator, rows, kernels):
    """Fit a classifier that has its classes and its plan by neighbours or on landmarks, and set what is learnt."""
    classes, how = len(estimator.classes_), estimator.approximation
    how = Landmarks() if isinstance(how, str) else how
    way = (_OnLandmarks if isinstance(how, Landmarks) else _Near)(estimator, rows, how)
    some = rows.take(np.sort(stratified_order(rows.y[:, 0], how.random_state)[:SUBSET]))
    model = class_model(estimator, some, classes, False)  # as all rows are fitted: one class against the rest
    estimator.selection_ = learnt(estimator, model, kernels, some)
    kernel = kernels[0] if estimator.selection_ is None else estimator.selection_.kernel
    if estimator.selection_ is not None and rows.n > SUBSET:
        kernel = estimator.selection_.kernel = _stretched(way, kernel)
    _publish(estimator, rows, way, way.at(kernel))


class _Way:
    """What both ways share: the numbers of the classes, the link, and the mean of f."""

    def __init__(self, estimator, rows, how):
        self.estimator, self.rows, self.number, self.how = estimator, rows, rows.y[:, 0].astype(np.int64), how
        self.classes, link = len(estimator.classes_), LINKS[estimator.link]()
        constant = link.constant_variance if estimator.trend == "constant" or estimator.trend is True else 0.0
        self.mean = known_mean(estimator.trend) or 0.0, constant
        if estimator.inference != "laplace":
            raise ValueError("a classifier by neighbours or on landmarks has inference='laplace'.")
        self._order = np.random.default_rng(how.random_state + 1).permutation(rows.n)

    def some(self, count):
        """Points that are left out."""
        return np.sort(self._order[:count])

    def own(self, prob, index):
        """Log P of the class that each of some points has."""
        return np.log(np.maximum(prob[np.arange(len(index)), self.number[index]], 1e-300))


class _Near(_Way):
    """Laplace's approximation within the nearest rows."""

    name, inference, trial = "neighbours_", "laplace, local", 0.0

    def __init__(self, estimator, rows, how):
        super().__init__(estimator, rows, how)
        if how.landmarks is not None:
            raise ValueError("a classifier by neighbours has no landmarks.")

    def at(self, kernel, fewer=False):
        """Return the posterior with a kernel, by the first k, or by as many as rows left out gain by."""
        common = self.number, self.rows.weights(), self.classes, self.estimator.link, *self.mean
        f = NeighbourClasses(kernel, self.rows.X, *common, self.how.first)
        if not fewer:
            own, most = self.some(TRIED), min(self.how.most, self.rows.n - 1)
            options = {"clock": self.estimator._clock, "least": lambda here: -GAIN * here.mean()}
            f.k, self.tried = enough_neighbours(lambda k: self.own(f.left_out(own, k), own), f.k, most, **options)
        return f

    def left_out(self, f, index):
        """P(class) of some rows without them."""
        return f.left_out(index) if self.rows.n > 1 else np.full((len(index), f.classes), 1.0 / f.classes)

    def publish(self, f):
        """Set what only neighbours have: their points are all rows."""
        self.estimator.point_index_ = self.rows.point_index()

    def said(self, f):
        """Return what the report says of it, with words to begin with."""
        words = f"local: Laplace's approximation within the {f.k} nearest rows of each input.{said_tried(self.tried)}"
        return {"kind": "neighbours", "k": f.k, "verdict": "local", "tried": self.tried, "words": words}


class _OnLandmarks(_Way):
    """Laplace's approximation on landmarks: how many is found by a least-squares fit to a sample."""

    name, inference = "landmark_classes_", "laplace on landmarks"

    def __init__(self, estimator, rows, how):
        super().__init__(estimator, rows, how)
        if how.held or how.solve or how.checkpoint is not None:
            raise ValueError("Landmarks(held=, solve=, checkpoint=) are for regression; a classifier has none of them.")
        signs = LabelSigns(np.arange(self.classes))
        self.source = Arrays(rows.X, signs(rows.y), rows.weight)
        plan, self.curve = estimator.plan_, None
        self.trial = plan.last * min(FEWER / plan.landmarks, 1.0)  # seconds of a length factor

    def at(self, kernel, fewer=False):
        """Return the posterior with a kernel, on all landmarks or on some."""
        estimator, prior = self.estimator, with_constant(kernel, self.mean[1])
        task = large.task_of(estimator, self.source, estimator.plan_, None, centred=False)
        if fewer:
            sample, chosen = task.choose(prior, min(FEWER, max(task.sizes)))
        else:
            sample, chosen, *self.curve = enough(task, prior)
        options = {
            "tol": max(estimator.tol, ROUGH if fewer else CLOSE),
            "max_iter": estimator.max_iter,
            "clock": task.clock,
        }
        options["memory"] = estimator.memory
        return LandmarkClasses.of(self.source, kernel, chosen, sample, estimator.link, *self.mean, **options)

    def left_out(self, f, index):
        """P(class) of some rows without them."""
        return f.left_out(take(self.rows.X, index), self.number[index], self.rows.weights()[index])

    def publish(self, f):
        """Set what only landmarks have: f = Σ αⱼ k(·, zⱼ) + b."""
        alpha, b = f.alpha, f.constant * f.alpha.sum(axis=0) + f.offset
        two = alpha.shape[1] == 1
        self.estimator.dual_coef_, self.estimator.intercept_ = (alpha[:, 0], float(b[0])) if two else (alpha, b)

    def said(self, f):
        """Return what the report says of it, with words to begin with."""
        points, flat, candidates = self.curve
        if not f.info["converged"]:
            warn(
                "GaussianProcessClassifier: the mode on landmarks was not found in time or in max_iter steps; its "
                f"probabilities are those of step {f.info['iterations']}. Use a larger time_budget or max_iter.",
                ConvergenceWarning,
            )
        return said_enough(f.info["chosen"], points, flat, candidates, self.rows.n, f.info["seconds"])


def _stretched(way, kernel):
    """The kernel with all length scales times the factor of the least log loss of rows left out."""
    free, rows = lengths_of(kernel.names), way.some(TRIED)
    tried, clock = {}, way.estimator._clock.part(STRETCHED)
    for factor in FACTORS if free.any() and clock.fits(2.0 * way.trial) else ():  # one alone says nothing
        if not clock.fits(clock.seconds / max(len(tried), 1)):
            break
        one = kernel.with_theta(np.clip(kernel.theta + free * math.log(factor), *kernel.theta_bounds.T))
        tried[factor] = -float(way.own(way.left_out(way.at(one, fewer=True), rows), rows).mean()), one
    return min(tried.values(), key=lambda pair: pair[0])[1] if tried else kernel


def _publish(estimator, rows, way, f):
    """Set the public attributes."""
    judged = way.some(JUDGED)
    number, weight = way.number[judged], rows.weights()[judged]
    prob = way.left_out(f, judged)
    estimator.temperature_ = best_temperature(prob, number, weight) if estimator._tempers else 1.0
    prob = tempered(prob, estimator.temperature_)
    losses = left_out_losses(prob, number, weight)
    setattr(estimator, way.name, f)
    estimator.kernel_, estimator.points_ = f.kernel, f.points
    estimator.row_weight_ = rows.to_rows(rows.row_weight, 0.0)
    way.publish(f)
    wrong = prob.argmax(axis=1) != number
    error, sure = (float(np.average(values, weights=weight)) for values in (wrong, prob.max(axis=1)))
    said = way.said(f)
    said |= {"rows_left_out": len(judged), "error": error, "stated_error": 1 - sure}
    said["words"] += (
        f" Of {len(judged)} rows left out {error:.1%} are wrong, where probabilities say {1 - sure:.1%}; log loss "
        f"{losses[0]:.4g}, that of the class frequencies {losses[1]:.4g}."
    )
    if way.classes > 2 and estimator.multi_class == "softmax":
        said["words"] += " Each class is fitted against the rest: multi_class='softmax' is for exact fits."
    report = {"kernel": repr(f.kernel), "inference": way.inference, "link": f.link, "classes": way.classes}
    report |= {**rows.counts(), "points": len(f.points), "loo_log_loss": losses[0], "frequency_log_loss": losses[1]}
    report |= {"temperature": estimator.temperature_, "reasons": list(estimator.plan_.reasons)}
    estimator.fit_report_.update(report, approximation=said)
    estimator._posterior, estimator.n_iter_ = f, 1
