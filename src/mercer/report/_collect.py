"""collect: a fitted model and its rows become findings."""

from dataclasses import replace

from mercer.report._blocks import blocks_section
from mercer.report._case import LEFT_OUT, left_out, make_case
from mercer.report._data import data_section, landmarks_section, local_section, numerics_section, reproduce_section
from mercer.report._effects import effects_section
from mercer.report._fit import fit_section, targets_section
from mercer.report._learning import given_scores, learning_section, own_scores
from mercer.report._rows import rows_section
from mercer.report._selection import selection_section
from mercer.report._uncertainty import uncertainty_section
from mercer.report._whatif import whatif_section
from mercer.report.checks import run_checks, verdict
from mercer.report.findings import Allowance, Findings, plain


def collect(
    estimator, X, y, *, feature_names=None, target=None, scores=None, notes=(), command=None, row_labels=None,
    sample_weight=None, units=None, time_budget=None, fitted_rows=None, selection=None, seen=True,
    errors=None,
):  # fmt: skip
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
    notes : sequence of str, default=()
        What was done to the data before.
    command : str, default=None
        The command that made the model.
    row_labels : sequence of str, default=None
        What the rows are called; None are their numbers, from 0.
    sample_weight : array-like of shape (n,), default=None
        The weights of the fit. Scores, sizes of residuals, coverage and fits without some rows count rows by them.
        None takes those that the estimator remembers; a check says what was done.
    units : dict, default=None
        {name of a column: (centre, scale)} it was standardised with; the page shows centre + scale · x. With a third
        entry "date" these are days after 1970-01-01, and shown as dates.
    time_budget : float, default=None
        Seconds after which no costly part is begun: learning curve, effects, evidence surface. The page says what
        was left out. None does all; each part has bounds of its own.
    fitted_rows : int, default=None
        How many rows the estimator was fitted on, where X and y are some of them; None are those of X.
    selection : SearchResult, default=None
        How the kernel and λ were chosen, where the estimator was given them: on fewer rows, for example. None is what
        the estimator knows.
    seen : bool, default=True
        Whether the estimator was fitted on these rows. If not, it is judged by what it says of them itself.

    errors : mercer.uncertainty.LeftOutErrors, default=None
        Errors on rows left out that intervals are made of, as `mercer.tabular.TableModel` makes them; None are the
        intervals of the estimator.

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
    >>> found["data"]["rows"], found["title"]
    (50, 'distance')
    """
    budget = Allowance(time_budget)
    case = make_case(
        estimator, X, y, feature_names, target, row_labels, sample_weight, budget, units, fitted_rows, selection, seen,
        errors,
    )  # fmt: skip
    judged, held = (None, None) if scores is None else given_scores(case, scores)
    case = replace(case, forward=judged is not None and judged["forward"])
    every = left_out(case) if _asked(case, held) else None
    targets, case = (None, case) if every is None else targets_section(case, every)
    stated = held if every is None else case.about_target(every)
    left = stated if held is None else held
    sections = {
        "title": case.target,
        "task": "regression" if case.classes is None else "classification",
        "estimator": type(estimator).__name__,
        "kernel": repr(case.kernel),
        "data": data_section(case, notes),
        "targets": targets,
        "scores": own_scores(case, left) if judged is None else judged,
        "fit": fit_section(case, left, stated),
        "uncertainty": uncertainty_section(case, left, stated, every),
        "rows": rows_section(case, left, stated),
        "numerics": numerics_section(case),
        "landmarks": landmarks_section(estimator),
        "local": local_section(estimator),
        "reproduce": reproduce_section(case, command),
        # what costs comes last: the time budget may end before it
        "effects": effects_section(case, left),
        "whatif": whatif_section(case, left),
        "selection": selection_section(case),
        "blocks": blocks_section(case),
        "learning": learning_section(case, stated if held is None else None),
    }
    sections["data"]["left_out"] = list(budget.left_out)
    sections = plain(sections)
    sections["checks"] = run_checks(sections)
    sections["verdict"] = verdict(sections)
    return Findings(sections)


def ranked(estimator, X, y, feature_names=None):
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

    Returns
    -------
    list of (str, float)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge
    >>> from mercer.report import ranked
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    >>> [name for name, _ in ranked(KernelRidge(lam=0.1).fit(X, X[:, 1]), X, X[:, 1])]
    ['x2', 'x1']
    """
    case = make_case(estimator, X, y, feature_names)
    if not case.factors:
        return []
    return [(case.factors[j].name, float(case.importance[j])) for j in case.order]


def _asked(case, held):
    """Whether rows are to be left out here: not where they were, unless a deviation or a probability is asked for."""
    model = case.model
    if held is None or case.columns > 1 or model.quantile_levels_ is not None:
        return True
    if case.classes is not None:
        return held.proba is None
    return model.probabilistic and held.std is None and (not case.seen or (case.n <= LEFT_OUT and not case.sampled))
