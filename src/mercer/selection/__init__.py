"""Choosing λ and the kernel: criteria, the whole path of λ, the search over θ and λ, and what each rule chooses."""

from importlib import import_module
from typing import TYPE_CHECKING

from mercer.selection.base import Choice, Criterion, Rule, SmoothCriterion
from mercer.selection.compare import Comparison, compare
from mercer.selection.criteria import GCV, LOO, Evidence
from mercer.selection.folds import FoldDensity, GroupKFold, KFold
from mercer.selection.kernels_search import KernelSearch, search_kernels
from mercer.selection.options import (
    KernelSearchOptions,
    NeighbourSearchOptions,
    PriorOptions,
    SearchOptions,
    SpectralSearchOptions,
)
from mercer.selection.path import Path, path
from mercer.selection.priors import LogNormal, Priors, weak_priors
from mercer.selection.result import SearchResult
from mercer.selection.rules import Discrepancy, LCurve
from mercer.selection.search import search

if TYPE_CHECKING:
    from mercer.selection.nested import NestedResult, nested_cv

__all__ = [
    "GCV",
    "LOO",
    "Choice",
    "Comparison",
    "Criterion",
    "Discrepancy",
    "Evidence",
    "FoldDensity",
    "GroupKFold",
    "KFold",
    "KernelSearch",
    "KernelSearchOptions",
    "LCurve",
    "LogNormal",
    "NeighbourSearchOptions",
    "NestedResult",
    "Path",
    "PriorOptions",
    "Priors",
    "Rule",
    "SearchOptions",
    "SpectralSearchOptions",
    "SearchResult",
    "SmoothCriterion",
    "compare",
    "nested_cv",
    "path",
    "search",
    "search_kernels",
    "weak_priors",
]


def __getattr__(name):
    """Load nested cross-validation, and what it needs of scikit-learn, when it is first asked for."""
    if name in ("NestedResult", "nested_cv"):
        return getattr(import_module("mercer.selection.nested"), name)
    raise AttributeError(f"module 'mercer.selection' has no attribute {name!r}")
