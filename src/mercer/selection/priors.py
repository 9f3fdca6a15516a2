"""Priors on hyper-parameters: what few rows cannot say. All are densities of the log of a value."""

import fnmatch
from dataclasses import dataclass

import numpy as np

from mercer.selection.options import PriorOptions
from mercer.selection.search.space import median_heuristic


@dataclass(frozen=True)
class LogNormal:
    """log value ~ N(log median, sd²).

    Parameters
    ----------
    median : float
        The value that is as likely exceeded as not.
    sd : float, default=1.0
        Of the log; 1 is a factor of e either way.

    Examples
    --------
    >>> from mercer.selection import LogNormal
    >>> LogNormal(1.0, 2.0).value_and_slope(2.0)
    (0.5, 0.5)
    """

    median: float
    sd: float = 1.0

    def __post_init__(self):
        for name in ("median", "sd"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"LogNormal: {name} must be positive and finite, got {value}.")

    def value_and_slope(self, z):
        """½((z − log median)/sd)², and its derivative in z = log value; the constant left out."""
        u = (z - np.log(self.median)) / self.sd
        return float(0.5 * u * u), float(u / self.sd)


class Priors:
    """−log p(z) = Σ −log pⱼ(zⱼ) over the hyper-parameters whose name fits a pattern.

    Parameters
    ----------
    priors : dict
        {pattern: prior}; a pattern is a name as `Kernel.names` has it, or its last part, with ``*`` and ``?``:
        ``"length_scale*"``, ``"left__scale"``, ``"lam"``. The first that fits counts. A prior has
        ``value_and_slope(log value)``.

    Examples
    --------
    >>> from mercer.selection import LogNormal, Priors
    >>> prior = Priors({"length_scale*": LogNormal(1.0, 1.0)})
    >>> prior(["scale", "kernel__length_scale[0]"], [5.0, 2.0])
    (2.0, array([0., 2.]))
    """

    def __init__(self, priors):
        self.priors = dict(priors)
        for pattern, prior in self.priors.items():
            try:
                prior.value_and_slope(0.0)
            except AttributeError:
                raise TypeError(
                    f"the prior of {pattern!r} must have value_and_slope, as LogNormal has; got {prior!r}."
                ) from None

    def __repr__(self):
        return f"Priors({self.priors!r})"

    def __eq__(self, other):
        return isinstance(other, Priors) and self.priors == other.priors

    __hash__ = None  # type: ignore[assignment]

    def find(self, name):
        """The prior of a hyper-parameter, or None."""
        return self.priors.get(self._pattern(name))

    def _pattern(self, name):
        """The first pattern that fits, or None."""
        last = name.split("__")[-1]
        for pattern in self.priors:
            safe = pattern.replace("[", "[[]")  # an index is meant, not a set of letters
            if fnmatch.fnmatchcase(name, safe) or fnmatch.fnmatchcase(last, safe):
                return pattern
        return None

    def __call__(self, names, z):
        """(−log p(z), its gradient)."""
        value, gradient = 0.0, np.zeros(len(z))
        for j, name in enumerate(names):
            prior = self.find(str(name))
            if prior is not None:
                one, gradient[j] = prior.value_and_slope(z[j])
                value += one
        return value, gradient

    def unused(self, names):
        """Patterns that fit none of the names, or only names that an earlier one fits."""
        found = {self._pattern(str(name)) for name in names}
        return [pattern for pattern in self.priors if pattern not in found]


def weak_priors(kernel, X, y=None, weight=None, options=PriorOptions()):
    """Log-normal priors around the median heuristic: ℓ within a factor of about 6, noise around 1 % of the variance.

    Parameters
    ----------
    kernel : Kernel
    X : collection of n inputs
    y : ndarray of shape (n, t), default=None
        None where there is no noise variance.
    weight : ndarray of shape (n,), default=None
        How much each row counts; None counts each once.
    options : PriorOptions, default=PriorOptions()
        How wide the priors are.

    Returns
    -------
    Priors

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import weak_priors
    >>> found = weak_priors(1.0 * Gaussian(1.0), np.arange(10.0)[:, None], np.arange(10.0)[:, None])
    >>> sorted(found.priors)
    ['kernel__length_scale', 'lam', 'scale']
    """
    typical = median_heuristic(kernel, X, weight)
    found = {}
    variance = 1.0
    if y is not None:
        centre = np.average(y, axis=0, weights=weight)
        variance = float(np.mean(np.average((y - centre) ** 2, axis=0, weights=weight)))
        variance = variance if np.isfinite(variance) and variance > 0 else 1.0
        found["lam"] = LogNormal(options.noise_ratio * variance, options.noise_deviation)
    for name, value in zip(typical.names, np.exp(typical.theta), strict=True):
        last = name.split("__")[-1]
        if last.startswith("length_scale"):
            found[name] = LogNormal(float(value), options.length_deviation)
        elif last == "scale":
            found[name] = LogNormal(variance, options.scale_deviation)
    return Priors(found)


def as_prior(prior):
    """Return a prior as `search` takes it: None, a callable, or a dict made into `Priors`."""
    if prior is None or callable(prior):
        return prior
    if isinstance(prior, dict):
        return Priors(prior)
    raise TypeError(f"prior must be None, a dict {{pattern: prior}} or a callable, got {prior!r}.")
