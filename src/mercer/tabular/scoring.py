"""How good a model is on rows it has not seen, next to the mean, a linear model and nearest neighbours."""

import time
import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import clone, is_classifier

from mercer.kernels.inputs import named_columns
from mercer.selection._nested import assemble, check_folds, outer_folds
from mercer.tabular._bad_rows import numbered
from mercer.tabular._choose import fixed, leaves_open, within
from mercer.tabular._simple import baseline, error_of, errors_of, others, score_of
from mercer.tabular._targets import usable_rows
from mercer.tabular.model import TableModel

FOLDS, LEAST = 5, 10  # folds, and rows below which nothing is judged
SEARCH = 0.6  # of the time of a fold: the rest is for the fits themselves


@dataclass(frozen=True, eq=False)
class Scores:
    """What `score` found.

    Attributes
    ----------
    scoring : str
        "r2" or "accuracy".
    scores : ndarray of shape (F,)
        Of the model on each fold: chosen, fitted and judged on different rows.
    plain_scores : ndarray of shape (F,)
        Of the hyper-parameters that were chosen on all rows, the fold's own included; NaN where nothing was chosen.
    errors : dict
        {"rmse": …, "mae": …} of the model over all left-out rows, or {"log_loss": …}.
    baselines : list of dict
        Name, fold scores and errors of the mean (or commonest class), a linear model and nearest neighbours.
    predictions : ndarray of shape (n,)
        Of each row of the table by the model that did not see it; NaN (None for labels) for rows without a target.
    residuals : ndarray of shape (n,) or None
        Target minus prediction.
    choices : list of dict
        λ and kernel of each fold.
    folds : list of ndarray
        Rows of each fold.
    seconds : float
    planned : int
        Folds that were asked for; there are fewer where time was up.
    """

    scoring: str
    scores: np.ndarray
    plain_scores: np.ndarray
    errors: dict
    baselines: list
    predictions: np.ndarray
    residuals: np.ndarray | None
    choices: list = field(default_factory=list)
    folds: list = field(default_factory=list)
    seconds: float = 0.0
    planned: int = 0

    @property
    def mean(self):
        """Mean over the folds."""
        return float(self.scores.mean())

    @property
    def standard_error(self):
        """sd/√F over the folds; a little too small, since any two folds share training rows. None from one fold."""
        return error_of(self.scores)

    @property
    def optimism(self):
        """What choosing on the rows that judge seems to gain; None where nothing was chosen."""
        gain = self.plain_scores - self.scores
        return float(gain.mean()) if np.isfinite(gain).all() else None

    def to_dict(self):
        """Return plain values: for a file, for JSON, for a report."""
        gain = self.plain_scores - self.scores
        done, planned = len(self.scores), max(self.planned, len(self.scores))
        return {
            "how": f"nested cross-validation, {done if done == planned else f'{done} of {planned}'} folds",
            "scoring": self.scoring,
            "mean": self.mean,
            "standard_error": self.standard_error,
            "optimism": self.optimism,
            "optimism_error": None if self.optimism is None else error_of(gain),
            "scores": self.scores.tolist(),
            "plain_scores": [None if np.isnan(value) else float(value) for value in self.plain_scores],
            **self.errors,
            "baselines": [{**one, "scores": list(one["scores"])} for one in self.baselines],
            "choices": list(self.choices),
            "predictions": [_plain(value) for value in self.predictions],
            "seconds": self.seconds,
        }


def score(model, X, y=None, *, fitted=None, outer=FOLDS, random_state=0, listener=None, time_budget=None):
    """Performance_f on fold f of the model chosen and fitted without fold f, and the same of three simple models.

    Parameters
    ----------
    model : TableModel or estimator
        A TableModel judges the whole procedure: means, standard deviations and medians too are learnt without the
        fold. What a column is (numbers, which categories, left out) is that of all rows.
    X : polars.DataFrame, or array-like of shape (n, d)
        For a TableModel the table with its target.
    y : array-like of shape (n,), default=None
        For an estimator.
    fitted : TableModel or estimator, default=None
        The model fitted on all rows, for the optimism; None fits it.
    outer : int, default=5
        Folds.
    random_state : int, default=0
        Seed of the folds.
    listener : callable, default=None
        Called with (step, steps) when a fold is done, and without arguments after each evaluation of a search.
    time_budget : float, default=None
        Seconds for all folds together: each search has its share, and no fold is begun that is not expected to end in
        time.

    Returns
    -------
    Scores or None
        None if there was no time for a single fold. Simple models that need numbers are left out for tables that have
        none.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.datasets import load_mcycle
    >>> from mercer.selection import LOO
    >>> from mercer.tabular import score
    >>> X, y = load_mcycle(return_X_y=True)
    >>> found = score(KernelRidge(criterion=LOO()), X, y)
    >>> found.mean > max(sum(one["scores"]) / 5 for one in found.baselines[:2])
    True
    """
    clock = _Clock(time_budget)
    judge = _Tables(model, X, listener) if isinstance(model, TableModel) else _Arrays(model, X, y, listener)
    labels = is_classifier(judge.estimator)
    if len(judge.y) < LEAST:
        raise ValueError(f"{len(judge.y)} rows are too few for cross-validation; at least {LEAST} are needed.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folds: the fit on all rows has said what is to be said
        most = np.unique(judge.y, return_counts=True)[1].max() if labels else len(judge.y)  # folds that have a class
        outer = int(min(outer, len(judge.y) // 2, most))
        folds = outer_folds(outer, judge.estimator, np.zeros((len(judge.y), 1)), judge.y, None, random_state)
        check_folds(folds, "accuracy" if labels else "r2")
        whole = judge.fit(np.arange(len(judge.y))) if fitted is None else fitted
        judge.recipe = getattr(whole, "recipe_", None)
        found = _fold_by_fold(judge, whole, folds, labels, listener, clock)
    done = folds[: len(found["scores"])]
    return _assembled(judge, done, found, labels, len(folds), clock) if done else None


class _Clock:
    """What is left of a time budget, and whether another fold is expected to fit into it."""

    def __init__(self, budget):
        self.budget, self.started, self.longest, self.began = budget, time.perf_counter(), 0.0, None

    @property
    def seconds(self):
        """Since the beginning."""
        return time.perf_counter() - self.started

    def share(self, folds):
        """Seconds for the search of the next of so many folds; None without a budget, 0 if there is no time."""
        if self.began is not None:
            self.longest = max(self.longest, self.seconds - self.began)
        self.began = self.seconds
        if self.budget is None:
            return None
        left = self.budget - self.seconds
        return SEARCH * left / folds if left > self.longest else 0.0


def _fold_by_fold(judge, whole, folds, labels, listener, clock):
    """Scores, plain scores, choices and predictions of the model, and predictions of the others."""
    found = {"scores": [], "plain": [], "choices": [], "predictions": [], "others": {}}
    for step, (train, test) in enumerate(folds, start=1):
        share = clock.share(len(folds) - step + 1)
        if share == 0.0:
            break
        model = judge.fit(train, share)
        values = judge.predict(model, test)
        found["scores"].append(score_of(judge.y[test], values, labels))
        found["predictions"].append(values)
        found["choices"].append(judge.choice(model))
        frozen = judge.frozen(whole)
        plain = np.nan if frozen is None else score_of(judge.y[test], judge.predict(frozen(train), test), labels)
        found["plain"].append(plain)
        A, B = judge.inputs(model, train), judge.inputs(model, test)
        for name, other in others(labels, *A.shape).items():
            found["others"].setdefault(name, []).append(other.fit(A, judge.y[train]).predict(B))
        if listener is not None:
            listener(step, len(folds))
    return found


def _assembled(judge, folds, found, labels, planned, clock):
    """The `Scores` of the folds that were done."""
    predictions = assemble(judge.y, folds, found["predictions"], labels)
    every = np.full(judge.height, None if labels else np.nan, dtype=object if labels else float)
    every[judge.rows] = predictions
    residuals = None
    if not labels:
        residuals = np.full(judge.height, np.nan)
        residuals[judge.rows] = judge.y - predictions
    return Scores(
        scoring="accuracy" if labels else "r2",
        scores=np.array(found["scores"]),
        plain_scores=np.array(found["plain"]),
        errors=errors_of(judge.y, predictions, labels),
        baselines=[baseline(name, judge.y, folds, parts, labels) for name, parts in found["others"].items()],
        predictions=every,
        residuals=residuals,
        choices=found["choices"],
        folds=[judge.rows[test] for _, test in folds],
        seconds=clock.seconds,
        planned=planned,
    )


class _Arrays:
    """An estimator on arrays."""

    def __init__(self, model, X, y, listener=None):
        self.estimator, self.X, self.y = model, np.asarray(X, dtype=float), np.asarray(y)
        self.height, self.rows = len(self.y), np.arange(len(self.y))

    def fit(self, rows, seconds=None):
        return within(clone(self.estimator), seconds).fit(self.X[rows], self.y[rows])

    def predict(self, model, rows):
        return np.asarray(model.predict(self.X[rows]))

    def inputs(self, model, rows):
        return self.X[rows]

    def choice(self, model):
        return _choice(model)

    def frozen(self, whole):
        if not leaves_open(self.estimator):
            return None
        return lambda rows: fixed(whole).fit(self.X[rows], self.y[rows])


class _Tables(_Arrays):
    """A table model on the rows of a table that have a target."""

    def __init__(self, model, frame, listener=None):
        self.model, self.estimator, self.listener, self.recipe = model, model.estimator, listener, None
        target = model.target_of(frame)
        self.rows, self.y = usable_rows(frame, target, is_classifier(model.estimator), [])
        self.height, self.frame = frame.height, frame[self.rows]

    def fit(self, rows, seconds=None):
        model = clone(self.model)
        within(model.estimator, seconds)
        with numbered(self.rows[rows]):
            return model._fit(self.frame[rows], self.listener, recipe=self.recipe)

    def predict(self, model, rows):
        return np.asarray(model.predict(self.frame[rows]))

    def inputs(self, model, rows):
        return model.recipe_.numbers(self.frame[rows])

    def choice(self, model):
        return _choice(model.estimator_)

    def frozen(self, whole):
        if whole.selection_ is None:
            return None
        model = clone(self.model).set_params(estimator=fixed(whole.estimator_), recipe=None)

        def fit(rows):
            return _with_recipe(model, whole.recipe_, self.frame[rows], self.y[rows])

        return fit


def _with_recipe(model, recipe, frame, y):
    """The estimator of a table model on the columns of a recipe that is there already."""
    fitted = clone(model)
    X, kernel = recipe.transform(frame), model.estimator.kernel
    fitted.recipe_, fitted.feature_names_ = recipe, named_columns(kernel) if recipe.has_objects else []
    fitted.estimator_ = clone(model.estimator).fit(X[fitted.feature_names_] if recipe.has_objects else X, y)
    return fitted


def _choice(fitted):
    """λ and kernel, as text."""
    lam = getattr(fitted, "lam_", None)
    return {"kernel": repr(fitted.kernel_), **({} if lam is None else {"lam": float(lam)})}


def _plain(value):
    """A number, a label, or None."""
    if value is None or isinstance(value, str):
        return value
    return None if value != value else float(value)
