"""What comes in: arrays, data frames, labels and weights, checked before any heavy work; errors name column and row."""

import warnings
from numbers import Number

import numpy as np
from sklearn.utils import check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from mercer.kernels.columns import read_by_name
from mercer.kernels.conversion import refuse_nat
from mercer.kernels.objects.tables import from_arrow, is_frame


class CheckedInputs:
    """The rows of a fit and new ones, checked: an estimator learns the names and the number of columns from them."""

    def _check_X(self, X, *, reset, kernel):
        """Return X as the kernel reads it: a float64 array, checked, or the objects themselves.

        In a fit (``reset``) the estimator gets ``n_features_in_`` and ``feature_names_in_``.
        """
        given, X = X, X if isinstance(X, np.ndarray) else from_arrow(X)
        if kernel.named_columns():
            return self._match_columns(read_by_name(kernel, X), reset)
        if kernel.domain == "objects" and not _is_numeric(X):
            if not hasattr(X, "__len__") or isinstance(X, (str, bytes, dict)):
                raise TypeError(f"X must be a sequence of objects for {kernel!r}, got {type(X).__name__}.")
            if is_frame(X):
                return self._match_columns(X, reset)
            return list(X) if isinstance(X, tuple) else X
        names, X = _frame_names(X), given  # which scikit-learn reads, and takes names from
        if self._is_plain(X, reset):
            self.n_features_in_ = X.shape[1]
        else:
            refuse_nat(X, "Input X")
            try:
                X = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
            except (TypeError, ValueError) as error:
                raise _name_column(X, names, error) from None
        _check_finite(X, names, type(self).__name__)
        kept = reset and kernel.domain != "objects" and (X is given or X.base is not None)
        return X.copy() if kept else X  # a model keeps its points: they may not change when the caller's array does

    def _is_plain(self, X, reset):
        """Whether X is an array in which scikit-learn would find nothing to do or to refuse, which takes its time."""
        if type(X) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2 or not X.size:
            return False
        known = vars(self)
        return reset or (known.get("n_features_in_") == X.shape[1] and "feature_names_in_" not in known)

    def _match_columns(self, X, reset):
        """X, a data frame or `Table`, with the columns of the fit in their order; missing and new ones are named."""
        names = list(X.columns)
        if not len(X):
            raise ValueError(f"Found array with 0 sample(s): X has the columns {names}, but no row.")
        if reset:
            self.n_features_in_ = len(names)
            if all(isinstance(name, str) for name in names):
                self.feature_names_in_ = np.array(names, dtype=object)
            return X
        fitted = list(getattr(self, "feature_names_in_", names))
        missing, new = [n for n in fitted if n not in names], [n for n in names if n not in fitted]
        if missing or new:
            what = [f"without {', '.join(map(repr, missing))}"] if missing else []
            what += [f"with {', '.join(map(repr, new))}, unseen at fit time"] if new else []
            raise ValueError(
                f"The columns of X must be those of the fit ({', '.join(map(repr, fitted))}), in any order; X comes "
                f"{' and '.join(what)}."
            )
        return X if names == fitted else X[fitted]

    def _check_X_y(self, X, y, kernel):
        """Return (X, y) for a fit: X as `_check_X` gives it, y float64 of shape (n,) or (n, t)."""
        self._refuse_no_target(y, "regressor")
        X, y = self._check_X(X, reset=True, kernel=kernel), check_y(y)
        check_consistent_length(X, y)
        return X, y

    def _check_labels(self, X, y):
        """y as a 1-D array of labels without missing ones, as long as X."""
        self._refuse_no_target(y, "classifier")
        _refuse_missing(np.flatnonzero(np.ma.getmaskarray(y)) if np.ma.is_masked(y) else ())
        given = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else None  # not text, as by NumPy
        y = column_or_1d(y if hasattr(y, "dtype") else np.asarray(y), warn=True)
        if y.dtype.kind == "f":
            y = check_array(y, ensure_2d=False, dtype=None, input_name="y", ensure_min_samples=0)
        elif y.dtype.kind not in "iub":
            labels = y if given is None else given.ravel()
            _refuse_missing([i for i, label in enumerate(labels) if _is_missing(label)])
            _refuse_mixed(labels)
        check_consistent_length(X, y)
        check_classification_targets(y)
        return y

    def _refuse_no_target(self, y, kind):
        """Refuse y=None in the words of scikit-learn."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                f"This estimator is a {kind}: call fit(X, y)."
            )


def _is_missing(label):
    """Whether a label is None, NaN, NaT or the NA of pandas, which is not to be compared with anything."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float | np.floating | np.datetime64) and bool(label != label)


def _refuse_missing(rows):
    if len(rows):
        raise ValueError(f"Input y contains NaN: row {rows[0]} has no label ({len(rows)} such rows); drop these rows.")


def _refuse_mixed(labels):
    """Numbers beside text have no order, so that there is no first class."""
    first = {}
    for i, label in enumerate(labels):
        kind = "text" if isinstance(label, str) else "numbers" if isinstance(label, Number) else None
        first.setdefault(kind, f"row {i} has {label!r}")
    if "text" in first and "numbers" in first:
        raise ValueError(
            f"y mixes numbers and text: {first['numbers']}, {first['text']}. Make all labels text, or all numbers."
        )


def _is_numeric(X):
    """Whether X is a 2-D array or frame of numbers: it is then checked like any other, whatever the kernel reads."""
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        X = X.to_numpy()
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "buif"


def check_y(y):
    """y as float64, finite, 1-D or 2-D."""
    if type(y) is np.ndarray and y.dtype == np.float64 and y.ndim in (1, 2) and y.size and np.isfinite(y).all():
        return y.copy()
    y = check_array(y, ensure_2d=False, dtype=None, ensure_all_finite=True, input_name="y", ensure_min_samples=0)
    refuse_nat(y, "Input y")
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: y is complex.")
    if y.ndim > 2:
        raise ValueError(f"y must be 1-D or 2-D, got shape {y.shape}.")
    try:
        with np.errstate(over="ignore"):
            y = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be numbers: {error}") from None
    except OverflowError:  # a whole number of Python's
        y = np.array(np.inf)
    if not np.isfinite(y).all():
        raise ValueError("y has values that are no float64 numbers (beyond 1.8e308): give it in a larger unit.")
    if y.ndim == 2 and y.shape[1] == 0:
        raise ValueError("y has no column.")
    return y


def check_weight(sample_weight, n):
    """Return the weights as float64 of length n; None if there are none. Negative, NaN and all-zero are refused."""
    if sample_weight is None:
        return None
    w = np.asarray(sample_weight, dtype=np.float64)
    if w.ndim > 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got shape {w.shape}.")
    w = np.full(n, w) if w.ndim == 0 else w.copy()
    if w.shape != (n,):
        raise ValueError(f"sample_weight has {w.size} entries, X has {n} rows.")
    bad = np.flatnonzero(~np.isfinite(w) | (w < 0))
    if bad.size:
        raise ValueError(f"sample_weight must be finite and >= 0; row {bad[0]} has {w[bad[0]]} ({bad.size} such rows).")
    if not w.any():
        raise ValueError("Sample weights must contain at least one non-zero number: all rows would be removed.")
    refuse_extreme(w[w > 0])
    return w


def refuse_extreme(positive):
    """Refuse weights that no product survives."""
    most = 1e100  # and the inverse of the least
    if positive.max() > most or positive.min() < 1.0 / most:
        raise ValueError(
            f"sample_weight goes from {positive.min():.3g} to {positive.max():.3g}: products of such numbers are not "
            f"float64 numbers. Multiply the weights by one number (and lam with it), or set those that do not count to "
            f"0: from {1 / most:g} to {most:g} are taken."
        )


def shared_noise(value, n, name):
    """(λ, weights): a number and None, or for n noise variances λᵢ their geometric mean λ and λ/λᵢ."""
    lam = np.asarray(value, dtype=float)
    if lam.ndim == 0:
        if not np.isfinite(lam):
            raise ValueError(f"{name} must be finite, got {value}.")
        return float(lam), None
    if lam.shape != (n,):
        raise ValueError(f"{name} has shape {lam.shape}; give one number, or one for each of the {n} rows.")
    if not (np.isfinite(lam).all() and (lam > 0).all()):
        raise ValueError(f"{name} must be positive and finite for every row, got a smallest value of {lam.min()}.")
    shared = float(np.exp(np.log(lam).mean()))
    return shared, shared / lam


def _frame_names(X):
    """Column names of a data frame, or None; duplicate names, dates and categories are refused by name."""
    if not hasattr(X, "columns") or not hasattr(X, "shape"):
        if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
            raise ValueError("X is a masked array with masked entries; fill or drop them first.")
        return None
    names = [str(name) for name in X.columns]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise ValueError(f"X has more than one column named {', '.join(map(repr, twice))}; names must differ.")
    dtypes = list(X.dtypes if hasattr(X, "dtypes") else X.schema.values())  # a Series, a list; narwhals has a schema
    for name, dtype in zip(names, dtypes, strict=False):
        kind = str(dtype).lower()
        if any(word in kind for word in ("date", "time", "duration", "categor", "enum")):
            raise ValueError(
                f"column {name!r} of X is {dtype}; kernels on vectors need numbers. Turn a date into a number "
                "(days since a start); for categories choose the columns by name: Gaussian().on([...]) * "
                f"Categorical().on({name!r})."
            )
    return names


def _name_column(X, names, error):
    """The error, with the column that could not become numbers named."""
    if names is None or "could not convert" not in str(error):
        return error
    for name in names:
        try:
            np.asarray(X[name]).astype(np.float64)
        except (TypeError, ValueError) as reason:
            return ValueError(f"column {name!r} of X does not hold numbers: {reason}.")
    return error


def _check_finite(X, names, who):
    """Refuse NaN and infinity, naming the first row and column."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if np.isfinite(X.sum()):  # cheap, and almost always enough
            return
    bad = ~np.isfinite(X)
    if not bad.any():
        return
    row, column = np.argwhere(bad)[0]
    what = "NaN" if np.isnan(X).any() else "infinity or a value too large for float64"
    where = repr(names[column]) if names else str(column)
    raise ValueError(
        f"Input X contains {what}: row {row}, column {where} ({int(bad.sum())} such values in "
        f"{int(bad.any(axis=1).sum())} rows). {who} does not accept missing values: drop these "
        "rows, or fill them in first (sklearn.impute)."
    )


def seed_of(random_state):
    """A seed: the number given, or one drawn from what scikit-learn takes for a ``random_state``."""
    given = isinstance(random_state, int | np.integer)
    return int(random_state) if given else int(check_random_state(random_state).randint(2**31 - 1))
