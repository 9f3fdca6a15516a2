"""What nested cross-validation found: scores of folds, of all rows together, choices, and predictions."""

from dataclasses import dataclass, field, replace

import numpy as np

from mercer.selection.judging import bootstrap


@dataclass(frozen=True, eq=False)
class Pooled:
    """Squared errors of rows left out, and squared deviations from the mean of the rows that they were predicted from.

    Attributes
    ----------
    square, spread : ndarray of shape (n, t)
        wᵢeᵢ² and wᵢ(yᵢ − ȳ)² of each row of each fold, ȳ the weighted mean of the training rows of that fold.
    """

    square: np.ndarray
    spread: np.ndarray
    _parts: tuple = ()

    @classmethod
    def of(cls, y, folds, weight, scores, predictions):
        """Return those of the folds; None where the score of a fold is not R²."""
        from sklearn.metrics import r2_score

        parts, spread = [], []
        for (train, test), score, f in zip(folds, scores, predictions, strict=True):
            w = np.ones(len(test)) if weight is None else weight[test]
            if y.dtype.kind not in "fiub" or np.shape(f) != y[test].shape:
                return None
            if not np.isclose(r2_score(y[test], f, sample_weight=w), score, 1e-9, 1e-9, equal_nan=True):
                return None
            mean = np.average(y[train], axis=0, weights=None if weight is None else weight[train])
            parts.append((y[test], w))
            spread.append(_weighted_squares(y[test] - mean, w))
        return cls(np.zeros(0), np.concatenate(spread), tuple(parts)).beside(predictions)

    def beside(self, predictions):
        """Return the same of other predictions for these folds."""
        errors = [_weighted_squares(y - f, w) for (y, w), f in zip(self._parts, predictions, strict=True)]
        return replace(self, square=np.concatenate(errors))

    @property
    def score(self):
        """R² = 1 − Σe²/Σ(y − ȳ)², the mean over targets; nan for targets that are constant."""
        total = self.spread.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.mean(np.where(total > 0, 1.0 - self.square.sum(axis=0) / total, np.nan)))

    @property
    def error(self):
        """Standard error of the score, by drawing rows again; of several targets the mean."""
        return self._drawn(self.square)

    def gained_error(self, other):
        """Standard error of the difference to the score of other predictions."""
        return self._drawn(self.square - other.square)

    def _drawn(self, square):
        return float(np.mean([bootstrap(*columns) for columns in zip(square.T, self.spread.T, strict=True)]))


def _weighted_squares(e, w):
    """wᵢeᵢ², a column for each target."""
    return w[:, None] * np.asarray(e, dtype=float).reshape(len(w), -1) ** 2


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
        What is chosen on all rows: the model to use. `score` is the estimate of its performance.
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
        Name, score, fold scores and errors of the simple models.
    equal : int
        Rows that have an equal one, where all of these were kept in one fold.
    pooled, plain_pooled : Pooled or None
        Squared errors of all rows left out, where the score is R²: nested, and of what was chosen on all rows.
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
    >>> len(found.scores), bool(found.score > 0.99)
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
    equal: int = 0
    pooled: Pooled | None = None
    plain_pooled: Pooled | None = None

    @property
    def score(self):
        """R² of all rows left out together; of another score the mean over the folds."""
        return self.mean if self.pooled is None else self.pooled.score

    @property
    def mean(self):
        """Mean of the outer scores: for R² of few rows see `score`."""
        return float(self.scores.mean())

    @property
    def standard_error(self):
        """Of `score`: by drawing rows again for R², else sd/√F; too small, since any two folds share training rows."""
        return standard_error(self.scores) if self.pooled is None else self.pooled.error

    @property
    def residuals(self):
        """Target minus prediction; None for labels."""
        return None if self.predictions.dtype.kind != "f" else self.target - self.predictions

    @property
    def fold(self):
        """The fold that each row was left out with, of several the last; −1 of those that never were."""
        found = np.full(len(self.predictions), -1)
        for k, (_, test) in enumerate(self.folds):
            found[test] = k
        return found

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
        stated = {name: _scatter(vars(self)[name], rows, n) for name in ("probabilities", "deviations")}
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
    def plain_score(self):
        """`score` of the one model that was chosen on all rows, the fold's own included; nan where it is not known."""
        if self.pooled is None:
            return float(self.plain_scores.mean())
        return float("nan") if self.plain_pooled is None else self.plain_pooled.score

    @property
    def optimism(self):
        """Non-nested minus nested score: what choosing on the rows that judge seems to gain."""
        return self.plain_score - self.score

    @property
    def optimism_error(self):
        """Standard error of the optimism, from the differences in each row or fold."""
        if self.pooled is None:
            return standard_error(self.plain_scores - self.scores)
        return float("nan") if self.plain_pooled is None else self.pooled.gained_error(self.plain_pooled)

    def to_dict(self):
        """Return everything as plain values for a file."""
        done, planned = len(self.scores), max(self.planned, len(self.scores))
        parts = f"{done if done == planned else f'{done} of {planned}'} folds"
        together = f"; {self.equal} rows with equal inputs in the same fold" if self.equal else ""
        kind = "forecasts from the rows before," if self.forward else "nested cross-validation,"
        return {
            "how": f"{kind} {parts}{together}",
            "forward": self.forward,
            "estimator": self.estimator,
            "scoring": self.scoring,
            "score": self.score,
            "mean": self.mean,
            "standard_error": _or_none(self.standard_error),
            "optimism": _or_none(self.optimism),
            "optimism_error": _or_none(self.optimism_error),
            "scores": self.scores.tolist(),
            "plain_scores": [_or_none(value) for value in self.plain_scores.tolist()],
            **self.errors,
            "baselines": self.baselines,
            "choices": [_as_values(choice) for choice in self.choices],
            "choice": _as_values(self.choice),
            "test_rows": [test.tolist() for _, test in self.folds],
            "predictions": [_or_none(value) for value in self.predictions.tolist()],
            "probabilities": None if self.probabilities is None else self.probabilities.tolist(),
            "deviations": None if self.deviations is None else [_or_none(value) for value in self.deviations.tolist()],
            "gram_reused": self.gram_reused,
            "seconds": self.seconds,
        }

    @property
    def _plain_error(self):
        """Standard error of `plain_score`."""
        return standard_error(self.plain_scores) if self.plain_pooled is None else self.plain_pooled.error

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
            lines.append(f"{i + 1:>6}{len(train):>8}{len(test):>8}  {score}  {plain}{_in_words(self.choices[i])}")
        lines.append(
            f"  nested      {_with_error(self.score, self.standard_error)}   chosen and judged on different rows"
        )
        if not known:
            return "\n".join([*lines, "  non-nested  unknown: the estimator does not say what it chose"])
        plain = _with_error(self.plain_score, self._plain_error)
        return "\n".join(
            [
                *lines,
                f"  non-nested  {plain}   chosen on all rows: {_in_words(self.choice)}",
                f"  optimism    {_with_error(self.optimism, self.optimism_error)}   non-nested minus nested",
            ]
        )


def standard_error(values):
    """sd/√F."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _scatter(values, rows, n):
    """Values of some rows among those of n; None of None."""
    if values is None:
        return None
    out = np.full((n, *values.shape[1:]), np.nan)
    out[rows] = values
    return out


def _or_none(value):
    """A value as a file has it: None for a number that is none."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _with_error(mean, error):
    """A mean with its standard error."""
    return f"{mean:>9.4g} ± {error:<7.2g}"


def _as_values(choice):
    """A choice with numbers as numbers and everything else as text."""
    return {key: value if isinstance(value, (int, float, str)) else repr(value) for key, value in choice.items()}


def _in_words(choice):
    """A choice in one line."""
    return ", ".join(f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v!r}" for k, v in choice.items()) or "-"
