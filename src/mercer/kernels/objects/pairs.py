"""Kernels that are computed pair by pair, each value by a loop of its own."""

from abc import abstractmethod

import numpy as np

from mercer.kernels.objects.collection import ObjectKernel


class PairKernel(ObjectKernel):
    """A kernel on objects that is computed pair by pair. A subclass writes ``_read`` and ``_pair_values``.

    What ``_read`` returns has a length and parts, and ``arrays`` for the loop.
    """

    @abstractmethod
    def _pair_values(self, A, B):
        """f(left, right, slope) = (values, derivatives or None) of the pairs (A[left], B[right])."""

    def _check_pairs(self, A, B):
        """Raise if a pair has no value; A and B are whole, so that the error can name rows."""

    def _both(self, X, Z):
        A, B = super()._both(X, Z)
        self._check_pairs(A, B)
        return A, B

    def _matrices(self, A, B, slope, half=False):
        """(values, derivatives) of all pairs, as matrices; ``half``: B is A, and the upper triangle is mirrored."""
        m, n = len(A), len(B)
        if not m or not n:
            return np.zeros((m, n)), np.zeros((m, n))
        left, right = np.tril_indices(n) if half else np.divmod(np.arange(m * n), n)
        found = self._pair_values(A, B)(left, right, slope)
        out = []
        for values in found:
            K = np.zeros((m, n))
            if values is not None:
                K[left, right] = values
                if half:
                    K[right, left] = values
            out.append(K)
        return tuple(out)

    def tiles(self, X, Z):
        """Each pair of a tile; of a square on the diagonal half of them."""
        A, B = self._both(X, Z)

        def tile(i, j):
            return self._matrices(A[i], B[j], slope=False, half=Z is X and i == j)[0]

        return tile

    def diag(self, X):
        """k(x, x)."""
        A, _ = self._both(X, X)
        every = np.arange(len(A))
        return self._pair_values(A, A)(every, every, False)[0] if len(A) else np.zeros(0)

    def weighted(self, X, Z, W):
        """The sum and its gradient, in one pass."""
        K, D = self._matrices(*self._both(X, Z), slope=self.n_theta > 0, half=Z is X)
        return float(np.vdot(W, K)), self._in_logs({name: np.vdot(W, D) for name in self.hyper})

    def _grad(self, X, Z, W):
        _, D = self._matrices(*self._both(X, Z), slope=True, half=Z is X)
        return {name: np.vdot(W, D) for name in self.hyper}
