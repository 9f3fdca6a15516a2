"""The example of docs/losses.md: a loss of one's own, as it stands there, fits and passes the checks."""

import re
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose

from mercer import KernelMachine
from mercer.kernels import Gaussian
from mercer.losses import Loss
from mercer.testing import check_loss

PAGE = Path(__file__).resolve().parent.parent / "docs" / "losses.md"


class LogCosh(Loss):
    """L = log cosh(y − f): squared near, absolute far, and smooth throughout."""

    def value(self, y, f):
        r = np.abs(y - f)
        return r + np.log1p(np.exp(-2.0 * r)) - np.log(2.0)

    def grad(self, y, f):
        return -np.tanh(y - f)

    def hess(self, y, f):
        return 1.0 - np.tanh(y - f) ** 2


def test_the_page_shows_the_class_that_is_tested_here():
    def body(text):
        return re.search(r"class LogCosh\(Loss\):.*?hess\(self, y, f\):\n[^\n]*", text, re.S).group()

    assert body(PAGE.read_text(encoding="utf-8")) == body(Path(__file__).read_text(encoding="utf-8"))


def test_a_loss_of_ones_own(rng):
    check_loss(LogCosh())
    X = rng.standard_normal((50, 2))
    y = X[:, 0] + 0.2 * rng.standard_t(2, 50)
    model = KernelMachine(Gaussian(1.0), LogCosh(), lam=0.1).fit(X, y)
    f, alpha = model.predict(X), np.zeros(50)
    alpha[model.support_] = model.dual_coef_
    assert_allclose(alpha, np.tanh(y - f) / (2 * 0.1), atol=1e-8)  # α = −L′/(2λ)
    assert model.dual_gap_ < 1e-9
    assert KernelMachine(Gaussian(1.0), LogCosh(), criterion="loo").fit(X, y).score(X, y) > 0.5
