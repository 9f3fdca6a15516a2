"""TableModel: a recipe and an estimator, fitted together on a table and used on others."""

import warnings

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._clock import Clock
from mercer.estimators import KernelEstimator, TransformedTarget
from mercer.exceptions import DataError
from mercer.kernels import Kernel
from mercer.selection.judging import quietly
from mercer.selection.kernels_search import stand_in
from mercer.selection.kernels_search.found import ENDED, in_columns
from mercer.tabular.cells import listed, meant, numbered
from mercer.tabular.columns import as_frame, as_values, is_text, usable_rows
from mercer.tabular.forecast import drawn
from mercer.tabular.kernels import automatic, listen, on_columns, prepared
from mercer.tabular.objects import check_readable, read_as_is
from mercer.tabular.reads import GRAPH, STRING
from mercer.tabular.recipe import Recipe
from mercer.tabular.sentinels import found_in, without
from mercer.tabular.shapes import hint
from mercer.tabular.spelling import matched
from mercer.uncertainty import LeftOutErrors

CHOOSING = 0.6  # of the time of a classifier, where it chooses on some of the rows; the rest is for all of them
INVERSE_UP_TO = 5000  # rows of which the inverse is made for intervals


class TableModel(KernelEstimator):
    """frame ↦ X ↦ f(X): a `Recipe` and an estimator, fitted on the rows of a table that have a target.

    Parameters
    ----------
    estimator : estimator
        Of `mercer`. A kernel of None is `default_kernel`, "auto" what a search over expressions finds
        (`mercer.selection.search_kernels`); a kernel may name columns, ``Gaussian().on("age")``, and read what they
        hold: ``Spectrum(3).on("sequence")``.
    recipe : Recipe, default=None
        None is ``Recipe()``.
    target : str, default=None
        Name of the column to be predicted; None is the last one.
    search_rows : int, default=2000
        Most rows on which hyper-parameters are chosen. With more, they are chosen on so many, drawn in the same way;
        the model is fitted on all rows with them; λ means the same for any number of rows.
    fit_rows : int, default=None
        Most rows on which the model is fitted, drawn at random, or of a series its last ones; None is all.
    optimize : {"all", "lam"}, default="all"
        For losses whose length scales a ridge regression chooses (`SVR`, `KernelMachine`): whether it does, or the
        kernel stays.
    target_transform : str or Target, default=None
        The ``target`` of a `mercer.TransformedTarget` around the estimator: "auto", "log", …; None is none.
    random_state : int, default=0

    Attributes
    ----------
    estimator_ : estimator
        Fitted on the columns of X.
    recipe_, target_ : Recipe, str
        What is made of the columns, and the name of the one that is predicted.
    feature_names_ : list of str
        Names of the columns of X; of a table with objects, those that the kernel reads.
    rows_ : ndarray of int
        Rows of the table that the model was fitted on.
    selection_ : SearchResult or None
        How the hyper-parameters were chosen.
    text_columns_ : list of str
        Columns, the target among them, that were text: another table of the kind is to be read with these as text.
    target_spread_ : float
        Standard deviation of the target; 1 for labels.
    left_out_ : mercer.uncertainty.LeftOutErrors or None
        Errors on rows that were left out, which intervals are made of; set by `calibrate`.
    notes_ : list of str
        What was done, in words.
    sentinels_ : dict
        {column: [[value, cells], …]} of numbers that stand for missing values, as -999 does; of the target, too.

    Examples
    --------
    >>> import polars as pl
    >>> from mercer import KernelRidge
    >>> from mercer.datasets import load_cars
    >>> from mercer.tabular import TableModel
    >>> cars = load_cars()
    >>> frame = pl.DataFrame({"speed": cars.data[:, 0], "dist": cars.target})
    >>> model = TableModel(KernelRidge(criterion="loo"), target="dist").fit(frame)
    >>> bool(20 < model.predict(pl.DataFrame({"speed": [12.0]}))[0] < 40)
    True
    """

    state_fields = {"estimator_": (RegressorMixin, ClassifierMixin), "recipe_": Recipe,
                    "left_out_": (LeftOutErrors, None)}  # fmt: skip
    state_version = 2

    def __init__(self, estimator, recipe=None, *, target=None, search_rows=2000, fit_rows=None, optimize="all",
                 target_transform=None, random_state=0): ...  # fmt: skip

    def fit(self, X, y=None, *, listener=None, written=None, sentinels=None):
        """Learn the recipe, choose what is open, and fit.

        Parameters
        ----------
        X : data frame of polars or pandas, dict of columns, or array
            With the target, if there is no y.
        y : array-like of shape (n,), default=None
        listener : callable, default=None
            Called after each evaluation of a search; a true answer stops it.
        written : dict, default=None
            ``Reading.written``: how cells were written in the file.
        sentinels : dict, default=None
            ``Reading.sentinels``: numbers that stand for missing values; None finds them out.

        Returns
        -------
        self
        """
        frame, target = self.table_of(X, y)
        notes: list = []
        if sentinels is None:
            sentinels = found_in(frame, notes, () if self.recipe is None else self.recipe.numeric)
            frame = without(frame, sentinels)
        rows, y = usable_rows(frame, target, is_classifier(self.estimator), notes)
        rng, recipe = np.random.default_rng(self.random_state), Recipe() if self.recipe is None else clone(self.recipe)
        if self.fit_rows is not None and len(rows) > self.fit_rows:
            with numbered(rows):
                table = frame[rows].drop(target)
                known = quietly(clone(recipe).fit(table, written=written, sentinels=sentinels).transform, table)
            chosen, how = drawn(known, self.fit_rows, rng, not is_classifier(self.estimator))
            notes.append(f"fitted on {self.fit_rows:,} of {len(rows):,} rows, {how}.")
            rows, y = rows[chosen], y[chosen]
        table = frame[rows].drop(target)
        with numbered(rows), warnings.catch_warnings():
            objects = read_as_is(self.estimator.kernel, recipe, table, target)
            recipe = recipe.fit(table, objects=objects, written=written, sentinels=sentinels)
            estimator = on_columns(self.estimator, recipe, len(y))
            warnings.simplefilter("ignore")  # a table does not differ from itself
            Z = recipe.transform(table)
            if recipe.has_objects:
                one = isinstance(estimator.kernel, Kernel)
                every = [*recipe.number_names, *recipe.object_names.values()]
                Z = Z[estimator.kernel.named_columns() if one else every]
                check_readable(estimator.kernel if one else stand_in(Z), Z)
        with warnings.catch_warnings():
            if automatic(estimator):
                warnings.filterwarnings("ignore", f".*{ENDED}")  # said below, by the names of the columns
            self.estimator_, self.selection_ = self._chosen(estimator, Z, y, rng, notes, listener)
        chosen = automatic(estimator) and self.selection_ is not None and self.selection_.candidates
        if chosen and recipe.has_objects:
            self.selection_.warn()
        elif chosen:
            scale = np.array([recipe.units.get(name, (0.0, 1.0))[1] for name in recipe.feature_names_])
            in_columns(self.selection_, recipe.feature_names_, scale, np.maximum(Z.std(axis=0), 1e-12)).warn()
        self.recipe_, self.target_, self.rows_, self.left_out_ = recipe, target, rows, None
        self.target_spread_ = 1.0 if y.dtype.kind == "U" else float(np.std(y))
        self.feature_names_ = Z.columns if recipe.has_objects else list(recipe.feature_names_)
        used = (column["name"] for column in recipe.used)
        self.text_columns_ = [name for name in (*used, target) if is_text(frame[name])]
        self.notes_, self.sentinels_ = [*recipe.notes_, *notes], sentinels
        return self

    def table_of(self, X, y=None):
        """Return (table with its target, name of the target): of X alone, or with y as its last column."""
        import polars as pl

        if y is not None:
            target = self.target or getattr(y, "name", None) or "y"
            return as_frame(X).drop(target, strict=False).with_columns(pl.Series(target, as_values(y))), target
        frame = as_frame(X)
        target = frame.columns[-1] if self.target is None else self.target
        if target not in frame.columns:
            shape = hint(frame, target)
            raise DataError(
                f"there is no column {target!r}{meant(target, frame.columns)} The table has {listed(frame.columns)}."
                + (f" But {shape}" if shape else "")
            )
        return frame, target

    def __sklearn_tags__(self):
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.classifier_tags = own.estimator_type, own.classifier_tags
        tags.regressor_tags, tags.target_tags = own.regressor_tags, own.target_tags
        return tags

    @property
    def kernel_(self):
        """The kernel on the columns that the recipe makes."""
        return self.estimator_.kernel_

    @property
    def our_kernel_(self):
        """The same, as one of `mercer.kernels`."""
        return self.estimator_.our_kernel_

    @property
    def lam_(self):
        """λ of the estimator."""
        return self.estimator_.lam_

    @property
    def classes_(self):
        """Of a classifier."""
        return self.estimator_.classes_

    def frozen(self, rows=None):
        """Return an unfitted clone with what was learnt fixed: kernel and λ, and what each column is.

        Parameters
        ----------
        rows : array-like of int, default=None
            The training rows that it will be fitted on.

        Returns
        -------
        TableModel
        """
        check_is_fitted(self)
        estimator, known = self.estimator_.frozen(rows), {"recipe": self.recipe_.frozen()}
        if self.target_transform is not None:
            estimator, known["target_transform"] = estimator.estimator, estimator.target
        return clone(self).set_params(estimator=estimator, **known)

    def readable(self, X):
        """Return the columns that are numbers, or can be made such."""
        return self.recipe_.numbers(as_frame(X))

    def score(self, X, y, sample_weight=None):
        """Return R² or accuracy: the score of the estimator.

        Parameters
        ----------
        X : data frame
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        float
        """
        return self.estimator_.score(self.inputs(X), as_values(y), sample_weight)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X):
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : data frame

        Returns
        -------
        ndarray of shape (n, C)
        """
        return self.estimator_.predict_proba(self.inputs(X))

    @property
    def probabilistic(self):
        """Whether ``predict(X, return_std=True, noisy=True)`` has deviations of new targets."""
        return self.estimator_.probabilistic

    def predict(self, X, **options):
        """Return f of each row of a table, in its order.

        Parameters
        ----------
        X : data frame
            With the columns of the fit, in any order.
        **options
            Of ``predict`` of the estimator, such as ``return_std`` of a process.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.estimator_.predict(self.inputs(X), **options)

    def inputs(self, frame):
        """Return X of a table, checked to be what the kernel reads.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows that the kernel cannot read are an error that names them.

        Returns
        -------
        ndarray of shape (n, d), or Table
        """
        check_is_fitted(self)
        X = self.recipe_.transform(as_frame(frame))
        if self.recipe_.has_objects:
            X = X[self.feature_names_]
            check_readable(self.estimator_.kernel_, X)
        return X

    @property
    def string_columns(self):
        """Columns that the kernel reads as strings: another table is to be read with these as they stand."""
        check_is_fitted(self)
        objects = self.recipe_.objects_ if self.recipe_.has_objects else []
        return [kept["name"] for kept in objects if kept["kind"] in (STRING, GRAPH)]

    @property
    def written(self):
        """{column: how its dates with slashes, or its units, were written}: another table is to be read alike."""
        check_is_fitted(self)
        return {kept["name"]: kept["style"] for kept in self.recipe_.columns_ if "style" in kept}

    def targets(self, frame, notes=None):
        """Return (rows, y): the rows of a table that have a target, and the targets.

        Parameters
        ----------
        frame : polars.DataFrame
            A table with a column of the target.
        notes : list, default=None
            Gets a sentence where rows have none.

        Returns
        -------
        ndarray of int, ndarray
        """
        check_is_fitted(self)
        if self.target_ not in frame.columns:
            raise DataError(f"the table has no column {self.target_!r}, the target{meant(self.target_, frame.columns)}")
        said = [] if notes is None else notes
        rows, y = usable_rows(frame, self.target_, is_classifier(self.estimator_), said, least=1)
        if is_classifier(self.estimator_):
            same = matched({*y.tolist()}, [*map(str, self.classes_)])
            y = np.array([same.get(label, label) for label in y.tolist()], dtype=str)
        return rows, y

    def predict_interval(self, X, coverage=0.9):
        """[low, high] of each row: see `interval_method` for how.

        Parameters
        ----------
        X : data frame
        coverage : float, default=0.9
            The share of new targets that are to lie inside.

        Returns
        -------
        ndarray of shape (n, 2)
            Infinite, with a warning, where the model has seen too few rows for the coverage.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage}.")
        X, method = self.inputs(X), self.interval_method
        if self.left_out_ is not None:
            return self.left_out_.interval_of(self.estimator_, X, coverage)
        other = {} if method == self.estimator_.interval_method else {"method": method}
        return self.estimator_.predict_interval(X, coverage, **other)

    @property
    def interval_method(self):
        """How intervals are made: "left-out", "gaussian", "conformal", …; an error for a classifier.

        "left-out": the prediction ± a quantile of the errors on rows left out, of fits that chose everything again
        (`calibrate`), else of those that the model itself leaves out with kernel and λ held. Without `calibrate` it is
        what the estimator does: "gaussian" from the posterior of a process; "calibrated" with as many deviations as
        rows left out ask for; "mixture" and "mapped" from quantiles; "conformal" from the fits without each row (kernel
        ridge regression up to 5000 rows).
        """
        check_is_fitted(self)
        if is_classifier(self.estimator_):
            raise DataError("a classifier has probabilities, not intervals; leave --interval away.")
        method = self.estimator_.interval_method
        few = self.estimator_.linear and len(self.estimator_.points_) <= INVERSE_UP_TO
        return "left-out" if self.left_out_ is not None or (method == "conformal" and not few) else method

    def calibrate(self, y, predicted, std=None, fold=None):
        """Keep the errors on rows that were left out, for intervals; rows without a prediction are dropped.

        Parameters
        ----------
        y : array-like of shape (n,)
            Targets of rows that the fit had not seen.
        predicted : array-like of shape (n,)
            What it predicted for them; nan where nothing is known.
        std : array-like of shape (n,), default=None
            The deviations of the targets, noise included, that it stated beside.
        fold : array-like of shape (n,), default=None
            Which fold each row was left out with.
        """
        self.left_out_ = LeftOutErrors.of(self.estimator_, y, predicted, std, fold)
        return self

    @classmethod
    def migrate(cls, version, state):
        """Return the state of today: of the first version residuals were an array, of any model."""
        residuals, used = state.get("left_out_"), state["estimator_"].interval_method in ("left-out", "conformal")
        return state | {"left_out_": LeftOutErrors(residuals) if used and residuals is not None else None}

    # --------------------------------------------------------------------------------------- fitting
    def _chosen(self, estimator, X, y, rng, notes, listener):
        """(fitted estimator, how it chose): with many rows the choice is made on some of them."""
        rows, how = np.arange(len(y)), ""
        if len(y) > self.search_rows:
            rows, how = drawn(X, self.search_rows, rng, not is_classifier(estimator))
        options = {"own": self.estimator.kernel is None, "optimize": self.optimize, "listener": listener}
        estimator = prepared(estimator, X[rows], y[rows], notes, **options)
        if self.target_transform is not None:
            estimator = TransformedTarget(estimator, self.target_transform)
        clock, part = Clock(estimator.get_params().get("time_budget")), len(rows) < len(y) and is_classifier(estimator)
        first = clone(estimator)
        if part and clock.limited:
            first.set_params(time_budget=CHOOSING * clock.left)
        first = listen(first, listener).fit(X[rows], y[rows])
        first.__dict__.pop("_skl_callbacks", None)  # they do not belong to the model
        if len(rows) == len(y):
            return first, first.selection_
        if first.selection_ is not None:
            notes.append(
                f"hyper-parameters were chosen on {len(rows):,} of {len(y):,} rows, {how}; the model is fitted on all "
                "of them."
            )
        last = first.frozen()
        if part and clock.limited:
            last.set_params(time_budget=clock.budget)
        return last.fit(X, y), first.selection_
