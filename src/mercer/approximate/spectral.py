"""Fourier: a stationary kernel in few columns as a sum of spectral features; the mean from a Toeplitz system."""

from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._clock import FOREVER
from mercer._warn import warn
from mercer.approximate import neighbours_process as nearby
from mercer.approximate.base import Approximation
from mercer.approximate.neighbours import Neighbours, offer_nearby
from mercer.approximate.process import evidence_of
from mercer.gram.fourier import INSTALL, TooManyFeatures, has_finufft, load_finufft
from mercer.inference.fourier import FourierPosterior
from mercer.inference.neighbours import NeighbourPosterior
from mercer.selection.search import Record
from mercer.selection.spectral_search import search_spectral
from mercer.solvers import FourierOptions
from mercer.solvers.plan_approximate import features_within, plan_neighbours


class SpectralFeatures(Approximation):
    """What the two ways share: a grid of frequencies, and neighbours for the search and for variances."""

    models = ("process",)
    eps: float | str
    k: int
    random_state: int

    def first_eps(self, options):
        """What the first grid may miss of k, relative to k(x, x)."""
        return options.first_eps if self.eps == "auto" else self.eps

    def most(self, options):
        """Features that the first grid may have."""
        return options.largest

    def finest(self, options):
        """Features up to which grids are refined."""
        return options.refined_up_to if self.eps == "auto" else options.asked_up_to

    def enough(self, deviation, noise, options):
        """How far the mean may be off, for the standard deviations of y and of the noise."""
        return options.noise_share * noise if self.eps == "auto" else self.eps * deviation

    def near(self):
        """`Neighbours` of the variances, where features are many, and of the first part of a search."""
        return Neighbours(self.k, random_state=self.random_state)

    def plan(self, problem, binding=True, why=""):
        """See `Approximation.plan`; ``why`` says why the fit is not exact."""
        options = nearby.plan_options(self.near(), problem, fourier=True)
        return plan_neighbours(
            problem.sizes(), self.near().first(problem), most=self.near().most(problem), why=why, **options
        )

    def search(self, problem):
        """See `Approximation.search`: by neighbours, then by the evidence of all rows."""
        more = partial(self._refine, problem)
        return nearby.search(self.near(), replace(problem, on_some=True), more)

    def _refine(self, problem, found, space):
        """The `SearchResult` after the evidence of all rows; that of neighbours, with why, where there is none."""
        record = Record(replace(problem, on_some=True).search_clock(), problem.report)
        eps = self.first_eps(problem.options[FourierOptions])
        more = search_spectral(space, problem.rows, eps, problem.criterion, record=record, options=problem.options)
        if np.isfinite(more.value):
            more.history = [*found.history, *more.history]
            return more
        if found.status == "ok":
            found.status = self._status_without(more)
        found.message = f"hyper-parameters are those of neighbours: {more.message} {found.message}".rstrip()
        return found

    def _status_without(self, more):
        """The status of a search where only neighbours have an evidence."""
        return more.status

    def _posterior(self, at, rows, criterion, plan, clock, options):
        """(`FourierPosterior` at a kernel and λ, why its mean is not near enough, or "")."""
        room = partial(features_within, plan)
        f = FourierPosterior.fit(at.kernel, rows, at.lam, self, criterion, room, clock, options)
        return f, "" if f.report["near"] else f.report_words()


@dataclass(frozen=True)
class Fourier(SpectralFeatures):
    """k(x, z) ≈ Σⱼ Dⱼ² exp(2πi ξⱼ·(x − z)): what ``approximation=`` asks of a process in one to three columns.

    On an even grid of frequencies the normal equations are a Toeplitz matrix: after one sum over the rows a product
    costs M log M for M features, however many rows there are. For `Gaussian` and Matérn kernels; rough ones need many
    features. Hyper-parameters are those of the highest evidence of all rows. Up to 2 000 features are factored, and
    variances are exact; beyond, they are those of the k nearest rows. Sums over the rows are made by finufft, the extra
    ``fourier``.

    Parameters
    ----------
    eps : float or "auto", default="auto"
        How far the mean may be off the exact one, relative to the standard deviation of y: grids are refined until it
        no longer changes by that. "auto" is a tenth of the standard deviation of the noise.
    k : int, default=64
        Neighbours of the variance, where features are many, and of the first part of a search of hyper-parameters.
    random_state : int, default=0
        Seed of the rows that hyper-parameters are learnt on.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Fourier, GaussianProcessRegressor
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 10, 1000)[:, None]
    >>> near, exact = (
    ...     GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None, approximation=how).fit(X, np.sin(X[:, 0]))
    ...     for how in (Fourier(1e-6), None)
    ... )
    >>> bool(np.abs(near.predict(X) - exact.predict(X)).max() < 1e-6)
    True
    """

    eps: float | str = "auto"
    k: int = 64
    random_state: int = 0

    def check(self):
        """Return self, or raise ValueError for what cannot be."""
        given = isinstance(self.eps, Real) and not isinstance(self.eps, bool)
        if self.eps != "auto" and not (given and 1e-10 <= self.eps <= 0.1):
            raise ValueError(f'eps must be between 1e-10 and 0.1, or "auto", got {self.eps!r}.')
        if not isinstance(self.k, Integral) or isinstance(self.k, bool) or self.k < 1:
            raise ValueError(f"k must be a whole number >= 1, got {self.k!r}.")
        load_finufft()
        return self

    @classmethod
    def offer(cls, problem, exact, why):
        """See `Approximation.offer`: for kernels that are known to have features; neighbours without finufft."""
        if not why or not (problem.lam is None or problem.lam > 0) or not _has_features(problem):
            return None
        if has_finufft():
            return offer_nearby(
                AutomaticFourier(), problem, f"{why} Of {problem.d} columns the kernel has Fourier features."
            )
        return offer_nearby(Neighbours(), problem, f"{why} Fourier() is better for {problem.d} columns: {INSTALL}.")

    def fit(self, problem, at):
        """See `Approximation.fit`."""
        criterion = evidence_of(problem.precisions)
        f = self._fit(at, problem.rows, criterion, problem.plan, problem.clock, problem.options)
        return nearby.state_of(self, problem, at, f, near=self.near())

    def refit(self, f, rows, criterion, plan):
        """Return the posterior f of other rows, at the same hyper-parameters."""
        return self._fit(f, rows, criterion, plan, FOREVER, f.options)

    def _fit(self, *args):
        """`FourierPosterior`, with a warning where its mean is not near enough."""
        f, why = self._posterior(*args)
        if why:
            warn(
                f"Fourier() ended before its mean was near enough: {why}. Use a larger eps, more noise, or "
                "Neighbours().",
                ConvergenceWarning,
            )
        return f


@dataclass(frozen=True)
class AutomaticFourier(SpectralFeatures):
    """What "auto" takes: few features, or, where these are not enough, neighbours."""

    eps: float | str = "auto"
    k: int = 64
    random_state: int = 0

    def most(self, options):
        return options.automatic_up_to

    def near(self):
        """Return as many neighbours as rows left out gain by: a fit by these may follow."""
        return Neighbours()

    def _status_without(self, more):
        return "ok"  # neighbours are as good then: no reason to warn

    def _few(self, *args):
        """(`FourierPosterior` or None, why there is none)."""
        try:
            f, why = self._posterior(*args)
        except TooManyFeatures as error:
            f, why = None, str(error).split(";")[0]
        return None if why else f, why

    def fit(self, problem, at):
        """See `Approximation.fit`."""
        criterion = evidence_of(problem.precisions)
        f, why = self._few(at, problem.rows, criterion, problem.plan, problem.clock, problem.options)
        if f is not None:
            return nearby.state_of(self, problem, at, f, near=self.near())
        plan = self.near().plan(replace(problem, criterion=None), why=f"Not by Fourier features: {why}.")
        return self.near().fit(replace(problem, plan=replace(plan, searching=problem.plan.searching)), at)

    def refit(self, f, rows, criterion, plan):
        """Return the posterior f of other rows, at the same hyper-parameters."""
        few, _ = self._few(f, rows, criterion, plan, FOREVER, f.options)
        if few is not None:
            return few
        return NeighbourPosterior.fit(f.kernel, rows, f.lam, f.k, self.random_state, criterion)


def _has_features(problem):
    """Whether the kernel, or the default one, is known to have Fourier features of the columns."""
    d = problem.d
    if not d or d > 3 or problem.automatic:
        return False
    return all(problem.unnamed or _is_matern(kernel, d) for kernel in problem.kernels or (None,))


def _is_matern(kernel, d):
    """Whether a kernel is a Gaussian or Matérn one in a space of up to three columns."""
    inside = kernel.in_space(np.zeros((1, d))).shape[1]
    return inside <= 3 and kernel.matern_parameters(inside) is not None
