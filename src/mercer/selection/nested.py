"""Nested cross-validation: one loop chooses, another one judges, and no row does both (lecture 003, Algorithm 1)."""

from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length

from mercer.selection._folded import (
    Run,
    assemble,
    check_folds,
    choice_of,
    ours,
    outer_folds,
    score_name,
    stored_kernels,
    with_inner,
)
from mercer.selection.judging import FoldTimes, simple_models, simply_predicted
from mercer.selection.row_kernel import RowKernel


def nested_cv(
    estimator, X, y, *, outer=5, inner=None, groups=None, sample_weight=None, scoring=None, random_state=0,
    baselines=False, fitted=None, optimism=True, time_budget=None, needs=None, listener=None,
):  # fmt: skip
    """Performance_f = score on fold f of the model chosen and fitted without fold f;  their mean is returned.

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

    Returns
    -------
    NestedResult or None
        None if there was no time for a single fold.

    Notes
    -----
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
    >>> print(f"R² {result.mean:.2f} ± {result.standard_error:.2f}, chosen on all rows: {result.choice['kernel']}")
    R² 0.75 ± 0.03, chosen on all rows: Gaussian(10.0)
    """
    clock, model, y, given = FoldTimes(time_budget, needs), with_inner(clone(estimator), inner), np.asarray(y), X
    check_consistent_length(X, y, groups, sample_weight)
    folds = outer_folds(outer, model, X, y, groups, random_state)
    scorer = check_scoring(model, scoring=scoring)
    name = score_name(model, scoring)
    check_folds(folds, name)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    kernels = stored_kernels(model, X, scoring) if fitted is None else None
    if kernels is not None:
        several = isinstance(model.kernel, (list, tuple))
        model.set_params(kernel=kernels if several else kernels[0])
        X = np.arange(len(y))
    run = Run(X, y, weight, scorer, listener)
    whole = run.fit(model, np.arange(len(y))) if fitted is None else fitted
    found, others, took, labels = [], {}, {}, is_classifier(model)
    for step, (train, test) in enumerate(folds, start=1):
        share = clock.share(len(folds) - step + 1)
        if share == 0.0:
            break
        began = clock.seconds
        part = run.fit(model, train, share)
        score, predicted = run.judge(part, train, test)
        again = optimism and clock.affords(_last_step(part, clock.seconds - began))
        plain = run.plain(whole, train, test, score) if again else np.nan
        stated = run.probabilities(part, whole, train, test), run.deviations(part, train, test)
        found.append((score, plain, choice_of(part), predicted, *stated))
        for one in _simple(part, given, y, train, test, weight, labels, took, clock) if baselines else ():
            others.setdefault(one[0], []).append(one[1])
        if listener is not None:
            listener(step, len(folds))
    if not found:
        return None
    scores, plain, choices, predictions, proba, std = zip(*found, strict=True)
    done = folds[: len(found)]
    others = {name: parts for name, parts in others.items() if len(parts) == len(done)}  # folds may have grown to trees
    return NestedResult(
        scores=np.array(scores),
        plain_scores=np.array(plain),
        choices=list(choices),
        choice=choice_of(whole),
        folds=done,
        predictions=assemble(y, done, predictions, labels),
        probabilities=None if any(one is None for one in proba) else assemble(y, done, proba, False),
        deviations=None if any(one is None for one in std) else assemble(y, done, std, False),
        scoring=name,
        estimator=" ".join(repr(estimator).split()),
        gram_reused=kernels is not None,
        seconds=clock.seconds,
        target=y,
        planned=len(folds),
        baselines=[_baseline(name, y, done, parts, labels) for name, parts in others.items()],
    )


def _last_step(fitted, seconds):
    """Seconds that a fit took after all was chosen; none where nothing is chosen, for then it is not made again."""
    if not ours(fitted):
        return seconds
    return 0.0 if fitted.selection_ is None else max(seconds - fitted.selection_.seconds, 0.0)


def _simple(fitted, X, y, train, test, weight, labels, took, clock):
    """[(name, predictions)] of the simple models of one fold, on what of X is numbers to them, while there is time.

    ``took`` are the seconds of each in the longest fold.
    """
    A, B = (_readable(fitted, _safe_indexing(X, rows)) for rows in (train, test))
    A, B = (np.zeros((len(rows), 0)) if part is None else part for part, rows in ((A, train), (B, test)))
    weights, found = None if weight is None else weight[train], []
    for name, one in simple_models(labels, *A.shape).items():
        if clock.fits(took.get(name, 0.0)):
            began = clock.seconds
            found.append((name, simply_predicted(one, A, y[train], B, weights)))
            took[name] = max(took.get(name, 0.0), clock.seconds - began)
    return found


def _readable(fitted, X):
    """What of X is numbers; the kernel of a fold may be one of stored rows, which stands for one of vectors."""
    stored = ours(fitted) and isinstance(fitted.kernel_, RowKernel) and fitted.kernel_.source.domain == "vectors"
    return fitted.readable(X) if ours(fitted) and not stored else np.asarray(X, dtype=float)


def _baseline(name, y, folds, parts, labels):
    """Fold scores and errors of a simple model."""
    from sklearn.metrics import accuracy_score, r2_score

    score = accuracy_score if labels else r2_score
    scores = [float(score(y[test], values)) for (_, test), values in zip(folds, parts, strict=True)]
    error = _standard_error(np.array(scores))
    sizes = {} if labels else sizes_of(y, assemble(y, folds, parts, labels))
    return {"name": name, "score": float(np.mean(scores)), "error": error if np.isfinite(error) else None,
            "scores": scores, **sizes}  # fmt: skip


def sizes_of(y, predicted):
    """RMSE and MAE over all left-out rows."""
    e = (y - predicted)[np.isfinite(predicted)]  # not of folds for which there was no time
    return {"rmse": float(np.sqrt(np.mean(e**2))), "mae": float(np.mean(np.abs(e)))}


@dataclass(frozen=True, eq=False)
class NestedResult:
    """What `nested_cv` found.

    Attributes
    ----------
    scores : ndarray of shape (F,)
        Score of each outer fold: chosen, fitted and judged on different rows.
    plain_scores : ndarray of shape (F,)
        Scores on the same folds of the one model that was chosen on all rows, the fold's own included; NaN where the
        estimator does not say what it chose.
    choices : list of dict
        What each fold chose: kernel and lam, or the ``best_params_`` of a search; empty where nothing is known.
    choice : dict
        What is chosen on all rows: the model to use. `mean` is the estimate of its performance.
    folds : list of (ndarray, ndarray)
        Train and test rows of each outer fold.
    predictions : ndarray of shape (n,) or (n, t)
        Prediction of each row by the model of a fold that did not see it: NaN (None for labels) for rows that are in
        no test fold; for rows that are in several the mean (of labels the last).
    probabilities : ndarray of shape (n, C), or None
        Of the classes, by the same models; None where a fold states none, or has not all classes.
    deviations : ndarray of shape (n,) or (n, t), or None
        Standard deviation of the target of each row, noise included, that the same model states; None where it is no
        process.
    scoring : str
        Name of the score.
    estimator : str
        The estimator, as it was given.
    target : ndarray
        y, the targets that the predictions are compared with.
    planned : int
        Folds that were asked for; there are fewer where time was up.
    baselines : list of dict
        Name, fold scores and errors of the simple models.
    gram_reused : bool
        Whether K was evaluated once for all folds.
    seconds : float
        Time taken.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import nested_cv
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> found = nested_cv(KernelRidge(Gaussian(), 0.01), X, np.sin(X[:, 0]))
    >>> len(found.scores), bool(found.mean > 0.99)
    (5, True)
    """

    scores: np.ndarray
    plain_scores: np.ndarray
    choices: list
    choice: dict
    folds: list
    predictions: np.ndarray
    scoring: str
    estimator: str
    gram_reused: bool
    seconds: float
    target: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    deviations: np.ndarray | None = None
    planned: int = 0
    baselines: list = field(default_factory=list)

    @property
    def mean(self):
        """Mean of the outer scores."""
        return float(self.scores.mean())

    @property
    def standard_error(self):
        """sd/√F of the outer scores; a little too small, since any two folds share training rows."""
        return _standard_error(self.scores)

    @property
    def residuals(self):
        """Target minus prediction; None for labels."""
        return None if self.predictions.dtype.kind != "f" else self.target - self.predictions

    @property
    def errors(self):
        """{"rmse": …, "mae": …} over all left-out rows; nothing for labels, nor of several targets."""
        return {} if self.residuals is None or self.residuals.ndim > 1 else sizes_of(self.target, self.predictions)

    def spread(self, rows, n):
        """Return the result for a table of n rows, of which these were judged."""
        shape, labels = (n, *self.predictions.shape[1:]), self.predictions.dtype.kind != "f"
        predictions = np.full(shape, None if labels else np.nan, dtype=object if labels else float)
        target = np.full((n, *self.target.shape[1:]), None if labels else np.nan, dtype=predictions.dtype)
        predictions[rows], target[rows] = self.predictions, self.target
        folds = [(rows[train], rows[test]) for train, test in self.folds]
        stated = {name: _spread(vars(self)[name], rows, n) for name in ("probabilities", "deviations")}
        return replace(self, predictions=predictions, target=target, folds=folds, **stated)

    def take(self, rows):
        """Return the result for these rows alone, in their order."""
        place = np.full(len(self.predictions), -1)
        place[rows] = np.arange(len(rows))
        kept = [tuple(place[part][place[part] >= 0] for part in fold) for fold in self.folds]
        names = ("predictions", "target", "probabilities", "deviations")
        parts = {name: None if vars(self)[name] is None else vars(self)[name][rows] for name in names}
        return replace(self, folds=kept, **parts)

    @property
    def forward(self):
        """Whether each fold was predicted from rows before it, as the future of a series is."""
        return all(len(train) and train.max() < test.min() for train, test in self.folds)

    @property
    def plain_mean(self):
        """Mean of the non-nested scores."""
        return float(self.plain_scores.mean())

    @property
    def optimism(self):
        """Non-nested minus nested score: what choosing on the rows that judge seems to gain."""
        return float((self.plain_scores - self.scores).mean())

    @property
    def optimism_error(self):
        """Standard error of the optimism, from the differences in each fold."""
        return _standard_error(self.plain_scores - self.scores)

    def to_dict(self):
        """Return everything as plain values for a file."""
        done, planned = len(self.scores), max(self.planned, len(self.scores))
        parts = f"{done if done == planned else f'{done} of {planned}'} folds"
        kind = "forecasts from the rows before," if self.forward else "nested cross-validation,"
        return {
            "how": f"{kind} {parts}",
            "forward": self.forward,
            "estimator": self.estimator,
            "scoring": self.scoring,
            "mean": self.mean,
            "standard_error": _known(self.standard_error),
            "optimism": _known(self.optimism),
            "optimism_error": _known(self.optimism_error),
            "scores": self.scores.tolist(),
            "plain_scores": [_known(value) for value in self.plain_scores.tolist()],
            **self.errors,
            "baselines": self.baselines,
            "choices": [_plain(choice) for choice in self.choices],
            "choice": _plain(self.choice),
            "test_rows": [test.tolist() for _, test in self.folds],
            "predictions": [_known(value) for value in self.predictions.tolist()],
            "probabilities": None if self.probabilities is None else self.probabilities.tolist(),
            "deviations": None if self.deviations is None else [_known(value) for value in self.deviations.tolist()],
            "gram_reused": self.gram_reused,
            "seconds": self.seconds,
        }

    def __str__(self):
        """Return the folds as a table, and the three numbers below it."""
        known, width = bool(np.isfinite(self.optimism)), max(9, len(self.scoring))
        lines = [
            f"Nested cross-validation of {self.estimator}",
            f"  fold   train    test  {self.scoring:>{width}}  {'non-nested  ' if known else ''}choice",
        ]
        for i, (train, test) in enumerate(self.folds):
            plain = f"{self.plain_scores[i]:>10.4g}  " if known else ""
            score = f"{self.scores[i]:>{width}.4g}"
            lines.append(f"{i + 1:>6}{len(train):>8}{len(test):>8}  {score}  {plain}{_words(self.choices[i])}")
        lines.append(f"  nested      {_number(self.mean, self.standard_error)}   chosen and judged on different rows")
        if not known:
            return "\n".join([*lines, "  non-nested  unknown: the estimator does not say what it chose"])
        plain = _number(self.plain_mean, _standard_error(self.plain_scores))
        return "\n".join(
            [
                *lines,
                f"  non-nested  {plain}   chosen on all rows: {_words(self.choice)}",
                f"  optimism    {_number(self.optimism, self.optimism_error)}   non-nested minus nested",
            ]
        )


def _standard_error(values):
    """sd/√F."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _spread(values, rows, n):
    """Values of some rows among those of n; None of None."""
    if values is None:
        return None
    out = np.full((n, *values.shape[1:]), np.nan)
    out[rows] = values
    return out


def _known(value):
    """A value as a file has it: None for a number that is none."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _number(mean, error):
    """A mean with its standard error."""
    return f"{mean:>9.4g} ± {error:<7.2g}"


def _plain(choice):
    """A choice with numbers as numbers and everything else as text."""
    return {key: value if isinstance(value, (int, float, str)) else repr(value) for key, value in choice.items()}


def _words(choice):
    """A choice in one line."""
    return ", ".join(f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v!r}" for k, v in choice.items()) or "-"
