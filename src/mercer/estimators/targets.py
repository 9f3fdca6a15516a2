"""Transforms of a target: z = g(y), increasing, with its slope for densities and its inverse for what is predicted."""

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import expit, log_expit, logit, ndtri, roots_hermitenorm
from scipy.stats import yeojohnson_normmax

NODES, SHARES = roots_hermitenorm(40)
SHARES = SHARES / SHARES.sum()


class Target(ABC):
    """z = g(y); y may be standardised inside, so that z has a size that a model can start from."""

    word = ""

    @classmethod
    @abstractmethod
    def of(cls, y):
        """Learn the transform from targets of shape (n,); ValueError, in words, where it cannot be."""

    @abstractmethod
    def forward(self, y):
        """g(y)."""

    @abstractmethod
    def log_slope(self, y):
        """log g′(y), which the log density of y has beside that of z."""

    @abstractmethod
    def back(self, z):
        """g⁻¹(z)."""

    def inside(self, y):
        """Whether y is where targets can be: elsewhere their density is 0."""
        return np.ones(np.shape(y), dtype=bool)

    def moments(self, mean, std, errors):
        """(E y, its standard deviation): z normal around ``mean`` with ``std``; where that is None, by ``errors()``."""
        if std is None:
            return self.back(mean[:, None] + errors()).mean(axis=1), None
        return self.mean(mean, std), np.sqrt(self.variance(mean, std))

    def mean(self, mean, std):
        """E g⁻¹(z) for z ~ N(mean, std²), by quadrature: of a transform that is not linear not g⁻¹(mean)."""
        z = mean[:, None] + std[:, None] * NODES
        return np.sum(SHARES * self.back(z), axis=1)

    def variance(self, mean, std):
        """Var g⁻¹(z)."""
        y = self.back(mean[:, None] + std[:, None] * NODES)
        return np.maximum(np.sum(SHARES * y**2, axis=1) - np.sum(SHARES * y, axis=1) ** 2, 0.0)

    def state(self):
        """{name: value}: what a file keeps."""
        return dict(vars(self))

    def __repr__(self):
        parts = (f"{name}={np.round(value, 6)}" for name, value in self.state().items() if np.ndim(value) == 0)
        return f"{type(self).__name__}({', '.join(parts)})"

    @classmethod
    def from_state(cls, state):
        """Return the transform that had this state."""
        return cls(**state)


class PlainTarget(Target):
    """z = y."""

    word = "none"

    @classmethod
    def of(cls, y):
        return cls()

    def forward(self, y):
        return np.asarray(y, dtype=float)

    def log_slope(self, y):
        return np.zeros(len(y))

    def back(self, z):
        return z

    def moments(self, mean, std, errors):
        return mean, std


class LogTarget(Target):
    """z = log y: predictions are positive, as y is."""

    word = "log"

    @classmethod
    def of(cls, y):
        if not np.min(y) > 0:
            raise ValueError(f'target="log" needs y > 0, and the least is {np.min(y):g}; use "yeo-johnson".')
        return cls()

    def forward(self, y):
        return np.log(y)

    def log_slope(self, y):
        return -np.log(y)

    def inside(self, y):
        return ~(np.asarray(y) <= 0)

    def back(self, z):
        with np.errstate(over="ignore"):
            return np.exp(z)

    def mean(self, mean, std):
        with np.errstate(over="ignore"):
            return np.exp(mean + 0.5 * std**2)

    def variance(self, mean, std):
        with np.errstate(over="ignore"):
            return np.expm1(std**2) * np.exp(2.0 * mean + std**2)


class PowerTarget(Target):
    """z = ((u + 1)^p − 1)/p for u >= 0 and −((1 − u)^(2 − p) − 1)/(2 − p) below, u = (y − m)/s: p of the best fit."""

    word = "yeo-johnson"

    def __init__(self, centre, scale, power):
        self.centre, self.scale, self.power = centre, scale, power

    @classmethod
    def of(cls, y):
        centre, scale = float(np.median(y)), float(np.std(y))
        if not scale > 0:
            raise ValueError('target="yeo-johnson" needs targets that differ.')
        power = float(np.clip(yeojohnson_normmax((y - centre) / scale), 0.0, 2.0))  # beyond, z would have an end
        return cls(centre, scale, power)

    def forward(self, y):
        u = (np.asarray(y, dtype=float) - self.centre) / self.scale
        return np.where(u >= 0, _power(np.maximum(u, 0.0), self.power), -_power(np.maximum(-u, 0.0), 2.0 - self.power))

    def log_slope(self, y):
        u = (np.asarray(y, dtype=float) - self.centre) / self.scale
        return np.sign(u) * (self.power - 1.0) * np.log1p(np.abs(u)) - np.log(self.scale)

    def back(self, z):
        up, down = _root(np.maximum(z, 0.0), self.power), _root(np.maximum(-z, 0.0), 2.0 - self.power)
        return self.centre + self.scale * np.where(z >= 0, up, -down)


class ShareTarget(Target):
    """z = logit((y − a)/(b − a)): for targets between two ends, which predictions then keep."""

    word = "logit"

    def __init__(self, low, high):
        self.low, self.high = low, high

    @classmethod
    def of(cls, y):
        low, high = float(np.min(y)), float(np.max(y))
        if 0 < low and high < 1:  # shares
            return cls(0.0, 1.0)
        wide = 1e-3 * (high - low)  # which targets are taken to reach beyond these
        if not wide > 0:
            raise ValueError('target="logit" needs targets that differ.')
        return cls(low - wide, high + wide)

    def forward(self, y):
        return logit((np.asarray(y, dtype=float) - self.low) / (self.high - self.low))

    def log_slope(self, y):
        u = self.forward(y)
        return -log_expit(u) - log_expit(-u) - np.log(self.high - self.low)

    def inside(self, y):
        return ~((np.asarray(y) <= self.low) | (np.asarray(y) >= self.high))

    def back(self, z):
        return self.low + (self.high - self.low) * expit(z)


class RankTarget(Target):
    """z = Φ⁻¹(F(y)), F the distribution of the targets, linear between their quantiles and normal beyond them."""

    word = "rank"

    def __init__(self, knots, values):
        self.knots, self.values = knots, values

    @classmethod
    def of(cls, y):
        knots = np.unique(np.quantile(y, np.linspace(0, 1, min(len(np.unique(y)), 50))))
        if len(knots) < 3:
            raise ValueError(
                f'target="rank" needs targets that are not nearly all alike: of {len(y)}, with {len(np.unique(y))} '
                f"different values, the quantiles take only {len(knots)}."
            )
        below = np.searchsorted(np.sort(y), knots, side="left") + np.searchsorted(np.sort(y), knots, side="right")
        return cls(knots, ndtri((below + 1.0) / (2.0 * len(y) + 2.0)))

    def _slopes(self):
        return np.diff(self.values) / np.diff(self.knots)

    def forward(self, y):
        return _line(np.asarray(y, dtype=float), self.knots, self.values)

    def log_slope(self, y):
        slopes = self._slopes()
        return np.log(slopes[np.clip(np.searchsorted(self.knots, y, side="right") - 1, 0, len(slopes) - 1)])

    def back(self, z):
        return _line(z, self.values, self.knots)


KINDS = {cls.word: cls for cls in (PlainTarget, LogTarget, PowerTarget, ShareTarget, RankTarget)}


def _power(u, p):
    """((1 + u)^p − 1)/p, log(1 + u) at 0."""
    return np.log1p(u) if abs(p) < 1e-8 else np.expm1(p * np.log1p(u)) / p


def _root(z, p):
    """The inverse of `_power`."""
    with np.errstate(over="ignore"):
        return np.expm1(z) if abs(p) < 1e-8 else np.expm1(np.log1p(p * z) / p)


def _line(x, knots, values):
    """Linear between the knots, and on along the first and the last piece."""
    slopes = np.diff(values) / np.diff(knots)
    i = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(slopes) - 1)
    return values[i] + slopes[i] * (x - knots[i])
