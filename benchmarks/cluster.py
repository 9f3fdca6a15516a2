"""A fit on workers of Dask beside the same fit on our own threads, and what a larger cluster would take.

    python benchmarks/cluster.py [rows] [landmarks]

Everything runs on this machine, one thread for each worker: seconds of the pass that makes the sums and of whole fits;
then, for m = 2000, of leaves on one thread and of what the caller does alone, and of what a cluster adds: a task that
does nothing, an m × m sum that is sent, and one that is added; and from these what 10⁸ rows would take.
"""

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
from mercer.primal.growth import CERTIFYING, Task
from mercer.primal.squared import Remainder, Sums
from mercer.sources import as_source
from mercer.sources.cluster import SHARES
from mercer.sources.engines import added, packed, unpacked

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
    fit = Task(source, Landmarks(m), [m]).stage(Gaussian(3.0), m, 1.0, None)[1]
    alone = time.perf_counter() - start - fit.seconds["sums"]
    squares = seconds(lambda: Sums.of(source, fit.design, fit.chosen.L, single=True, workers=1)) / LEAVES
    rest = seconds(lambda: Remainder.of(source, fit, X[:CERTIFYING], workers=1)) / LEAVES
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
        trees = min(256, SHARES * workers)
        parts = count * (squares + 2 * rest) / workers, read, trees * (back + add), 4 * 2 * trees * task, alone
        print(workers, *(f"{part:.0f}" for part in (*parts, sum(parts))), "s", flush=True)


def main(n=200_000, m=1000):
    X, y = problem(n)
    pass_here = seconds(sums_of(as_source(X, y), m))
    model(m).fit(X, y)  # everything is loaded
    fit_here = seconds(lambda: model(m).fit(X, y), 1)
    print(f"{n} rows, {m} landmarks: threads of this process, pass {pass_here:.2f} s, fit {fit_here:.2f} s", flush=True)
    one = None
    for workers in (1, 2):
        with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as it, Client(it) as client:
            dX = da.from_array(X, chunks=(n // 20, D)).persist()
            dy = da.from_array(y, chunks=n // 20).persist()
            call = sums_of(as_source(dX, dy), m)
            call()
            took = seconds(call)
            model(m).fit(dX, dy)
            fit = seconds(lambda dX=dX, dy=dy: model(m).fit(dX, dy), 1)
            one = one or (took, fit)
            line = f"{workers} workers: pass {took:.2f} s, fit {fit:.2f} s; beside one worker {one[0] / took:.2f} and "
            print(line + f"{one[1] / fit:.2f} times as fast, beside threads {took / pass_here:.2f} and "
                  f"{fit / fit_here:.2f} times the time", flush=True)  # fmt: skip
            costs = overhead(client, PAPER) if workers == 2 else None
    paper(PAPER, leaves(PAPER), *costs)


def triangle(m):
    return packed([np.tril(np.random.default_rng(0).standard_normal((m, m)))])


def overhead(client, m):
    """(seconds that a sum takes from a worker to the caller, to be added there, that a task takes the scheduler)."""
    client.gather(client.map(lambda i: i, range(1000), pure=False))
    task = seconds(lambda: client.gather(client.map(lambda i: i, range(1000), pure=False))) / 1000
    sums = [client.submit(triangle, m, pure=False) for _ in range(8)]
    wait(sums)
    back = seconds(lambda: [one.result() for one in sums]) / len(sums)
    here, total = triangle(m), np.zeros((m, m))
    add = seconds(lambda: added((total,), unpacked(here)))
    print(f"a task {1e3 * task:.2f} ms; a sum of {4e-6 * m * m:.0f} MB to the caller {back:.3f} s, "
          f"unpacked and added {add:.3f} s", flush=True)  # fmt: skip
    return back, add, task


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
