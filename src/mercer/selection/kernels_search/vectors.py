"""Rows of numbers: families with one length, with one for each column, with a line; along time what goes on.

The order of the families is that of what they have been worth on tables (benchmarks/defaults.py): a search that has to
end early has seen the best ones.
"""

import copy

import numpy as np

from mercer.kernels import (
    Anova,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
)
from mercer.selection.kernels_search.candidate import Candidate
from mercer.selection.kernels_search.searching import LevelSearch
from mercer.selection.kernels_search.series import TURNS, seasons, step_of, time_column
from mercer.selection.options import KernelSearchOptions


def families(d):
    """[(name, kernel with one length, whether one for each column follows, and a line beside it)] in standard units."""
    typical = float(np.sqrt(d))
    if d == 1:
        shapes = (Gaussian, Matern32, RationalQuadratic, Matern52, Exponential)
        found = [(shape.__name__, 1.0 * shape(1.0), False, True) for shape in shapes]
        return [("linear", 0.3 * Linear(), False, False), *found, ("quadratic", 0.1 * Polynomial(2), False, False)]
    return [
        ("Matern32", 1.0 * Matern32(typical), True, True),
        ("interactions", 1.0 * Anova(2.0, 1.0 / d), True, True),
        ("linear", 0.3 * Linear(), False, False),
        ("Laplacian", 1.0 * Laplacian(float(d)), True, True),
        ("RationalQuadratic", 1.0 * RationalQuadratic(typical), True, False),
        ("smooth interactions", 1.0 * Anova(2.0, 1.0 / d, "gaussian"), True, True),
        ("rough interactions", 1.0 * Anova(2.0, 1.0 / d, "exponential"), True, False),
        ("Exponential", 1.0 * Exponential(2.0 * typical), True, False),
        ("Gaussian", 1.0 * Gaussian(typical), True, False),
        ("Matern52", 1.0 * Matern52(typical), True, False),
        ("quadratic", 1.0 / d**2 * Polynomial(2, float(d)), False, False),  # lines and squares of the same size
    ]


def with_lengths(candidate, d, most):
    """The candidate with a length scale for each column, begun at the one it has; None beyond ``most`` columns."""
    if d == 1 or d > most:
        return None
    inner = candidate.kernel.kernel
    other = inner.with_theta(inner.theta)
    other.length_scale = np.full(d, float(inner.length_scale))
    return Candidate(candidate.name + ", a length for each column", candidate.kernel.scale * other)


def with_line(candidate, variance, d):
    """The candidate and a line in all columns."""
    return Candidate(candidate.name + " + linear", candidate.kernel + 0.03 * variance / d * Linear())


def parts_along(j, d, found, gap, span, variance):
    """{name: kernel}: what may be added along the time column j of d, in standard units, with the periods found.

    ``gap`` and ``span`` are the step of the series and its length, ``variance`` that of y.
    """

    def along(share, kernel):
        return float(share * variance) * (kernel if d == 1 else kernel.on([j]))

    parts = {
        "bending trend": along(0.1, Polynomial(2)),  # a stationary one would fall back to the mean ahead
        "irregular": along(0.1, RationalQuadratic(10.0 * gap)),
        "rough": along(0.1, Matern32(5.0 * gap)),
        "short memory": along(0.1, Exponential(5.0 * gap)),
    }
    for number, p in enumerate(found):
        whole = round(p / found[0])  # a week has the length of its days
        move = min(0.5 * p / span, 0.2)  # half a wave over the whole series
        wave = Periodic(1.0 / whole if number else 1.0, p, period_bounds=((1.0 - move) * p, (1.0 + move) * p))
        more = f" {number + 1}" if number else ""
        parts[f"season{more}"] = along(0.3, wave)
        parts[f"changing season{more}"] = along(0.3, wave * Gaussian(3.0))
        parts[f"growing season{more}"] = along(0.1, wave * Polynomial(1, 2.0))
    return parts


def with_inputs(rows, X):
    """The rows with other inputs; the trend stays."""
    other = copy.copy(rows)
    other.X, other._apart = X, None if rows.merged else other
    return other


class VectorSearch(LevelSearch):
    """Families of kernels on columns in standard units, and parts along the column of time if there is one."""

    def __init__(self, rows, unit, level, order, record, in_time, options=KernelSearchOptions()):
        super().__init__(with_inputs(rows, (rows.X - unit[0]) / unit[1]), level, order, record, options)
        self.d, self.unit = rows.d, unit
        self.time = time_column(self.rows.X) if in_time else None
        if self.time is not None:
            self._look_along()

    def _look_along(self):
        """Find the periods, and the order of the rows: the last first, for rows at random would be another series.

        Where a period is longer than the last rows show, half of the first level are rows further back.
        """
        n, forward = self.rows.n, np.argsort(self.rows.X[:, self.time], kind="stable")
        t = self.rows.X[forward, self.time]
        options, first = self.options, self.options.first_rows
        self.most = n if n <= 1.5 * options.series_rows else options.series_rows
        self.shares = options.series_shares
        self.periods, self.gap = seasons(t, self.rows.y.mean(axis=1)[forward]), step_of(t)
        longest, order = max(self.periods, default=0.0), np.arange(n)[::-1]
        if n > first and TURNS * longest > t[-1] - t[-first]:
            near, far = first // 2, int(np.sum(t[-1] - t <= 4 * longest))
            back = np.unique(np.linspace(n - far, n - near - 1, near).astype(int))
            order = np.concatenate([np.arange(n - near, n), back, np.setdiff1d(np.arange(n - near), back)[::-1]])
        self.order = forward[order]

    def _first(self, level):
        """All families on the first level, and what grows from each; before them, what most series are made of."""
        parts = {}
        if self.time is not None:
            span = float(np.ptp(self.rows.X[:, self.time]))
            parts = parts_along(self.time, self.d, self.periods, self.gap, span, level.variance)
        if self.periods:
            self._add(level, self._whole(level, parts), parts)
        for name, kernel, each, lined in families(self.d):
            one = self._try(level, Candidate(name, kernel), level.fresh(kernel))
            more = with_lengths(one, self.d, self.options.most_lengths) if each and np.isfinite(one.value) else None
            if more is not None:
                one = self._try(level, more, [(more.kernel, one.lam), level.fresh(more.kernel)[1]])
            if lined and self.time is None and np.isfinite(one.value):
                more = with_line(one, level.variance, self.d)
                if self._try(level, more, [(more.kernel, one.lam)]).score > one.score:
                    self.found.pop()  # a line that brings nothing would take the place of another kernel
        if self.time is not None:
            self._along(level, parts)

    def _whole(self, level, parts):
        """A trend, what one row leaves to the next, and all seasons at once; then without what does not pay.

        The trend stays: without it a forecast would be too sure of itself, which the rows cannot tell.
        """
        parts = parts if self.d == 1 else parts | {"Matern32": level.variance * Matern32(float(np.sqrt(self.d)))}
        common = ["bending trend", "short memory", *parts.keys() & {"Matern32"}]
        tried = []
        for kind in ("changing season", "growing season"):
            names = common + [name for name in parts if name.startswith(kind)]
            kernel = sum((parts[name] for name in names[1:]), parts[names[0]])
            tried.append(self._try(level, Candidate(" + ".join(names), kernel), [(kernel, 0.1 * level.variance)]))
        here = min(tried, key=lambda one: one.score)
        names = here.name.split(" + ")
        while np.isfinite(here.value):
            each, without = here.kernel.additive_parts(), {}
            for j in range(1, len(each)):
                rest = each[:j] + each[j + 1 :]
                one = Candidate(" + ".join(names[:j] + names[j + 1 :]), sum(rest[1:], rest[0]))
                without[j] = self._try(level, one, [(one.kernel, here.lam)])
            best = min(without, key=lambda j: without[j].score, default=0)
            if not best or without[best].score > here.score:
                break
            here = without[best]
            del names[best]
        return here

    def _along(self, level, parts):
        """Parts along time, added while they pay to a trend, and to the best family where there is more."""
        begun = self._try(
            level, Candidate("bending trend", parts["bending trend"]), level.fresh(parts["bending trend"])
        )
        alone = self.periods and self.d == 1
        first = [] if alone else self.best(1)  # what time ends is the growth of the others
        for here in [*first, begun]:
            self._add(level, here, parts)

    def _add(self, level, here, parts):
        """Add one part after the other while the best of them pays."""
        for _ in range(self.options.most_parts):
            known = {one.name for one in self.found}
            grown = []
            for name, part in parts.items():
                one = Candidate(f"{here.name} + {name}", here.kernel + part)
                if one.name not in known:
                    grown.append(self._try(level, one, [(one.kernel, here.lam)]))
            best = min(grown, key=lambda one: one.score, default=here)
            if best.score > here.score - self.options.part_gain:
                break
            here = best
