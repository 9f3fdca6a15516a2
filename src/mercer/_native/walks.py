"""Sums over pairs of walks in two graphs: walks.c."""

import numpy as np

from mercer._native.library import INT, POINTER, REAL, address, integers, longest


class WalkLoops:
    """The compiled function of walks.c; its twin in NumPy is in ``plain.walks``."""

    def __init__(self, library):
        self._walks = library.function(
            "walks", *(POINTER,) * 10, INT, POINTER, POINTER, REAL, REAL, INT, INT, *(POINTER,) * 4
        )

    def walks(self, x, z, left, right, decay, tolerance, most, slope):
        """1ᵀ(I − λA)⁻¹1 of the product graph of each pair, and ∂/∂λ (None without ``slope``).

        x and z are (labels, first, to, starts, stops): the nodes of graph a are starts[a], …, stops[a] − 1, the
        neighbours of node i ``to[first[i] : first[i + 1]]``, counted from the first node of the graph. nan without
        convergence in ``most`` steps.
        """
        x, z, left, right = [*map(integers, x)], [*map(integers, z)], integers(left), integers(right)
        size = longest(x) * longest(z)
        out, slopes = np.empty(left.size), np.empty(left.size if slope else 0)
        work, places = np.empty(6 * size), np.empty(2 * size, dtype=np.int64)
        self._walks(
            *map(address, x), *map(address, z), left.size, address(left), address(right), decay, tolerance, most,
            bool(slope), address(work), address(places), address(out), address(slopes),
        )  # fmt: skip
        return out, (slopes if slope else None)
