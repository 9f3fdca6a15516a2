"""Checks with codes: each reads the findings, and either says nothing or one sentence with its numbers.

M1xx the data, M2xx the fit, M3xx uncertainty, M4xx the choice of λ and the kernel, M5xx numerics, M6xx single rows.
``checks.md``, beside this file, has title, severity, paragraph and remedy of each code, `_looks` what it looks at.
"""

import re
from collections.abc import Callable
from importlib import resources
from typing import NamedTuple

from mercer.report._looks import LOOKS

PROBLEM, WARNING, TIP = "problem", "warning", "tip"
SEVERITIES = (PROBLEM, WARNING, TIP)


class Check(NamedTuple):
    """One check: a code, how bad it is, what it is called, what to do, and the function that looks.

    Parameters
    ----------
    code : str
        As M201.
    severity : {"problem", "warning", "tip"}
    title : str
    about : str
        What is looked at, and why.
    remedy : str or callable
        What to do about it; a callable is given the sections, and knows where the reader is.
    look : callable
        sections ↦ a sentence with numbers, or None.

    Examples
    --------
    >>> from mercer.report import CHECKS
    >>> CHECKS[0].code, CHECKS[0].title
    ('M101', 'Few rows')
    """

    code: str
    severity: str
    title: str
    about: str
    remedy: str | Callable
    look: Callable


def _checks():
    """The checks in the order of ``checks.md``, which has all but what is looked at."""
    text = resources.files("mercer.report").joinpath("checks.md").read_text(encoding="utf-8")
    form = r"### (M\d+)\s+\*\*(.+?)\*\* \((\w+)\)\. (.+?)\s+What to do: (.+?)\s+(?=###|\Z)"
    for code, *told in re.findall(form, text, flags=re.DOTALL):
        title, severity, about, usual = (" ".join(part.split()).replace("`", "") for part in told)
        look, remedy = LOOKS[code]
        yield Check(code, severity, title, about, remedy or usual, look)


CHECKS = tuple(_checks())


def run_checks(sections):
    """Return what fired, worst first: code, severity, title, text, remedy and what it means."""
    fired = []
    for check in CHECKS:
        text = check.look(sections)
        if text:
            fired.append({
                "code": check.code, "severity": check.severity, "title": check.title, "text": text,
                "remedy": check.remedy if isinstance(check.remedy, str) else check.remedy(sections),
                "about": check.about,
            })  # fmt: skip
    return sorted(fired, key=lambda one: SEVERITIES.index(one["severity"]))
