"""Checks with codes, and the verdict: a check reads the findings, and says nothing or one sentence with its numbers.

M1xx the data, M2xx the fit, M3xx uncertainty, M4xx the choice of λ and the kernel, M5xx numerics, M6xx single rows.
``checks.md``, beside this file, has title, severity, paragraph and remedy of each code, `_looks_data`, `_looks` and
`_looks_model` what it looks at.
"""

import re
from collections.abc import Callable
from importlib import resources
from typing import NamedTuple

from mercer._policies import OptionSet
from mercer.report import _looks, _looks_model  # noqa: F401, each check registers itself
from mercer.report._given_away import EQUAL, ROUNDED
from mercer.report._html import and_list, name_some, percent, show
from mercer.report._looks_data import LOOKS
from mercer.report.options import CheckThresholds
from mercer.report.parts_about import FiredCheck, Verdict

PROBLEM, WARNING, TIP = "problem", "warning", "tip"
SEVERITIES = (PROBLEM, WARNING, TIP)


class Check(NamedTuple):
    """One check: a code, how bad it is, what it is called, what to do, and the function that looks.

    Parameters
    ----------
    code : str
        The name of the check, such as M201.
    severity : {"problem", "warning", "tip"}
        How bad it is: not to be used, to be used with care, or worth knowing.
    title : str
        A few words that name what was found.
    about : str
        What is looked at, and why.
    remedy : callable
        findings ↦ what to do about it, from where the reader is.
    look : callable
        (findings, thresholds) ↦ a sentence with numbers, or None.

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
    remedy: Callable
    look: Callable


def _checks():
    """The checks in the order of ``checks.md``, which has all but what is looked at."""
    text = resources.files("mercer.report").joinpath("checks.md").read_text(encoding="utf-8")
    form = (
        r"### (M\d+)\s+\*\*(.+?)\*\* \((\w+)\)\. (.+?)\s+What to do: (.+?)\s+"
        r"(?:On the command line: (.+?)\s+)?(?=###|\Z)"
    )
    for code, *words in re.findall(form, text, flags=re.DOTALL):
        title, severity, about, usual, line = (" ".join(part.split()).replace("`", "") for part in words)
        look, own = LOOKS[code]
        yield Check(code, severity, title, about, _remedy(usual, line or usual, own), look)


def _remedy(usual, line, own):
    """findings ↦ what to do: what depends on the model, else the words for where the reader is."""
    return lambda s: (own and own(s)) or (line if s.typed else usual)


CHECKS = tuple(_checks())


def run_checks(findings, options=()):
    """Return the checks that fired, worst first; ``options`` may hold `CheckThresholds`."""
    thresholds, fired = OptionSet(options)[CheckThresholds], []
    for check in CHECKS:
        text = check.look(findings, thresholds)
        if text:
            fired.append(FiredCheck(code=check.code, severity=check.severity, title=check.title, text=text,
                                    remedy=check.remedy(findings), about=check.about))  # fmt: skip
    return sorted(fired, key=lambda one: SEVERITIES.index(one.severity))


# --------------------------------------------------------------------------------------------- verdict
WORDS = {
    PROBLEM: "Not ready to use",
    WARNING: "Usable with care",
    None: "No objection found",
}
CALLED = {"mean": "the mean", "linear model": "a linear model", "commonest class": "the commonest class",
         "random forest": "a random forest"}  # fmt: skip


def verdict(s):
    """Return the headline, sentences, and the few numbers that are shown large."""
    counts = {severity: sum(one.severity == severity for one in s.checks) for severity in SEVERITIES}
    worst = next((severity for severity in (PROBLEM, WARNING) if counts[severity]), None)
    parts = (*s.data.cautions, *_faults(s), _about_targets(s), _explains(s), _matters(s), _certainty(s),
             _odd_rows(s))  # fmt: skip
    sentences = [one for one in parts if one]
    some = [f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts.items() if count]
    sentences.append(f"{and_list(some)} below." if some else "All checks passed.")
    return Verdict(level=worst or "good", headline=WORDS[worst], sentences=sentences, numbers=_large_numbers(s))


def _faults(s):
    """What makes the score say something else than it seems to: a column that gives the target away, and the like."""
    fired = {one.code: one.text for one in s.checks}
    leak = s.data.leak
    curve = s.data.columns < 2 and leak and leak.how not in (EQUAL, ROUNDED)  # through one column: that is a model
    if "M104" in fired and not curve:
        yield f"{fired['M104'].rstrip('.')}: the score says nothing about rows where {leak.name} is not known."
    yield from (fired[code] for code in ("M110", "M109") if code in fired)


def _about_targets(s):
    """Of several targets: which one this is, and how the others do."""
    found = s.targets
    if not found:
        return None
    others = [one.score for one in found.listed if one.name != found.shown and one.score is not None]
    count = len(found.listed) + found.more
    if not others:
        return f"{found.shown} is shown, of {count} targets."
    low, high = _digits(min(others), None), _digits(max(others), None)
    return f"{found.shown} is the worst of {count} targets; the others have R² {low} to {high}."


def _explains(s):
    """The score on unseen rows in words, beside the best simple model."""
    this, *others = s.scores.models
    metric = s.scores.metric
    if this.score is None:
        return f"The score is not known ({s.scores.how})."
    others = [one for one in others if one.score is not None]
    if metric not in ("R²", "accuracy"):
        best = "" if not others else f"; {CALLED.get(others[0].name, others[0].name)} {show(others[0].score)}"
        return f"The {metric} on rows it has not seen is {show(this.score)}{best}."
    first = (
        "Explains {} of {} on rows it has not seen"
        if metric == "R²"
        else "Classifies {} of the rows it has not seen correctly"
    )
    words = first.format(_share(this.score), f"the variation of {s.title}")
    simple = [one for one in others if one.name not in ("mean", "commonest class")] or others
    if simple:
        best = max(simple, key=lambda one: one.score)
        line = [one for one in simple if one.name == "linear model" and one is not best]
        scores = [f"{CALLED.get(one.name, one.name)} {_share(one.score)}" for one in [best, *line]]
        words += f"; {', '.join(scores)}"
    return f"{words}."


def _share(score):
    """A score in per cent; nothing below 0."""
    return "nothing" if score <= 0 else f"{100 * min(score, 0.999 if score < 1 else 1):.{0 if score < 0.985 else 1}f} %"


def _matters(s):
    """The columns that move the prediction most."""
    columns = [one for one in (s.effects.columns if s.effects else ()) if one.rise > 0]
    useless = any(one.code == "M201" for one in s.checks)
    if len(columns) < 2 or useless:
        return None
    strong = [one.name for one in columns[:3] if one.rise >= 0.25 * columns[0].rise]
    return f"{and_list(strong)} matter{'s' if len(strong) == 1 else ''} most."


def _certainty(s):
    """What the uncertainty section found, in a sentence."""
    u = s.uncertainty
    if u.kind in ("gaussian", "intervals") and 0.9 in u.levels:
        found = u.coverage[u.levels.index(0.9)]
        beside = ""
        if u.own is not None and u.own < found - 0.05:
            beside = f"; by the deviations alone that the model states they would hold {100 * u.own:.0f} %"
        return f"Intervals of 90 % hold {100 * found:.0f} % of them{beside}."
    if u.kind == "probabilities":
        return f"Probabilities are off by {100 * u.error:.1f} points on average ({100 * u.by_chance:.1f} by chance)."
    if u.kind == "quantiles":
        pairs = [f"{100 * found:.0f} % are below the {level:g} quantile"
                 for level, found in zip(u.levels, u.coverage, strict=True)]  # fmt: skip
        return f"Of the rows left out, {and_list(pairs)}."
    return None


def _odd_rows(s):
    """Rows that the others do not explain."""
    found = s.rows.residuals
    if not found or not found.outliers:
        return None
    names = [one.row for one in found.rows[: found.outliers]]
    many = found.outliers > 1
    rest = [""] * (found.outliers - len(names))
    return f"Row{'s' if many else ''} {name_some([*names, *rest], 3)} look{'' if many else 's'} wrong."


def _large_numbers(s):
    """[(label, value, note)]: at most three."""
    this, *others = s.scores.models
    out = []
    if this.score is not None:
        note = f"± {this.error:.2g}, {s.scores.how}" if this.error else s.scores.how
        out.append([s.scores.metric, _digits(this.score, this.error), note])
    if this.rmse is not None:
        mean = next((one for one in others if one.name == "mean" and one.rmse is not None), None)
        note = f"root mean square, in units of {s.title}" + (f"; the mean alone {show(mean.rmse)}" if mean else "")
        out.append(["usual error", show(this.rmse), note])
    u = s.uncertainty
    if u.kind in ("gaussian", "intervals") and 0.9 in u.levels and u.width is not None:
        found = u.coverage[u.levels.index(0.9)]
        wide = f"± {show(u.width / 2)}" if u.even else f"{show(u.width)} wide"
        out.append(["90 % interval", wide, f"holds {percent(found)} of {show(u.rows)} rows"])
    elif u.kind == "probabilities":
        out.append(["log loss", show(u.log_loss), f"rows left out; Brier score {show(u.brier)}"])
    return out


def _digits(score, error):
    """A score to the digit that its error allows."""
    digits = 2 if not error or error >= 0.01 else 3 if error >= 0.001 else 4
    return f"{score:.{digits}f}".replace("-", "−")
