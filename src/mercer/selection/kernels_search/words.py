"""A kernel expression in the words of its parts."""

import re
from math import comb

import numpy as np

from mercer.kernels import (
    Anova,
    AtomEnvironments,
    Categorical,
    Columns,
    Constant,
    Cosine,
    EdgeHistogram,
    Exponential,
    Gappy,
    Gaussian,
    Laplacian,
    Linear,
    LocalAlignment,
    Matern32,
    Matern52,
    Mismatch,
    Normalised,
    Ordinal,
    Periodic,
    Polynomial,
    Product,
    RadialOf,
    RandomWalk,
    RationalQuadratic,
    Scaled,
    ShortestPath,
    Spectrum,
    Standardised,
    Subsequence,
    TanimotoOf,
    VertexHistogram,
    WeightedDegree,
    WeisfeilerLehman,
)
from mercer.kernels.algebra import additive_parts
from mercer.kernels.inputs import columns_read

KINDS = {
    Gaussian: "a very smooth function",
    Matern52: "a smooth function",
    Matern32: "a function without jumps in its slope",
    Exponential: "a rough function",
    Laplacian: "a rough function",
    RationalQuadratic: "a function that is smooth on several scales",
}
COUNTED = {
    ShortestPath: "how far nodes are apart",
    VertexHistogram: "how often nodes occur",
    EdgeHistogram: "how often edges occur",
    RandomWalk: "how often walks occur",
    LocalAlignment: "how well pieces match those of others",
}
LEVEL = " = "  # between a column and its level in the name of an indicator
RANKED = re.compile(r" \(most of all (?:[^()]|\([^()]*\))*\)")  # columns by their lengths
SEASON = "a season of period"
MOST = 3  # columns that are named
FAR = 8.0  # times the shortest length: a column that hardly matters


def in_words(kernel, names=None, unit=None):
    """What each additive part of a kernel does, in a sentence; columns without names are x0, x1, …

    ``unit`` is what a length in each column is measured by, to tell which columns matter most.
    """
    said = [_part(part, _Place(names, unit)) for part in additive_parts(kernel)]
    return ", plus ".join(_in_time(said) if any(SEASON in text for text in said) else said)


def _in_time(said):
    """The parts of a series: a line or a parabola beside a season in the same column is a trend."""
    trends = {"a line": "a trend, straight", "a polynomial of degree 2": "a trend, bending"}
    found = []
    for text in said:
        what, _, column = text.partition(" in ")
        trend = any(SEASON in other and f" in {column}" in other for other in said)
        found.append(f"{trends[what]} in {column}" if trend and what in trends else text)
    return found


def together(kernels, names=None):
    """What several summands that read the same columns do together, in a few words."""
    said = list(dict.fromkeys(without_ranks(in_words(kernel, names)) for kernel in kernels))
    if len(said) == 1 or "season" in said[0]:
        return said[0]
    every = range(len(names)) if names is not None else ()
    columns = sorted(columns_read(kernels[0], every)) or sorted(every)
    return f"a function of {(_Place(names, None).on(columns) if columns else _Place(names, None)).all()}"


def without_ranks(said):
    """Words without the columns of the shortest lengths: importance ranks columns, too, and in another way."""
    return RANKED.sub("", said)


class _Place:
    """Which columns a part reads, by name, and the unit of each."""

    def __init__(self, names, unit, columns=None, part=False):
        self.names, self.unit, self.columns, self.part = names, unit, columns, part

    def on(self, columns):
        """The same for a part of the columns, by number, or by name in a table."""
        if isinstance(np.ravel(columns)[0], str):
            return _Place([str(name) for name in np.ravel(columns)], None, part=True)
        columns = [int(j) for j in self._numbers(columns)]
        return _Place(self.names, self.unit, columns if self.columns is None else [self.columns[j] for j in columns])

    def _numbers(self, columns):
        """Columns by number."""
        if isinstance(columns, slice):
            return range(len(self.names or range(columns.stop or 0)))[columns]
        return np.atleast_1d(columns)

    def name(self, j):
        j = j if self.columns is None else self.columns[j]
        return f"x{j}" if self.names is None else str(self.names[j])

    def all(self):
        """The columns together."""
        if self.names is None and self.columns is None:
            return "the columns"
        if self.columns is None and len(self.names) == 1:
            return self.names[0]
        every = range(len(self.names if self.columns is None else self.columns))
        named = list(dict.fromkeys(self.name(j).partition(LEVEL)[0] if len(every) > 2 else self.name(j) for j in every))
        whole = len(every) == len(self.names or ()) and not self.part
        return " and ".join(named) if len(named) <= 2 else f"{'all ' if whole else ''}{len(named)} columns"

    def category(self):
        """The column of a table whose levels these columns are, each an indicator; None where they are not."""
        count = 0 if self.names is None else len(self.names if self.columns is None else self.columns)
        if count < 2:
            return None
        cut = [self.name(j).partition(LEVEL) for j in range(count)]
        return cut[0][0] if len({name for name, _, _ in cut}) == 1 and all(level for _, _, level in cut) else None

    def lengths(self, length):
        """Lengths in the units of their columns."""
        length = np.atleast_1d(np.asarray(length, dtype=float))
        if self.unit is None or length.size == 1:
            return length
        unit = np.asarray(self.unit, dtype=float)
        return length / (unit if self.columns is None else unit[self.columns])


def _part(kernel, place):
    """One additive part; as an expression where that has no words."""
    kernel, place = _inside(kernel, place)
    if isinstance(kernel, Product):
        return _product(kernel, place)
    if place.category() is not None or isinstance(kernel, Categorical):
        return f"a value for each {place.category() or place.all()}"
    if isinstance(kernel, Linear):
        return f"a line in {place.all()}"
    if isinstance(kernel, Polynomial):
        what = "a line" if kernel.degree == 1 else f"a polynomial of degree {kernel.degree}"
        return f"{what} in {place.all()}"
    if isinstance(kernel, Periodic | Cosine):
        wave = ", a single wave" if isinstance(kernel, Cosine) else ""
        return f"{SEASON} {_number(kernel.period)} in {place.all()}{wave}"
    if isinstance(kernel, Constant):
        return "a constant"
    if isinstance(kernel, Anova):
        return f"{_orders(kernel, place)}{_relevant(kernel.length_scale, place)}"
    if type(kernel) in KINDS:
        return f"{KINDS[type(kernel)]} of {place.all()}{_relevant(kernel.length_scale, place)}"
    if isinstance(kernel, Ordinal):
        return f"a value for each {place.all()}, like that of the next level"
    if isinstance(kernel, RadialOf) and type(kernel.radial) in KINDS:
        return f"{KINDS[type(kernel.radial)]} of {_counted(kernel.base, place) or repr(kernel.base)}"
    counted = _counted(kernel, place)
    how = "a function of" if isinstance(kernel, TanimotoOf) else "a line in"
    return repr(kernel) if counted is None else f"{how} {counted}"


def _counted(kernel, place):
    """What a kernel on texts, molecules or graphs counts in each; None where that has no words."""
    while isinstance(kernel, Normalised | TanimotoOf):
        kernel = kernel.kernel if isinstance(kernel, Normalised) else kernel.base
    where = "" if place.names is None else f" in {place.all()}"
    if isinstance(kernel, Mismatch):
        return f"how often pieces of {kernel.k} letters, up to {kernel.m} of them changed, occur{where}"
    if isinstance(kernel, Gappy):
        return f"how often pieces of {kernel.k} letters, up to {kernel.gaps} others between them, occur{where}"
    if isinstance(kernel, Subsequence):
        return f"how often {kernel.length} letters occur one after the other, near or far{where}"
    if isinstance(kernel, Spectrum | WeightedDegree):
        most = int(np.max(kernel.k))
        every = isinstance(kernel, WeightedDegree) or np.size(kernel.k) > 1
        many = "single letters" if most == 1 else f"pieces of {'up to ' if every else ''}{most} letters"
        return f"how often {many} occur{' at their places' if isinstance(kernel, WeightedDegree) else ''}{where}"
    if isinstance(kernel, AtomEnvironments):
        return f"how often atoms occur with what is {_away(kernel.radius, 'bond')}{where}"
    if isinstance(kernel, WeisfeilerLehman):
        beside = f" with what is {_away(kernel.h, 'edge')}" if kernel.h else ""
        return f"how often nodes occur{beside}{where}"
    said = next((said for kind, said in COUNTED.items() if isinstance(kernel, kind)), None)
    return said and f"{said}{where}"


def _away(count, what):
    return f"up to {count} {what}{'' if count == 1 else 's'} away"


def _inside(kernel, place):
    """A kernel without what only scales it or says where it is, and where that is."""
    while isinstance(kernel, Scaled | Columns | Standardised):
        place = place.on(kernel.columns) if isinstance(kernel, Columns) else place
        kernel = kernel.kernel
    return kernel, place


def _product(kernel, place):
    """A season that changes, a function that differs with a category; other products as they are."""
    factors = _factors(kernel)
    levels = {part: _inside(part, place)[1].category() for part in factors}
    rest = [part for part in factors if levels[part] is None]
    if 0 < len(rest) < len(factors):
        named = " and ".join(name for name in levels.values() if name is not None)
        return f"{' times '.join(_part(part, place) for part in rest)}, which may differ with {named}"
    seasons = [part for part in factors if "season" in _part(part, place)]
    others = [_part(part, place) for part in factors if part not in seasons]
    if len(seasons) == 1 and others:
        how = "that grows with the level" if "a line" in others[0] else "whose shape changes slowly"
        return f"{_part(seasons[0], place)} {how}"
    return " times ".join(_part(part, place) for part in factors)


def _factors(kernel):
    if isinstance(kernel, Product):
        return _factors(kernel.left) + _factors(kernel.right)
    return [kernel]


def _orders(kernel, place):
    """How much of the prior variance is in functions of one column, of two, and of more."""
    d = np.size(kernel.length_scale)
    count = d if d > 1 else len(place.columns or place.names or [0, 0])
    share = np.array([comb(count, k) * kernel.strength**k for k in range(count + 1)], dtype=float)
    share = share[1:] / share[1:].sum()
    if share[0] > 0.8:
        return f"a sum of functions of single columns of {place.all()}"
    if share[:2].sum() > 0.8:
        return f"a sum of functions of single columns and of pairs of {place.all()}"
    return f"functions of single columns and of several together, of {place.all()}"


def _relevant(length, place):
    """The columns with the shortest lengths, where they differ."""
    ell = place.lengths(length)
    if ell.size < 2:
        return ""
    order = np.argsort(ell)
    used = [place.name(j) for j in order if ell[j] <= FAR * ell[order[0]]]
    if len(used) == len(ell) <= MOST:
        return ""
    named = used[:MOST]
    first = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]
    idle = len(ell) - len(used)
    return f" (most of all {first}{f'; {idle} of {len(ell)} hardly matter' if idle else ''})"


def _number(value):
    return ", ".join(f"{v:.4g}" for v in np.atleast_1d(value))
