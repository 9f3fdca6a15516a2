"""scikit-learn's kernel objects as ours: the same K, the same noise on the diagonal, the same gradient in its θ."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

from mercer.compat._covariance import Covariance, log_evidence
from mercer.kernels import Gaussian, Matern32, Scaled, SklearnKernel

TRANSLATED = [
    RBF(0.7),
    RBF([0.5, 2.0]),
    RBF(0.7, "fixed"),
    Matern(0.7, nu=0.5),
    Matern([0.7, 1.5], nu=1.5),
    Matern(0.7, nu=2.5),
    Matern(0.7, nu=np.inf),
    Matern(0.7, nu=0.8),
    RationalQuadratic(0.7, 1.3),
    RationalQuadratic(0.7, 1.3, alpha_bounds="fixed"),
    DotProduct(0.6),
    DotProduct(0.6, "fixed") ** 2,
    ConstantKernel(1.7) * RBF(0.7),
    RBF(0.7) * ConstantKernel(1.7),
    ConstantKernel(1.7, "fixed") * RBF(0.7) + ConstantKernel(0.3),
    ConstantKernel(2.0) * ConstantKernel(3.0) * Matern(0.5) * DotProduct(0.4),
    RBF(0.5) + WhiteKernel(0.2),
    WhiteKernel(0.2, "fixed") + ConstantKernel(1.5) * RBF([0.5, 1.0]),
    ConstantKernel(1.5) * WhiteKernel(0.2) + RBF(0.7),
    ConstantKernel(1.5) * (RBF(0.5) + WhiteKernel(0.2)) + DotProduct(0.3),
    (RBF(0.5) + WhiteKernel(0.2)) * (RationalQuadratic(0.5) + WhiteKernel(0.4)),
    DotProduct(0.4) * WhiteKernel(0.3) + RBF(1.0),  # noise that grows with x
    (RBF(0.5) + WhiteKernel(0.2)) ** 2,
    (RBF(0.5) + WhiteKernel(0.2)) ** 2.0,
    Exponentiation(DotProduct(0.4) + WhiteKernel(0.3), 3),
    ConstantKernel(1.5) * (DotProduct(0.4) + WhiteKernel(0.2)) * (RBF(0.7) + WhiteKernel(0.1, "fixed")) ** 2,
]
OTHERS = [ExpSineSquared(0.7, 1.3), PairwiseKernel(0.4, metric="laplacian"), ConstantKernel(0.0, "fixed") + RBF(0.5)]


@pytest.mark.parametrize("kernel", TRANSLATED + OTHERS, ids=str)
def test_matrix_and_gradient_are_those_of_scikit_learn(kernel, rng):
    X, Z = rng.standard_normal((9, 2)), rng.standard_normal((4, 2))
    W = rng.standard_normal((9, 9))
    W += W.T
    found, theta = Covariance(kernel, X), kernel.theta
    K, D = kernel(X, eval_gradient=True)
    gram = found.gram(theta, X)
    np.testing.assert_allclose(gram.dense(), K, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.kernel(theta)(Z, X), kernel(Z, X), rtol=1e-9, atol=1e-12)
    diagonal = found.kernel(theta).diag(Z) + found.noise(theta, Z)
    np.testing.assert_allclose(diagonal, kernel.diag(Z), rtol=1e-9)
    tolerance = 1e-4 if "laplacian" in str(kernel) or "nu=0.8" in str(kernel) else 1e-8  # differences there
    np.testing.assert_allclose(found.pull(gram, W), np.einsum("ij,ijp->p", W, D), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kernel", TRANSLATED, ids=str)
def test_another_theta_is_the_kernel_with_that_theta(kernel, rng):
    X = rng.standard_normal((6, 2))
    theta = kernel.theta + rng.uniform(-0.5, 0.5, kernel.n_dims)
    K = kernel.clone_with_theta(theta)(X)
    np.testing.assert_allclose(Covariance(kernel, X).gram(theta, X).dense(), K, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", TRANSLATED, ids=str)
def test_what_we_have_is_evaluated_by_ours(kernel):
    def parts(ours):
        yield ours
        for _, part in ours.named_parts():
            yield from parts(part)

    assert not any(isinstance(part, SklearnKernel) for part in parts(Covariance(kernel, np.zeros((3, 2))).part.kernel))


def test_a_periodic_kernel_of_one_column_is_ours(rng):
    kernel, X = ConstantKernel(1.4) * ExpSineSquared(0.7, 1.3), rng.standard_normal((7, 1))
    found = Covariance(kernel, X)
    assert "Periodic" in repr(found.kernel(kernel.theta))
    np.testing.assert_allclose(found.gram(kernel.theta, X).dense(), kernel(X), rtol=1e-10)
    W, (_, D) = np.ones((7, 7)), kernel(X, eval_gradient=True)
    gradient = found.pull(found.gram(kernel.theta, X), W)
    np.testing.assert_allclose(gradient, D.sum(axis=(0, 1)), rtol=1e-8)


def test_constants_become_amplitudes():
    X = np.zeros((2, 1))
    assert isinstance(Covariance(2.0 * RBF(3.0), X).part.kernel, Scaled)
    assert Covariance(RBF(3.0), X).part.kernel == Gaussian(3.0)
    assert Covariance(Matern(3.0), X).part.kernel == Matern32(3.0)


def test_noise_alone_has_a_kernel_of_zeros(rng):
    X, y = rng.standard_normal((5, 1)), rng.standard_normal((5, 1))
    found = Covariance(WhiteKernel(0.5), X)
    value, gradient = log_evidence(found, np.log([0.5]), X, y, 0.0, True)
    assert value == pytest.approx(-float(y.ravel() @ y.ravel()) - 2.5 * np.log(2 * np.pi * 0.5))
    assert gradient == pytest.approx(float(y.ravel() @ y.ravel()) - 2.5)


def test_what_cannot_be_translated_is_refused():
    with pytest.raises(ValueError, match="CompoundKernel"):
        Covariance(CompoundKernel([RBF(), RBF()]), np.zeros((2, 1)))
    with pytest.raises(ValueError, match=r"power 0\.5 of a WhiteKernel"):
        Covariance((RBF() + WhiteKernel()) ** 0.5, np.zeros((2, 1)))


class Custom(ConstantKernel):
    """Not scikit-learn's own: what it overrides counts."""

    def diag(self, X):
        return X[:, 0] ** 2


def test_a_users_kernel_is_asked_itself(rng):
    X = rng.standard_normal((4, 2))
    found = Covariance(Custom() + WhiteKernel(0.1), X)
    np.testing.assert_allclose(found.kernel(found.theta).diag(X), X[:, 0] ** 2)


def test_the_gradient_of_the_evidence_is_its_slope(rng):
    X, y = rng.standard_normal((12, 2)), rng.standard_normal((12, 2))
    kernel = (
        ConstantKernel(1.5) * (RBF([0.5, 1.0]) + WhiteKernel(0.2)) + DotProduct(0.3) * WhiteKernel(0.3)
        + RationalQuadratic(0.5)
    )  # fmt: skip
    found, alpha, theta = Covariance(kernel, X), rng.uniform(0.01, 0.1, 12), kernel.theta
    _, gradient = log_evidence(found, theta, X, y, alpha, True)
    for j, step in enumerate(1e-5 * np.eye(len(theta))):
        ends = [log_evidence(found, theta + s * step, X, y, alpha, False) for s in (1, -1)]
        assert gradient[j] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-6)
