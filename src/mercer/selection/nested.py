"""Nested cross-validation: one loop chooses, another one judges, and no row does both (lecture 003, Algorithm 1)."""

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from mercer.selection._folded import (
    FoldOutcome,
    FoldRun,
    assemble,
    assemble_all,
    check_folds,
    choice_of,
    ours,
    outer_folds,
    score_name,
    stored_kernels,
    with_inner,
)
from mercer.selection.equal import equal_rows
from mercer.selection.judging import FoldTimes, least_seconds, predict_simply, simple_models
from mercer.selection.nested_result import NestedResult, Pooled, sizes_of, standard_error


def nested_cv(
    estimator, X, y, *, outer=5, inner=None, groups=None, sample_weight=None, scoring=None, random_state=0,
    baselines=False, fitted=None, optimism=True, time_budget=None, needs=None, listener=None, equal="inputs",
):  # fmt: skip
    """Performance_f = score on fold f of the model chosen and fitted without fold f;  all of them are returned.

    Cross-validation serves one of two ends. For *selection* the parameter with the best mean score wins; that score is
    too good, because it was the reason for the choice. For *evaluation* the mean score is reported, of a model that
    the folds had no part in choosing. Here both are done, one inside the other: in each outer fold the estimator
    chooses (kernel, λ) by its criterion on the other folds only, is fitted on them, and is judged on the fold. The
    result is the performance of the whole procedure; it names no λ, since every fold may choose another one.

    Parameters
    ----------
    estimator : estimator
        For example ``KernelRidge(kernel, criterion=KFold(4))``; also a pipeline, a ``GridSearchCV``, or any other
        estimator with ``fit`` and ``predict``.
    X : array-like of shape (n, d), or a sequence of objects
    y : array-like of shape (n,) or (n, t)
    outer : int, splitter or iterable of (train, test), default=5
        The folds of the evaluation. A number deals the rows at random, or, with ``groups``, whole groups; any
        scikit-learn splitter will do, such as ``TimeSeriesSplit(5)`` for rows in the order of time.
    inner : Criterion or rule, default=None
        What chooses, set as ``criterion`` of the estimator; None leaves the estimator as it is. Algorithm 1 has
        ``KFold(F - 1)``. A criterion that holds something for each row, such as ``GroupKFold(groups)``, gets the rows
        of its fold.
    groups : array-like of shape (n,), default=None
        Rows of one group are never on both sides of an outer split. The inner split is the criterion's affair: give
        ``inner=GroupKFold(groups)`` to keep groups together there as well.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows, in the fits and in the scores.
    scoring : str or callable, default=None
        As in scikit-learn, larger is better; None is ``estimator.score``, R² for a regressor.
    random_state : int, default=0
        Seed of the folds when ``outer`` is a number.
    baselines : bool, default=False
        Whether the mean (or commonest class), a linear model and nearest neighbours are judged on the same folds.
    fitted : estimator, default=None
        The model fitted on all rows, for the optimism; None fits it.
    optimism : bool, default=True
        Whether what was chosen on all rows is judged on the same folds, which takes a second fit in each of them.
    time_budget : float, default=None
        Seconds for all folds together: each search has its share, and no fold is begun that is not expected to end in
        time.
    needs : float, default=None
        Seconds that a fold needs, such as those that the fit of all rows took: with a ``time_budget`` that is too short
        for all folds, fewer are made, instead of hurried ones that choose worse than the model which they stand for.
    listener : callable, default=None
        Called with (fold, folds) when a fold is done; handed to ``fit`` where that takes one.

    equal : "inputs", None or array-like of shape (n,), default="inputs"
        Which rows are equal, and in one fold where ``outer`` is a number: those with equal inputs, unless they are
        repeated measurements of a design (more than half of the rows, with different targets). None parts them.

    Returns
    -------
    NestedResult or None
        None if there was no time for a single fold.

    Notes
    -----
    R² is that of all rows left out together, 1 − Σ(yᵢ − f₋f(xᵢ))²/Σ(yᵢ − ȳ₋f)² with the mean ȳ₋f of the rows that a
    fold was predicted from: folds of two or three rows have no R² of their own that could be averaged.

    Where only λ is chosen (``optimize="lam"``, or a kernel without free hyper-parameters), K is evaluated once for
    each kernel, on all rows, and every fit reads its block. ``cross_val_score`` on the same estimator and folds gives
    the same scores; here come the choices, the predictions and the optimism as well.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.datasets import load_mcycle
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import LOO, nested_cv
    >>> X, y = load_mcycle(return_X_y=True)
    >>> result = nested_cv(KernelRidge([Gaussian(5.0), Gaussian(10.0)], optimize="lam"), X, y, inner=LOO())
    >>> print(f"R² {result.score:.2f} ± {result.standard_error:.2f}, chosen on all rows: {result.choice['kernel']}")
    R² 0.77 ± 0.04, chosen on all rows: Gaussian(10.0)
    """
    clock, model, y, given = FoldTimes(time_budget, needs), with_inner(clone(estimator), inner), np.asarray(y), X
    check_consistent_length(X, y, groups, sample_weight)
    together = equal_rows(X, y) if isinstance(equal, str) else equal
    folds = outer_folds(outer, model, X, y, groups, random_state, together)
    scorer, name = check_scoring(model, scoring=scoring), score_name(model, scoring)
    check_folds(folds, name)
    kernels = stored_kernels(model, X, scoring) if fitted is None else None
    if kernels is not None:
        several = isinstance(model.kernel, (list, tuple))
        model.set_params(kernel=kernels if several else kernels[0])
        X = np.arange(len(y))
    weight, labels = None if sample_weight is None else np.asarray(sample_weight, dtype=float), is_classifier(model)
    run = FoldRun(X, y, weight, scorer, labels, labels and scoring is None, clock, listener)
    whole = run.fit(model, np.arange(len(y))) if fitted is None else fitted
    found, simple = [], SimpleModels(given, y, labels, weight, clock)
    for step, (train, test) in enumerate(folds, start=1):
        share = clock.share(len(folds) - step + 1)
        if share == 0.0:
            break
        part, outcome = run.fold(model, whole, train, test, share, optimism)
        found.append(outcome)
        if baselines:
            simple.predict(part, train, test)
        if listener is not None:
            listener(step, len(folds))
    if not found:
        return None
    done, columns = folds[: len(found)], FoldOutcome(*zip(*found, strict=True))
    pooled = Pooled.of(y, done, weight, columns.score, columns.predicted)
    again = all(one is not None for one in columns.plain_predicted)  # there was time for all of them
    return NestedResult(
        scores=np.array(columns.score),
        plain_scores=np.array(columns.plain_score),
        choices=list(columns.choice),
        choice=choice_of(whole),
        folds=done,
        predictions=assemble(y, done, columns.predicted, labels),
        probabilities=assemble_all(y, done, columns.probabilities),
        deviations=assemble_all(y, done, columns.deviations),
        scoring=name,
        estimator=" ".join(repr(estimator).split()),
        gram_reused=kernels is not None,
        seconds=clock.seconds,
        target=y,
        planned=len(folds),
        equal=_count_kept_together(together, folds),
        pooled=pooled,
        plain_pooled=pooled.beside(columns.plain_predicted) if pooled is not None and again else None,
        baselines=simple.compare(done, pooled),
    )


def _count_kept_together(group, folds):
    """How many rows have an equal one in their fold, where none has one in another; 0 else."""
    if group is None or any(np.isin(group[train], group[test]).any() for train, test in folds):
        return 0
    counts = np.bincount(group)
    return int(counts[counts > 1].sum())


class SimpleModels:
    """Simple models on the folds of another model, on what of X is numbers to it, while there is time."""

    def __init__(self, X, y, labels, weight, clock):
        self.X, self.y, self.labels, self.weight, self.clock = X, y, labels, weight, clock
        self.found, self.took = {}, {}  # predictions of each fold, and seconds of the longest, by name

    def predict(self, fitted, train, test):
        """Fit them to one fold, and keep what they predict; ``fitted`` knows what of X is numbers."""
        parts = [(_readable(fitted, _safe_indexing(self.X, rows)), rows) for rows in (train, test)]
        A, B = (np.zeros((len(rows), 0)) if part is None else part for part, rows in parts)
        weight, y = None if self.weight is None else self.weight[train], self.y[train]
        classes = len(np.unique(y)) if self.labels else 0
        for name, model in simple_models(self.labels, *A.shape).items():
            if self.clock.fits(self.took[name] if name in self.took else least_seconds(name, *A.shape, classes)):
                began = self.clock.seconds
                self.found.setdefault(name, []).append(predict_simply(model, A, y, B, weight))
                self.took[name] = max(self.took.get(name, 0.0), self.clock.seconds - began)

    def compare(self, folds, pooled):
        """[name, score, errors, …] of those that were judged in all folds: a fold may have grown to trees."""
        found = self.found.items()
        return [self._compare_one(name, folds, parts, pooled) for name, parts in found if len(parts) == len(folds)]

    def _compare_one(self, name, folds, parts, pooled):
        """Fold scores and errors of a simple model."""
        from sklearn.metrics import accuracy_score, r2_score

        judge, y = accuracy_score if self.labels else r2_score, self.y
        scores = np.array([float(judge(y[test], values)) for (_, test), values in zip(folds, parts, strict=True)])
        score, error = float(scores.mean()), standard_error(scores)
        if pooled is not None:
            mine = pooled.beside(parts)
            score, error = mine.score, mine.error
        sizes = {} if self.labels else sizes_of(y, assemble(y, folds, parts, self.labels))
        return {"name": name, "score": score, "error": error if np.isfinite(error) else None,
                "scores": scores.tolist(), **sizes}  # fmt: skip


def _readable(fitted, X):
    """What of X is numbers; the kernel of a fold may be one of stored rows, which stands for one of vectors."""
    stored = ours(fitted) and fitted.kernel_.domain != fitted.kernel_.original().domain
    return fitted.readable(X) if ours(fitted) and not stored else np.asarray(X, dtype=float)
