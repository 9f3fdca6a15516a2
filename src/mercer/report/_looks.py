"""What the checks look at: each reads the sections, and yields one sentence with its numbers, or nothing."""

from scipy.special import bdtr, bdtrc, chdtrc

from mercer.report import _remedies as remedy
from mercer.report._html import last_doubling, name_some, number, percent, show, with_error
from mercer.report._looks_data import check

CONSTANT = ("mean", "commonest class")  # models that answer always the same
INTERVALS = ("gaussian", "intervals", "quantiles")  # kinds of uncertainty with a coverage


# ------------------------------------------------------------------------------------------------- fit
def _split_models(s):
    """(the model itself, the others that have a score)."""
    this, *others = s.scores.models
    return this, [one for one in others if one.score is not None]


@check("M201")
def no_better_than_mean(s, at):
    """Not better than answering always the same."""
    this, others = _split_models(s)
    base = next((one.score for one in others if one.name in CONSTANT), 0.0)
    score, error = this.score, this.error or 0.0
    if score is not None and score - error <= base:
        what = "the mean" if s.regression else "the commonest class"
        yield f"{s.scores.metric} is {with_error(score, this.error)}; {what} alone has {with_error(base, None)}."
    elif score is not None and s.scores.metric == "R²" and score <= min(2 * error, at.doubtful):
        what = "nothing is explained" if score <= 0 else "what is explained may be chance"
        yield f"R² is {with_error(score, this.error)}: {what}."


@check("M202", remedy.for_simple_models)
def worse_than_simple(s, at):
    """A linear model, neighbours or trees do better."""
    this, best = _split_models(s)[0], _best_simple(s)
    if None not in (this.score, best) and best.score > this.score + max(at.better, this.error or 0.0):
        yield f"{s.scores.metric} is {this.score:.3f}, that of the {best.name} {best.score:.3f}."


@check("M208")
def as_good_as_simple(s, at):
    """A linear model or neighbours have the same score or a better one, within the error of the model."""
    this, best = _split_models(s)[0], _best_simple(s)
    if None in (this.score, best) or any(worse_than_simple(s, at)) or any(no_better_than_mean(s, at)):
        return
    if best.score >= this.score:
        error = f" ± {this.error:.2g}" if this.error else ""
        yield f"{s.scores.metric} is {this.score:.3f}{error}, that of the {best.name} {best.score:.3f}."


def _best_simple(s):
    """The best simple model beside a constant; None where there is none."""
    others = (one for one in _split_models(s)[1] if one.name not in CONSTANT)
    return max(others, key=lambda one: one.score, default=None)


@check("M210")
def unpredicted_classes(s, at):
    """Classes that no row was taken for."""
    found = s.fit.never
    if found:
        rows, one = sum(one.rows for one in found), len(found) == 1
        named = f"{'Class' if one else 'Classes'} {name_some([one.name for one in found], 3)} {'is' if one else 'are'}"
        yield f"{named} never predicted, though {rows} of the rows left out are of {'it' if one else 'them'}."


@check("M203", remedy.for_trend)
def residual_trend(s, at):
    """A smooth shape is left in the residuals."""
    found = None if s.scores.forward else s.fit.tests.trend
    if found and found.p < at.structure_p / max(s.data.columns, 1) and found.share > at.trend:
        yield f"A curve along {found.name} explains {percent(found.share)} of the variance of the residuals."


@check("M204", remedy.for_spread)
def changing_spread(s, at):
    """The size of the residuals changes."""
    found = s.fit.tests.spread
    if found and found.p < at.structure_p and found.ratio > at.spread:
        yield (
            f"The residuals{', beside their stated deviations,' if found.beside else ''} are "
            f"{found.ratio:.1f} times as large in one of {found.parts} parts of the rows as in "
            f"another, in the order of {found.name}."
        )


@check("M205")
def ordered_residuals(s, at):
    """Residuals follow the order of the rows."""
    found = None if s.scores.forward else s.fit.tests.order  # errors of one forecast are alike
    if found and found.z > at.order_errors and found.r > at.order:
        yield f"Residuals of neighbouring rows are alike: their correlation is {found.r:.2f}."


@check("M206", remedy.for_optimism)
def optimism(s, at):
    """Choosing on the rows that judge seems to gain a lot."""
    found = s.scores.optimism
    if found and found.value is not None and found.value > max(at.optimism, 2 * (found.error or 0.0)):
        yield f"The score without the outer loop is {found.value:.3f} better than the nested one."


@check("M207")
def more_rows(s, at):
    """The error still falls as rows are added."""
    found = s.learning
    if not found or len(found.error) < 4 or found.sizes[-1] < 0.5 * found.of:
        return  # a curve that ends at a fraction of the rows says nothing of more than all
    gain, sure = last_doubling(found)
    floor = found.floor.value if found.floor else 0.0
    last = found.error[-1]
    if gain > at.still_falls and sure and last > at.above_floor * floor:
        yield (
            f"The last doubling of the rows, to {found.sizes[-1]}, lowered the {found.metric} by "
            f"{percent(gain)}, to {number(last)}: the curve still falls."
        )


@check("M209", remedy.for_blocks)
def worse_on_blocks(s, at):
    """Far worse than a simpler model where rows were left out in blocks."""
    worst = max(filter(None, map(_beside_simpler, s.blocks.listed if s.blocks else ())), default=None)
    if worst and worst[0] > at.blocks:
        _, where, model, name, best = worst
        name = f"{name} (--quick)" if name == "kernel ridge regression" else name
        yield f"Without {where}, the RMSE on these rows is {show(model)}; that of {name} is {show(best)}."


def _beside_simpler(block):
    """(error of the model over the least, what was left out, both errors and who has it); None without one."""
    rmse = dict(block.rmse)
    model, mean = rmse.pop("model", None), rmse.pop("the mean", None)
    known = {name: value for name, value in rmse.items() if value is not None}
    name = min(known, key=known.get, default=None)
    if None in (model, mean, name) or not 0 < known[name] < mean:
        return None
    return model / known[name], block.name, model, name, known[name]


# ----------------------------------------------------------------------------------------- uncertainty
@check("M301", remedy.for_coverage)
def coverage(s, at):
    """Intervals hold too few or too many rows."""
    u = s.uncertainty
    if u.kind not in INTERVALS:
        return
    off = [(abs(found - level), level, found) for level, found in zip(u.levels, u.coverage, strict=True)
           if _is_off(found, level, round(u.equal or u.rows), at)]  # fmt: skip
    if u.kind != "quantiles":
        off = [one for one in off if one[1] == 0.9]
    if not off:
        return
    _, level, found = max(off)
    if u.kind == "quantiles":
        yield f"{percent(found)} of the rows are below the quantile of level {level:g}."
    yield f"Intervals of {percent(level)} hold {percent(found)} of {u.rows} rows left out."


@check("M304")
def deviations_off(s, at):
    """The deviations that the model states are not those of its errors, which intervals are made of."""
    u = s.uncertainty
    if u.kind in INTERVALS and u.own is not None and _is_off(u.own, 0.9, u.rows, at):
        size = "small" if u.own < 0.9 else "large"
        yield (
            f"The deviations that the model states are too {size}: intervals of 90 % by them alone would hold "
            f"{percent(u.own)} of {u.rows} rows left out."
        )


def _is_off(found, level, n, at):
    """Whether a share is far off, and further than chance would have it."""
    k = round(found * n)
    tail = bdtr(k, n, level) if found < level else bdtrc(k - 1, n, level)
    return abs(found - level) > at.coverage and tail < at.coverage_p


@check("M302", remedy.for_calibration)
def probabilities_off(s, at):
    """Stated probabilities do not come true."""
    u = s.uncertainty
    if u.kind == "probabilities" and u.error > at.calibration and _chance(u) < at.calibration_p:
        yield (
            f"Probabilities are off by {percent(u.error)} on average; by chance it would be "
            f"{percent(u.by_chance)} with so many rows."
        )


@check("M303")
def probabilities_unsure(s, at):
    """Far off, but chance might do that with so few rows."""
    u = s.uncertainty
    if u.kind == "probabilities" and u.error > at.calibration_far and _chance(u) >= at.calibration_p:
        yield (
            f"Stated and found differ by {percent(u.error)} on average, of which {percent(u.by_chance)} would be "
            f"chance with {u.rows} rows."
        )


def _chance(u):
    """How likely bins of right probabilities are off by as much: the test of Hosmer and Lemeshow."""
    return float(chdtrc(u.bins, u.chi_square))
