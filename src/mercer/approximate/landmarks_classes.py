"""A classifier on landmarks: Laplace's approximation of a function of them, for all rows."""

from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._warn import warn
from mercer.approximate.classes_by_rows import ClassesByRows
from mercer.approximate.fitted import by_target, number_by_target
from mercer.approximate.landmarks import prepare_search
from mercer.approximate.landmarks_machine import LabelSigns, describe_enough, enough_landmarks
from mercer.approximate.options import LandmarkOptions
from mercer.gram import take
from mercer.primal.classes import LandmarkClasses, with_constant
from mercer.primal.design import LandmarkBasis
from mercer.primal.smooth import SmoothLimits
from mercer.sources import Arrays


def search(how, problem):
    """See `Approximation.search`."""
    way = LandmarkWay(problem, how)
    at = way.search()
    at.start = way
    return at


def fit(how, problem, at):
    """See `Approximation.fit`."""
    return at.start.fit(at)


class LandmarkWay(ClassesByRows):
    """Laplace's approximation on landmarks: how many is found by a least-squares fit to a sample."""

    name, inference = "landmark_classes_", "laplace on landmarks"

    def __init__(self, problem, how):
        super().__init__(problem, how)
        if how.held or how.solve or how.checkpoint is not None:
            raise ValueError("Landmarks(held=, solve=, checkpoint=) are for regression; a classifier has none of them.")
        signs = LabelSigns(np.arange(problem.classes))
        rows = self.rows
        self.source = Arrays(rows.X, signs(rows.y), rows.weight)
        plan, self.curve = problem.plan, None
        self.trial = plan.last * min(self.options.landmarks_tried / plan.landmarks, 1.0)  # seconds of a length factor

    def at(self, kernel, fewer=False):
        """Return the posterior with a kernel, on all landmarks or on some."""
        problem, prior = self.problem, with_constant(kernel, self.mean[1])
        task = prepare_search(self.how, replace(problem, source=self.source, report=None), None, centred=False)
        if fewer:
            sample, chosen = task.choose(prior, min(self.options.landmarks_tried, max(task.sizes)))
        else:
            sample, chosen, *self.curve = enough_landmarks(task, prior, problem.options[LandmarkOptions].choosing_share)
        tol = max(problem.tol, 1e-6 if fewer else 1e-8)  # of the objective
        limits = SmoothLimits(tol, problem.max_iter, task.clock, problem.memory)
        basis = LandmarkBasis(kernel, chosen, sample, options=problem.options)
        return LandmarkClasses.of(self.source, basis, problem.link, *self.mean, limits)

    def left_out(self, f, index):
        return f.left_out(take(self.rows.X, index), self.number[index], self.rows.weights()[index])

    def attributes(self, f):
        b, flat = f.constant * f.alpha.sum(axis=0) + f.offset, f.alpha.shape[1] == 1
        return {"dual_coef_": by_target(f.alpha, flat), "intercept_": number_by_target(b, flat)}

    def describe(self, f):
        points, flat, candidates = self.curve
        if not f.info["converged"]:
            warn(
                "GaussianProcessClassifier: the mode on landmarks was not found in time or in max_iter steps; its "
                f"probabilities are those of step {f.info['iterations']}. Use a larger time_budget or max_iter.",
                ConvergenceWarning,
            )
        return describe_enough(f.info["chosen"], points, flat, candidates, self.rows.n, f.info["seconds"])
