"""A Gaussian process: what it is asked, and how it learns its hyper-parameters: priors, the search, its blind spots."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._warn import warn
from mercer.approximate.base import Hyperparameters, Problem
from mercer.approximate.fitted import conventions, slopes_of, trend_attributes
from mercer.approximate.kernels import search_expressions, searchable
from mercer.approximate.options import ProcessOptions
from mercer.gram import Rows, take
from mercer.gram.trend import make_trend
from mercer.inference.regression import RegressionPosterior
from mercer.kernels.algebra import rescale
from mercer.selection import Evidence, PriorOptions, SearchOptions
from mercer.selection.priors import as_prior, weak_priors
from mercer.selection.result import best_of
from mercer.selection.search import Record, SearchSpace, search_rows
from mercer.selection.search.space import mean_diagonal
from mercer.solvers import Cholesky, Span
from mercer.solvers.plan import choose_solver

SQUARES = (1e-152, 1e152)  # spreads of y whose squares are floats
CHAINS = 4  # of draws of the hyper-parameters


@dataclass(frozen=True, eq=False, kw_only=True)
class ProcessProblem(Problem):
    """A Gaussian process with normal noise.

    Attributes
    ----------
    prior, starts, n_hyper_samples
        As the estimator has them.
    precisions : bool
        Whether each row has a noise variance of its own, λ/w.
    span : Span
        Of the trend of the rows, scaled.
    variance : float
        Of y, the trend aside.
    """

    model = "process"
    prior: Any = "auto"
    starts: int = 3
    n_hyper_samples: int = 0
    precisions: bool = False
    span: Span | None = None
    variance: float = 1.0

    def on(self, X, y, weight):
        """Return the problem of some rows, whose default kernel, trend and variance of y are theirs."""
        with np.errstate(over="ignore"):  # of y whose squares are refused below
            trend = make_trend(self.trend, X if weight is None else take(X, np.flatnonzero(weight > 0)))
            rows = Rows(X, y, weight, trend, self.merge)
        span = Span(rows.scaled(rows.H))
        more = {"rows": rows, "span": span, "kernels": self.kernels_on(rows), "X": X, "y": y, "weight": weight}
        sizes = {"n": rows.n, "d": rows.d, "t": rows.t, "count": len(rows.index)}
        return replace(self, **more, **sizes, variance=variance_beside(rows, span, self.criterion is not None))

    def take(self, index):
        return replace(super().take(index), span=None)

    @property
    def start(self):
        """The noise variance as given, or where a search begins."""
        return self.options[ProcessOptions].noise * self.variance if self.lam is None else self.lam

    @property
    def bounds(self):
        """(low, high) of the noise variance in a search, with the value that was given inside."""
        low, high = (ratio * self.variance for ratio in self.options[ProcessOptions].noise_range)
        return min(low, self.lam or low), max(high, self.lam or high)

    @property
    def draws(self):
        """How many draws of the hyper-parameters there are in the end, each of which has a factor."""
        return factors_of(self.n_hyper_samples)

    @property
    def needs_exact(self):
        return "n_hyper_samples" if self.n_hyper_samples else ""

    def plan_exactly(self, binding=True):
        criterion, options = self.criterion, {"inverse": True}
        options["search"] = None if criterion is None else self.n if criterion.merges else self.count
        options |= {"lam_alone": self.optimize == "lam", "arrays": 1 if criterion is None else criterion.arrays}
        plan = choose_solver("cholesky", self.sizes(binding), **options)[1]
        return replace(plan, memory_bytes=plan.memory_bytes + self.draws * 8.0 * self.n**2) if self.draws else plan

    def search_exactly(self):
        if self.criterion is None:
            return Hyperparameters(self.kernels[0], self.start)
        return learn(self, self.kernels, self.rows, self.start, Cholesky())

    def fit_exactly(self, at):
        from mercer.approximate.exact_process import fit_process

        return fit_process(self, at)


def evidence_of(precisions):
    """The criterion that is log p(y); noise given row by row makes weights precisions, not copies."""
    return Evidence(weights="precision" if precisions else "repeats")


def is_likelihood(criterion):
    """Whether the criterion is −log of the density of all rows at once, hyper-parameters and amplitude included."""
    return criterion is not None and criterion.density and criterion.merges


def has_curvature(criterion, found):
    """Whether the curvature of the criterion at the end of its search is that of a density in all variables."""
    return criterion.density and not criterion.scale_free and found.status != "constant"


def variance_beside(rows, span, learnt):
    """The mean square of y beside the trend, over all targets; 1 where only rounding is left.

    Refused, where something is to be learnt by it, if it is not a float.
    """
    size = float(np.abs(rows.y).max(initial=0.0))
    if not size > 0:
        return 1.0
    rest = span.project_out(rows.scaled(rows.y / size))
    share = float(np.sum(rest**2) + np.sum(rows.within_squares) / size / size) / (rows.total * rows.t)
    spread = np.sqrt(share) * size if share > 1e-26 else 0.0
    if learnt and not SQUARES[0] < (spread or size) < SQUARES[1]:
        spread = spread or size
        raise ValueError(
            f"y has a spread of {spread:.3g}: its variance is not a float64 number. Divide y by {spread:.1g}."
        )
    return min(spread, 1e150) ** 2 or 1.0


def warn_of_units(rows, span, unlike=3.0):
    """Say loudly that targets share one amplitude and one noise, where their deviations are not alike."""
    if rows.t == 1:
        return
    size = np.abs(rows.y).max(axis=0)
    size[size == 0] = 1.0
    spread = size * np.sqrt(np.square(span.project_out(rows.scaled(rows.y / size))).sum(axis=0) / rows.total)
    spread = spread[spread > 1e-12 * size]
    if spread.size > 1 and spread.max() > unlike * spread.min():
        warn(
            f"{rows.t} targets share one amplitude and one noise, and so one standard deviation at each x, but their "
            f"own deviations reach from {spread.min():.3g} to {spread.max():.3g}: intervals are too wide for some and "
            "too narrow for others. Divide each target by its deviation, or fit one model for each.",
            UserWarning,
        )


def make_prior(prior, kernel, rows, criterion, options=PriorOptions()):
    """−log of the prior density of (log θ, log λ), as a search takes it, or None."""
    if prior is None or criterion is None:
        return None
    if isinstance(prior, str):
        count = len(rows.index) if criterion.weights == "precision" else rows.total
        if count >= options.rows or not is_likelihood(criterion):
            return None
        rows = rows.apart()
        return weak_priors(kernel, rows.X, rows.y, rows.row_weight, options)
    found, known = as_prior(prior), [*kernel.names, "lam"]
    unused = found.unused(known) if isinstance(prior, dict) else []
    if unused:
        raise ValueError(f"prior: {unused[0]!r} fits none of {known} that the patterns before it leave.")
    return found


def check_learnable(rows, problem, lam):
    """Refuse noise that cannot be kept, and too few rows."""
    if problem.optimize == "kernel" and not lam > 0:
        raise ValueError(
            f"noise = {lam} cannot be kept while the kernel is learnt: K alone may be singular. Give a small positive "
            f"noise, such as {1e-9 * problem.variance:.1g}."
        )
    n = len(rows.index)
    if n - rows.q < 2:
        raise ValueError(
            f"n_samples = {n} is too few to learn hyper-parameters beside a trend of {rows.q} columns; give more "
            "rows, or the kernel and the noise with criterion=None."
        )


def learn(problem, kernels, rows, lam, solver):
    """`Hyperparameters` as the criterion chooses them on some rows; of several kernels the best."""
    check_learnable(rows, problem, lam)
    found = []
    for i, kernel in enumerate(kernels):
        share = (problem.options[ProcessOptions].search_share if problem.draws else 1.0) / (len(kernels) - i)
        found.append(_learn_one(problem, kernel, rows, lam, solver, problem.search_clock(share, 1 + problem.draws)))
    return Hyperparameters.of(best_of(found).warn())


def _learn_one(problem, kernel, rows, lam, solver, clock):
    """The `SearchResult` of one kernel."""
    criterion, optimize = problem.criterion, problem.optimize
    if problem.automatic and searchable(rows):
        return search_expressions(problem, rows, criterion.restrict(rows.used), solver, clock=clock).result()
    given = None if problem.lam is None else lam
    bounds = None if criterion.scale_free else problem.bounds  # else λ relative to K, not to y
    prior = make_prior(problem.prior, kernel, rows, criterion, problem.options[PriorOptions])
    space = SearchSpace(kernel, lam if optimize == "kernel" else given, bounds, optimize, prior, "noise")
    found = search_rows(
        space, rows, criterion.restrict(rows.used), solver=solver, seed=problem.seed,
        record=Record(clock, problem.report), options=replace(problem.options[SearchOptions], starts=problem.starts),
    )  # fmt: skip
    if found.status == "constant":
        _set_constant(found, rows, given, optimize, problem.options[ProcessOptions].noise)
    elif criterion.scale_free and optimize == "all":
        _set_amplitude(found, rows, criterion, solver)
    return found


# ---------------------------------------------------------------------- what a search cannot see
def _set_constant(found, rows, given, optimize, noise):
    """Take deviations of a millionth of |y|: nothing in a constant y tells how large they are."""
    share = 1e-6
    if optimize == "lam" and given is not None:
        return
    variance = (share * (float(np.abs(rows.y).max(initial=0.0)) or 1.0)) ** 2
    level = mean_diagonal(found.kernel, rows.X)
    scaled = rescale(found.kernel, variance / level) if optimize != "lam" and level > 0 else None
    found.kernel = found.kernel if scaled is None else scaled
    found.lam = noise * variance if given is None else found.lam
    found.message = (
        f"y is constant (up to the trend): nothing can be learnt from it. Its deviations are taken as {share:g} "
        f"of its size, so noise = {found.lam:.3g}; with criterion=None the kernel and noise given stay."
    )


def _set_amplitude(found, rows, criterion, solver):
    """(c k, c λ), c = rᵀK̃⁻¹r/(n − q) of the highest evidence: a scale-free criterion says nothing of variances."""
    f = RegressionPosterior.fit(found.kernel, rows, found.lam, solver)
    count = len(rows.index) if criterion.weights == "precision" else rows.total
    c = float((f.quad.sum() + rows.within_squares.sum() / found.lam) / ((count - rows.q) * rows.t))
    scaled = rescale(found.kernel, c) if 0 < c < np.inf else None
    if scaled is not None:
        found.kernel, found.lam = scaled, c * found.lam
    elif not 0.5 < c < 2.0:
        warn(
            f"criterion={criterion.name} sees errors, not variances, and {found.kernel!r} has no amplitude to learn: "
            f"its standard deviations seem off by a factor of {np.sqrt(c):.2g}. Write 1.0 * kernel, or use "
            "criterion='evidence'.",
            UserWarning,
        )


def draws_of(n_samples):
    """Draws of each chain for so many in all."""
    return max(4, -(-n_samples // CHAINS))


def factors_of(n_samples):
    """How many draws there are in the end, each of which has a factor."""
    return CHAINS * draws_of(n_samples) if n_samples else 0


def process_attributes(f, flat, precisions, log_evidence):
    """What every process publishes that keeps its rows."""
    trend = trend_attributes(f.rows.trend, f.b, flat)
    if not f.b.size or slopes_of(f.rows.trend, f.b) is not None:
        del trend["intercept_"]  # there is no constant
    return trend | {
        "kernel_": f.kernel, "lam_": f.lam, "points_": f.rows.X, "point_index_": f.rows.point_index(),
        "noise_": f.rows.to_rows(f.lam / f.rows.row_weight) if precisions else f.lam,
        "trend_centre_": None if f.rows.trend is None else f.rows.trend.centre,
        "regularization_": conventions(f.lam, f.rows.total), "log_marginal_likelihood_value_": log_evidence,
    }  # fmt: skip
