"""The time and the rows of a command: what each step may take, from what the steps before it took."""

import hashlib
import os
import threading
import time
from dataclasses import dataclass

import numpy as np

from mercer import estimators
from mercer._policies import Options
from mercer.cli._options import bytes_of, seconds, whole
from mercer.solvers import Sizes, choose_solver
from mercer.tabular import TableModel

EVALUATIONS, GRADIENT = 30, 3.0  # of a search, at least; and the cost of each, in fits
FEWEST = 250  # rows of a search
# Of a fit, in fits of a ridge regression; 20 of the other models.
COST = {"ridge": 1.0, "gp": 3.0, "stack": 10.0, "svr": 3.0}


@dataclass(frozen=True)
class JobOptions(Options):
    """How many rows a command looks at, and how it deals out its time."""

    rows_judged: int = 6000  # of the cross-validation and of the page
    rows_ranked: int = 400  # that say what matters, where there is no page
    rows_in_batches: int = 6000  # from which `mercer fit` reads a table in batches
    rows_predicted_in_batches: int = 200_000
    rows_held_shown: int = 5000  # of the page about a fit in batches
    rows_at_once: int = 10_000  # from which a process read in batches is given all its rows as one array
    rows_simple: int = 20_000  # that simple models beside a fit in batches are fitted on
    search_share: float = 0.5  # of the time, at most, for choosing the model
    fit_share: float = 0.25  # of the time, for one fit at given hyper-parameters
    batch_share: float = 0.65  # of the time that is left after reading in batches, for the fit
    folds_end: float = 0.85  # of the time, when folds must have ended if there is a page; without one, all of it
    page_seconds: float = 3.0  # that a page and files take at least, but half of the time at most
    writing_seconds: float = 1.0  # files alone
    longest_fit: float = 600.0  # predicted seconds, beyond which fewer rows are fitted, without --time-budget
    progress_after: float = 2.0  # seconds before a line of progress is shown


@dataclass(frozen=True)
class SearchLimits(Options):
    """From where on kernels are searched for, and how long that takes without --time-budget."""

    rows: int = 6000  # up to which kernels are searched for where nothing is said
    rows_of_labels: int = 600
    rows_of_series: int = 3000  # its last rows
    rows_in_batches: int = 3000  # that hyper-parameters of a fit in batches are chosen on first
    least_seconds: float = 10.0  # of a time budget below which kernels are not searched for
    few_rows: int = 2000  # up to which the search is a short one
    seconds_of_few: float = 9.0  # with the folds, half a minute
    seconds: float = 28.0
    folds_of_few: float = 17.0  # seconds for repeating it in folds
    folds: float = 60.0
    # Parts of a series are added one after the other: a search cut short misses the last, on which forecasts depend.
    seconds_of_series: float = 20.0
    folds_of_series: float = 30.0
    # A classifier without --time-budget, for what it takes grows as classes times n³; the same with --quick.
    seconds_of_classes: float = 60.0
    quick_seconds_of_classes: float = 10.0


class Budget:
    """The time of a command; without one, every share is None, but for a search over kernels of ``searching`` rows."""

    searching, series, classes, unasked = 0, False, 0, False

    def __init__(self, settings, session):
        self.total, self.session = seconds(settings.time_budget, "--time-budget"), session
        self.shares, self.limits = settings.options[JobOptions], settings.options[SearchLimits]
        self.page = bool(settings.report or settings.output)
        self.memory = bytes_of(settings.memory, "--memory")
        self.most_rows = whole(settings.max_rows, "--max-rows", 3)
        self.slowness = 1.0 if self.total is None else 1.0 / cpu_share()

    @property
    def left(self):
        """Seconds that are left; None without a budget."""
        return None if self.total is None else max(self.total - self.session.seconds, 0.0)

    @property
    def search(self):
        """Seconds for choosing the model, the last fit included; for folds see `folds`."""
        if self.total is None and self.searching:
            own = self.limits.seconds_of_few if self.searching <= self.limits.few_rows else self.limits.seconds
            return max(own, self.limits.seconds_of_series if self.series else 0.0)
        return None if self.total is None else self.shares.search_share * self.total

    @property
    def of_fit(self):
        """The ``time_budget`` of an estimator: less on a busy machine, where its last step takes longer, too."""
        if self.total is None:
            return self.search
        return max(min(self.search / (1.0 + 0.2 * (self.slowness - 1.0)), self.left), 1e-3)

    @property
    def folds(self):
        """Seconds for the folds that judge it, from now."""
        if self.total is None:
            own = self.limits.folds_of_few if self.searching <= self.limits.few_rows else self.limits.folds
            return max(own, self.limits.folds_of_series if self.series else 0.0) if self.searching else None
        return max(self.left - self.after, 0.0)

    def of_folds(self, seconds):
        """Options of `score` after a fit that took so many seconds: as many folds as have the same time, two at least.

        But no longer than a budget that was asked for.
        """
        given = self.folds
        if given is not None and not self.asked:
            given = max(given, 2.5 * seconds)  # fits, for two folds and what they are compared with
        return {"time_budget": given, "needs": None if given is None else seconds}

    @property
    def asked(self):
        """Whether there is a budget that somebody asked for."""
        return self.total is not None and not self.unasked

    @property
    def after(self):
        """Seconds that are kept for what follows the folds."""
        share = (1.0 - self.shares.folds_end) * self.total
        return min(max(share, self.shares.page_seconds), 0.5 * self.total) if self.page else 0.0

    @property
    def for_page(self):
        """Seconds for what is found out about a fit, before files are written; None without a budget."""
        least = self.shares.page_seconds if self.unasked else 0.0
        return None if self.total is None else max(self.left - self.shares.writing_seconds, least)

    def limit_classes(self, name, count, quick):
        """Take over how many classes are learnt; without a budget a process of them has a minute at most."""
        self.classes = count if name == "gpc" else 0
        if self.classes and self.total is None and not self.searching:
            limits = self.limits
            self.total = limits.quick_seconds_of_classes if quick else limits.seconds_of_classes
            self.unasked, self.slowness = True, 1.0 / cpu_share()

    # ------------------------------------------------------------------------------------------------ rows
    def rows(self, name, n, d, folds):
        """(most rows to fit on or None, plan, rows of the search, notes): what is predicted to fit into the time."""
        longest = self.shares.longest_fit if self.total is None else self.shares.fit_share * self.total
        most, notes = n if self.most_rows is None else min(n, self.most_rows), []

        def fits(rows):
            return self._seconds_of_fit(name, rows, d) <= longest

        if self.most_rows is None and not fits(n):
            most = largest_that(fits, n)
            notes.append(
                f"all {n:,} rows would take longer than {self.total or longest:.3g} s: {most:,} of them are used, "
                f"drawn at random. --max-rows {n} takes all."
            )
        searched = min(self.limits.rows if self.searching else TableModel(None).search_rows, most)
        if self.total is not None and not self.searching:  # a search over kernels begins on few rows by itself
            share = min(self.search, self.shares.folds_end * self.total / (folds + 1))
            while searched > FEWEST and self._seconds_of_search(searched, d) > share:
                searched = max(3 * searched // 4 if self.classes else searched // 2, FEWEST)
        return (None if most == n else most), self._plan(name, most, d), searched, notes

    def _plan(self, name, rows, d, **options):
        """The plan of one fit to so many rows."""
        if self.classes:
            longest = self.shares.longest_fit if self.total is None else self.shares.fit_share * self.total
            options = {"time_budget": longest / self.slowness} | options
            model = estimators.GaussianProcessClassifier(memory=self.memory, **options)
            return model.plan(rows, d, targets=self.classes)
        sizes = Sizes(rows, d, memory=self.memory, binding=False)
        return choose_solver("auto", sizes, inverse=name != "ridge")[1]

    def _seconds_of_fit(self, name, rows, d):
        """What one fit takes, on a machine that is as busy as it is now."""
        if self.classes:
            return self.slowness * self._plan(name, rows, d).last
        return self.slowness * COST.get(name, 20.0) * self._plan(name, rows, d).seconds

    def _seconds_of_search(self, rows, d):
        """What a search takes, at least; one of classes begins each fit where the last one ended, in a third of it."""
        if self.classes:
            return (
                self.slowness
                * EVALUATIONS
                / 3.0
                * self._plan("gpc", rows, d, approximation=None, time_budget=None).last
            )
        return self.slowness * EVALUATIONS * GRADIENT * self._plan("gp", rows, d).seconds


def cpu_share(seconds=0.1):
    """The share of the cores that a process with a thread for each gets now, from 1/8 to 1; measured by hashing."""
    count, block = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(), bytes(1 << 18)
    used, end = np.zeros(count), time.perf_counter() + seconds

    def work(place):
        began = time.thread_time()
        while time.perf_counter() < end:
            hashlib.sha256(block)
        used[place] = time.thread_time() - began

    began = time.perf_counter()
    threads = [threading.Thread(target=work, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return float(np.clip(used.sum() / (count * (time.perf_counter() - began)), 0.125, 1.0))


def largest_that(fits, most):
    """About the largest number of rows that fit."""
    low, high = 1, most
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
