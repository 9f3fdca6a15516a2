"""Kernels on objects that need not be vectors, and the doors for a user's own function or matrix."""
