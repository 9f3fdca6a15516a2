"""The numbers that steer approximations: how much of the rows, and of the time, goes into what."""

from dataclasses import dataclass

from mercer._policies import Options
from mercer.solvers.plan_approximate import SUBSET


@dataclass(frozen=True)
class NeighbourOptions(Options):
    """How many neighbours there are, and how many rows say whether these are enough.

    Examples
    --------
    >>> from mercer.approximate import NeighbourOptions
    >>> NeighbourOptions(first=8, most=32).first
    8
    """

    subset: int = SUBSET  # rows that a search begins with, exactly
    first: int = 64  # neighbours that k="auto" learns hyper-parameters with
    most: int = 256  # neighbours that k="auto" ends with, at most
    landmarks: int = 256  # of the global part, where no number is given
    left_out: int = 8192  # rows: the standard error of a coverage of 90 % is then 0.3 %
    tried: int = 2048  # of these rows, for each number of neighbours
    gain: float = 0.02  # nats of a row that twice as many neighbours must gain


@dataclass(frozen=True)
class ClassOptions(Options):
    """How a classifier of many rows learns from some of them, and what a classifier warns of."""

    subset: int = SUBSET  # rows that the kernel is learnt on, exactly
    tried: int = 512  # rows left out for each length factor, and for each number of neighbours
    judged: int = 2048  # rows left out at the end
    landmarks_tried: int = 256  # landmarks that a length factor is tried with
    steep: float = 1e5  # prior variance of f from which a link turns nearly every value into 0 or 1
    heavy: float = 1e6  # weight times prior variance of f from which Newton's steps are lost in rounding
    worse: float = 1.05  # times the log loss of the class frequencies, from which probabilities are worse than these


@dataclass(frozen=True)
class LandmarkOptions(Options):
    """How a kernel and λ are found for landmarks: on some of the rows, then by few landmarks on all of them."""

    subset: int = 3000  # rows that hyper-parameters are searched on exactly
    tried: int = 512  # landmarks with which a length factor is tried on all rows
    factors: int = 5  # length factors that are tried, at most
    machine_subset: int = 1500  # rows that a kernel machine chooses λ on: each λ takes several Newton steps
    choosing_share: float = 0.3  # of the time, for that; and of the rest for how many landmarks are enough
    share_before: float = 0.4  # of the time, for landmarks where all rows are solved for after them
    bound_rows: int = 50_000  # rows on which a process maximises the bound of the evidence
    bound_steps: int = 12  # evaluations of it
    bound_seconds: float = 30.0  # that must be left for it


@dataclass(frozen=True)
class MachineOptions(Options):
    """How λ of a kernel machine is chosen on a path."""

    decades: int = 4  # on either side of λ
    steps: int = 2  # values of λ in a decade
    extensions: int = 3  # of two decades each, where the best λ is the last
    share: float = 0.7  # of the time, for the search; the rest is for the last fit
    pilot: int = 600  # rows on which it is measured how long a path takes
    stored: int = 8000  # most rows of a path on some of the rows
    more_lams: int = 8  # values of λ that come after the grid, about


@dataclass(frozen=True)
class ProcessOptions(Options):
    """How the noise of a Gaussian process is searched for, and how draws of its hyper-parameters are judged."""

    noise: float = 1e-2  # of the variance of y, where none is given
    noise_range: tuple = (1e-9, 1e3)  # of the noise, relative to the variance of y
    search_share: float = 0.5  # of the time, for a search that draws of the hyper-parameters follow
    rhat: float = 1.05  # of the chains, beyond which they have not mixed


@dataclass(frozen=True)
class TimeOptions(Options):
    """How the time of a fit is divided, and when approximations are thought of at all."""

    unasked: float = 30.0  # seconds of a search where no time_budget is given and nobody asked for it
    subset_share: float = 0.25  # of the time, for a search on some of the rows before a fit that is not exact
    rescaling_share: float = 0.4  # of what is left then, for length factors on all rows
