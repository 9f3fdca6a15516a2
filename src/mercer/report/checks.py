"""Checks with codes, and the verdict: a check reads the findings, and says nothing or one sentence with its numbers.

M1xx the data, M2xx the fit, M3xx uncertainty, M4xx the choice of λ and the kernel, M5xx numerics, M6xx single rows.
``checks.md``, beside this file, has title, severity, paragraph and remedy of each code, `_looks` what it looks at.
"""

import re
from collections.abc import Callable
from importlib import resources
from typing import NamedTuple

from mercer.report._given_away import EQUAL, ROUNDED
from mercer.report._html import and_list, listed, percent, show
from mercer.report._looks_classes import LOOKS
from mercer.report._remedies import typed

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
        sections ↦ what to do about it, from where the reader is.
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
    remedy: Callable
    look: Callable


def _checks():
    """The checks in the order of ``checks.md``, which has all but what is looked at."""
    text = resources.files("mercer.report").joinpath("checks.md").read_text(encoding="utf-8")
    form = (
        r"### (M\d+)\s+\*\*(.+?)\*\* \((\w+)\)\. (.+?)\s+What to do: (.+?)\s+"
        r"(?:On the command line: (.+?)\s+)?(?=###|\Z)"
    )
    for code, *told in re.findall(form, text, flags=re.DOTALL):
        title, severity, about, usual, line = (" ".join(part.split()).replace("`", "") for part in told)
        look, own = LOOKS[code]
        yield Check(code, severity, title, about, _remedy(usual, line or usual, own), look)


def _remedy(usual, line, own):
    """sections ↦ what to do: what depends on the model, else the words for where the reader is."""
    return lambda s: (own and own(s)) or (line if typed(s) else usual)


CHECKS = tuple(_checks())


def run_checks(sections):
    """Return what fired, worst first: code, severity, title, text, remedy and what it means."""
    fired = []
    for check in CHECKS:
        text = check.look(sections)
        if text:
            fired.append({
                "code": check.code, "severity": check.severity, "title": check.title, "text": text,
                "remedy": check.remedy(sections), "about": check.about,
            })  # fmt: skip
    return sorted(fired, key=lambda one: SEVERITIES.index(one["severity"]))


# --------------------------------------------------------------------------------------------- verdict
WORDS = {
    PROBLEM: "Not ready to use",
    WARNING: "Usable with care",
    None: "No objection found",
}
NAMED = {"mean": "the mean", "linear model": "a linear model", "commonest class": "the commonest class",
         "random forest": "a random forest"}  # fmt: skip
LESS = 0.05  # of the rows: by how much stated deviations alone hold less, to be worth a word
STRONG = 0.25  # of the importance of the first: columns that are named beside it


def verdict(s):
    """Return the headline, sentences, and the few numbers that are shown large."""
    counts = {severity: sum(one["severity"] == severity for one in s["checks"]) for severity in SEVERITIES}
    worst = next((severity for severity in (PROBLEM, WARNING) if counts[severity]), None)
    parts = (*s["data"].get("cautions", ()), *_faults(s), _targets(s), _explains(s), _matters(s), _certainty(s),
             _odd_rows(s))  # fmt: skip
    sentences = [one for one in parts if one]
    said = [f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts.items() if count]
    sentences.append(f"{and_list(said)} below." if said else "None of the checks has anything to say.")
    return {"level": worst or "good", "headline": WORDS[worst], "sentences": sentences, "numbers": _numbers(s)}


def _faults(s):
    """What makes the score say something else than it seems to: a column that gives the target away, and the like."""
    fired = {one["code"]: one["text"] for one in s["checks"]}
    leak = s["data"].get("leak") or {}
    alone = s["data"]["columns"] < 2 and leak.get("how") not in (
        EQUAL,
        ROUNDED,
    )  # a curve through one column is a model
    if "M104" in fired and not alone:
        yield f"{fired['M104'].rstrip('.')}: the score says nothing of rows where {leak['name']} is not known."
    yield from (fired[code] for code in ("M110", "M109") if code in fired)


def _targets(s):
    """Of several targets: which one this is, and how the others do."""
    found = s.get("targets")
    if not found:
        return None
    others = [one["score"] for one in found["listed"] if one["name"] != found["shown"] and one["score"] is not None]
    count = len(found["listed"]) + found["more"]
    if not others:
        return f"{found['shown']} is shown, of {count} targets."
    low, high = _digits(min(others), None), _digits(max(others), None)
    return f"{found['shown']} is the worst of {count} targets; the others have R² {low} to {high}."


def _explains(s):
    """The score on unseen rows in words, beside the best simple model."""
    this, *others = s["scores"]["models"]
    metric = s["scores"]["metric"]
    if this["score"] is None:
        return f"The score is not known ({s['scores']['how']})."
    others = [one for one in others if one["score"] is not None]
    if metric not in ("R²", "accuracy"):
        best = "" if not others else f"; {NAMED.get(others[0]['name'], others[0]['name'])} {show(others[0]['score'])}"
        return f"The {metric} on rows it has not seen is {show(this['score'])}{best}."
    first = (
        "Explains {} of {} on rows it has not seen" if metric == "R²" else "Tells {} of the rows it has not seen right"
    )
    said = first.format(_share(this["score"]), f"the variation of {s['title']}")
    simple = [one for one in others if one["name"] not in ("mean", "commonest class")] or others
    if simple:
        best = max(simple, key=lambda one: one["score"])
        line = [one for one in simple if one["name"] == "linear model" and one is not best]
        named = [f"{NAMED.get(one['name'], one['name'])} {_share(one['score'])}" for one in [best, *line]]
        said += f"; {', '.join(named)}"
    return f"{said}."


def _share(score):
    """A score in per cent; nothing below 0."""
    return "nothing" if score <= 0 else f"{100 * min(score, 0.999 if score < 1 else 1):.{0 if score < 0.985 else 1}f} %"


def _matters(s):
    """The columns that move the prediction most."""
    columns = [one for one in s["effects"].get("columns", ()) if one["rise"] > 0]
    useless = any(one["code"] == "M201" for one in s["checks"])
    if len(columns) < 2 or useless:
        return None
    strong = [one["name"] for one in columns[:3] if one["rise"] >= STRONG * columns[0]["rise"]]
    return f"{and_list(strong)} matter{'s' if len(strong) == 1 else ''} most."


def _certainty(s):
    """What the uncertainty section found, in a sentence."""
    u = s["uncertainty"]
    if u.get("kind") in ("gaussian", "intervals") and 0.9 in u["levels"]:
        found = u["coverage"][u["levels"].index(0.9)]
        own = u.get("own")
        beside = "" if own is None or own >= found - LESS else (
            f"; by the deviations alone that the model states they would hold {100 * own:.0f} %")  # fmt: skip
        return f"Intervals of 90 % hold {100 * found:.0f} % of them{beside}."
    if u.get("kind") == "probabilities":
        return (
            f"Probabilities are off by {100 * u['error']:.1f} points on average ({100 * u['by_chance']:.1f} by chance)."
        )
    if u.get("kind") == "quantiles":
        pairs = [f"{100 * found:.0f} % below the {level:g} quantile"
                 for level, found in zip(u["levels"], u["coverage"], strict=True)]  # fmt: skip
        return f"Of the rows left out are {and_list(pairs)}."
    return None


def _odd_rows(s):
    """Rows that the others do not explain."""
    found = s["rows"]["residuals"]
    if not found or not found["outliers"]:
        return None
    names = [one["row"] for one in found["rows"][: found["outliers"]]]
    many = found["outliers"] > 1
    rest = [""] * (found["outliers"] - len(names))
    return f"Row{'s' if many else ''} {listed([*names, *rest], 3)} look{'' if many else 's'} wrong."


def _numbers(s):
    """[(label, value, note)]: at most three."""
    this, *others = s["scores"]["models"]
    out = []
    if this["score"] is not None:
        note = f"± {this['error']:.2g}, {s['scores']['how']}" if this["error"] else s["scores"]["how"]
        out.append([s["scores"]["metric"], _digits(this["score"], this["error"]), note])
    if this.get("rmse") is not None:
        mean = next((one for one in others if one["name"] == "mean" and one.get("rmse") is not None), None)
        note = f"root mean square, in units of {s['title']}" + (
            f"; the mean alone {show(mean['rmse'])}" if mean else ""
        )
        out.append(["usual error", show(this["rmse"]), note])
    u = s["uncertainty"]
    if u.get("kind") in ("gaussian", "intervals") and 0.9 in u["levels"] and u["width"] is not None:
        found = u["coverage"][u["levels"].index(0.9)]
        wide = f"± {show(u['width'] / 2)}" if u.get("even", True) else f"{show(u['width'])} wide"
        out.append(["90 % interval", wide, f"holds {percent(found)} of {show(u['rows'])} rows"])
    elif u.get("kind") == "probabilities":
        out.append(["log loss", show(u["log_loss"]), f"rows left out; Brier score {show(u['brier'])}"])
    return out


def _digits(score, error):
    """A score to the digit that its error allows."""
    digits = 2 if not error or error >= 0.01 else 3 if error >= 0.001 else 4
    return f"{score:.{digits}f}".replace("-", "−")
