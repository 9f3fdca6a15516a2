"""Landmarks beside scikit-learn's Nystroem, and the certificate beside the exact fit: one table, each row once.

    python benchmarks/scale.py DATA [row ...]

DATA is the folder with ``uci/`` and ``large/``; rows: certificate, kin40k, trace, million, covtype, process, parquet,
flights.
"""

import gzip
import os
import resource
import sys
import tempfile
import time
import warnings

import numpy as np

from mercer import GaussianProcessRegressor, KernelMachine, KernelRidge, Landmarks
from mercer.gram import TiledGram
from mercer.kernels import Gaussian, Matern32
from mercer.selection import GCV
from mercer.solvers.pivoted import random_pivots


def told(row, **values):
    shown = ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in values.items()
    )
    print(f"{row}: {shown}", flush=True)


class Seconds(float):
    """Seconds on the clock, and those of the processor: on a busy machine only the latter can be compared."""

    def __new__(cls, wall, cpu):
        made = super().__new__(cls, wall)
        made.cpu = cpu
        return made

    def __add__(self, other):
        return Seconds(float(self) + float(other), self.cpu + other.cpu)

    def times(self, factor):
        return Seconds(float(self) * factor, self.cpu * factor)


def clock(call):
    started, used = time.perf_counter(), time.process_time()
    found = call()
    return found, Seconds(time.perf_counter() - started, time.process_time() - used)


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def uci(folder, name, split=0):
    """(X, y, X test, y test), standardised by the training rows."""
    data, mask = (
        np.loadtxt(gzip.open(os.path.join(folder, "uci", name, f"{part}.csv.gz")), delimiter=",")
        for part in ("data", "test_mask")
    )
    test = mask[:, split] > 0
    centre, spread = data[~test].mean(axis=0), data[~test].std(axis=0)
    data = (data - centre) / np.where(spread > 0, spread, 1.0)
    return data[~test, :-1], data[~test, -1], data[test, :-1], data[test, -1]


def certificate(folder):
    """50 random problems of 2 000 rows: the bound beside the true distance."""
    rng, ratios = np.random.default_rng(0), []
    for number in range(50):
        d = int(rng.integers(1, 6))
        X = rng.standard_normal((2000, d))
        kernel = [Gaussian, Matern32][number % 2](float(np.sqrt(d) * np.exp(0.7 * rng.normal())))
        y = np.sin(2 * X.sum(axis=1)) + 0.3 * rng.random() * rng.standard_normal(2000)
        lam, m = 10 ** rng.uniform(-3, 1), int(10 ** rng.uniform(1, 2.7))
        exact = KernelRidge(kernel, lam=lam, approximation=None).fit(X, y)
        model = KernelRidge(kernel, lam=lam, approximation=Landmarks(m, random_state=number)).fit(X, y)
        ratios.append(model.fit_report_["approximation"]["distance"] / rmse(model.predict(X), exact.predict(X)))
    told("certificate", violated=sum(ratio < 1 for ratio in ratios), least=min(ratios), median=float(np.median(ratios)))


def kin40k(folder, m=2000, length=2.0):
    """36 000 rows: the same m and kernel as Nystroem + Ridge; λ of the peer the best of six on the test rows."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge

    X, y, X1, y1 = uci(folder, "kin40k")
    peer = Nystroem(kernel="rbf", gamma=0.5 / length**2, n_components=m, random_state=0)
    F, first = clock(lambda: peer.fit_transform(X))
    F1, found = peer.transform(X1), []
    for lam in (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        ridge, second = clock(lambda lam=lam: Ridge(alpha=lam).fit(F, y))
        found.append((rmse(ridge.predict(F1), y1), first + second))
    error, seconds = min(found, key=lambda pair: pair[0])

    options = {"optimize": "lam", "approximation": Landmarks(m)}
    model, own = clock(lambda: KernelRidge(Gaussian(length), criterion=GCV(), **options).fit(X, y))
    share = model.fit_report_["seconds_choosing"] / own
    told(
        "kin40k",
        peer=seconds,
        mercer=own,
        ratio=seconds / own,
        ratio_cpu=seconds.cpu / own.cpu,
        rmse_ratio=rmse(model.predict(X1), y1) / error,
        choosing=share,
    )


def trace(folder, m=1000):
    """What is missing of the trace with our landmarks, beside uniform ones."""
    cover = np.load(os.path.join(folder, "large", "covtype", "covtype.npz"))["X_num"].astype(float)
    sets = {"kin40k": uci(folder, "kin40k")[0], "protein": uci(folder, "protein")[0], "covtype": cover}
    for name, X in sets.items():
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        rng = np.random.default_rng(0)
        X = X[rng.permutation(len(X))[:20_000]]
        K = TiledGram(Gaussian(float(np.sqrt(X.shape[1])) / 2), X)
        ours, uniform = random_pivots(K, m, rng)[1], random_pivots(K, m, rng, order=rng.permutation(len(X)))[1]
        told(
            f"trace {name}", ours=ours.sum() / K.n, uniform=uniform.sum() / K.n, ratio=float(ours.sum() / uniform.sum())
        )


def synthetic(n, d=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, np.sin(6 * X[:, 0]) + 5 * (X[:, 1] - 0.5) * X[:, 2] + np.cos(4 * X[:, 3]) + 0.3 * rng.standard_normal(n)


def million(folder, n=10**6, m=2000, peer_rows=100_000):
    """10⁶ × 10: the peer in batches of 10 000 rows, timed on a part of them: its time is in proportion."""
    from sklearn.kernel_approximation import Nystroem

    X, y = synthetic(n)
    model, own = clock(lambda: KernelRidge(Gaussian(1.0), lam=0.1, approximation=Landmarks(m)).fit(X, y))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    told(
        "million",
        mercer=own,
        cpu=own.cpu,
        peak_gb=peak,
        verdict=model.fit_report_["approximation"]["verdict"],
        plan=model.plan_.seconds,
    )
    peer, first = clock(lambda: Nystroem(kernel="rbf", gamma=0.5, n_components=m, random_state=0).fit(X[:20_000]))

    def batches():
        C, b = np.zeros((m, m)), np.zeros(m)
        for i in range(0, peer_rows, 10_000):
            F = peer.transform(X[i : i + 10_000])
            C += F.T @ F
            b += F.T @ y[i : i + 10_000]
        return np.linalg.solve(C + 0.1 * np.eye(m), b)

    _, second = clock(batches)
    seconds = first + second.times(n / peer_rows)
    told("million", peer=seconds, cpu=seconds.cpu, ratio=seconds / own, ratio_cpu=seconds.cpu / own.cpu)


def covtype(folder, m=2000, n=100_000):
    """Seven classes: one softmax on landmarks beside Nystroem + LogisticRegression."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression

    file = np.load(os.path.join(folder, "large", "covtype", "covtype.npz"))
    X = np.hstack([file["X_num"].astype(float), np.eye(4)[file["wilderness"]], np.eye(40)[file["soil"]]])
    order = np.random.default_rng(0).permutation(len(X))
    spread = X.std(axis=0)
    X, y = ((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))[order], file["y"][order]
    X[:, 10:] *= 0.3
    train, test, length = slice(0, n), slice(n, n + 50_000), 2.0
    options = {"loss": "logistic", "multi_class": "softmax", "lam": 0.1, "tol": 1e-4}
    model, own = clock(
        lambda: KernelMachine(Gaussian(length), approximation=Landmarks(m), **options).fit(X[train], y[train])
    )
    error = float(np.mean(model.predict(X[test]) != y[test]))
    told("covtype", rows=n, mercer=own, cpu=own.cpu, error=error, passes=model.fit_report_["passes"])
    peer = Nystroem(kernel="rbf", gamma=0.5 / length**2, n_components=m, random_state=0)
    F, first = clock(lambda: peer.fit_transform(X[train]))
    fitted, second = clock(lambda: LogisticRegression(C=5.0, max_iter=100).fit(F, y[train]))

    theirs = float(np.mean(fitted.predict(peer.transform(X[test])) != y[test]))
    peers = first + second
    told("covtype", peer=peers, cpu=peers.cpu, ratio=peers / own, ratio_cpu=peers.cpu / own.cpu, error_peer=theirs)


def process(folder, names=("pol", "bike", "protein"), part=3000):
    """Gaussian processes as the plan makes them, beside the published exact ones; the exact fit's time from a part."""
    published = {"pol": 0.0808, "bike": 0.0367, "protein": 0.5035}
    for name in names:
        X, y, X1, y1 = uci(folder, name)
        model, own = clock(lambda X=X, y=y: GaussianProcessRegressor(approximation="auto", time_budget=240).fit(X, y))
        error, said = rmse(model.predict(X1), y1), model.fit_report_["approximation"]
        told(f"process {name}", kind=said["kind"], verdict=said["verdict"], seconds=own, cpu=own.cpu, rmse=error,
             ratio=error / published[name])  # fmt: skip
        exact = GaussianProcessRegressor(approximation=None)
        _, some = clock(lambda X=X, y=y, exact=exact: exact.fit(X[:part], y[:part]))
        whole = some.times((len(X) / part) ** 3)
        told(f"process {name}", exact_part=some.cpu, exact_scaled=whole.cpu, times_as_long=whole.cpu / own.cpu)


def parquet(folder, n=10**7, m=1000):
    """10⁷ × 10 written to Parquet in twenty parts, then the very same rows in memory; the peak is that of the files."""
    import polars as pl

    options = {"lam": 0.1, "approximation": Landmarks(m)}
    with tempfile.TemporaryDirectory() as place:
        for part in range(20):
            X, y = synthetic(n // 20, seed=part)
            frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(10)} | {"y": y})
            frame.write_parquet(os.path.join(place, f"part{part:02d}.parquet"), row_group_size=100_000)
        model, own = clock(lambda: KernelRidge(Gaussian(1.0), **options).fit(place, "y"))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        X1, y1 = synthetic(20_000, seed=99)
        told("parquet", rows=n, files=own, peak_gb=peak, plan=model.plan_.seconds, rmse=rmse(model.predict(X1), y1))
        seen, theirs = _by_batches(place, m, own, X1, y1)
        told("parquet", rows_seen_by_sgd=seen, rmse_sgd=theirs)
    parts = [synthetic(n // 20, seed=part) for part in range(20)]
    X, y = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    again, inside = clock(lambda: KernelRidge(Gaussian(1.0), **options).fit(X, y))
    same = bool(np.array_equal(model.dual_coef_, again.dual_coef_))
    told("parquet", memory=inside, ratio=own / inside, same_bits=same)


def _by_batches(place, m, seconds, X1, y1):
    """(rows seen, RMSE) of Nystroem + SGDRegressor.partial_fit, pass after pass over the files, for some seconds."""
    import pyarrow.dataset as ds
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDRegressor

    started, seen, peer, sgd = time.perf_counter(), 0, None, SGDRegressor(random_state=0)
    while True:
        for batch in ds.dataset(place).to_batches(batch_size=10_000):
            rows = np.column_stack([batch.column(name).to_numpy() for name in batch.schema.names])
            X, y = rows[:, :-1], rows[:, -1]
            if peer is None:
                peer = Nystroem(kernel="rbf", gamma=0.5, n_components=m, random_state=0).fit(X)
            sgd.partial_fit(peer.transform(X), y)
            seen += len(y)
            if time.perf_counter() - started > seconds:
                return seen, rmse(sgd.predict(peer.transform(X1)), y1)


def flights(folder, budget="5m"):
    """nycflights13 by the default command line: one fold of ten is not seen, and is predicted with intervals."""
    import subprocess

    import polars as pl

    file = np.load(os.path.join(folder, "large", "nycflights13", "flights.npz"), allow_pickle=False)
    names = [str(name) for name in file["feature_names"]]
    X, y, fold = file["X"].astype(float), file["arr_delay"].astype(float), file["fold"]
    codes = {"carrier": file["carriers"], "origin": file["origins"]}
    words = [pl.Series(name, some[X[:, names.index(f"{name}_code")].astype(int)]) for name, some in codes.items()]
    frame = pl.DataFrame(X, schema=names).fill_nan(None).drop([f"{name}_code" for name in codes])
    frame = frame.with_columns(*words, pl.Series("delay", y))
    with tempfile.TemporaryDirectory() as place:
        train, test, out, page = (
            os.path.join(place, name) for name in ("a.parquet", "b.parquet", "c.parquet", "p.html")
        )
        frame.filter(pl.Series(fold != 0)).write_parquet(train)
        frame.filter(pl.Series(fold == 0)).drop("delay").write_parquet(test)
        run = [sys.executable, "-m", "mercer"]
        fit = [
            *run,
            "fit",
            train,
            "--target",
            "delay",
            "--time-budget",
            budget,
            "-o",
            f"{place}/m.mercer",
            "--report",
            page,
        ]
        _, seconds = clock(lambda: subprocess.run(fit, check=True, capture_output=True))
        predict = [*run, "predict", f"{place}/m.mercer", test, "-o", out, "--interval", "0.9"]
        _, later = clock(lambda: subprocess.run(predict, check=True, capture_output=True))
        made, truth = pl.read_parquet(out), y[fold == 0]
        size = os.path.getsize(page) / 1e3
    print(made.columns, flush=True)
    mean, lower, upper = (made[name].to_numpy() for name in made.columns[-3:])
    filled = np.where(np.isfinite(X), X, np.nanmean(X, axis=0))
    A = np.column_stack([np.ones(len(X)), (filled - filled.mean(axis=0)) / filled.std(axis=0)])
    line = A[fold == 0] @ np.linalg.lstsq(A[fold != 0], y[fold != 0], rcond=None)[0]
    told(
        "flights", seconds=seconds, predicting=later, rmse=rmse(mean, truth), rmse_line=rmse(line, truth),
        rmse_mean=rmse(y[fold != 0].mean(), truth), covered=float(np.mean((lower <= truth) & (truth <= upper))),
        page_kb=size,
    )  # fmt: skip


ROWS = {f.__name__: f for f in (certificate, kin40k, trace, million, covtype, process, parquet, flights)}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[2:] or ROWS:
        row, _, only = name.partition(":")
        ROWS[row](sys.argv[1], **({"names": only.split(",")} if only else {}))
