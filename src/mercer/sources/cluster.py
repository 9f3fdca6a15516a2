"""Passes on Dask: a worker sums a subtree, rows come to it with lineage, and its sums come back here.

A worker that dies takes at most the subtrees under way with it: what came back is kept by the caller. Nothing is
scattered: what tasks need is a task of the graph itself, made again wherever it is lost.
"""

import itertools
import logging
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mercer import _threads
from mercer._machine import Memory, gigabytes
from mercer._policies import Options
from mercer.sources.engines import (
    PARTS,
    REMEDY,
    Engine,
    EngineLost,
    OutOfTime,
    in_time,
    same_version,
    unpack,
    version,
)

GRAPH = "distributed.admin.large-graph-warning-threshold"


@dataclass(frozen=True)
class ClusterOptions(Options):
    """How a pass on workers of Dask is cut, and how long is waited for them."""

    answer: float = 20.0  # seconds in which a scheduler must answer, and have a worker
    silent: float = 5.0  # seconds without a scheduler after which it is lost
    deserted: float = 120.0  # seconds without a single worker after which none is expected any more
    shares: int = 16  # subtrees for each thread of the workers: what one that dies takes with it, what comes back
    calls: int = 8  # by which the subtrees of a pass are handed over, in order
    program: int = 2**28  # bytes of a worker that has loaded everything, before the first row


@dataclass
class Later:
    """Rows that are put together where they are summed: a function, and arguments that may be results of other tasks.

    Dask looks for these inside of a dataclass; so there is one task where each step would be another.
    """

    make: Any
    arguments: list

    def __call__(self):
        """Return the `Source` of the rows."""
        return self.make(*self.arguments)


def is_dask(X):
    """Whether X is a collection of Dask, by its protocol: nothing is imported to find out."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "__dask_keys__")


def engine_here(options=ClusterOptions()):
    """The `Workers` of the client of `distributed` that is open here, or None; it is not imported to find out."""
    if "distributed" not in sys.modules:
        return None
    try:
        client = sys.modules["distributed"].get_client()
    except ValueError:
        return None
    return Workers(client, options)


@contextmanager
def cluster(address=None, options=ClusterOptions()):
    """The `Workers` of a client that is open inside the block: of the scheduler at an address, or of this machine.

    Those of this machine are processes of one thread, one for each core.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("Dask is not installed: pip install 'mercer[dask]'.") from error
    local = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.ERROR}
    local["direct_to_workers"] = True  # sums need not pass through the scheduler: everything can be reached here
    try:
        client = Client(address, timeout=options.answer) if address else Client(**local)
    except (OSError, ValueError) as error:
        raise EngineLost(f"no scheduler of Dask answers at {address!r}: {error}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=options.answer)
        except TimeoutError:
            raise EngineLost(f"the scheduler at {client.scheduler.address} has no worker: start some.") from None
        yield Workers(client, options)


class Scheduler(Engine):
    """Dask without a cluster: the scheduler that is configured, by default threads of this process."""

    name = "dask"

    def sums(self, job, source, trees, deadline=None):
        """Yield the sum of each subtree; some of them are computed at a time."""
        import dask

        together, roots = _threads.threads(), _delay_sums(job, source, trees, _as_task)
        with _threads.one_blas_thread():
            for i in range(0, len(trees), together):
                in_time(deadline, trees[i][0][0], source)
                yield from map(unpack, dask.compute(*itertools.islice(roots, together)))


class Workers(Engine):
    """The workers of a client of `distributed`."""

    def __init__(self, client, options=ClusterOptions()):
        self._client, self.options = client, options
        workers = self._workers()
        self.parts = max(options.shares * sum(one["nthreads"] for one in workers.values()), PARTS // 4)
        self.name = f"dask: {len(workers)} workers at {client.scheduler.address}" if client.scheduler else "dask"

    def _workers(self):
        return self._client.scheduler_info(n_workers=-1)["workers"]

    def room(self):
        """Memory of a task on the worker that has least for each of its threads; None where none has a limit."""
        shares, program = [], self.options.program
        for name, one in self._workers().items():
            limit, threads = one["memory_limit"], max(1, one["nthreads"])
            if limit:
                why = f"the worker {name} may use {gigabytes(limit)}, less {gigabytes(program)} for the program itself"
                why += f", for each of {threads} threads" if threads > 1 else ""
                shares.append(Memory(max(0, int(limit) - program) // threads, why))
        return min(shares, default=None)

    def sums(self, job, source, trees, deadline=None):
        """Yield the sum of each subtree in order; each is fetched as soon as it is there, and cannot be lost then."""
        # of this process, before its threads begin, if they are the workers: who asks first is who restores
        with _threads.one_blas_thread():
            yield from self._in_order(job, source, trees, deadline)

    def _in_order(self, job, source, trees, deadline):
        pending, fetched = {}, {}
        try:
            roots = enumerate(_delay_sums(job, source, trees, self._task))
            while some := list(
                itertools.islice(roots, self.parts // self.options.calls)
            ):  # a call for each would have its price
                futures = self._client.compute([root for _, root in some], priority=-some[0][0])  # the first first
                pending.update(zip(futures, (i for i, _ in some), strict=True))
            for i, tree in enumerate(trees):
                while i not in fetched:
                    self._fetch(pending, fetched, deadline, f"{tree[0][0]} of {source.n} rows were done")
                yield unpack(fetched.pop(i))
        finally:
            if pending and self._client.status == "running":  # a scheduler that is gone needs no telling
                self._client.cancel(list(pending))

    def make_table(self, make, spans):
        """(X, y, rests): make(start, stop) = (X, y, …) of each span, which workers make of what they read themselves.

        X and y are arrays of Dask: they stay with the workers, and what is lost is made again. Rests are (y, …).
        """
        import dask
        import dask.array as da

        make, one = self._task(make), dask.delayed(_make_rows, pure=False)
        few = dask.delayed(_without_inputs, pure=False)
        pieces = self._client.persist([one(make, version(), *span) for span in spans])
        pending, found = {self._client.compute(few(piece)): i for i, piece in enumerate(pieces)}, {}
        while pending:
            self._fetch(pending, found, None, f"{len(found)} of {len(spans)} parts of the table were read")
        parts = [(piece, *found[i]) for i, piece in enumerate(pieces)]
        X = [da.from_delayed(piece[0], (len(y), *like.shape[1:]), like.dtype) for piece, like, y, *_ in parts]
        y = [da.from_delayed(piece[1], y.shape, y.dtype) for piece, _, y, *_ in parts]
        return da.concatenate(X), da.concatenate(y), [rest for _, _, *rest in parts]

    def _task(self, value):
        """A value as the result of a task, which is made again where it is lost."""
        import dask

        with dask.config.set({GRAPH: "1 GiB"}):  # landmarks may be more than the 10 MB that Dask expects
            return self._client.submit(_itself, value, pure=False)

    def _fetch(self, pending, fetched, deadline, done):
        """Move what is ready from the workers to here; an `EngineLost` where that cannot be any more."""
        from distributed import CancelledError, KilledWorker, wait
        from distributed.comm import CommClosedError

        since = manned = time.monotonic()
        silent, deserted = self.options.silent, self.options.deserted
        try:
            while True:
                if deadline is not None and time.monotonic() > deadline:
                    raise OutOfTime(f"{done}.")
                try:
                    ready = wait(list(pending), timeout=0.5, return_when="FIRST_COMPLETED").done
                    break
                except TimeoutError:
                    since = time.monotonic() if self._client.status == "running" else since
                if time.monotonic() - since > silent:
                    raise EngineLost(f"the scheduler of Dask is gone (silent for {silent:.0f} s); {done}. {REMEDY}")
                manned = time.monotonic() if self._workers() else manned
                if time.monotonic() - manned > deserted:
                    raise EngineLost(f"Dask has had no worker for {deserted:.0f} s; {done}. {REMEDY}")
            for future in ready:
                fetched[pending[future]] = future.result(timeout=60)
                del pending[future]
        except KilledWorker as error:
            raise EngineLost(
                f"the workers that took on the same rows ended, one after the other ({error}); {done}. Often that is "
                f"memory: give them more, or fewer threads, or use fewer landmarks. {REMEDY}"
            ) from error
        except (CommClosedError, CancelledError, TimeoutError) as error:
            raise EngineLost(f"the scheduler of Dask is gone ({type(error).__name__}); {done}. {REMEDY}") from error


def _delay_sums(job, source, trees, shared):
    """Yield a delayed sum for each subtree; what they share is a task too."""
    from dask import delayed

    job, whole, summed = shared(job), shared(source) if source.anywhere else None, delayed(_subtree, pure=False)
    for tree in trees:
        yield summed(job, source.portion(tree[0][0], tree[-1][1]) if whole is None else whole, tree)


def _as_task(value):
    from dask import delayed

    return delayed(value, pure=False, traverse=False)


def _itself(value):
    return value


def _make_rows(make, ours, start, stop):
    same_version(ours)
    return make(start, stop)


def _without_inputs(made):
    """What is made of rows, without X: of it no more than what kind of array it is."""
    return made[0][:0], *made[1:]


def _subtree(job, rows, spans):
    return job.sent(rows() if isinstance(rows, Later) else rows, spans)
