"""Parts of the findings: the choice of λ and of the kernel."""

from dataclasses import dataclass

from mercer.report.parts import Missing, Number, Numbers
from mercer.report.parts_effects import EffectCurve


@dataclass(frozen=True, kw_only=True)
class HyperValue:
    """A hyper-parameter, its bounds, and the standard error of its logarithm."""

    name: str
    value: Number
    low: Number
    high: Number
    error: Number


@dataclass(frozen=True, kw_only=True)
class ChosenModel:
    """The kernel and λ, and how they were chosen."""

    kernel: str
    words: str
    lam: Number
    for_each_row: bool
    parameters: list[HyperValue]
    more: int
    criterion: str | None
    status: str
    noise: Number  # of a loss that was set for it
    message: str | None = None
    value: Number = None
    lam_at_bound: Number = None
    at_bound: list[list] | None = None
    flat: list[str] | None = None  # what the criterion does not change with
    evaluations: int | None = None
    failed: int | None = None


@dataclass(frozen=True, kw_only=True)
class LamCurves:
    """Every criterion against λ, 0 at its best."""

    lam: Numbers
    values: dict[str, Numbers]


@dataclass(frozen=True, kw_only=True)
class LCurvePoints:
    """The norm of f against the residual."""

    lam: Numbers
    residual: Numbers
    norm: Numbers


@dataclass(frozen=True, kw_only=True)
class LamPick:
    """What a rule chooses, and the leave-one-out error there over the least."""

    rule: str
    status: str
    message: str
    lam: Number
    dof: Number
    loss: Number
    residual: Number
    norm: Number


@dataclass(frozen=True, kw_only=True)
class PicardPlot:
    """Eigenvalues, coefficients of y, and their ratio."""

    eigenvalue: Numbers
    coefficient: Numbers
    ratio: Numbers
    of: int


@dataclass(frozen=True, kw_only=True)
class PathFindings:
    """The λ of the model among all λ."""

    lam: Number
    dof: Number
    loss: Number
    rows: int
    of: int
    at: list
    lcurve: LCurvePoints
    curves: LamCurves
    picks: list[LamPick]
    picard: PicardPlot


@dataclass(frozen=True, kw_only=True)
class SurfaceSide:
    """One side of the surface of the evidence."""

    label: str
    values: Numbers


@dataclass(frozen=True, kw_only=True)
class EvidenceSurface:
    """Log evidence lost, over the length scales and λ."""

    rows: int
    of: int
    what: str
    x: SurfaceSide
    y: SurfaceSide
    loss: list[Numbers]
    chosen: Numbers


@dataclass(frozen=True, kw_only=True)
class CandidateKernel:
    """A kernel that was compared; of a mixture with its weight."""

    kernel: str
    words: str
    lam: Number
    value: Number
    status: str
    weight: Number


@dataclass(frozen=True, kw_only=True)
class PartSize:
    """How far a part of the kernel moves the prediction."""

    words: str
    size: float


@dataclass(frozen=True, kw_only=True)
class PartCurve(EffectCurve):
    """What a part of the kernel adds to the prediction; ``last`` of its values are shown, None of all."""

    words: str
    last: int | None


@dataclass(frozen=True, kw_only=True)
class TriedLams:
    """λ and the criterion, where a search kept them."""

    lam: Numbers
    value: Numbers


@dataclass(frozen=True, kw_only=True)
class SelectionFindings:
    """Why this λ and this kernel."""

    chosen: ChosenModel
    path: PathFindings | Missing | None
    surface: EvidenceSurface | Missing | None
    candidates: list[CandidateKernel]
    moves: list[PartSize]
    parts: list[PartCurve]
    tried: TriedLams | None
