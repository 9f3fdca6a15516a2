"""Kernels on measures and molecules: ``python objects_measures.py TASK`` with TASK one of bags, molecules, qm7, speed.

Prints Markdown, and JSON with ``--json FILE``. The data are in ``../shared/data/structured``.
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
from tables import Table, finish

from mercer import GaussianProcessRegressor, KernelRidge
from mercer.kernels import (
    AtomEnvironments,
    Exponential,
    Gaussian,
    GaussianTransport,
    Laplacian,
    MeanEmbedding,
    Precomputed,
    RadialOf,
    SlicedWasserstein,
    Spectrum,
    TanimotoOf,
    TransportKernel,
)
from mercer.selection import LOO

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "structured"


def timed(call):
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def rmse(y, f):
    return float(np.sqrt(np.mean((y - f) ** 2)))


# ---------------------------------------------------------------------- regression on distributions
def bags(options):
    """Entropy of the first coordinate from a bag of points: kernel ridge, ℓ and λ by leave-one-out."""
    data = np.load(DATA / "gaussian_bags_entropy.npz", allow_pickle=False)
    ends, y = data["offsets"], data["y"]
    X = [data["points"][a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]
    train, test = X[:300], X[300:]
    table = Table(
        "gaussian_bags_entropy: regression on distributions, 300 bags of 50 to 300 points, 100 test bags",
        "kernel | chosen ℓ | R² | RMSE | s | bar | met",
        "Kernel ridge; ℓ and λ by leave-one-out. Seconds are the reference, features, fit, search and prediction.",
    )
    embedding = MeanEmbedding(Gaussian(2.0)).fixed()
    kernels = {
        "Gaussian of GaussianTransport": lambda: RadialOf(Gaussian(), GaussianTransport.from_data(train)),
        "Gaussian of TransportKernel, 50 points of k-means": lambda: RadialOf(
            Gaussian(), TransportKernel.from_data(train, 50)
        ),
        "Gaussian of SlicedWasserstein(30, 50)": lambda: RadialOf(Gaussian(), SlicedWasserstein(30, 50)),
        "Exponential of GaussianTransport": lambda: RadialOf(Exponential(), GaussianTransport.from_data(train)),
        "GaussianTransport itself (linear in φ)": lambda: GaussianTransport.from_data(train),
        "Gaussian of MeanEmbedding(Gaussian(2)), ℓ from a list": lambda: [
            RadialOf(Gaussian(ell), embedding).fixed() for ell in (0.05, 0.1, 0.2)
        ],
    }
    for name, make in kernels.items():
        if options.only and options.only not in name:
            continue
        kernel, first = timed(make)
        model, fit = timed(lambda kernel=kernel: KernelRidge(kernel, criterion=LOO()).fit(train, y[:300]))
        f, last = timed(lambda model=model: model.predict(test))
        chosen = getattr(getattr(model.kernel_, "radial", None), "length_scale", None)
        r2 = 1.0 - np.mean((y[300:] - f) ** 2) / np.var(y[300:])
        bar = 0.98 if "Gaussian of" in name else None
        table.add(
            name, chosen, f"{r2:.4f}", rmse(y[300:], f), first + fit + last, bar, None if bar is None else r2 >= bar
        )
    return [table]


# ---------------------------------------------------------------------- molecules
def molecules(options):
    """Gaussian processes on SMILES beside k-NN and the mean, random splits 90/10."""
    table = Table(
        "Molecules: Gaussian process on SMILES, random 90/10 splits",
        "data | model | RMSE | ± | 50 % interval covers | 90 % interval covers | log density | s",
        "Means over the splits, ± their standard deviation. AtomEnvironments(2) are counts of circular environments. "
        "The k-NN takes the 5 most similar training molecules by the same Tanimoto; intervals of both baselines are "
        "the normal ones of their training residuals (k-NN: leave-one-out). Amplitude and noise by the evidence.",
    )
    targets = {"esol": "log_solubility", "lipophilicity": "logD"}
    for name in options.names or targets:
        with open(DATA / f"{name}.csv", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        smiles, y = [row["smiles"] for row in rows], np.array([float(row[targets[name]]) for row in rows])
        found: dict = {}
        for seed in range(options.splits):
            order = np.random.default_rng(seed).permutation(len(y))[: options.most]
            held = len(order) // 10
            _molecule_split([smiles[i] for i in order], y[order], held, found)
        for model, values in found.items():
            mean, spread = np.mean(values, axis=0), np.std(values, axis=0)
            table.add(name, model, mean[0], float(spread[0]), *(f"{v:.3f}" for v in mean[1:4]), mean[4])
    return [table]


def _molecule_split(smiles, y, held, found):
    """One split: every model's (RMSE, coverages, log density, seconds) is appended to ``found``."""
    train, test, y_train, y_test = smiles[held:], smiles[:held], y[held:], y[:held]
    tanimoto = TanimotoOf(AtomEnvironments(2))
    kernels = {
        "Tanimoto of AtomEnvironments(2)": tanimoto,
        "min-max of AtomEnvironments(2)": TanimotoOf(AtomEnvironments(2, unary=True)),
        "min-max of AtomEnvironments(1) + linear in them": TanimotoOf(AtomEnvironments(1, unary=True))
        + 1e-3 * AtomEnvironments(1),
        "Tanimoto of Spectrum([1, 2, 3, 4])": TanimotoOf(Spectrum([1, 2, 3, 4])),
    }
    for name, kernel in kernels.items():
        start = time.perf_counter()
        model = GaussianProcessRegressor(1.0 * kernel, random_state=0).fit(train, y_train)
        mean, std = model.predict(test, return_std=True, noisy=True)
        _score(found, f"GP, {name}", y_test, mean, std, time.perf_counter() - start)
    start = time.perf_counter()
    near, own = tanimoto(test, train), tanimoto(train)
    np.fill_diagonal(own, -1.0)
    mean, left = (y_train[np.argsort(-K, axis=1)[:, :5]].mean(axis=1) for K in (near, own))
    _score(found, "5-NN, Tanimoto", y_test, mean, rmse(y_train, left), time.perf_counter() - start)
    _score(found, "mean", y_test, np.full(len(y_test), y_train.mean()), y_train.std(), 0.0)


def _score(found, name, y, mean, std, seconds):
    std = np.broadcast_to(std, y.shape)
    z = (y - mean) / std
    density = float(np.mean(-0.5 * z**2 - np.log(std) - 0.5 * np.log(2 * np.pi)))
    covers = [float(np.mean(np.abs(z) <= half)) for half in (0.6744897501960817, 1.6448536269514722)]
    found.setdefault(name, []).append((rmse(y, mean), *covers, density, seconds))


# ---------------------------------------------------------------------- QM7
def coulomb(Z, R):
    """The lower triangles of the Coulomb matrices, rows and columns sorted by the norm of the rows."""
    distance = np.linalg.norm(R[:, :, None] - R[:, None], axis=3)
    charges = Z[:, :, None] * Z[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        M = np.where(distance > 0, charges / distance, 0.0)
    i = np.arange(Z.shape[1])
    M[:, i, i] = 0.5 * Z**2.4
    order = np.argsort(-np.linalg.norm(M, axis=2), axis=1, kind="stable")
    M = np.take_along_axis(np.take_along_axis(M, order[:, :, None], axis=1), order[:, None, :], axis=2)
    rows, columns = np.tril_indices(Z.shape[1])
    return M[:, rows, columns]


def qm7(options):
    """Atomisation energies from sorted Coulomb matrices, ℓ and λ on 1 000 of the training rows."""
    data = np.load(DATA / "qm7.npz", allow_pickle=False)
    X, y = coulomb(data["Z"].astype(float), data["R"].astype(float)), data["energy_pbe0"].astype(float)
    table = Table(
        "QM7: sorted Coulomb matrices, 5 000 training rows, the other 2 101 for the test",
        "kernel | ℓ | λ | MAE kcal/mol | ± | RMSE | s | bar | met",
        "Means over the splits, ± the standard deviation. ℓ and λ are chosen on 1 000 rows of the 5 000, then all "
        "5 000 are fitted; 1e-9 is the smallest λ of the list. Distances in Å.",
    )
    count = 5000 if options.most is None else options.most
    grids = {
        "Gaussian": (Gaussian, (125.0, 250.0, 500.0, 1000.0, 2000.0), 11.0),
        "Laplacian": (Laplacian, (500.0, 1000.0, 2000.0, 4000.0, 8000.0), None),
        "Exponential": (Exponential, (400.0, 800.0, 1600.0, 3200.0, 6400.0), None),
    }
    for name, (kind, scales, bar) in grids.items():
        found, start = [], time.perf_counter()
        for seed in range(options.splits):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = order[:count], order[count:]
            centre, cut = y[train].mean(), count * 4 // 5
            best = (np.inf, None, None)
            for ell in scales:
                K = kind(ell)(X[train])
                for lam in (1e-3, 1e-5, 1e-7, 1e-9):
                    model = KernelRidge(Precomputed(), lam).fit(K[:cut, :cut], y[train[:cut]] - centre)
                    left = y[train[cut:]] - centre - model.predict(K[cut:, :cut])
                    best = min(best, (float(np.mean(np.abs(left))), ell, lam))
            model = KernelRidge(kind(best[1]), best[2]).fit(X[train], y[train] - centre)
            left = y[test] - centre - model.predict(X[test])
            found.append((*best[1:], np.mean(np.abs(left)), np.sqrt(np.mean(left**2))))
        seconds = (time.perf_counter() - start) / options.splits
        mae = [row[2] for row in found]
        chosen = [", ".join(sorted({f"{row[i]:g}" for row in found})) for i in (0, 1)]
        met = None if bar is None else bool(np.mean(mae) <= bar)
        table.add(
            name, *chosen, np.mean(mae), float(np.std(mae)), np.mean([row[3] for row in found]), seconds, bar, met
        )
    return [table]


# ---------------------------------------------------------------------- speed
def speed(options):
    """Gram matrices against loops over pairs in plain Python."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    table = Table(
        "Gram matrices of measures and molecules against a plain Python loop over pairs",
        "kernel | inputs | s | loop, s | ratio",
        "The loop takes one pair at a time; its time is estimated from 300 pairs. For transport it is W₂ by one "
        "assignment for each pair, for the mean embedding one NumPy expression, for molecules a sum over a dict.",
    )
    rng, n = np.random.default_rng(0), options.most or 400
    clouds = [rng.normal(0, rng.uniform(0.5, 2, 2), (50, 2)) for _ in range(n)]
    with open(DATA / "esol.csv", encoding="utf-8") as stream:
        smiles = [row["smiles"] for row in csv.DictReader(stream)][: options.most]
    features = AtomEnvironments(2).features(smiles)
    counts = [dict(zip(*(part.tolist() for part in (row.indices, row.data)), strict=True)) for row in features]

    def wasserstein(x, z):
        C = cdist(x, z, "sqeuclidean")
        return C[linear_sum_assignment(C)].mean()

    def embedding(x, z):
        return np.exp(-0.5 * ((x[:, None] - z[None]) ** 2).sum(axis=2)).mean()

    def tanimoto(a, b):
        u = sum(count * b.get(key, 0.0) for key, count in a.items())
        return u / (sum(v * v for v in a.values()) + sum(v * v for v in b.values()) - u)

    shown = f"{n} clouds of 50 points"
    for kernel, inputs, words, items, function in (
        (TransportKernel(clouds[0]), clouds, shown, clouds, wasserstein),
        (MeanEmbedding(Gaussian()), clouds, shown, clouds, embedding),
        (TanimotoOf(AtomEnvironments(2)), smiles, f"{len(smiles)} SMILES", counts, tanimoto),
    ):
        kernel(inputs[:10])
        _, seconds = timed(lambda kernel=kernel, inputs=inputs: kernel(inputs))
        i, j = rng.integers(len(items), size=(2, 300))
        pairs = [(items[a], items[b]) for a, b in zip(i, j, strict=True)]
        _, loop = timed(lambda pairs=pairs, function=function: [function(x, z) for x, z in pairs])
        loop *= len(items) * (len(items) + 1) / 2 / 300
        table.add(type(kernel).__name__, words, seconds, loop, loop / seconds)
    return [table]


TASKS = {task.__name__: task for task in (bags, molecules, qm7, speed)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--names", nargs="+", help="molecules: data sets instead of both")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--most", type=int, help="rows to keep, for a trial")
    parser.add_argument("--only", help="bags: kernels whose name holds this")
    parser.add_argument("--json", help="where to write the tables, too")
    options = parser.parse_args()
    finish(TASKS[options.task](options), options.json)


if __name__ == "__main__":
    main()
