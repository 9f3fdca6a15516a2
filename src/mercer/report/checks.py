"""Checks with codes: each reads the findings, and either says nothing or one sentence with its numbers.

M1xx the data, M2xx the fit, M3xx uncertainty, M4xx the choice of λ and the kernel, M5xx numerics, M6xx single rows.
``docs/report.md`` has a paragraph for each code.
"""

from collections.abc import Callable
from typing import NamedTuple

from mercer.report import _looks as look

PROBLEM, WARNING, TIP = "problem", "warning", "tip"
SEVERITIES = (PROBLEM, WARNING, TIP)


class Check(NamedTuple):
    """One check: a code, how bad it is, what it is called, what to do, and the function that looks.

    Parameters
    ----------
    code : str
        As M201; also the anchor of its paragraph in the documentation.
    severity : {"problem", "warning", "tip"}
    title : str
    remedy : str
        What to do about it.
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
    remedy: str
    look: Callable


def run_checks(sections):
    """Return what fired, worst first: code, severity, title, text, remedy and docs anchor of each."""
    fired = []
    for check in CHECKS:
        text = check.look(sections)
        if text:
            fired.append({
                "code": check.code, "severity": check.severity, "title": check.title, "text": text,
                "remedy": check.remedy, "docs": f"docs/report.md#{check.code.lower()}",
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
        "Leave them out: they cannot matter.",
        look.constant_columns,
    ),
    Check(
        "M104", WARNING, "A column that gives the target away",
        "Ask whether this column is known when a prediction is needed. If not, leave it out.",
        look.leak,
    ),
    Check(
        "M105", TIP, "Rows far from all others",
        "Predictions near them are extrapolation. Take a longer length scale, add Linear(), or collect rows "
        "there.",
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
        "Use that model; or, of a line, add its form to the kernel (+ Linear()), and look at the length scales.",
        look.worse_than_simple,
    ),
    Check(
        "M203", WARNING, "A trend in the residuals",
        "The model is too stiff there. Add Linear() or a second kernel, shorten the length scale, or choose λ "
        "by LOO.",
        look.residual_trend,
    ),
    Check(
        "M204", WARNING, "The spread of the residuals changes",
        "Fit the logarithm of the target, give a noise variance for each row, or use quantiles; constant-"
        "width intervals will be wrong.",
        look.changing_spread,
    ),
    Check(
        "M205", WARNING, "Neighbouring rows have similar residuals",
        "If the rows are in the order of time or place, judge with blocks or groups of rows (TimeSeriesSplit, "
        "GroupKFold), and add time to the columns.",
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
        "M301", WARNING, "Intervals do not hold what they state",
        "Set rows aside. Intervals: predict_interval(..., method='split') on them, or multiply the stated variance by "
        "the mean square of the z-scores. Quantiles: choose λ by their loss on these rows, or shift each quantile by "
        "what it misses there.",
        look.coverage,
    ),
    Check(
        "M302", WARNING, "Probabilities do not come true",
        "Calibrate them: temperature=True of the Gaussian process classifier, or sklearn.calibration.",
        look.probabilities_off,
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
        "Choose a larger λ, or let a criterion choose it.",
        look.interpolates,
    ),
    Check(
        "M405", WARNING, "The fit is almost constant",
        "Choose a smaller λ, a shorter length scale or another kernel, or let a criterion choose them.",
        look.too_smooth,
    ),
    Check(
        "M406", TIP, "A better λ is known",
        "Let a criterion choose: KernelRidge(kernel, criterion=LOO()).",
        look.lam_not_chosen,
    ),
    Check(
        "M407", TIP, "Parameters that do not matter",
        "Leave these columns out, or fix their length scale.",
        look.unseen_parameters,
    ),
    Check(
        "M501", WARNING, "Near singular",
        "Take a larger λ, merge nearly equal rows, or a rougher kernel; compare with solver='spectral'.",
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
        "M601", WARNING, "Outliers",
        "Look at these rows: a typing error, another unit, or a rare case? A robust loss (Huber) bears them.",
        look.outliers,
    ),
    Check(
        "M602", WARNING, "One row moves the whole fit",
        "Check these rows; fit without them and compare.",
        look.influential,
    ),
)  # fmt: skip
