"""Kernels on objects that need not be vectors, and on a user's own function or kernel matrix."""
