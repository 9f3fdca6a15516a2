"""Every numba function: arrays in, arrays out. Serial, ``nogil``, cached; threads are started by ``_threads``.

Nothing here is imported before a problem is large enough to pay for a compiler (see ``_tiles.loops``).
``contract`` is the only relaxation of IEEE rules: a·b + c may be rounded once. Sums are never reordered,
so a result does not depend on how the tiles fall.
"""

from mercer._loops import dual, graphs, strings, tasks
from mercer._loops.core import clear_lower, exp
from mercer._loops.pairs import (
    CODES,
    RAW,
    laplacian,
    radial,
    radial_contract,
    radial_contract_product,
    radial_from_product,
    weighted_abs,
)
from mercer._loops.transport import plan as transport_plan

__all__ = [
    "CODES",
    "RAW",
    "clear_lower",
    "dual",
    "exp",
    "graphs",
    "laplacian",
    "radial",
    "radial_contract",
    "radial_contract_product",
    "radial_from_product",
    "strings",
    "tasks",
    "transport_plan",
    "weighted_abs",
]

COMPLETE = True  # the last line: a module that another thread is still importing does not have it
