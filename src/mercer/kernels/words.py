"""A kernel expression in words: what each of its additive parts is a function of."""

import re

import numpy as np

LEVEL = " = "  # between a column and its level in the name of an indicator
RANKED = re.compile(r" \(most of all (?:[^()]|\([^()]*\))*\)")  # columns by their lengths
SEASON = "a season of period"


def describe_sum(kernel, names=None, unit=None):
    """What each additive part of a kernel does, in a sentence; see `Kernel.describe`."""
    parts = [phrase(part, Place(names, unit)) for part in kernel.additive_parts()]
    return ", plus ".join(_name_trends(parts) if any(SEASON in text for text in parts) else parts)


def _name_trends(parts):
    """The parts of a series: a line or a parabola beside a season in the same column is a trend."""
    trends = {"a line": "a trend, straight", "a polynomial of degree 2": "a trend, bending"}
    found = []
    for text in parts:
        what, _, column = text.partition(" in ")
        trend = any(SEASON in other and f" in {column}" in other for other in parts)
        found.append(f"{trends[what]} in {column}" if trend and what in trends else text)
    return found


def describe_together(kernels, names=None):
    """What several summands that read the same columns do together, in a few words."""
    texts = list(dict.fromkeys(without_ranks(describe_sum(kernel, names)) for kernel in kernels))
    if len(texts) == 1 or "season" in texts[0]:
        return texts[0]
    return f"a function of {Place(names, None, sorted(kernels[0].columns_read(range(len(names or ())))) or None).all()}"


def without_ranks(text):
    """Words without the columns of the shortest lengths: importance ranks columns, too, and in another way."""
    return RANKED.sub("", text)


class Place:
    """Which columns a part of a kernel reads, by number or by name, and the unit of each; None: all that there are."""

    def __init__(self, names=None, unit=None, columns=None):
        self.names, self.unit, self.columns = names, unit, columns

    def inside(self, kernel):
        """The columns that the parts of a kernel read."""
        if kernel.chosen() is None:
            return self
        every = range(len(self.names or ())) if self.columns is None else self.columns
        return Place(self.names, self.unit, kernel.scope(every))

    @property
    def by_name(self):
        """Whether the columns were chosen by name, out of a table."""
        return self.columns is not None and any(isinstance(column, str) for column in self.columns)

    @property
    def known(self):
        """Whether the columns have names."""
        return self.names is not None or self.by_name

    def name(self, j):
        """The name of the j-th of the columns."""
        column = j if self.columns is None else self.columns[j]
        return column if isinstance(column, str) else f"x{column}" if self.names is None else str(self.names[column])

    @property
    def count(self):
        """How many columns there are; 0 where that is not known."""
        return len(self.columns if self.columns is not None else self.names or ())

    def all(self):
        """The columns together."""
        count = self.count
        if not count:
            return "the columns"
        names = [self.name(j) for j in range(count)]
        if count > 2:
            names = list(dict.fromkeys(name.partition(LEVEL)[0] for name in names))
        whole = count == len(self.names or ()) and not self.by_name
        return " and ".join(names) if len(names) <= 2 else f"{'all ' if whole else ''}{len(names)} columns"

    def where(self):
        """In which columns, at the end of a phrase; empty where these have no names."""
        return f" in {self.all()}" if self.known else ""

    def category(self):
        """The column of a table whose levels these columns are, each an indicator; None where they are not."""
        if not self.known or self.count < 2:
            return None
        cut = [self.name(j).partition(LEVEL) for j in range(self.count)]
        return cut[0][0] if len({name for name, _, _ in cut}) == 1 and all(level for _, _, level in cut) else None

    def most_relevant(self, length, named=3, far=8.0):
        """The columns with the shortest lengths, in brackets, where they differ; ``far`` times as long is idle."""
        ell = np.atleast_1d(np.asarray(length, dtype=float))
        if ell.size < 2 or self.count not in (0, ell.size):
            return ""
        if self.unit is not None and not self.by_name:
            unit = np.asarray(self.unit, dtype=float)
            ell = ell / (unit if self.columns is None else unit[self.columns])
        order = np.argsort(ell)
        used = [self.name(j) for j in order if ell[j] <= far * ell[order[0]]]
        if len(used) == len(ell) <= named:
            return ""
        names = used[:named]
        first = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
        idle = len(ell) - len(used)
        return f" (most of all {first}{f'; {idle} of {len(ell)} hardly matter' if idle else ''})"


def unwrap(kernel, place):
    """A kernel without what only scales it or says where it is, and where that is."""
    while kernel.wraps:
        kernel, place = kernel.kernel, place.inside(kernel)
    return kernel, place


def phrase(kernel, place):
    """What one additive part of a kernel does at a place."""
    kernel, place = unwrap(kernel, place)
    category = place.category()
    return kernel._phrase(place) if category is None else f"a value for each {category}"


def describe_product(kernel, place):
    """A season that changes, a function that differs with a category; other products factor by factor."""
    factors = kernel.factors()
    levels = [unwrap(part, place)[1].category() for part in factors]
    texts = [phrase(part, place) for part in factors]
    rest = [text for text, level in zip(texts, levels, strict=True) if level is None]
    if 0 < len(rest) < len(texts):
        named = " and ".join(name for name in levels if name is not None)
        return f"{' times '.join(rest)}, which may differ with {named}"
    seasons = [text for text in texts if SEASON in text]
    others = [text for text in texts if SEASON not in text]
    if len(seasons) == 1 and others:
        return f"{seasons[0]} {'that grows with the level' if 'a line' in others[0] else 'whose shape changes slowly'}"
    return " times ".join(texts)


def season_words(period, place):
    """A season, with its period."""
    return f"{SEASON} {', '.join(f'{value:.4g}' for value in np.atleast_1d(period))} in {place.all()}"


def distance_words(count, what):
    """How far away, in whole steps."""
    return f"up to {count} {what}{'' if count == 1 else 's'} away"
