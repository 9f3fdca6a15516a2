"""Inputs that are no vectors: what is in them, and which kernels are tried on it."""

import importlib.util
import re
from numbers import Real

import numpy as np

from mercer.kernels import (
    AtomEnvironments,
    Categorical,
    Gaussian,
    Graph,
    Linear,
    Matern32,
    RadialOf,
    ShortestPath,
    Spectrum,
    Standardised,
    Table,
    TanimotoOf,
    WeightedDegree,
    WeisfeilerLehman,
)
from mercer.kernels.objects.tables import is_frame
from mercer.selection.kernels_search.candidate import Candidate
from mercer.selection.kernels_search.searching import LevelSearch
from mercer.selection.kernels_search.series import unit_of

DNA, PROTEIN = re.compile(r"[ACGTUN-]{6,}", re.IGNORECASE), re.compile(r"[ACDEFGHIKLMNPQRSTVWYX*-]{8,}")
SMILES, BONDS = re.compile(r"[A-Za-z0-9@+\-\[\]()=#$/\\%.:]{2,}"), re.compile(r"[()=#\[]|[cno]\d|C{2}|CO|CN")
NO_ATOMS = re.compile(r"[adefghijklmqrtuvwxyz]{2}|[JjQXxZz]")
LOOKED_AT = 1000  # texts
NUMBERS = "numbers"


def text_kind(texts):
    """What texts look like: "dna", "protein", "smiles" (molecules), or "" for others."""
    texts = texts[:LOOKED_AT]
    if not texts or np.mean([len(text) for text in texts]) < 3:
        return ""
    if all(map(DNA.fullmatch, texts)):
        return "dna"
    if all(map(PROTEIN.fullmatch, texts)):
        return "protein"
    carbon = np.mean(["c" in text.lower() for text in texts]) > 0.8
    bonds = carbon and np.mean([BONDS.search(text) is not None for text in texts]) > 0.8
    return "smiles" if bonds and all(map(SMILES.fullmatch, texts)) and not any(map(NO_ATOMS.search, texts)) else ""


def stand_in(X):
    """A kernel that reads inputs as "auto" will: Matérn-3/2 of vectors, of a table with texts all its columns."""
    if is_frame(X):
        X = X if isinstance(X, Table) else Table(X)
        if all(_is_vector(X[name]) for name in X.columns):
            return Matern32()
    elif not isinstance(_first(X), str | Graph):
        return Matern32()
    first, *more = (kernels[0][1] for kernels in parts_of(X).values())
    return sum(more, start=first)


def _first(X):
    """The first input of a sequence; None of what is none, such as a sparse matrix, and of several columns."""
    return next(iter(X), None) if hasattr(X, "__len__") and getattr(X, "ndim", 1) == 1 else None


def _is_vector(values):
    """Whether a column holds numbers, missing ones too, which are refused later."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values.dtype.kind in "buif"
    return all(value is None or isinstance(value, Real) for value in values)


def parts_of(X):
    """{what is read: [(name, kernel), …]} that are tried on each part of the inputs; all numbers of a table are one."""
    if not isinstance(X, Table):
        return {"": [(said, 1.0 * kernel) for said, kernel in _of_items(list(X), "X")]}
    numbers = [name for name in X.columns if _is_vector(X[name])]
    found = {NUMBERS: _of_numbers(X, numbers)} if numbers else {}
    for name in X.columns:
        if name not in numbers:
            found[name] = [(f"{said} of {name}", k.on(name)) for said, k in _of_items(X[name], f"column {name!r}")]
    return {part: [(said, 1.0 * kernel) for said, kernel in kernels] for part, kernels in found.items()}


def _of_numbers(X, names):
    """Matérn-3/2 with one length, with one for each column, and a line."""
    d = len(names)
    centre, scale = unit_of(np.column_stack([X[name] for name in names]).astype(float))
    found = [("Matern32", Matern32(float(np.sqrt(d)))), ("linear", Linear())]
    if d > 1:
        found.insert(1, ("Matern32, a length for each column", Matern32(np.full(d, np.sqrt(d)))))
    plain = not centre.any() and (scale == 1.0).all()
    return [
        (said, (kernel if plain else Standardised(kernel, centre.tolist(), scale.tolist())).on(names))
        for said, kernel in found
    ]


def _of_items(items, who):
    """[(name, kernel), …] of texts or graphs."""
    if all(isinstance(item, str) for item in items):
        bases = _of_texts([str(item) for item in items])
    elif all(isinstance(item, Graph) for item in items):
        bases = [(f"neighbourhoods up to {h} edges away", WeisfeilerLehman(h).normalise()) for h in (0, 1, 2, 4)]
        bases.append(("shortest paths", ShortestPath().normalise()))
    else:
        raise TypeError(f'kernel="auto" reads numbers, texts and graphs, and {who} holds others; give a kernel.')
    smooth = [(f"smooth in {said}", RadialOf(Gaussian(1.0), base)) for said, base in bases if said != "categories"]
    return [*bases, *smooth]


def _of_texts(texts):
    """The same of texts: categories, molecules, aligned sequences, or pieces of any."""
    kind, lengths = text_kind(texts), set(map(len, texts))
    if not kind and len(set(texts)) <= 0.5 * len(texts):
        return [("categories", Categorical())]
    if kind == "smiles" and importlib.util.find_spec("rdkit") is not None:
        return [(f"atoms with those up to {r} bonds away", TanimotoOf(AtomEnvironments(r))) for r in (1, 2, 3)]
    longest = (3, 5, 7) if kind == "dna" else (2, 3, 5)
    found = [(f"pieces of 1 to {k} letters", Spectrum([*range(1, k + 1)]).normalise()) for k in longest]
    if len(lengths) == 1 and lengths != {1}:
        found += [(f"pieces of 1 to {k} letters at their places", WeightedDegree(k).normalise()) for k in (1, 3)]
    return found


class ObjectSearch(LevelSearch):
    """Every kernel on each part of the inputs, and sums and products of the best of the parts while they pay."""

    def _first(self, level):
        best = {}
        for part, kernels in parts_of(self.rows.X).items():
            tried = [self._try(level, Candidate(name, k), level.fresh(k)) for name, k in kernels]
            best[part] = min(tried, key=lambda one: one.score)
        part = min(best, key=lambda name: best[name].score)
        here, left = best[part], [name for name in best if name != part]
        while left:
            grown = {}
            for name in left:
                more = best[name]
                for sign, kernel in (("+", here.kernel + more.kernel), ("×", here.kernel * more.kernel.kernel)):
                    one = Candidate(f"{here.name} {sign} {more.name}", kernel)
                    grown[name, sign] = self._try(level, one, [(kernel, here.lam)])
            name, sign = min(grown, key=lambda key: grown[key].score)
            if not grown[name, sign].score < here.score - self.options.part_gain:
                break
            here = grown[name, sign]
            left.remove(name)
