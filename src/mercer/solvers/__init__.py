"""Solvers: λ ↦ (K + λI)⁻¹. No kernel, no X, no y."""

from mercer.solvers.base import Explicit, Inverse, Solver
from mercer.solvers.cg import CG
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.mixed import Mixed
from mercer.solvers.pivoted import pivoted_cholesky
from mercer.solvers.plan import choose
from mercer.solvers.plan_class import Plan
from mercer.solvers.projected import Projected, Resolvent, Span
from mercer.solvers.spectral import Spectral

__all__ = [
    "CG",
    "Cholesky",
    "Explicit",
    "Inverse",
    "Mixed",
    "Plan",
    "Projected",
    "Resolvent",
    "Solver",
    "Span",
    "Spectral",
    "choose",
    "pivoted_cholesky",
]
