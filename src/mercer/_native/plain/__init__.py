"""The twins of the compiled loops in NumPy: what runs where there are none, and what the tests hold them against."""

from mercer._native.plain import dual, matrix, neighbours, pairs, strings, transport, walks

__all__ = ["dual", "matrix", "neighbours", "pairs", "strings", "transport", "walks"]
