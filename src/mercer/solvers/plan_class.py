"""What a plan is asked of (`Sizes`), what it is made by (`PlanOptions`, `MachineRates`), and the `Plan` itself."""

import time
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from mercer import _machine, _native, _threads
from mercer._clock import duration, refuse_late
from mercer._policies import Options, OptionSet
from mercer._state import check
from mercer._threads import one_blas_thread


@dataclass(frozen=True)
class PlanOptions(Options):
    """Which way "auto" takes, and how much memory and time a plan may use."""

    headroom: float = 0.9  # part of the free memory
    caution: float = 1.6  # times the predicted seconds: what is kept for a last fit, or asked of an alternative
    exact_below: int = 10_000  # rows, unless the exact fit takes longer than it may
    exact_seconds: float = 600.0  # predicted, up to which "auto" is exact where there is no time budget
    landmark_seconds: float = 300.0  # that landmarks may take where there is no time budget
    warn_seconds: float = 3600.0  # predicted, above which a fit warns
    decomposed_up_to: int = 3000  # rows; an eigen-decomposition costs as much as 27 Cholesky factors
    mixed_from: int = 1000  # rows from which a float32 factor can be worth its refinement
    neighbour_columns: int = 32  # up to which neighbours are near: with the 26 of pol their error is that of all rows


@dataclass(frozen=True)
class CostOptions(Options):
    """What an exact fit is expected to take: times and counts that were measured."""

    evaluations: int = 40  # of a search on all rows
    gradient: float = 3.0  # cost of an evaluation, in factorisations
    mixed_products: int = 7  # products K V of a refinement
    cg_products: int = 100  # products K V of conjugate gradients
    qr: float = 45.0  # times n m²: with pivoting, and Q; half of it runs at the speed of memory
    passes: float = 30.0  # over K, of a method whose K is computed again in each
    newton: int = 6  # factors of a fit with a smooth loss
    newton_by_cg: float = 1200.0  # times n²: all steps of such a fit by conjugate gradients
    dual: float = 3e4  # times n^1.5: what a dual takes at C = 1
    dual_power: float = 0.33  # of C


@dataclass(frozen=True)
class StorageOptions(Options):
    """When a method that goes over K again and again keeps it, and in which precision."""

    stored_up_to: int = 12_000  # rows of which K is kept in float64: 1.2 GB
    stored_share: float = 0.7  # part of the free memory that K, and what is made of it, may take
    factored_up_to: int = 4000  # rows of which each Newton step factors a matrix; beyond, conjugate gradients
    dual_share: float = 0.8  # part of the free memory that K of a dual may take
    float64_up_to: int = 2048  # rows of which a dual keeps K in float64, else in float32
    float64_below: float = 1e-5  # tolerance below which it does in any case


@dataclass(frozen=True)
class LandmarkSizeOptions(Options):
    """How many landmarks there are."""

    first: int = 256  # of the first stage
    fewest: int = 64  # where time or memory is so short
    largest: int = 8192  # beyond, m³ is as much as the passes
    preconditioning: int = 1024  # for a solution of all rows


@dataclass(frozen=True)
class Sizes:
    """The sizes of a problem and the limits of its fit: what every rule of a plan is asked with.

    Attributes
    ----------
    n : int
        Rows, after equal rows are merged.
    d : int, default=None
        Columns; None for inputs that are not vectors, whose kernel may be expensive to evaluate twice.
    targets : int, default=1
        Columns of y.
    memory, time_budget : float, default=None
        Bytes and seconds that may be used; None is what the machine has, and no limit.
    options : OptionSet
    binding : bool, default=True
        Whether a fit follows: what does not fit is refused then, and a long time warned of. Else it is only asked.
    """

    n: int
    d: int | None = None
    targets: int = 1
    memory: float | None = None
    time_budget: float | None = None
    options: OptionSet = OptionSet()
    binding: bool = True

    def __post_init__(self):
        if int(self.n) != self.n or self.n < 1:
            raise ValueError(f"n must be a positive whole number, got {self.n!r}.")
        object.__setattr__(self, "n", int(self.n))

    @property
    def cores(self):
        """Cores that work on n rows is shared by."""
        return 1 if self.n <= _threads.ONE_THREAD else _machine.cores()

    def plan(self, name, gram, need, free, reasons, work, searching=None):
        """Build the `Plan` of so many bytes and operations."""
        return Plan(self.n, name, gram, need, self.cores, tuple(reasons), free.bytes, work, searching=searching or {})

    def check(self, plan, free, what, instead):
        """Refuse a plan beyond the memory or the time, where a fit follows."""
        if self.binding:
            _machine.refuse_beyond(free, plan.memory_bytes, what, instead)
            if self.time_budget is not None:  # or the machine need not be timed
                refuse_late(plan.last, self.time_budget, what, instead)
        return plan

    def room(self, free):
        """Bytes that a plan may use."""
        return np.inf if free.bytes is None else self.options[PlanOptions].headroom * free.bytes


class MachineRates(NamedTuple):
    """Operations of a factorisation, in float64 and float32, and kernel entries, each for a core and a second."""

    float64: float
    float32: float
    entries: float


@cache
def rates(order=320, rows=8, columns=128):
    """The `MachineRates` of this machine, measured once in a process, in a few milliseconds, when a plan first asks."""
    A = np.asfortranarray(np.eye(order) * order + 1.0)
    X, K = np.linspace(-1.0, 1.0, columns * rows).reshape(columns, rows), np.empty((columns, columns))
    with one_blas_thread():
        double, single = (  # 1.3: a factor of many rows is so much faster, for each operation
            1.3 * order**3 / 3 / _seconds_of(routine, A.astype(dtype, order="F"))
            for routine, dtype in ((lapack.dpotrf, np.float64), (lapack.spotrf, np.float32))
        )
        gaussian, Xt = _native.Operations.radial(_native.CODES["gaussian"], rows, X.itemsize), np.ascontiguousarray(X.T)
        kernel = _seconds_of(lambda K: _native.pairs.tree(gaussian, X, Xt, 0, 1e300, K), K)
        return MachineRates(double, single, K.size / kernel)


def _seconds_of(function, argument, repeats=3):
    """The least of a few times."""
    best = np.inf
    for _ in range(repeats):
        started = time.perf_counter()
        function(argument)
        best = min(best, time.perf_counter() - started)
    return max(best, 1e-9)


FIELDS = {
    "n": "size n",
    "solver": str,
    "gram": str,
    "memory_bytes": "number",
    "threads": "size t",
    "reasons": tuple,
    "available_bytes": ("number", None),
    "work": dict,
    "landmarks": "size m",
    "neighbours": "size k",
    "searching": dict,
}


@dataclass(frozen=True, repr=False)
class Plan:
    """What a fit will do, with the reasons: solver, Gram, memory and time.

    Attributes
    ----------
    n : int
        Rows, after equal rows are merged.
    solver : str
        "cholesky", "mixed", "spectral", "cg", another way of solving, or the class name of another solver.
    gram : str
        "dense": K is stored; "tiled": it is evaluated where it is needed; "landmarks": K ≈ AᵀA;
        "neighbours": small systems of k rows; "fourier": Fourier features.
    memory_bytes : float
        Predicted peak of the solver, and of K where it is stored.
    threads : int
        Cores that the work is shared by.
    available_bytes : int or None
        What is there; None where it is not known, or not asked because a fit needs so little.
    reasons : tuple of str
        One sentence each.
    work : dict
        Counted operations: "float64" and "float32" of factorisations and products, "entries" of the kernel.
    landmarks : int
        With gram "landmarks": how many there are, at most.
    neighbours : int
        With gram "neighbours": of how many a prediction is made; with "fourier" a variance, where features are many.
    searching : dict
        Counted operations of a search of hyper-parameters, before the work.

    Examples
    --------
    >>> import mercer
    >>> plan = mercer.plan(n=2000, d=5)
    >>> plan.n, plan.solver in ("cholesky", "mixed")
    (2000, True)
    """

    n: int
    solver: str
    gram: str
    memory_bytes: float
    threads: int
    reasons: tuple
    available_bytes: int | None = field(default=None, compare=False)
    work: dict = field(default_factory=dict, compare=False)
    landmarks: int = 0
    neighbours: int = 0
    searching: dict = field(default_factory=dict, compare=False)

    def state(self):
        """{name: value}: what a file keeps."""
        return {name: getattr(self, name) for name in FIELDS}

    @classmethod
    def from_state(cls, state):
        """Return the plan that had this state."""
        check(state, FIELDS, "Plan")
        return cls(**state)

    @property
    def seconds(self):
        """Predicted time, rough: the counted operations by what this machine was measured to do."""
        return self.last + self._seconds(self.searching)

    @property
    def last(self):
        """Predicted time of the fit itself, after a search."""
        return self._seconds(self.work)

    def _seconds(self, work):
        speed = rates()
        return sum(count / (self.threads * getattr(speed, kind)) for kind, count in work.items())

    def __str__(self):
        free = "" if self.available_bytes is None else f" of {_machine.gigabytes(self.available_bytes)}"
        lines = [
            f"n = {self.n}: {self._how()}",
            f"memory  {_machine.gigabytes(self.memory_bytes)}{free}",
            f"time    about {duration(self.seconds)} ({self.threads} thread{'s' * (self.threads > 1)})",
            *(f"- {reason}" for reason in self.reasons),
        ]
        return "\n".join(lines)

    def _how(self):
        """What is solved, in a few words."""
        if self.gram == "fourier":
            return "the mean from Fourier features"
        if self.neighbours:
            return f"each prediction from the {self.neighbours} nearest rows"
        if self.landmarks and self.solver == "all rows":
            return f"all rows at once, after normal equations on at most {self.landmarks} landmarks"
        if self.landmarks:
            return f"normal equations on at most {self.landmarks} landmarks"
        return f"solver {self.solver!r} on a {self.gram} Gram matrix"

    def __repr__(self):
        memory, seconds = _machine.gigabytes(self.memory_bytes), duration(self.seconds)
        return f"Plan(n={self.n}, solver={self.solver!r}, gram={self.gram!r}, memory={memory}, time={seconds})"
