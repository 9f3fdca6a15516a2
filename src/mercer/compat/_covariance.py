"""A translated kernel on data: K with the noise of each row on its diagonal, and log p(y) with its gradient."""

import numpy as np

from mercer._threads import few_threads
from mercer.compat._translate import translate
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import Gram, TiledGram
from mercer.kernels import Constant
from mercer.selection import Evidence
from mercer.solvers import Cholesky

SOLVER = Cholesky(jitter=None)


class Covariance:
    """θ ↦ (k, d): a scikit-learn kernel as one of ours, and a noise variance for each row; of X the columns matter."""

    def __init__(self, kernel, X):
        columns = X.shape[1] if isinstance(X, np.ndarray) and X.ndim == 2 else None
        self.part, self.theta = translate(kernel, columns), np.array(kernel.theta, dtype=float)
        if self.part.kernel is None:  # nothing but noise
            self.part.kernel = Constant(0.0)
        self.part.kernel.validate(X)  # a user's kernel may have noise of its own

    def check_theta(self, theta):
        """θ as an array, one entry for each free hyper-parameter."""
        theta = np.asarray(theta, dtype=float)
        if theta.shape != self.theta.shape:
            raise ValueError(
                f"theta has not the correct number of entries. Should be {len(self.theta)}; given is an array of shape "
                f"{theta.shape}."
            )
        return theta

    def kernel(self, theta):
        """Our kernel at θ."""
        return self.part.at(np.asarray(theta, dtype=float))

    def noise(self, theta, X):
        """d of the rows X at θ."""
        return self.part.noisy(np.asarray(theta, dtype=float), X)[0]

    def gram(self, theta, X, alpha=0.0):
        """K + diag(α + d) of the rows X at θ, as a `NoisyGram`; a search turns back where exp(θ) is no float64."""
        theta = self.check_theta(theta)
        ours = np.asarray(self.part.factor) * theta[self.part.index] if self.part.index else theta
        with np.errstate(over="ignore", under="ignore"):
            values = np.exp([*theta, *ours])
        if not (np.isfinite(values) & (values > 0)).all():
            raise NotPositiveDefinite(f"a hyper-parameter, exp(θ), is 0 or not finite at θ = {theta.tolist()}.")
        noise, slopes = self.part.noisy(theta, X)
        return NoisyGram(self.part.at(theta), X, alpha + noise, slopes)

    def pull(self, K, W):
        """Σᵢⱼ Wᵢⱼ ∂(K + diag d)ᵢⱼ/∂θ for a Gram K of `gram`."""
        return self.part.gradient_at(K.grad(W), len(K.slopes)) + K.slopes @ np.diagonal(W)


class NoisyGram(Gram):
    """K + diag(d): the Gram of a kernel with the noise of each row on its diagonal; ``slopes`` is ∂d/∂θ."""

    def __init__(self, kernel, X, noise, slopes):
        self.inner, self.slopes = TiledGram(kernel, X), slopes
        self.X, self.n, self.noise = self.inner.X, self.inner.n, np.broadcast_to(noise, (self.inner.n,))

    def __repr__(self):
        return f"NoisyGram({self.inner.kernel!r}, n={self.n})"

    def _product(self, V):
        return self.inner @ V + self.noise[:, None] * V

    def rows(self, index):
        out = self.inner.rows(index)
        out[np.arange(len(index)), index] += self.noise[index]
        return out

    def diag(self):
        return self.inner.diag() + self.noise

    def dense(self, dtype=np.float64, lower=False):
        out = self.inner.dense(dtype, lower)
        np.einsum("ii->i", out)[...] += self.noise
        return out

    def cross(self, X):
        return self.inner.cross(X)

    def grad(self, W, s=None):
        return self.inner.grad(W, s)

    def restrict(self, index):
        part = self.inner.restrict(index)
        return NoisyGram(part.kernel, part.X, self.noise[index], self.slopes[:, index])

    def represent(self, alpha):
        return self.inner.represent(alpha)


def invert(K, whole=False):
    """K⁻¹ by its Cholesky factor; nothing is added to the diagonal or told, as scikit-learn does neither."""
    return SOLVER.resolvent(K).unchecked(0.0, whole)


def log_density(Kinv, y):
    """log N(y; 0, K), summed over the columns of y, by the inverse of K."""
    with few_threads(Kinv.n), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return np.float64(-Evidence().value(Kinv, y))


def log_evidence(covariance, theta, X, y, alpha, gradient):
    """log N(y; 0, K + diag(α + d)), summed over the columns of y, and its gradient in θ; −∞ and 0 without a factor."""
    try:
        K = covariance.gram(theta, X, alpha)
        with few_threads(K.n), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if not gradient:
                return log_density(invert(K), y)
            value, W = Evidence().value_and_adjoint(invert(K, whole=True), y)
            return np.float64(-value), -covariance.pull(K, W)
    except np.linalg.LinAlgError:
        return (-np.inf, np.zeros(len(theta))) if gradient else -np.inf


class RowsMixin:
    """For a class with a parameter ``kernel``: a kernel object of scikit-learn, or None for one of numbers."""

    def _optimising(self):
        """How θ is searched for."""
        return {"optimizer": self.optimizer, "restarts": self.n_restarts_optimizer, "random_state": self.random_state}

    def _vectors(self):
        """Whether the kernel reads rows of numbers."""
        return self.kernel is None or self.kernel.requires_vector_input

    def _reads(self):
        """How the rows of X are checked."""
        return {"ensure_2d": True, "dtype": "numeric"} if self._vectors() else {"ensure_2d": False, "dtype": None}

    def _rows(self, X):
        """Rows as the kernel evaluates them: float64, or the objects."""
        return np.asarray(X, dtype=np.float64) if self._vectors() else X

    def _asked(self, theta, eval_gradient, clone_kernel):
        """(covariance, rows, θ) where log p(y) is asked for; None where it is that of the fit."""
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return None
        X = self._rows(self.X_train_)
        covariance = Covariance(self.kernel_, X)
        theta = covariance.check_theta(theta)
        if not clone_kernel:
            self.kernel_.theta = theta
        return covariance, X, theta
