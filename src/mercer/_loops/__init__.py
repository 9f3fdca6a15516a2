"""Every numba function: arrays in, arrays out. Serial, ``nogil``, cached; threads are started by ``_threads``.

Nothing here is imported before a problem is large enough to pay for a compiler (see ``_tiles.loops``).
``contract`` is the only relaxation of IEEE rules: a·b + c may be rounded once. Sums are never reordered,
so a result does not depend on how the tiles fall.
"""

from mercer._loops import dual, neighbourhoods, pairs, strings, tasks, transport, walking
from mercer._loops.core import OPTIONS, clear_lower

__all__ = ["clear_lower", "dual", "neighbourhoods", "pairs", "strings", "tasks", "transport", "walking"]

CACHED = OPTIONS["cache"]


def folder():
    """Where numba keeps what is compiled; None where it finds no place."""
    return pairs.radial.stats.cache_path if CACHED else None


COMPLETE = True  # the last line: a module that another thread is still importing does not have it
