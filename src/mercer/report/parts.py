"""What findings are made of: a frozen dataclass for each table and chart of the page. Here the data and single rows.

A field without a default is always there, and may be None; one that has its default is left out of JSON. Lists hold
plain numbers, None for nan; a number that is infinite is the text "∞".
"""

from dataclasses import dataclass
from typing import Any, ClassVar

Numbers = list[Any]  # of floats and None
Number = float | str | None


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A part that does not apply, and why, in one line. It is false, so ``if s.effects:`` asks whether it is there."""

    missing: str
    kind: ClassVar[None] = None

    def __bool__(self):
        return False


@dataclass(frozen=True, kw_only=True)
class NumberColumn:
    """The distribution of a column of numbers, in the units of the reader; days after 1970-01-01 of dates."""

    name: str
    low: float
    q1: float
    middle: float
    q3: float
    high: float
    distinct: int  # different values
    dates: bool


@dataclass(frozen=True, kw_only=True)
class CategoryColumn:
    """The levels of a category."""

    name: str
    distinct: int
    most: str  # the commonest level
    most_rows: int
    least: str
    least_rows: int


@dataclass(frozen=True, kw_only=True)
class ClassCount:
    """How many rows have a label."""

    name: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Counts between edges."""

    edges: Numbers
    counts: Numbers


@dataclass(frozen=True, kw_only=True)
class TargetDistribution:
    """The target: numbers with quartiles and a histogram, or labels with their rows."""

    classes: list[ClassCount] | None = None
    smallest: int | None = None  # rows of the rarest class
    low: float | None = None
    q1: float | None = None
    middle: float | None = None
    q3: float | None = None
    high: float | None = None
    distinct: int | None = None
    mean: float | None = None
    sd: float | None = None
    histogram: Histogram | None = None


@dataclass(frozen=True, kw_only=True)
class WeightRange:
    """The weights of the rows, and how many rows of weight 1 say as much: (Σw)²/Σw²."""

    low: float
    high: float
    zero: int  # rows of weight 0
    equal: float


@dataclass(frozen=True, kw_only=True)
class Leak:
    """The column that alone is closest to the target; ``how`` says in a word whether it gives it away."""

    name: str
    correlation: float
    how: str | None


@dataclass(frozen=True, kw_only=True)
class StandInValue:
    """A number such as −999 that may stand for a missing value, and the range of the others."""

    name: str
    value: float
    rows: int
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class DataFindings:
    """Rows, columns and target."""

    rows: int  # that the page is about
    fitted_rows: int
    columns: int
    targets: int
    vectors: bool  # whether X is an array of numbers
    notes: list[str]
    cautions: list[str]  # notes that the verdict begins with
    features: list[NumberColumn]
    categories: list[CategoryColumn]
    texts: list[str]
    more: int  # columns that are not listed
    target: TargetDistribution
    weights: WeightRange | None
    leak: Leak | None
    stand_in: StandInValue | None
    left_out: list[str]  # parts for which there was no time
    objects: str | None = None  # what the inputs are, where they have no columns


@dataclass(frozen=True, kw_only=True)
class ResidualRow:
    """A row that is predicted badly, with its inputs: [value, whether it is odd] each."""

    row: str
    measured: float
    predicted: float
    residual: float
    z: float  # in robust standard deviations
    odd: bool
    inputs: list[list]


@dataclass(frozen=True, kw_only=True)
class LargestResiduals:
    """The rows that the model without them predicts worst."""

    outliers: int
    known: int
    limit: float
    rows: list[ResidualRow]


@dataclass(frozen=True, kw_only=True)
class InfluentialRow:
    """How far a row moves the fit."""

    row: str
    cook: Number
    leverage: Number
    dffits: Number


@dataclass(frozen=True, kw_only=True)
class InfluenceTable:
    """The rows that move the fit most."""

    dof: float
    largest: Number  # Cook's distance
    rows: list[InfluentialRow]


@dataclass(frozen=True, kw_only=True)
class EqualRows:
    """Rows with equal inputs and different targets."""

    rows: list[str]
    count: int
    spread: float


@dataclass(frozen=True, kw_only=True)
class DuplicateFindings:
    """Groups of equal inputs; ``share`` of the variance is within them, and no function can explain it."""

    rows: int
    groups: int
    conflicting: int
    share: float | None
    listed: list[EqualRows]
    compared: bool


@dataclass(frozen=True, kw_only=True)
class LonelyRow:
    """A row and its nearest other, under the kernel."""

    row: str
    nearest: str
    correlation: float


@dataclass(frozen=True, kw_only=True)
class LonelyRows:
    """Rows far from all others."""

    limit: float
    count: int
    rows: list[LonelyRow]


@dataclass(frozen=True, kw_only=True)
class SurprisingRow:
    """A row whose own class has a small probability."""

    row: str
    class_: str
    predicted: str
    probability: Number
    inputs: list[list]


@dataclass(frozen=True, kw_only=True)
class RowFindings:
    """Rows that deserve a look."""

    listed: int  # of each table, at most
    duplicates: DuplicateFindings
    copies: int
    alone: LonelyRows | None
    inputs: list[str]  # columns that stand beside a row
    residuals: LargestResiduals | None
    influence: InfluenceTable | None
    surprising: list[SurprisingRow] | None = None
