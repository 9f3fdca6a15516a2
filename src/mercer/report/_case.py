"""A fitted model with its rows, seen in one way whatever the model is."""

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from mercer._cached import cached_property
from mercer.estimators import KernelEstimator
from mercer.kernels import Table
from mercer.kernels.columns import read_by_name
from mercer.report._effects import importance
from mercer.report._factors import find_factors
from mercer.report.findings import MOST, Allowance, all_short, short
from mercer.selection.equal import copied_rows, equal_rows
from mercer.selection.judging import RowsLeftOut, fair_folds, fit_part, new_part, quietly, refit_left_out

SHOWN = 1000  # rows that are drawn as points
COLUMNS = 600  # columns that are named: of numbers, categories and texts
SEED = 0
LEFT_OUT = 3000  # rows up to which fits without a row are computed
COPIED = 0.02  # of the rows: so many copies are left out with the row that they are equal to
LARGEST = 1e150  # stands for λ = ∞, the constant model


@dataclass(frozen=True, eq=False)
class Case:
    """The model and the rows it was fitted on; ``y`` is one column, numbers or labels, ``Y`` all of them.

    ``units`` are by the place of a column in X.
    """

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
    Y: np.ndarray
    targets: list
    weight: np.ndarray | None
    budget: Allowance
    units: dict | None = None
    fitted_rows: int = 0
    selection: object = None
    seen: bool = True
    forward: bool = False
    errors: object = None

    @cached_property
    def factors(self):
        """The columns as a reader sees them; none where the inputs are objects."""
        return find_factors(self, self.units)

    @property
    def n(self):
        """Number of rows that the page is about."""
        return len(self.y)

    @property
    def sampled(self):
        """Whether the model was fitted on other rows than those that the page is about, or on more."""
        return self.fitted_rows > self.n or not self.seen

    @cached_property
    def importance(self):
        """Of each factor: how much the prediction moves when it is shuffled."""
        return importance(self)

    @property
    def order(self):
        """Numbers of the factors, those that move the prediction most first."""
        return np.argsort(-self.importance, kind="stable")

    @property
    def by_importance(self):
        """The factors, those that move the prediction most first."""
        return [self.factors[j] for j in self.order]

    @property
    def kernel(self):
        """The kernel of the fit."""
        return self.model.our_kernel_

    @property
    def pairwise(self):
        """Whether X is a matrix of kernel values."""
        return self.kernel.pairwise

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

    def about(self, j):
        """The same case, about the target in column j."""
        return replace(self, y=self.Y[:, j], column=j, target=self.targets[j])

    @property
    def precision(self):
        """wᵢλ/λᵢ, what row i counts beside the λ of the fit; None where each counts once."""
        if self.model.row_lam_ is None:
            return self.weight
        w = 1.0 if self.weight is None else self.weight
        return min(self.model.lam_, LARGEST) / self.model.row_lam_ * w

    def about_target(self, left):
        """What was predicted of the rows left out, for the target that the page is about."""
        std = None if left.std is None else self.one(left.std)
        return replace(left, predicted=self.one(left.predicted), std=std)

    def fit(self, rows):
        """The model of the fit, its kernel and λ, fitted again on some rows with their weights."""
        return fit_part(self.model, self.X, self.Y if self.columns > 1 else self.y, rows, self.weight)

    def new(self, fitted, test, train):
        """X of the rows ``test`` for a model that was fitted on the rows ``train``."""
        return new_part(fitted, self.X, self.y, test, train)

    def folds(self):
        """[(train, test), …]: five folds, each class in all of them."""
        return fair_folds(self.y, self.classes is not None, self.equal)

    @cached_property
    def equal(self):
        """The group of each row, rows of equal inputs in one; None where all differ, or repeats are measurements."""
        return equal_rows(self.X if self.vectors else self.kernel.validate(self.X), self.y)

    @cached_property
    def copies(self):
        """How many rows are equal to one before them, in inputs and target, where the table is no design."""
        X = self.X if self.vectors else self.kernel.validate(self.X)
        return 0 if self.equal is None else copied_rows(X, self.Y if self.columns > 1 else self.y)


def make_case(
    model, X, y, feature_names=None, target=None, row_labels=None, sample_weight=None, budget=None, units=None,
    fitted_rows=None, selection=None, seen=True, errors=None,
):  # fmt: skip
    """The case of a fitted model, with X and y checked against each other and against the model."""
    check_is_fitted(model)
    if not isinstance(model, KernelEstimator):
        raise TypeError(f"a report needs a KernelEstimator of mercer.estimators, got {type(model).__name__}.")
    vectors = model.our_kernel_.domain == "vectors"
    names, targets = _names(model, X, feature_names), _targets(y, target)
    X = np.asarray(X, dtype=float) if vectors else _as_table(model.our_kernel_, X)
    y = np.asarray(y)
    n = len(y)
    if n < 3:
        raise ValueError(f"a report needs at least 3 rows, got {n}.")
    if len(X) != n:
        raise ValueError(f"X has {len(X)} rows and y has {n}.")
    if model.row_lam_ is not None and len(model.row_lam_) != n:
        raise ValueError(
            f"the model was fitted on {len(model.row_lam_)} rows with a λ for each, X and y have {n}: a report needs "
            "the rows of the fit."
        )
    classes = list(model.classes_) if is_classifier(model) else None
    if classes is None:
        y = y.astype(float)
    columns = y.shape[1] if y.ndim == 2 else 1
    width = X.shape[1] if len(getattr(X, "shape", ())) == 2 else len(names)
    if len(names) != width:
        raise ValueError(f"feature_names has {len(names)} names, X has {width} columns.")
    rows = [str(i) for i in range(n)] if row_labels is None else all_short(row_labels, 40, 2 * MOST, SHOWN)
    if len(rows) != n:
        raise ValueError(f"row_labels has {len(rows)} labels for {n} rows.")
    targets = targets if len(targets) == columns else [f"{targets[0]} {j + 1}" for j in range(columns)]
    return Case(
        model=model,
        X=X,
        y=y[:, 0] if y.ndim == 2 else y,
        names=all_short(names, drawn=COLUMNS),
        target=targets[0],
        rows=rows,
        vectors=vectors,
        classes=classes,
        column=_middle(model),
        columns=columns,
        Y=y.reshape(n, -1),
        targets=targets,
        weight=weights_of(model, n, sample_weight),
        budget=Allowance(None) if budget is None else budget,
        units=_by_place(X, names, units),
        fitted_rows=max(n, fitted_rows or n),
        selection=model.selection_ if selection is None else selection,
        seen=seen,
        errors=errors,
    )


def _by_place(X, names, units):
    """{column of X, as the kernel knows it: (centre, scale)}: a name may be cut for the page, its place is not."""
    if not units:
        return None
    known = {str(name): unit for name, unit in units.items()}
    table = isinstance(X, Table)
    named = zip(X.columns if table else range(len(names)), names, strict=True)
    found = {place: known.get(str(name)) or (known.get(place) if table else None) for place, name in named}
    return {place: unit for place, unit in found.items() if unit is not None}


def _as_table(kernel, X):
    """A frame or a dict of columns as the table that the kernel reads; other objects as they are."""
    X = read_by_name(kernel, X)
    if hasattr(X, "columns") and not isinstance(X, Table) and isinstance(kernel.validate(X), Table):
        return Table(X)
    return X


def _names(model, X, given):
    """Names of the columns: those given, those of the frame, else x1, x2, …; none for objects."""
    if given is not None:
        return list(given)
    if isinstance(X, dict):
        return list(X)
    if hasattr(X, "columns"):
        return list(X.columns)
    if hasattr(model, "feature_names_in_"):
        return list(model.feature_names_in_)
    width = X.shape[1] if len(getattr(X, "shape", ())) == 2 else getattr(model, "n_features_in_", 0)
    return [f"x{j + 1}" for j in range(width)]


def _targets(y, given):
    """Names of the targets: those given, those of the frame, else y."""
    if given is not None:
        return [short(given)] if isinstance(given, str) else [short(name) for name in given] or ["y"]
    if hasattr(y, "columns"):
        return [short(name) for name in y.columns]
    return [short(y.name)] if isinstance(getattr(y, "name", None), str) and y.name else ["y"]


def _middle(model):
    """Which column stands for the prediction: of several quantiles the one nearest the median."""
    levels = model.quantile_levels_
    return None if levels is None else int(np.argmin(np.abs(levels - 0.5)))


def weights_of(model, n, given=None):
    """The weights that are given, else those that the model remembers; None where each row counts once."""
    if given is not None:
        w = np.asarray(given, dtype=float)
        if w.shape != (n,) or not np.isfinite(w).all() or (w < 0).any() or not w.any():
            raise ValueError(f"sample_weight must be {n} finite numbers >= 0, not all 0; got shape {w.shape}.")
        return None if np.all(w == 1.0) else w
    found = model.row_weight_
    if found is None or len(found) != n:  # another number: these are not the rows of the fit; what follows says so
        return None
    if model.row_lam_ is not None:
        found = found * model.row_lam_ / min(model.lam_, LARGEST)  # wᵢ of wᵢλ/λᵢ, whole where it was
        whole = np.rint(found)
        found = np.where(np.abs(found - whole) <= 1e-12 * whole, whole, found)
    return None if np.all(found == 1.0) else found


def left_out(case):
    """Predictions of the rows left out, of all targets: what the model has itself, or by refits where that is rough."""
    model = case.model
    if not case.seen:
        return _unseen(case)
    kinds = ("exact", "close") if case.classes is None else ("exact",)  # a class of one row is not to be judged
    few = case.n <= LEFT_OUT and not case.sampled
    copied = case.copies > COPIED * case.n
    own = few and model.leaves_out in kinds and not (case.pairwise and model.linear) and not copied
    if own or (model.row_weight_ is not None and few):
        rows = len(model.row_weight_ if model.row_weight_ is not None else model.row_target_)
        if rows != case.n:
            raise ValueError(
                f"the model was fitted on {rows} rows, X and y have {case.n}: a report needs the rows of the fit."
            )
    if own:
        return quietly(model.left_out)
    found = refit_left_out(model, case.X, case.Y if case.columns > 1 else case.y, case.weight,
                     case.equal if copied else None)  # fmt: skip
    if not case.sampled:
        return found
    return replace(found, how=f"{found.how}, {case.n} of the {case.fitted_rows} rows of the fit alone")


def _unseen(case):
    """What the model itself says of rows that it was not fitted on."""
    model, how = case.model, f"{case.n} rows that the fit has not seen"
    if case.classes is not None:
        proba = quietly(model.predict_proba, case.X) if hasattr(model, "predict_proba") else None
        return RowsLeftOut(np.asarray(quietly(model.predict, case.X)).astype(object), how, False, proba=proba)
    if model.probabilistic:
        f, std = quietly(model.predict, case.X, return_std=True, noisy=True)
        return RowsLeftOut(np.asarray(f), how, False, std=np.asarray(std))
    return RowsLeftOut(np.asarray(quietly(model.predict, case.X)), how, False)


def counted(weight, n):
    """(Σw)²/Σw², how many equal rows say as much; n without weights."""
    return float(n) if weight is None else float(weight.sum() ** 2 / np.sum(weight**2))


def data_hash(case):
    """SHA-256 of X and y, of names and shapes; None for objects that have no bytes of their own."""
    about = repr((case.n, case.names, case.target, (case.y if case.columns == 1 else case.Y).tolist()))
    X = np.asarray(case.X, dtype="<f8") if case.vectors else case.X
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
        inside = np.ascontiguousarray(X).tobytes()
    else:
        columns = [list(X[name]) for name in X.columns] if hasattr(X, "columns") else [X]
        cells = [cell for column in columns for row in column for cell in (row if isinstance(row, list) else [row])]
        if not all(isinstance(cell, str | bytes | int | float | np.generic) for cell in cells):
            return None
        inside = repr(cells).encode()
    return hashlib.sha256(about.encode() + inside).hexdigest()
