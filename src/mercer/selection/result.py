"""What a search says: while it runs, in the end, and what is wrong with where it ended, with values and remedies.

Progress and early stop go through scikit-learn's callbacks; this is the one file that knows that experimental
interface. An estimator inherits `ProgressSupport` and decorates ``fit`` with `with_progress`. Inside, `begin` opens the
task, `reporter` makes the callback that a search calls after each evaluation, and `end` closes the task. Without
callbacks set on the estimator (or on one around it) nothing is called and nothing is kept.
"""

from dataclasses import dataclass, field
from math import isfinite, isnan

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._state import check
from mercer._warn import warn
from mercer.kernels.base import Kernel

try:
    from sklearn.callback import CallbackSupportMixin as ProgressSupport
    from sklearn.callback import with_callbacks as with_progress
except ImportError:  # scikit-learn before 1.9 has no callbacks

    class ProgressSupport:  # type: ignore[no-redef]
        """Nothing: there is nobody to tell."""

    def with_progress(fit):
        """``fit`` as it is."""
        return fit


__all__ = ["ProgressSupport", "SearchResult", "begin", "end", "reporter", "with_progress"]
FIELDS = {
    "kernel": Kernel, "lam": "number", "value": "number", "status": str, "message": str, "criterion": str,
    "at_bound": dict, "flat": list, "history": list, "evaluations": "number", "failed": "number", "seconds": "number",
    "candidates": list, "path": object,
}  # fmt: skip


@dataclass
class SearchResult:
    """The kernel and λ a search ended with, and how; made by `search`.

    Parameters
    ----------
    kernel : Kernel
    lam : float
        nan where the model has none, as with a classifier; a report then leaves it out.
    value : float
        The criterion there, on all rows.
    status : str
        "ok"; "at_bound"; "flat"; "constant" (nothing of y is left beside the trend); "time_budget", "stopped" (the best
        point so far is returned); "edge" (length scales still moved on the last grid of frequencies);
        "too_many_features" (the next grid would have been too large); or the status of the rule where λ alone was
        chosen on a path. Where no trial could be evaluated there is an error and no result.
    message : str
        How the search ended, in words.
    criterion : str
        What was minimised, as an expression such as ``LOO()``.
    at_bound : dict
        {name: value} of the parameters that ended at a bound.
    flat : list of str
        Parameters the criterion does not see. An amplitude under a criterion that is free of scale was kept.
    history : list of dict
        Every evaluation: rows n, value, lam, theta (the log of what was searched), seconds.
    evaluations, failed : int
        How many, and how many could not be evaluated.
    seconds : float
        How long the search took.
    candidates : list of SearchResult
        One for each kernel where there was a list.
    path : Path or None
        Where λ alone was chosen on a path.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import LOO, search
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(40)
    >>> found = search(Gaussian(), X, y, LOO())
    >>> found.status, found.evaluations == len(found.history)
    ('ok', True)
    """

    kernel: Kernel
    lam: float
    value: float
    status: str = "ok"
    message: str = ""
    criterion: str = ""
    at_bound: dict = field(default_factory=dict)
    flat: list = field(default_factory=list)
    history: list = field(default_factory=list, repr=False)
    evaluations: int = 0
    failed: int = 0
    seconds: float = 0.0
    candidates: list = field(default_factory=list, repr=False)
    path: object = field(default=None, repr=False)

    def state(self):
        """{name: value} by public names: what a file keeps; None where it is one of its own candidates."""
        return {**vars(self), "candidates": [None if one is self else one for one in self.candidates]}

    @classmethod
    def from_state(cls, state):
        """Return the result that had this state."""
        if state.get("status") == "too_many_waves":  # of files from before features were called so
            state = {**state, "status": "too_many_features"}
        check(state, FIELDS, "SearchResult")
        self = cls(**state)
        self.candidates = [self if one is None else one for one in state["candidates"]]
        if not all(isinstance(one, cls) for one in self.candidates):
            raise ValueError("a candidate is no result of a search.")
        return self

    def __str__(self):
        """Return what was chosen, by what, and how surely, in a few lines."""
        failed = f", {self.failed} of them failed" if self.failed else ""
        lam = "" if isnan(self.lam) else f"lam = {self.lam:.4g}, "
        lines = [
            f"{self.criterion} chose {lam}{self.kernel!r}",
            f"value {self.value:.6g} after {self.evaluations} evaluations{failed}, {self.seconds:.2g} s; {self.status}",
        ]
        return "\n".join([*lines, self.message] if self.message else lines)

    def warn(self):
        """Warn with the message where the search did not end inside; return self."""
        if self.status != "ok":
            warn(f"{self.criterion}: {self.message}", ConvergenceWarning)
        return self

    def to_dict(self):
        """Return plain values, for a report."""
        plain = (
            *(() if isnan(self.lam) else ("lam",)),
            "value",
            "status",
            "message",
            "criterion",
            "at_bound",
            "flat",
            "evaluations",
            "failed",
            "seconds",
        )
        return {"kernel": repr(self.kernel), **{name: getattr(self, name) for name in plain}}


CUT = ("time_budget", "stopped")


def is_cut(result):
    """Whether the search ended before its end."""
    return result.status in CUT


def best_of(found, histories=None):
    """The result of the smallest value, which keeps all of them as its candidates where there are several.

    Compared are those that came as far as any: a sum over fewer rows is smaller, and a search cut short there would
    win. ``histories`` are those of each result; None has them in the results.
    """
    histories = [one.history for one in found] if histories is None else histories
    rows = [max((one.get("n", 0) for one in history if isfinite(one["value"])), default=0) for history in histories]
    far = [one for one, n in zip(found, rows, strict=True) if not is_cut(one) or n == max(rows)]
    best = min(far, key=lambda result: result.value if isfinite(result.value) else float("inf"))
    if len(found) > 1:
        best.candidates = list(found)
    return best


def name_kernels_cut(best, status, kernels):
    """The best of a list, whose message names the kernels that were not searched to the end, and those not begun."""
    missed = [one.kernel for one in best.candidates if one is not best and is_cut(one)] + kernels
    if missed:
        why = "the time budget was spent" if status == "time_budget" else "the callback asked to stop"
        more = f"{why} before {', '.join(map(repr, missed))} had been searched to the end."
        best.status, best.message = status, f"{best.message} {more}".strip()
    return best


def at_bounds(names, z, box, near=1e-3):
    """{name: value} of the parameters at a bound, or as near in log units; one that was given is not."""
    close = ((z <= box[:, 0] + near) | (z >= box[:, 1] - near)) & (box[:, 0] < box[:, 1])
    return {str(name): float(np.exp(value)) for name, value, hit in zip(names, z, close, strict=True) if hit}


def flat_directions(names, slope):
    """Names of the parameters whose derivative was zero at every trial."""
    return [str(name) for name, size in zip(names, slope, strict=True) if size <= 1e-8]


def describe(result, box, names, used, n):
    """The message of a search: what ended at a bound, what is flat, what was cut short; empty when all is well."""
    said = []
    if result.status in CUT:
        why = "the time budget was spent" if result.status == "time_budget" else "the callback asked to stop"
        on = "all" if used == n else f"{used} of {n}"
        said.append(f"{why}; the best point so far (from {on} rows) is kept.")
    if result.status == "edge":
        said.append(
            "length scales still moved at the edge of the last grid of frequencies: fit again, from the kernel found."
        )
    said += _bounds(result, box, list(names))
    if result.flat:
        said.append(
            f"the criterion does not change with {', '.join(result.flat)} (a constant column?): fix or leave out."
        )
    if result.failed:
        said.append(f"{result.failed} trials could not be evaluated.")
    return " ".join(said)


def _bounds(result, box, names):
    """One sentence for each bound; entries of an array at the same one share it, each with its full name."""
    groups = {}
    for name, value in result.at_bound.items():
        low, high = np.exp(box[names.index(name)])
        side = "lower" if value < np.sqrt(low * high) else "upper"
        key = name.partition("[")[0], side, f"({low:.3g}, {high:.3g})", f"{value:.3g}"
        groups.setdefault(key, []).append(name)
    for (stem, side, bounds, value), members in groups.items():
        whose = "its" if len(members) == 1 else "their"
        remedy = _remedy(stem, side, len(members) == 1)
        yield f"{', '.join(members)} = {value} ended at {whose} {side} bound of {bounds}: {remedy}."


def _remedy(name, side, one=True):
    """What to do about a parameter, or several entries of one, at a bound."""
    if name in ("lam", "noise"):  # of a Gaussian process λ is the noise
        return (
            f"the data look free of noise to this kernel; give bounds with a smaller {name}, or interpolate; or, where "
            "a length scale is far beyond the data, a straight line is imitated: add Linear()"
            if side == "lower"
            else "the data look like pure noise to this kernel; try another kernel, or give wider bounds"
        )
    plain = name.split("__")[-1]
    if plain == "length_scale" and side == "upper":
        which = "the column hardly matters or acts" if one else "these columns hardly matter or act"
        return f"{which} linearly; leave {'it' if one else 'them'} out, add Linear(), or widen length_scale_bounds"
    return f"widen {plain}_bounds, or fix {'it' if one else 'them'}"


# ---------------------------------------------------------------------- while it runs
def _has_callbacks(estimator):
    known = estimator.__dict__
    return isinstance(estimator, ProgressSupport) and bool(
        known.get("_skl_callbacks") or "_parent_callback_ctx" in known
    )


def begin(estimator, X, y, *, steps=0):
    """Open the task of a fit; ``steps`` is how many evaluations there may be, None if that is not known."""
    if _has_callbacks(estimator):
        context = estimator._init_callback_context(max_subtasks=steps)
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)


def reporter(estimator):
    """Return what a search calls with the dict of each evaluation; true asks it to stop. None if nobody listens."""
    context = getattr(estimator, "_callback_fit_ctx", None)
    if context is None:
        return None

    def report(entry):
        task = context.subcontext(task_name="evaluation")
        task.call_on_fit_task_begin(estimator=estimator)
        return task.call_on_fit_task_end(estimator=estimator)

    return report


def end(estimator, X, y):
    """Close the task of a fit."""
    context = getattr(estimator, "_callback_fit_ctx", None)
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, X=X, y=y)
