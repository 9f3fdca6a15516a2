"""Recipe: how the columns of a table become numbers, learnt once, kept as data, and said in words."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.exceptions import DataError, DataWarning
from mercer.tabular import _drift
from mercer.tabular._columns import GONE, OTHER, as_floats, as_texts, check_mixed, is_text, kind_of, why_ignored
from mercer.tabular._words import count, listed, meant


class Recipe(BaseEstimator):
    """frame ↦ X: numbers as (x − mean)/sd, categories as indicators, missing values by a stated rule.

    - A column of numbers is standardised. A missing number becomes the median; where the fit has seen missing ones, a
      column of 0 and 1 beside it says which. Truth values are 0 and 1. Dates are days after the first one.
    - A column of categories has an indicator for each level, or one column if there are two levels. A missing category
      is a level of its own. Of more than ``most_levels`` the rarest are one level, "(other)".
    - A category that was not seen in the fit is "(other)" where there is that level; else all its indicators are 0 (a
      half for two levels), which is equally far from all levels.
    - Columns that are constant, all missing, row numbers, or a different text in every row are left out.

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
    columns_ : list of dict
        One for each column that is used: name, role, and what ``transform`` needs.
    feature_names_ : list of str
        Names of the columns of X.
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

    def __init__(self, *, ignore=(), categorical=(), numeric=(), most_levels=30):
        self.ignore = ignore
        self.categorical = categorical
        self.numeric = numeric
        self.most_levels = most_levels

    def fit(self, frame, target=None):
        """Learn what each column is.

        Parameters
        ----------
        frame : polars.DataFrame
        target : str, default=None
            A column that is not an input.

        Returns
        -------
        self
        """
        names = [name for name in frame.columns if name != target]
        for given in ("ignore", "categorical", "numeric"):
            for name in getattr(self, given):
                if name not in frame.columns:
                    raise DataError(
                        f"{given}: there is no column {name!r}{meant(name, names)} There are {listed(names)}."
                    )
        columns, ignored, notes = [], {}, []
        for name in names:
            why = "as asked" if name in self.ignore else self._why_ignored(frame[name])
            if why:
                ignored[name] = why
            else:
                columns.append(self._categories(frame[name], notes) if self._is_categorical(frame[name]) else
                               self._numbers(frame[name], notes))  # fmt: skip
        if not columns:
            reasons = "; ".join(f"{name!r}: {why}" for name, why in list(ignored.items())[:5])
            raise DataError(f"no column is left to learn from ({reasons or 'there is none beside the target'}).")
        self.columns_, self.ignored_ = columns, ignored
        self._name_features()
        self.notes_ = [*notes, *(f"column {name!r} is left out: {why}." for name, why in ignored.items())]
        return self

    def transform(self, frame):
        """X of a table with the columns of the fit, in any order; others are ignored.

        Parameters
        ----------
        frame : polars.DataFrame

        Returns
        -------
        ndarray of shape (n, d)

        Warns
        -----
        DataWarning
            On categories that the fit has not seen, missing values where it saw none, and values far from its own.
        """
        check_is_fitted(self)
        self._check_columns(frame)
        X, said = np.empty((frame.height, len(self.feature_names_))), []
        for column in self.columns_:
            place = self.blocks_[column["name"]]
            make = _indicators if column["role"] == "categorical" else _standard
            X[:, place] = make(frame[column["name"]], column, said)
        for sentence in said:
            warnings.warn(sentence, DataWarning, stacklevel=2)
        return X

    def differences(self, frame, target=None):
        """Return the columns of a table that the fit did not have; columns that are missing are an error.

        Parameters
        ----------
        frame : polars.DataFrame
        target : str, default=None

        Returns
        -------
        list of str
        """
        self._check_columns(frame)
        known = {column["name"] for column in self.columns_} | set(self.ignored_) | {target}
        return [name for name in frame.columns if name not in known]

    # ---------------------------------------------------------------------------------------- learning
    def _why_ignored(self, column):
        """Why a column is left out, or None; text that is mostly numbers is refused."""
        forced = column.name in self.categorical or column.name in self.numeric
        if is_text(column) and not forced:
            check_mixed(column)
        return why_ignored(column, forced)

    def _is_categorical(self, column):
        """Whether a column is one of categories."""
        return column.name in self.categorical or (is_text(column) and column.name not in self.numeric)

    def _numbers(self, column, notes):
        """What is kept of a column of numbers."""
        kind = "number" if is_text(column) else kind_of(column)
        values = as_floats(column, kind)
        origin = float(np.floor(np.nanmin(values))) if kind == "date" else 0.0
        values = values - origin
        present = values[~np.isnan(values)]
        missing = len(values) - len(present)
        centre, scale = _centre_and_scale(present, kind)
        name = column.name
        if missing:
            notes.append(f"column {name!r}: {count(missing, 'missing value')} filled with the median, and marked.")
        if kind == "date":
            notes.append(f"column {name!r}: dates are days after {np.datetime64(int(origin), 'D')}.")
        if kind == "time":
            notes.append(f"column {name!r}: times are hours.")
        return {
            "name": name,
            "role": "numeric",
            "kind": kind,
            "origin": origin,
            "fill": float(np.median(present)),
            "centre": centre,
            "scale": scale,
            "marked": bool(missing),
            "missing": missing,
            "low": float(present.min()),
            "high": float(present.max()),
            "spread": float(present.std()) if abs(present).max() < 1e150 else scale,
        }

    def _categories(self, column, notes):
        """What is kept of a column of categories."""
        texts = as_texts(column)
        names, counts = np.unique([GONE if text is None else text for text in texts], return_counts=True)
        missing, order = texts.count(None), np.argsort(-counts, kind="stable")
        levels = [str(names[i]) for i in order]
        pooled = levels[self.most_levels - 1 :] if len(levels) > self.most_levels else []
        levels = sorted(level for level in levels if level not in set(pooled)) + ([OTHER] if pooled else [])
        name = column.name
        if missing:
            notes.append(f"column {name!r}: {count(missing, 'missing value')} as a category of their own.")
        if pooled:
            notes.append(
                f"column {name!r}: the {len(pooled):,} rarest of its {len(names):,} categories are one, {OTHER}."
            )
        kept = {"levels": levels, "pooled": pooled, "missing": missing, "text": is_text(column)}
        return {"name": name, "role": "categorical", **kept}

    def _name_features(self):
        """Names of the columns of X, and which column each came from."""
        self.feature_names_, self.blocks_ = [], {}
        for column in self.columns_:
            name = column["name"]
            if column["role"] == "numeric":
                new = [name, f"{name} (missing)"] if column["marked"] else [name]
            elif len(column["levels"]) == 2:
                new = [f"{name} = {column['levels'][1]}"]
            else:
                new = [f"{name} = {level}" for level in column["levels"]]
            start = len(self.feature_names_)
            self.blocks_[name] = list(range(start, start + len(new)))
            self.feature_names_ += new

    def _check_columns(self, frame):
        """DataError with the columns that are missing."""
        missing = [column["name"] for column in self.columns_ if column["name"] not in frame.columns]
        if missing:
            end = meant(missing[0], [name for name in frame.columns if name not in self.blocks_])
            raise DataError(
                f"the table has no column {listed(missing)}, which the model needs{end} It has {listed(frame.columns)}."
            )


def _centre_and_scale(present, kind):
    """Mean and standard deviation, such that no square overflows; 0 and 1 for truth values."""
    if kind == "boolean":
        return 0.0, 1.0
    size = float(np.abs(present).max()) or 1.0
    part = present / size
    sd = float(part.std()) * size
    return float(part.mean()) * size, sd if sd > 1e-14 * size else 1.0


def _standard(column, kept, said):
    """(x − mean)/sd with missing values filled, and 0/1 for whether they were, if the fit has seen some."""
    values = as_floats(column, kept["kind"], kept["origin"])
    gone = np.isnan(values)
    if gone.any() and not kept["marked"]:
        said.append(
            f"column {kept['name']!r}: {count(int(gone.sum()), 'missing value')} filled with the median of the fit, "
            "which had none."
        )
    said += _drift.of_numbers(values[~gone], kept)
    standard = (np.where(gone, kept["fill"], values) - kept["centre"]) / kept["scale"]
    return np.column_stack([standard, gone]) if kept["marked"] else standard[:, None]


def _indicators(column, kept, said):
    """One column for each level, or one for two levels."""
    levels = kept["levels"]
    number = {level: i for i, level in enumerate(levels)} | dict.fromkeys(kept["pooled"], len(levels) - 1)
    texts = [GONE if text is None else text for text in as_texts(column)]
    unseen = [text for text in texts if text not in number]
    said += _drift.of_levels(sorted(set(unseen)), len(unseen), kept)
    codes = np.array([number.get(text, len(levels) - 1 if kept["pooled"] else -1) for text in texts], dtype=int)
    if len(levels) == 2:
        return np.where(codes < 0, 0.5, codes)[:, None]
    return (codes[:, None] == np.arange(len(levels))).astype(float)
