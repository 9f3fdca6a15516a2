"""Plan: what a fit will do, as `mercer.plan` says it before and ``plan_`` after."""

from dataclasses import dataclass, field

from mercer import _machine
from mercer._clock import duration
from mercer._state import check
from mercer.solvers.speed import rates

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
        state = {"landmarks": 0, "neighbours": 0, "searching": {}, **state}  # plans of older files have none
        state.pop("compiled", None)  # of files that were written when loops had to be compiled first
        state["gram"] = "fourier" if state["gram"] == "waves" else state["gram"]
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
