"""TableModel: a recipe and an estimator, fitted together on a table and used on others."""

import warnings

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from mercer._clock import Clock
from mercer.estimators import TransformedTarget
from mercer.exceptions import DataError
from mercer.kernels import Kernel
from mercer.selection.judging import quietly
from mercer.selection.kernels_search import stand_in
from mercer.selection.kernels_search.found import ENDED, in_columns
from mercer.tabular.cells import quote, renumber_rows, suggest
from mercer.tabular.columns import as_frame, as_values, is_text, usable_rows
from mercer.tabular.fitted import FittedTable
from mercer.tabular.forecast import draw_rows
from mercer.tabular.kernels import choose_first, is_auto, listen, on_columns
from mercer.tabular.objects import check_readable, columns_read_as_is
from mercer.tabular.recipe import Recipe
from mercer.tabular.sentinels import find_sentinels, mask_sentinels
from mercer.tabular.shapes import hint
from mercer.uncertainty import LeftOutErrors


class TableModel(FittedTable):
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
            sentinels = find_sentinels(frame, notes, () if self.recipe is None else self.recipe.numeric)
            frame = mask_sentinels(frame, sentinels)
        rows, y = usable_rows(frame, target, is_classifier(self.estimator), notes)
        rng, recipe = np.random.default_rng(self.random_state), Recipe() if self.recipe is None else clone(self.recipe)
        if self.fit_rows is not None and len(rows) > self.fit_rows:
            with renumber_rows(rows):
                table = frame[rows].drop(target)
                known = quietly(clone(recipe).fit(table, written=written, sentinels=sentinels).transform, table)
            chosen, how = draw_rows(known, self.fit_rows, rng, not is_classifier(self.estimator))
            notes.append(f"fitted on {self.fit_rows:,} of {len(rows):,} rows, {how}.")
            rows, y = rows[chosen], y[chosen]
        table = frame[rows].drop(target)
        with renumber_rows(rows), warnings.catch_warnings():
            objects = columns_read_as_is(self.estimator.kernel, recipe, table, target)
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
            if is_auto(estimator):
                warnings.filterwarnings("ignore", f".*{ENDED}")  # said below, by the names of the columns
            self.estimator_, self.selection_ = self._chosen(estimator, Z, y, rng, notes, listener)
        chosen = is_auto(estimator) and self.selection_ is not None and self.selection_.candidates
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
                f"there is no column {target!r}{suggest(target, frame.columns)} The table has {quote(frame.columns)}."
                + (f" But {shape}" if shape else "")
            )
        return frame, target

    def __sklearn_tags__(self):
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.classifier_tags = own.estimator_type, own.classifier_tags
        tags.regressor_tags, tags.target_tags = own.regressor_tags, own.target_tags
        return tags

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

    # --------------------------------------------------------------------------------------- fitting
    def _chosen(self, estimator, X, y, rng, notes, listener):
        """(fitted estimator, how it chose): with many rows the choice is made on some of them."""
        rows, how = np.arange(len(y)), ""
        if len(y) > self.search_rows:
            rows, how = draw_rows(X, self.search_rows, rng, not is_classifier(estimator))
        options = {"own": self.estimator.kernel is None, "optimize": self.optimize, "listener": listener}
        estimator = choose_first(estimator, X[rows], y[rows], notes, **options)
        if self.target_transform is not None:
            estimator = TransformedTarget(estimator, self.target_transform)
        clock, part = Clock(estimator.get_params().get("time_budget")), len(rows) < len(y) and is_classifier(estimator)
        first = clone(estimator)
        if part and clock.limited:
            first.set_params(time_budget=0.6 * clock.left)  # the rest is for the fit to all rows
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
