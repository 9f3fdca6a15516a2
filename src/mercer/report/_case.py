"""A fitted model with its rows, seen in one way whatever the model is."""

import hashlib
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from mercer.report.findings import short

SHOWN = 1000  # rows that are drawn as points
SEED = 0
LEFT_OUT = 3000  # rows up to which fits without a row are computed
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Case:
    """The model and the rows it was fitted on; ``y`` is one column, numbers or labels."""

    model: object
    X: object
    y: np.ndarray
    names: list
    target: str
    rows: list
    vectors: bool
    classes: list | None
    column: int | None
    columns: int

    @property
    def n(self):
        """Number of rows."""
        return len(self.y)

    @property
    def kernel(self):
        """The kernel of the fit."""
        return self.model.kernel_

    @property
    def pairwise(self):
        """Whether X is a matrix of kernel values."""
        return type(self.kernel).__name__ == "Precomputed"

    def shown(self, limit=SHOWN):
        """Rows that are drawn or looked at, ascending: all, or a sample with a fixed seed."""
        if self.n <= limit:
            return np.arange(self.n)
        return np.sort(np.random.default_rng(SEED).choice(self.n, limit, replace=False))

    def take(self, index):
        """Return some rows of X."""
        return _safe_indexing(self.X, np.asarray(index))

    def predict(self, X):
        """One column of predictions."""
        return self.one(quietly(self.model.predict, X))

    def one(self, values):
        """The column of the target that the page is about: of several quantiles the one nearest the median."""
        values = np.asarray(values)
        return values[:, self.column or 0] if values.ndim == 2 else values

    def label(self, i):
        """What row i is called."""
        return self.rows[int(i)]


def make_case(model, X, y, feature_names=None, target=None, row_labels=None):
    """The case of a fitted model, with X and y checked against each other and against the model."""
    check_is_fitted(model)
    if not hasattr(model, "kernel_"):
        raise TypeError(f"a report needs a fitted kernel model, got {type(model).__name__} without kernel_.")
    vectors = model.kernel_.domain == "vectors"
    names = _names(model, X, feature_names)
    X = np.asarray(X, dtype=float) if vectors else X
    y = np.asarray(y)
    n = len(y)
    if n < 3:
        raise ValueError(f"a report needs at least 3 rows, got {n}.")
    if len(X) != n:
        raise ValueError(f"X has {len(X)} rows and y has {n}.")
    classes = list(model.classes_) if is_classifier(model) else None
    if classes is None:
        y = y.astype(float)
    columns = y.shape[1] if y.ndim == 2 else 1
    if vectors and len(names) != X.shape[1]:
        raise ValueError(f"feature_names has {len(names)} names, X has {X.shape[1]} columns.")
    rows = [str(i) for i in range(n)] if row_labels is None else [short(label, 40) for label in row_labels]
    if len(rows) != n:
        raise ValueError(f"row_labels has {len(rows)} labels for {n} rows.")
    return Case(
        model=model,
        X=X,
        y=y[:, 0] if y.ndim == 2 else y,
        names=[short(name) for name in names],
        target=short("y" if target is None else target),
        rows=rows,
        vectors=vectors,
        classes=classes,
        column=_middle(model),
        columns=columns,
    )


def _names(model, X, given):
    """Names of the columns: those given, those of the frame, else x1, x2, …"""
    if given is not None:
        return list(given)
    if hasattr(X, "columns"):
        return list(X.columns)
    if hasattr(model, "feature_names_in_"):
        return list(model.feature_names_in_)
    return [f"x{j + 1}" for j in range(getattr(model, "n_features_in_", 0))]


def levels(model):
    """Levels of a model of several quantiles, else None."""
    found = getattr(getattr(model, "loss_", None), "level", None)
    return np.asarray(found, dtype=float) if np.ndim(found) == 1 else None


def _middle(model):
    """Which column stands for the prediction: of several quantiles the one nearest the median."""
    found = levels(model)
    return None if found is None else int(np.argmin(np.abs(found - 0.5)))


def quietly(function, *args, **kwargs):
    """Call without warnings: what a fit had to say it has said, and the page repeats it in its checks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def frozen(model):
    """An unfitted copy that chooses nothing: it has the kernel and λ of the fit."""
    params = model.get_params(deep=False)
    fixed = {"kernel": model.kernel_}
    if "criterion" in params:
        fixed["criterion"] = None
    if "optimize" in params and isinstance(params["optimize"], bool):
        fixed["optimize"] = False
    for name in {"lam", "noise"} & set(params if "criterion" in params else ()):
        fixed[name] = float(min(model.lam_, 1e150))  # inf is the constant model
    return clone(model).set_params(**fixed)


def folds(case, seed=SEED):
    """[(train, test), …]: five folds, each class in all of them."""
    from sklearn.model_selection import KFold, StratifiedKFold

    count = int(min(FOLDS, case.n))
    if case.classes is None:
        return list(KFold(count, shuffle=True, random_state=seed).split(np.zeros(case.n)))
    smallest = int(np.unique(case.y, return_counts=True)[1].min())
    if smallest < 2:
        return list(KFold(count, shuffle=True, random_state=seed).split(np.zeros(case.n)))
    return list(StratifiedKFold(min(count, smallest), shuffle=True, random_state=seed).split(np.zeros(case.n), case.y))


def data_hash(case):
    """SHA-256 of X and y, of names and shapes; None for objects that have no bytes of their own."""
    found = hashlib.sha256()
    found.update(repr((case.n, case.names, case.target)).encode())
    if case.vectors:
        found.update(np.ascontiguousarray(case.X, dtype="<f8").tobytes())
    elif isinstance(case.X, np.ndarray) and case.X.dtype.kind in "fiub":
        found.update(np.ascontiguousarray(case.X).tobytes())
    elif all(isinstance(x, str | bytes) for x in case.X):
        found.update(repr(list(case.X)).encode())
    else:
        return None
    found.update(repr(case.y.tolist()).encode())
    return found.hexdigest()
