"""The integral itself, by a product rule: the reference for a handful of rows."""

import numpy as np
from scipy.special import logsumexp

from mercer.inference.likelihood import Binary
from mercer.inference.nodes import Measure, NodePosterior

LARGEST = 8  # dimensions
NODES = 12_000_000
FIRST, GROWTH = 8, 1.4
BLOCK = 200_000
FORGET = 34.0  # log weights this far below the largest are left out


def quadrature(K, likelihood, *, tol=1e-8, max_iter=200):
    """log Z = log ∫ p(y | f) N(f | 0, K) df, by Gauss–Hermite products around the Gaussian of EP.

    The number of nodes in each direction grows until log Z stands still.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        n <= 8, or of rank at most 8.
    likelihood : Binary
    tol : float, default=1e-8
        Change of log Z from one rule to the next.
    max_iter : int, default=200
        Of expectation propagation.

    Returns
    -------
    Nodes
        ``info["error"]`` is the last change.

    Examples
    --------
    Two independent rows, with a probit: ¼.

    >>> import numpy as np
    >>> from mercer.inference.likelihood import Binary
    >>> from mercer.inference.links import Probit
    >>> from mercer.inference.quadrature import quadrature
    >>> found = quadrature(np.eye(2), Binary(Probit(), np.array([1.0, -1.0])))
    >>> round(float(np.exp(found.log_evidence)), 9)
    0.25
    """
    measure = Measure(K, likelihood, max_iter)
    if measure.rank > LARGEST:
        raise ValueError(
            f"direct integration is for at most {LARGEST} rows, there are {measure.rank}: the number of nodes grows "
            "with the power of it. Use inference='ep', or 'mcmc'."
        )
    size, before, change, found = FIRST, np.inf, np.inf, None
    while found is None or (change > tol and size**measure.rank <= NODES):
        found = _rule(measure, size)
        change, before = abs(found[2] - before), found[2]
        used, size = size, int(np.ceil(size * GROWTH))
    eps, weight, log_z = found
    info = {
        "nodes": used**measure.rank,
        "error": change,
        "converged": bool(change <= max(tol, 1e-6)),
        "iterations": used,
    }
    return Nodes(K, measure, measure.whiten(eps), weight, log_z, info)


class Nodes(NodePosterior):
    """The nodes of a product rule; made by `quadrature`."""

    def __init__(self, K, measure, z, weight, log_evidence, info):
        super().__init__(measure, z, weight, log_evidence, info)
        self.K = K

    def loo(self, index=None, share=1.0):
        """P(t = +1) by integrating again, without ``share`` of the weight of each row in turn."""
        index = np.arange(len(self.K)) if index is None else np.asarray(index)
        share, found = np.broadcast_to(share, len(index)), {}
        for i, part in zip(index, share, strict=True):
            if (i, part) not in found:
                found[i, part] = self._without(i, part)
        return np.array([found[i, part] for i, part in zip(index, share, strict=True)])

    def _without(self, i, share):
        likelihood = self.likelihood
        weight = likelihood.weight.copy()
        weight[i] *= 1.0 - share
        rest = np.flatnonzero(weight > 1e-12 * likelihood.weight)
        if not rest.size:
            return float(likelihood.prob(0.0, self.K[i, i]))
        fewer = Binary(likelihood.link, likelihood.t[rest], weight[rest], likelihood.offset)
        part = quadrature(self.K[np.ix_(rest, rest)], fewer, tol=1e-6)
        return float(part.proba(self.K[i : i + 1, rest], self.K[i, i : i + 1])[0])


def _rule(measure, size):
    """(ε, weights, log Z) of the product rule with ``size`` nodes in each direction."""
    x, w = np.polynomial.hermite_e.hermegauss(size)
    log_w = np.log(w) - 0.5 * np.log(2.0 * np.pi)
    shape, kept, logs, largest = (size,) * measure.rank, [], [], -np.inf
    for i in range(0, size**measure.rank, BLOCK):
        index = np.stack(np.unravel_index(np.arange(i, min(i + BLOCK, size**measure.rank)), shape), axis=1)
        total = log_w[index].sum(axis=1)
        eps = x[index]
        total += measure.log_ratio(measure.mean + eps @ measure.G.T)
        largest = max(largest, float(total.max()))
        good = total > largest - FORGET
        kept.append(eps[good])
        logs.append(total[good])
    eps, logs = np.concatenate(kept), np.concatenate(logs)
    good = logs > largest - FORGET
    eps, logs = eps[good], logs[good]
    total = float(logsumexp(logs))
    return eps, np.exp(logs - total), measure.log_mass + total
