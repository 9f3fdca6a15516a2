"""What inference asks of two classes: w log σ(t (f + m)) and its derivatives, and the tilted moments of one row."""

import numpy as np

from mercer._state import check
from mercer.inference.links import LINKS


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
    >>> from mercer.inference.links import Logit
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
