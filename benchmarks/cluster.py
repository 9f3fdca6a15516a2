"""A fit on workers of Dask beside the same fit on our own threads, and what a larger cluster would take.

    python benchmarks/cluster.py [rows] [landmarks]
    python benchmarks/cluster.py paper

Everything runs on this machine, one thread for each worker. The first: seconds of the pass that makes the sums and of
whole fits, and those of processors, which a busy machine leaves as they are. The second, for m = 2000: of leaves on one
thread and of what the caller does alone, and of what a cluster adds: a task that does nothing, an m × m sum that is
sent, and one that is added; and from these what 10⁸ rows would take.
"""

import os
import statistics
import sys
import time

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

from mercer import KernelRidge, Landmarks
from mercer.gram.rows import constant
from mercer.kernels import Gaussian
from mercer.primal.design import Design, choose_landmarks
from mercer.primal.growth import LandmarkSearch
from mercer.primal.remainder import Remainder
from mercer.primal.squared import Sums
from mercer.sources import as_source
from mercer.sources.cluster import ClusterOptions
from mercer.sources.engines import Threads, add_arrays, pack, unpack

D = 10
PAPER = 2000  # landmarks of the 10⁸ rows on paper
ROWS, STORE = 10**8, 1e9  # of that paper; bytes a second that a store gives to all workers together
LEAVES = 16  # of 2048 rows, which are timed


def problem(n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, D))
    return X, np.sin(X[:, 0]) * np.cos(X[:, 1]) + 0.3 * rng.standard_normal(n)


def seconds(call, times=3):
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def sums_of(source, m):
    """A call that makes the sums of one pass."""
    some = source.take(np.arange(0, source.n, max(1, source.n // (4 * m))))
    chosen = choose_landmarks(Gaussian(3.0), some, m, Landmarks(choose="uniform"), 0)
    design = Design(Gaussian(3.0), chosen.points, constant, some)
    return lambda: Sums.of(source, design, chosen.L, single=True)


def model(m):
    return KernelRidge(Gaussian(3.0), lam=1.0, approximation=Landmarks(m))


def leaves(m):
    """(seconds of a leaf of sums, of one of residuals, of what the caller does alone), on one thread."""
    X, y = problem(2048 * LEAVES)
    source, start = as_source(X, y), time.perf_counter()
    fit = LandmarkSearch(source, Landmarks(m), [m]).stage(Gaussian(3.0), m, 1.0, None)[1]
    alone = time.perf_counter() - start - fit.seconds["sums"]
    source.engine = Threads(1)
    squares = seconds(lambda: Sums.of(source, fit.design, fit.chosen.L, single=True)) / LEAVES
    rest = seconds(lambda: Remainder.of(source, fit, X[:512])) / LEAVES
    line = f"{m} landmarks, a leaf of 2048 rows on one thread: sums {squares:.3f} s, residuals {rest:.3f} s; "
    print(line + f"landmarks and solution {alone:.1f} s", flush=True)
    return squares, rest, alone


def paper(m, leaf, back, add, task):
    """Print what 10⁸ rows would take: a pass of sums, two of residuals, rows read once for each and for the sample."""
    squares, rest, alone = leaf
    count = -(-ROWS // 2048)
    read = 4 * ROWS * 8 * (D + 1) / STORE
    print(f"on paper: {ROWS:.0e} rows, {m} landmarks; workers, leaves, rows read, sums, scheduler, caller, together")
    for workers in (4, 32, 256):
        trees = min(256, ClusterOptions.shares * workers)
        parts = count * (squares + 2 * rest) / workers, read, trees * (back + add), 4 * 2 * trees * task, alone
        print(workers, *(f"{part:.0f}" for part in (*parts, sum(parts))), "s", flush=True)


def processor():
    """Processor seconds of this process so far."""
    return sum(os.times()[:2])


def timed(call, times, client=None):
    """(seconds, processor seconds of all processes) of a call: the medians."""
    found = []
    for _ in range(times):
        before, start = [processor(), *(client.run(processor).values() if client else ())], time.perf_counter()
        call()
        took = time.perf_counter() - start
        found.append((took, sum([processor(), *(client.run(processor).values() if client else ())]) - sum(before)))
    return tuple(map(statistics.median, zip(*found, strict=True)))


def beside_threads(n=200_000, m=1000):
    """Print the seconds of a pass and of a fit on threads, on one worker and on two."""
    X, y = problem(n)
    call = sums_of(as_source(X, y), m)
    call()
    model(m).fit(X, y)  # everything is loaded
    here = timed(call, 3), timed(lambda: model(m).fit(X, y), 2)
    line = "pass {:.2f} s (processor {:.2f} s), fit {:.2f} s ({:.2f} s)"
    print(f"{n} rows, {m} landmarks: threads of this process,", line.format(*here[0], *here[1]), flush=True)
    one = None
    for workers in (1, 2):
        with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as it, Client(it) as client:
            dX = da.from_array(X, chunks=(n // 20, D)).persist()
            dy = da.from_array(y, chunks=n // 20).persist()
            call = sums_of(as_source(dX, dy), m)
            call()
            model(m).fit(dX, dy)
            there = timed(call, 3, client), timed(lambda dX=dX, dy=dy: model(m).fit(dX, dy), 2, client)
            one = one or there
            faster = [a[0] / b[0] for a, b in zip(one, there, strict=True)]
            slower = [b[0] / a[0] for a, b in zip(here, there, strict=True)]
            beside = "; beside one worker {:.2f} and {:.2f} times as fast, beside threads {:.2f} and {:.2f} times"
            found = line.format(*there[0], *there[1]) + beside.format(*faster, *slower)
            print(f"{workers} workers:", found, flush=True)


def on_paper():
    """Measure the parts of a pass, and print what 10⁸ rows would take."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as it, Client(it) as client:
        costs = overhead(client, PAPER)
    paper(PAPER, leaves(PAPER), *costs)


def triangle(m):
    return pack([np.tril(np.random.default_rng(0).standard_normal((m, m)))])


def overhead(client, m):
    """(seconds that a sum takes from a worker to the caller, to be added there, that a task takes the scheduler)."""
    client.gather(client.map(lambda i: i, range(1000), pure=False))
    task = seconds(lambda: client.gather(client.map(lambda i: i, range(1000), pure=False))) / 1000
    sums = [client.submit(triangle, m, pure=False) for _ in range(8)]
    wait(sums)
    back = seconds(lambda: [one.result() for one in sums]) / len(sums)
    here, total = triangle(m), np.zeros((m, m))
    add = seconds(lambda: add_arrays((total,), unpack(here)))
    print(f"a task {1e3 * task:.2f} ms; a sum of {4e-6 * m * m:.0f} MB to the caller {back:.3f} s, "
          f"unpacked and added {add:.3f} s", flush=True)  # fmt: skip
    return back, add, task


if __name__ == "__main__":
    on_paper() if sys.argv[1:] == ["paper"] else beside_threads(*map(int, sys.argv[1:]))
