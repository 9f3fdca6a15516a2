"""Posteriors of weighted nodes, and the integral itself by a product rule: the reference for a handful of rows."""

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import logsumexp

from mercer._clock import FOREVER
from mercer._machine import check_memory, within
from mercer._state import check
from mercer._threads import few_threads
from mercer.gram import DenseGram
from mercer.inference.ep import expectation_propagation
from mercer.inference.likelihood import Binary
from mercer.inference.sites import laplace
from mercer.solvers import Spectral
from mercer.solvers.cholesky import factorise_without_checks

FIELDS = {
    "vectors": "float n r", "values": "float r", "z": "float N r", "weight": "float N", "log_evidence": "number",
    "info": dict, "likelihood": dict,
}  # fmt: skip


class Measure:
    """N(f | F z̄, (K⁻¹ + T)⁻¹), and the log ratio of the true posterior to it.

    Parameters
    ----------
    K : Gram
    likelihood : Binary
    max_iter, tol, clock
        Of expectation propagation.
    """

    def __init__(self, K, likelihood, max_iter=200, tol=1e-8, clock=FOREVER):
        self.likelihood = likelihood
        self.vectors, self.values = principal(K)
        self.F = self.vectors * np.sqrt(self.values)
        sites = expectation_propagation(K, likelihood, max_iter=max_iter, tol=tol, clock=clock)
        if not sites.info["converged"]:
            sites = laplace(K, likelihood, clock=clock)
        self.sites, self.tau, self.nu = sites, sites.s**2, sites.nu
        self._precision = factorise_without_checks(DenseGram.from_matrix(self.F.T @ (self.tau[:, None] * self.F)), 1.0)
        half = self._precision.half(self.F.T @ self.nu)
        self.z = self._precision.other_half(half)[:, 0]
        self.G = self._precision.half(self.F.T).T
        self.mean = self.F @ self.z
        self.log_mass = 0.5 * float(half[:, 0] @ half[:, 0]) - 0.5 * self._precision.logdet()

    @property
    def rank(self):
        """The dimension of z."""
        return self.F.shape[1]

    def log_ratio(self, f):
        """log p(y | f) − νᵀf + ½ fᵀTf for f of shape (N, n)."""
        return self.likelihood.value(f) - f @ self.nu + 0.5 * (f * f) @ self.tau

    def whiten(self, eps):
        """z of ε, (N, rank)."""
        return self.z + self._precision.other_half(eps.T).T


def principal(K):
    """(U, Λ) of K = U Λ Uᵀ, without eigenvalues that are 0 to rounding."""
    spectrum = Spectral().resolvent(K)
    values = spectrum.eigenvalues
    kept = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
    return spectrum.eigenvectors[:, kept], values[kept]


class NodePosterior(ABC):
    """Σₖ wₖ δ(z − zₖ): the posterior of f = F z as weighted nodes or draws.

    Parameters
    ----------
    likelihood : Binary
    vectors, values : ndarray of shape (n, rank), (rank,)
        K = U Λ Uᵀ.
    z : ndarray of shape (N, rank)
    weight : ndarray of shape (N,)
        Sum to 1.
    log_evidence : float
    info : dict
    """

    def __init__(self, likelihood, vectors, values, z, weight, log_evidence, info):
        self.likelihood, self.vectors, self.values, self.z, self.weight = likelihood, vectors, values, z, weight
        self.log_evidence, self.info = float(log_evidence), info
        self.mean = weight @ z
        self.F = vectors * np.sqrt(values)
        self.f = self.F @ self.mean
        self.a = (vectors / np.sqrt(values)) @ self.mean  # K a = E f

    def state(self):
        """{name: value} by public names: what a file keeps."""
        names = ("vectors", "values", "z", "weight", "log_evidence", "info")
        return {name: getattr(self, name) for name in names} | {"likelihood": self.likelihood.state()}

    @classmethod
    def from_state(cls, state):
        """Return the posterior that had this state: for predictions."""
        sizes, state = check(state, FIELDS, cls.__name__), dict(state)
        likelihood = Binary.from_state(state.pop("likelihood"))
        if likelihood.n != sizes["n"]:
            raise ValueError(f"the likelihood is one of {likelihood.n} rows, the factor of {sizes['n']}.")
        return cls(likelihood, **state)

    def value_and_adjoint(self, overwrite=False):
        """(C, ∂C/∂K) of C = −log Z: −½ E[g gᵀ + diag(log p)″], by parts twice (Price's theorem)."""
        g, W = self.likelihood.derivatives(self.z @ self.F.T)
        out = -0.5 * (g.T * self.weight) @ g
        np.einsum("ii->i", out)[...] += 0.5 * (self.weight @ W)
        return -self.log_evidence, out

    @abstractmethod
    def release(self):
        """Forget what prediction does not need."""

    def _linear(self, k, diagonal):
        """c with E[f(x) | z] = cᵀz, and the variance that z leaves."""
        c = (k @ self.vectors) / np.sqrt(self.values)
        return c, np.maximum(diagonal - np.einsum("ij,ij->i", c, c), 0.0)

    def latent(self, k, diagonal):
        """Mean and variance of f at new points."""
        c, rest = self._linear(k, diagonal)
        centred = self.z - self.mean
        S = (centred.T * self.weight) @ centred
        return c @ self.mean + self.likelihood.offset, rest + np.einsum("ij,jk,ik->i", c, S, c)

    def proba(self, k, diagonal):
        """P(t = +1) at new points: the link averaged over f given z, and this over z."""
        c, rest = self._linear(k, diagonal)
        with few_threads(len(self.mean)):
            return np.array([self._average(self.z @ one, var) for one, var in zip(c, rest, strict=True)])

    def _average(self, u, var):
        """Σ w ∫ σ(f) N(f | u, var) df, by a table of the inner integral where there are many u."""
        link, u = self.likelihood.link, u + self.likelihood.offset
        low, high = u.min(), u.max()
        if high - low <= 1e-8 * (1.0 + abs(low)):  # z says nothing of f there: too near for a table
            return float(link.expect(self.weight @ u, var))
        count = int(min((high - low) / 0.04 + 8, 20_000))  # a cubic spline is then good to 1e-9
        if count >= len(u):
            return float(self.weight @ link.expect(u, np.full(len(u), var)))
        from scipy.interpolate import CubicSpline

        grid = np.linspace(low, high, count)
        return float(np.clip(self.weight @ CubicSpline(grid, link.expect(grid, np.full(count, var)))(u), 0.0, 1.0))

    @abstractmethod
    def loo(self, index=None, share=1.0):
        """P(t = +1) of rows ``index`` under the posterior without ``share`` of their weight."""


LARGEST = 8  # dimensions
NODES = 12_000_000
FIRST, FEWER, MANY, GROWTH = 8, 5, 6, 1.4  # beyond 6 dimensions 5 nodes at first: there are two rules to compare then
ENOUGH, ROUGH = 1e-6, 1e-4  # changes of log Z that count as converged up to 6 dimensions, and beyond


def quadrature(K, likelihood, *, tol=1e-8, max_iter=200, memory=None):
    """log Z = log ∫ p(y | f) N(f | 0, K) df, by Gauss–Hermite products around the Gaussian of EP.

    The number of nodes in each direction grows until log Z stands still.

    Parameters
    ----------
    K : Gram
        n <= 8, or of rank at most 8.
    likelihood : Binary
    tol : float, default=1e-8
        Change of log Z from one rule to the next. Beyond 6 dimensions a change of 1e-4 counts as converged.
    max_iter : int, default=200
        Of expectation propagation.
    memory : float, default=None
        Bytes; a rule that needs more is not tried. None is what the machine has.

    Returns
    -------
    Nodes
        ``info["error"]`` is the last change.

    Examples
    --------
    Two independent rows, with a probit: ¼.

    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.inference.likelihood import Binary
    >>> from mercer.inference.likelihood import Probit
    >>> from mercer.inference.quadrature import quadrature
    >>> found = quadrature(DenseGram.from_matrix(np.eye(2)), Binary(Probit(), np.array([1.0, -1.0])))
    >>> round(float(np.exp(found.log_evidence)), 9)
    0.25
    """
    check_rank(K)
    measure = Measure(K, likelihood, max_iter)
    size, before, change, found = FIRST if measure.rank <= MANY else FEWER, np.inf, np.inf, None
    most = _most_nodes(measure.rank, size, memory)
    while found is None or (change > tol and size**measure.rank <= most):
        found = _product_rule(measure, size)
        change, before = abs(found[2] - before), found[2]
        used, size = size, int(np.ceil(size * GROWTH))
    eps, weight, log_z = found
    info = {
        "nodes": used**measure.rank,
        "error": change,
        "converged": bool(change <= max(tol, ENOUGH if measure.rank <= MANY else ROUGH)),
        "iterations": used,
    }
    return Nodes(likelihood, measure.vectors, measure.values, measure.whiten(eps), weight, log_z, info)


def check_rank(K):
    """Refuse more dimensions than a product rule can have."""
    rank = len(principal(K)[1])
    if rank > LARGEST:
        raise ValueError(
            f"direct integration is for at most {LARGEST} rows, there are {rank}: the number of nodes grows with the "
            "power of it. Use inference='ep', or 'mcmc'."
        )


def _most_nodes(rank, size, memory):
    """The nodes that fit in memory, at most NODES; an error where those of the first rule do not."""
    each = 48.0 * max(rank, 1)  # ε, z and what is computed of them
    check_memory(each * size**rank, f"direct integration over {rank} rows", memory, "inference='ep', or fewer rows")
    room = within(memory).bytes
    return NODES if room is None else min(NODES, room / each)


class Nodes(NodePosterior):
    """The nodes of a product rule; made by `quadrature`."""

    def release(self):
        """Prediction needs all of it."""

    def loo(self, index=None, share=1.0):
        """P(t = +1) by integrating again, without ``share`` of the weight of each row in turn."""
        index = np.arange(len(self.f)) if index is None else np.asarray(index)
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
        own = self.F[i : i + 1]
        diagonal = np.array([own[0] @ own[0]])
        if not rest.size:
            return float(likelihood.prob(0.0, diagonal[0]))
        fewer, part = Binary(likelihood.link, likelihood.t[rest], weight[rest], likelihood.offset), self.F[rest]
        tol = ENOUGH if rest.size <= MANY else 10.0 * ROUGH  # the third rule would take 12 times as long, for each row
        found = quadrature(DenseGram.from_matrix(part @ part.T), fewer, tol=tol)
        return float(found.proba(own @ part.T, diagonal)[0])


def _product_rule(measure, size, block=200_000, forget=34.0):
    """(ε, weights, log Z) of the product rule with ``size`` nodes in each direction; log weights far below are 0."""
    x, w = np.polynomial.hermite_e.hermegauss(size)
    log_w = np.log(w) - 0.5 * np.log(2.0 * np.pi)
    shape, kept, logs, largest = (size,) * measure.rank, [], [], -np.inf
    for i in range(0, size**measure.rank, block):
        index = np.stack(np.unravel_index(np.arange(i, min(i + block, size**measure.rank)), shape), axis=1)
        total = log_w[index].sum(axis=1)
        eps = x[index]
        total += measure.log_ratio(measure.mean + eps @ measure.G.T)
        largest = max(largest, float(total.max()))
        good = total > largest - forget
        kept.append(eps[good])
        logs.append(total[good])
    eps, logs = np.concatenate(kept), np.concatenate(logs)
    good = logs > largest - forget
    eps, logs = eps[good], logs[good]
    total = float(logsumexp(logs))
    weight = np.exp(logs - total)
    order = np.argsort(weight)
    kept = np.sort(order[np.searchsorted(np.cumsum(weight[order]), 1e-10) :])
    return eps[kept], weight[kept] / weight[kept].sum(), measure.log_mass + total
