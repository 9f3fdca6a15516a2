"""Kernels on objects that need not be vectors, and the doors for a user's own function or matrix."""

from mercer.kernels.objects.doors import MatrixRows, Pairwise, Precomputed

__all__ = ["MatrixRows", "Pairwise", "Precomputed"]
