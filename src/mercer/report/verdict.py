"""The verdict: what a reader needs to know, in words, before any picture."""

from mercer.report._html import show
from mercer.report.checks import PROBLEM, SEVERITIES, WARNING

WORDS = {
    PROBLEM: "Not ready to use",
    WARNING: "Usable with care",
    None: "No objection found",
}


def verdict(s):
    """Return the headline, sentences, and the few numbers that are shown large."""
    counts = {severity: sum(one["severity"] == severity for one in s["checks"]) for severity in SEVERITIES}
    worst = next((severity for severity in (PROBLEM, WARNING) if counts[severity]), None)
    sentences = [one for one in (_targets(s), _score(s), _baselines(s), _certainty(s)) if one]
    said = [f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts.items() if count]
    sentences.append(f"{_and(said)} below." if said else "None of the checks has anything to say.")
    return {"level": worst or "good", "headline": WORDS[worst], "sentences": sentences, "numbers": _numbers(s)}


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


def _score(s):
    """The score and how it was found."""
    this = s["scores"]["models"][0]
    if this["score"] is None:
        return f"The score is not known ({s['scores']['how']})."
    error = f" ± {this['error']:.2g}" if this["error"] else ""
    return f"{s['scores']['metric']} {_digits(this['score'], this['error'])}{error}, by {s['scores']['how']}."


def _baselines(s):
    """The error beside that of the baselines."""
    this, *others = s["scores"]["models"]
    key, name = ("rmse", "RMSE") if this.get("rmse") is not None else ("score", s["scores"]["metric"])
    known = [one for one in others if one.get(key) is not None]
    if this.get(key) is None or not known:
        return None
    words = {"mean": "the mean", "linear model": "a linear model", "commonest class": "the commonest class"}
    words["random forest"] = "a random forest"
    named = [f"{show(one[key])} for {words.get(one['name'], one['name'])}" for one in known]
    if key == "score":
        return f"It is {_and(named)}."
    return f"{name} {show(this[key])}, against {_and(named)}."


def _certainty(s):
    """What the uncertainty section found, in a sentence."""
    u = s["uncertainty"]
    if u.get("kind") in ("gaussian", "intervals"):
        found = u["coverage"][u["levels"].index(0.9)]
        return f"Intervals of 90 % hold {100 * found:.0f} % of the rows left out."
    if u.get("kind") == "probabilities":
        return f"Probabilities are off by {100 * u['error']:.1f} points on average."
    if u.get("kind") == "quantiles":
        pairs = [f"{100 * found:.0f} % below the {level:g} quantile"
                 for level, found in zip(u["levels"], u["coverage"], strict=True)]  # fmt: skip
        return f"Of the rows left out are {_and(pairs)}."
    return None


def _numbers(s):
    """[(label, value, note)]: at most four."""
    this = s["scores"]["models"][0]
    out = []
    if this["score"] is not None:
        note = f"± {this['error']:.2g}" if this["error"] else ""
        out.append([s["scores"]["metric"], _digits(this["score"], this["error"]), note])
    if this.get("rmse") is not None:
        out.append(["RMSE", show(this["rmse"]), f"in units of {s['title']}"])
    u = s["uncertainty"]
    if u.get("kind") in ("gaussian", "intervals"):
        found = u["coverage"][u["levels"].index(0.9)]
        out.append(["coverage", f"{100 * found:.0f} %", "of 90 % intervals"])
    elif u.get("kind") == "probabilities":
        out.append(["log loss", show(u["log_loss"]), "left out"])
    path = s["selection"]["path"] or {}
    if path.get("dof") is not None:
        out.append(["degrees of freedom", f"{path['dof']:.1f}", f"of {path['rows']} rows"])
    elif s["numerics"]["support"]:
        out.append(["support vectors", str(s["numerics"]["support"]["vectors"]), f"of {s['data']['rows']} rows"])
    return out[:4]


def _digits(score, error):
    """A score to the digit that its error allows."""
    digits = 2 if not error or error >= 0.01 else 3 if error >= 0.001 else 4
    return f"{score:.{digits}f}".replace("-", "−")


def _and(words):
    """Words in a row: a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
