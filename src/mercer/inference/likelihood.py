"""What inference asks of two classes: w log σ(t (f + m)) with its derivatives, tilted moments, stable in the tails.

The link σ is the logistic function or the normal distribution function. Both satisfy σ(−z) = 1 − σ(z), so that one
function of z = t f serves both labels; log σ is concave, so that posteriors have one mode.
"""

import numpy as np
from scipy.special import erfcx, expit, log_expit, log_ndtr, logit, ndtr, ndtri

from mercer._state import check
from mercer.inference._cavity import tilted_logit, tilted_probit, trapezoid_power

Z = np.arange(-38, 39) * 0.25  # nodes in units of s, on [−9.5, 9.5]
U = np.arange(-80, 81) * 0.5  # nodes in units of f, on [−40, 40]


class Link:
    """σ: from the latent function to a probability.

    A subclass has ``prob(f)`` = σ(f), its ``inverse(p)``, ``log(z)`` = log σ(z), ``derivatives(z)``, the first and
    second of log σ, ``skew(z)``, its third divided by the second, which is finite where both vanish,
    ``expect(mean, var)`` = ∫ σ(f) N(f | mean, var) df, and ``_tilted(mean, var)``, what `tilted` returns for power 1.
    """

    name: str
    constant_variance: float  # of an unknown constant in f: about the same in probability for every link
    typical_variance: float  # of f itself: the median of what it is expected to be, in the same sense

    def tilted(self, mean, var, power=None):
        """log Z, ∂ log Z/∂μ and −∂² log Z/∂μ² of Z(μ) = ∫ σ(f)^power N(f | μ, var) df.

        The moments of the tilted distribution σ N / Z follow: its mean is μ + var ∂ log Z/∂μ, its variance
        var + var² ∂² log Z/∂μ².

        Parameters
        ----------
        mean, var : ndarray of shape (n,)
        power : ndarray of shape (n,), default=None
            In (0, 1]; None is 1.
        """
        mean, var = np.asarray(mean, dtype=float), np.asarray(var, dtype=float)
        if power is None or np.all(power == 1.0):
            return self._tilted(mean, var)
        power = np.broadcast_to(power, mean.shape)
        whole, out = power == 1.0, np.empty((3, len(mean)))
        out[:, whole] = self._tilted(mean[whole], var[whole])
        out[:, ~whole] = trapezoid_power(self, mean[~whole], var[~whole], power[~whole])
        return tuple(out)


class Logit(Link):
    """σ(f) = 1/(1 + e⁻ᶠ).

    Examples
    --------
    >>> from mercer.inference.likelihood import Logit
    >>> Logit().log(0.0).round(4), Logit().expect(1.0, 4.0).round(6)
    (np.float64(-0.6931), np.float64(0.647726))
    """

    name, constant_variance, typical_variance = "logit", 25.0, 10.0
    prob, inverse, log = staticmethod(expit), staticmethod(logit), staticmethod(log_expit)

    def derivatives(self, z):
        """σ(−z), −σ(z)σ(−z)."""
        q = expit(-np.asarray(z))
        return q, -expit(z) * q

    def skew(self, z):
        """σ(−z) − σ(z)."""
        return -np.tanh(0.5 * np.asarray(z))

    def expect(self, mean, var):
        """∫ σ(f) N(f | mean, var) df, to about 1e-15.

        The trapezoidal rule, which converges faster than any power here: for s < 2 in (f − μ)/s; beyond, after one
        integration by parts, ∫ σ′(u) Φ((μ − u)/s) du, whose σ′ falls off as e⁻ᵘ whatever s is.
        """
        mean, var = np.broadcast_arrays(np.asarray(mean, dtype=float), np.asarray(var, dtype=float))
        s, sign = np.sqrt(var).ravel(), np.where(mean > 0, -1.0, 1.0).ravel()
        m = -np.abs(mean).ravel()  # the small tail, which keeps its digits
        out = np.empty(m.size)
        for i in range(0, m.size, 4096):
            out[i : i + 4096] = _logistic_normal(m[i : i + 4096], s[i : i + 4096])
        out = np.where(sign > 0, out, 1.0 - out).reshape(mean.shape)
        return out[()]

    def _tilted(self, mean, var):
        return tilted_logit(mean, var, self)


class Probit(Link):
    """σ(f) = Φ(f), the standard normal distribution function.

    Examples
    --------
    >>> from mercer.inference.likelihood import Probit
    >>> Probit().expect(1.0, 3.0).round(6)
    np.float64(0.691462)
    """

    name, constant_variance, typical_variance = "probit", 9.0, 3.6
    prob, inverse, log = staticmethod(ndtr), staticmethod(ndtri), staticmethod(log_ndtr)

    def derivatives(self, z):
        """h, −h(z + h) with h = φ/Φ."""
        h, rest = hazard(z)
        return h, -h * rest

    def skew(self, z):
        """1/(z + h) − (z + 2h)."""
        h, rest = hazard(z)
        return (1.0 - rest * (rest + h)) / rest

    def expect(self, mean, var):
        """Φ(mean/√(1 + var))."""
        return ndtr(np.asarray(mean) / np.sqrt(1.0 + np.asarray(var)))

    def _tilted(self, mean, var):
        return tilted_probit(mean, var, hazard)


LINKS = {"logit": Logit, "probit": Probit}


def hazard(z):
    """h = φ(z)/Φ(z), and z + h without cancellation: for z ≪ 0 it is 1/|z|, a continued fraction."""
    z = np.asarray(z, dtype=float)
    with np.errstate(over="ignore"):
        h = np.sqrt(2.0 / np.pi) / erfcx(-z / np.sqrt(2.0))
    low = z < -5.0
    if not np.any(low):
        return h, z + h
    x, fraction = np.where(low, -z, 5.0), 0.0
    for k in range(60, 0, -1):
        fraction = k / (x + fraction)
    return h, np.where(low, fraction, z + h)


def _logistic_normal(m, s):
    """∫ σ(f) N(f | m, s²) df for m <= 0."""
    out, wide = np.empty(m.size), s >= 2.0  # then in f, below in (f − m)/s
    narrow = ~wide
    if narrow.any():
        density = 0.25 * np.exp(-0.5 * Z**2) / np.sqrt(2.0 * np.pi)
        out[narrow] = expit(m[narrow, None] + s[narrow, None] * Z) @ density
    if wide.any():
        slope = 0.5 * expit(U) * expit(-U)
        out[wide] = ndtr((m[wide, None] - U) / s[wide, None]) @ slope
    return out


class Binary:
    """log p(y | f) = Σᵢ wᵢ log σ(tᵢ (fᵢ + m)) for labels t = ±1.

    Parameters
    ----------
    link : Link
    t : ndarray of shape (n,)
        +1 or −1.
    weight : ndarray of shape (n,), default=None
        w > 0; a whole number is a repeated row.
    offset : float, default=0.0
        m, a known mean of the latent function.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.likelihood import Binary
    >>> from mercer.inference.likelihood import Logit
    >>> Binary(Logit(), np.array([1.0, -1.0])).value(np.zeros(2)).round(4)
    np.float64(-1.3863)
    """

    def __init__(self, link, t, weight=None, offset=0.0):
        self.link, self.t, self.offset = link, np.asarray(t, dtype=float), float(offset)
        self.weight = np.ones(len(self.t)) if weight is None else np.asarray(weight, dtype=float)
        self.signed = self.weight * self.t
        # A row of weight w stands for w copies, each with a site of its own. Below one copy there is a part of one.
        self.copies = np.maximum(self.weight, 1.0)
        self.power = self.weight / self.copies

    def state(self):
        """{name: value} by public names: what a file keeps."""
        return {"link": self.link.name, "t": self.t, "weight": self.weight, "offset": self.offset}

    @classmethod
    def from_state(cls, state):
        """Return the likelihood that had this state."""
        check(state, {"link": str, "t": "float n", "weight": "float n", "offset": "number"}, "Binary")
        return cls(LINKS[state["link"]](), state["t"], state["weight"], state["offset"])

    @property
    def n(self):
        """The number of rows."""
        return len(self.t)

    def rows(self, index):
        """Return the likelihood of some of the rows."""
        return Binary(self.link, self.t[index], self.weight[index], self.offset)

    def logs(self, f):
        """wᵢ log σ(tᵢ (fᵢ + m)); f of shape (..., n)."""
        return self.weight * self.link.log(self.t * (f + self.offset))

    def value(self, f):
        """The sum of `logs`."""
        return self.logs(f).sum(axis=-1)

    def gradient(self, f):
        """First derivative of each term."""
        return self.derivatives(f)[0]

    def derivatives(self, f):
        """First and −second derivative of each term."""
        first, second = self.link.derivatives(self.t * (f + self.offset))
        return self.signed * first, -self.weight * second

    def skew(self, f):
        """Third derivative of each term, divided by the −second."""
        return -self.t * self.link.skew(self.t * (f + self.offset))

    def tilted(self, mean, var):
        """log Z, ∂ log Z/∂μ, −∂² log Z/∂μ² of one copy of each row under N(f | mean, var)."""
        log_z, slope, curve = self.link.tilted(self.t * (mean + self.offset), var, self.power)
        return log_z, self.t * slope, curve

    def prob(self, mean, var):
        """P(t = +1) for f ~ N(mean, var)."""
        return self.link.expect(np.asarray(mean) + self.offset, var)
