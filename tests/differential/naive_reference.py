"""Ridge, its criteria and the posterior of a Gaussian process in 60 digits: bordered systems, nothing clever.

The system is [K + λ/w, H; Hᵀ, 0]; kernels are evaluated in the same digits, so that errors in the entries of K count.
"""

import mpmath
import numpy as np

mpmath.mp.dps = 60
ROOT3, ROOT5 = mpmath.sqrt(3), mpmath.sqrt(5)


def gaussian(r):
    return mpmath.exp(-r * r / 2)


def exponential(r):
    return mpmath.exp(-r)


def matern32(r):
    return (1 + ROOT3 * r) * mpmath.exp(-ROOT3 * r)


def matern52(r):
    return (1 + ROOT5 * r + 5 * r * r / 3) * mpmath.exp(-ROOT5 * r)


def exact(values):
    """Floats as they are, as a column."""
    return mpmath.matrix([mpmath.mpf(float(v)) for v in values])


def floats(values):
    return np.array([float(v) for v in values])


def gram(shape, length, X, Z):
    """k(X, Z) of a radial shape, or of the scalar product (None)."""
    length = mpmath.mpf(float(length))

    def entry(a, b):
        pairs = [(mpmath.mpf(float(p)), mpmath.mpf(float(q))) for p, q in zip(a, b, strict=True)]
        if shape is None:
            return mpmath.fsum(p * q for p, q in pairs)
        return shape(mpmath.sqrt(mpmath.fsum((p - q) ** 2 for p, q in pairs)) / length)

    return mpmath.matrix([[entry(a, b) for b in Z] for a in X])


class Twin:
    """α, b, P and what follows from them, for rows of weight w and an intercept or none."""

    def __init__(self, K, y, lam, weight=None, intercept=False):
        n = len(y)
        self.K, self.y, self.n, self.lam, self.q = K, exact(y), n, mpmath.mpf(lam), int(intercept)
        self.noise = [self.lam / mpmath.mpf(float(w)) for w in (np.ones(n) if weight is None else weight)]
        self.system = K.copy()
        for i in range(n):
            self.system[i, i] += self.noise[i]
        bordered = mpmath.zeros(n + self.q)
        bordered[:n, :n] = self.system
        for i in range(n * self.q):
            bordered[i, n] = bordered[n, i] = 1
        self.inverse = bordered**-1
        self.P = self.inverse[:n, :n]
        self.alpha = self.P * self.y
        self.b = (self.inverse[n, :n] * self.y)[0] if intercept else mpmath.mpf(0)

    @property
    def fitted(self):
        f = self.K * self.alpha
        return floats(v + self.b for v in f)

    @property
    def norm(self):
        return float(mpmath.sqrt((self.alpha.T * self.K * self.alpha)[0]))

    @property
    def loo_residuals(self):
        return floats(self.alpha[i] / self.P[i, i] for i in range(self.n))

    @property
    def lost(self):
        """What rounding does to 1 − leverage where a row alone decides its fit."""
        least = min(self.noise[i] * self.P[i, i] for i in range(self.n))
        return float(np.finfo(float).eps / least)

    @property
    def dof(self):
        """tr of the influence matrix I − diag(noise) P."""
        return float(self.n - mpmath.fsum(self.noise[i] * self.P[i, i] for i in range(self.n)))

    @property
    def evidence(self):
        """log of the restricted likelihood with an intercept, else of the likelihood."""
        quad = (self.y.T * self.alpha)[0]
        log = mpmath.log(mpmath.det(self.system))
        if self.q:
            log += mpmath.log(-1 / self.inverse[self.n, self.n]) - mpmath.log(self.n)
        return float(-(quad + log + (self.n - self.q) * mpmath.log(2 * mpmath.pi)) / 2)

    def posterior(self, cross, diagonal):
        """(mean, variance) at the columns of cross = k(X, new)."""
        mean, variance = [], []
        for j in range(cross.cols):
            k = mpmath.matrix([cross[i, j] for i in range(self.n)] + [1] * self.q)
            mean.append((k[: self.n, 0].T * self.alpha)[0] + self.b)
            variance.append(diagonal[j] - (k.T * self.inverse * k)[0])
        return floats(mean), floats(variance)

    def covariance(self, cross, own):
        """The covariance of f at the columns of cross = k(X, new), own = k(new, new)."""
        m = cross.cols
        both = mpmath.matrix(self.n + self.q, m)
        both[: self.n, :] = cross
        for j in range(m * self.q):
            both[self.n, j] = 1
        left = own - both.T * self.inverse * both
        return np.array([[float(left[i, j]) for j in range(m)] for i in range(m)])
