"""Kernel objects of scikit-learn, as ours: the tree is translated once, and read at any θ of scikit-learn's.

Noise is not a kernel here. k(x, z) + d(x) [x and z are the same row] is what a scikit-learn kernel with a
``WhiteKernel`` inside stands for; d is taken out of the tree.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process import kernels as gp

from mercer.kernels import (
    Constant,
    Exponential,
    Gaussian,
    Kernel,
    Linear,
    Matern,
    Matern32,
    Matern52,
    Periodic,
    Power,
    Product,
    RationalQuadratic,
    Scaled,
    SklearnKernel,
    Sum,
)
from mercer.kernels.adapter import is_sklearns_own, sklearn_parts

MATERN = {0.5: Exponential, 1.5: Matern32, 2.5: Matern52, np.inf: Gaussian}


@dataclass
class Part:
    """A scikit-learn kernel: ours without the noise (None: nothing is left), and the noise (None: there is none).

    log of our j-th hyper-parameter is ``factor[j]`` θ[``index[j]``]. The noise is a function (θ, X) ↦ (d, ∂d/∂θ) of
    shapes (n,) and (p, n); so is the rule, of k(x, x) of a composition by those of its parts (None: it has none).
    """

    kernel: Kernel | None
    index: list
    factor: list
    noise: object = None
    rule: object = None

    def at(self, theta):
        """Our kernel at scikit-learn's θ."""
        if self.kernel is None or not self.index:
            return self.kernel
        return self.kernel.with_theta(np.asarray(self.factor) * theta[self.index])

    def gradient_at(self, gradient, p):
        """∂/∂θ of scikit-learn from ∂/∂log of ours; gradient of shape (our p,) or (our p, n)."""
        out = np.zeros((p, *np.shape(gradient)[1:]))
        for j, (i, c) in enumerate(zip(self.index, self.factor, strict=True)):
            out[i] += c * gradient[j]
        return out

    def diagonal(self, theta, X):
        """(k(x, x), ∂/∂θ), noise left out; once for all rows where the kernel is stationary."""
        if self.rule is not None:
            return self.rule(theta, X)
        n, p = len(X), len(theta)
        kernel = self.at(theta)
        if kernel is None:
            return np.zeros(n), np.zeros((p, n))
        slopes = np.zeros((kernel.n_theta, n))
        if kernel.n_theta and n:
            rows = [X[i : i + 1] for i in range(1 if kernel.stationary else n)]
            slopes[:] = np.stack([kernel.grad(x, x, np.ones((1, 1))) for x in rows], axis=1)
        return np.asarray(kernel.diag(X), dtype=float), self.gradient_at(slopes, p)

    def noisy(self, theta, X):
        """(d, ∂d/∂θ), zero where there is no noise."""
        return (np.zeros(len(X)), np.zeros((len(theta), len(X)))) if self.noise is None else self.noise(theta, X)


def translate(kernel, columns, first=0):
    """`Part` of a scikit-learn kernel whose first free hyper-parameter is θ[first]; ``columns`` is None for objects."""
    own = is_sklearns_own(kernel)
    if own and isinstance(kernel, gp.WhiteKernel):
        return _white(kernel, first)
    if own and isinstance(kernel, gp.Sum | gp.Product):
        left = translate(kernel.k1, columns, first)
        right = translate(kernel.k2, columns, first + kernel.k1.n_dims)
        return _sum(left, right) if isinstance(kernel, gp.Sum) else _product(left, right)
    if own and isinstance(kernel, gp.Exponentiation):
        inner, p = translate(kernel.kernel, columns, first), kernel.exponent
        if p >= 1 and float(p).is_integer():
            return _raise_to(inner, int(p))
        if inner.noise is not None:
            raise ValueError(f"{kernel}: the power {p} of a WhiteKernel is not a noise variance; use a whole number.")
    leaf = _leaf(kernel, columns) if own else None
    if leaf is not None:
        found = _place_hyperparameters(kernel, *leaf, first)
        if found is not None:
            return _sum(found, Part(Linear(), [], [])) if isinstance(kernel, gp.DotProduct) else found
    for part in sklearn_parts(kernel):
        if isinstance(part, gp.CompoundKernel):
            raise ValueError("kernel cannot be a CompoundKernel: it has several outputs; give one of its kernels.")
    p = kernel.n_dims
    return Part(SklearnKernel(kernel), list(range(first, first + p)), [1.0] * p)


def _leaf(kernel, columns):
    """(our kernel, [(name, factor), …] of its hyper-parameters in their order); None where we have none."""
    fixed = {h.name: "fixed" if h.fixed else None for h in kernel.hyperparameters}
    if isinstance(kernel, gp.RationalQuadratic):
        bounds = {"length_scale_bounds": fixed["length_scale"], "alpha_bounds": fixed["alpha"]}
        return RationalQuadratic(kernel.length_scale, kernel.alpha, **bounds), [("length_scale", 1.0), ("alpha", 1.0)]
    if isinstance(kernel, gp.Matern | gp.RBF):  # Matern derives from RBF
        nu = kernel.nu if isinstance(kernel, gp.Matern) else np.inf
        cls, rest = (MATERN[nu], {}) if nu in MATERN else (Matern, {"nu": nu})
        scale = kernel.length_scale if np.size(kernel.length_scale) > 1 else float(np.squeeze(kernel.length_scale))
        return cls(scale, length_scale_bounds=fixed["length_scale"], **rest), [("length_scale", 1.0)]
    if isinstance(kernel, gp.ExpSineSquared) and columns == 1:  # of a distance: in more columns another function
        bounds = {"length_scale_bounds": fixed["length_scale"], "period_bounds": fixed["periodicity"]}
        return Periodic(kernel.length_scale, kernel.periodicity, **bounds), [
            ("length_scale", 1.0),
            ("periodicity", 1.0),
        ]
    if isinstance(kernel, gp.ConstantKernel) and kernel.constant_value >= 0:
        return Constant(kernel.constant_value, value_bounds=fixed["constant_value"]), [("constant_value", 1.0)]
    if isinstance(kernel, gp.DotProduct):  # the σ₀² of σ₀² + xᵀz
        return Constant(float(kernel.sigma_0) ** 2, value_bounds=fixed["sigma_0"]), [("sigma_0", 2.0)]
    return None


def _place_hyperparameters(kernel, ours, names, first):
    """The `Part` of a leaf: which θ each of our hyper-parameters is. None if we count other free ones (a value 0)."""
    places, at = {}, first
    for h in kernel.hyperparameters:
        places[h.name] = [] if h.fixed else list(range(at, at + h.n_elements))
        at += len(places[h.name])
    index = [i for name, _ in names for i in places[name]]
    if len(index) != ours.n_theta:
        return None
    return Part(ours, index, [c for name, c in names for _ in places[name]])


def _white(kernel, first):
    """Noise alone: d = σ²."""
    free, level = not kernel.hyperparameter_noise_level.fixed, float(kernel.noise_level)

    def noise(theta, X):
        value = np.full(len(X), np.exp(theta[first]) if free else level)
        slopes = np.zeros((len(theta), len(X)))
        if free:
            slopes[first] = value
        return value, slopes

    return Part(None, [], [], noise)


def _sum(left, right):
    """k₁ + k₂, d₁ + d₂."""
    kernels = [part.kernel for part in (left, right) if part.kernel is not None]
    kernel = Sum(*kernels) if len(kernels) == 2 else (kernels or [None])[0]
    found = Part(kernel, left.index + right.index, left.factor + right.factor)

    def rule(theta, X):
        (k, dk), (m, dm) = left.diagonal(theta, X), right.diagonal(theta, X)
        return k + m, dk + dm

    found.rule = rule
    if left.noise is not None or right.noise is not None:

        def noise(theta, X):
            (a, da), (b, db) = left.noisy(theta, X), right.noisy(theta, X)
            return a + b, da + db

        found.noise = noise
    return found


def _product(left, right):
    """k₁k₂, and k₁(x, x)d₂ + k₂(x, x)d₁ + d₁d₂."""
    if left.kernel is None or right.kernel is None:
        found = Part(None, [], [])
    elif _is_scale(left):
        found = Part(_with_amplitude(right.kernel, left.kernel), left.index + right.index, left.factor + right.factor)
    elif _is_scale(right):
        found = Part(_with_amplitude(left.kernel, right.kernel), right.index + left.index, right.factor + left.factor)
    else:
        kernel = Product(left.kernel, right.kernel)
        found = Part(kernel, left.index + right.index, left.factor + right.factor)

    def rule(theta, X):
        (k, dk), (m, dm) = left.diagonal(theta, X), right.diagonal(theta, X)
        return k * m, dk * m + k * dm

    found.rule = rule
    if left.noise is not None or right.noise is not None:

        def noise(theta, X):
            (k, dk), (m, dm) = left.diagonal(theta, X), right.diagonal(theta, X)
            (a, da), (b, db) = left.noisy(theta, X), right.noisy(theta, X)
            return k * b + m * a + a * b, dk * b + k * db + dm * a + m * da + da * b + a * db

        found.noise = noise
    return found


def _is_scale(part):
    """Whether a part is a positive constant, which is the amplitude of what it is multiplied with."""
    return "value" in part.kernel.hyper and part.kernel.value > 0


def _with_amplitude(kernel, constant):
    """c k."""
    return Scaled(kernel, float(constant.value), scale_bounds=constant.value_bounds)


def _raise_to(inner, p):
    """kᵖ, and (k(x, x) + d)ᵖ − k(x, x)ᵖ."""
    found = Part(None if inner.kernel is None else Power(inner.kernel, p), inner.index, inner.factor)

    def rule(theta, X):
        k, dk = inner.diagonal(theta, X)
        return k**p, p * k ** (p - 1) * dk

    found.rule = rule
    if inner.noise is not None:

        def noise(theta, X):
            (k, dk), (a, da) = inner.diagonal(theta, X), inner.noisy(theta, X)
            slopes = p * ((k + a) ** (p - 1) * (dk + da) - k ** (p - 1) * dk)
            return (k + a) ** p - k**p, slopes

        found.noise = noise
    return found
