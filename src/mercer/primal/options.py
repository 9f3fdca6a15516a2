"""The numbers that steer fits on landmarks, pass by pass."""

from dataclasses import dataclass

from mercer._policies import Options


@dataclass(frozen=True)
class LandmarkFitOptions(Options):
    """How landmarks are drawn, and how a fit on them is refined and certified."""

    left_out: int = 2048  # rows whose leave-one-out error is computed: its standard error is under 2 % of itself
    certified_rows: int = 512  # rows that residuals are put back through the exact kernel at, if there are more
    candidates: tuple = (4, 10)  # least and most candidates for each landmark, else a fifth of the rows
    single_from: float = 2e7  # kernel entries from which sums are made in float32 first
    coarse: float = 0.05  # what a step of refinement may leave of the gradient, if sums in float32 are to count
    refinements: int = 4  # steps at most
    checkpoint_every: float = 20.0  # seconds between two writings of a checkpoint
    enough: float = 1e-3  # of the leave-one-out error: a distance from the minimum that nobody sees


@dataclass(frozen=True)
class SmoothLossOptions(Options):
    """How the minimum of any convex loss over landmarks is found."""

    on_sample: int = 60  # steps on a sample of the rows, before the first pass
    near: int = 4  # rows of that sample for each landmark
    curved: int = 2  # rows for each landmark that the Hessian of a sample is made of
    shared_from: int = 17  # columns from which on they share a Hessian
    patience: int = 40  # steps with the Hessian of a sample; where λ is tiny it says little, and Newton's own follow
    kept: float = 0.25  # of the free memory: what the features of all rows may take to be kept from pass to pass
    corner: float = 0.02  # of the spread of y, or of the margin: how far a corner of the loss is rounded off
