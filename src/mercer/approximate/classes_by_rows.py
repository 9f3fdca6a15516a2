"""A classifier of many rows: the kernel from some of them, its length by rows left out, and words about both.

By neighbours Laplace's approximation is a local one; on landmarks it is one of all rows.
"""

import math
from abc import ABC, abstractmethod

import numpy as np

from mercer.approximate.classes import ApproximateClasses, stratified_order
from mercer.approximate.options import ClassOptions, TimeOptions
from mercer.inference.temperature import apply_temperature, best_temperature, left_out_losses
from mercer.kernels.hyper import lengths_of


class ClassesByRows(ABC):
    """What both ways share: the numbers of the classes, the mean of f, rows that are left out.

    Parameters
    ----------
    problem : ClassProblem
    how : Approximation
    """

    inference: str
    name: str  # of the posterior, as an attribute of the model
    trial = 0.0  # seconds of a length factor

    def __init__(self, problem, how):
        self.problem, self.rows, self.how = problem, problem.rows, how
        self.options = problem.options[ClassOptions]
        self.number, self.mean = self.rows.y[:, 0].astype(np.int64), (problem.mean or 0.0, problem.constant)
        if problem.inference != "laplace":
            raise ValueError("a classifier by neighbours or on landmarks has inference='laplace'.")
        self._order = np.random.default_rng(how.random_state + 1).permutation(self.rows.n)

    @abstractmethod
    def at(self, kernel, fewer=False):
        """Return the posterior with a kernel, or a rougher one that takes less time."""

    @abstractmethod
    def left_out(self, f, index):
        """P(class) of some rows without them."""

    @abstractmethod
    def attributes(self, f):
        """What only this way publishes."""

    @abstractmethod
    def describe(self, f):
        """What the report says of it, with words to begin with."""

    def some(self, count):
        """Points that are left out."""
        return np.sort(self._order[:count])

    def own(self, prob, index):
        """Log P of the class that each of some points has."""
        return np.log(np.maximum(prob[np.arange(len(index)), self.number[index]], 1e-300))

    def search(self):
        """`Hyperparameters` by some of the rows; then by a length factor on all."""
        problem, rows = self.problem, self.rows
        some = rows.take(np.sort(stratified_order(rows.y[:, 0], self.how.random_state)[: self.options.subset]))
        at = problem.learn(problem.label_model(some, False), some)  # as all rows are: one class against the rest
        if at.result is not None and rows.n > self.options.subset:
            at.kernel = at.result.kernel = self._rescale_lengths(at.kernel)
        return at

    def _rescale_lengths(self, kernel):
        """The kernel with all length scales times the factor of the least log loss of rows left out."""
        free, rows = lengths_of(kernel.names), self.some(self.options.tried)
        tried, clock = {}, self.problem.clock.part(self.problem.options[TimeOptions].rescaling_share)
        factors = (1.0, math.sqrt(0.5), math.sqrt(2.0), 0.5, 2.0)
        for factor in factors if free.any() and clock.fits(2.0 * self.trial) else ():  # one alone says nothing
            if not clock.fits(clock.seconds / max(len(tried), 1)):
                break
            one = kernel.with_theta(np.clip(kernel.theta + free * math.log(factor), *kernel.theta_bounds.T))
            tried[factor] = -float(self.own(self.left_out(self.at(one, fewer=True), rows), rows).mean()), one
        return min(tried.values(), key=lambda pair: pair[0])[1] if tried else kernel

    def fit(self, at):
        """`ApproximateClasses` at a kernel, judged by rows left out."""
        problem, rows, f, judged = self.problem, self.rows, self.at(at.kernel), self.some(self.options.judged)
        number, weight, prob = self.number[judged], rows.weights()[judged], self.left_out(f, judged)
        temperature = best_temperature(prob, number, weight) if problem.tempers else 1.0
        prob = apply_temperature(prob, temperature)
        losses = left_out_losses(prob, number, weight)
        wrong = prob.argmax(axis=1) != number
        error, sure = (float(np.average(values, weights=weight)) for values in (wrong, prob.max(axis=1)))
        found = self.describe(f)
        found |= {"rows_left_out": len(judged), "error": error, "stated_error": 1 - sure}
        found["words"] += (
            f" Of {len(judged)} rows left out {error:.1%} are wrong, where probabilities say {1 - sure:.1%}; log loss "
            f"{losses[0]:.4g}, that of the class frequencies {losses[1]:.4g}."
        )
        if problem.coupled:
            found["words"] += " Each class is fitted against the rest: multi_class='softmax' is for exact fits."
        fit = ApproximateClasses(f)
        fit.result, weights = at.result, rows.to_rows(rows.row_weight, 0.0)
        fit.learnt = {"kernel_": f.kernel, "points_": f.points, "row_weight_": weights, "temperature_": temperature}
        fit.learnt |= {self.name: f, "n_iter_": 1} | self.attributes(f)
        fit.said = {"kernel": repr(f.kernel), "inference": self.inference, "link": f.link, "classes": problem.classes}
        fit.said |= {**rows.counts(), "points": len(f.points), "loo_log_loss": losses[0]}
        fit.said |= {"frequency_log_loss": losses[1], "temperature": temperature}
        fit.said |= {"reasons": list(problem.plan.reasons), "approximation": found}
        return fit
