"""Recipe: how the columns of a table become numbers, learnt once, kept as data, and said in words."""

import copy

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._parameters import Parametrised
from mercer._state import Stateful
from mercer._warn import warn
from mercer.exceptions import DataError, DataWarning
from mercer.kernels import Table
from mercer.tabular.cells import quote, suggest
from mercer.tabular.columns import as_frame, check_mixed, is_text, reason_to_ignore, suggest_object_kernel
from mercer.tabular.learn import (
    describe_categories,
    describe_numbers,
    features_of,
    fit_transformer,
    places_of,
    plain_of,
    restore_transformer,
)
from mercer.tabular.objects import describe_objects, values_of
from mercer.tabular.reads import CATEGORY, NUMBER, STRING, check_column
from mercer.tabular.sentinels import find_sentinels, mask_sentinels


class Recipe(Parametrised, TransformerMixin, Stateful, BaseEstimator):
    """frame ↦ X: numbers as (x − mean)/sd, categories as indicators, missing values by a stated rule.

    A `ColumnTransformer` of scikit-learn's own transformers does it, on columns that were made numbers or texts before.

    - A column of numbers is standardised. A missing number becomes the median; where the fit has seen missing ones, a
      column of 0 and 1 beside it says which. Truth values are 0 and 1. Dates are days after the first one.
    - A column of categories has an indicator for each level, or one column if there are two levels. A missing category
      is a level of its own. Of more than ``most_levels`` the rarest are one level, "(other)".
    - A category that was not seen in the fit is "(other)" where there is that level; else all its indicators are 0 (a
      half for two levels), which is equally far from all levels.
    - Columns that are constant, all missing, row numbers, or a different text in every row are left out.
    - Columns that a kernel reads as they are (``objects``) stay that: X is then a `mercer.kernels.Table`, numbers
      beside objects. A missing string is the empty string, a missing category one of its own.

    Parameters
    ----------
    ignore : sequence of str, default=()
        Columns to leave out.
    categorical : sequence of str, default=()
        Columns to treat as categories, whatever they hold.
    numeric : sequence of str, default=()
        Columns to treat as numbers, and to keep where they would be left out as row numbers.
    most_levels : int, default=30
        Levels of a column of categories, at most.

    Attributes
    ----------
    transformer_ : ColumnTransformer
        Of `StandardScaler`, `SimpleImputer`, `MissingIndicator`, `OrdinalEncoder` and `OneHotEncoder`.
    columns_ : list of dict
        One for each column that becomes numbers: name, role, and all that was learnt of it.
    objects_ : list of dict
        One for each column that a kernel reads as it is.
    feature_names_ : list of str
        Names of the columns of X: the numbers, then the objects.
    blocks_ : dict
        {column: numbers of the columns of X that came from it}.
    ignored_ : dict
        {column: why it is left out}.
    notes_ : list of str
        What was done, in words.

    Examples
    --------
    >>> import polars as pl
    >>> from mercer.tabular import Recipe
    >>> frame = pl.DataFrame({"age": [31, None, 52], "site": ["Bern", "Turin", "Bern"]})
    >>> recipe = Recipe().fit(frame)
    >>> recipe.feature_names_
    ['age', 'age (missing)', 'site = Turin']
    >>> recipe.transform(frame).round(3)
    array([[-1.,  0.,  0.],
           [ 0.,  1.,  1.],
           [ 1.,  0.,  0.]])
    """

    def __init__(self, *, ignore=(), categorical=(), numeric=(), most_levels=30): ...

    def __sklearn_clone__(self):
        """A frozen recipe stays what it is; its next fit learns moments only."""
        return self if "frozen_" in vars(self) else BaseEstimator.__sklearn_clone__(self)

    def frozen(self):
        """Return a copy whose ``fit`` learns means, deviations and medians alone: what the columns are stays.

        Examples
        --------
        >>> import polars as pl
        >>> from mercer.tabular import Recipe
        >>> frame = pl.DataFrame({"x": [1.0, 2.0, None, 8.0]})
        >>> again = Recipe().fit(frame).frozen().fit(frame[:2])
        >>> again.feature_names_, again.columns_[0]["centre"]
        (['x', 'x (missing)'], 1.5)
        """
        check_is_fitted(self)
        new = copy.copy(self)
        new.frozen_ = True
        return new

    def fit(self, X, y=None, *, objects=None, written=None, sentinels=None):
        """Learn what each column is.

        Parameters
        ----------
        X : data frame of polars or pandas, dict of columns, or array
            Without the target.
        y : default=None
            Not looked at.
        objects : dict, default=None
            {column: "string", "category", "number" or "graph"} of the columns that a kernel reads as they are. They
            become numbers too where they can, for the simple models that a model is compared with.
        written : dict, default=None
            ``Reading.written``: how dates with slashes, and units, were written in the file. It is kept, so that
            another file can be read alike.
        sentinels : dict, default=None
            ``Reading.sentinels``: {column: [[value, cells], …]} of numbers that stand for missing values, as -999 does
            where the others are 5 to 31. None finds them out, but for the columns of ``numeric``.

        Returns
        -------
        self
        """
        frame = as_frame(X)
        names = list(frame.columns)
        if "frozen_" in vars(self):
            self._check_columns(frame)
            new = copy.copy(self)
            del new.frozen_
            new._learn(frame, self.columns_)
            return new
        for given in ("ignore", "categorical", "numeric"):
            for name in getattr(self, given):
                if name not in frame.columns:
                    raise DataError(
                        f"{given}: there is no column {name!r}{suggest(name, names)} There are {quote(names)}."
                    )
        objects = {} if objects is None else objects
        written = {name: style for name, style in (written or {}).items() if isinstance(style, str)}
        for name in objects:
            check_column(name, [name for name in names if name not in self.ignore])
        columns, kept, ignored, notes = [], [], {}, []
        sentinels = find_sentinels(frame, notes, self.numeric) if sentinels is None else sentinels
        frame = mask_sentinels(frame, sentinels)
        for name in names:
            kind = objects.get(name)
            if kind is not None:
                kept.append(describe_objects(frame[name], kind, notes))
            why = "as asked" if name in self.ignore else self._why_ignored(frame[name], kind)
            if not why:
                if self._is_categorical(frame[name], kind):
                    columns.append(describe_categories(frame[name], self.most_levels, notes))
                else:
                    columns.append(describe_numbers(frame[name], notes, written.get(name), sentinels.get(name)))
            elif kind is None:
                ignored[name] = why
            else:
                notes.append(f"column {name!r} is read by the kernel alone; the simple models do not see it ({why}).")
        if not columns and not kept:
            reasons = "; ".join(f"{name!r}: {why}" for name, why in list(ignored.items())[:5])
            raise DataError(f"no column is left to learn from ({reasons or 'there is none beside the target'}).")
        self.objects_, self.ignored_ = kept, ignored
        self._learn(frame, columns)
        self.feature_names_, self.blocks_ = features_of(columns, kept)
        self.notes_ = [*notes, *(f"column {name!r} is left out: {why}." for name, why in ignored.items())]
        self.notes_ += self._offers(frame, objects)
        if not columns:
            self.notes_.append("there is no column of numbers: the mean is the only simple model to compare with.")
        return self

    def _learn(self, frame, columns):
        """Fit the transformer of some columns."""
        self.columns_, self.transformer_ = columns, None
        if columns:
            self.transformer_, self.columns_ = fit_transformer(plain_of(frame, columns, []), columns)

    def transform(self, X):
        """X of a table with the columns of the fit, in any order; others are ignored.

        Parameters
        ----------
        X : data frame of polars or pandas, dict of columns, or array
            With or without the target.

        Returns
        -------
        ndarray of shape (n, d), or Table
            A `mercer.kernels.Table` where a kernel reads objects.

        Warns
        -----
        DataWarning
            On categories that the fit has not seen, missing values where it saw none, and values far from its own.
        """
        check_is_fitted(self)
        frame, said = as_frame(X), []
        self._check_columns(frame)
        X = self._numbers_of(frame, said)
        if self.has_objects:
            X = {name: X[:, i] for i, name in enumerate(self.feature_names_[: X.shape[1]])}
            for kept in self.objects_:
                X[kept["feature"]] = values_of(frame[kept["name"]], kept, said)
            X = Table(X)
        for sentence in said:
            warn(sentence, DataWarning)
        return X

    def numbers(self, frame):
        """X of the columns that are numbers or can be made such: what a model on vectors can see of the table.

        Parameters
        ----------
        frame : polars.DataFrame
            A table with the columns of the fit.

        Returns
        -------
        ndarray of shape (n, d)
            Without objects the same as ``transform``; there may be no column.
        """
        check_is_fitted(self)
        self._check_columns(frame)
        return self._numbers_of(frame, [])

    def differences(self, frame, target=None):
        """Return the columns of a table that the fit did not have; columns that are missing are an error.

        Parameters
        ----------
        frame : polars.DataFrame
            The table that is compared with that of the fit.
        target : str, default=None
            A column that is no difference.

        Returns
        -------
        list of str
        """
        self._check_columns(frame)
        known = {column["name"] for column in self.used} | set(self.ignored_) | {target}
        return [name for name in frame.columns if name not in known]

    # ------------------------------------------------------------------------------------------ columns
    @property
    def has_objects(self):
        """Whether a kernel reads some columns as they are, so that X is a table."""
        return bool(getattr(self, "objects_", None))

    @property
    def object_names(self):
        """{column: its name in X} of the columns that a kernel reads as they are."""
        return {kept["name"]: kept["feature"] for kept in self.objects_} if self.has_objects else {}

    @property
    def number_names(self):
        """Columns of X that are numbers, without those of columns that a kernel reads as they are."""
        blocks = (place for name, place in self.blocks_.items() if name not in self.object_names)
        return [self.feature_names_[i] for place in blocks for i in place]

    @property
    def units(self):
        """{column of X: (centre, scale)}: what numbers were standardised with; of days "date" is the third."""
        numeric = {self.feature_names_[self.blocks_[c["name"]][0]]: c for c in self.columns_ if c["role"] == "numeric"}
        return {
            name: (c["origin"] + c["centre"], c["scale"], *(["date"] if c["kind"] == "date" else []))
            for name, c in numeric.items()
        }

    @property
    def used(self):
        """What is kept of each column, once: as an object where a kernel reads it so."""
        objects = self.objects_ if self.has_objects else []
        return [*(column for column in self.columns_ if column["name"] not in self.object_names), *objects]

    def _numbers_of(self, frame, said):
        """The numbers of the columns; of a column that a kernel reads as it is, the kernel's words count."""
        X = np.empty((frame.height, sum(map(len, self.blocks_.values()))))
        if self.columns_:
            plain = plain_of(frame, self.columns_, said, self.object_names)
            X[:, places_of(self.columns_, self.blocks_)] = self.transformer_.transform(plain)
        return X

    @property
    def sentinels(self):
        """{column: [[value, cells], …]} of the numbers that stand for missing values."""
        return {kept["name"]: kept["sentinels"] for kept in self.columns_ if "sentinels" in kept}

    # ------------------------------------------------------------------------------------------- files
    def state(self):
        """Return {name: value} of what a file keeps: of the transformer all is in ``columns_``."""
        return {name: value for name, value in super().state().items() if name != "transformer_"}

    def _restore(self, state):
        super()._restore(state)
        if "columns_" in state:
            self.transformer_ = restore_transformer(self.columns_) if self.columns_ else None

    # ---------------------------------------------------------------------------------------- learning
    def _offers(self, frame, objects):
        """A sentence for each column of text that a kernel could read as it is."""
        texts = [name for name in frame.columns if is_text(frame[name]) and name not in {*objects, *self.ignore}]
        found = {name: suggest_object_kernel(frame[name]) for name in texts}
        return [
            f"column {name!r} looks like {what[0]}: --kernel '{what[1]}' reads it."
            for name, what in found.items()
            if what is not None
        ]

    def _why_ignored(self, column, kind=None):
        """Why a column is left out, or None; text that is mostly numbers is refused, unless a kernel reads it."""
        if kind is not None and kind not in (CATEGORY, NUMBER):
            return reason_to_ignore(column) if kind == STRING else "it holds graphs"
        forced = column.name in self.categorical or column.name in self.numeric
        if is_text(column) and not forced and kind is None:
            check_mixed(column)
        return reason_to_ignore(column, forced)

    def _is_categorical(self, column, kind=None):
        """Whether a column is one of categories."""
        if column.name in self.categorical or kind == CATEGORY:
            return True
        return is_text(column) and column.name not in self.numeric and kind != NUMBER

    def _check_columns(self, frame):
        """DataError with the columns that are missing."""
        used = [column["name"] for column in self.used]
        missing = [name for name in used if name not in frame.columns]
        if missing:
            end = suggest(missing[0], [name for name in frame.columns if name not in used])
            raise DataError(
                f"the table has no column {quote(missing)}, which the model needs{end} It has {quote(frame.columns)}."
            )
