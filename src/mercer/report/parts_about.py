"""Parts of the findings: what the solver and an approximation did, how to do it again, checks and the verdict."""

from dataclasses import dataclass
from typing import Any

from mercer.report.parts import Number


@dataclass(frozen=True, kw_only=True)
class SupportCount:
    """Support vectors, and those of them at the bound."""

    vectors: int
    bounded: int | None


@dataclass(frozen=True, kw_only=True)
class NumericsFindings:
    """The fit report of the model as it is, cut at a bound, and what its search says."""

    entries: dict[str, Any]
    search: dict[str, Any] | None
    support: SupportCount | None


@dataclass(frozen=True, kw_only=True)
class LandmarkStage:
    """The error of rows left out with so many landmarks."""

    m: int
    error: Number
    seconds: float


@dataclass(frozen=True, kw_only=True)
class LandmarkFindings:
    """What is known of a fit on landmarks."""

    m: int
    words: str
    curve: list[list]
    stages: list[LandmarkStage]
    rows: int
    dimension: list | None
    verdict: str | None = None
    distance: Number = None
    distance_relative: Number = None
    trace_missing: Number = None


@dataclass(frozen=True, kw_only=True)
class LocalFindings:
    """What is known of a fit by neighbours or Fourier features."""

    kind: str
    words: str
    numbers: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ReproduceFindings:
    """What is needed to do it again."""

    command: str | None
    call: str
    fitted: str
    draws: bool
    versions: dict[str, str]
    seed: Any
    data: str | None  # SHA-256


@dataclass(frozen=True, kw_only=True)
class FiredCheck:
    """A check that has something to say."""

    code: str
    severity: str
    title: str
    text: str
    remedy: str
    about: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The headline, sentences, and [label, value, note] of the few numbers that are shown large."""

    level: str
    headline: str
    sentences: list[str]
    numbers: list[list]
