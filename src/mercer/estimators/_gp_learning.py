"""How a Gaussian process learns its hyper-parameters: criterion, priors, the search, and what that cannot see."""

import numpy as np
from sklearn.base import clone

from mercer._clock import FOREVER
from mercer._warn import warn
from mercer.estimators._auto import searchable, searched
from mercer.estimators._base import as_rule, automatic, latent_kernel
from mercer.estimators.validation import check_X
from mercer.inference.regression import RegressionPosterior
from mercer.kernels import Matern32, as_kernel
from mercer.kernels.algebra import rescale
from mercer.selection import LOO, Evidence
from mercer.selection.priors import FEW, as_prior, weak_priors
from mercer.selection.search import search_rows
from mercer.selection.search.starts import mean_diagonal

NOISE = 1e-2  # of the variance of y, where nothing is given
NOISE_RANGE = (1e-9, 1e3)  # of the variance of y
SQUARES = (1e-152, 1e152)  # spreads of y whose squares are floats
CONSTANT = 1e-6  # of |y|: the deviations that a constant y is taken to have
UNLIKE = 3.0  # factor between deviations of targets that one amplitude does not fit
OFF = 2.0  # a factor of the variance beyond which a wrong amplitude is worth a warning


def prior_model(estimator, X):
    """(kernel, X, noise variance) of an estimator before a fit; it learns the columns of X."""
    if estimator.kernel is None or automatic(estimator.kernel):
        X = check_X(estimator, X, reset=True, kernel=Matern32())
        kernel = latent_kernel(X, None)
    else:
        kernel = clone(as_kernel(estimator.kernel), safe=False)
        X = kernel.validate(check_X(estimator, X, reset=True, kernel=kernel))
    if estimator.noise is None:
        return kernel, X, NOISE * float(np.mean(kernel.diag(X)))
    return kernel, X, float(np.mean(estimator.noise))


def as_criterion(estimator, precisions, y=None):
    """The criterion as an object, or None; noise given row by row makes weights precisions, not copies."""
    found = as_rule(estimator, y, words={"loo": lambda: LOO("log_density")})
    return found.with_precisions() if precisions and found is not None else found


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
    rest = span.beside(rows.scaled(rows.y / size))
    share = float(np.sum(rest**2) + np.sum(rows.spread) / size / size) / (rows.total * rows.t)
    spread = np.sqrt(share) * size if share > 1e-26 else 0.0
    if learnt and not SQUARES[0] < (spread or size) < SQUARES[1]:
        spread = spread or size
        raise ValueError(
            f"y has a spread of {spread:.3g}: its variance is not a float64 number. Divide y by {spread:.1g}."
        )
    return min(spread, 1e150) ** 2 or 1.0


def warn_of_units(rows, span):
    """Say loudly that targets share one amplitude and one noise, where their deviations are not alike."""
    if rows.t == 1:
        return
    size = np.abs(rows.y).max(axis=0)
    size[size == 0] = 1.0
    spread = size * np.sqrt(np.square(span.beside(rows.scaled(rows.y / size))).sum(axis=0) / rows.total)
    spread = spread[spread > 1e-12 * size]
    if spread.size > 1 and spread.max() > UNLIKE * spread.min():
        warn(
            f"{rows.t} targets share one amplitude and one noise, and so one standard deviation at each x, but their "
            f"own deviations reach from {spread.min():.3g} to {spread.max():.3g}: intervals are too wide for some and "
            "too narrow for others. Divide each target by its deviation, or fit one model for each.",
            UserWarning,
        )


def noise_bounds(variance, lam):
    """(low, high) of the noise variance in a search, with the value that was given inside."""
    low, high = (ratio * variance for ratio in NOISE_RANGE)
    return min(low, lam or low), max(high, lam or high)


def make_prior(prior, kernel, rows, criterion):
    """−log of the prior density of (log θ, log λ), as a search takes it, or None."""
    if prior is None or criterion is None:
        return None
    if isinstance(prior, str):
        count = len(rows.index) if criterion.weights == "precision" else rows.total
        if count >= FEW or not is_likelihood(criterion):
            return None
        rows = rows.apart()
        return weak_priors(kernel, rows.X, rows.y, rows.row_weight)
    found, known = as_prior(prior), [*kernel.names, "lam"]
    unused = found.unused(known) if isinstance(prior, dict) else []
    if unused:
        raise ValueError(f"prior: {unused[0]!r} fits none of {known} that the patterns before it leave.")
    return found


def check_learnable(rows, noise, lam, optimize, variance):
    """Refuse noise that cannot be kept, and too few rows."""
    if optimize == "kernel" and not lam > 0:
        raise ValueError(
            f"noise = {noise} cannot be kept while the kernel is learnt: K alone may be singular. Give a small "
            f"positive noise, such as {1e-9 * variance:.1g}."
        )
    n = len(rows.index)
    if n - rows.q < 2:
        raise ValueError(
            f"n_samples = {n} is too few to learn hyper-parameters beside a trend of {rows.q} columns; give more "
            "rows, or the kernel and the noise with criterion=None."
        )


def learn(kernel, rows, given, criterion, solver, *, optimize, start, bounds, auto=None, clock=FOREVER, **options):
    """The `SearchResult` with the kernel and λ that the criterion chooses.

    ``given`` is the noise that was given, ``start`` where nothing is learnt of it. ``auto`` is an estimator: if its
    kernel is "auto", this is searched for, where there is something to choose it by.
    """
    if auto is not None and automatic(auto.kernel) and searchable(rows):
        return searched(auto, rows, criterion.restrict(rows.used), solver, clock=clock).result()
    fixed = optimize == "kernel"
    found = search_rows(
        kernel,
        rows,
        criterion.restrict(rows.used),
        solver=solver,
        lam=start if fixed else given,
        optimize="lam" if optimize == "lam" else "all",
        bounds=None if criterion.scale_free else bounds,  # else λ beside K, not beside y
        fixed_lam=fixed,
        lam_name="noise",
        clock=clock,
        **options,
    )
    if found.status == "constant":
        _settle_constant(found, rows, given, optimize)
    elif criterion.scale_free and optimize == "all":
        _settle_amplitude(found, rows, criterion, solver)
    return found


# ---------------------------------------------------------------------- what a search cannot see
def _settle_constant(found, rows, given, optimize):
    """Take deviations of CONSTANT times |y|: nothing in a constant y tells how large they are."""
    if optimize == "lam" and given is not None:
        return
    variance = (CONSTANT * (float(np.abs(rows.y).max(initial=0.0)) or 1.0)) ** 2
    level = mean_diagonal(found.kernel, rows.X)
    scaled = rescale(found.kernel, variance / level) if optimize != "lam" and level > 0 else None
    found.kernel = found.kernel if scaled is None else scaled
    found.lam = NOISE * variance if given is None else found.lam
    found.message = (
        f"y is constant (up to the trend): nothing can be learnt from it. Its deviations are taken as {CONSTANT:g} "
        f"of its size, so noise = {found.lam:.3g}; with criterion=None the kernel and noise given stay."
    )


def _settle_amplitude(found, rows, criterion, solver):
    """(c k, c λ), c = rᵀK̃⁻¹r/(n − q) of the highest evidence: a scale-free criterion says nothing of variances."""
    f = RegressionPosterior.fit(found.kernel, rows, found.lam, solver)
    count = len(rows.index) if criterion.weights == "precision" else rows.total
    c = float((f.quad.sum() + rows.spread.sum() / found.lam) / ((count - rows.q) * rows.t))
    scaled = rescale(found.kernel, c) if 0 < c < np.inf else None
    if scaled is not None:
        found.kernel, found.lam = scaled, c * found.lam
    elif not 1 / OFF < c < OFF:
        warn(
            f"criterion={criterion.name} sees errors, not variances, and {found.kernel!r} has no amplitude to learn: "
            f"its standard deviations seem off by a factor of {np.sqrt(c):.2g}. Write 1.0 * kernel, or use "
            "criterion='evidence'.",
            UserWarning,
        )
