"""What the checks look at: each reads the sections, and yields one sentence with its numbers, or nothing."""

from scipy.special import bdtr, bdtrc, chdtrc

from mercer.report import _remedies as remedy
from mercer.report._html import fitted_rows, last_doubling, listed, number, pair, percent, show
from mercer.report._looks_data import LOOKS as LOOKS
from mercer.report._looks_data import check

TIMES = 1.5  # the error of a simpler model on blocks: more is far worse
NAMED = {"kernel ridge regression": "kernel ridge regression (--quick)"}
LITTLE = 0.1  # of R²: a score beyond is not doubted
LEAST_OFF, FAR_OFF = 0.03, 0.10  # mean differences of stated and found probabilities that are worth a word


# ------------------------------------------------------------------------------------------------- fit
def _models(s):
    """The model itself, and {name: other}."""
    this, *others = s["scores"]["models"]
    return this, {one["name"]: one for one in others if one["score"] is not None}


@check("M201")
def no_better_than_mean(s):
    """Not better than answering always the same."""
    this, others = _models(s)
    base = next((one for name, one in others.items() if name in ("mean", "commonest class")), {"score": 0.0})
    score, error = this["score"], this["error"] or 0.0
    if score is not None and score - error <= base["score"]:
        what = "the commonest class" if s["task"] == "classification" else "the mean"
        yield f"{s['scores']['metric']} is {pair(this)}; {what} alone has {pair({**base, 'error': None})}."
    elif score is not None and s["scores"]["metric"] == "R²" and score <= min(2 * error, LITTLE):
        yield f"R² is {pair(this)}: {'nothing is explained' if score <= 0 else 'what is explained may be chance'}."


@check("M202", remedy.better_than_simple)
def worse_than_simple(s):
    """A linear model, neighbours or trees do better."""
    this, others = _models(s)
    if this["score"] is None:
        return
    name, best = _best_simple(others)
    if best is None or best["score"] <= this["score"] + max(0.005, this["error"] or 0.0):
        return
    yield f"{s['scores']['metric']} is {this['score']:.3f}, that of the {name} {best['score']:.3f}."


@check("M208")
def as_good_as_simple(s):
    """A linear model or neighbours have the same score or a better one, within the error of the model."""
    this, others = _models(s)
    name, best = _best_simple(others)
    if this["score"] is None or best is None or any(worse_than_simple(s)) or any(no_better_than_mean(s)):
        return
    if best["score"] < this["score"]:
        return
    error = f" ± {this['error']:.2g}" if this["error"] else ""
    yield f"{s['scores']['metric']} is {this['score']:.3f}{error}, that of the {name} {best['score']:.3f}."


def _best_simple(others):
    """(name, scores) of the best simple model beside a constant; (None, None) where there is none."""
    known = {name: one for name, one in others.items() if name not in ("mean", "commonest class")}
    return max(known.items(), key=lambda item: item[1]["score"], default=(None, None))


@check("M203", remedy.stiff)
def residual_trend(s):
    """A smooth shape is left in the residuals."""
    found = None if s["scores"].get("forward") else s["fit"]["tests"].get("trend")
    if found and found["p"] < 1e-3 / max(s["data"]["columns"], 1) and found["share"] > 0.08:
        yield f"A curve along {found['name']} explains {percent(found['share'])} of the variance of the residuals."


@check("M204", remedy.spread)
def changing_spread(s):
    """The size of the residuals changes."""
    found = s["fit"]["tests"].get("spread")
    if found and found["p"] < 1e-3 and found["ratio"] > 1.5:
        yield (
            f"The residuals{', beside their stated deviations,' if found.get('beside') else ''} are "
            f"{found['ratio']:.1f} times as large in one of {found['parts']} parts of the rows as in "
            f"another, in the order of {found['name']}."
        )


@check("M205")
def ordered_residuals(s):
    """Residuals follow the order of the rows."""
    found = None if s["scores"].get("forward") else s["fit"]["tests"].get("order")  # errors of one forecast are alike
    if found and found["z"] > 4 and found["r"] > 0.25:
        yield f"Residuals of neighbouring rows are alike: their correlation is {found['r']:.2f}."


@check("M206", remedy.nested)
def optimism(s):
    """Choosing on the rows that judge seems to gain a lot."""
    found = s["scores"]["optimism"]
    if found and found["value"] is not None and found["value"] > max(0.05, 2 * (found["error"] or 0.0)):
        yield f"The score without the outer loop is {found['value']:.3f} better than the nested one."


@check("M207")
def more_rows(s):
    """The error still falls as rows are added."""
    found = s.get("learning") or {}
    if "error" not in found or len(found["error"]) < 4 or found["sizes"][-1] < 0.5 * found["of"]:
        return  # a curve that ends at a fraction of the rows says nothing of more than all
    gain, sure = last_doubling(found)
    floor = (found["floor"] or {}).get("value") or 0.0
    last = found["error"][-1]
    if gain > 0.08 and sure and last > 1.15 * floor:
        yield (
            f"The last doubling of the rows, to {found['sizes'][-1]}, lowered the {found['metric']} by "
            f"{percent(gain)}, to {number(last)}: the curve still falls."
        )


@check("M209", remedy.beyond)
def worse_on_blocks(s):
    """Far worse than a simpler model where rows were left out in blocks."""
    worst = None
    for one in (s.get("blocks") or {}).get("listed", ()):
        rmse = dict(one["rmse"])
        model, mean = rmse.pop("model", None), rmse.pop("the mean", None)
        name = min((name for name in rmse if rmse[name] is not None), key=rmse.get, default=None)
        if None in (model, mean, name) or not 0 < rmse[name] < mean:
            continue
        times = model / rmse[name]
        if times > TIMES and (worst is None or times > worst[0]):
            worst = times, one["name"], model, NAMED.get(name, name), rmse[name]
    if worst is not None:
        _, where, model, name, best = worst
        yield f"Without {where}, the RMSE on these rows is {show(model)}; that of {name} is {show(best)}."


# ----------------------------------------------------------------------------------------- uncertainty
@check("M301", remedy.covered)
def coverage(s):
    """Intervals hold too few or too many rows."""
    u = s["uncertainty"]
    if u.get("kind") not in ("gaussian", "intervals", "quantiles"):
        return
    off = [(abs(found - level), level, found) for level, found in zip(u["levels"], u["coverage"], strict=True)
           if abs(found - level) > 0.04 and _unlikely(found, level, round(u.get("equal", u["rows"])))]  # fmt: skip
    if u["kind"] != "quantiles":
        off = [one for one in off if one[1] == 0.9]
    if not off:
        return
    _, level, found = max(off)
    if u["kind"] == "quantiles":
        yield f"{percent(found)} of the rows are below the quantile of level {level:g}."
    yield f"Intervals of {percent(level)} hold {percent(found)} of {u['rows']} rows left out."


@check("M304")
def deviations_off(s):
    """The deviations that the model states are not those of its errors, which intervals are made of."""
    u = s["uncertainty"]
    if u.get("own") is not None and abs(u["own"] - 0.9) > 0.04 and _unlikely(u["own"], 0.9, u["rows"]):
        size = "small" if u["own"] < 0.9 else "large"
        yield (
            f"The deviations that the model states are too {size}: intervals of 90 % by them alone would hold "
            f"{percent(u['own'])} of {u['rows']} rows left out."
        )


def _unlikely(found, level, n):
    """Whether a share as far off would be seen by chance once in a hundred times at most."""
    k = round(found * n)
    tail = bdtr(k, n, level) if found < level else bdtrc(k - 1, n, level)
    return tail < 0.005


@check("M302", remedy.calibrated)
def probabilities_off(s):
    """Stated probabilities do not come true."""
    u = s["uncertainty"]
    if u.get("kind") == "probabilities" and u["error"] > LEAST_OFF and _chance(u) < 0.01:
        yield (
            f"Probabilities are off by {percent(u['error'])} on average; by chance it would be "
            f"{percent(u['by_chance'])} with so many rows."
        )


@check("M303")
def probabilities_unsure(s):
    """Far off, but chance might do that with so few rows."""
    u = s["uncertainty"]
    if u.get("kind") == "probabilities" and u["error"] > FAR_OFF and _chance(u) >= 0.01:
        yield (
            f"Stated and found differ by {percent(u['error'])} on average, of which {percent(u['by_chance'])} would be "
            f"chance with {u['rows']} rows."
        )


def _chance(u):
    """How likely bins of right probabilities are off by as much: the test of Hosmer and Lemeshow."""
    return float(chdtrc(u["bins"], u["chi_square"]))


# ------------------------------------------------------------------------------------------- selection
@check("M401", remedy.lam_bound)
def lam_at_bound(s):
    """λ ended at the edge of what was searched."""
    chosen = s["selection"]["chosen"]
    if chosen.get("lam_at_bound") is not None:
        yield f"λ = {show(chosen['lam_at_bound'])} is at the end of what was searched."
    if chosen["status"] in ("at_lower_edge", "at_upper_edge", "no_root", "unreachable"):
        yield f"λ = {show(chosen['lam'])} is at the end of what was searched ({chosen['status'].replace('_', ' ')})."


@check("M402", remedy.parameter_bound)
def parameter_at_bound(s):
    """A length scale or another hyper-parameter ended at a bound."""
    named = [f"{name} = {show(value)}" for name, value in s["selection"]["chosen"].get("at_bound") or ()]
    if named:
        yield f"At a bound: {listed(named, 4)}."


@check("M403")
def rules_disagree(s):
    """Rules that estimate an error or a likelihood choose λ more than two decades apart."""
    picks = (s["selection"]["path"] or {}).get("picks") or ()
    sure = [one for one in picks if one["status"] == "ok" and one["rule"] in ("LOO", "GCV", "Evidence")]
    sure = [one for one in sure if isinstance(one["lam"], float) and one["lam"] > 0]
    if len(sure) < 2:
        return
    low, high = min(sure, key=lambda one: one["lam"]), max(sure, key=lambda one: one["lam"])
    cost = max(one.get("loss") or 1.0 for one in sure)
    if high["lam"] > 100 * low["lam"] and cost > 1.02:
        yield (
            f"{low['rule']} chooses λ = {number(low['lam'])}, {high['rule']} λ = {number(high['lam'])}; at the "
            f"worse of them the leave-one-out error is {cost:.2f} times the least."
        )


@check("M404", remedy.follows_noise)
def interpolates(s):
    """As many degrees of freedom as rows."""
    dof, n = _dof(s), fitted_rows(s)
    if dof is not None and dof > 0.9 * n and s["selection"]["chosen"]["lam"] != 0:
        yield f"The fit has {dof:.1f} effective degrees of freedom for {n} rows: it follows the noise too."


@check("M405", remedy.too_flat)
def too_smooth(s):
    """Hardly any degree of freedom is used."""
    dof = _dof(s)
    if dof is not None and dof < 1.5:
        yield f"The fit has {dof:.2f} effective degrees of freedom: it is almost a constant."


@check("M406")
def lam_not_chosen(s):
    """λ was given, and another one is clearly better."""
    path = s["selection"]["path"] or {}
    if s["selection"]["chosen"]["criterion"] is None and path.get("loss") and path["loss"] > 1.1:
        best = next(one for one in path["picks"] if one["rule"] == "LOO")
        ours, theirs = show(path["lam"]), show(best["lam"])
        yield f"The leave-one-out error at λ = {ours} is {path['loss']:.2f} times that at λ = {theirs}."


@check("M407")
def unseen_parameters(s):
    """The criterion does not see a parameter."""
    flat = s["selection"]["chosen"].get("flat") or []
    if flat:
        yield f"The criterion does not change with {listed(flat)}."


# -------------------------------------------------------------------------------------------- numerics
@check("M501")
def near_singular(s):
    """The system was near singular, or was repaired."""
    report = s["numerics"]["entries"]
    jitter, condition = report.get("jitter") or 0.0, report.get("condition") or 0.0
    if isinstance(jitter, float | int) and jitter > 0:
        yield f"{number(jitter)} was added to the diagonal, since the matrix could not be factored."
    if condition == "∞" or (isinstance(condition, float | int) and condition > 1e13):
        what = "∞" if condition == "∞" else number(condition)
        yield f"The condition number of the system is {what}: of 16 digits few are left."


@check("M502")
def not_converged(s):
    """A search or a solver stopped before its end."""
    chosen, report = s["selection"]["chosen"], s["numerics"]["entries"]
    if chosen["status"] == "not_finite":
        yield "The criterion was not finite where the search ended."
    status = report.get("status")
    if isinstance(status, str) and status not in ("ok", "converged", "optimal", ""):
        yield f"The solver ended with the status {status!r}."
    if report.get("converged") is False:
        yield "The iteration did not reach its tolerance."


@check("M504")
def search_ended(s):
    """A search that had more to try."""
    chosen = s["selection"]["chosen"]
    if chosen["status"] in ("time_budget", "stopped"):
        tried = "" if not chosen.get("evaluations") else f" after {chosen['evaluations']} evaluations"
        yield f"The search for the kernel and λ was ended{tried}; this is the best that it had found."


@check("M503")
def not_feasible(s):
    """There is no function through the data."""
    report = s["numerics"]["entries"]
    if report.get("feasible") is False:
        yield f"No function of this kernel goes through all rows: {percent(report['infeasibility'])} of ‖y‖ is left."


# ------------------------------------------------------------------------------------------------ rows
@check("M601")
def outliers(s):
    """Rows that the others do not explain."""
    found = s["rows"]["residuals"]
    if found and found["outliers"]:
        named = listed([one["row"] for one in found["rows"][: found["outliers"]]], 5)
        yield (
            f"{found['outliers']} of {found['known']} left-out residuals are beyond {found['limit']} robust "
            f"standard deviations: row {named}."
        )


@check("M602")
def influential(s):
    """One row that moves the whole fit."""
    found = s["rows"]["influence"]
    if found and found["largest"] is not None and found["largest"] > 1.0:
        many = [one["row"] for one in found["rows"] if one["cook"] and one["cook"] > 1.0]
        yield f"Cook's distance is above 1 for row {listed(many, 5)}; the largest is {found['largest']:.2g}."


# --------------------------------------------------------------------------------------------- helpers
def _dof(s):
    """Effective degrees of freedom, where they are known."""
    path = s["selection"]["path"] or {}
    return path.get("dof") if path.get("rows") == path.get("of") else None
