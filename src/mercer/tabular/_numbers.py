"""Columns as numbers: standardised, or as indicators; the rules of a recipe for what is missing or new."""

import numpy as np

from mercer.tabular import drift
from mercer.tabular.columns import GONE, as_floats, as_texts
from mercer.tabular.words import count


def standard(column, kept, said):
    """(x − mean)/sd with missing values filled, and 0/1 for whether they were, if the fit has seen some."""
    values = as_floats(column, kept["kind"], kept["origin"], kept.get("style"))
    gone = np.isnan(values)
    if gone.any() and not kept["marked"]:
        said.append(
            f"column {kept['name']!r}: {count(int(gone.sum()), 'missing value')} filled with the median of the fit, "
            "which had none."
        )
    said += drift.of_numbers(values[~gone], kept)
    standard = (np.where(gone, kept["fill"], values) - kept["centre"]) / kept["scale"]
    return np.column_stack([standard, gone]) if kept["marked"] else standard[:, None]


def indicators(column, kept, said):
    """One column for each level, or one for two levels."""
    levels = kept["levels"]
    number = {level: i for i, level in enumerate(levels)} | dict.fromkeys(kept["pooled"], len(levels) - 1)
    texts = [GONE if text is None else text for text in as_texts(column)]
    unseen = [text for text in texts if text not in number]
    said += drift.of_levels(sorted(set(unseen)), len(unseen), kept)
    codes = np.array([number.get(text, len(levels) - 1 if kept["pooled"] else -1) for text in texts], dtype=int)
    if len(levels) == 2:
        return np.where(codes < 0, 0.5, codes)[:, None]
    return (codes[:, None] == np.arange(len(levels))).astype(float)
