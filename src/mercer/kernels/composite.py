"""Kernels that are made of others: what all of them have in common."""

from abc import abstractmethod

from mercer.kernels.base import Kernel, PreparedKernel
from mercer.kernels.words import phrase


class Composite(Kernel):
    """A kernel made of others: reads what its parts read, and is proved PSD if they are.

    Attributes
    ----------
    noun : str or None
        What it makes of its parts, in words: "the exponential"; None is the name of the class.
    """

    noun: str | None = None

    @property
    def reading_parts(self):
        """All parts."""
        return self.parts

    def columns_read(self, columns=()):
        """Those of its parts."""
        inside = self.scope(columns)
        found = [one for name in self.reading_parts for one in getattr(self, name).columns_read(inside)]
        return list(dict.fromkeys(found)) if self.reading_parts else list(columns)

    def _phrase(self, place):
        if not self.reading_parts:
            return super()._phrase(place)
        parts = [phrase(getattr(self, name), place.inside(self)) for name in self.reading_parts]
        return f"{self.noun or type(self).__name__} of {' and '.join(parts)}"

    def validate(self, X):
        """X as all parts read it: a data frame as a table, where a part reads columns by name."""
        if isinstance(X, dict) or hasattr(X, "columns"):
            from mercer.kernels.columns import read_by_name  # which is built from what is here

            X = read_by_name(self, X)
        return super().validate(X)

    @property
    def domain(self):
        """What a collection holds: "objects" if a part reads objects."""
        return "objects" if any(part.domain == "objects" for _, part in self.named_parts()) else "vectors"

    @property
    def stationary(self):
        """Whether every part is stationary."""
        return all(part.stationary for _, part in self.named_parts())

    @property
    def psd(self):
        """Whether every part is proved PSD."""
        return all(part.psd for _, part in self.named_parts())


class FromParts(PreparedKernel, Composite):
    """A composite whose values and contractions are made of those of its parts: a subclass writes ``prepare``."""

    def formula(self, x, z):
        """None, but for a subclass that writes it."""
        raise NotImplementedError


class EntryWise(FromParts):
    """Sums, products and multiples: each value is made of the values of the parts for the same two inputs."""

    def in_units(self, centre, scale):
        """The same of the parts in these units."""
        return self.with_parts(lambda part: part.in_units(centre, scale))


class Moved(FromParts):
    """k(p(x), p(z)) for a function p of the inputs: a subclass writes ``_inside(X)``, which is p of a collection."""

    parts = ("kernel",)

    @abstractmethod
    def _inside(self, X):
        """p(X), as k reads it."""

    def prepare(self, X, Z, keep=False):
        """k on p(X) and p(Z), which are computed once."""
        A = self._inside(X)
        return self.kernel.prepare(A, A if Z is X else self._inside(Z), keep)

    def diag(self, X):
        """k(p(x), p(x))."""
        return self.kernel.diag(self._inside(X))

    def metric(self, X):
        """That of k at p(x)."""
        return self.kernel.metric(self._inside(X))

    def part_inputs(self, X):
        """p(X)."""
        return self._inside(X)

    def columns_read(self, columns=()):
        """All: each of what p gives may depend on each column."""
        return list(columns)
