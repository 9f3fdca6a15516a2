"""Choosing λ and the length scale: against scikit-learn's grid search, and each rule against the best λ there is.

``python selection.py TASK ...`` with TASK one of uci, loo, gradient, rules; prints Markdown, and JSON with
``--json FILE``. Times of one line are measured in turn in one process.
"""

import argparse
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
from tables import Table, finish

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "uci"
RULES = "Medians of (error at the λ chosen) / (error at the best λ there is)"
LAMS, LENGTHS = np.logspace(-6, 1, 20), np.logspace(-0.5, 1.2, 10)


def split(name, number, most=None):
    """Standardised (X, y, X_test, y_test) of a fixed split; constant columns dropped."""
    data = np.loadtxt(DATA / name / "data.csv.gz", delimiter=",")
    mask = np.loadtxt(DATA / name / "test_mask.csv.gz", delimiter=",")[:, number].astype(bool)
    train, test = data[~mask][:most], data[mask]
    keep = train.std(axis=0) > 0
    train, test = train[:, keep], test[:, keep]
    mean, sd = train.mean(axis=0), train.std(axis=0)
    train, test = (train - mean) / sd, (test - mean) / sd
    return train[:, :-1], train[:, -1], test[:, :-1], test[:, -1]


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def rmse(model, X, y):
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


def grid_search(cv):
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV

    grid = {"alpha": LAMS, "gamma": 0.5 / LENGTHS**2}
    return GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=cv, n_jobs=2, scoring="neg_mean_squared_error")


def ours():
    """The ways mercer chooses, by name."""
    from mercer import KernelRidge
    from mercer.kernels import Gaussian
    from mercer.selection import LOO, Evidence

    def ard(d):
        return 1.0 * Gaussian(np.ones(d))

    return {
        "LOO": lambda d: KernelRidge(Gaussian(), criterion=LOO()),
        "LOO, ARD": lambda d: KernelRidge(ard(d), criterion=LOO()),
        "Evidence, ARD": lambda d: KernelRidge(ard(d), criterion=Evidence()),
    }


def uci(names, peer_splits, splits, only=None):
    """λ and ℓ: 5-fold grid search of 20 × 10 against the criteria; the peer on the first splits, ours on all.

    ``only`` are names of ways, where not all of them are asked for.
    """
    table = Table(
        "Kernel ridge, λ and ℓ chosen: scikit-learn's 5-fold grid of 20 × 10 against the criteria",
        "data | n | way | splits | s | ratio | RMSE | RMSE on the peer's splits",
        "Ratio: the peer's time / this one's, on the peer's splits.",
    )
    for name in names:
        rows, times = {}, {}
        for number in range(splits):
            X, y, X_test, y_test = split(name, number)
            ways = {
                key: lambda make=make, d=X.shape[1]: make(d) for key, make in ours().items() if key in (only or ours())
            }
            if number < peer_splits:
                ways["scikit-learn, 5-fold grid"] = lambda: grid_search(5)
            for key, make in ways.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    seconds, model = timed(lambda make=make, X=X, y=y: make().fit(X, y))
                rows.setdefault(key, []).append(rmse(model, X_test, y_test))
                times.setdefault(key, []).append(seconds)
        peer = "scikit-learn, 5-fold grid"
        for key, values in rows.items():
            ratio = sum(times[peer]) / sum(times[key][:peer_splits]) if peer in times else np.nan
            errors = f"{np.mean(values):.4f}", f"{np.mean(values[:peer_splits]):.4f}"
            table.add(name, len(y), key, len(values), float(np.mean(times[key])), ratio, *errors)
    return [table]


def loo(rows=300):
    """Leave-one-out over the same grid, n = 300: scikit-learn on a tenth of the grid, its time times ten."""
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV, LeaveOneOut

    X, y, _, _ = split("airfoil", 0, rows)
    tenth = {"alpha": LAMS[::5], "gamma": 0.5 / LENGTHS[::2] ** 2}
    search = GridSearchCV(
        KernelRidge(kernel="rbf"), tenth, cv=LeaveOneOut(), n_jobs=2, scoring="neg_mean_squared_error"
    )
    make = ours()["LOO"]
    make(X.shape[1]).fit(X, y)
    peer, _ = timed(lambda: search.fit(X, y))
    own = min(timed(lambda: make(X.shape[1]).fit(X, y))[0] for _ in range(3))
    table = Table(
        "Leave-one-out over the same grid",
        "n | scikit-learn, 200 grid points, s | mercer, s | ratio",
        "scikit-learn's time is ten times that of 20 of the points.",
    )
    table.add(rows, 10 * peer, own, 10 * peer / own)
    return [table]


def gradient(n=4000, d=26):
    """LOO and its gradient for all length scales against one Cholesky factor and inverse of the same size."""
    from mercer.gram import DenseGram, Rows, TiledGram
    from mercer.gram.rows import constant
    from mercer.kernels import Gaussian
    from mercer.selection import LOO
    from mercer.selection.search.objective import CriterionObjective, Record
    from mercer.solvers import Cholesky

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d)), rng.standard_normal((n, 1))
    kernel = Gaussian(np.full(d, 5.0))
    objective = CriterionObjective(kernel, Rows(X, y, trend=constant), LOO(), Record())
    z = objective.start(kernel, 0.1)
    K = DenseGram(kernel, X)
    TiledGram(kernel, X).grad(np.ones((n, n)))
    own, peer = [], []
    for _ in range(3):
        own.append(timed(lambda: objective(z))[0])
        peer.append(timed(lambda: Cholesky().resolvent(K).trial(0.1, whole=True))[0])
    tracemalloc.start()
    objective(z)
    peak = tracemalloc.get_traced_memory()[1] / (8 * n * n)
    table = Table(
        "LOO and its gradient for all length scales",
        "n | d | value and gradient, s | Cholesky and inverse alone, s | ratio | memory, n² doubles",
    )
    table.add(n, d, min(own), min(peer), min(own) / min(peer), peak)
    return [table]


def rules(draws=20, n=64):
    """error(λ chosen)/error(best λ) of each rule on Hansen's problems: medians over draws, three noise levels.

    Twice: the error of x, which is what one wants, and the error of A x, which is what LOO and GCV estimate.
    """
    return [_rules(draws, n, predictive) for predictive in (False, True)]


def _rules(draws, n, predictive):
    """One table."""
    import hansen

    table = None
    for problem in hansen.PROBLEMS:
        A, b, x = hansen.PROBLEMS[problem](n)
        for level in (1e-1, 1e-2, 1e-3):
            ratios = {}
            for draw in range(draws):
                for rule, ratio in _ratios(A, b, x, level, draw, predictive).items():
                    ratios.setdefault(rule, []).append(ratio)
            if table is None:
                title = f"λ by each rule on Hansen's problems: error of {'A x' if predictive else 'x'}, n = {n}"
                table = Table(title, " | ".join(["problem", "noise", *ratios]), f"{RULES}, {draws} draws.")
            table.add(problem, level, *(f"{np.median(found):.2f}" for found in ratios.values()))
    return table


def _ratios(A, b, x, level, draw, predictive):
    """{rule: error of its λ over the smallest error} for one draw of the noise."""
    from mercer.selection import compare

    sigma = level * np.linalg.norm(b) / np.sqrt(len(b))
    noisy = b + sigma * np.random.default_rng(draw).standard_normal(len(b))
    U, s, Vt = np.linalg.svd(A)
    c = (U.T @ noisy)[: len(s)]

    def error(lam):
        filters = np.where(np.isfinite(lam), s * c / (s**2 + np.minimum(lam, 1e300)), 0.0)
        rest = filters @ Vt - x
        return np.linalg.norm(rest @ A.T if predictive else rest, axis=-1)

    best = error(np.geomspace(1e-20 * s[0] ** 2, 10 * s[0] ** 2, 2000)[:, None]).min()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare(A, noisy, noise=sigma)
    return {("Discrepancy" if "Discrepancy" in rule else rule): float(error(lam) / best) for rule, lam in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["uci", "loo", "gradient", "rules"])
    parser.add_argument("--names", nargs="+", default=["airfoil", "wine", "concrete", "energy", "sml"])
    parser.add_argument("--peer-splits", type=int, default=1)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--only", nargs="+", choices=list(ours()), help="these ways instead of all")
    parser.add_argument("--json", help="where to write the tables, too")
    arguments = parser.parse_args()
    if arguments.task == "uci":
        tables = uci(arguments.names, arguments.peer_splits, arguments.splits, arguments.only)
    else:
        tables = {"loo": loo, "gradient": gradient, "rules": rules}[arguments.task]()
    finish(tables, arguments.json)


if __name__ == "__main__":
    main()
