"""θ of a kernel by an approximate evidence: the search for models whose likelihood is not Gaussian, so without λ."""

import numpy as np

from mercer.gram import TiledGram, take
from mercer.selection.options import SearchOptions
from mercer.selection.result import SearchResult
from mercer.selection.search import optimise
from mercer.selection.search.objective import Objective, Record, density_tolerance
from mercer.selection.search.space import mean_diagonal, median_heuristics, with_amplitude

AMPLITUDES = (1.0, 10.0)  # of a latent function behind a link: its scale is that of the link, not of the data


class LatentObjective(Objective):
    """z = log θ ↦ (C/n, ∂C/∂z / n) for C = −log evidence of some rows, with ∂C/∂K from whoever knows the likelihood.

    ``evaluate`` is (K, index, gradient) ↦ (C, ∂C/∂K or None) of the rows of an index.
    """

    def __init__(self, kernel, X, evaluate, index, record, prior=None, options=SearchOptions()):
        super().__init__(kernel, len(index), list(kernel.names), record, prior, options)
        self.X, self.evaluate, self.index = X, evaluate, index

    @property
    def fine(self):
        return density_tolerance(self.n)

    def take(self, index):
        same = self.record, self.prior, self.options
        return LatentObjective(self.kernel, take(self.X, index), self.evaluate, self.index[index], *same)

    def start(self, kernel, lam=None):
        """log θ."""
        return kernel.theta

    def at(self, z):
        """(the kernel at z, nan)."""
        return self.kernel.with_theta(z), np.nan

    def entry(self, z):
        """What the history keeps of z: log θ."""
        return {"theta": z.tolist()}

    def _evaluate(self, z, gradient):
        K = TiledGram(self.at(z)[0], self.X)
        value, W = self.evaluate(K, self.index, gradient)
        return value, K.grad(W) if gradient else np.zeros(len(z))


def search_latent(space, X, evaluate, *, order, record=None, seed=0, options=SearchOptions()):
    """`SearchResult`, with λ = nan, of argmin C(θ) = −log evidence over the free θ, on more and more rows.

    Parameters
    ----------
    space : SearchSpace
        Of which the kernel and its prior are used.
    X : collection of n inputs
    evaluate : callable
        (K, index, gradient) ↦ (C, ∂C/∂K or None) of the rows of an index.
    order : ndarray of shape (n,)
        The rows: a level of the search has the first ones.
    record : Record, default=None
    seed : int, default=0
    options : SearchOptions

    Returns
    -------
    SearchResult
    """
    kernel, record, rng = space.kernel, record or Record(), np.random.default_rng(seed)
    objective = LatentObjective(kernel, X, evaluate, np.arange(len(order)), record, space.prior, options)
    if not kernel.n_theta:
        objective.once(np.zeros(0))
        result = SearchResult(kernel, np.nan, objective.best_value)
    else:
        level, guesses = mean_diagonal(kernel, X), [(kernel, None)]
        for guess in median_heuristics(kernel, X, None, rng, options.length_factors):
            guesses += [(with_amplitude(guess, amplitude, level), None) for amplitude in AMPLITUDES]
        result = optimise(objective, kernel.theta_bounds, guesses, rng, order)
    result.criterion, result.history = "evidence", record.history
    result.seconds, result.evaluations = record.seconds, len(record.history)
    return result
