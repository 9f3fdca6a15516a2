"""How good a model is on rows it has not seen, next to the mean, a linear model and nearest neighbours."""

import time
import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import clone, is_classifier

from mercer.selection._nested import assemble, check_folds, outer_folds
from mercer.tabular._choose import fixed, leaves_open
from mercer.tabular._targets import usable_rows
from mercer.tabular.model import TableModel

FOLDS, LEAST = 5, 10  # folds, and rows below which nothing is judged
NEIGHBOURS = 5


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

    @property
    def mean(self):
        """Mean over the folds."""
        return float(self.scores.mean())

    @property
    def standard_error(self):
        """sd/√F over the folds; a little too small, since any two folds share training rows."""
        return _error(self.scores)

    @property
    def optimism(self):
        """What choosing on the rows that judge seems to gain; None where nothing was chosen."""
        gain = self.plain_scores - self.scores
        return float(gain.mean()) if np.isfinite(gain).all() else None

    def to_dict(self):
        """Return plain values: for a file, for JSON, for a report."""
        gain = self.plain_scores - self.scores
        return {
            "how": f"nested cross-validation, {len(self.scores)} folds",
            "scoring": self.scoring,
            "mean": self.mean,
            "standard_error": self.standard_error,
            "optimism": self.optimism,
            "optimism_error": None if self.optimism is None else _error(gain),
            "scores": self.scores.tolist(),
            "plain_scores": [None if np.isnan(value) else float(value) for value in self.plain_scores],
            **self.errors,
            "baselines": [{**one, "scores": list(one["scores"])} for one in self.baselines],
            "choices": list(self.choices),
            "predictions": [_plain(value) for value in self.predictions],
            "seconds": self.seconds,
        }


def score(model, X, y=None, *, fitted=None, outer=FOLDS, random_state=0, listener=None):
    """Performance_f on fold f of the model chosen and fitted without fold f, and the same of three simple models.

    Parameters
    ----------
    model : TableModel or estimator
        A TableModel judges the whole procedure: the recipe too is learnt without the fold.
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

    Returns
    -------
    Scores

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
    started = time.perf_counter()
    judge = _Tables(model, X, listener) if isinstance(model, TableModel) else _Arrays(model, X, y, listener)
    labels = is_classifier(judge.estimator)
    if len(judge.y) < LEAST:
        raise ValueError(f"{len(judge.y)} rows are too few for cross-validation; at least {LEAST} are needed.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of folds: the fit on all rows has said what is to be said
        folds = outer_folds(min(outer, len(judge.y) // 2), judge.estimator, np.zeros((len(judge.y), 1)), judge.y, None,
                            random_state)  # fmt: skip
        check_folds(folds, "accuracy" if labels else "r2")
        whole = judge.fit(np.arange(len(judge.y))) if fitted is None else fitted
        found = _fold_by_fold(judge, whole, folds, labels, listener)
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
        errors=_errors(judge.y, predictions, labels),
        baselines=[_baseline(name, judge.y, folds, parts, labels) for name, parts in found["others"].items()],
        predictions=every,
        residuals=residuals,
        choices=found["choices"],
        folds=[judge.rows[test] for _, test in folds],
        seconds=time.perf_counter() - started,
    )


def _fold_by_fold(judge, whole, folds, labels, listener):
    """Scores, plain scores, choices and predictions of the model, and predictions of the others."""
    found = {"scores": [], "plain": [], "choices": [], "predictions": [], "others": {}}
    for step, (train, test) in enumerate(folds, start=1):
        model = judge.fit(train)
        values = judge.predict(model, test)
        found["scores"].append(_score(judge.y[test], values, labels))
        found["predictions"].append(values)
        found["choices"].append(judge.choice(model))
        frozen = judge.frozen(whole)
        plain = np.nan if frozen is None else _score(judge.y[test], judge.predict(frozen(train), test), labels)
        found["plain"].append(plain)
        A, B = judge.inputs(model, train), judge.inputs(model, test)
        for name, other in others(labels, len(train)).items():
            found["others"].setdefault(name, []).append(other.fit(A, judge.y[train]).predict(B))
        if listener is not None:
            listener(step, len(folds))
    return found


class _Arrays:
    """An estimator on arrays."""

    def __init__(self, model, X, y, listener=None):
        self.estimator, self.X, self.y = model, np.asarray(X, dtype=float), np.asarray(y)
        self.height, self.rows = len(self.y), np.arange(len(self.y))

    def fit(self, rows):
        return clone(self.estimator).fit(self.X[rows], self.y[rows])

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
        self.model, self.estimator, self.listener = model, model.estimator, listener
        target = model.target_of(frame)
        self.rows, self.y = usable_rows(frame, target, is_classifier(model.estimator), [])
        self.height, self.frame = frame.height, frame[self.rows]

    def fit(self, rows):
        return clone(self.model).fit(self.frame[rows], self.listener)

    def predict(self, model, rows):
        return np.asarray(model.predict(self.frame[rows]))

    def inputs(self, model, rows):
        return model.inputs(self.frame[rows])

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
    fitted.recipe_, fitted.estimator_ = recipe, clone(model.estimator).fit(recipe.transform(frame), y)
    return fitted


def others(labels, n):
    """{name: estimator}: the simple models that a model is to be compared with."""
    neighbours = min(NEIGHBOURS, n)
    if labels:
        from sklearn.dummy import DummyClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.neighbors import KNeighborsClassifier

        return {
            "commonest class": DummyClassifier(strategy="most_frequent"),
            "linear model": LogisticRegression(max_iter=1000),
            f"{neighbours} neighbours": KNeighborsClassifier(neighbours),
        }
    from sklearn.dummy import DummyRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.neighbors import KNeighborsRegressor

    return {
        "mean": DummyRegressor(),
        "linear model": RidgeCV(np.logspace(-3, 3, 13)),
        f"{neighbours} neighbours": KNeighborsRegressor(neighbours),
    }


def _baseline(name, y, folds, parts, labels):
    """Fold scores and errors of a simple model."""
    scores = [_score(y[test], values, labels) for (_, test), values in zip(folds, parts, strict=True)]
    mean, error = float(np.mean(scores)), _error(np.array(scores))
    return {"name": name, "score": mean, "error": error, "scores": scores,
            **_errors(y, assemble(y, folds, parts, labels), labels)}  # fmt: skip


def _score(y, predicted, labels):
    """R², or the share of right labels; R² of a fold of equal targets is NaN-free: 0 unless all are met."""
    from sklearn.metrics import accuracy_score, r2_score

    return float(accuracy_score(y, predicted) if labels else r2_score(y, predicted))


def _errors(y, predicted, labels):
    """RMSE and MAE over all left-out rows; nothing more for labels."""
    if labels:
        return {}
    e = y - predicted
    return {"rmse": float(np.sqrt(np.mean(e**2))), "mae": float(np.mean(np.abs(e)))}


def _choice(fitted):
    """λ and kernel, as text."""
    lam = getattr(fitted, "lam_", None)
    return {"kernel": repr(fitted.kernel_), **({} if lam is None else {"lam": float(lam)})}


def _error(values):
    """sd/√F."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _plain(value):
    """A number, a label, or None."""
    if value is None or isinstance(value, str):
        return value
    return None if value != value else float(value)
