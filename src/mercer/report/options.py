"""What a page is given besides a model and its rows: a context, limits, and the thresholds of its checks."""

from collections.abc import Sequence
from dataclasses import dataclass

from mercer._policies import Options


@dataclass(frozen=True)
class ReportLimits(Options):
    """How many rows and columns a page is about, and how long its parts may take."""

    time_budget: float | None = None  # seconds after which no costly part is begun; the page says what it left out
    rows_drawn: int = 1000  # points of a chart, at most; more are sampled with a fixed seed
    rows_left_out: int = 3000  # rows up to which each is left out alone; five folds above
    rows_refitted: int = 200  # rows up to which folds are fitted again whatever the time budget
    rows_listed: int = 8  # of each table of rows
    rows_simple: int = 20_000  # rows that simple models are compared on
    rows_compared: int = 2000  # rows up to which the nearest other row is found
    rows_on_path: int = 1000  # rows of the path of λ
    rows_on_surface: int = 250  # rows of the surface of the evidence, which factors 17 kernels
    rows_learnt: int = 1500  # rows of the learning curve
    rows_in_blocks: int = 1000  # rows of which blocks are left out
    rows_shuffled: int = 400  # rows whose columns are shuffled to tell their importance
    columns: int = 200  # columns that are listed, looked at for leaks, and read by simple models
    curves: int = 4  # columns with an effect; their pairs are looked at too
    sliders: int = 6  # columns that can be moved
    numbers_in_page: int = 6000  # numbers of the training inputs up to which sliders use the model's own
    seconds_of_learning: float = 20.0
    seconds_of_pairs: float = 10.0
    seconds_of_blocks: float = 6.0
    seconds_of_stand_in: float = 2.0  # for choosing its length scales


@dataclass(frozen=True)
class CheckThresholds(Options):
    """From where on a check has something to say; each field names its code."""

    few_rows: int = 30  # M101
    rows_per_column: int = 5  # M101
    alone: float = 0.3  # M105: correlation with the nearest row below which a row is alone
    many_alone: float = 0.05  # M105: share of the rows
    rare_class: int = 10  # M106: rows
    rare_share: float = 0.02  # M106: or this share of the rows
    copies: float = 0.02  # M109: share of the rows; beyond it, copies are left out together
    doubtful: float = 0.1  # M201: R² up to which twice its error is asked for
    better: float = 0.005  # M202: of the score, by which a simple model is better
    trend: float = 0.08  # M203: share of the variance of the residuals
    structure_p: float = 1e-3  # M203, M204: probability of as much by chance
    spread: float = 1.5  # M204: largest over smallest size of the residuals
    order: float = 0.25  # M205: correlation of neighbouring residuals
    order_errors: float = 4.0  # M205: and in standard errors
    optimism: float = 0.05  # M206: of the score
    still_falls: float = 0.08  # M207: share of the error that the last doubling of the rows took away
    above_floor: float = 1.15  # M207: error over the noise floor
    blocks: float = 1.5  # M209: error over that of a simpler model, on blocks
    coverage: float = 0.04  # M301, M304: stated less found
    coverage_p: float = 0.005  # M301, M304: probability of as much by chance
    calibration: float = 0.03  # M302: mean difference of probabilities
    calibration_far: float = 0.10  # M303
    calibration_p: float = 0.01  # M302, M303
    rules_apart: float = 100.0  # M403: ratio of two λ
    rules_cost: float = 1.02  # M403: leave-one-out error at the worse of them, over the least
    given_cost: float = 1.1  # M406: the same of a λ that was given
    interpolating: float = 0.9  # M404: degrees of freedom over rows
    constant: float = 1.5  # M405: degrees of freedom
    condition: float = 1e13  # M501
    outlier: float = 4.5  # M601: robust standard deviations
    cook: float = 1.0  # M602: Cook's distance


@dataclass(frozen=True, eq=False)
class PageContext:
    """What a page says or uses besides the model, X and y.

    Parameters
    ----------
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

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.datasets import load_cars
    >>> from mercer.report import PageContext, collect
    >>> X, y = load_cars(return_X_y=True)
    >>> context = PageContext(notes=["Speeds are in miles per hour."], command="python cars.py")
    >>> collect(KernelRidge(lam=1.0).fit(X, y), X, y, context=context).reproduce.command
    'python cars.py'
    """

    notes: Sequence = ()
    command: str | None = None
    row_labels: Sequence | None = None
    sample_weight: object = None
    units: dict | None = None
    fitted_rows: int | None = None
    selection: object = None
    seen: bool = True
    errors: object = None
