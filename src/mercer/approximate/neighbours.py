"""Neighbours: each prediction from the k nearest rows, in the metric that the kernel has learnt."""

from dataclasses import dataclass, replace
from importlib import import_module
from numbers import Integral
from typing import Any, ClassVar

from mercer._clock import latest
from mercer.approximate.base import Approximation
from mercer.approximate.landmarks import Landmarks
from mercer.approximate.options import NeighbourOptions
from mercer.inference.neighbours import NeighbourPosterior
from mercer.solvers.plan_approximate import plan_neighbours
from mercer.solvers.plan_class import PlanOptions


@dataclass(frozen=True)
class Neighbours(Approximation):
    """f(x) from the k nearest rows: what ``approximation=`` asks of a Gaussian process with many rows.

    m(x) = kₓᵀ(K_NN + λI)⁻¹y_N and its variance, N the k rows nearest to x: k³ operations for a prediction, n k memory
    and no matrix of all rows. Right for rough functions, maps and uncertainty, where landmarks smooth too much.

    Parameters
    ----------
    k : int or "auto", default="auto"
        How many. Smooth kernels with little noise need more: "auto" learns with 64, and doubles them up to 256 while
        rows left out become more likely by that.
    landmarks : int, Landmarks or None, default=None
        With it f = g + r: m landmarks carry the global part g, and neighbours the rest r, whose kernel is
        k(x, z) − aₓᵀa_z. For gaps and for inputs far outside, which neighbours alone see from one side.
    recalibrate : bool, default=True
        Whether amplitude and noise that were learnt are multiplied by the mean z² of rows left out, of equal rows
        together; a row of weight w counts as w.
    random_state : int, default=0
        Seed of the order of the rows, and of those that hyper-parameters are learnt on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianProcessRegressor, Neighbours
    >>> from mercer.kernels import Matern32
    >>> X = np.linspace(0, 10, 2000)[:, None]
    >>> model = GaussianProcessRegressor(Matern32(1.0), 0.01, criterion=None, approximation=Neighbours(32))
    >>> mean, std = model.fit(X, np.sin(X[:, 0])).predict([[1.0], [50.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 1e-2), std.round(1)
    (True, array([0. , 1.1]))
    """

    models: ClassVar[tuple] = ("process", "classes")
    k: int | str = "auto"
    landmarks: Any = None
    recalibrate: bool = True
    random_state: int = 0

    def check(self):
        """Return self, or raise ValueError for what cannot be."""
        if self.k != "auto" and (not isinstance(self.k, Integral) or isinstance(self.k, bool) or self.k < 1):
            raise ValueError(f'k must be a whole number >= 1 or "auto", got {self.k!r}.')
        self.global_part()
        return self

    def first(self, problem):
        """Neighbours that hyper-parameters are learnt with."""
        return problem.options[NeighbourOptions].first if self.k == "auto" else self.k

    def most(self, problem):
        """Neighbours that there may be in the end."""
        return problem.options[NeighbourOptions].most if self.k == "auto" else self.k

    def global_part(self):
        """`Landmarks` that carry the global part, or None."""
        if self.landmarks is None or isinstance(self.landmarks, Landmarks):
            return None if self.landmarks is None else self.landmarks.check()
        return Landmarks(self.landmarks, random_state=self.random_state).check()

    def plan(self, problem, binding=True, why=""):
        """See `Approximation.plan`; ``why`` says why the fit is not exact."""
        own = _of(problem).plan_options(self, problem)
        return plan_neighbours(problem.sizes(), self.first(problem), most=self.most(problem), why=why, **own)

    @classmethod
    def offer(cls, problem, exact, why):
        """See `Approximation.offer`: where columns are few, neighbours are near."""
        columns = f"{why} Of {problem.d} columns neighbours are near, and a process is asked for uncertainty."
        return offer_nearby(cls(), problem, columns) if why and problem.model == "process" else None

    def search(self, problem):
        """See `Approximation.search`."""
        return _of(problem).search(self, replace(problem, on_some=True))

    def fit(self, problem, at):
        """See `Approximation.fit`."""
        return _of(problem).fit(self, problem, at)

    def refit(self, f, rows, criterion, plan):
        """Return the posterior f of other rows, at the same hyper-parameters."""
        basis = None if f.points is None else (f.points, f.L)
        return NeighbourPosterior.fit(f.kernel, rows, f.lam, f.k, self.random_state, criterion, basis)


def offer_nearby(how, problem, why):
    """(how, its plan) where neighbours are near, and the fit ends in time; else None."""
    steer = problem.options[PlanOptions]
    far = problem.d is None or problem.d > steer.neighbour_columns
    if far or (problem.criterion is not None and problem.criterion.by_neighbours is None):
        return None
    plan, late = how.plan(problem, why=why), latest(problem.time_budget)
    in_time = plan.seconds <= late and steer.caution * plan.last <= late  # a search has an end, the fit has not
    return (how, plan) if in_time else None


def _of(problem):
    """The module that has neighbours for a kind of model, loaded when it is first asked for."""
    return import_module(f"mercer.approximate.neighbours_{problem.model}")
