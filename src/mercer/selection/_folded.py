"""The two loops of nested cross-validation: fitting on some rows, judging on others, and what was chosen."""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold, check_cv
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples, has_fit_parameter

from mercer._state import Stateful
from mercer.kernels.base import Kernel
from mercer.selection.base import Rule
from mercer.selection.equal import random_folds
from mercer.selection.row_kernel import row_kernels
from mercer.selection.rules import Discrepancy


# ---------------------------------------------------------------------------------------------- the loops
class FoldOutcome(NamedTuple):
    """What a fold said of the model that was chosen without it, and of the one that was chosen on all rows."""

    score: float
    predicted: np.ndarray
    plain_score: float
    plain_predicted: np.ndarray | None
    choice: dict
    probabilities: np.ndarray | None
    deviations: np.ndarray | None


class FoldRun:
    """The data, and how a model is fitted on some rows of it and judged on others."""

    def __init__(self, X, y, weight, scorer, labels, counted, clock, listener=None):
        self.X, self.y, self.weight, self.scorer, self.labels = X, y, weight, scorer, labels
        self.clock, self.listener = clock, listener
        self.counted = counted  # whether the score of one of our models is the share of labels that are right

    def fold(self, model, whole, train, test, seconds, optimism):
        """(the model fitted without a fold, its `FoldOutcome`); ``optimism`` judges what ``whole`` chose, too."""
        began = self.clock.seconds
        fitted = self.fit(model, train, seconds)
        score, predicted = self.judge(fitted, train, test)
        again = optimism and self.clock.affords(_seconds_of_last_fit(fitted, self.clock.seconds - began))
        plain = self.judge_chosen(whole, train, test, score, predicted) if again else (np.nan, None)
        stated = self.probabilities(fitted, whole, train, test), self.deviations(fitted, train, test)
        return fitted, FoldOutcome(score, predicted, *plain, choice_of(fitted), *stated)

    def fit(self, model, rows, seconds=None):
        """Return a copy of the model fitted on the rows, its searches within so many seconds."""
        model = clone(model)
        given = model.get_params()
        rules = {key: rule.restrict(rows) for key, rule in given.items() if isinstance(rule, Rule)}
        if seconds is not None:
            budgets = {key: value for key, value in given.items() if key.split("__")[-1] == "time_budget"}
            rules |= {key: seconds if value is None else min(value, seconds) for key, value in budgets.items()}
        model.set_params(**rules)
        X, y = _safe_split(model, self.X, self.y, rows)
        extra = {} if self.weight is None else {_weight_key(model): self.weight[rows]}
        if self.listener is not None and has_fit_parameter(model, "listener"):
            extra["listener"] = self.listener
        return model.fit(X, y, **extra)

    def judge(self, fitted, train, test):
        """(score, prediction) of the test rows by a model that was fitted on the train rows."""
        X, y = _safe_split(fitted, self.X, self.y, test, train)
        extra = {} if self.weight is None else {"sample_weight": self.weight[test]}
        if self.counted and ours(fitted):  # labels of many classes are dear, and the scorer would ask for them again
            predicted = np.asarray(fitted.predict(X))
            return float(accuracy_score(y, predicted, **extra)), predicted
        return float(self.scorer(fitted, X, y, **extra)), np.asarray(fitted.predict(X))

    def probabilities(self, fitted, whole, train, test):
        """Probabilities of the test rows; None where none are stated, or a class is in other rows alone."""
        if not hasattr(fitted, "predict_proba") or not np.array_equal(fitted.classes_, whole.classes_):
            return None
        return np.asarray(fitted.predict_proba(_safe_split(fitted, self.X, self.y, test, train)[0]))

    def deviations(self, fitted, train, test):
        """Deviations that a process states for the targets of the test rows; None of other models."""
        if not (ours(_last(fitted)) and _last(fitted).probabilistic):
            return None
        X = _safe_split(fitted, self.X, self.y, test, train)[0]
        return np.asarray(fitted.predict(X, return_std=True, noisy=True)[1])

    def judge_chosen(self, whole, train, test, score, predicted):
        """(score, predictions) of what was chosen on all rows; the nested ones where nothing is chosen, else nan, None.

        What another estimator chose is not always known.
        """
        if ours(_last(whole)) and _last(whole).selection_ is None:
            return score, predicted
        frozen = _frozen(whole, train)
        return (np.nan, None) if frozen is None else self.judge(self.fit(frozen, train), train, test)


def _seconds_of_last_fit(fitted, seconds):
    """Seconds that a fit took after all was chosen; none where nothing is chosen, for then it is not made again."""
    if not ours(fitted):
        return seconds
    return 0.0 if fitted.selection_ is None else max(seconds - fitted.selection_.seconds, 0.0)


def ours(model):
    """Whether a model is one of ours, or of a user's by our protocol: these alone can be frozen, and kept."""
    return isinstance(model, Stateful)


def _frozen(fitted, rows):
    """An unfitted estimator that no longer chooses: it has what the fitted one chose. None if that is not known."""
    if hasattr(fitted, "steps"):
        name, step = fitted.steps[-1]
        last = _frozen(step, rows)
        return None if last is None else clone(fitted).set_params(**{name: last})
    if hasattr(fitted, "best_estimator_"):
        return clone(fitted.best_estimator_)
    return fitted.frozen(rows) if ours(fitted) else None


def choice_of(fitted):
    """What a fitted estimator chose, as a dict."""
    last = _last(fitted)
    if hasattr(last, "best_params_"):
        return dict(last.best_params_)
    if not ours(last):
        return {}
    chosen = {"kernel": last.kernel_.original()}
    return chosen if last.lam_ is None else chosen | {"lam": last.lam_}


def _last(estimator):
    """The last step of a pipeline, or the estimator itself."""
    return _last(estimator.steps[-1][1]) if hasattr(estimator, "steps") else estimator


# ---------------------------------------------------------------------------------------------- what goes in
def with_inner(model, inner):
    """The model with the criterion ``inner``."""
    if inner is None:
        return model
    if not isinstance(inner, Rule):
        raise TypeError(f"inner must be a criterion such as LOO() or KFold(4), got {inner!r}.")
    keys = [key for key in model.get_params() if key == "criterion" or key.endswith("__criterion")]
    if len(keys) != 1:
        raise TypeError(
            f"inner={inner!r} must be set as the criterion of the estimator, but {type(model).__name__} has "
            f"{len(keys)} parameters of that name; leave inner away, and let the estimator choose by itself."
        )
    return model.set_params(**{keys[0]: inner})


def stored_kernels(model, X, scoring):
    """K of all rows for each kernel of the model, if every fold can use it; else None."""
    params = model.get_params(deep=False)
    if not {"kernel", "lam"} <= params.keys():
        return None
    kernel = params["kernel"]
    kernels = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel]
    if not kernels or not all(isinstance(k, Kernel) for k in kernels):  # None: length scales of each fold's own rows
        return None
    criterion = params.get("criterion")
    if isinstance(criterion, Discrepancy) and criterion.noise is None:  # it looks for equal rows of X
        return None
    moves = criterion is not None and params.get("optimize") != "lam"
    if moves and any(k.n_theta for k in kernels):
        return None
    if callable(scoring) and not hasattr(scoring, "_score_func"):  # it may look at X
        return None
    return row_kernels(kernels, X)


def outer_folds(outer, model, X, y, groups, random_state, equal=None):
    """[(train, test), …] of the outer loop; ``equal`` is the group of rows that are equal, where some are."""
    n = _num_samples(X)
    if isinstance(outer, (int, np.integer)) and not isinstance(outer, bool):
        units, what = (n, "rows") if groups is None else (len(np.unique(np.asarray(groups))), "groups")
        if outer < 2:
            raise ValueError(f"outer must be at least 2 folds, got {outer}.")
        if units < outer:
            advice = f"use outer={units}" if units >= 2 else f"two {what} are the least"
            raise ValueError(f"there are {units} {what}, fewer than the {outer} outer folds; {advice}.")
        if groups is None:
            return _random(y, int(outer), is_classifier(model), equal, random_state)
        outer = GroupKFold(int(outer))
    splits = check_cv(outer).split(np.zeros((n, 1)), y, groups)
    return [(np.asarray(train), np.asarray(test)) for train, test in splits]


def _random(y, k, labels, equal, random_state):
    """As many folds as are asked for, or fewer where equal rows would leave one of them without two rows."""
    for count in range(k, 1, -1) if equal is not None else ():
        folds = random_folds(y, count, labels, equal, random_state)
        if len(folds) == count and min(len(test) for _, test in folds) > 1:
            return folds
    return random_folds(y, k, labels, None, random_state)


def check_folds(folds, score):
    """Refuse folds in which there is nothing to fit or to judge."""
    if not folds:
        raise ValueError("outer gives no folds.")
    for i, (train, test) in enumerate(folds, start=1):
        if np.intersect1d(train, test).size:
            raise ValueError(
                f"outer fold {i} has rows both to train and to test: {np.intersect1d(train, test)[:5]} ..."
            )
        if not len(train) or len(test) < (2 if score == "r2" else 1):
            raise ValueError(
                f"outer fold {i} has {len(train)} rows to train and {len(test)} to test"
                + (", and R² needs two; use fewer folds, or scoring='neg_mean_squared_error'." if len(train) else ".")
            )


def _weight_key(model):
    """The name under which ``fit`` takes weights."""
    if has_fit_parameter(model, "sample_weight"):
        return "sample_weight"
    if hasattr(model, "steps") and has_fit_parameter(_last(model), "sample_weight"):
        return f"{model.steps[-1][0]}__sample_weight"
    raise TypeError(f"{type(model).__name__}.fit takes no sample_weight.")


def score_name(model, scoring):
    """What a table calls the score."""
    if scoring is None:
        return {"regressor": "r2", "classifier": "accuracy"}.get(get_tags(model).estimator_type, "score")
    return scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")


# ---------------------------------------------------------------------------------------------- what comes out
def assemble_all(y, folds, stated):
    """The same of numbers that every fold states; None where one states none."""
    return None if any(one is None for one in stated) else assemble(y, folds, stated, False)


def assemble(y, folds, predictions, labels):
    """The prediction of each row by models that did not see it."""
    shape = (len(y), *predictions[0].shape[1:])
    if labels:
        out = np.full(shape, None, dtype=object)
        for (_, test), values in zip(folds, predictions, strict=True):
            out[test] = values
        return out
    total, count = np.zeros(shape), np.zeros(len(y))
    for (_, test), values in zip(folds, predictions, strict=True):
        total[test] += values
        count[test] += 1
    count = count.reshape(-1, *[1] * (total.ndim - 1))
    return np.divide(total, count, out=np.full(shape, np.nan), where=np.broadcast_to(count > 0, shape))
