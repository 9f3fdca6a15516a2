"""Classification models: labels, an approximation, and what the search and the estimator ask of them.

A model knows the labels and the way of inference. ``evaluate`` gives −log evidence and ∂/∂K to a search, ``fit`` the
posterior. An unknown constant in the latent function with the prior N(0, c) is integrated out exactly: it adds c to
every entry of K. It takes up unequal class frequencies, which a zero mean would have to explain by the kernel.
"""

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

import numpy as np

from mercer._clock import FOREVER
from mercer._state import check, check_vectors
from mercer.gram import DenseGram, TiledGram
from mercer.inference.elliptical import Draws, elliptical
from mercer.inference.ep import expectation_propagation
from mercer.inference.likelihood import LINKS, Binary
from mercer.inference.quadrature import Nodes, check_rank, quadrature
from mercer.inference.sites import SitePosterior, laplace
from mercer.inference.softmax import Softmax, SoftmaxPosterior, softmax_laplace

SEARCH = {"laplace": 1e-7, "softmax": 1e-7, "ep": 1e-4}  # tolerances of a search; EP's error goes by the square
SETTINGS = ("constant", "max_iter", "tol", "n_samples", "random_state")
POSTERIORS = {
    "laplace": SitePosterior,
    "ep": SitePosterior,
    "softmax": SoftmaxPosterior,
    "mcmc": Draws,
    "quadrature": Nodes,
}


class ClassModel:
    """One or several latent functions with one kernel, and a way to their posterior.

    Parameters
    ----------
    likelihoods : list of Binary, or [Softmax]
        One for each problem of two classes, or one for all classes together.
    inference : {"laplace", "ep", "mcmc", "quadrature", "softmax"}
        "softmax" is Laplace's approximation for several classes.
    constant : float, default=0.0
        c, the prior variance of a constant in f; 0 is none.
    max_iter : int, default=100
    tol : float, default=1e-8
    n_samples, random_state
        Of the sampling.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.inference.likelihood import Binary
    >>> from mercer.inference.likelihood import Logit
    >>> from mercer.inference.classes import ClassModel
    >>> model = ClassModel([Binary(Logit(), np.array([1.0, -1.0]))], "laplace")
    >>> model.fit(DenseGram.from_matrix(np.eye(2))).proba(np.array([[1.0, 0.0]]), np.ones(1)).round(3)
    array([[0.415, 0.585]])
    """

    def __init__(self, likelihoods, inference, *, constant=0.0, max_iter=100, tol=1e-8, n_samples=1000, random_state=0):
        self.likelihoods, self.inference, self.constant = likelihoods, inference, float(constant)
        self.max_iter, self.tol, self.n_samples, self.random_state = max_iter, tol, n_samples, random_state
        self._learns_by = inference if inference in SEARCH else "ep"  # the others have no cheap gradient
        self._starts, self._index, self._likelihoods = {}, None, likelihoods

    def state(self):
        """{name: value} by public names: what a file keeps."""
        plain = {name: getattr(self, name) for name in ("inference", *SETTINGS)}
        return plain | {"likelihoods": [likelihood.state() for likelihood in self.likelihoods]}

    @classmethod
    def from_state(cls, state):
        """Return the model that had this state."""
        check(state, dict.fromkeys(("inference", "likelihoods", *SETTINGS), object), "ClassModel")
        state = dict(state)
        kind = Softmax if state["inference"] == "softmax" else Binary
        return cls([kind.from_state(one) for one in state.pop("likelihoods")], **state)

    @property
    def shape(self):
        """(n, t): rows, and latent functions."""
        one, several = self.likelihoods[0], len(self.likelihoods)
        return one.n, one.classes if self.inference == "softmax" else several

    @property
    def learns_by(self):
        """Whose evidence a search maximises."""
        return "laplace" if self._learns_by == "softmax" else self._learns_by

    def gram(self, K):
        """K + c 1 1ᵀ, stored."""
        return stored_with(K, self.constant)

    def check(self, K):
        """Refuse, before any work, more rows than a product rule can have; K is a Gram at any hyper-parameters."""
        if self.inference == "quadrature":
            check_rank(self.gram(K))

    def evaluate(self, K, index, gradient):
        """(−log evidence, ∂/∂K or None) of the sorted rows ``index``; begun where the last evaluation ended."""
        K, value, W = self.gram(K), 0.0, None
        if index is not self._index:  # of a level of a search: the same array in each of its trials
            every = len(index) == self.likelihoods[0].n
            self._likelihoods = self.likelihoods if every else [one.rows(index) for one in self.likelihoods]
            self._starts = {j: _scatter_start(*start, index) for j, start in self._starts.items()}
            self._index = index
        for j, likelihood in enumerate(self._likelihoods):
            start = self._starts.get(j, (None, None))[1]
            tol = max(self.tol, SEARCH[self._learns_by] if gradient else 1e-3)  # a value is compared with other starts
            found = self._approximate(self._learns_by, K, likelihood, start, tol)
            self._starts[j] = index, found.start
            if not gradient:
                value -= found.evidence
                continue
            C, one = found.value_and_adjoint(overwrite=True)
            value, W = value + C, one if W is None else np.add(W, one, out=W)
        return value, W

    def _approximate(self, inference, K, likelihood, start, tol, clock=FOREVER):
        """A Gaussian approximation."""
        sweeps = 2 * self.max_iter  # of EP: damped ones are shorter
        if inference == "ep":
            return expectation_propagation(K, likelihood, start=start, max_iter=sweeps, tol=tol, clock=clock)
        approximate = softmax_laplace if inference == "softmax" else laplace
        return approximate(K, likelihood, start=start, max_iter=self.max_iter, tol=tol, clock=clock)

    def _one(self, K, j, memory, clock):
        """The posterior of one problem."""
        likelihood, sweeps = self.likelihoods[j], 2 * self.max_iter
        if self.inference == "quadrature":
            return quadrature(K, likelihood, tol=self.tol, max_iter=sweeps, memory=memory)
        if self.inference == "mcmc":
            options = {"n_samples": self.n_samples, "random_state": self.random_state}
            return elliptical(K, likelihood, max_iter=sweeps, clock=clock, **options)
        index, start = self._starts.get(j, ((), None))
        start = start if len(index) == K.n and self.inference == self._learns_by else None
        return self._approximate(self.inference, K, likelihood, start, self.tol, clock)

    def fit(self, K, memory=None, clock=FOREVER):
        """Return the posterior of every problem for a Gram of all rows, within so many bytes and so much time."""
        K, count = self.gram(K), len(self.likelihoods)
        parts = [self._one(K, j, memory, clock.part(1.0 / (count - j))) for j in range(count)]
        return ClassPosterior(parts, self.inference, self.constant)

    def exact(self, K, gradient, memory=None):
        """(−log evidence, ∂/∂K or None) for a Gram of all rows, to the tolerance, by the inference that was chosen."""
        if gradient and self.inference == "mcmc":
            raise ValueError("draws give no gradient of the evidence; use inference='ep', or eval_gradient=False.")
        parts = self.fit(K, memory).parts
        if not gradient:
            return -sum(part.log_evidence for part in parts), None
        values, adjoints = zip(*(part.value_and_adjoint() for part in parts), strict=True)
        return sum(values), sum(adjoints)


class ClassPosterior:
    """P(class) from the posterior of one latent function (two classes), of one for each class, or of all together.

    Parameters
    ----------
    parts : list
    inference : str
        How they were made.
    constant : float
        c, the constant that is added to the latent function.
    """

    def __init__(self, parts, inference, constant):
        self.parts, self.inference, self.constant = parts, inference, constant
        self.log_evidence = float(sum(part.log_evidence for part in parts))
        self.infos = [part.info for part in parts]
        self.coef = np.column_stack([part.a for part in parts])

    def state(self):
        """{name: value} by public names: what a file keeps."""
        parts = [part.state() for part in self.parts]
        return {"inference": self.inference, "constant": self.constant, "parts": parts}

    @classmethod
    def from_state(cls, state):
        """Return the posterior that had this state: for predictions."""
        check(state, {"inference": str, "constant": "number", "parts": list}, "ClassPosterior")
        kind = POSTERIORS[state["inference"]]
        return cls([kind.from_state(part) for part in state["parts"]], state["inference"], state["constant"])

    def cross(self, kernel, X, points):
        """k(X, points): what the following are asked with."""
        return kernel(X, points)

    def latent(self, k, diagonal):
        """Means and variances of f, (m, t) each."""
        k, diagonal = k + self.constant, diagonal + self.constant
        mean, var = zip(*(part.latent(k, diagonal) for part in self.parts), strict=True)
        return np.column_stack(mean), np.column_stack(var)

    def proba(self, k, diagonal, averaging="mean_field"):
        """P(class), (m, C); of one class against the rest divided by their sum. See `AVERAGING` of the softmax."""
        k, diagonal = k + self.constant, diagonal + self.constant
        if self.inference == "softmax":
            return self.parts[0].proba(k, diagonal, averaging)
        return share_out(np.column_stack([part.proba(k, diagonal) for part in self.parts]))

    def labels(self, k):
        """Number of the likelier of two classes by the sign of the latent mean alone, which needs no variance; or None.

        Links are symmetric, so that P > ½ where the mean of a Gaussian posterior is positive.
        """
        if len(self.parts) > 1 or self.inference not in ("laplace", "ep"):
            return None
        part = self.parts[0]
        return ((k + self.constant) @ part.a + part.likelihood.offset > 0).astype(int)

    def loo(self, index, share, averaging="mean_field"):
        """P(class) of each row under the posterior of the others."""
        if self.inference == "softmax":
            return self.parts[0].loo(index, share, averaging)
        return share_out(np.column_stack([part.loo(index, share) for part in self.parts]))

    def release(self):
        """Forget what prediction does not need."""
        for part in self.parts:
            part.release()

    def remake_from(self, kernel, points):
        """Let factors of order n be made again of the points, instead of being kept in files."""
        for part in self.parts if self.inference in SEARCH else ():
            part.gram = partial(_gram_of, kernel, points, self.constant)


def stored_with(K, constant):
    """K + c 1 1ᵀ of a Gram, stored."""
    A = K.dense()
    if constant:
        A += constant
    return DenseGram.from_matrix(A)


def _gram_of(kernel, points, constant):
    return stored_with(TiledGram(kernel, points), constant)


def _scatter_start(before, start, index):
    """(index, start): what was found for the rows ``before``, put in place among more of them; None among others."""
    if len(before) == len(index) and np.array_equal(before, index):
        return index, start
    if not np.isin(before, index).all():
        return index, None
    wider = np.zeros((len(index), *start.shape[1:]))
    wider[np.searchsorted(index, before)] = start
    return index, wider


class OneAgainstRest(ABC):
    """P(class | x) from one latent function for two classes, else from one for each class against the rest.

    A subclass writes ``latent``, and has ``FIELDS`` of what a file keeps, among them kernel, points and link.
    """

    FIELDS: dict
    kernel: Any
    link: str

    @abstractmethod
    def latent(self, X, diagonal=None):
        """Means and variances of f at X, (r, t) each."""

    def state(self):
        """{name: value}: what a file keeps."""
        return {name: getattr(self, name) for name in self.FIELDS}

    @classmethod
    def from_state(cls, state):
        """Return what had this state."""
        check(state, cls.FIELDS, cls.__name__)
        check_vectors(state["kernel"], state["points"], f"{cls.__name__}.points")
        if state["link"] not in LINKS:
            raise ValueError(f"{cls.__name__} has a link that is none: {state['link']!r:.40}.")
        return cls(**state)

    def proba(self, X, diagonal=None, averaging=None):
        """P(class), (r, C); of one class against the rest divided by their sum, each averaged over its f."""
        return self._classes(*self.latent(X))

    def labels(self, X):
        """None: the sign of f alone does not tell the class."""
        return None

    def cross(self, kernel, X, points):
        """X itself: it is looked at here."""
        return X

    def _classes(self, mean, variance):
        link = LINKS[self.link]()
        return share_out(np.column_stack([link.expect(m, v) for m, v in zip(mean.T, variance.T, strict=True)]))


def share_out(p):
    """(m, 1) of the second class → (m, 2); (m, C) of each class → divided by their sum."""
    if p.shape[1] == 1:
        return np.concatenate([1.0 - p, p], axis=1)
    total = p.sum(axis=1, keepdims=True)
    return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])
