"""collect: a fitted model and its rows become findings."""

from mercer.report._case import left_out, make_case
from mercer.report._data import data_section, numerics_section, reproduce_section
from mercer.report._effects import effects_section
from mercer.report._fit import fit_section, targets_section
from mercer.report._landmarks import landmarks_section
from mercer.report._learning import given_scores, learning_section, own_scores
from mercer.report._rows import rows_section
from mercer.report._selection import selection_section
from mercer.report._uncertainty import uncertainty_section
from mercer.report.checks import run_checks
from mercer.report.findings import Allowance, Findings, plain
from mercer.report.verdict import verdict


def collect(
    estimator, X, y, *, feature_names=None, target=None, scores=None, notes=(), command=None, row_labels=None,
    sample_weight=None, units=None, time_budget=None, unseen=False,
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
        {name of a column: (centre, scale)} it was standardised with; the page shows centre + scale · x.
    time_budget : float, default=None
        Seconds after which no costly part is begun: learning curve, effects, evidence surface. The page says what
        was left out. None does all; each part has bounds of its own.
    unseen : bool, default=False
        Whether the fit has not seen these rows, as after a fit on landmarks of more rows than a page can hold: they are
        then judged as they are, and nothing is fitted again.

    Returns
    -------
    Findings
        Plain values. Inputs of single rows are not kept; targets and predictions of up to 1000 rows are.

    Notes
    -----
    Nothing is fitted again beyond what the page needs: leave-one-out in closed form up to 3000 rows, the path of λ on
    at most 1000 rows, the surface of the evidence on at most 250, the learning curve at six sizes on at most 1500 rows
    and for 20 s. Where rows were sampled, the page says so.

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
    case = make_case(estimator, X, y, feature_names, target, row_labels, sample_weight, budget, units, unseen)
    every = left_out(case)
    targets, case = targets_section(case, every)
    left = case.about_target(every)
    predicted = left.predicted
    if scores is None:
        judged = own_scores(case, left)
    else:
        judged, held = given_scores(case, scores)
        predicted = predicted if held is None else held
    sections = {
        "title": case.target,
        "task": "regression" if case.classes is None else "classification",
        "estimator": type(estimator).__name__,
        "kernel": repr(case.kernel),
        "data": data_section(case, notes),
        "targets": targets,
        "scores": judged,
        "fit": fit_section(case, predicted, left),
        "uncertainty": uncertainty_section(case, left, every.predicted),
        "rows": rows_section(case, left, predicted),
        "numerics": numerics_section(estimator),
        "landmarks": landmarks_section(estimator),
        "reproduce": reproduce_section(case, command),
        # what costs comes last: the time budget may end before it
        "selection": selection_section(case),
        "effects": effects_section(case),
        "learning": learning_section(case, left),
    }
    sections["data"]["left_out"] = list(budget.left_out)
    sections = plain(sections)
    sections["checks"] = run_checks(sections)
    sections["verdict"] = verdict(sections)
    return Findings(sections)
