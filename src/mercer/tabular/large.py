"""Tables that need not fit in memory: a first reading learns what the columns are, a second makes arrays of them.

The rules are those of `Recipe`, learnt on some rows: 20 000 drawn by the hash of their number, and those that show what
these do not: the least and the largest number of a column, a missing cell, a cell that is no number, each category up
to 200 of a column. So a category, or a missing value, that appears in the last part only is known, and a column is
constant only if all its rows are. Means, deviations and medians are those of these rows.
"""

import shutil
import tempfile
import warnings
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mercer import _machine
from mercer.exceptions import DataError
from mercer.gram.base import draw_rows, row_hash
from mercer.sources import as_source
from mercer.tabular.cells import renumber_rows
from mercer.tabular.columns import is_text, usable_rows
from mercer.tabular.model import TableModel
from mercer.tabular.sentinels import find_sentinels, mask_sentinels

SEEDS = 7, 8  # of the hash: of the sample, and of the rows that are held out


class Survey(NamedTuple):
    """What the first reading found: rows in all, the rows that are looked at, their numbers, how cells are written."""

    rows: int
    frame: Any
    place: np.ndarray
    styles: dict
    notes: list
    sentinels: dict


@dataclass
class _Seen:
    """What was seen of a column so far."""

    low: float = np.inf
    high: float = -np.inf
    most: int = 200  # values that are looked for
    gone: bool = False
    words: set = field(default_factory=set)

    def new(self, column, labels):
        """Positions of the rows that show something new."""
        import polars as pl

        found, text = [], is_text(column)
        if not self.gone and column.null_count():
            self.gone = True
            found.append(int(column.is_null().arg_true()[0]))
        if text or column.dtype.is_numeric() or column.dtype.is_temporal() or column.dtype == pl.Boolean:
            values = column.cast(pl.String) if text else column.to_physical()
            values = values.cast(pl.Float64, strict=False).fill_nan(None)
            found += self._beyond(values)
            if text or labels:
                words = column.cast(pl.String)
                found += self._unheard(words if labels else words.filter(values.is_null()), words)
        return found

    def _beyond(self, values):
        """Rows of numbers outside of the range so far."""
        low, high, found = values.min(), values.max(), []
        if low is not None and low < self.low:
            self.low = low
            found.append(int(values.arg_min()))
        if high is not None and high > self.high:
            self.high = high
            found.append(int(values.arg_max()))
        return found

    def _unheard(self, some, words):
        """Rows of categories that are new."""
        if len(self.words) >= self.most:
            return []
        new = [word for word in some.drop_nulls().unique(maintain_order=True) if word not in self.words]
        new = new[: self.most - len(self.words)]
        self.words.update(new)
        return [int(words.index_of(word)) for word in new]


def survey(pages, categorical=(), tick=None, numeric=()):
    """The `Survey` of all rows, read once; ``tick`` is called with the number of rows after each batch."""
    most = pages.options.sampled
    seen = {name: _Seen(most=pages.options.new_values) for name in pages.names}
    kept, rows, limit = [], 0, np.uint64(2**64 - 1)
    for start, frame in pages:
        rows = start + frame.height
        marks = row_hash(start, rows, SEEDS[0])
        new = {row for name in pages.names for row in seen[name].new(frame[name], name in categorical)}
        special = np.zeros(frame.height, dtype=bool)
        special[list(new)] = True
        keep = np.flatnonzero(special | (marks <= limit))
        kept.append((start + keep, marks[keep], special[keep], frame[keep]))
        if sum(len(one[0]) for one in kept) > 3 * most:
            kept, limit = _keep_sample(kept, most)
        if tick is not None:
            tick(rows)
    if not rows:
        raise DataError(f"{pages.paths[0]} has columns ({', '.join(pages.names[:4])}) and no rows.")
    index, _, _, frame = _keep_sample(kept, most)[0][0]
    notes, styles = [*pages.notes], {}
    frame = pages.infer_types(frame, (), styles, notes)
    if rows > len(index):
        notes.append(
            f"what the columns are, and their means and deviations, was learnt from {len(index):,} of {rows:,} rows: "
            "some drawn at random, and those with the least, the largest, the first missing and each new value."
        )
    sentinels = find_sentinels(frame, notes, numeric)
    return Survey(rows, mask_sentinels(frame, sentinels).rechunk(), index, styles, notes, sentinels)


def _keep_sample(kept, most):
    """([one piece], limit): what is special, and of the others those of the smallest hash."""
    import polars as pl

    index, marks, special = (np.concatenate([one[i] for one in kept]) for i in range(3))
    frame, limit = pl.concat([one[3] for one in kept], how="vertical_relaxed"), np.uint64(2**64 - 1)
    if len(marks) > most:
        limit = np.partition(marks, most - 1)[most - 1]
        keep = np.flatnonzero(special | (marks <= limit))
        index, marks, special, frame = index[keep], marks[keep], special[keep], frame[keep]
    return [(index, marks, special, frame)], limit


class Numbers(NamedTuple):
    """X and y of the rows to fit, X and y of those held out, the numbers of these, and how many had no target.

    X may lie in a file, or with workers, who then have y too (``there``).
    """

    X: Any
    y: np.ndarray
    X_held: np.ndarray
    y_held: np.ndarray
    held: np.ndarray
    dropped: int
    there: Any = None

    def source(self, classes):
        """`Source` of the rows to fit; labels as the numbers of their classes."""
        y = self.y if self.there is None else self.there
        if classes is not None:
            number = partial(_class_numbers, classes)
            y = number(y) if self.there is None else y.map_blocks(number, dtype=float)
        return as_source(self.X, y)


def _class_numbers(classes, y):
    """Numbers of the classes of labels."""
    return np.searchsorted(classes, y).astype(float)


class Converter:
    """frame ↦ (rows with a target, X, y), batch by batch, as a recipe says that was fitted on ``found.frame``."""

    def __init__(self, pages, found, recipe, target, labels):
        self.pages, self.found, self.recipe, self.target, self.labels = pages, found, recipe, target, labels
        used = [*(column["name"] for column in recipe.used), target]
        self.text = [name for name in used if is_text(found.frame[name])]

    def __getstate__(self):
        """Return what travels: what was found, without the rows that it was learnt from."""
        return self.__dict__ | {"found": self.found._replace(frame=None, place=None)}

    def __iter__(self):
        """Yield (numbers of the rows, X, y) of each batch."""
        return self.of(self.pages)

    def of(self, batches):
        """Yield the same of some batches (number of the first row, data frame)."""
        for start, frame in batches:
            with renumber_rows(range(start, start + frame.height)), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a table does not differ from itself
                frame = self.pages.infer_types(frame, self.text, self.found.styles)
                frame = mask_sentinels(frame, self.found.sentinels)
                rows, y = usable_rows(frame, self.target, self.labels, [], least=0)
                X = self.recipe.transform(frame if len(rows) == frame.height else frame[rows])
            yield start + rows, X, y


def rows_held(n, options):
    """How many of n rows a fit does not see."""
    return min(options.held, int(options.held_share * n))


def make_numbers(converter, *, memory=None, folder=None, tick=None, workers=None):
    """The `Numbers` of a table, all rows of which are read a second time; by workers, if there are some.

    An array beyond a quarter of the memory lies in a file in the folder, in single precision. Of the rows so many are
    held out, by the hash of their number; a tenth at most.
    """
    n, options = converter.found.rows, converter.pages.options
    if n < options.fewest:
        raise DataError(
            f"the files have {n} rows in all. Of what is read in batches a tenth is held out, too few of these to "
            "judge a model by: write the rows into one file, which is then read as a whole."
        )
    aside = draw_rows(n, rows_held(n, options), SEEDS[1])
    shape = n - len(aside), len(converter.recipe.feature_names_)
    single = _needs_file(shape, memory, options.memory_share)
    if workers is not None:
        size = max(options.rows, -(-n // options.parts))
        spans = [(start, min(start + size, n)) for start in range(0, n, size)]
        X, there, rest = workers.make_table(
            partial(_convert_part, converter, aside, np.float32 if single else np.float64), spans
        )
        y, *out = (np.concatenate([one[i] for one in rest]) for i in range(4))
        return Numbers(X, y, *out, n - len(y) - len(out[1]), there)
    X = _open_memmap(shape, folder) if single else np.empty(shape)
    y, out, at, seen = [], [], 0, 0
    for (part, target), away in _set_aside(converter, aside):
        X[at : at + len(part)] = part
        at, seen = at + len(part), seen + len(part) + len(away[1])
        y.append(target)
        out.append(away)
        if tick is not None:
            tick(seen)
    X_held, y_held, held = (np.concatenate([one[i] for one in out]) for i in range(3))
    return Numbers(X[:at], np.concatenate(y), X_held, y_held, held, n - seen)


def _set_aside(batches, aside):
    """Yield ((X, y) of the rows to fit, (X, y, numbers) of those held out) of each batch."""
    for rows, X, y in batches:
        away = np.isin(rows, aside, assume_unique=True)
        yield (X[~away], y[~away]), (X[away], y[away], rows[away])


def _convert_part(converter, aside, dtype, start, stop):
    """(X, y of rows to fit; X, y and numbers of those held out) of the rows [start, stop): what a worker makes."""
    pages = converter.pages
    pages.check_there()
    found = [(*kept, *away) for kept, away in _set_aside(converter.of(pages.between(start, stop)), aside)]
    X, *rest = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return X.astype(dtype, copy=False), *rest


def _needs_file(shape, memory, share):
    """Whether an array is more than a share of the memory."""
    free = _machine.within(memory, 0.0).bytes
    return free is not None and 8.0 * shape[0] * shape[1] > share * free


def _open_memmap(shape, folder):
    """A file that is read as an array in single precision."""
    folder, need = tempfile.gettempdir() if folder is None else folder, 4.0 * shape[0] * shape[1]
    left = shutil.disk_usage(folder).free
    if need > left:
        raise OSError(
            f"the table takes {_machine.gigabytes(need)} as numbers, and {folder} has {_machine.gigabytes(left)} left: "
            "set TMPDIR to a folder with more."
        )
    with tempfile.TemporaryFile(dir=folder, prefix="mercer-") as file:  # without a name: it goes with the array
        return np.memmap(file, dtype=np.float32, mode="w+", shape=shape)


def as_model(estimator, fitted, converter, target, index, notes, spread):
    """`TableModel` of an estimator before and after its fit on X; ``index`` are the rows held out that a page shows."""
    recipe, model = converter.recipe, TableModel(estimator, target=target)
    model.estimator_, model.selection_, model.recipe_ = fitted, fitted.selection_, recipe
    model.target_, model.rows_, model.left_out_ = target, index, None
    model.feature_names_, model.text_columns_ = list(recipe.feature_names_), converter.text
    model.notes_, model.target_spread_, model.sentinels_ = [*recipe.notes_, *notes], spread, converter.found.sentinels
    return model
