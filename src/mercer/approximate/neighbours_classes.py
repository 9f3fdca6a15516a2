"""A classifier by neighbours: Laplace's approximation within the nearest rows of each input."""

import numpy as np

from mercer.approximate.classes_by_rows import ClassesByRows
from mercer.approximate.neighbours_left_out import enough_neighbours, words_of_trials
from mercer.approximate.options import NeighbourOptions
from mercer.inference.neighbours_classes import NeighbourClasses


def plan_options(how, problem):
    """What a plan is told of classes."""
    return {}


def search(how, problem):
    """See `Approximation.search`."""
    return NeighbourWay(problem, how).search()


def fit(how, problem, at):
    """See `Approximation.fit`."""
    return NeighbourWay(problem, how).fit(at)


class NeighbourWay(ClassesByRows):
    """Laplace's approximation within the nearest rows."""

    name, inference = "neighbours_", "laplace, local"

    def __init__(self, problem, how):
        super().__init__(problem, how)
        if how.landmarks is not None:
            raise ValueError("a classifier by neighbours has no landmarks.")

    def at(self, kernel, fewer=False):
        """Return the posterior with a kernel, by the first k, or by as many as rows left out gain by."""
        common = self.number, self.rows.weights(), self.problem.classes, self.problem.link, *self.mean
        f = NeighbourClasses(kernel, self.rows.X, *common, self.how.first(self.problem))
        if not fewer:
            own, most = self.some(self.options.tried), min(self.how.most(self.problem), self.rows.n - 1)
            gain = self.problem.options[NeighbourOptions].gain
            options = {"clock": self.problem.clock, "least": lambda here: -gain * here.mean()}
            f.k, self.tried = enough_neighbours(lambda k: self.own(f.left_out(own, k), own), f.k, most, **options)
        return f

    def left_out(self, f, index):
        return f.left_out(index) if self.rows.n > 1 else np.full((len(index), f.classes), 1.0 / f.classes)

    def attributes(self, f):
        return {"point_index_": self.rows.point_index()}  # their points are all rows

    def describe(self, f):
        words = f"local: Laplace's approximation within the {f.k} nearest rows of each input."
        words += words_of_trials(self.tried)
        return {"kind": "neighbours", "k": f.k, "verdict": "local", "tried": self.tried, "words": words}
