"""Length scales by the names of the columns: labels of the hyper-parameters, and how much each column matters."""

import re

import numpy as np

from mercer.kernels import Categorical
from mercer.report._factors import LEVELS, TEXT, all_columns, nodes

NAMED = 3  # columns that are named in a label


def labels(case):
    """{hyper-parameter: its name by the columns that it is about}."""
    every, out = all_columns(case), {}
    owner = {place: factor.name for factor in case.factors for place in factor.columns}
    for _, columns, prefix in nodes(case.kernel, every):
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
        return f"{words} of {owner.get(columns[int(index)], columns[int(index)])}" if int(index) < len(columns) else own
    if index is not None:
        return f"{words} {index}"
    names = list(dict.fromkeys(str(owner.get(place, place)) for place in columns))
    if columns == every or not names:
        return words if len(every) > 1 else f"{words} of {names[0]}" if names else words
    more = len(names) - NAMED
    return f"{words} of {', '.join(names[:NAMED])}" + (f" and {more} more" if more > 0 else "")


def _length(part):
    """The length scale of a kernel that has one."""
    return part.get_params(deep=False).get("length_scale")


def relevance(case):
    """[(ℓ, √E[−log k])] of each factor, over two rows: sd/ℓ for numbers; (None, None) where no one kernel decides."""
    found = []
    parts = [(part, columns) for part, columns, _ in nodes(case.kernel, all_columns(case))]
    unknown = any(columns is None for part, columns in parts if _length(part) is not None)
    parts = [(part, columns) for part, columns in parts if columns and _length(part) is not None]
    for factor in case.factors:
        touching = [one for one in parts if set(one[1]) & set(factor.columns)]
        if unknown or len(touching) != 1 or factor.kind == TEXT:
            found.append((None, None))
        else:
            found.append(_relevance(case, factor, *touching[0]))
    return found


def _relevance(case, factor, part, columns):
    """ℓ and relevance of a factor that one kernel reads."""
    ell = np.asarray(part.length_scale, dtype=float)
    if ell.size not in (1, len(columns)) or ell.ndim > 1:
        return None, None
    ell = np.broadcast_to(ell, (len(columns),))
    ell = np.array([ell[columns.index(place)] for place in factor.columns if place in columns])
    single = float(ell[0]) if np.ptp(ell) == 0 else None
    if factor.kind == LEVELS and (isinstance(part, Categorical) or len(factor.columns) > 1):
        share = np.bincount(factor.values) / len(factor.values)
        if isinstance(part, Categorical):  # e^(−1/ℓ) for two that differ
            return single, None if not ell[0] > 0 else float(np.sqrt((1 - np.sum(share**2)) / ell[0]))
        if len(ell) != len(share) or not (ell > 0).all():
            return single, None
        return single, float(np.sqrt(np.sum(share * (1 - share) / ell**2)))
    values = np.asarray(factor.states, dtype=float)[factor.values] if factor.kind == LEVELS else factor.values
    if not ell[0] > 0:
        return None, None
    return float(factor.scale * ell[0]), float(np.std(values) / ell[0])
