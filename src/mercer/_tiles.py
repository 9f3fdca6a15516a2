"""Work by tiles: a matrix is filled, multiplied or contracted a cache-sized tile at a time, on all cores.

A kernel's ``prepare(X, Z)`` evaluates and contracts a tile, given by two slices. Only half of a symmetric matrix is
evaluated.
Results depend on the number of threads in the last digits only, and on nothing else.
"""

import functools
import importlib
import os
import sys
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from mercer import _threads
from mercer._warn import warn

EVERYTHING = slice(None)
ROWS, COLUMNS = 256, 512  # a tile of 1 MB in float64: what one core keeps in its second-level cache
SMALL = 2**20  # entries below which one tile does it all; never less than a tile
FAILED: list[str] = []  # why the compiled loops could not be loaded
WORTH_COMPILING = 2 * 10**7  # entries above which loading the compiled loops pays for itself
LOADING = 0.5  # seconds that this takes, once in a process
WORTH_WAITING = 4 * 10**8  # entries above which even the compiler is worth waiting for


# ---------------------------------------------------------------------- compiled loops, loaded lazily
# Whether what goes on is `part_of` something that is worth the compiled loops.
_compiled: ContextVar[bool] = ContextVar("compiled", default=False)
# Who wants to know whether compiled loops were used, by `watched`.
_watching: ContextVar[list | None] = ContextVar("watching", default=None)


def loops(entries=0, loop="pairs.radial"):
    """Return the compiled loops if ``entries``, or the whole that they are `part_of`, are worth them; else None.

    They have other last bits than NumPy. So this is a rule by size, and by whether the cache held the ``loop`` that
    takes longest to compile when the process first asked: never by what ran before.
    """
    if not _compiled.get() and (entries < WORTH_COMPILING or not pays(entries, loop)):
        return None
    module = loaded()
    if module is None:
        _loading().wait()  # Ctrl-C ends the waiting, not the loading
        module = loaded()
        _tell_once(getattr(module, "CACHED", None))
    if module is not None and (seen := _watching.get()) == []:
        seen.append(True)
    return module


def loaded():
    """Return the compiled loops where they are there already: for what gives the same bits without them."""
    module = sys.modules.get("mercer._loops")
    return module if hasattr(module, "COMPLETE") else None  # else half-imported by another thread: not yet


@contextmanager
def part_of(entries, loop="pairs.radial"):
    """Inside the block, in its threads too, `loops` are what so many entries are worth: one decision for all parts.

    Within a block that has compiled loops there is no other without.
    """
    if _compiled.get() or loops(entries, loop) is None:
        yield
        return
    token = _compiled.set(True)
    try:
        yield
    finally:
        _compiled.reset(token)


@contextmanager
def watched():
    """A list that is not empty where compiled loops were used in the block."""
    seen: list = []
    token = _watching.set(seen)
    try:
        yield seen
    finally:
        _watching.reset(token)


def pays(entries, loop="pairs.radial"):
    """Whether a loop would finish before NumPy: it was compiled before, or the work is worth some seconds of compiling.

    A rule by size and by what is in the cache, not by time: the same fit takes the same way.
    """
    return entries >= WORTH_WAITING or _compiled.get() or in_cache(loop)


def in_cache(loop):
    """Whether numba's cache had a loop when this process first asked."""
    return any(name.startswith(f"{loop}-") for name in _cache())


@functools.cache
def _cache():
    """Names of what is in numba's cache, found once and without numba: it would take half a second to be asked.

    Once, so that a fit does not depend on whether another one, before it, has filled the cache. numba reads no folder
    that it cannot write to, nor one that its own setting leaves out.
    """
    given, home = os.environ.get("NUMBA_CACHE_DIR"), Path.home()
    here = Path(__file__).parent
    users = [home / ".cache", home / "Library" / "Caches", *map(os.environ.get, ("XDG_CACHE_HOME", "LOCALAPPDATA"))]
    folders = [
        here / "__pycache__",
        here / "_loops" / "__pycache__",
        *(Path(folder) / "numba" for folder in users if folder),
    ]
    if given or os.environ.get("NUMBA_CACHE_LOCATOR_CLASSES"):
        folders = [Path(given)] if given else []
    folders = [folder for folder in folders if os.access(folder, os.W_OK)]
    parts = ("", *(f"{above}{name}_*/" for above in ("", "Cache/") for name in ("mercer", "_loops")))
    places = (folder.glob(f"{part}*.nbi") for folder in folders for part in parts)
    return frozenset(path.name for found in places for path in found)


def said(wanted, used):
    """What a report says of the loops, where a plan wanted them or not, and where they were used or not."""
    if used:
        return "compiled"
    if not wanted or FAILED or in_cache("pairs.radial"):  # there, and not worth loading for any part of it
        return "NumPy"
    return "NumPy: nothing was compiled on this machine yet. `mercer warm` does it once, in half a minute."


@functools.cache
def _loading():
    """The event that the loops are imported, by a thread: Ctrl-C, heard by the first one, would leave half a numba."""
    _cache()  # as it was before this process compiles anything
    done = threading.Event()
    threading.Thread(target=_load, args=(done,), name="mercer loads its compiled loops", daemon=True).start()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=done.wait)  # in a child nobody would go on with it
    return done


def _load(done):
    try:
        importlib.import_module("mercer._loops")
    except Exception as error:  # not installed, or not with this NumPy: `_tell_once` says so
        FAILED.append(f"{type(error).__name__}: {error}")
    finally:
        done.set()


@functools.cache
def _tell_once(cached):
    """Say what goes on more slowly than it could."""
    if FAILED:
        warn(f"numba does not load ({FAILED[0]}), so that NumPy does what compiled loops do several times as fast: "
             "install numba for the speed.", RuntimeWarning)  # fmt: skip
    elif not cached:
        warn("numba finds no folder for its cache, so that this process compiles for itself, a few seconds in all; set "
             "NUMBA_CACHE_DIR to a folder that can be written to.", RuntimeWarning)  # fmt: skip


# ---------------------------------------------------------------------- tiles
def spans(n, size):
    """[(0, size), (size, 2 size), …, (…, n)]."""
    return [(i, min(i + size, n)) for i in range(0, n, size)]


def _lower_tiles(n):
    """Tiles (i0, i1, j0, j1) that cover the lower triangle; a tile on the diagonal ends with a square.

    COLUMNS is a multiple of ROWS, so that the rows of a tile never straddle two blocks of columns.
    """
    return [(i0, i1, j0, min(j1, i1)) for i0, i1 in spans(n, ROWS) for j0, j1 in spans(n, COLUMNS) if j0 < i1]


def _all_tiles(m, n):
    """Tiles (i0, i1, j0, j1) that cover an m × n matrix."""
    return [(i0, i1, j0, j1) for i0, i1 in spans(m, ROWS) for j0, j1 in spans(n, COLUMNS)]


def symmetrise(square):
    """square = (square + squareᵀ)/2 in place: rounding may have treated the two sides differently."""
    square += square.T.copy()
    square *= square.dtype.type(0.5)


def as_floats(T):
    """A tile as floats: the in-place halves of whole numbers would all be 0."""
    T = np.asarray(T)
    return T if T.dtype.kind == "f" else T.astype(float)


def _decided(function):
    """The loops that a whole matrix is worth, for all its tiles."""

    @functools.wraps(function)
    def decided(kernel, X, Z, *rest, **options):
        entries = len(X) * len(Z)
        if entries < WORTH_COMPILING:
            return function(kernel, X, Z, *rest, **options)
        with part_of(entries):
            return function(kernel, X, Z, *rest, **options)

    return decided


def result_dtype(X):
    """float32 for a float32 array, else float64."""
    return X.dtype if isinstance(X, np.ndarray) and X.dtype == np.float32 else np.dtype(np.float64)


@_decided
def evaluate(kernel, X, Z, symmetric, *, lower=False, out=None):
    """K with Kᵢⱼ = k(xᵢ, zⱼ): the whole matrix, or (``lower``) the lower triangle of a symmetric one."""
    m, n = len(X), len(Z)
    if m * n <= SMALL and out is None:
        K = as_floats(kernel.prepare(X, Z).tile(EVERYTHING, EVERYTHING))
        if symmetric:
            symmetrise(K)
        return K
    if out is None:
        out = np.empty((m, n), dtype=result_dtype(X))
    tiles = _lower_tiles(n) if symmetric else _all_tiles(m, n)
    tile = kernel.prepare(X, Z).tile

    def work(index, worker):
        i0, i1, j0, j1 = tiles[index]
        T = as_floats(tile(slice(i0, i1), slice(j0, j1)))
        if symmetric and not lower and j1 > i0:
            symmetrise(T[:, i0 - j0 :])
        out[i0:i1, j0:j1] = T
        if symmetric and not lower:
            out[j0:j1, i0:i1] = T.T

    _threads.run(work, len(tiles))
    return out


@_decided
def product(kernel, X, Z, V, symmetric):
    """K V in float64, K never stored; a symmetric K is evaluated by half."""
    m, n = len(X), len(Z)
    tile = kernel.prepare(X, Z).tile
    if not symmetric:
        out = np.zeros((m, V.shape[1]))
        rows = spans(m, ROWS)

        def work(index, worker):
            i0, i1 = rows[index]
            for j0, j1 in spans(n, COLUMNS):
                out[i0:i1] += tile(slice(i0, i1), slice(j0, j1)) @ V[j0:j1]

        _threads.run(work, len(rows))
        return out

    tiles = _lower_tiles(n)
    workers = min(_threads.threads(), len(tiles)) or 1
    partial = np.zeros((workers, n, V.shape[1]))

    def both(index, worker):
        i0, i1, j0, j1 = tiles[index]
        T = tile(slice(i0, i1), slice(j0, j1))
        mine = partial[worker]
        mine[i0:i1] += T @ V[j0:j1]
        left = min(j1, i0) - j0  # columns left of the diagonal square stand for their mirror image too
        if left > 0:
            mine[j0 : j0 + left] += T[:, :left].T @ V[i0:i1]

    _threads.run(both, len(tiles), workers)
    return functools.reduce(np.add, partial) if workers > 1 else partial[0]


@_decided
def contract(kernel, X, Z, W, symmetric, s=None):
    """Σᵢⱼ Wᵢⱼ ∂k(xᵢ, zⱼ)/∂log θ by tiles, added in a fixed order; of a symmetric W the lower triangle counts twice.

    Of a symmetric W only the lower triangle and the squares on the diagonal are read. With ``s`` it is S W S.
    """
    m, n = len(X), len(Z)
    if m * n <= (ROWS * COLUMNS if symmetric else SMALL):
        return kernel.prepare(X, Z).grad(EVERYTHING, EVERYTHING, scaled(W, s, EVERYTHING, EVERYTHING))
    tiles = _lower_tiles(n) if symmetric else _all_tiles(m, n)
    grad, parts = kernel.prepare(X, Z).grad, np.zeros((len(tiles), kernel.n_theta))

    def part(i0, i1, j0, j1):
        i, j = slice(i0, i1), slice(j0, j1)
        return grad(i, j, scaled(W, s, i, j))

    def work(index, worker):
        i0, i1, j0, j1 = tiles[index]
        middle = min(j1, i0) if symmetric else j0  # left of it an entry stands for its mirror image too
        if middle > j0:
            parts[index] += 2.0 * part(i0, i1, j0, middle)
        if j1 > middle:
            parts[index] += part(i0, i1, middle, j1)

    _threads.run(work, len(tiles))
    return parts.sum(axis=0)


def scaled(W, s, i, j):
    """A tile of S W S, S = diag(s); of W where s is None."""
    part = W[i, j]
    if s is None:
        return part
    # Rows that do not touch, as those of a tile of W: the compiled loops then add in the same order for both.
    m, n = part.shape
    out = np.empty((m, n + (n < W.shape[1])), dtype=W.dtype)[:, :n]
    np.multiply(s[i, None], part, out=out)
    out *= s[j]
    return out
