"""What a reader calls a column: a number, a category in one or several columns of X, or a text."""

import re
from dataclasses import dataclass, replace

import numpy as np

from mercer.kernels import Table
from mercer.kernels.visit import walk
from mercer.report._html import day, number
from mercer.report.findings import all_short, short


def name_parameters(case):
    """{hyper-parameter: its name by the columns that it is about}."""
    every, out = all_columns(case), {}
    owner = {place: factor for factor in case.factors for place in factor.columns}
    for _, columns, prefix in walk(case.kernel, every):
        for name in case.kernel.names:
            own = name.removeprefix(prefix)
            if name.startswith(prefix) and "__" not in own:
                out[name] = _label(own, columns, every, owner)
    return out


def _label(own, columns, every, owner):
    """One hyper-parameter in words."""
    plain, index = re.fullmatch(r"(.*?)(?:\[(\d+)\])?", own).groups()
    words = plain.replace("_", " ")
    if columns is None or not owner:
        return words if index is None else f"{words} {index}"
    if index is not None and plain == "length_scale":
        place = columns[int(index)] if int(index) < len(columns) else None
        return own if place is None else f"{words} of {owner[place].level_of(place) if place in owner else place}"
    if index is not None:
        return f"{words} {index}"
    names = list(dict.fromkeys(owner[place].name if place in owner else str(place) for place in columns))
    if columns == every or not names:
        return words if len(every) > 1 else f"{words} of {names[0]}" if names else words
    more = len(names) - 3
    return f"{words} of {', '.join(names[:3])}" + (f" and {more} more" if more > 0 else "")


NUMBER, LEVELS, TEXT = "number", "levels", "text"
MOST_LEVELS = 30
MISSING = " (missing)"  # the end of a name that a table gives to such a mark
INDICATOR = re.compile(r"(.+?) = (.+)")


def is_far(value, values):
    """Whether a value is far from most values."""
    middle = np.median(values)
    spread = 1.4826 * np.median(np.abs(values - middle)) or np.std(values)
    return bool(abs(value - middle) > 4.0 * spread)


@dataclass(frozen=True, eq=False)
class Factor:
    """A column as a reader sees it.

    ``columns`` are its places in X, ``values`` its numbers or the level of each row, ``states`` what stands in X for
    each level; ``centre`` and ``scale`` turn the numbers of X into those of the reader, which are days of ``dates``.
    """

    name: str
    kind: str
    columns: list
    values: np.ndarray | None = None
    levels: list | None = None
    states: list | None = None
    centre: float = 0.0
    scale: float = 1.0
    dates: bool = False

    def shown(self, values):
        """Numbers in the units of the reader."""
        return self.centre + self.scale * np.asarray(values, dtype=float)

    def text(self, value):
        """One of ``values`` as a reader writes it."""
        if self.kind == LEVELS:
            return self.levels[value]
        found = float(self.shown(value))
        return day(found) if self.dates else number(found, self.digits)

    @property
    def digits(self):
        """Digits that tell its values apart: 1958.25 of years, −122.23 of degrees."""
        wide = abs(self.scale) * float(np.ptp(self.values))
        far_off = np.abs(self.shown([self.values.min(), self.values.max()])).max()
        return 4 if not 0 < wide < far_off else min(4 + max(int(np.log10(far_off / wide)), 0), 9)

    def level_of(self, place):
        """What a column of X is called: of several that are one category the level that it stands for."""
        if len(self.columns) == 1:
            return self.name
        return f"{self.name} = {self.levels[self.columns.index(place)]}"

    def odd(self, value):
        """Whether a value is far from those of most rows, or a level of hardly any."""
        if self.kind == LEVELS:
            count = int(np.sum(self.values == value))
            return count <= 3 and count < 0.02 * len(self.values)
        return is_far(value, self.values)

    @property
    def marks(self):
        """Whether it says only where another column had no value."""
        return self.kind == LEVELS and self.name.endswith(MISSING)

    @property
    def moves(self):
        """Whether it has more than one value."""
        return self.kind != TEXT and np.ptp(self.values) > 0

    def along(self, places, at="x"):
        """What an axis needs to know of some of its values, or of the numbers of some levels."""
        if self.kind == LEVELS:
            levels = [self.levels[k] for k in places]
            return {at: np.arange(len(places)), "levels": levels, "more": len(self.levels) - len(places)}
        return {at: self.shown(places), "levels": None, "dates": self.dates}

    def common_levels(self, limit, rows=slice(None)):
        """The commonest levels of some rows, in their order."""
        counts = np.bincount(self.values[rows], minlength=len(self.levels))
        return np.sort(np.argsort(-counts, kind="stable")[:limit])


# ------------------------------------------------------------------------------------------------- finding
def find_factors(case, units=None):
    """The factors of a case, in the order of its columns; none where the inputs are objects or kernel values."""
    if case.pairwise:
        return []
    if case.vectors:
        found = _of_numbers(case)
    else:
        table, array = isinstance(case.X, Table), isinstance(case.X, np.ndarray) and case.X.ndim == 2
        every = all_columns(case) if table or array else []
        read = set(case.kernel.columns_read(every))
        places = [place for place in every if place in read]
        labels = all_short(places) if table else [case.names[place] for place in places]
        codes = {place for part, columns, _ in walk(case.kernel, every) if part.reads == "category"
                 for place in columns or ()}  # fmt: skip
        found = [_of_values(label, place, column_of(case.X, place), place in codes)
                 for label, place in zip(labels, places, strict=True)]  # fmt: skip
    return [_in_units(factor, (units or {}).get(factor.columns[0])) for factor in found]


def _in_units(factor, unit):
    """A factor with the centre and the scale that a reader knows it by."""
    if unit is None or factor.kind == TEXT or (factor.kind == LEVELS and len(factor.columns) > 1):
        return factor
    made = replace(factor, centre=float(unit[0]), scale=float(unit[1]), dates=len(unit) > 2 and unit[2] == "date")
    levels = [number(float(made.shown(v))) for v in factor.states] if factor.kind == LEVELS else None
    return replace(made, levels=levels)


def _of_numbers(case):
    """Factors of an array of floats: indicators of one category are one factor, two values are two levels."""
    found, blocks = [], _indicator_blocks(case)
    first = {place[0]: (name, place) for name, place in blocks.items()}
    inside = {j for place in blocks.values() for j in place}
    for j, name in enumerate(case.names):
        if j in first:
            block, place = first[j]
            levels = [short(INDICATOR.fullmatch(case.names[i])[2], 40) for i in place]
            codes = case.X[:, place].argmax(axis=1)
            found.append(Factor(block, LEVELS, list(place), codes, levels, list(np.eye(len(place)))))
        elif j not in inside:
            found.append(_of_values(name, j, case.X[:, j], False))
    return found


def _indicator_blocks(case):
    """{name: columns} of indicators, named "soil = clay", of which each row has exactly one."""
    blocks = {}
    for j, name in enumerate(case.names):
        match = INDICATOR.fullmatch(name)
        if match:
            blocks.setdefault(match[1], []).append(j)
    return {
        name: place
        for name, place in blocks.items()
        if len(place) > 1 and np.isin(case.X[:, place], (0.0, 1.0)).all() and (case.X[:, place].sum(axis=1) == 1).all()
    }


def _of_values(name, place, values, category):
    """The factor of one column: numbers, levels if there are few or a kernel reads them so, else text."""
    try:
        numbers = None if category else np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        numbers = None
    if numbers is not None and numbers.ndim == 1 and np.isfinite(numbers).all():
        states = np.unique(numbers)
        if len(states) != 2:
            return Factor(name, NUMBER, [place], numbers)
        codes = (numbers == states[1]).astype(int)
        return Factor(name, LEVELS, [place], codes, [number(v) for v in states], states.tolist())
    items = np.asarray(values, dtype=object).tolist() if isinstance(values, np.ndarray) else list(values)
    plain = all(isinstance(item, str | bytes | int | float | bool) for item in items)
    states = sorted(set(items), key=lambda item: (str(type(item)), item)) if plain else []
    few = len(states) <= MOST_LEVELS and (category or len(states) <= len(items) / 2)
    if not plain or not few:
        return Factor(name, TEXT, [place])
    code = {state: k for k, state in enumerate(states)}
    return Factor(name, LEVELS, [place], np.array([code[item] for item in items]),
                  [short(state, 40) for state in states], states)  # fmt: skip


def column_of(X, place):
    """The values of one column."""
    return X[place] if isinstance(X, Table) else X[:, place]


# ------------------------------------------------------------------------------------- what a kernel reads
def all_columns(case):
    """Every column of X, as the kernel knows it: names of a table, numbers of an array."""
    return list(case.X.columns) if isinstance(case.X, Table) else list(range(len(case.names)))


# ------------------------------------------------------------------------------------------------ changing
def set_factor(case, X, factor, value):
    """Copy of some rows with one factor at one value: a number, or the number of a level; or at one for each row."""
    places = np.broadcast_to(value, len(X))
    state = [factor.states[k] for k in places] if factor.kind == LEVELS else places.copy()
    if isinstance(X, Table):
        return _replace_column(case, X, factor, state)
    Z = X.copy()
    Z[:, factor.columns] = np.reshape(state, (len(X), -1))
    return Z


def shuffle_factor(case, X, factor, order):
    """Copy of some rows with one factor taken from other rows."""
    if isinstance(X, Table):
        values = X[factor.columns[0]]
        return _replace_column(case, X, factor, [values[i] for i in order])
    Z = X.copy()
    Z[:, factor.columns] = X[order][:, factor.columns]
    return Z


def _replace_column(case, X, factor, values):
    """A table with one column changed; columns that no kernel reads are there by name, and empty."""
    read = {place for one in case.factors for place in one.columns}
    kept = {place: X[place] if place in read else [""] * len(X) for place in X.columns}
    return Table({**kept, factor.columns[0]: values})


def indicators(case, rows):
    """Numbers, and an indicator for each level of a category; texts are left out. None where nothing is left."""
    columns = [np.asarray(f.values, dtype=float)[rows, None] for f in case.factors if f.kind == NUMBER]
    columns += [np.eye(len(f.levels))[f.values[rows]] for f in case.factors if f.kind == LEVELS]
    return np.column_stack(columns) if columns else None
