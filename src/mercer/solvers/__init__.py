"""Solvers: λ ↦ (K + λI)⁻¹. No kernel, no X, no y."""

from mercer.solvers.base import Explicit, Inverse, Solver
from mercer.solvers.cg import CG
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.full import FullSolveOptions
from mercer.solvers.mixed import Mixed
from mercer.solvers.pivoted import pivoted_cholesky
from mercer.solvers.plan import choose_solver
from mercer.solvers.plan_class import (
    CostOptions,
    LandmarkSizeOptions,
    Plan,
    PlanOptions,
    Sizes,
    StorageOptions,
)
from mercer.solvers.projected import Projected, Resolvent, Span
from mercer.solvers.spectral import Spectral
from mercer.solvers.toeplitz import FourierOptions, ToeplitzOptions

__all__ = [
    "CG",
    "Cholesky",
    "CostOptions",
    "Explicit",
    "FourierOptions",
    "FullSolveOptions",
    "Inverse",
    "LandmarkSizeOptions",
    "Mixed",
    "Plan",
    "PlanOptions",
    "Projected",
    "Resolvent",
    "Sizes",
    "Solver",
    "Span",
    "Spectral",
    "StorageOptions",
    "ToeplitzOptions",
    "choose_solver",
    "pivoted_cholesky",
]
