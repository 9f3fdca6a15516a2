"""The kernel on data, as a matrix: no λ, no y."""

from mercer.gram.base import Gram, joined, take
from mercer.gram.matrices import DenseGram, ScaledGram, TiledGram, apply
from mercer.gram.rows import Rows

__all__ = [
    "DenseGram", "Gram", "Rows", "ScaledGram", "TiledGram", "apply", "joined", "take",
]  # fmt: skip
