"""The kernel on data, as a matrix: no λ, no y."""

from mercer.gram.base import Gram, joined, take
from mercer.gram.dense import DenseGram
from mercer.gram.landmarks import Landmarks
from mercer.gram.rows import Rows
from mercer.gram.scaled import ScaledGram
from mercer.gram.tiled import TiledGram, apply

__all__ = ["DenseGram", "Gram", "Landmarks", "Rows", "ScaledGram", "TiledGram", "apply", "joined", "take"]
