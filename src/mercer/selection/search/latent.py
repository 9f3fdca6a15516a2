"""θ of a kernel by an approximate evidence: the search for models whose likelihood is not Gaussian, so without λ."""

import numpy as np

from mercer.gram import TiledGram, take
from mercer.selection.result import SearchResult
from mercer.selection.search import climb
from mercer.selection.search.objective import Record, Trials, as_sum
from mercer.selection.search.starts import mean_diagonal as level_of
from mercer.selection.search.starts import median_heuristics, with_amplitude

AMPLITUDES = (1.0, 10.0)  # of a latent function behind a link: its scale is that of the link, not of the data


class LatentObjective(Trials):
    """z = log θ ↦ (C/n, ∂C/∂z / n) for C = −log evidence of some rows, with ∂C/∂K from whoever knows the likelihood.

    ``evaluate`` is (K, index, gradient) ↦ (C, ∂C/∂K or None) of the rows of an index.
    """

    def __init__(self, kernel, X, evaluate, index, record, prior=None):
        super().__init__(kernel, len(index), list(kernel.names), record, prior)
        self.X, self.evaluate, self.index = X, evaluate, index

    @property
    def fine(self):
        """What a descent on all rows may leave to gain."""
        return as_sum(self.n)

    def take(self, index):
        """Return the same on some of the rows."""
        return LatentObjective(
            self.kernel, take(self.X, index), self.evaluate, self.index[index], self.record, self.prior
        )

    def start(self, kernel):
        """log θ."""
        return kernel.theta

    def at(self, z):
        """The kernel at z."""
        return self.kernel.with_theta(z)

    def _evaluate(self, z, gradient):
        K = TiledGram(self.at(z), self.X)
        value, W = self.evaluate(K, self.index, gradient)
        return value, K.grad(W) if gradient else np.zeros(len(z))

    def _transformed(self, value, gradient, prior):
        return (value + prior[0]) / self.n, (gradient + prior[1]) / self.n


def search_latent(
    kernel, X, evaluate, *, rows, order=None, prior=None, starts=3, clock=None, callback=None, random_state=0
):
    """`SearchResult`, with λ = nan, of argmin C(θ) = −log evidence over the free θ, on more and more of n rows.

    ``evaluate`` is that of `LatentObjective`. A level of the search has the first rows of ``order``; None is a random
    one. The others are those of `search`.
    """
    record, rng = Record(clock, callback), np.random.default_rng(random_state)
    objective = LatentObjective(kernel, X, evaluate, np.arange(rows), record, prior)
    if not kernel.n_theta:
        objective.once(np.zeros(0))
        C = objective.best_value
        return SearchResult(kernel, np.nan, C, criterion="evidence", history=record.history, evaluations=1)
    level = level_of(kernel, X)
    guesses = [(kernel,)]
    for guess in median_heuristics(kernel, X, None, rng):
        guesses += [(with_amplitude(guess, amplitude, level),) for amplitude in AMPLITUDES]
    last, result = climb(objective, kernel.theta_bounds, guesses, starts, rng, order)
    result.kernel = objective.at(last.best_z)
    result.criterion, result.history = "evidence", record.history
    result.seconds, result.evaluations = record.seconds, len(record.history)
    return result
