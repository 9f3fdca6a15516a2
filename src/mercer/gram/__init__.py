"""The kernel on data, as a matrix: no λ, no y."""

from mercer.gram.base import Gram, join, take
from mercer.gram.matrices import DenseGram, ScaledGram, TiledGram, apply
from mercer.gram.rows import Rows

__all__ = [
    "DenseGram", "Gram", "Rows", "ScaledGram", "TiledGram", "apply", "join", "take",
]  # fmt: skip
