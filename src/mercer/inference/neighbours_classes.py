"""Classes by neighbours: Laplace's approximation within the k nearest rows of each input, which is a local one.

A step of Newton to the mode is a regression with noise 1/W on z = f + ∇/W, so that the small systems of
`mercer.solvers.small` do it, all inputs of a chunk together.
"""

import numpy as np

from mercer import _threads
from mercer.gram import join, take
from mercer.gram.neighbours import BatchedGram, NearestRows, compact_index
from mercer.inference.classes import OneAgainstRest
from mercer.inference.likelihood import LINKS
from mercer.kernels import Kernel
from mercer.solvers.small import conditionals

FIELDS = {
    "kernel": Kernel, "points": "rows n d", "number": "int n", "weight": "float n", "classes": "size c", "link": str,
    "offset": "number", "constant": "number", "k": "size k",
}  # fmt: skip


class NeighbourClasses(OneAgainstRest):
    """P(class | x) from the k nearest rows: one latent function for two classes, else one for each against the rest.

    Parameters
    ----------
    kernel : Kernel
    points : collection of n inputs
    number : ndarray of int of shape (n,)
        Their classes, counted from 0.
    weight : ndarray of shape (n,)
    classes : int
    link : {"logit", "probit"}
    offset : float
        A known mean of f.
    constant : float
        Prior variance of an unknown one.
    k : int

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.neighbours_classes import NeighbourClasses
    >>> from mercer.kernels import Gaussian
    >>> X, number = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    >>> found = NeighbourClasses(4.0 * Gaussian(), X, number, np.ones(6), 2, "logit", 0.0, 0.0, 4)
    >>> found.proba(np.array([[2.5], [5.0]])).round(2)
    array([[0.5 , 0.5 ],
           [0.27, 0.73]])
    """

    FIELDS = FIELDS

    def __init__(self, kernel, points, number, weight, classes, link, offset, constant, k):
        self.kernel, self.points, self.number, self.weight = kernel, points, number, weight
        self.classes, self.link, self.offset, self.constant, self.k = classes, link, offset, constant, k
        self._near = None

    @classmethod
    def from_state(cls, state):
        """Return what had this state."""
        self = super().from_state(state)
        if self.number.min(initial=0) < 0 or self.number.max(initial=0) >= self.classes:
            raise ValueError("NeighbourClasses has a class that is none.")
        return self

    @property
    def near(self):
        """Where neighbours are looked up."""
        if self._near is None:
            self._near = NearestRows(self.kernel, self.points)
        return self._near

    def latent(self, X, diagonal=None):
        """Means and variances of f at X, (m, t) each."""
        n = len(self.points)
        used, index = compact_index(self.near.among(X, min(self.k, n)), n)  # copies of all rows would be many
        own = len(used) + np.arange(len(X))
        counts = self.weight[used][np.maximum(index, 0)]
        return self._told(index, own, join(take(self.points, used), X), self.number[used], counts)

    def left_out(self, rows, k=None):
        """P(class) of some of the points, each without one of its copies, from its k nearest rows.

        Where copies stay, they are found among these as by a new row. None is the k of the fit.
        """
        k, n, several = self.k if k is None else k, len(self.points), self.weight[rows] > 1.0
        index = np.full((len(rows), min(k, n)), -1)
        if several.any():
            index[several] = self.near.among(take(self.points, rows[several]), min(k, n))
        if not several.all():
            index[~several, : min(k, n - 1)] = self.near.others(rows[~several], min(k, n - 1))
        counts = self.weight[np.maximum(index, 0)] - (index == rows[:, None])
        return self._classes(*self._told(index, rows, self.points, self.number, counts))

    def _told(self, index, own, X, number, weight):
        """(mean, variance) of f for each of the functions; ``weight`` is that of each neighbour, as ``index``."""
        problems = [1] if self.classes == 2 else range(self.classes)
        mean, variance = np.empty((2, len(index), len(problems)))
        both = np.column_stack([index, own])
        parts = [slice(i, i + 32) for i in range(0, len(index), 32)]

        def work(i, worker):
            part = parts[i]
            C, absent = BatchedGram(self.kernel, X, both[part]).matrices() + self.constant, index[part] < 0
            N = np.maximum(index[part], 0)
            counts = np.where(absent, 0.0, weight[part])
            for j, one in enumerate(problems):
                sign = np.where(number[N] == one, 1.0, -1.0)
                mean[part, j], variance[part, j] = self._mode(C, absent, sign, counts)

        _threads.run(work, len(parts))
        return mean + self.offset, variance

    def _mode(self, C, absent, sign, weight):
        """(mean, variance) of f at the last row of each system, at the mode of the others."""
        link, K, k = LINKS[self.link](), C[:, :-1, :-1], C[:, -1, :-1]
        f, height = np.zeros(sign.shape), np.full(len(C), -np.inf)

        def curved(f):
            first, second = link.derivatives(sign * (f + self.offset))
            return weight * sign * first, np.maximum(-weight * second, 1e-12)

        def system(gradient, W, f):
            A = C.copy()
            A.reshape(len(A), -1)[:, :: A.shape[1] + 1][:, :-1] += 1.0 / W
            return conditionals(A, absent.copy(), (f + gradient / W)[:, None])

        def value(a, f):
            return np.sum(weight * link.log(sign * (f + self.offset)), axis=1) - 0.5 * np.sum(a * f, axis=1)

        a = np.zeros_like(f)
        for _ in range(50):
            found = system(*curved(f), f)
            new_a = found.solved[:, 0]
            new_f = np.matmul(K, new_a[:, :, None])[:, :, 0]
            for _ in range(12):  # towards where the step came from, where it went too far
                now = value(new_a, new_f)
                lower = now < height - 1e-10 * (1.0 + np.abs(height))
                if not lower.any():
                    break
                new_a[lower], new_f[lower] = (new_a[lower] + a[lower]) / 2, (new_f[lower] + f[lower]) / 2
            change = np.where(absent, 0.0, np.abs(new_f - f)).max(initial=0.0)
            a, f, height = new_a, new_f, now
            if change <= 1e-9 * (1.0 + np.where(absent, 0.0, np.abs(f)).max(initial=0.0)):
                break
        gradient, W = curved(f)
        return np.einsum("bk,bk->b", k, np.where(absent, 0.0, gradient)), system(gradient, W, f).variance
