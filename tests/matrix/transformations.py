"""What is done to the rows, and what becomes of an answer: the table of one axis of the matrix."""

from typing import NamedTuple

import numpy as np

from mercer.gram.base import draw_rows

OFFSET = 1e8


class Pair(NamedTuple):
    """Rows before and after; ``rows`` says which of those before each one after is, None where there are others."""

    before: object  # Data, or a list of them: one for each target
    after: object
    rows: np.ndarray | None = None
    same_rows: bool = True  # whether an answer for each row, or by counting rows, can be compared


def weighted(data, rng):
    """Nothing happens to rows of some weight: an approximation is compared with the exact fit of the same rows."""
    data = data.replace(weight=rng.integers(1, 5, data.n).astype(float))
    return Pair(data, data, np.arange(data.n))


def weights(data, rng):
    after = weighted(data, rng).after
    return Pair(data.some(np.repeat(np.arange(data.n), after.weight.astype(int))), after, same_rows=False)


def repeated(data, rng):
    return Pair(*weights(data, rng)[1::-1], same_rows=False)


def no_weight(data, rng):
    w = np.where(np.arange(data.n) % 5 == 2, 0.0, 1.0)
    kept = np.flatnonzero(w)
    folds = tuple(np.searchsorted(kept, fold[np.isin(fold, kept)]) for fold in data.folds)
    return Pair(
        data.some(kept).replace(folds=folds),
        data.replace(weight=w, folds=folds),
        np.maximum(np.cumsum(w).astype(int) - 1, 0),
    )


def targets(data, rng):
    other = np.cos(2 * data.X[:, 0]) + 0.1 * rng.standard_normal(data.n)
    each = [data.y, 1e2 * other, 1e4 * (data.y + other), np.full(data.n, 3.0)]
    new = [data.new_y, 1e2 * data.new_y, 1e4 * data.new_y, np.full(len(data.new), 3.0)]
    before = [data.replace(y=y, new_y=z) for y, z in zip(each, new, strict=True)]
    return Pair(before, data.replace(y=np.column_stack(each), new_y=np.column_stack(new)), np.arange(data.n))


def _units(a, b):
    def change(data, rng):
        after = data.replace(y=a * data.y + b, new_y=a * data.new_y + b, size=a * data.size, offset=b)
        return Pair(data, after, np.arange(data.n))

    return change


def columns(data, rng):
    s, shift = 10.0 ** rng.uniform(-4, 4, data.X.shape[1]), rng.uniform(-3, 3, data.X.shape[1])
    X, new = (s * (part + shift) for part in (data.X, data.new))
    return Pair(data, data.replace(X=X, new=new, lengths=s * data.lengths, along=s * data.along), np.arange(data.n))


def permuted(data, rng):
    order = rng.permutation(data.n)
    place = np.argsort(order)
    folds = tuple(place[fold] for fold in data.folds)
    return Pair(data, data.some(order).replace(folds=folds), order)


def doubled(data, rng):
    X, new, along = (np.hstack([part, part]) for part in (data.X, data.new, data.along))
    lengths = np.sqrt(2.0) * np.append(data.lengths, data.lengths)
    return Pair(data, data.replace(X=X, new=new, along=along, lengths=lengths), np.arange(data.n))


def constant(data, rng):
    X, new = (np.column_stack([part, np.full(len(part), 7.0)]) for part in (data.X, data.new))
    after = data.replace(X=X, new=new, along=np.append(data.along, 0.0), lengths=np.append(data.lengths, 0.5))
    return Pair(data, after, np.arange(data.n))


def held(data, rng):
    gone = draw_rows(data.n, 6, 9)  # by the hash of their number
    before = data.some(np.setdiff1d(np.arange(data.n), gone))
    aside = None if data.weight is not None else (data.X[gone], data.y[gone])
    return Pair(before.replace(aside=aside), data.replace(held=len(gone)), same_rows=False)


def _change(how):
    return lambda data, rng: Pair(data, data.replace(change=how), np.arange(data.n))


TRANSFORMATIONS = {
    "nothing": lambda data, rng: Pair(data, data, np.arange(data.n)),
    "weighted": weighted,
    "weights": weights,
    "repeated": repeated,
    "weight 0": no_weight,
    "targets": targets,
    "times 1e6": _units(1e6, 0.0),
    "times 1e-6": _units(1e-6, 0.0),
    "plus 1e8": _units(1.0, OFFSET),
    "columns": columns,
    "permuted": permuted,
    "doubled": doubled,
    "constant": constant,
    "held": held,
    "held of weight": lambda data, rng: held(weighted(data, rng).after, rng),
    "update": _change("update"),
    "forget": _change("forget"),
}
OF_Y = ("targets", "times 1e6", "times 1e-6", "plus 1e8")  # labels have none of these
SEARCHED = ("times 1e6", "plus 1e8", "columns", "weights")  # that a search is to follow


def applies(name, combination, data):
    """Whether a transformation means anything to an estimator: one without a trend does not follow an offset."""
    pair, has = TRANSFORMATIONS[name](data, np.random.default_rng(0)), combination.has
    some = pair.before[0] if isinstance(pair.before, list) else pair.before
    if (some.weight is not None or pair.after.weight is not None) and "sample_weight" not in has:
        return False
    if name == "plus 1e8" and "trend" not in has:
        return False
    model = combination.make(data)
    by_rows_left_out = model.criterion != "evidence" or "m" in combination.fields_of if combination.learns else False
    if combination.learns and (name not in SEARCHED or (name == "weights" and by_rows_left_out)):
        return False  # of rows that are repeated the copies stay; on landmarks λ is chosen by rows left out
    if pair.after.change and not (hasattr(model, "update") or hasattr(model, "partial_fit")):
        return False
    if pair.after.held and "held" not in combination.fields_of:
        return False
    return not (name in OF_Y and combination.classifies(data))
