"""What a recipe learns of a column, numbers or categories; and the names of the columns of X."""

import numpy as np

from mercer.tabular.columns import GONE, OTHER, as_floats, as_texts, is_text, kind_of
from mercer.tabular.words import count, listed


def standard(column, kept, said):
    """(x − mean)/sd with missing values filled, and 0/1 for whether they were, if the fit has seen some."""
    values = as_floats(column, kept["kind"], kept["origin"], kept.get("style"))
    gone = np.isnan(values)
    if gone.any() and not kept["marked"]:
        said.append(
            f"column {kept['name']!r}: {count(int(gone.sum()), 'missing value')} filled with the median of the fit, "
            "which had none."
        )
    said += of_numbers(values[~gone], kept)
    standard = (np.where(gone, kept["fill"], values) - kept["centre"]) / kept["scale"]
    return np.column_stack([standard, gone]) if kept["marked"] else standard[:, None]


def indicators(column, kept, said):
    """One column for each level, or one for two levels."""
    levels = kept["levels"]
    number = {level: i for i, level in enumerate(levels)} | dict.fromkeys(kept["pooled"], len(levels) - 1)
    texts = [GONE if text is None else text for text in as_texts(column)]
    unseen = [text for text in texts if text not in number]
    said += of_levels(sorted(set(unseen)), len(unseen), kept)
    codes = np.array([number.get(text, len(levels) - 1 if kept["pooled"] else -1) for text in texts], dtype=int)
    if len(levels) == 2:
        return np.where(codes < 0, 0.5, codes)[:, None]
    return (codes[:, None] == np.arange(len(levels))).astype(float)


ENOUGH = 10  # rows below which a shift of the whole column is not judged
FAR = 5.0  # standard deviations between the new median and the mean of the fit
RATIO = 20.0  # of the spreads
BEYOND = 0.1  # of the range of the fit, on either side


def of_numbers(values, kept):
    """Whether a column looks like another unit, or goes beyond what the fit has seen."""
    if not len(values) or kept["kind"] == "boolean":
        return []
    name, spread = kept["name"], kept["spread"] or 1.0
    if len(values) >= ENOUGH:
        middle = float(np.median(values))
        shift = abs(middle - kept["centre"]) / spread
        ratio = float(values.std()) / spread if abs(values).max() < 1e150 else np.inf
        if shift > FAR or ratio > RATIO:
            date = kept["kind"] == "date"
            return [
                f"column {name!r} is on another scale than in the fit: median {shown(middle, kept)} (fit: mean "
                f"{shown(kept['centre'], kept)}, sd {spread:.3g}{' days' * date}). Is it in another unit?"
            ]
    room = BEYOND * (kept["high"] - kept["low"])
    outside = int(((values < kept["low"] - room) | (values > kept["high"] + room)).sum())
    if not outside:
        return []
    return [
        f"column {name!r}: {count(outside, 'row')} of {len(values):,} outside the range of the fit, "
        f"{shown(kept['low'], kept)} to {shown(kept['high'], kept)}; predictions there are extrapolations."
    ]


def shown(value, kept, digits=4):
    """A value of a column in its own words: a date, or a number with so many digits."""
    if kept["kind"] == "date":
        return str(np.datetime64(int(np.floor(value + kept["origin"])), "D"))
    return f"{value:.{digits}g}"


def of_levels(unseen, rows, kept):
    """Which categories are new, in how many rows, and what becomes of them."""
    if not unseen:
        return []
    fate = "they count as (other)." if kept["pooled"] else "they are equally far from all known ones."
    return [
        f"column {kept['name']!r}: {count(rows, 'row')} with categories that the fit has not seen "
        f"({listed(unseen, 4)}); {fate}"
    ]


def numbers_of(column, notes, style=None):
    """What is kept of a column of numbers; ``style`` is how its dates were written."""
    name, kind = column.name, "number" if is_text(column) else kind_of(column)
    kept = {"name": name, "role": "numeric", "kind": kind, "origin": 0.0} | ({"style": style} if style else {})
    if kind == "date":
        kept["origin"] = float(np.floor(np.nanmin(as_floats(column, kind))))
    kept |= moments_of(column, kept)
    missing = kept["missing"]
    if missing:
        notes.append(f"column {name!r}: {count(missing, 'missing value')} filled with the median, and marked.")
    if kind == "date":
        notes.append(f"column {name!r}: dates are days after {np.datetime64(int(kept['origin']), 'D')}.")
    if kind == "time":
        notes.append(f"column {name!r}: times are hours.")
    return kept | {"marked": bool(missing)}


def moments_of(column, kept):
    """Mean, standard deviation, median and range of a column of numbers, and how many are missing."""
    values = as_floats(column, kept["kind"], kept["origin"], kept.get("style"))
    present = values[~np.isnan(values)]
    missing = len(values) - len(present)
    if not len(present):  # in some rows of a table: all of them are then alike
        present = np.zeros(1)
    centre, scale = _centre_and_scale(present, kept["kind"])
    return {
        "fill": float(np.median(present)),
        "centre": centre,
        "scale": scale,
        "missing": missing,
        "low": float(present.min()),
        "high": float(present.max()),
        "spread": float(present.std()) if abs(present).max() < 1e150 else scale,
    }


def _centre_and_scale(present, kind):
    """Mean and standard deviation, such that no square overflows; 0 and 1 for truth values."""
    if kind == "boolean":
        return 0.0, 1.0
    size = float(np.abs(present).max()) or 1.0
    part = present / size
    sd = float(part.std()) * size
    return float(part.mean()) * size, sd if sd > 1e-14 * size else 1.0


def categories_of(column, most, notes):
    """What is kept of a column of categories: at most so many levels."""
    texts = as_texts(column)
    names, counts = np.unique([GONE if text is None else text for text in texts], return_counts=True)
    missing, order = texts.count(None), np.argsort(-counts, kind="stable")
    levels = [str(names[i]) for i in order]
    pooled = levels[most - 1 :] if len(levels) > most else []
    levels = sorted(level for level in levels if level not in set(pooled)) + ([OTHER] if pooled else [])
    name = column.name
    if missing:
        notes.append(f"column {name!r}: {count(missing, 'missing value')} as a category of their own.")
    if pooled:
        notes.append(f"column {name!r}: the {len(pooled):,} rarest of its {len(names):,} categories are one, {OTHER}.")
    kept = {"levels": levels, "pooled": pooled, "missing": missing, "text": is_text(column)}
    return {"name": name, "role": "categorical", **kept}


def features_of(columns, objects):
    """(names of the columns of X, {column: numbers of those that came from it}); objects are told their name."""
    names, blocks, taken = [], {}, set()

    def add(name, end):
        while name in taken:  # "a (missing)" may be a column of the table, too
            name += end
        taken.add(name)
        names.append(name)
        return name

    for column in columns:
        start = len(names)
        for feature in _features(column):
            add(feature, " (2)")
        blocks[column["name"]] = list(range(start, len(names)))
    for kept in objects:  # a column may be there twice, as numbers and as it is
        kept["feature"] = add(kept["name"], " (as it is)")
    return names, blocks


def _features(column):
    """Names of the columns of X that a column of the table becomes."""
    name = column["name"]
    if column["role"] == "numeric":
        return [name, f"{name} (missing)"] if column["marked"] else [name]
    if len(column["levels"]) == 2:
        return [f"{name} = {column['levels'][1]}"]
    return [f"{name} = {level}" for level in column["levels"]]
