"""The losses of all columns as one function of (y, f), corners rounded off: what a pass adds up."""

import numpy as np


class SmoothedLoss:
    """L with its corners rounded off: max over a of (y − f)a − ε|a| − ½(r + δ)a² in the box of its dual.

    Parameters
    ----------
    loss : Loss
        With a ``dual``.
    delta : float
        δ: corners are rounded where the slope changes, over δ times the change.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Absolute
    >>> from mercer.primal.pass_losses import SmoothedLoss
    >>> SmoothedLoss(Absolute(), 0.1).value(np.zeros(2), np.array([0.0, 3.0]))
    array([0.  , 2.95])
    """

    def __init__(self, loss, delta):
        self.loss, self.delta = loss, delta

    def _best(self, y, f):
        d = self.loss.dual(y, 1.0)
        r = d.target - f
        curve = d.ridge + self.delta
        free = np.sign(r) * np.maximum(np.abs(r) - d.epsilon, 0.0) / curve
        return d, r, np.clip(free, d.lower, d.upper), curve, free

    def value(self, y, f):
        """L rounded off."""
        d, r, a, curve, _ = self._best(y, f)
        return r * a - d.epsilon * np.abs(a) - 0.5 * curve * a * a

    def grad(self, y, f):
        """−a."""
        return -self._best(y, f)[2]

    def hess(self, y, f):
        """1/(r + δ) between the bounds, else 0."""
        _, _, a, curve, free = self._best(y, f)
        return np.where((a == free) & (a != 0.0), 1.0 / curve, 0.0)


class Separate:
    """A loss for each column, each with its target: as many problems as columns, each on its own scale."""

    def __init__(self, losses, targets):
        self.losses, self.targets = losses, targets
        self.t = self.problems = len(losses)

    def __call__(self, y, f, curved=False):
        """(L of each column, ∂L/∂f, ∂²L/∂f² if it is asked for)."""
        columns = [(loss, y[:, j], f[:, i]) for i, (loss, j) in enumerate(zip(self.losses, self.targets, strict=True))]
        value = np.column_stack([loss.value(a, b) for loss, a, b in columns])
        slope = np.column_stack([loss.grad(a, b) for loss, a, b in columns])
        return value, slope, np.column_stack([loss.hess(a, b) for loss, a, b in columns]) if curved else None


class Joint:
    """−log softmax of the class: y is +1 in its column, −1 in the others. All columns are one problem."""

    problems = 1

    def __init__(self, t):
        self.t = t

    def __call__(self, y, f, curved=False):
        """(−log p, p − 1[class], p(1 − p))."""
        top = f.max(axis=1, keepdims=True)
        e = np.exp(f - top)
        total = e.sum(axis=1, keepdims=True)
        mine, p = y > 0, e / total
        return np.log(total) + top - f[mine][:, None], p - mine, p * (1.0 - p) if curved else None


def losses_of(loss, columns, y, joint, width=0.02):
    """([losses of all columns, from the roundest to the last], δ of each target, whether anything was rounded off)."""
    if joint:
        return [Joint(columns)], np.zeros(columns), False
    parts = loss.split()
    pairs = [(one, j) for one in parts for j in range(columns)]
    targets = [j for _, j in pairs]
    if all(one.smooth for one in parts):
        return [Separate([one for one, _ in pairs], targets)], np.zeros(columns), False
    spread = np.ones(columns)
    for j in () if loss.classification else range(columns):
        spread[j] = float(np.subtract(*np.percentile(y[:, j], (75, 25)))) or float(y[:, j].std()) or 1.0
    delta = width * spread
    rounds = [
        Separate([SmoothedLoss(one, times * delta[j]) for one, j in pairs], targets) for times in (50.0, 7.0, 1.0)
    ]
    return rounds, delta, True


def centres_of(loss, y):
    """The medians of targets that a loss compares with f by their difference, which may be subtracted; else zeros."""
    if loss.classification or any(one.value(y[:, j], y[:, j]).any() for one in loss.split() for j in range(y.shape[1])):
        return np.zeros(y.shape[1])
    return np.median(y, axis=0)
