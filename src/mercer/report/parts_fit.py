"""Parts of the findings: how well the model predicts, and how sure it is."""

from dataclasses import dataclass
from typing import ClassVar

from mercer.report.parts import ClassCount, Number, Numbers


@dataclass(frozen=True, kw_only=True)
class ModelScore:
    """The score of one model on rows it has not seen, its standard error, and errors in units of the target."""

    name: str
    score: Number
    error: Number
    rmse: Number
    mae: Number


@dataclass(frozen=True, kw_only=True)
class TargetScore(ModelScore):
    """The score for one of several targets, and its standard deviation."""

    sd: float


@dataclass(frozen=True, kw_only=True)
class TargetTable:
    """Several targets: the one that the page is about, and how well each is predicted."""

    shown: str
    how: str
    listed: list[TargetScore]
    more: int


@dataclass(frozen=True, kw_only=True)
class Optimism:
    """How much better the score would seem without the outer loop, and the standard error of that."""

    value: Number
    error: Number


@dataclass(frozen=True, kw_only=True)
class ScoreFindings:
    """The model, first, and simpler ones on the same rows."""

    how: str
    nested: bool  # whether no row judged what it helped to choose
    metric: str
    models: list[ModelScore]
    folds: Numbers | None  # the score of each fold
    optimism: Optimism | None
    forward: bool = False  # whether it was judged by forecasts


@dataclass(frozen=True, kw_only=True)
class NormalPlot:
    """Residuals in order, against those of a normal distribution."""

    normal: Numbers
    residual: Numbers


@dataclass(frozen=True, kw_only=True)
class ResidualTrend:
    """The share of the variance of the residuals that a curve along a column explains."""

    name: str
    share: float
    p: float


@dataclass(frozen=True, kw_only=True)
class ResidualSpread:
    """The size of the residuals in the worst part of the rows over that in the best."""

    name: str
    p: float
    ratio: float
    parts: int
    beside: bool  # whether residuals are divided by their stated deviations


@dataclass(frozen=True, kw_only=True)
class ResidualOrder:
    """The correlation of neighbouring residuals, and how many standard errors that is."""

    r: float
    z: float


@dataclass(frozen=True, kw_only=True)
class ResidualTests:
    """What should not be left in residuals; nothing where there are few."""

    rows: int | None = None
    order: ResidualOrder | None = None
    trend: ResidualTrend | None = None
    spread: ResidualSpread | None = None


@dataclass(frozen=True, kw_only=True)
class ColumnResiduals:
    """Quartiles of the residuals along a column."""

    name: str
    low: Numbers
    middle: Numbers
    high: Numbers
    centre: Numbers
    levels: list[str] | None
    dates: bool | None = None
    more: int | None = None  # levels that are not drawn


@dataclass(frozen=True, kw_only=True)
class RegressionFit:
    """Rows left out: measured, predicted, and what is left in the residuals."""

    rows: int
    shown: int
    measured: Numbers
    predicted: Numbers
    labels: list[str]
    rmse: float
    quantiles: NormalPlot
    tests: ResidualTests
    by_column: list[ColumnResiduals]
    never: ClassVar[tuple] = ()


@dataclass(frozen=True, kw_only=True)
class RocCurve:
    """True against false positives, and the area below."""

    false: Numbers
    true: Numbers
    area: float


@dataclass(frozen=True, kw_only=True)
class ClassificationFit:
    """Rows left out: which class was taken for which."""

    rows: int
    shown: int
    classes: list[str]
    more_classes: int
    confusion: list[Numbers]
    never: list[ClassCount]  # classes that no row was taken for
    roc: RocCurve | None  # of two classes
    tests: ResidualTests = ResidualTests()
    by_column: ClassVar[tuple] = ()


@dataclass(frozen=True, kw_only=True)
class CoverageFindings:
    """How many rows left out are within the intervals, or below the quantiles, that the model states."""

    kind: str  # gaussian, intervals or quantiles
    how: str
    rows: int
    equal: float  # rows of weight 1 that say as much
    levels: Numbers
    coverage: Numbers
    width: Number = None  # the median width of 90 % intervals
    even: bool = True  # whether intervals lie evenly around the prediction
    own: Number = None  # coverage of 90 % by the stated deviations alone
    own_width: Number = None
    own_how: str | None = None
    crossing: float | None = None  # share of the rows in which quantiles cross
    mean_square: Number = None  # of the z-scores
    log_density: Number = None
    crps: Number = None
    histogram: Numbers | None = None  # of Φ(z)
    std: Numbers | None = None
    error: Numbers | None = None  # absolute, of the rows of ``std``


@dataclass(frozen=True, kw_only=True)
class CalibrationFindings:
    """How often the stated probabilities came true."""

    kind: str  # probabilities
    how: str
    of: str  # of which class
    rows: int
    stated: Numbers  # mean of each bin
    found: Numbers
    deviation: Numbers  # of ``found`` by chance
    error: float  # mean difference
    by_chance: float
    brier: float
    chi_square: float
    bins: int
    log_loss: float


@dataclass(frozen=True, kw_only=True)
class NoiseFloor:
    """The standard deviation of the noise, below which no error falls; else a bound of it."""

    value: float
    how: str
    exact: bool


@dataclass(frozen=True, kw_only=True)
class LearningFindings:
    """The error of rows left out against the number of rows learnt from."""

    metric: str
    rows: int
    of: int  # rows of the fit
    sizes: list[int]
    error: Numbers
    spread: Numbers  # standard errors over the folds
    all_but_one: Number  # leave-one-out, of all rows
    floor: NoiseFloor | None


@dataclass(frozen=True, kw_only=True)
class BlockErrors:
    """The RMSE of each model on rows left out in blocks."""

    name: str  # what was left out
    rows: int
    rmse: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class BlockFindings:
    """Rows left out in blocks: the ends of columns, and clusters."""

    rows: int
    listed: list[BlockErrors]
