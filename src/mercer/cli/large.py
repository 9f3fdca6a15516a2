"""``mercer fit`` of tables larger than memory: two readings, a fit on landmarks, and rows held out that judge it."""

import os
from contextlib import nullcontext

from mercer.cli._budget import JobOptions, SearchLimits
from mercer.cli._job import FitJob, JudgedRows
from mercer.cli._options import AUTO, LABELS, criterion_name, make_estimator, model_name, seconds, strings_of
from mercer.cli._tables import as_recipe, check_names, check_target, written_as

MODELS = {"auto", "ridge", "gp", "huber", "poisson", "logistic"}  # which are fitted on landmarks
CRITERIA = {"auto", "loo", "gcv", "evidence"}
SOUGHT = {"auto", "evidence"}  # by which kernels are searched for
WHOLE = ("max_rows", "id", "group", "time", "forecast", "target_transform", "skip_lines", "sheet", "fill_down")
WAITED, SECONDS = 100_000, 60.0  # rows up to which somebody waits for the fit, and how long, where nothing is said
GROUPS = 5  # of the rows that judge: how far their scores differ


def pages_of(settings, kernel):
    """`Pages` of a table that is large, or of several files; None for a table that is read as a whole."""
    plain = kernel is None or (kernel != AUTO and not strings_of(kernel, settings.target))
    more = any(getattr(settings, name) is not None for name in WHOLE)
    if more or not plain or settings.model not in MODELS or settings.criterion not in CRITERIA:
        return None
    return batches_of(settings, settings.options[JobOptions].rows_in_batches)


def batches_of(settings, least, missing=()):
    """`Pages` of several files, or of a table with so many rows; None for one that is read as a whole.

    ``missing`` are words for a missing value beside those of the option.
    """
    from mercer.tabular.pages import BatchOptions, Pages, is_readable_in_batches, is_text, lines_about

    if not is_readable_in_batches(settings.data):
        return None
    several = not os.path.isfile(settings.data)
    if not several and os.path.getsize(settings.data) < least:
        return None
    if not several and is_text(settings.data) and lines_about(settings.data) < least:
        return None
    options = written_as(settings) | {"missing": (*(settings.missing or ()), *missing)}
    options["target"] = vars(settings).get("target")
    pages = Pages(settings.data, header=not settings.no_header, options=settings.options[BatchOptions], **options)
    return pages if several or pages.about() >= least else None


def searches(settings, kernel):
    """Whether nothing that was asked for is in the way of a search over kernels."""
    asked = settings.quick or settings.fix_kernel or settings.dask is not None or kernel not in (None, AUTO)
    least, text = settings.options[SearchLimits].least_seconds, settings.time_budget
    long = text is None or seconds(text, "--time-budget") >= least
    return not asked and long and settings.model in ("auto", "ridge", "gp") and settings.criterion in SOUGHT


def begins_series(settings, pages):
    """Whether the first rows of one table are a series, and nothing but their time is read."""
    if len(pages.paths) > 1:
        return False
    _, frame = next(iter(pages))
    return settings.target in frame.columns and continues(settings, pages.infer_types(frame[:1000]))


def continues(settings, frame):
    """Whether the rows are a series along the one column that is read beside the target."""
    from mercer.tabular.forecast import series_along

    table = frame.drop(settings.target)
    recipe = as_recipe(settings).fit(table)
    return len(recipe.used) == 1 and series_along(recipe, table) is not None


class BatchJob(FitJob):
    """A fit to a table that is read twice, in batches, judged by rows that are held out."""

    def __init__(self, settings, kernel, pages):
        super().__init__(settings, kernel)
        self.pages = pages

    def workers(self):
        """A block with the workers of --dask, or with None."""
        if self.settings.dask is None or self.settings.dry_run:
            return nullcontext()
        from mercer.sources.cluster import cluster

        return cluster(self.settings.dask)

    def read(self):
        """Read the table once, for its types, levels and scales."""
        from mercer.tabular.large import survey

        settings, session = self.settings, self.session
        tick = session.rows("first reading")
        self.found = survey(self.pages, settings.categorical or (), tick, settings.numeric or ())
        session.say(f"first reading: {self.found.rows:,} rows in {session.seconds:.1f} s.")
        check_target(self.found.frame, settings.target)
        check_names(settings, self.found.frame, labels=True)
        self.notes, self.sha256 = list(self.found.notes), self.pages.digest()
        self.rows = self.target_rows = self.found.rows

    def choose(self):
        """The unfitted estimator on landmarks, with a kernel that reads the columns of X."""
        from mercer.tabular.cells import renumber_rows
        from mercer.tabular.large import rows_held

        settings, found = self.settings, self.found
        self.name = model_name(settings, found.frame[settings.target], self.notes)
        if self.name == "gpc":
            self.name, instead = "logistic", "kernel logistic regression is fitted"
            self.notes[-1] = self.notes[-1].replace("a classifier is fitted (--model gpc)", instead)
        self.criterion = criterion_name(settings, self.name)
        with renumber_rows(found.place):
            known = {"written": found.styles, "sentinels": found.sentinels}
            self.recipe = as_recipe(settings).fit(found.frame.drop(settings.target), **known)
        self.search_rows = settings.options[SearchLimits].rows_in_batches
        self.estimator = self._estimator()
        if settings.dry_run:
            self.plan = self.estimator.plan(found.rows, len(self.recipe.feature_names_))
            self.held = rows_held(found.rows, self.pages.options) // 2  # the other half is for intervals

    def _estimator(self):
        """The estimator of the name that was chosen; "auto" takes all rows as one array, where a process can."""
        from mercer import Landmarks
        from mercer.kernels import Matern32
        from mercer.tabular import default_kernel, place_kernel

        if self.kernel is None:
            kernel = default_kernel(self.recipe, self.rows, Matern32)
            kernel = 1.0 * kernel if self.name == "gp" else kernel
        else:
            kernel = place_kernel(self.kernel, self.recipe)
        estimator = make_estimator(self.settings, self.name, self.criterion, kernel, self.budget)
        many = self.rows >= self.options.rows_at_once and self.rows * len(self.recipe.feature_names_) <= 10**8
        at_once = self.name == "gp" and self.settings.dask is None and many
        approximation = "auto" if at_once else Landmarks(random_state=self.settings.seed)
        return estimator.set_params(approximation=approximation, time_budget=self._seconds())

    def _seconds(self):
        """Seconds for the fit; None for as many as it takes."""
        left = self.budget.left
        if left is not None:
            return max(min(self.options.batch_share * left, left - self.budget.after), 1.0)
        return SECONDS if self.rows <= WAITED else None

    def fit(self):
        """Read the table again, as numbers, and fit the model."""
        import numpy as np
        from sklearn.base import clone

        from mercer.tabular.kernels import choose_first, listen
        from mercer.tabular.large import as_model

        session = self.session
        data, converter = self._read_numbers()
        estimator = clone(self.estimator).set_params(time_budget=self._seconds())
        y, classes = data.y, None
        if self.name in LABELS:
            classes, y = np.unique(y, return_inverse=True)
        some = np.sort(np.random.default_rng(0).choice(len(y), min(self.search_rows, len(y)), replace=False))
        options = {"own": self.kernel is None, "optimize": estimator.optimize, "listener": session.listener}
        estimator = choose_first(estimator, np.asarray(data.X[some], dtype=float), y[some], self.notes, **options)
        session.say(f"{self.title} on {len(y):,} rows; {len(data.y_held):,} more are held out, to judge it …")
        session.stages(1)
        whole = isinstance(estimator.approximation, str)
        rows = (np.asarray(data.X, dtype=float), y) if whole else (data.source(classes), None)
        fitted = listen(clone(estimator), session.listener).fit(*rows)
        fitted.__dict__.pop("_skl_callbacks", None)
        if classes is not None:
            fitted.classes_ = classes
        session.clear()
        words = fitted.fit_report_.get("approximation", {"words": "all rows are fitted exactly."})["words"]
        session.say(f"{words} ({session.seconds:.0f} s so far)")
        if data.there is not None:
            self.notes.append(f"the rows were read and summed by {fitted.fit_report_['engine']}.")
        spread = 1.0 if self.name in LABELS else float(data.y.std())
        target, held = self.settings.target, data.held[1::2]
        self.data, self.model = data, as_model(estimator, fitted, converter, target, held, self.notes, spread)

    def _read_numbers(self):
        """(numbers of all rows, what converts a table to them)."""
        from mercer.tabular.large import Converter, make_numbers

        session, target = self.session, self.settings.target
        converter = Converter(self.pages, self.found, self.recipe, target, self.name in LABELS)
        tick = session.rows("second reading", self.rows)
        data = make_numbers(converter, memory=self.budget.memory, tick=tick, workers=self.crew)
        if data.dropped:
            self.notes.append(f"{data.dropped:,} rows without a target {target!r} dropped.")
        columns = len(self.recipe.feature_names_)
        session.say(f"second reading: {columns} columns of numbers in {session.seconds:.1f} s.")
        return data, converter

    def judge(self):
        """Judge the model by one half of the rows held out; the other half is what intervals are made of."""
        labels, model, data = self.name in LABELS, self.model, self.data
        X, y = data.X_held[1::2], data.y_held[1::2]
        if not labels and model.interval_method == "left-out":
            half = slice(None, None, 2)
            model.calibrate(data.y_held[half], model.estimator_.predict(data.X_held[half]))
        predicted, some, n = model.estimator_.predict(X), slice(self.options.rows_held_shown), len(data.y)
        self.score, self.notes = self._score(predicted, X, y, labels), list(model.notes_)
        rows = [str(row + 1) for row in model.rows_[some]][: len(y)]
        note = f"this page is about {len(rows):,} rows, which the fit on {n:,} has not seen."
        scores = self.score | {"predictions": predicted[some]}
        self.judged = JudgedRows(X[some], y[some], rows, n, scores, seen=False, notes=[note])

    def _score(self, predicted, X, y, labels):
        """The model and simple ones on rows held out."""
        import numpy as np

        from mercer.selection.judging import measure, predict_simply, simple_models

        data, most = self.data, self.options.rows_simple
        some = np.sort(np.random.default_rng(0).choice(len(data.y), min(most, len(data.y)), replace=False))
        part, target = np.asarray(data.X[some], dtype=float), data.y[some]

        def judged(values):
            groups = [measure(y[g::GROUPS], values[g::GROUPS], labels)["score"] for g in range(GROUPS)]
            return measure(y, values, labels) | {"scores": groups}

        others = [{"name": name, **judged(predict_simply(model, part, target, X))}
                  for name, model in simple_models(labels, len(some), X.shape[1]).items()]  # fmt: skip
        this = judged(predicted)
        return {
            "how": f"{len(y):,} rows held out", "scoring": "accuracy" if labels else "r2", "score": this["score"],
            "standard_error": this["error"], "scores": this["scores"], "baselines": others, "optimism": None,
            **({} if labels else {"rmse": this["rmse"], "mae": this["mae"]}),
        }  # fmt: skip

    def read_test(self):
        """The test table, its cells written as those of the fit."""
        model = self.model
        return super().read_test(text=tuple(model.text_columns_), written=model.written, sentinels=model.sentinels_)
