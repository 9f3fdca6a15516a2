"""Classification models: labels, an approximation, and what the search and the estimator ask of them.

A model knows the labels and the way of inference. ``evaluate`` gives −log evidence and ∂/∂K to a search, ``fit`` the
posterior. An unknown constant in the latent function with the prior N(0, c) is integrated out exactly: it adds c to
every entry of K. It takes up unequal class frequencies, which a zero mean would have to explain by the kernel.
"""

from abc import ABC, abstractmethod

import numpy as np

from mercer.inference.elliptical import elliptical
from mercer.inference.ep import ep_adjoint, expectation_propagation
from mercer.inference.laplace import laplace, laplace_adjoint
from mercer.inference.likelihood import Binary
from mercer.inference.quadrature import check_rank, quadrature
from mercer.inference.sites import SitePosterior
from mercer.inference.softmax import Softmax, softmax_laplace

SEARCH = {"laplace": 1e-5, "ep": 1e-4}  # tolerances while hyper-parameters are searched; EP's error goes by the square
SWEEPS = 2  # of EP for each iteration allowed: damped ones are shorter


class Model(ABC):
    """Labels of n rows and a way to a posterior.

    Parameters
    ----------
    constant : float
        c, the prior variance of a constant in f; 0 is none.
    max_iter : int
    tol : float
    """

    def __init__(self, constant, max_iter, tol):
        self.constant, self.max_iter, self.tol = float(constant), max_iter, tol
        self._starts = {}

    def _start(self, key, index):
        """Where the last evaluation of a problem ended: arrays (..., n), put in place when there were fewer rows."""
        before, arrays = self._starts.get(key, (None, None))
        if arrays is None or np.array_equal(before, index):
            return arrays
        if not np.isin(before, index).all():
            return None
        place = np.searchsorted(index, before)
        wider = [np.zeros((*array.shape[:-1], len(index))) for array in arrays]
        for new, array in zip(wider, arrays, strict=True):
            new[..., place] = array
        return wider

    def dense(self, K):
        """K + c 1 1ᵀ of a Gram, as an array."""
        A = K.dense()
        A += self.constant
        return A

    @abstractmethod
    def check(self, K):
        """Refuse, before any work, what the inference cannot do; K is a Gram at any hyper-parameters."""

    def evaluate(self, K, index, gradient):
        """(−log evidence, ∂/∂K or None) of the sorted rows ``index``; begun where the last evaluation ended."""
        return self._evaluate(self.dense(K), index, gradient)

    @abstractmethod
    def _evaluate(self, K, index, gradient):
        """The same for an array."""

    @abstractmethod
    def fit(self, K, memory=None):
        """Return the posterior for a Gram of all rows, within so many bytes."""

    @abstractmethod
    def exact(self, K, gradient, memory=None):
        """(−log evidence, ∂/∂K or None) for a Gram of all rows, to the tolerance, by the inference that was chosen."""


class BinaryModel(Model):
    """One or several problems of two classes with one kernel: one column of ±1 for each.

    Parameters
    ----------
    link : Link
    T : ndarray of shape (n, t)
        ±1.
    weight : ndarray of shape (n,)
    inference : {"laplace", "ep", "mcmc", "quadrature"}
    offset : float
    n_samples, random_state
        Of the sampling.
    constant, max_iter, tol
        See `Model`.
    """

    def __init__(self, link, T, weight, inference, *, offset, constant, n_samples, random_state, max_iter, tol):
        super().__init__(constant, max_iter, tol)
        self.likelihoods = [Binary(link, t, weight, offset) for t in T.T]
        self.inference, self.n_samples, self.random_state = inference, n_samples, random_state
        self.learns_by = inference if inference in SEARCH else "ep"  # the others have no cheap gradient

    def check(self, K):
        """Refuse more rows than a product rule can have."""
        if self.inference == "quadrature":
            check_rank(self.dense(K))

    def _evaluate(self, K, index, gradient):
        value, W, loose = 0.0, None, max(self.tol, SEARCH[self.learns_by])
        for j, likelihood in enumerate(self.likelihoods):
            found = self._gaussian(self.learns_by, K, likelihood.rows(index), self._start(j, index), loose)
            self._starts[j] = index, [found.a] if self.learns_by == "laplace" else [found.s**2, found.nu]
            value -= found.log_evidence
            if gradient:
                one = (laplace_adjoint if self.learns_by == "laplace" else ep_adjoint)(found, overwrite=True)
                W = one if W is None else np.add(W, one, out=W)
        return value, W

    def _gaussian(self, inference, K, likelihood, start, tol):
        if inference == "laplace":
            start = None if start is None else start[0]
            return laplace(K, likelihood, start=start, max_iter=self.max_iter, tol=tol)
        sweeps = SWEEPS * self.max_iter
        return expectation_propagation(K, likelihood, start=start, max_iter=sweeps, tol=tol)

    def _one(self, K, j, memory):
        likelihood = self.likelihoods[j]
        if self.inference == "quadrature":
            return quadrature(K, likelihood, tol=self.tol, max_iter=SWEEPS * self.max_iter, memory=memory)
        if self.inference == "mcmc":
            seed, sweeps = self.random_state, SWEEPS * self.max_iter
            return elliptical(K, likelihood, n_samples=self.n_samples, random_state=seed, max_iter=sweeps)
        return self._gaussian(self.inference, K, likelihood, self._start(j, np.arange(len(K))), self.tol)

    def fit(self, K, memory=None):
        """Return the posterior of every problem."""
        A = self.dense(K)
        return BinaryPosterior([self._one(A, j, memory) for j in range(len(self.likelihoods))], self.constant)

    def exact(self, K, gradient, memory=None):
        """(−log evidence, ∂/∂K or None); without a gradient for sampling."""
        if gradient and self.inference == "mcmc":
            raise ValueError("draws give no gradient of the evidence; use inference='ep', or eval_gradient=False.")
        parts, W = self.fit(K, memory).parts, None
        if gradient:
            adjoint = {"laplace": laplace_adjoint, "ep": ep_adjoint, "quadrature": lambda part: part.adjoint()}
            W = sum(adjoint[self.inference](part) for part in parts)
        return -sum(part.log_evidence for part in parts), W


class SoftmaxModel(Model):
    """C classes by one latent function each, coupled by the softmax; Laplace's approximation.

    Parameters
    ----------
    y : ndarray of int of shape (n,)
    classes : int
    weight : ndarray of shape (n,)
    constant, max_iter, tol
        See `Model`.
    """

    learns_by = "laplace"

    def __init__(self, y, classes, weight, *, constant, max_iter, tol):
        super().__init__(constant, max_iter, tol)
        self.likelihood = Softmax(y, classes, weight)

    def check(self, K):
        """Laplace's approximation takes any K."""

    def _evaluate(self, K, index, gradient):
        tol = max(self.tol, SEARCH["laplace"])
        start = self._start(0, index)
        start = None if start is None else start[0]
        found = softmax_laplace(K, self.likelihood.rows(index), start=start, max_iter=self.max_iter, tol=tol)
        self._starts[0] = index, [found.a]
        return -found.log_evidence, found.adjoint() if gradient else None

    def fit(self, K, memory=None):
        """Return the posterior."""
        found = softmax_laplace(self.dense(K), self.likelihood, max_iter=self.max_iter, tol=self.tol)
        return SeveralPosterior(found, self.constant)

    def exact(self, K, gradient, memory=None):
        """(−log evidence, ∂/∂K or None)."""
        found = self.fit(K).part
        return -found.log_evidence, found.adjoint() if gradient else None


class BinaryPosterior:
    """Posteriors of one (two classes) or several (one class against the rest) latent functions."""

    def __init__(self, parts, constant):
        self.parts, self.constant = parts, constant
        self.log_evidence = float(sum(part.log_evidence for part in parts))
        self.infos = [part.info for part in parts]
        self.coef = np.stack([part.a for part in parts], axis=1)

    def _columns(self, method, k, diagonal):
        k, diagonal = k + self.constant, diagonal + self.constant
        return [getattr(part, method)(k, diagonal) for part in self.parts]

    def latent(self, k, diagonal):
        """Means and variances of f, (m, t) each."""
        mean, var = zip(*self._columns("latent", k, diagonal), strict=True)
        return np.stack(mean, axis=1), np.stack(var, axis=1)

    def proba(self, k, diagonal):
        """P(class), (m, C); of one class against the rest divided by their sum."""
        return _classes(np.stack(self._columns("proba", k, diagonal), axis=1))

    def labels(self, k):
        """Number of the likelier of two classes by the sign of the latent mean alone, which needs no variance; or None.

        Links are symmetric, so that P > ½ where the mean of a Gaussian posterior is positive.
        """
        if len(self.parts) > 1 or not isinstance(self.parts[0], SitePosterior):
            return None
        part = self.parts[0]
        return ((k + self.constant) @ part.a + part.likelihood.offset > 0).astype(int)

    def loo(self, index, share):
        """P(class) of each row under the posterior of the others."""
        return _classes(np.stack([part.loo(index, share) for part in self.parts], axis=1))

    def release(self):
        """Forget what prediction does not need."""
        for part in self.parts:
            part.release()


class SeveralPosterior:
    """The posterior of C latent functions under the softmax."""

    def __init__(self, part, constant):
        self.part, self.constant = part, constant
        self.log_evidence, self.infos, self.coef = part.log_evidence, [part.info], part.a.T

    def latent(self, k, diagonal):
        """Means and variances of f, (m, C) each."""
        mean, cov = self.part.latent(k + self.constant, diagonal + self.constant)
        return mean, np.einsum("icc->ic", cov)

    def proba(self, k, diagonal):
        """P(class), (m, C)."""
        return self.part.proba(k + self.constant, diagonal + self.constant)

    def labels(self, k):
        """None: the likeliest of several classes takes the covariances too."""

    def loo(self, index, share):
        """P(class) of each row under the posterior of the others."""
        return self.part.loo(index, share)

    def release(self):
        """Forget what prediction does not need."""
        self.part.release()


def _classes(p):
    """(m, 1) of the second class → (m, 2); (m, C) of each class against the rest → divided by their sum."""
    if p.shape[1] == 1:
        return np.concatenate([1.0 - p, p], axis=1)
    total = p.sum(axis=1, keepdims=True)
    return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])
