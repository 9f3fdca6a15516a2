"""``mercer.plan``: what a fit will do, asked of the estimator that would do it."""

import numbers

import numpy as np
from sklearn.base import is_classifier

from mercer._policies import OptionSet
from mercer.approximate.base import SourceProblem, choose
from mercer.gram.duplicates import duplicate_groups
from mercer.sources import as_source, is_source


def plan(model=None, X=None, y=None, *, n=None, d=None, targets=1, memory=None, options=None):
    """What ``model.fit`` will do: solver, Gram, loops, threads, memory and seconds, with the reasons.

    Nothing is allocated. After the fit the same plan is ``model.plan_``.

    Parameters
    ----------
    model : estimator, int, or data that are read, default=None
        None is a `KernelRidge` at a given λ, a number the rows of one; a `mercer.sources.Source` or a path,
        with the name of the target as y, the rows that it would read.
    X : array-like, or data that are read, default=None
        Inputs, of which rows and columns are counted; or, after a number of rows, the number of columns.
    y : array-like, default=None
        Targets or labels: a classifier merges equal rows of one class only. Of data that are read the name of a column.
    n, d : int, default=None
        Rows and columns where there is no X; d None is inputs that are not vectors.
    targets : int, default=1
        Columns of y.
    memory : float, default=None
        Bytes that may be used, if other than the model's own ``memory``.
    options : list of Options, default=None
        Such as ``[PlanOptions(...)]`` of `mercer.options`, if other than the model's own.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import mercer
    >>> mercer.plan(500, 3).solver
    'cholesky'
    >>> print(mercer.plan(mercer.KernelRidge(lam=1.0, memory=2e9), n=100_000, d=10))
    n = 100000: ... landmarks
    memory  ... of ... GB
    time    about ...
    - ...
    """
    if isinstance(model, numbers.Number):
        n, d, X, model = model, X if d is None else d, None, None
    elif is_source(model):
        X, model = model, None
    if model is None:
        from mercer.estimators.ridge import KernelRidge

        model = KernelRidge(lam=1.0)
    changed = {name: value for name, value in {"memory": memory, "options": options}.items() if value is not None}
    if changed:
        model = type(model)(**(model.get_params(deep=False) | changed))
    if X is not None and is_source(X):
        source, criterion = as_source(X, y), model.criterion_used
        sizes = {"n": source.n, "d": source.d, "t": source.t, "count": source.n}
        limits = {"approximation": model.approximation, "memory": model.memory, "time_budget": model.time_budget}
        limits["options"] = OptionSet(model.options)
        return choose(SourceProblem(**sizes, **limits, source=source, criterion=criterion))[1]
    rows = n
    if X is not None:
        X = np.asarray(X, dtype=float) if not hasattr(X, "__len__") or isinstance(X, list | tuple) else X
        rows, d = len(X), X.shape[1] if getattr(X, "ndim", 1) == 2 else None
        beside = None if y is None or model.merges_rows != "labels" else np.unique(y, return_inverse=True)[1]
        merged = d is not None and model.merges_rows
        groups = duplicate_groups(np.asarray(X, dtype=float), beside) if merged else None
        n = rows if groups is None else len(groups[0])
        classes = len(np.unique(y)) if y is not None and is_classifier(model) else 0
        targets = np.shape(y)[1] if np.ndim(y) == 2 else classes if classes > 2 else targets
    return model.plan(n, d, targets=targets, rows=rows)
