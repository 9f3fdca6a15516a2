"""Solvers: λ ↦ (K + λI)⁻¹. No kernel, no X, no y."""

from mercer.solvers.auto import Plan, choose, plan
from mercer.solvers.base import Inverse, Solver
from mercer.solvers.cg import CG
from mercer.solvers.cholesky import Cholesky
from mercer.solvers.mixed import Mixed
from mercer.solvers.pivoted import pivoted_cholesky
from mercer.solvers.spectral import Spectral

__all__ = ["CG", "Cholesky", "Inverse", "Mixed", "Plan", "Solver", "Spectral", "choose", "pivoted_cholesky", "plan"]
