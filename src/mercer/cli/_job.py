"""One fit from the command line, step by step: read, choose, fit, judge, write."""

from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from mercer.cli import _fit_text
from mercer.cli._budget import Budget, JobOptions
from mercer.cli._options import TITLES
from mercer.cli._outputs import add_page, describe, findings_of, write_outputs
from mercer.cli._session import Session, print_json
from mercer.cli._tables import check_target, read_input, say_differences
from mercer.cli.evaluate import measures
from mercer.cli.plan import plan_dict


@dataclass
class JudgedRows:
    """The rows that a page is about, their labels, and the scores that judged them; ``fitted`` is how many were fitted.

    ``seen`` says whether they are some of those. ``scores`` is None where nothing was judged.
    """

    X: Any
    y: Any
    labels: list
    fitted: int
    scores: dict | None = None
    seen: bool = True
    notes: list = field(default_factory=list)  # of the page alone


class FitJob(ABC):
    """What ``mercer fit`` does; subclasses differ where a table is read at once, or in batches.

    Each step leaves what it found in attributes: ``read`` the table, ``choose`` name, criterion, recipe and folds,
    ``fit`` the model, ``judge`` the score and the rows of the page.
    """

    searched = plan = series = score = measured = forecast = ranking = None
    folds = held = 0
    repairs: tuple = ()  # of the table; printed when it was read

    def __init__(self, settings, kernel):
        self.settings, self.kernel, self.options = settings, kernel, settings.options[JobOptions]
        self.notes: list = []

    def run(self):
        """Do all steps; print the result, and return the exit code."""
        with Session(self.settings, self.options.progress_after) as self.session, self.workers() as self.crew:
            self.budget = Budget(self.settings, self.session)
            self.read()
            self.choose()
            if self.settings.dry_run:
                return self.print_plan()
            self.fit()
            self.judge()
            self.session.clear()
            self.session.flush()
            self.measured = self.measure_test()
            result = self.write()
        print_json(result) if self.settings.json else print(_fit_text.page(result, self.repairs))
        return 0

    def workers(self):
        """A block with workers that read and sum rows, or with None."""
        return nullcontext()

    @abstractmethod
    def read(self):
        """Read the table, and check that the columns that were named are there."""

    @abstractmethod
    def choose(self):
        """Choose the model, its criterion and its rows, from the target and the time."""

    @abstractmethod
    def fit(self):
        """Fit the model, ``model``."""

    @abstractmethod
    def judge(self):
        """Find ``score``, and ``judged``, the rows of the page."""

    # ------------------------------------------------------------------------------------------ what all share
    @property
    def title(self):
        """The model in words."""
        return TITLES[self.name]

    def measure_test(self):
        """The measures on the test table; None without one."""
        if self.settings.test is None:
            return None
        test = self.read_test()
        say_differences(self.model, test, self.session)
        return measures(self.model, test, self.session)

    def read_test(self, **columns):
        """The test table, its cells written as those of the fit."""
        test = read_input(self.settings, self.session, self.settings.test, **columns).frame
        check_target(test, self.settings.target, "--test")
        return test

    def print_plan(self):
        """Print what would be done."""
        if not self.settings.json:
            print(_fit_text.dry_run(self))
            return 0
        print_json({
            "schema": "mercer.plan/1", "model": self.name, "title": self.title, "criterion": self.criterion,
            "rows": self.rows, "target_rows": self.target_rows, "features": len(self.recipe.feature_names_),
            "folds": self.folds, "feature_names": self.recipe.feature_names_,
            "notes": [*self.notes, *self.recipe.notes_], "plan": plan_dict(self.plan),
        })  # fmt: skip
        return 0

    def write(self):
        """Describe the fit, collect the page, write the files; return the result as plain values."""
        result = describe(self)
        findings = findings_of(self, result["notes"]) if self.settings.report or self.settings.output else None
        left_out = findings.data.left_out if findings else []
        if left_out:
            result["notes"].append(f"the time budget was spent: the report is without {', '.join(left_out)}.")
        result = add_page(result, findings, () if findings else self.rank_columns())
        self.session.flush()
        result |= {"seconds": self.session.seconds, "warnings": list(self.session.warnings)}
        result["forecast"] = self.forecast_rows()
        result["files"] = write_outputs(self.settings, self.model, result, findings)
        return result

    def rank_columns(self):
        """[(column, importance)], where there is no page that says it."""
        return ()

    def forecast_rows(self):
        """{column: values} of the rows that come next; None unless they are asked for."""
        return None
