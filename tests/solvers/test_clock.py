"""Conjugate gradients end with the clock, and say what they leave."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import KernelRidge
from mercer._clock import Clock
from mercer.dual.newton import LossLikelihood, solve_smooth
from mercer.exceptions import NumericalWarning
from mercer.gram import DenseGram, TiledGram
from mercer.kernels import Exponential
from mercer.losses import Logistic
from mercer.solvers import CG, Cholesky

X = np.linspace(0.0, 1.0, 200)[:, None]
y = np.sin(20 * X[:, 0])
KERNEL = Exponential(0.2)


def test_at_the_end_of_the_clock_one_product_is_made_and_the_residual_is_told():
    K, plain = TiledGram(KERNEL, X), CG(rank=20)
    inverse = plain.until(Clock(0.0)).resolvent(K)(1e-4)
    with pytest.warns(ConvergenceWarning, match=r"CG stopped after 1 iterations with a residual .* more time"):
        inverse @ y
    assert inverse.info["rank"] == 0 and inverse.info["residual"] > 1e-3
    in_time = plain.until(Clock(1e6)).resolvent(K)(1e-4)
    assert np.array_equal(in_time @ y, plain.resolvent(K)(1e-4) @ y)
    factor = Cholesky()
    assert factor.until(Clock(0.0)) is factor


def test_ridge_regression_by_products_ends_in_time():
    model = KernelRidge(KERNEL, lam=1e-4, solver=CG(rank=20), time_budget=1e-6)
    with pytest.warns(NumericalWarning, match="digit"), pytest.warns(ConvergenceWarning, match="time"):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_steps_of_newton_by_products_end_in_time(monkeypatch):
    seen = []
    monkeypatch.setattr(CG, "until", lambda self, clock: seen.append(clock) or self)
    K, signs = DenseGram.from_matrix(KERNEL(X)), np.where(y > 0, 1.0, -1.0)
    found = solve_smooth(K, LossLikelihood(Logistic(), signs, np.full(200, 5.0)), solver="cg", time_budget=1e6)
    assert found.status == "converged" and seen[0].limited
