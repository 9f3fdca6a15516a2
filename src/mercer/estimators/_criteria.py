"""``criterion`` means the same for every estimator: a word, a number of folds, a splitter, or a rule of ours."""

import numbers

import numpy as np

from mercer.estimators._auto import automatic
from mercer.estimators._protocol import seed_of
from mercer.selection import GCV, LOO, Discrepancy, Evidence, GroupKFold, KFold, LCurve
from mercer.selection.base import Rule
from mercer.selection.search import search_rows

WORDS = {"loo": LOO, "gcv": GCV, "evidence": Evidence, "kfold": KFold, "lcurve": LCurve, "discrepancy": Discrepancy}


def is_splitter(criterion):
    """Whether it is one of scikit-learn's: it splits, and knows how often."""
    return hasattr(criterion, "get_n_splits") and not isinstance(criterion, type)


def as_rule(estimator, y=None, *, own=True, words=None):
    """The rule that ``estimator.criterion`` means, or None; what its ``criteria`` do not have is refused with the list.

    Parameters
    ----------
    estimator : KernelEstimator
        ``criterion``, ``criteria`` and ``random_state``, the seed of folds, are read.
    y : ndarray, default=None
        Targets of all rows, which a splitter may look at.
    own : bool, default=True
        Whether a rule written by the caller will do.
    words : dict, default=None
        {word: rule} where a word means another one than usual.

    Returns
    -------
    Rule
        Of a splitter, without y, one that stands for it in a plan.
    """
    criterion, can = estimator.criterion, estimator.criteria
    folds = "kfold" in can
    if criterion is None:  # a kernel that is to be searched for has to be chosen by something
        return Evidence() if automatic(estimator.get_params(deep=False).get("kernel")) else None
    if isinstance(criterion, str) and criterion in can:
        return ({**WORDS, **(words or {})})[criterion]()
    if isinstance(criterion, Rule) and (criterion.word in can or (own and criterion.word is None)):
        return criterion
    if folds and isinstance(criterion, numbers.Integral) and not isinstance(criterion, bool) and criterion >= 2:
        return KFold(int(criterion), random_state=seed_of(estimator.random_state))
    if folds and is_splitter(criterion):
        return KFold() if y is None else _as_groups(criterion, y)
    more = ", a number of folds from 2 on, a splitter of scikit-learn" if folds else ""
    raise ValueError(
        f"criterion={criterion!r} is nothing that {type(estimator).__name__} can choose by; it takes "
        f"{', '.join(map(repr, can))}, the rule of mercer.selection for one of these{more}, or None."
    )


def chosen(estimator, kernels, rows, rule, solver, lam, **options):
    """The `SearchResult` of a rule on rows, told where it is unsure: which kernel and λ, as ``optimize`` asks."""
    return search_rows(
        kernels,
        rows,
        rule.restrict(rows.used).in_unit(rows.unit),
        solver=solver,
        lam=lam,
        optimize="lam" if estimator.optimize == "lam" else "all",
        clock=estimator._search_clock(),
        random_state=seed_of(estimator.random_state),
        **{"fixed_lam": estimator.optimize == "kernel", **options},
    ).warn()


def _as_groups(splitter, y):
    """The folds of a splitter as groups that are left out one at a time, which needs no refit."""
    group, count = np.full(len(y), -1), np.zeros(len(y), dtype=int)
    first = y if y.ndim == 1 else y[:, 0]
    for k, (train, test) in enumerate(splitter.split(np.zeros((len(y), 1)), first)):
        group[test], count[test] = k, count[test] + 1
        if len(train) + len(test) != len(y):
            count[test] = 2
    if (count != 1).any():
        raise ValueError(
            f"criterion={splitter!r}: folds without a refit leave out each row once, and learn from all others; use "
            "KFold, GroupKFold or StratifiedKFold, or sklearn.model_selection.GridSearchCV around the model."
        )
    return GroupKFold(group)
