"""What a search over kernels found."""

import numpy as np

from mercer.inference.regression import RegressionPosterior
from mercer.selection.base import LOG_2PI
from mercer.selection.result import SearchResult
from mercer.solvers import Cholesky

ENDED, SO_FAR, CHOSEN = "the search was ended by its ", "; so far: ", "; chosen among "
ON = " kernels on "


class KernelSearch:
    """The chosen kernel, in words and as an expression, and what stood against it; made by `search_kernels`.

    Attributes
    ----------
    kernel_ : Kernel
        In the units of X.
    lam_ : float
        λ that was chosen with the kernel.
    words_ : str
        What each additive part of the function does.
    candidates_ : list of Candidate
        The leaderboard of those that were carried on to all rows, the best first.
    value_ : float
        The criterion of the best.
    n : int
        Rows that there were; those on which a candidate was compared are its ``rows``.
    series : bool
        Whether the rows are a series along a column.
    periods_ : list of float
        Periods that were found in it.
    optimism_ : float or None
        By how many nats for each row the chosen kernel looks better in cross-validation than searches that did not see
        the row; measured only if nested cross-validation was asked for.
    seconds, evaluations : float, int
        What the search took.
    status : str
        "ok", "time_budget" or "stopped".

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import search_kernels
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> found = search_kernels(X, X[:, 0] + 0.1 * np.random.default_rng(1).standard_normal(60), time_budget=10)
    >>> found.candidates_[0].kernel is found.kernel_
    True
    """

    def __init__(self, candidates, criterion, record, status, n, series=False, periods=()):
        self.candidates_, self.criterion, self.status = candidates, criterion, status
        self.n, self.series, self.periods_ = n, series, list(periods)
        self.seconds, self.evaluations = record.seconds, len(record.history)
        self.optimism_, self._history, self._failed = None, record.history, record.failed

    @property
    def kernel_(self):
        """The chosen kernel."""
        return self.candidates_[0].kernel

    @property
    def lam_(self):
        """λ of the chosen kernel."""
        return self.candidates_[0].lam

    @property
    def value_(self):
        """Its criterion."""
        return self.candidates_[0].value

    @property
    def words_(self):
        """It in words."""
        return self.candidates_[0].words

    def result(self):
        """The `SearchResult` of it, as estimators keep one."""
        own = {"criterion": self.criterion, "seconds": self.seconds, "evaluations": self.evaluations}
        found = [SearchResult(one.kernel, one.lam, one.value, message=one.words, **own) for one in self.candidates_]
        best = found[0]
        best.status, best.history, best.failed, best.candidates = self.status, self._history, self._failed, found
        seen = self.candidates_[0].rows
        best = describe_search(best, self.words_, "all rows" if seen == self.n else f"{seen} of {self.n} rows")
        if self.optimism_ is not None:
            best.message += f" It {self._optimism()}."
        return best

    def _optimism(self):
        """By how much it looks better than it is, in words."""
        return f"looks better than it is by {self.optimism_:.3f} nats for each row, by nested cross-validation"

    def measure_optimism(self, rows, folds, search):
        """Itself, with ``optimism_``: in each fold the choice on all rows less a choice without the fold.

        Of a series the folds are runs of rows, judged by what was before them.

        Parameters
        ----------
        rows : Rows
        folds : int
            How many parts the rows are judged in.
        search : callable
            Rows ↦ the `KernelSearch` of a repetition.
        """
        of = np.random.default_rng(0).permutation(rows.n) % folds
        if self.series:
            of = np.arange(rows.n) * (folds + 1) // rows.n - 1
        gains = []
        for fold in range(folds):
            held = np.flatnonzero(of == fold)
            rest = rows.take(np.flatnonzero(of < fold if self.series else of != fold))
            nested = search(rest)
            plain, other = (log_densities(one.kernel_, one.lam_, rest, rows.take(held)) for one in (self, nested))
            gains.append(plain - other)
        self.optimism_ = float(np.mean(np.concatenate(gains)))
        return self

    def __str__(self):
        """Return the leaderboard, and the best in words."""
        width = max(len(one.name) for one in self.candidates_)
        lines = [f"{'kernel':{width}}  {self.criterion:>12}  behind"]
        for one in self.candidates_:
            lines.append(f"{one.name:{width}}  {one.value:12.2f}  {one.score - self.candidates_[0].score:6.2f}")
        lines.append(f"chosen: {self.words_}")
        if self.optimism_ is not None:
            lines.append(self._optimism())
        return "\n".join(lines)


def describe_search(best, words, rows):
    """The result of a search over kernels with its message: the best in words, on which rows, and how it ended."""
    best.message = f"{words}{CHOSEN}{len(best.candidates)}{ON}{rows}."
    if best.status != "ok":
        best.message = f"{ENDED}{best.status.replace('_', ' ')}{SO_FAR}{best.message}"
    return best


def words_of(found):
    """The kernel in words, of the best or another candidate."""
    return found.message.split(SO_FAR)[-1].split(CHOSEN)[0]


def in_columns(best, names, scale, spread):
    """The result of a search over kernels with the words of all candidates, for columns of these names.

    Periods are said in ``scale``, the unit of each column in the table; ``spread`` are the deviations of X.
    """
    rows = best.message.split(ON)[-1].rstrip(".")
    for one in best.candidates:
        one.message = one.kernel.in_units(np.zeros(len(scale)), scale).describe(names, scale * spread)
    return describe_search(best, best.candidates[0].message, rows)


def log_densities(kernel, lam, rows, held):
    """log p(y | rows) of each held row, summed over targets."""
    found = RegressionPosterior.fit(kernel, rows, lam, Cholesky()).moments(held.X)
    variance = (found.variance + lam / held.weights())[:, None]
    return -0.5 * np.sum(np.log(variance) + LOG_2PI + (held.y - found.mean) ** 2 / variance, axis=1)
