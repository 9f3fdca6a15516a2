"""Discrete optimal transport: transport.c."""

import numpy as np

from mercer._native.library import INT, POINTER, REAL, address


class TransportLoops:
    """The compiled function of transport.c; its twin in NumPy is in ``plain.transport``."""

    def __init__(self, library):
        self._cheapest_flow = library.function(
            "cheapest_flow", INT, INT, POINTER, POINTER, POINTER, REAL, POINTER, POINTER, POINTER
        )

    def cheapest_flow(self, C, a, b, tiny):
        """argmin_F Σᵢⱼ Fᵢⱼ Cᵢⱼ, F >= 0, of row sums a and column sums b; masses up to ``tiny`` count as none."""
        (q, m), C = C.shape, np.ascontiguousarray(C, dtype=float)
        a, b, flow = np.array(a, dtype=float), np.array(b, dtype=float), np.zeros((m, q))
        work, places = np.empty(2 * q + 3 * m), np.empty(3 * q + m, dtype=np.int64)
        self._cheapest_flow(
            q, m, address(C), address(a), address(b), tiny, address(flow), address(work), address(places)
        )
        return np.ascontiguousarray(flow.T)
