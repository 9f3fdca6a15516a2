"""Parameters by the names that others give them: the error says what they are called here, and their value."""

import re

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel

import mercer
from mercer import GaussianProcessRegressor, KernelRidge
from mercer.kernels import Gaussian, Periodic, Polynomial

NAMES = [  # (class, {name there: value}, what is said)
    (KernelRidge, {"alpha": 0.5}, "KernelRidge has no alpha; here it is lam .*: lam=0.5"),
    (KernelRidge, {"kernal": "x"}, "did you mean kernel?"),
    (KernelRidge, {"gamma": 0.5}, r"kernel=Gaussian\(length_scale=…\)"),
    (KernelRidge, {"n_jobs": 2}, "threads"),
    (KernelRidge, {"zzz": 2}, "it has kernel, lam"),
    (GaussianProcessRegressor, {"alpha": 1e-3}, "noise=0.001"),
    (GaussianProcessRegressor, {"n_restarts_optimizer": 3}, "starts=3"),
    (mercer.SVR, {"gamma": "scale", "eps": 0.1}, r"SVR has no gamma.* SVR has no eps; here it is epsilon: epsilon=0.1"),
    (Gaussian, {"gamma": 0.02}, "length_scale=5, which is"),
    (Gaussian, {"sigma": 2.0}, "length_scale=2"),
    (Gaussian, {"ell": 2.0}, "length_scale=2"),
    (Gaussian, {"lengthscale": [1.0, 2.0]}, "here it is length_scale"),
    (Gaussian, {"variance": 3}, r"3\*Gaussian"),
    (Periodic, {"periodicity": 3}, "period=3"),
    (Polynomial, {"coef0": 1}, "offset=1"),
]


@pytest.mark.parametrize(("cls", "given", "said"), NAMES)
def test_a_name_from_elsewhere_is_answered_with_ours(cls, given, said):
    with pytest.raises(TypeError, match=said):
        cls(**given)


def test_the_values_that_are_said_are_right(rng):
    X = rng.normal(size=(5, 2))
    with pytest.raises(TypeError) as caught:
        Gaussian(gamma=0.3)
    ours = Gaussian(float(re.search(r"length_scale=([\d.]+)", str(caught.value))[1]))
    np.testing.assert_allclose(np.asarray(ours(X, X)), rbf_kernel(X, gamma=0.3), atol=1e-5)
    np.testing.assert_allclose(np.asarray(ours(X, X)), RBF(1 / np.sqrt(0.6))(X), atol=1e-5)
    with pytest.raises(TypeError) as caught:
        KernelRidge(C=4.0)
    assert "lam=0.125" in str(caught.value)
