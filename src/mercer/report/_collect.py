"""collect: a fitted model and its rows become findings."""

from dataclasses import replace

from mercer.report._blocks import blocks_section
from mercer.report._case import make_case
from mercer.report._data import data_section, landmarks_section, local_section, numerics_section, reproduce_section
from mercer.report._effects import effects_section
from mercer.report._fit import fit_section, targets_section
from mercer.report._learning import given_scores, learning_section, own_scores
from mercer.report._left_out import predict_left_out
from mercer.report._rows import rows_section
from mercer.report._selection import selection_section
from mercer.report._uncertainty import uncertainty_section
from mercer.report._whatif import whatif_section
from mercer.report.checks import run_checks, verdict
from mercer.report.findings import Findings, tidy


def collect(estimator, X, y, *, feature_names=None, target=None, scores=None, context=None, options=()):
    """Look at a fitted model from all sides, and return what a page says about it.

    Parameters
    ----------
    estimator : KernelEstimator
        A fitted model of ours, or of your own.
    X : array-like of shape (n, d), data frame, dict of columns, or a sequence of objects
        Columns named "soil = clay", "soil = loam", … of which each row has exactly one are one category.
    y : array-like of shape (n,) or (n, t)
        The rows that the estimator was fitted on. Of several targets the page has a table, and is about the one that
        is predicted worst.
    feature_names : sequence of str, default=None
        Names of the columns; None are those of the frame, else x1, x2, …
    target : str or sequence of str, default=None
        Name of the target, or of each of several; None is y.
    scores : NestedResult or dict, default=None
        Nested cross-validation of the model, as `mercer.selection.nested_cv` gives it, or an object with a ``to_dict``
        of the same names, which may bring ``baselines``. None judges the model by leave-one-out in closed form, or by
        five folds, at the kernel and λ of the fit.
    context : PageContext, default=None
        What else is known: weights, names and units of the data, the command, how the kernel was chosen.
    options : sequence of Options, default=()
        `ReportLimits` (rows, columns and seconds that the page may take) and `CheckThresholds`, where they differ from
        the defaults.

    Returns
    -------
    Findings
        Plain values. Targets and predictions of up to 1000 rows are kept; inputs are those of the rows that the page
        lists, of up to 1000 rows where there is a single input, and of all rows where sliders have the model's own
        numbers (a small table). The page says which.

    Notes
    -----
    Nothing is fitted again beyond what the page needs: leave-one-out in closed form up to 3000 rows, the path of λ on
    at most 1000 rows, the surface of the evidence on at most 250, blocks left out of at most 1000 rows and for 6 s, the
    learning curve at six sizes on at most 1500 rows and for 20 s. Where rows were sampled, the page says so.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.datasets import load_cars
    >>> from mercer.kernels import Gaussian
    >>> from mercer.report import collect
    >>> X, y = load_cars(return_X_y=True)
    >>> model = KernelRidge(Gaussian(10.0), lam=1.0).fit(X, y)
    >>> found = collect(model, X, y, feature_names=["speed"], target="distance")
    >>> found.data.rows, found.title
    (50, 'distance')
    """
    case = make_case(estimator, X, y, feature_names, target, context, options)
    judged, held = (None, None) if scores is None else given_scores(case, scores)
    case = replace(case, forward=judged is not None and judged.forward)
    every = predict_left_out(case) if _needs_rows_left_out(case, held) else None
    targets, case = (None, case) if every is None else targets_section(case, every)
    stated = held if every is None else case.about_target(every)
    left = stated if held is None else held
    found = Findings(
        title=case.target,
        task="regression" if case.classes is None else "classification",
        estimator=type(estimator).__name__,
        kernel=repr(case.kernel),
        data=data_section(case),
        targets=targets,
        scores=own_scores(case, left) if judged is None else judged,
        fit=fit_section(case, left, stated),
        uncertainty=uncertainty_section(case, left, stated, every),
        rows=rows_section(case, left, stated),
        numerics=numerics_section(case),
        landmarks=landmarks_section(estimator.fit_report_),
        local=local_section(estimator.fit_report_),
        reproduce=reproduce_section(case),
        # what costs comes last: the time budget may end before it
        effects=effects_section(case, left),
        whatif=whatif_section(case, left),
        selection=selection_section(case),
        blocks=blocks_section(case),
        learning=learning_section(case, stated if held is None else None),
    )
    found = tidy(replace(found, data=replace(found.data, left_out=list(case.budget.left_out))))
    found = replace(found, checks=run_checks(found, options))
    return replace(found, verdict=verdict(found))


def rank_columns(estimator, X, y, feature_names=None, options=()):
    """[(column, importance), …], the column that moves the prediction most first; empty where the inputs are objects.

    Importance is the root mean square change of the prediction when the column is shuffled, in standard deviations of
    the predictions. Indicators of one category are one column.

    Parameters
    ----------
    estimator : KernelEstimator
        The fitted model.
    X, y
        Rows of the fit, or some of them.
    feature_names : sequence of str, default=None
        Names of the columns; None are those of the frame, else x1, x2, …
    options : sequence of Options, default=()
        `ReportLimits`, where they differ from the defaults.

    Returns
    -------
    list of (str, float)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.report import rank_columns
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    >>> [name for name, _ in rank_columns(KernelRidge(lam=0.1).fit(X, X[:, 1]), X, X[:, 1])]
    ['x2', 'x1']
    """
    case = make_case(estimator, X, y, feature_names, options=options)
    if not case.factors:
        return []
    return [(case.factors[j].name, float(case.importance[j])) for j in case.order]


def _needs_rows_left_out(case, held):
    """Whether fits without some rows are needed: not where scores bring them, unless these lack a deviation."""
    model = case.model
    if held is None or case.columns > 1 or model.quantile_levels_ is not None:
        return True
    if case.classes is not None:
        return held.proba is None
    few = case.n <= case.limits.rows_left_out and not case.sampled
    return model.probabilistic and held.std is None and (few or not case.seen)
