"""Criteria and their gradients in log ℓ and log λ, on random problems, against 60 digits and differences in them."""

import mpmath
import numpy as np
import pytest

from differential import naive_reference as reference
from differential.test_linear import FIRST, SHAPES, SLACK, Problem, batches, off, share
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import TiledGram
from mercer.kernels import Linear
from mercer.selection import GCV, LOO, Evidence, KFold
from mercer.solvers import Cholesky

QUICK, ALL, LEAST = 25, 300, 0.2
STEP = mpmath.mpf(10) ** -20


def loo(one):
    return mpmath.fsum((one.alpha[i] / one.P[i, i]) ** 2 for i in range(one.n)) / one.n


def log_density(one):
    parts = [one.alpha[i] ** 2 / one.P[i, i] - mpmath.log(one.P[i, i] / (2 * mpmath.pi)) for i in range(one.n)]
    return mpmath.fsum(parts) / (2 * one.n)


def gcv(one):
    return one.n * mpmath.fsum(a * a for a in one.alpha) / mpmath.fsum(one.P[i, i] for i in range(one.n)) ** 2


def evidence(one):
    log = mpmath.log(mpmath.det(one.system))
    if one.q:
        log += mpmath.log(-1 / one.inverse[one.n, one.n]) - mpmath.log(one.n)
    return ((one.y.T * one.alpha)[0] + log + (one.n - one.q) * mpmath.log(2 * mpmath.pi)) / 2


def pairs(one):
    """Two folds: the residuals of a block of P are those of a model that has not seen it."""
    total, half = mpmath.mpf(0), one.n // 2 + one.n % 2
    for fold in (range(half), range(half, one.n)):
        block = mpmath.matrix([[one.P[i, j] for j in fold] for i in fold])
        e = mpmath.lu_solve(block, mpmath.matrix([one.alpha[i] for i in fold]))
        total += mpmath.fsum(v * v for v in e)
    return total / one.n


CRITERIA = {
    "loo": (LOO(), loo),
    "log_density": (LOO("log_density"), log_density),
    "gcv": (GCV(), gcv),
    "evidence": (Evidence(), evidence),
    "folds": (KFold(2, shuffle=False), pairs),
}


@pytest.mark.parametrize("batch", list(batches(FIRST + 20_000, QUICK, ALL)))
def test_value_and_gradient(batch):
    judged = share(check, batch)
    assert min(judged) > LEAST, dict(zip(CRITERIA, judged, strict=True))


def check(seed):
    """Whether each criterion could be judged."""
    p, none = Problem(seed), [False] * len(CRITERIA)
    if len(p.y) < 4 or p.kind is Linear:  # ℓ is looked at
        return none
    K, H = TiledGram(p.kernel, p.X), np.ones((len(p.y), 1)) if p.intercept else None

    def inverse():
        return Cholesky(jitter=None).resolvent(K, H).unchecked(p.lam, whole=True)

    try:
        inverse()
    except NotPositiveDefinite:
        return none

    def at(length, log_lam):
        G = reference.gram(lambda r: SHAPES[p.kind](r / mpmath.exp(length)), p.length, p.X, p.X)
        return reference.Twin(G, p.y, mpmath.mpf(p.lam) * mpmath.exp(log_lam), None, p.intercept)

    here = at(mpmath.mpf(0), mpmath.mpf(0))
    # Digits go with the condition of the system, and with that of P where a row or a fold decides its own fit.
    digits = np.finfo(float).eps * float(np.linalg.cond(p.kernel(p.X) + p.lam * np.eye(len(p.y)))) + here.lost
    if digits > 1e-4:
        return none
    twins = here, at(STEP, mpmath.mpf(0)), at(mpmath.mpf(0), STEP)
    return [check_criterion(name, seed, K, inverse(), twins, digits) for name in CRITERIA]


def check_criterion(name, seed, K, Kinv, twins, digits):
    """Whether a criterion could be judged: by itself at the first twin, and by its differences to the others."""
    p, (criterion, exact) = Problem(seed), CRITERIA[name]
    y = p.y[:, None]
    try:
        value, W = criterion.value_and_adjoint(Kinv, y)
    except NotPositiveDefinite:  # in words: a fold leaves nothing to fit the trend by
        return False
    gradient = np.append(K.grad(W), p.lam * np.trace(W) + criterion.explicit(Kinv, y))
    true, *moved = map(exact, twins)
    slopes = [(other - true) / STEP for other in moved]
    unit = len(y) if name in ("evidence", "log_density") else 0.0  # logarithms may be near 0
    size = max(abs(float(true)) + unit, *(abs(float(slope)) for slope in slopes))
    assert off(value, float(true), size) <= SLACK * digits, (name, seed)
    assert off(gradient, reference.floats(slopes), size) <= SLACK * digits * len(y), (name, seed)
    return True
