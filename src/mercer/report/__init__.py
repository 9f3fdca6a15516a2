"""One page about one model: a verdict in words, checks with codes, pictures, and how to do it again. One HTML file."""

from mercer.report._collect import collect, rank_columns
from mercer.report.checks import CHECKS, Check
from mercer.report.findings import Findings
from mercer.report.options import CheckThresholds, PageContext, ReportLimits
from mercer.report.page import render, write

__all__ = [
    "CHECKS",
    "Check",
    "CheckThresholds",
    "Findings",
    "PageContext",
    "ReportLimits",
    "collect",
    "rank_columns",
    "render",
    "write",
]
