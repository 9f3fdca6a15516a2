"""SVR beside scikit-learn's (libsvm), at the same KKT tolerance, in one run: ``python svr.py [all | TASK ...]``.

Data are standardised, the kernel is RBF with γ = 1/d, libsvm has a cache of 2 GB. Each line: seconds of both, their ratio and the bar, and the dual
objective (larger is better) and test error of both.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.svm import SVR as LibSVR
from tables import Table, finish

from mercer import SVR, svr_path
from mercer.kernels import Gaussian

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "uci"


def load(name, rows=None):
    """Standardised (X, y, X_test, y_test) of a UCI set, split 0."""
    data = np.loadtxt(DATA / name / "data.csv.gz", delimiter=",")
    mask = np.loadtxt(DATA / name / "test_mask.csv.gz", delimiter=",")[:, 0].astype(bool)
    train, test = data[~mask][:rows], data[mask]
    mean, sd = train.mean(axis=0), train.std(axis=0)
    sd[sd == 0] = 1.0
    train, test = (train - mean) / sd, (test - mean) / sd
    return train[:, :-1], train[:, -1], test[:, :-1], test[:, -1]


def rbf(X):
    """The Gaussian with γ = 1/d."""
    return Gaussian(float(np.sqrt(X.shape[1] / 2)))


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def objective(model, X, y, C, epsilon):
    """Dual objective of a libsvm model, in float64."""
    coef, points = model.dual_coef_[0], X[model.support_]
    K = rbf(X)(points)
    return float(y[model.support_] @ coef - epsilon * np.abs(coef).sum() - 0.5 * coef @ K @ coef)


def rmse(f, y):
    return float(np.sqrt(np.mean((f - y) ** 2)))


SHORT = 6.0  # seconds of fits of a tenth of a second, which the neighbours of a shared machine disturb most
SPEED = Table(
    "SVR beside libsvm, KKT tolerance 1e-3",
    "task | mercer s | libsvm s | ratio | bar | met | numbers: mercer / libsvm",
    "Objective: the dual one, and by how much it is larger than libsvm's, both in float64. The best of two runs each, "
    f"in turn; of as many as fit into {SHORT:g} s where they are short.",
)
PREDICTION = Table("SVR: prediction time follows the number of support vectors", "rows | support vectors | seconds")


def line(title, ours, theirs, bar, words=""):
    """One row of the table."""
    SPEED.add(title, ours, theirs, theirs / ours, bar, theirs / ours >= bar, words)


def compare(title, data, C, epsilon, bar, tol=1e-3, repeats=2):
    """The best of ``repeats`` fits of ours in turn with theirs; short ones are repeated for SHORT seconds."""
    X, y, X_test, y_test = data
    ours, theirs = [], []
    while len(ours) < repeats or sum(ours) + sum(theirs) < SHORT:
        seconds, a = timed(lambda: SVR(rbf(X), C=C, epsilon=epsilon, tol=tol).fit(X, y))
        ours.append(seconds)
        lib = LibSVR(C=C, epsilon=epsilon, gamma=1 / X.shape[1], cache_size=2000)
        seconds, b = timed(lambda lib=lib: lib.fit(X, y))
        theirs.append(seconds)
    predict, f = timed(lambda: a.predict(X_test))
    predict_lib, f_lib = timed(lambda: b.predict(X_test))
    better = a.dual_objective_ - objective(b, X, y, C, epsilon)
    words = (
        f"objective {a.dual_objective_:.4f} ({better:+.2g}), violation {a.kkt_violation_:.1e}, gap {a.dual_gap_:.2g}, "
        f"RMSE {rmse(f, y_test):.4f} / {rmse(f_lib, y_test):.4f}, SV {len(a.support_)} / {len(b.support_)}, "
        f"predict {predict:.3f} / {predict_lib:.3f} s, {a.fit_report_['status']}"
    )
    line(title, min(ours), min(theirs), bar, words)


def small(names=("sml", "parkinsons")):
    for name in names:
        data = load(name)
        for C in (1.0, 10.0, 100.0):
            for epsilon in (0.1, 0.01):
                compare(f"{name} {len(data[1])}, C = {C:g}, ε = {epsilon:g}", data, C, epsilon, 3.0)


def fine():
    data = load("parkinsons", 5000)
    compare("parkinsons 5000, tol 1e-8 (libsvm at 1e-3)", data, 10.0, 0.05, 1.0, tol=1e-8)


def path():
    X, y, *_ = load("parkinsons", 5000)
    for top in (2.0, 1.5):
        Cs = np.logspace(-1, top, 10)
        ours, found = timed(lambda Cs=Cs: svr_path(rbf(X), X, y, Cs, [0.1]))
        theirs = sum(
            timed(lambda C=C: LibSVR(C=C, epsilon=0.1, gamma=1 / X.shape[1], cache_size=2000).fit(X, y))[0] for C in Cs
        )
        words = ", ".join(sorted(set(found.status.flat)))
        line(f"path of 10 C from 0.1 to {Cs[-1]:.3g}, ε = 0.1, parkinsons 5000", ours, theirs, 10.0, words)


def unscaled():
    X, y, *_ = load("parkinsons", 3000)
    scaled, _ = timed(lambda: SVR(C=10.0, epsilon=0.1).fit(X, y))
    wild = X * np.logspace(-3, 6, X.shape[1])
    raw, model = timed(lambda: SVR(C=10_000.0, epsilon=100.0).fit(wild, 1000 * y))
    line("unscaled columns and y; 'peer' is 10x our scaled time", raw, 10 * scaled, 1.0, model.fit_report_["status"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raw, model = timed(lambda: SVR(Gaussian(1.0), C=10_000.0, epsilon=0.1, time_budget=5.0).fit(wild, 1000 * y))
    line("unscaled, ℓ = 1, budget 5 s", raw, 6.0, 1.0, f"{model.fit_report_['status']}, gap {model.dual_gap_:.3g}")


def prediction():
    """Prediction time against the number of support vectors."""
    X, y, X_test, _ = load("protein", 10_000)
    for epsilon in (0.05, 0.5, 1.0, 2.0):
        model = SVR(rbf(X), C=1.0, epsilon=epsilon).fit(X, y)
        seconds = min(timed(lambda model=model: model.predict(X_test))[0] for _ in range(3))
        PREDICTION.add(len(X_test), len(model.support_), seconds)


def protein():
    compare("protein 10 000, C = 10, ε = 0.05", load("protein", 10_000), 10.0, 0.05, 6.0)


def kin40k():
    compare("kin40k 36 000, C = 10, ε = 0.05", load("kin40k"), 10.0, 0.05, 15.0, repeats=1)


TASKS = {"small": small, "protein": protein, "fine": fine, "path": path, "unscaled": unscaled, "prediction": prediction,
         "kin40k": kin40k}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", nargs="*", default=[name for name in TASKS if name != "kin40k"])
    parser.add_argument("--json", help="where to write the tables, too")
    given = parser.parse_args()
    for name in TASKS if given.tasks == ["all"] else given.tasks:
        TASKS[name]()
    finish([table for table in (SPEED, PREDICTION) if table.rows], given.json)


if __name__ == "__main__":
    main()
