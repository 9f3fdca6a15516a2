"""What the checks of the choice of λ and the kernel look at, M4xx, and those of numerics, M5xx."""

from mercer.report import _remedies as remedy
from mercer.report._html import name_some, number, percent, show
from mercer.report._looks_data import check


# ------------------------------------------------------------------------------------------- selection
@check("M401", remedy.for_lam_bound)
def lam_at_bound(s, at):
    """λ ended at the edge of what was searched."""
    chosen = s.selection.chosen
    if chosen.lam_at_bound is not None:
        yield f"λ = {show(chosen.lam_at_bound)} is at the end of what was searched."
    if chosen.status in ("at_lower_edge", "at_upper_edge", "no_root", "unreachable"):
        yield f"λ = {show(chosen.lam)} is at the end of what was searched ({chosen.status.replace('_', ' ')})."


@check("M402", remedy.for_parameter_bound)
def parameter_at_bound(s, at):
    """A length scale or another hyper-parameter ended at a bound."""
    named = [f"{name} = {show(value)}" for name, value in s.selection.chosen.at_bound or ()]
    if named:
        yield f"At a bound: {name_some(named, 4)}."


@check("M403")
def rules_disagree(s, at):
    """Rules that estimate an error or a likelihood choose λ more than two decades apart."""
    picks = s.selection.path.picks if s.selection.path else ()
    sure = [one for one in picks if one.status == "ok" and one.rule in ("LOO", "GCV", "Evidence")]
    sure = [one for one in sure if isinstance(one.lam, float) and one.lam > 0]
    if len(sure) < 2:
        return
    low, high = min(sure, key=lambda one: one.lam), max(sure, key=lambda one: one.lam)
    cost = max(one.loss or 1.0 for one in sure)
    if high.lam > at.rules_apart * low.lam and cost > at.rules_cost:
        yield (
            f"{low.rule} chooses λ = {number(low.lam)}, {high.rule} λ = {number(high.lam)}; at the "
            f"worse of them the leave-one-out error is {cost:.2f} times the least."
        )


@check("M404", remedy.for_interpolation)
def interpolates(s, at):
    """As many degrees of freedom as rows."""
    dof, n = _dof(s), s.data.fitted_rows
    if dof is not None and dof > at.interpolating * n and s.selection.chosen.lam != 0:
        yield f"The fit has {dof:.1f} effective degrees of freedom for {n} rows: it follows the noise too."


@check("M405", remedy.for_constant_fit)
def too_smooth(s, at):
    """Hardly any degree of freedom is used."""
    dof = _dof(s)
    if dof is not None and dof < at.constant:
        yield f"The fit has {dof:.2f} effective degrees of freedom: it is almost a constant."


@check("M406")
def better_lam(s, at):
    """λ was given, and another one is clearly better."""
    path = s.selection.path
    if path and s.selection.chosen.criterion is None and path.loss and path.loss > at.given_cost:
        best = next(one for one in path.picks if one.rule == "LOO")
        ours, theirs = show(path.lam), show(best.lam)
        yield f"The leave-one-out error at λ = {ours} is {path.loss:.2f} times that at λ = {theirs}."


@check("M407")
def unseen_parameters(s, at):
    """The criterion does not see a parameter."""
    flat = s.selection.chosen.flat or []
    if flat:
        yield f"The criterion does not change with {name_some(flat)}."


# -------------------------------------------------------------------------------------------- numerics
@check("M501")
def near_singular(s, at):
    """The system was near singular, or was repaired."""
    report = s.numerics.entries
    jitter, condition = report.get("jitter") or 0.0, report.get("condition") or 0.0
    if isinstance(jitter, float | int) and jitter > 0:
        yield f"{number(jitter)} was added to the diagonal, since the matrix could not be factored."
    if condition == "∞" or (isinstance(condition, float | int) and condition > at.condition):
        what = "∞" if condition == "∞" else number(condition)
        yield f"The condition number of the system is {what}: of 16 digits few are left."


@check("M502")
def no_convergence(s, at):
    """A search or a solver stopped before its end."""
    chosen, report = s.selection.chosen, s.numerics.entries
    if chosen.status == "not_finite":
        yield "The criterion was not finite where the search ended."
    status = report.get("status")
    if isinstance(status, str) and status not in ("ok", "converged", "optimal", ""):
        yield f"The solver ended with the status {status!r}."
    if report.get("converged") is False:
        yield "The iteration did not reach its tolerance."


@check("M504")
def early_end_of_search(s, at):
    """A search that had more to try."""
    chosen = s.selection.chosen
    if chosen.status in ("time_budget", "stopped"):
        tried = "" if not chosen.evaluations else f" after {chosen.evaluations} evaluations"
        yield f"The search for the kernel and λ was ended{tried}; this is the best that it had found."


@check("M503")
def not_feasible(s, at):
    """There is no function through the data."""
    report = s.numerics.entries
    if report.get("feasible") is False:
        yield f"No function of this kernel goes through all rows: {percent(report['infeasibility'])} of ‖y‖ is left."


def _dof(s):
    """Effective degrees of freedom, where they are known."""
    path = s.selection.path
    return path.dof if path and path.rows == path.of else None
