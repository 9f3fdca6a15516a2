"""One kernel expression of a search: its hyper-parameters on some of the rows, and what they are worth there."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

import numpy as np

from mercer.exceptions import NotPositiveDefinite
from mercer.kernels.base import Kernel
from mercer.selection.options import KernelSearchOptions
from mercer.selection.search.latent import AMPLITUDES, LatentObjective
from mercer.selection.search.levels import begin_at, descend
from mercer.selection.search.objective import CriterionObjective, Stop
from mercer.selection.search.space import SearchSpace, mean_diagonal, variance_of, with_amplitude


@dataclass
class Candidate:
    """A kernel with λ, and the criterion there.

    Parameters
    ----------
    name : str
    kernel : Kernel
        On columns in standard units, until the search ends.
    lam : float
    value : float
        The criterion, smaller is better; inf where it could not be evaluated.
    rows : int
        On which it was evaluated.
    words : str
        What the kernel says of the function.
    curvature : ndarray
        The Hessian of the mean criterion there as a descent has learnt it; None where there was none.
    """

    name: str
    kernel: Kernel
    lam: float = np.nan
    value: float = np.inf
    rows: int = 0
    words: str = ""
    curvature: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def score(self):
        """What candidates are compared by: the criterion, and half a nat for each hyper-parameter fitted to it."""
        return self.value + 0.5 * self.kernel.n_theta if np.isfinite(self.value) else np.inf


def shrink(names, z, spread=KernelSearchOptions.length_spread):
    """−log of a normal density of log ℓⱼ around their mean, for each vector of lengths, and its gradient."""
    value, gradient = 0.0, np.zeros(len(z))
    groups: dict = {}
    for j, name in enumerate(names):
        if name.split("__")[-1].startswith("length_scale["):
            groups.setdefault(name.split("[")[0], []).append(j)
    for group in groups.values():
        rest = (z[group] - np.mean(z[group])) / spread
        value += 0.5 * float(rest @ rest)
        gradient[group] = rest / spread
    return value, gradient


class Level(ABC):
    """Some of the rows, on which candidates are fitted and compared; the record has the clock of the whole search."""

    def __init__(self, rows, record, options):
        self.rows, self.record, self.options, self.variance = rows, record, options, 1.0

    def _prior(self, names, z):
        """`shrink`, as the options have it."""
        return shrink(names, z, self.options.length_spread)

    @abstractmethod
    def objective(self, kernel):
        """(log θ, log λ) ↦ the criterion on these rows, lengths drawn together."""

    @abstractmethod
    def fresh(self, kernel):
        """[(kernel, λ), …]: starts without a warm one."""

    @abstractmethod
    def _box(self, kernel):
        """Bounds of z."""

    def value(self, candidate):
        """The candidate as it is, on these rows."""
        objective = self.objective(candidate.kernel)
        objective.value(objective.start(candidate.kernel, candidate.lam))
        return replace(
            candidate, value=objective.best_value if objective.best_z is not None else np.inf, rows=self.rows.n
        )

    def fit(self, candidate, starts, tolerance):
        """(candidate, stop): with the best hyper-parameters that descents from the starts, [(kernel, λ)], lead to.

        ``stop`` is None, or the `Stop` that ended them.
        """
        objective, box, stop = self.objective(candidate.kernel), self._box(candidate.kernel), None
        ends = []
        try:
            for kernel, lam in starts:
                start = begin_at(objective, objective.start(kernel, lam), box, candidate.curvature)
                ends.append(descend(objective, start, box, tolerance))
        except Stop as reason:
            stop = reason
        except (NotPositiveDefinite, np.linalg.LinAlgError):  # e.g. a polynomial of columns that are no numbers
            pass
        if objective.best_z is None:
            return candidate, stop
        kernel, lam = objective.at(objective.best_z)
        found = {"value": objective.best_value, "rows": self.rows.n}
        found["curvature"] = min(ends, key=lambda end: end.value).B if ends else candidate.curvature
        return self._keep(replace(candidate, kernel=kernel, lam=lam, **found)), stop

    def _keep(self, fitted):
        """The candidate as it is kept."""
        return fitted


class DensityLevel(Level):
    """Rows whose targets are numbers, under a log density that reads an inverse."""

    def __init__(self, rows, record, criterion, solver, options):
        super().__init__(rows, record, options)
        self.criterion, self.solver, self.variance = criterion, solver, variance_of(rows)

    def objective(self, kernel):
        return CriterionObjective(kernel, self.rows, self.criterion, self.record, solver=self.solver, prior=self._prior)

    def _box(self, kernel):
        return SearchSpace(kernel, bounds=(1e-9 * self.variance, 1e3 * self.variance)).box(self.rows, self.criterion)

    def _keep(self, fitted):
        # Few rows cannot tell that there is no noise: so much of n k(x, x) leaves solutions some digits.
        least = 1e-11 * self.rows.n * mean_diagonal(fitted.kernel, self.rows.X)
        if fitted.lam >= least or self.rows.n > 300:
            return fitted
        objective = self.objective(fitted.kernel)
        try:  # one evaluation more, of few rows, whatever the clock says
            value = objective.exact(objective.start(fitted.kernel, least), gradient=False)[0]
        except (NotPositiveDefinite, np.linalg.LinAlgError):
            value = np.inf
        return replace(fitted, lam=least, value=value if np.isfinite(value) else np.inf)

    def fresh(self, kernel):
        """Starts without a warm one: a tenth of the variance is noise, and all of it.

        The second has the worst value and often leads to the best optimum: structure is taken in as it pays.
        """
        kernel = with_amplitude(kernel, self.variance, mean_diagonal(kernel, self.rows.X))
        return [(kernel, 0.1 * self.variance), (kernel, self.variance)]


class LatentLevel(Level):
    """Rows whose targets are behind a link, under an approximate evidence: there is no λ. See `LatentObjective`."""

    def __init__(self, rows, record, evaluate, index, scale, options):
        super().__init__(rows, record, options)
        self.evaluate, self.index, self.scale = evaluate, index, scale

    def objective(self, kernel):
        return LatentObjective(kernel, self.rows.X, self.evaluate, self.index, self.record, self._prior)

    def _prior(self, names, z):
        """`shrink`, and the prior of the amplitude of a product."""
        value, gradient = super()._prior(names, z)
        if self.scale is not None and names[0] == "scale":
            one, slope = self.scale.value_and_slope(z[0])
            value, gradient[0] = value + one, gradient[0] + slope
        return value, gradient

    def _box(self, kernel):
        return kernel.theta_bounds

    def fresh(self, kernel):
        level = mean_diagonal(kernel, self.rows.X)
        return [(with_amplitude(kernel, amplitude, level), np.nan) for amplitude in AMPLITUDES]
