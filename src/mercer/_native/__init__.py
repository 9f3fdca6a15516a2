"""Compiled loops, and the same in NumPy where there are none: nobody asks which it is.

``_native.pairs.tree(…)`` is the compiled function of pairs.c, or its twin in ``plain.pairs``. The best variant that
the processor can run is chosen once, at import; the environment variable MERCER_NATIVE chooses another (v2, v3, v4), or
none (0). Loops are serial and release the GIL: threads are started by ``_threads``.
"""

from importlib import import_module

from mercer._native.dual import DualLoops
from mercer._native.library import Library, LibraryError, wanted
from mercer._native.matrix import MatrixLoops
from mercer._native.neighbours import NeighbourLoops
from mercer._native.operations import ANOVA, COLUMN, CONSTANT, LINEAR, PRODUCT, RADIAL, SUM, Operations
from mercer._native.pairs import CODES, RAW, PairLoops
from mercer._native.strings import StringLoops
from mercer._native.transport import TransportLoops
from mercer._native.walks import WalkLoops

__all__ = [
    "ANOVA",
    "CODES",
    "COLUMN",
    "CONSTANT",
    "LINEAR",
    "RAW",
    "PRODUCT",
    "RADIAL",
    "SUM",
    "Loops",
    "Operations",
    "describe",
    "dual",
    "matrix",
    "neighbours",
    "pairs",
    "strings",
    "transport",
    "walks",
]


KINDS = {"dual": DualLoops, "matrix": MatrixLoops, "neighbours": NeighbourLoops, "pairs": PairLoops}
KINDS |= {"strings": StringLoops, "transport": TransportLoops, "walks": WalkLoops}


class Loops:
    """All loops of one variant of the library, by subject; of a library of None their twins in NumPy."""

    def __init__(self, library):
        if library is None:
            plain = import_module("mercer._native.plain")
            self.__dict__.update({subject: getattr(plain, subject) for subject in KINDS})
        else:
            self.__dict__.update({subject: kind(library) for subject, kind in KINDS.items()})


def _load(variant):
    """(loops, name of the variant or why there is none)."""
    if variant == "0":
        return Loops(None), "MERCER_NATIVE=0"
    try:
        library = Library(variant)
        return Loops(library), library.variant
    except LibraryError as error:
        return Loops(None), f"{error}"


def __getattr__(name):
    """Load the twins where somebody asks for them: with the library, nobody but the tests does."""
    if name == "plain":
        return import_module("mercer._native.plain")
    raise AttributeError(f"module 'mercer._native' has no attribute {name!r}")


LOOPS, _variant = _load(wanted())
pairs, matrix, dual, neighbours = LOOPS.pairs, LOOPS.matrix, LOOPS.dual, LOOPS.neighbours
strings, transport, walks = LOOPS.strings, LOOPS.transport, LOOPS.walks
COMPILED = isinstance(pairs, PairLoops)


def describe():
    """What runs: "compiled (x86-64-v3)", or "NumPy" and why."""
    if not COMPILED:
        return f"NumPy, not the compiled library: {_variant}"
    return "compiled" if _variant == "base" else f"compiled (x86-64-{_variant})"
