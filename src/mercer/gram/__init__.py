"""The kernel on data, as a matrix: no λ, no y."""

from mercer.gram.base import Gram, joined, take
from mercer.gram.fourier import Fourier
from mercer.gram.landmarks import Landmarks
from mercer.gram.matrices import DenseGram, ScaledGram, TiledGram, apply
from mercer.gram.neighbours import Neighbours
from mercer.gram.rows import Rows

__all__ = [
    "DenseGram", "Fourier", "Gram", "Landmarks", "Neighbours", "Rows", "ScaledGram", "TiledGram", "apply", "joined",
    "take",
]  # fmt: skip
