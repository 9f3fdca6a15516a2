"""Checks of a loss: convex, its derivatives against differences, its dual against the definition of the conjugate."""

import numpy as np
from sklearn.base import clone

from mercer.losses import Dual, Loss
from mercer.testing._require import close, require


def check_loss(loss, random_state=0):
    """Check that a loss is convex, and that ``grad``, ``hess``, ``dual``, ``box`` and ``dual_step`` agree with it.

    Parameters
    ----------
    loss : Loss
    random_state : int, default=0

    Raises
    ------
    AssertionError
        Naming the property, with numbers.

    Examples
    --------
    >>> from mercer.losses import Huber
    >>> from mercer.testing import check_loss
    >>> check_loss(Huber(delta=0.5))
    """
    rng = np.random.default_rng(random_state)
    require(isinstance(loss, Loss), loss, "is not a Loss")
    require(loss.smooth or loss.boxed, loss, "has neither grad and hess nor dual: no solver can fit it")
    _check_parameters(loss)
    for one in loss.split():
        require(len(one.split()) == 1, one, "split: what split gives must not split again")
        y, f = _sample(one, rng)
        _check_value(one, y, f)
        if one.smooth:
            _check_derivatives(one, y, f)
        if one.boxed:
            _check_dual(one, y, f, rng)


def _check_parameters(loss):
    copied = clone(loss)
    require(type(copied) is type(loss) and copied is not loss and copied == loss, loss, "clone: differs from it")
    require(copied.set_params(**loss.get_params()) == loss, loss, "set_params: does not take back get_params")


def _sample(loss, rng, n=40):
    """Targets as the loss sees them, and values of f."""
    y = np.where(rng.uniform(size=n) < 0.5, -1.0, 1.0) if loss.classification else rng.normal(size=n)
    y = rng.poisson(2.0, size=n).astype(float) if loss.positive_only else y
    require(loss.check_target(y) is not None, loss, "check_target: must return y")
    return y, rng.normal(scale=2.0, size=n)


def _check_value(loss, y, f):
    before = y.copy(), f.copy()
    value = loss.value(y, f)
    require(np.array_equal(y, before[0]) and np.array_equal(f, before[1]), loss, "value: changes its input")
    require(np.shape(value) == y.shape and np.isfinite(value).all(), loss, f"value: has shape {np.shape(value)} or NaN")
    _close([loss.value(a, b) for a, b in zip(y, f, strict=True)], value, loss, "value: is not elementwise")
    for target in y[:5]:
        on = loss.value(target, np.linspace(-3.0, 3.0, 61))
        bend = on[:-2] - 2.0 * on[1:-1] + on[2:]
        require(bend.min() >= -1e-12 * np.abs(on).max(), loss, f"value: is not convex in f, bends by {bend.min():.3g}")


def _check_derivatives(loss, y, f, step=1e-6):
    g, h = loss.grad(y, f), loss.hess(y, f)
    require(np.shape(g) == y.shape and np.shape(h) == y.shape, loss, f"grad, hess: shapes {np.shape(g)}, {np.shape(h)}")
    require((h >= 0).all(), loss, f"hess: is {h.min():.3g} < 0")
    size = 1.0 + np.abs(loss.value(y, f))
    slope = (loss.value(y, f + step) - loss.value(y, f - step)) / (2 * step)
    require((np.abs(slope - g) <= 1e-5 * size).all(), loss, f"grad: off by {np.abs(slope - g).max():.3g}")
    bend = (loss.grad(y, f + step) - loss.grad(y, f - step)) / (2 * step)
    require((np.abs(bend - h) <= 1e-4 * size).all(), loss, f"hess: off by {np.abs(bend - h).max():.3g}")


def _check_dual(loss, y, f, rng):
    c, k, u = rng.uniform(0.2, 3.0, len(y)), rng.uniform(0.2, 3.0, len(y)), rng.normal(scale=3.0, size=len(y))
    dual = loss.dual(y, c)
    require(isinstance(dual, Dual), loss, f"dual: must be a Dual, is a {type(dual).__name__}")
    require(all(part.shape == y.shape and part.dtype == float for part in dual), loss, "dual: parts of another shape")
    require(((dual.lower <= 0) & (dual.upper >= 0)).all(), loss, "dual: 0 must lie between lower and upper")
    require((dual.epsilon >= 0).all() and (dual.ridge >= 0).all(), loss, "dual: epsilon or ridge < 0")
    lower, upper = loss.box(y, c)
    _close(lower, dual.lower, loss, "box: differs from dual")
    _close(upper, dual.upper, loss, "box: differs from dual")
    a, least = _minimum(dual, 0.0, f)
    _close(-least, c * loss.value(y, f), loss, "dual: max over a of −af − h(a) differs from c·L(y, f)", 1e-9)
    if loss.smooth:
        _close(a, -c * loss.grad(y, f), loss, "dual: its maximiser differs from −c·grad", 1e-9)
    _close(loss.dual_step(u, k, y, c), _minimum(dual, k, -k * u)[0], loss, "dual_step: is not the minimum", 1e-9)


def _minimum(dual, k, slope):
    """(a, value) that minimises h(a) + slope·a + ½ka², by trying every point where it can be."""
    with np.errstate(divide="ignore", invalid="ignore"):
        bend = dual.ridge + k
        points = [np.zeros_like(dual.target), dual.lower, dual.upper]
        points += [(dual.target - slope - sign * dual.epsilon) / bend for sign in (-1.0, 1.0)]
        points = [np.clip(np.where(np.isfinite(p), p, 0.0), dual.lower, dual.upper) for p in points]
    values = np.stack([dual.value(p) + slope * p + 0.5 * k * p**2 for p in points])
    best = np.argmin(values, axis=0)
    return np.take_along_axis(np.stack(points), best[None], axis=0)[0], values.min(axis=0)


def _close(a, b, loss, what, tol=1e-12):
    """Require |a − b| <= tol · (1 + max|b|) everywhere."""
    close(a, b, loss, what, tol, 1.0 + np.abs(np.where(np.isfinite(b), b, 0.0)).max(initial=0.0))
