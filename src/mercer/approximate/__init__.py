"""How a fit is made: exactly, on landmarks, by neighbours, by spectral features; each plans, searches and fits."""

from importlib import import_module
from typing import TYPE_CHECKING

from mercer.approximate.base import Approximation, Hyperparameters, Problem, choose
from mercer.approximate.fitted import Fitted
from mercer.approximate.options import (
    ClassOptions,
    LandmarkOptions,
    MachineOptions,
    NeighbourOptions,
    ProcessOptions,
    TimeOptions,
)  # fmt: skip

if TYPE_CHECKING:
    from mercer.approximate.exact import Exact
    from mercer.approximate.full import FullSolve
    from mercer.approximate.landmarks import Landmarks
    from mercer.approximate.neighbours import Neighbours
    from mercer.approximate.spectral import Fourier

__all__ = [
    "Approximation", "ClassOptions", "Exact", "Fitted", "Fourier", "FullSolve", "Hyperparameters",
    "LandmarkOptions", "Landmarks", "MachineOptions", "NeighbourOptions", "Neighbours", "Problem", "ProcessOptions",
    "TimeOptions", "choose",
]  # fmt: skip
HOMES = {"Exact": "exact", "FullSolve": "full", "Fourier": "spectral", "Landmarks": "landmarks"}


def __getattr__(name):
    """Load an approximation when it is first asked for: an exact fit does not pay for the others."""
    if name not in __all__:
        raise AttributeError(f"module 'mercer.approximate' has no attribute {name!r}")
    return getattr(import_module(f"mercer.approximate.{HOMES.get(name, name.lower())}"), name)
