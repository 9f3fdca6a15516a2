"""Parts of the findings: what each column does, and the numbers behind the sliders."""

from dataclasses import dataclass
from typing import Any

from mercer.report.parts import Missing, Numbers


@dataclass(frozen=True, kw_only=True)
class ColumnImportance:
    """How far predictions move when a column is shuffled, in their standard deviations."""

    name: str
    kind: str  # number, levels or text
    rise: float


@dataclass(frozen=True, kw_only=True)
class Places:
    """Values of a column along an axis: numbers in the units of the reader, or the numbers of some levels."""

    name: str
    levels: list[str] | None
    dates: bool | None = None
    more: int | None = None  # levels that are not drawn


@dataclass(frozen=True, kw_only=True)
class EffectCurve(Places):
    """The prediction as one column changes, with a band; of several classes the probability of each."""

    x: Numbers
    mean: Numbers
    low: Numbers
    high: Numbers
    each: list[Numbers] | None = None


@dataclass(frozen=True, kw_only=True)
class GridSide(Places):
    """One side of a field."""

    values: Numbers


@dataclass(frozen=True, kw_only=True)
class PairSurface:
    """The average prediction over two columns; None where there are no rows near."""

    x: GridSide
    y: GridSide
    z: list[Numbers]
    low: float
    high: float
    hidden: float  # share of the field


@dataclass(frozen=True, kw_only=True)
class PairEffect:
    """Friedman's H of two columns, and how large the interaction is."""

    names: list[str]
    H: float | None
    strength: float


@dataclass(frozen=True, kw_only=True)
class PairFindings:
    """Interactions of the strongest columns, and the field of the first pair."""

    listed: list[PairEffect]
    rows: int
    surface: PairSurface


@dataclass(frozen=True, kw_only=True)
class OneInput:
    """The rows of a single input, the curve and its interval."""

    name: str
    dates: bool
    coverage: float | None
    x: Numbers
    mean: Numbers
    low: Numbers | None
    high: Numbers | None
    at: Numbers
    measured: Numbers
    labels: list[str]


@dataclass(frozen=True, kw_only=True)
class EffectFindings:
    """What each column does."""

    columns: list[ColumnImportance]
    more: int  # columns that are not listed
    measure: str
    what: str  # the curves show
    classes: list[str] | None
    band: str  # posterior, or rows
    averaged: int  # rows that a curve is an average over
    of: int
    curves: list[EffectCurve]
    one_input: OneInput | None
    texts: list[str]
    pairs: PairFindings | Missing


# ------------------------------------------------------------------------------------------------ what if
@dataclass(frozen=True, kw_only=True)
class StandInError:
    """How far a stand-in is off: in 95 of 100 places, at worst, and beside the error of the model."""

    usual: float
    largest: float
    places: int
    share: float


@dataclass(frozen=True, kw_only=True)
class Slider:
    """A column that can be moved: its ends or levels, and which columns of the model have what value then."""

    name: str
    kind: str
    dates: bool
    columns: list
    start: float
    levels: list[str] | None = None
    states: list[Numbers] | None = None
    low: float | None = None
    high: float | None = None
    whole: bool | None = None  # whether all its values are whole numbers
    centre: float | None = None
    scale: float | None = None


@dataclass(frozen=True, kw_only=True)
class KernelSum:
    """Points, coefficients with the steps of a kernel, and a constant: what the script evaluates."""

    points: list[Numbers]
    parts: list[dict[str, Any]]
    constant: Any


@dataclass(frozen=True, kw_only=True)
class ConstantWidth:
    """Half the width of an interval that is the same everywhere."""

    is_: str
    value: float


@dataclass(frozen=True, kw_only=True)
class ModelWidth(KernelSum):
    """The logarithm of half the width, of a stand-in; how far that is off, and where intervals end."""

    is_: str
    off: float
    bounds: Numbers | None
    factors: list[Slider]


@dataclass(frozen=True, kw_only=True)
class WhatIfFindings:
    """Sliders, and the numbers that the script of the page evaluates."""

    what: str
    link: str
    classes: list[str] | None
    own: bool  # whether these are the model's own numbers
    error: StandInError
    start: list
    factors: list[Slider]
    held: list[str]
    model: KernelSum
    width: ConstantWidth | ModelWidth | None
    coverage: float | None
    typical: Any  # the answer of the model where the sliders begin
    low: float
    high: float
