"""Choosing λ and the kernel: criteria, the whole path of λ, the search over θ and λ, and what each rule chooses."""

from mercer.selection.base import Choice, Criterion, Rule, SmoothCriterion
from mercer.selection.compare import Comparison, compare
from mercer.selection.criteria import GCV, LOO, Evidence
from mercer.selection.folds import FoldDensity, GroupKFold, KFold
from mercer.selection.kernels_search import KernelSearch, search_kernels
from mercer.selection.nested import NestedResult, nested_cv
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
