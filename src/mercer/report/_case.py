"""A fitted model with its rows, seen in one way whatever the model is."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from mercer._parameters import cached_property
from mercer._policies import OptionSet
from mercer.estimators import KernelEstimator
from mercer.kernels import Table
from mercer.kernels.columns import read_by_name
from mercer.report._effects import importance
from mercer.report._factors import find_factors
from mercer.report.findings import MOST, Allowance, all_short, short
from mercer.report.options import CheckThresholds, PageContext, ReportLimits
from mercer.selection.equal import copied_rows, equal_rows
from mercer.selection.judging import fair_folds, fit_part, new_part, quietly

SEED = 0
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
    units: dict | None
    fitted_rows: int
    selection: object
    context: PageContext
    limits: ReportLimits
    checks: CheckThresholds
    forward: bool = False

    @property
    def seen(self):
        """Whether the model was fitted on these rows."""
        return self.context.seen

    @property
    def errors(self):
        """Errors on rows left out that intervals are made of, or None."""
        return self.context.errors

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

    def shown(self, limit=None):
        """Rows that are drawn or looked at, ascending: all, or a sample with a fixed seed."""
        limit = limit or self.limits.rows_drawn
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


def make_case(model, X, y, feature_names=None, target=None, context=None, options=()):
    """The case of a fitted model, with X and y checked against each other and against the model."""
    context = context or PageContext()
    check_is_fitted(model)
    if not isinstance(model, KernelEstimator):
        raise TypeError(f"a report needs a KernelEstimator of mercer.estimators, got {type(model).__name__}.")
    vectors = model.our_kernel_.domain == "vectors"
    names, targets = _names(model, X, feature_names), _target_names(y, target)
    X = np.asarray(X, dtype=float) if vectors else _as_table(model.our_kernel_, X)
    y = np.asarray(y)
    _check_rows(model, X, y, names)
    n, columns = len(y), y.shape[1] if y.ndim == 2 else 1
    classes = list(model.classes_) if is_classifier(model) else None
    y = y.astype(float) if classes is None else y
    options = OptionSet(options)
    limits = options[ReportLimits]
    targets = targets if len(targets) == columns else [f"{targets[0]} {j + 1}" for j in range(columns)]
    return Case(
        model=model,
        X=X,
        y=y[:, 0] if y.ndim == 2 else y,
        names=all_short(names, drawn=3 * limits.columns),
        target=targets[0],
        rows=_row_labels(context.row_labels, n, limits.rows_drawn),
        vectors=vectors,
        classes=classes,
        column=_middle(model.quantile_levels_),
        columns=columns,
        Y=y.reshape(n, -1),
        targets=targets,
        weight=weights_of(model, n, context.sample_weight),
        budget=Allowance(limits.time_budget),
        units=_by_place(X, names, context.units),
        fitted_rows=max(n, context.fitted_rows or n),
        selection=model.selection_ if context.selection is None else context.selection,
        context=context,
        limits=limits,
        checks=options[CheckThresholds],
    )


def _check_rows(model, X, y, names):
    """Refuse rows and names that do not belong together, or to the model."""
    n, width = len(y), X.shape[1] if len(getattr(X, "shape", ())) == 2 else len(names)
    if n < 3:
        raise ValueError(f"a report needs at least 3 rows, got {n}.")
    if len(X) != n:
        raise ValueError(f"X has {len(X)} rows and y has {n}.")
    if model.row_lam_ is not None and len(model.row_lam_) != n:
        raise ValueError(
            f"the model was fitted on {len(model.row_lam_)} rows with a λ for each, X and y have {n}: a report needs "
            "the rows of the fit."
        )
    if len(names) != width:
        raise ValueError(f"feature_names has {len(names)} names, X has {width} columns.")


def _row_labels(given, n, drawn):
    """What the rows are called."""
    rows = [str(i) for i in range(n)] if given is None else all_short(given, 40, 2 * MOST, drawn)
    if len(rows) != n:
        raise ValueError(f"row_labels has {len(rows)} labels for {n} rows.")
    return rows


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


def _target_names(y, given):
    """Names of the targets: those given, those of the frame, else y."""
    if given is not None:
        return [short(given)] if isinstance(given, str) else [short(name) for name in given] or ["y"]
    if hasattr(y, "columns"):
        return [short(name) for name in y.columns]
    return [short(y.name)] if isinstance(getattr(y, "name", None), str) and y.name else ["y"]


def _middle(levels):
    """Which column stands for the prediction: of several quantiles the one nearest the median."""
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
