"""What a kernel says of itself, with defaults that are true of any kernel; and the one walk over a tree of kernels.

Nobody outside this package asks of which class a kernel is: words, sliders, tables, units and starting values come from
here, and a new kernel has them by what it inherits or declares.
"""

import importlib

import numpy as np

from mercer.kernels import formula, words


class SelfDescription:
    """What others ask of a kernel: which columns it reads and how, in which unit, what it does, by which formula.

    Attributes
    ----------
    lengths : tuple of str
        Hyper-parameters in the unit of x, one for all columns or one for each: with c times all of them k(c x, c z) is
        what k(x, z) was.
    counted : str or None
        What a kernel on objects counts in each of them, in words; ``counts`` says it where that depends on parameters.
    character : str or None
        What a function of this kernel looks like, in a few words: "a rough function".
    reads : str or None
        How a kernel on objects reads a column of a table: "string", "number", "category" or "graph"; "rows" where it
        reads tables as they are, None where no column can hold its inputs.
    reading_parts : tuple of str
        The parts that read the inputs of this kernel, or what it makes of them; empty where they read something else.
    wraps : bool
        Whether it says only how large its one part, ``kernel``, is, or in which columns and units it reads.
    explicit : bool
        Whether it has features: k(x, z) = φ(x)ᵀφ(z) with φ from ``features``.
    """

    lengths: tuple = ()
    counted: str | None = None
    character: str | None = None
    reads: str | None = "string"
    reading_parts: tuple = ()
    wraps = False
    explicit = False

    # ------------------------------------------------------------------ columns
    def chosen(self):
        """Return the columns that it chooses for its parts, by number or by name; None where they see all of them."""
        return None

    def scope(self, columns):
        """Return the columns that its parts see, of those that it sees itself; None where they see no columns.

        Parameters
        ----------
        columns : sequence
            Numbers or names; empty where it is not known which columns there are.
        """
        wanted = self.chosen()
        if wanted is None:
            return columns
        if isinstance(wanted, slice):
            return list(columns if len(columns) else range(wanted.stop or 0))[wanted]
        wanted = np.atleast_1d(wanted).tolist()
        return [one if isinstance(one, str) or not len(columns) else columns[one] for one in wanted]

    def columns_read(self, columns=()):
        """Return the columns, of those that it sees, that its values depend on: all, unless it knows better."""
        return list(columns)

    def part_inputs(self, X):
        """Return X as the parts read it; None where that is not known without calling a function of the user's."""
        return X

    # ------------------------------------------------------------------ parts and numbers
    def additive_parts(self):
        """Return [k₁, k₂, …] with Σ kᵢ = k: sums taken apart, also under an amplitude.

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Linear
        >>> (2.0 * (Gaussian(1.0) + Linear())).additive_parts()
        [2.0 * Gaussian(1.0), 2.0 * Linear()]
        """
        return [self]

    def factors(self):
        """Return [k₁, k₂, …] with Π kᵢ = k: products taken apart."""
        return [self]

    def season(self):
        """Return the period with which the kernel repeats, the first where there are several; None if there is none."""
        if "period" in self.hyper:
            return float(np.ravel(self.period)[0])
        return next((found for _, part in self.named_parts() if (found := part.season()) is not None), None)

    def in_units(self, centre, scale):
        """Return the kernel on X that is this one on (X − centre)/scale, as an expression with lengths in units of X.

        Parameters
        ----------
        centre, scale : ndarray of shape (d,), or dict
            Of each column; {name: value} of a table, whose other columns are in their units already.
        """
        if isinstance(scale, dict) or (not centre.any() and (scale == 1.0).all()):
            return self
        if not self.lengths:
            return importlib.import_module("mercer.kernels.standardised").Standardised(
                self, centre.tolist(), scale.tolist()
            )
        other, factor = self._shallow_copy(), float(scale[0]) if (scale == scale[0]).all() else scale
        for name in self.lengths:
            _multiply(other, name, factor)
        return other

    def original(self):
        """Return the kernel that this one stands for: itself, unless it holds stored values of another."""
        return self

    def foreign_classes(self):
        """Return the classes of others that the expression of this kernel names."""
        return []

    # ------------------------------------------------------------------ words and formula
    def describe(self, names=None, unit=None):
        """Return what the kernel does in words: what each of its additive parts is a function of.

        Parameters
        ----------
        names : sequence of str, default=None
            Of the columns; without them these are x0, x1, …
        unit : array-like of shape (d,), default=None
            What a length in each column is measured by, to tell which columns matter most.

        Returns
        -------
        str

        Examples
        --------
        >>> from mercer.kernels import Gaussian, Linear
        >>> (Gaussian(2.0).on(0) + Linear().on(1)).describe(["age", "dose"])
        'a very smooth function of age, plus a line in dose'
        """
        return words.describe_sum(self, names, unit)

    def counts(self):
        """Return what a kernel on objects counts in each of them, in words; None where it counts nothing."""
        return self.counted

    def _phrase(self, place):
        """What the kernel does at a `Place`, in words."""
        counted = self.counts()
        if counted is not None:
            return f"a line in {counted}{place.where()}"
        if self.character is not None:
            return f"{self.character} of {place.all()}{place.most_relevant(self.length_scale)}"
        return f"a function of {place.all() if self.domain == 'vectors' or place.known else 'the inputs'} ({self!r})"

    def outline(self):
        """Return the expression without its numbers; […] are lengths for each column."""
        if self.wraps:
            return self.kernel.outline()
        given = self.get_params(deep=False)
        shown = ["[…]"] if np.ndim(given.get("length_scale")) else []
        shown += [part.outline() for _, part in self.named_parts()]
        shown += [repr(given[name]) for name in ("degree", "profile", "k", "h", "radius") if name in given]
        return f"{type(self).__name__}({', '.join(shown)})".replace("()", "")

    def formula(self, x, z):
        """Return k(x, z) of two single inputs by arithmetic and functions of NumPy: a page evaluates it.

        x and z are vectors of columns, or stand for them while the formula is written down (`slider`). What is here
        asks ``_tile``, which will do for a kernel that is written on the values of other kernels.

        Parameters
        ----------
        x, z : ndarray of shape (d,)
            Or what stands for them.
        """
        return self._tile(x, z)

    def slider(self, X):
        """Return the formula as steps for the script of a page; None where it has none, or one that is wrong.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            A few inputs: the steps are tried on all pairs of them.

        Returns
        -------
        list of list or None
            See `mercer.kernels.formula`.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Linear
        >>> Linear().slider(np.array([[1.0, 2.0], [0.0, 3.0]]))
        [['multiply', 'x', 'z'], ['add.reduce', 0]]
        """
        return formula.checked_steps(self, X)


def _multiply(kernel, name, factor):
    """Multiply a length by a factor, and its bounds along where they would be in the way."""
    value = np.asarray(getattr(kernel, name)) * factor
    bounds = getattr(kernel, f"{name}_bounds")
    setattr(kernel, name, float(value) if value.ndim == 0 else value)
    if bounds is not None and not isinstance(bounds, str):
        setattr(kernel, f"{name}_bounds", np.multiply.outer(np.atleast_1d(factor), np.ravel(bounds)))
    elif value.min() < 1e-3 or value.max() > 1e3:
        setattr(kernel, f"{name}_bounds", np.multiply.outer(np.atleast_1d(value), (1e-5, 1e5)))


# ---------------------------------------------------------------------------------------------- the walk
def walk(kernel, columns=(), prefix=""):
    """Yield (kernel, columns, prefix) for a kernel and for each kernel inside it, from the outside in.

    The columns are those that it sees, None where it sees something else; the names of its hyper-parameters begin with
    the prefix.

    Parameters
    ----------
    kernel : Kernel
    columns : sequence, default=()
        All columns that there are, by number or by name; empty where that is not known.
    prefix : str, default=""
        In front of the names of its hyper-parameters.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.kernels.visit import walk
    >>> for part, columns, prefix in walk(Gaussian().on(1) + Linear(), ["a", "b"]):
    ...     print(type(part).__name__, columns, prefix)
    Sum ['a', 'b']
    Columns ['a', 'b'] left__
    Gaussian ['b'] left__kernel__
    Linear ['a', 'b'] right__
    """
    yield kernel, columns, prefix
    inside = None if columns is None else kernel.scope(columns)
    for name, part in kernel.named_parts():
        yield from walk(part, inside, f"{prefix}{name}__")


def readers(kernel, enter=lambda kernel: True):
    """Yield the kernels of a tree that read the inputs themselves, and do not only combine what others make of them.

    Parameters
    ----------
    kernel : Kernel
    enter : callable, default: every kernel
        Whether to look at a kernel, and into it.
    """
    if enter(kernel):
        if not kernel.reading_parts:
            yield kernel
        for name in kernel.reading_parts:
            yield from readers(getattr(kernel, name), enter)


def chosen_names(kernel):
    """Return the names of columns that a kernel itself chooses for its parts; empty where it chooses none by name."""
    return [] if kernel.chosen() is None else kernel.named_columns()
