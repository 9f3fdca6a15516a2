"""What this process may use: memory and cores, as the kernel, the cgroup and the limits of the process tell it."""

import ctypes
import functools
import os
from pathlib import Path
from typing import NamedTuple

from mercer.exceptions import NotEnoughMemory

SMALL = 2**25  # bytes below which nobody asks: reading the limits would take longer than the work
UNLIMITED = 2**60  # cgroup v1 and RLIMIT_AS say "no limit" with a number above this
OPTIONS = "a smaller n, solver='mixed' (half the memory) or solver='cg' (no n × n array)"

_PROC, _CGROUP = Path("/proc"), Path("/sys/fs/cgroup")


class Memory(NamedTuple):
    """Bytes that are free for this process (None: unknown), and who says so."""

    bytes: int | None
    source: str


NOT_ASKED = Memory(None, "not asked")


def available_memory():
    """min(free memory of the machine, cgroup limit − usage, RLIMIT_AS − used), and which of them it is.

    Returns
    -------
    Memory
        ``bytes`` and ``source``; bytes is None where nothing can be found out.
    """
    found = [_meminfo(), *_cgroup_memory(), _address_space()]
    found = [memory for memory in found if memory is not None] or [_psutil()]
    return min((m for m in found if m is not None), default=Memory(None, "unknown"))


def check_memory(needed, what, limit=None, alternatives=OPTIONS):
    """Refuse, before anything is allocated, what does not fit.

    Parameters
    ----------
    needed : float
        Bytes.
    what : str
        What needs them, for the message.
    limit : float, default=None
        Bytes the caller allows; None is what the machine has.
    alternatives : str
        What to do instead, for the message.

    Raises
    ------
    NotEnoughMemory
        With needed and available GB, who sets the limit, and the alternatives.
    """
    refuse_beyond(within(limit, needed), needed, what, alternatives)


def refuse_beyond(free, needed, what, alternatives=OPTIONS):
    """`check_memory` where it is known what is free."""
    if free.bytes is not None and needed > free.bytes:
        raise NotEnoughMemory(
            f"{what} needs {gigabytes(needed)}, but {gigabytes(free.bytes)} is available ({free.source}). "
            f"Possible instead: {alternatives}."
        )


def within(limit=None, needed=float("inf")):
    """What is available, and at most ``limit`` bytes; nobody asks for a little that is ``needed`` without a limit."""
    if limit is None:
        return available_memory() if needed > SMALL else NOT_ASKED
    given, machine = Memory(int(limit), "the limit given"), available_memory()
    return given if machine.bytes is None or given.bytes <= machine.bytes else machine


def gigabytes(number):
    """Bytes as a person reads them: 12.8 GB, 3.2 MB, 1.0 kB."""
    unit, size = next((pair for pair in (("GB", 1e9), ("MB", 1e6)) if number >= pair[1] / 10), ("kB", 1e3))
    return f"{number / size:.1f} {unit}"


def cores():
    """The cores this process may use: affinity, and the CPU quota of its cgroup."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        count = os.cpu_count() or 1
    for folder in _cgroup_folders("cpu"):
        quota, period = _quota(folder)
        if quota is not None and quota > 0 and period:
            count = min(count, max(1, -(-quota // period)))
    return count


@functools.cache
def keep_freed_memory():
    """Let the allocator of C keep freed arrays for the next ones, where a setting says to give them back at once.

    Dask starts its workers with such a setting. Every array of a leaf would be new pages then, which took a third of
    its time. What is kept is what the allocator comes to by itself where nothing is set: 64 MB at most.
    """
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ or "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not of GNU
        return
    for parameter, value in ((-3, 2**25), (-1, 2**26)):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
        mallopt(parameter, value)


# ---------------------------------------------------------------------------------------- where it is written
def _read(path):
    """Text of a small file, or None."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return None


def _number(path):
    """A file that holds one number; None if it is not there, or says that there is no limit."""
    text = (_read(path) or "").strip()
    return int(text) if text.isdigit() and int(text) < UNLIMITED else None


def _meminfo():
    """MemAvailable: what can be had without swapping."""
    for line in (_read(_PROC / "meminfo") or "").splitlines():
        if line.startswith("MemAvailable:"):
            return Memory(int(line.split()[1]) * 1024, "free memory of the machine")
    return None


def _psutil():
    """The same on systems without /proc, where psutil is installed."""
    try:
        import psutil
    except ImportError:
        return None
    return Memory(int(psutil.virtual_memory().available), "free memory of the machine")


def _address_space():
    """RLIMIT_AS − address space in use."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY or limit >= UNLIMITED:
        return None
    pages = (_read(_PROC / "self" / "statm") or "0").split()[0]
    return Memory(max(0, limit - int(pages) * resource.getpagesize()), "RLIMIT_AS of this process")


def _cgroup_folders(controller):
    """Folders of this process's cgroup and of those above it, version 2 or the given controller of version 1."""
    for line in (_read(_PROC / "self" / "cgroup") or "").splitlines():
        number, names, path = line.split(":", 2)
        if number == "0" and not names:
            root = _CGROUP
        elif controller in names.split(","):
            root = next((f for f in (_CGROUP / names, _CGROUP / controller) if f.is_dir()), _CGROUP / controller)
        else:
            continue
        folder = root / path.lstrip("/")
        yield from (f for f in (folder, *folder.parents) if f == root or root in f.parents)


def _cgroup_memory():
    """Limit − usage of each cgroup above us that has a limit; cached files that can be dropped count as free."""
    for folder in _cgroup_folders("memory"):
        for limit, usage, cache in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            most, used = _number(folder / limit), _number(folder / usage)
            if most is None or used is None:
                continue
            stat = (line.split() for line in (_read(folder / "memory.stat") or "").splitlines())
            dropped = next((int(pair[1]) for pair in stat if pair[0] == cache), 0)
            yield Memory(max(0, most - max(0, used - dropped)), "memory limit of the cgroup")


def _quota(folder):
    """(quota, period) of the CPU time of a cgroup; (None, None) without a limit."""
    words = (_read(folder / "cpu.max") or "").split()
    if len(words) == 2:
        return (int(words[0]), int(words[1])) if words[0].isdigit() else (None, None)
    return _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
