"""Checks with codes: each reads the findings, and either says nothing or one sentence with its numbers.

M1xx the data, M2xx the fit, M3xx uncertainty, M4xx the choice of λ and the kernel, M5xx numerics, M6xx single rows.
``checks.md``, beside this file, has a paragraph for each code, which the page shows.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import NamedTuple

from mercer.report import _looks as look
from mercer.report import _remedies as remedy

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
    remedy: str | Callable
    look: Callable

    @property
    def about(self):
        """What is looked at, and why: its paragraph in ``checks.md``."""
        return _paragraphs()[self.code]


@cache
def _paragraphs():
    """{code: text} of ``checks.md``, without title, severity and remedy."""
    text = resources.files("mercer.report").joinpath("checks.md").read_text(encoding="utf-8")
    found = re.findall(r"### (M\d+)\n\n\*\*.*?\*\* \(\w+\)\. (.*?)\n\nWhat to do", text, flags=re.DOTALL)
    return {code: " ".join(words.split()).replace("`", "") for code, words in found}


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


CHECKS = (
    Check(
        "M101", WARNING, "Few rows",
        "Collect more rows, or take a simpler kernel; do not believe small differences between scores.",
        look.few_rows,
    ),
    Check(
        "M102", TIP, "Equal inputs with different targets",
        "Expected where measurements are repeated. Else look for a column that is missing, or for rows that "
        "were joined wrongly.",
        look.conflicting_duplicates,
    ),
    Check(
        "M103", TIP, "Constant columns",
        remedy.leave_out("They cannot matter."),
        look.constant_columns,
    ),
    Check(
        "M104", WARNING, "A column that gives the target away",
        remedy.leave_out("Is this column known when a prediction is needed? If not, it must not be used."),
        look.leak,
    ),
    Check(
        "M105", TIP, "Rows far from all others",
        "Predictions near them are extrapolation: collect rows there, or do not rely on them.",
        look.alone,
    ),
    Check(
        "M106", TIP, "A rare class",
        "Scores of this class are unsure. Collect more rows of it, or weight them.",
        look.rare_class,
    ),
    Check(
        "M107", TIP, "Rows with weights",
        "Nothing, if the scores are to count rows so. Weights that the fit does not keep are given to "
        "collect(..., sample_weight=w).",
        look.weights,
    ),
    Check(
        "M108", PROBLEM, "Constant target",
        "Check how the target was read and joined. If it is right, no model is needed, and no score can be given.",
        look.constant_target,
    ),
    Check(
        "M201", PROBLEM, "No better than a constant",
        "Do not use the model. The columns may not hold the answer; check the target, the joins and the "
        "units.",
        look.no_better_than_mean,
    ),
    Check(
        "M202", WARNING, "Another model does better",
        remedy.better_than_simple,
        look.worse_than_simple,
    ),
    Check(
        "M203", WARNING, "A trend in the residuals",
        remedy.stiff,
        look.residual_trend,
    ),
    Check(
        "M204", WARNING, "The spread of the residuals changes",
        remedy.spread,
        look.changing_spread,
    ),
    Check(
        "M205", WARNING, "Neighbouring rows have similar residuals",
        remedy.ORDERED,
        look.ordered_residuals,
    ),
    Check(
        "M206", WARNING, "Large optimism",
        "Report the nested score. Fewer free hyper-parameters, or more rows, bring the two together.",
        look.optimism,
    ),
    Check(
        "M207", TIP, "More rows would help",
        "Collect more rows before trying other models: at this kernel and λ the error is not yet at its floor.",
        look.more_rows,
    ),
    Check(
        "M208", WARNING, "Another model does as well",
        "If it is a simpler one, take it, unless the curves of this one say something that you know to be true.",
        look.as_good_as_simple,
    ),
    Check(
        "M301", WARNING, "Intervals do not hold what they state",
        remedy.covered,
        look.coverage,
    ),
    Check(
        "M302", WARNING, "Probabilities do not come true",
        remedy.calibrated,
        look.probabilities_off,
    ),
    Check(
        "M303", TIP, "Probabilities that cannot be checked",
        "Collect more rows, or use the order of the probabilities alone.",
        look.probabilities_unsure,
    ),
    Check(
        "M401", WARNING, "λ at a bound",
        "Widen the bounds. At the lower end the data look free of noise to this kernel, at the upper end like "
        "noise alone.",
        look.lam_at_bound,
    ),
    Check(
        "M402", WARNING, "A hyper-parameter at a bound",
        "A length scale at its upper bound: the column hardly matters or acts linearly; leave it out or add "
        "Linear(). Else widen the bounds.",
        look.parameter_at_bound,
    ),
    Check(
        "M403", TIP, "The rules disagree about λ",
        "Look at the criteria below: a wide flat valley is harmless. Else trust LOO or the evidence before "
        "the L-curve.",
        look.rules_disagree,
    ),
    Check(
        "M404", WARNING, "The fit interpolates",
        remedy.follows_noise,
        look.interpolates,
    ),
    Check(
        "M405", WARNING, "The fit is almost constant",
        remedy.too_flat,
        look.too_smooth,
    ),
    Check(
        "M406", TIP, "A better λ is known",
        remedy.CHOOSE,
        look.lam_not_chosen,
    ),
    Check(
        "M407", TIP, "Parameters that do not matter",
        remedy.leave_out("These columns are constant or nearly so."),
        look.unseen_parameters,
    ),
    Check(
        "M501", WARNING, "Near singular",
        remedy.ROUGHER,
        look.near_singular,
    ),
    Check(
        "M502", WARNING, "Not converged",
        "Give more time or iterations, a larger λ, or scale the columns.",
        look.not_converged,
    ),
    Check(
        "M503", PROBLEM, "No interpolating function",
        "Use KernelRidge with λ > 0, or a rougher kernel or a shorter length scale.",
        look.not_feasible,
    ),
    Check(
        "M504", TIP, "The search had more to try",
        remedy.MORE_TIME,
        look.search_ended,
    ),
    Check(
        "M601", WARNING, "Outliers",
        remedy.ROBUST,
        look.outliers,
    ),
    Check(
        "M602", WARNING, "One row moves the whole fit",
        "Check these rows; fit without them and compare.",
        look.influential,
    ),
)  # fmt: skip
