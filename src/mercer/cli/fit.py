"""``mercer fit``: read, plan, fit, judge, keep; files are written at the very end, or not at all."""

import numpy as np
from sklearn.base import clone

from mercer._warn import Caution
from mercer.cli import Usage, _fit_text, large
from mercer.cli._budget import SearchLimits
from mercer.cli._checks import LEAST_SCORED, check_forecast, check_values, count_folds, group_folds, order_in_time
from mercer.cli._job import FitJob, JudgedRows
from mercer.cli._options import (
    AUTO,
    LABELS,
    check_kernel_reads,
    check_transform,
    criterion_name,
    default_model,
    kernel_objects,
    make_estimator,
    model_name,
    read_kernel,
    resolve_kernel,
    strings_of,
)
from mercer.cli._session import not_of_data
from mercer.cli._tables import as_recipe, check_apart, check_free, check_names, check_target, read_input
from mercer.cli.predict import round_columns
from mercer.exceptions import DataError
from mercer.tabular import TableModel, rows_ahead, score
from mercer.tabular.cells import renumber_rows
from mercer.tabular.columns import as_texts, is_text, usable_rows
from mercer.tabular.forecast import forward_folds, series_along
from mercer.tabular.kernels import length_scales
from mercer.tabular.shapes import hint

EACH_ROW = ("predictions", "probabilities", "deviations")  # of scores


def run_fit(settings):
    """Fit a model to a table."""
    for option, endings in (("output", ()), ("report", (".html", ".htm"))):
        check_free(getattr(settings, option), f"--{option}", settings.force, endings)
    check_apart(settings, ("output", "report"), ("data", "test"))
    if settings.group is not None and settings.time is not None:
        raise Usage(
            f"--group {settings.group} and --time {settings.time}: one of them. Folds leave whole groups out, or go "
            "forward in time"
        )
    if settings.test == "-" and settings.data == "-":
        raise Usage("only one of DATA and --test can be standard input")
    kernel = read_kernel(settings.kernel)
    pages = large.pages_of(settings, kernel)
    if pages is not None and not (large.searches(settings, kernel) and large.begins_series(settings, pages)):
        return large.BatchJob(settings, kernel, pages).run()
    if settings.dask is not None:
        raise Usage(
            "--dask is for tables that are read in batches: Parquet or plain CSV of 6,000 rows or more, models and "
            "options as docs/command_line.md lists them under large tables. This one is fitted here: leave --dask away"
        )
    return TableJob(settings, kernel).run()


class TableJob(FitJob):
    """A fit to a table that is read at once, judged by folds."""

    def read(self):
        """Read the table and the test table, with its rows in the order of --time."""
        settings, session = self.settings, self.session
        strings = strings_of(self.kernel, settings.target)
        reading = read_input(settings, session, settings.data, strings=strings)
        settings.fill_down = [*reading.filled]  # as a table to be predicted is
        check_target(reading.frame, settings.target)
        check_names(settings, reading.frame, labels=True)
        shape = hint(reading.frame, settings.target)
        if shape:
            reading.notes.append(Caution(shape))
            session.say(f"note: {shape}")
        self.reading, self.sha256 = reading, reading.sha256
        self.repairs = () if settings.quiet else reading.notes
        self.order = order_in_time(reading.frame, settings.time)
        self.frame = reading.frame if settings.time is None else reading.frame[self.order]
        self.rows = self.frame.height
        self.test = None if settings.test is None else self.read_test(
            text=tuple(column.name for column in self.frame.get_columns() if is_text(column)), strings=strings,
            written=reading.written, sentinels=reading.sentinels,
        )  # fmt: skip

    def measure_test(self):
        """The measures on the test table, which was read before anything was fitted."""
        test, self.read_test = self.test, lambda: test
        return super().measure_test()

    def choose(self):
        """The unfitted model: what is going to be fitted, and on how many rows."""
        settings, budget, notes, frame = self.settings, self.budget, self.notes, self.frame
        name = model_name(settings, frame[settings.target], notes)
        labels = name in LABELS
        rows, y = usable_rows(frame, settings.target, labels, notes)
        kernel = self._resolve_kernel(name, frame[rows])
        self.recipe = self._recipe(kernel, frame, rows)
        budget.searching = min(len(rows), budget.most_rows or len(rows)) if kernel == AUTO else 0
        budget.limit_classes(name, len(np.unique(y)) if labels else 0, settings.quick)
        along = None if labels else series_along(self.recipe, frame[rows].drop(settings.target))
        series, backwards = along or (None, False)
        budget.series, self.even = series is not None, along is not None
        check_forecast(settings, self.recipe, series)
        if settings.group is not None:
            series = None  # whoever names groups is judged by new ones, in order or not
        if (series is not None or settings.time is not None) and not settings.no_score:
            how = f"a series along {series!r}" if settings.time is None else f"in the order of {settings.time!r}"
            notes.append(f"rows are {how}: folds are of the second half, each predicted from what was before.")
        if kernel == AUTO and not labels and settings.model == "auto":
            name = default_model(settings, name, series)
        self.name, self.series, self.target_rows = name, series or settings.time, len(rows)
        self.criterion = criterion_name(settings, name, kernel)
        self.folds = count_folds(settings, y, labels, budget.most_rows, notes)
        most, self.plan, self.search_rows, more = budget.rows(
            name, len(rows), len(self.recipe.feature_names_), self.folds
        )
        notes += more
        check_values(settings, name, y, notes)
        if not labels and np.ptp(y) == 0:
            self.folds = 0
        self.searched = (budget.search, budget.folds) if budget.searching else None
        self.unfitted = TableModel(
            make_estimator(settings, name, self.criterion, kernel, budget), as_recipe(settings),
            target=settings.target, fit_rows=most, search_rows=self.search_rows, random_state=settings.seed,
            optimize="lam" if settings.fix_kernel else "all", target_transform=check_transform(settings, name),
        )  # fmt: skip
        if backwards:
            self.frame, self.order = frame.reverse(), self.order[::-1]

    def _resolve_kernel(self, name, part):
        """The kernel that is asked for, or "auto"; a long series has fewer rows, so that its kernels are searched."""
        settings, budget, longest = self.settings, self.budget, self.settings.options[SearchLimits].rows_of_series
        if name not in LABELS and part.height > longest and budget.most_rows is None:
            if large.searches(settings, self.kernel) and large.continues(settings, part):
                budget.most_rows = longest
        return resolve_kernel(settings, self.kernel, name, part.height, budget)

    def _recipe(self, kernel, frame, rows):
        """What is made of the columns, and a check that the kernel can read them."""
        objects = kernel_objects(kernel, frame[rows], self.settings)
        with renumber_rows(rows):
            recipe = as_recipe(self.settings).fit(frame[rows].drop(self.settings.target), objects=objects, sentinels={})
            check_kernel_reads(kernel, recipe, frame[rows])
        return recipe

    def fit(self):
        """Fit the model; names of hyper-parameters in warnings are those of columns."""
        session, reading = self.session, self.reading
        session.say(_fit_text.announcement(self))
        session.stages(1 + self.folds)
        began = session.seconds
        known = {"written": reading.written, "sentinels": reading.sentinels}
        try:
            fitted = clone(self.unfitted).fit(self.frame, listener=session.listener, **known)
        except ValueError as error:
            if "target=" not in str(error):
                raise
            raise DataError(f"--target-transform: {error}") from None
        names = length_scales(fitted.estimator_.kernel_, fitted.recipe_)
        session.names = {name: f"the length scale of {column!r}" for name, column in names}
        session.listener(1, 1)
        self.model, self.fit_seconds = fitted, session.seconds - began

    # ------------------------------------------------------------------------------------------------ judging
    def judge(self):
        """The score of nested cross-validation, and the rows of the page: those of the fit, or 6,000 of them."""
        found, rows = self._cross_validate()
        n, model, given = len(self.model.rows_), self.model, None
        some = self._some_rows(n)
        if found is not None:
            own = found.forward and model.interval_method != "left-out"  # deviations grow with the distance ahead
            if found.residuals is not None and not own:
                stated = None if found.forward else found.deviations
                model.calibrate(found.target, found.predictions, stated, found.fold)
            given, spread = found.to_dict(), found.spread(rows, n).to_dict()
            self.score = {key: value for key, value in given.items() if key not in EACH_ROW}
            # left-out predictions of all rows of a large table would take five more fits
            given |= {key: spread[key] if spread[key] is None else [spread[key][i] for i in some] for key in EACH_ROW}
        table = self.frame[model.rows_[some]]
        self.notes = [*self.reading.notes, *self.notes, *(n for n in model.notes_ if n not in self.notes)]
        self.judged = JudgedRows(model.inputs(table), model.targets(table)[1], self._labels(table, some), n, given)

    def _labels(self, table, some):
        """What the rows of the page are called: by the column that names them, else by their number in the file."""
        labels = [str(row + 1) for row in self.order[self.model.rows_[some]]]
        own = (name for name, why in self.model.recipe_.ignored_.items() if "identifier" in why)
        names = next(own, None) if self.settings.id is None else self.settings.id
        if names is None:
            return labels
        return [text or f"row {label}" for text, label in zip(as_texts(table[names]), labels, strict=True)]

    def _some_rows(self, n):
        """The rows that judge a model, and that its page is about: all, or some drawn at random."""
        most, every = self.options.rows_judged, np.arange(n)
        return every if n <= most else np.sort(np.random.default_rng(self.settings.seed).choice(every, most, False))

    def _cross_validate(self):
        """(scores, the rows that judged among those of the fit); (None, None) where nothing is judged."""
        notes, fitted, settings = self.notes, self.model, self.settings
        if fitted.selection_ is not None and fitted.selection_.status == "time_budget":
            notes.append("the search was stopped when its share of the time budget was spent; the best so far is kept.")
        few = len(fitted.rows_) < LEAST_SCORED
        if few and not settings.no_score:
            notes.append(f"fewer than {LEAST_SCORED} rows: not judged by cross-validation.")
        if few or not self.folds:
            return None, None
        rows, table, outer, thinned = self._folds()
        options = {"outer": outer, "random_state": settings.seed, "listener": self.session.listener}
        try:
            with renumber_rows(np.arange(self.frame.height) if thinned else fitted.rows_[rows]):
                options |= self.budget.of_folds(self.fit_seconds)
                found = score(self.unfitted, table, fitted=fitted, **options)
                found = found.take(fitted.rows_) if thinned and found is not None else found
        except ValueError as error:  # of some rows: the model on all of them is there, and is kept
            notes.append(f"not judged by cross-validation, as a fit without some of the rows failed: {error}")
            return None, None
        if len(rows) < len(fitted.rows_) and found is not None:
            notes.append(
                f"judged on {len(rows):,} of {len(fitted.rows_):,} rows, drawn at random; with all of them it would "
                "rather be better."
            )
        if found is None:
            notes.append("the time budget was spent before a fold could begin: not judged by cross-validation.")
            return None, None
        if len(found.scores) < found.planned:
            notes.append(self._why_fewer_folds(len(found.scores), found.planned))
        return found, rows

    def _folds(self):
        """(rows among those of the fit, the table that is judged, its folds, whether the fit had fewer rows).

        Of a long series each fold has its own last rows, and the later half of those of the fit are judged.
        """
        fitted, folds = self.model, self.folds
        rows = self._some_rows(len(fitted.rows_))
        ordered, outer = self.series is not None, folds
        if self.settings.group is not None:
            outer = group_folds(self.settings, self.frame[fitted.rows_[rows]], folds, self.notes)
        thinned = ordered and self.even and len(fitted.rows_) < self.target_rows
        rows = np.arange(len(fitted.rows_)) if thinned else rows
        if ordered:
            outer = forward_folds(self.target_rows if thinned else len(rows), folds, len(rows) // (2 * folds))
        return rows, self.frame if thinned else self.frame[fitted.rows_[rows]], outer, thinned

    def _why_fewer_folds(self, done, planned):
        """A note on folds that there was no time for."""
        these = "this one" if done == 1 else f"these {done}"
        if self.budget.asked:
            return f"the time budget was spent after {done} of {planned} folds: the score is of {these}."
        return (
            f"each fold takes as long as the fit, and there was time for {done} of {planned} folds: the score is of "
            f"{these}; --time-budget gives more."
        )

    # ------------------------------------------------------------------------------------------------ the rest
    def rank_columns(self):
        """What matters, from a few rows."""
        from mercer.report import rank_columns

        table = self.frame[self.model.rows_[: self.options.rows_ranked]]
        X, y = self.model.inputs(table), self.model.targets(table)[1]
        return rank_columns(self.model.estimator_, X, y, self.model.feature_names_)

    def forecast_rows(self):
        """{column: values}: the next rows of the series, their predictions and intervals of 90 %."""
        if self.settings.forecast is None:
            return None
        frame = rows_ahead(self.model, self.settings.forecast)
        with not_of_data():  # that they are beyond the rows of the fit
            mean, ends = self.model.predict(frame), self.model.predict_interval(frame)
        found = round_columns({"prediction": mean, "lower": ends[:, 0], "upper": ends[:, 1]}, self.model)
        return frame.to_dict(as_series=False) | {name: values.tolist() for name, values in found.items()}
