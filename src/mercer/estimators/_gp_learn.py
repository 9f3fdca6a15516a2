"""How a Gaussian process learns its hyper-parameters: the criterion, priors, the search, and what it cannot see."""

import copy

import numpy as np

from mercer._warn import warn
from mercer.estimators._gp_trend import amplitudes, rescale
from mercer.selection import LOO, Evidence
from mercer.selection.merged import MergedEvidence
from mercer.selection.priors import FEW, as_prior, weak_priors
from mercer.selection.progress import reporter
from mercer.selection.search import search
from mercer.selection.search.starts import mean_diagonal

NOISE = 1e-2  # of the variance of y, where nothing is given
NOISE_RANGE = (1e-9, 1e3)  # of the variance of y
CONSTANT = 1e-6  # of |y|: the deviations that a constant y is taken to have
OFF = 2.0  # a factor of the variance beyond which a wrong amplitude is worth a warning


class LearnMixin:
    """Hyper-parameters of `GaussianProcessRegressor`, in the units inside."""

    def _criterion(self):
        """The criterion as an object, or None; noise given row by row makes weights precisions, not copies."""
        weights = "precision" if self._precision else "repeats"
        if self.criterion == "evidence":
            return Evidence(weights=weights)
        if self.criterion == "loo":
            return LOO("log_density", weights=weights)
        if not (self._precision and isinstance(self.criterion, Evidence | LOO)):
            return self.criterion
        other = copy.copy(self.criterion)
        other.weights = weights
        return other

    def _make_prior(self, kernel, data, criterion):
        """The prior of z in the units inside, or None."""
        if self.prior is None or criterion is None:
            return None
        if isinstance(self.prior, str):
            rows = len(data.y) if self._precision else data.weight.sum()
            few = rows < FEW and isinstance(criterion, Evidence) and not criterion.scale_free
            return weak_priors(kernel, data.X, data.y, data.weight) if few else None
        prior = as_prior(self.prior)
        unused = prior.unused([*kernel.names, "lam"]) if hasattr(prior, "unused") else []
        if unused:
            known = [*kernel.names, "lam"]
            raise ValueError(f"prior: {unused[0]!r} fits none of {known} that the patterns before it leave.")
        return prior if self._unit == 1.0 else _Shifted(prior, kernel, self._unit)

    def _learn(self, kernel, lam, data):
        """(kernel, λ) as the criterion chooses them, in the units inside."""
        criterion = self._criterion()
        self._prior = self._make_prior(kernel, data, criterion)
        start = NOISE * data.variance if lam is None else lam
        if criterion is None:
            return kernel, start
        self._check_learnable(start, data)
        low, high = (ratio * data.variance for ratio in NOISE_RANGE)
        data.noise_bounds = min(low, lam or low), max(high, lam or high)
        found = self.selection_ = self._search(kernel, lam, start, data, criterion)
        found.message = found.message.replace("lam", "noise") if self._unit == 1.0 else self._in_units_of_y(found)
        found.at_bound = {("noise" if name == "lam" else name): value for name, value in found.at_bound.items()}
        found.flat = ["noise" if name == "lam" else name for name in found.flat]
        kernel, lam = self._settled(found, lam, data, criterion)
        found.warn()
        found.kernel, found.lam = kernel, lam
        if self._unit != 1.0:
            found.kernel, found.lam = rescale(kernel, self._unit**2), lam * self._unit**2
        return kernel, lam

    def _check_learnable(self, start, data):
        """Refuse noise that cannot be kept, and too few rows."""
        if self.optimize == "kernel" and not start > 0:
            raise ValueError(
                f"noise = {self.noise} cannot be kept while the kernel is learnt: K alone may be singular. Give a "
                f"small positive noise, such as {1e-9 * data.variance * self._unit**2:.1g}."
            )
        if len(data.y) - data.H.shape[1] < 2:
            raise ValueError(
                f"n_samples = {len(data.y)} is too few to learn hyper-parameters beside a trend of "
                f"{data.H.shape[1]} columns; give more rows, or the kernel and the noise with criterion=None."
            )

    def _search(self, kernel, lam, start, data, criterion):
        """The search, on points or rows."""
        fixed = self.optimize == "kernel"
        X, y, weight, H, criterion = self._seen(data, criterion.restrict(data.keep))
        return search(
            kernel,
            X,
            y,
            criterion,
            lam=start if fixed or lam else None,
            weight=or_none(weight),
            intercept=False,
            trend=H,
            optimize="lam" if self.optimize == "noise" else "all",
            bounds=None if criterion.scale_free else data.noise_bounds,  # λ beside K, not beside y
            starts=self.starts,
            time_budget=self.time_budget,
            callback=reporter(self),
            random_state=self.random_state,
            prior=self._prior,
            fixed_lam=fixed,
            carry=getattr(criterion, "summed", False),
        )

    def _seen(self, data, criterion):
        """(X, y, weight, H, criterion) of a search: points, if the criterion counts equal rows as copies; else rows."""
        points, y, weight, _, spread = data.merged
        counted = isinstance(criterion, Evidence) and criterion.weights == "repeats" and not criterion.scale_free
        if not counted or len(y) == len(data.y) or len(y) < data.H.shape[1] + 2:
            return data.X, data.y, data.weight, data.H, criterion
        H = np.ones((len(y), 0)) if data.trend is None else data.trend(points)
        return points, y, weight, H, MergedEvidence(spread)

    # ---------------------------------------------------------------------- what a search cannot see
    def _settled(self, found, given, data, criterion):
        """(kernel, λ) of a search, with an amplitude where the criterion or y says nothing of it."""
        if found.status == "constant":
            return self._of_constant(found, given, data)
        if criterion.scale_free and self.optimize == "all":
            return self._profiled(found, data)
        return found.kernel, found.lam

    def _of_constant(self, found, given, data):
        """(kernel, λ) with deviations of CONSTANT times |y|: nothing in a constant y tells how large they are."""
        if self.optimize == "noise" and given is not None:
            return found.kernel, found.lam
        variance = (CONSTANT * (float(np.abs(data.y).max(initial=0.0)) or 1.0)) ** 2
        level = mean_diagonal(found.kernel, data.X)
        scaled = rescale(found.kernel, variance / level) if self.optimize != "noise" and level > 0 else None
        lam = NOISE * variance if given is None else found.lam
        found.message = (
            f"y is constant (up to the trend): nothing can be learnt from it. Its deviations are taken as {CONSTANT:g} "
            f"of its size, so noise = {lam * self._unit**2:.3g}; with criterion=None the kernel and noise given stay."
        )
        return found.kernel if scaled is None else scaled, lam

    def _profiled(self, found, data):
        """(c k, c λ), c = rᵀK̃⁻¹r/(n − q) of the highest evidence: a scale-free criterion says nothing of variances."""
        kernel, lam = found.kernel, found.lam
        points, y, weight, _, spread = data.merged
        f = self._posterior_at(kernel, lam, points, y, weight, data.trend, data.solver)
        rows = len(data.y) if self._precision else data.weight.sum()
        c = float((f.quad.sum() + spread.sum() / lam) / ((rows - f.q) * y.shape[1]))
        scaled = rescale(kernel, c) if 0 < c < np.inf else None
        if scaled is not None:
            return scaled, c * lam
        if not 1 / OFF < c < OFF:
            warn(
                f"criterion={self.criterion!r} sees errors, not variances, and {kernel!r} has no amplitude to learn: "
                f"its standard deviations seem off by a factor of {np.sqrt(c):.2g}. Write 1.0 * kernel, or use "
                "criterion='evidence'.",
                UserWarning,
            )
        return kernel, lam

    # ---------------------------------------------------------------------- units
    def _in_units_of_y(self, found):
        """The message of a search that worked with y divided by a unit."""
        text = found.message.replace("lam", "noise")
        return f"{text} (Amplitudes and noise are in units of {self._unit**2:.3g}.)" if text else text

    def _natural_value(self, value, data):
        """The criterion in the units of y, from that inside."""
        criterion, log = self._criterion(), np.log(self._unit)
        if isinstance(criterion, Evidence) and self.selection_.status != "constant":
            count = data.weight.sum() if criterion.weights == "repeats" else len(data.y)
            return value + log * (count - data.H.shape[1]) * data.y.shape[1] - self._offset()
        if getattr(criterion, "score", None) == "log_density":
            return value + log * (data.y.size if criterion.summed else 1)
        return value * self._unit ** {"absolute": 1, "crps": 1}.get(getattr(criterion, "score", ""), 2)


class _Shifted:
    """A prior of z in the units of y, for z in the units inside."""

    def __init__(self, prior, kernel, unit):
        self.prior, self.by_name = prior, dict.fromkeys(["lam"], 2.0 * np.log(unit))
        for name, scaled in zip(kernel.names, amplitudes(kernel), strict=True):
            self.by_name[name] = 2.0 * np.log(unit) * scaled

    def __call__(self, names, z):
        return self.prior(names, np.asarray(z) + [self.by_name[str(name)] for name in names])


def or_none(weight):
    """Weights, or None where all are 1."""
    return None if weight is None or np.all(weight == 1.0) else weight
