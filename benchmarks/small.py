"""Small data, mercer beside scikit-learn in one process: most fits in the world have fewer than 300 rows.

Each row of a table is one model on one set: medians of alternating fits, their ratio, and the bar that the ratio keeps.
Evidences are those of one function for both: a zero mean, on standardised y. The first table counts Python calls and
files of mercer. ``python benchmarks/small.py`` takes under two minutes, with names of tasks (``svr ridge``) less. On a
busy machine set OPENBLAS_NUM_THREADS=1: threads of BLAS wait for cores that others use, scikit-learn's most of all.
"""

import argparse
import cProfile
import pstats
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import sklearn.gaussian_process as sklearn_gp
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.kernel_ridge import KernelRidge as SklearnRidge
from sklearn.svm import SVR as SklearnSVR
from tables import Table, finish

import mercer
from mercer import SVR, GaussianProcessClassifier, GaussianProcessRegressor, KernelRidge
from mercer.kernels import Gaussian, Matern32
from mercer.selection import LOO

ROUNDS, SECONDS = 7, 0.5  # at least so many fits of each, and more where they are quick
SIZES = (20, 50, 100, 200, 300)
COLUMNS = "n | d | mercer ms | sklearn ms | ratio | bar | met"


def draw(n, d):
    """n rows of d columns, a smooth function of them and noise."""
    rng = np.random.default_rng(1000 * d + n)
    X = rng.uniform(-2, 2, (n, d))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X.sum(axis=1) + 0.2 * rng.standard_normal(n)


def side_by_side(ours, theirs, X, y):
    """(ms, ms, ratio): medians of fits in turn and of their ratios, after one of each that is not counted."""
    times, end = [], None
    while len(times) <= ROUNDS or time.perf_counter() < end:
        pair = []
        for model in (clone(ours), clone(theirs)):
            start = time.perf_counter()
            model.fit(X, y)
            pair.append(1e3 * (time.perf_counter() - start))
        times.append(pair)
        end = end or time.perf_counter() + SECONDS
    mine, other = np.array(times[1:]).T
    return np.median(mine), np.median(other), np.median(mine / other)


def row(table, n, d, ours, theirs, X, y, bar, *more, strict=False):
    """Measure, and add a row to a table."""
    mine, other, ratio = side_by_side(ours, theirs, X, y)
    met = ratio < bar if strict else ratio <= bar
    table.add(n, d, mine, other, ratio, f"{'<' if strict else '<='} {bar:g}", bool(met), *more)


def gaussian_processes(classes):
    """Regression or classification: time of the default, and the evidence of the same model in both."""
    name = "GaussianProcessClassifier, 1.0 * Gaussian" if classes else "GaussianProcessRegressor, default"
    table = Table(f"{name}, against scikit-learn with one start", f"{COLUMNS} | evidence: mercer | sklearn | as high")
    for d in (1, 5):
        for n in SIZES:
            X, y = draw(n, d)
            if classes:
                y = (y > np.median(y)).astype(int)
                theirs = sklearn_gp.GaussianProcessClassifier(ConstantKernel() * RBF())
                ours = GaussianProcessClassifier(1.0 * Gaussian(1.0))
                same, z = clone(ours).set_params(trend=None, prior=None), y
            else:
                kernel = ConstantKernel() * Matern(np.ones(d), nu=1.5) + WhiteKernel()
                theirs = sklearn_gp.GaussianProcessRegressor(kernel, normalize_y=True)
                ours = GaussianProcessRegressor()
                same, z = clone(ours).set_params(trend=None, prior=None), (y - y.mean()) / y.std()
            reached = [m.fit(X, v).log_marginal_likelihood_value_ for m, v in ((same, z), (clone(theirs), y))]
            high = bool(reached[0] >= reached[1] - 1e-3)
            strict = n >= 200
            row(table, n, d, ours, theirs, X, y, 1.0 if strict else 1.5, *reached, high, strict=strict)
    return table


def support_vectors():
    table = Table("SVR(C=10, epsilon=0.1), against scikit-learn", f"{COLUMNS} | largest difference")
    for d in (1, 5):
        for n in SIZES:
            X, y = draw(n, d)
            ours = SVR(Gaussian(np.sqrt(d)), C=10.0, epsilon=0.1)
            theirs = SklearnSVR(C=10.0, epsilon=0.1, gamma=0.5 / d)
            apart = np.abs(clone(ours).fit(X, y).predict(X) - clone(theirs).fit(X, y).predict(X)).max()
            row(table, n, d, ours, theirs, X, y, 2.5 if n < 100 else 1.5, apart)
    return table


def ridge():
    table = Table("KernelRidge at a given lam, against scikit-learn", f"{COLUMNS} | largest difference")
    for d in (1, 5):
        for n in (20, 50, 100, 200, 500):
            X, y = draw(n, d)
            ours = KernelRidge(Gaussian(np.sqrt(d)), lam=0.1, trend=None)
            theirs = SklearnRidge(alpha=0.1, kernel="rbf", gamma=0.5 / d)
            apart = np.abs(clone(ours).fit(X, y).predict(X) - clone(theirs).fit(X, y).predict(X)).max()
            row(table, n, d, ours, theirs, X, y, 1.2, apart)
    return table


# ------------------------------------------------------------------------------------------------ counts
def calls(function):
    """How many Python calls a function makes."""
    profile = cProfile.Profile()
    profile.runcall(function)
    return pstats.Stats(profile).total_calls


def files(function):
    """How many files of mercer a function runs through, after a first call that loads them."""
    function()
    package, seen = str(Path(mercer.__file__).parent), set()

    def look(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(package):
            seen.add(frame.f_code.co_filename)

    sys.setprofile(look)
    try:
        function()
    finally:
        sys.setprofile(None)
    return len(seen)


def counts():
    table = Table("Calls and files", "what | now | bar | met")

    def add(what, now, bar):
        table.add(what, now, "" if bar is None else f"<= {bar}", None if bar is None else bool(now <= bar))

    X, y = draw(50, 1)
    model = GaussianProcessRegressor(1.0 * Matern32(1.0), prior=None).fit(X, y)
    theta = np.append(model.kernel_.theta, np.log(model.lam_)) + 0.1
    model.log_marginal_likelihood(theta, eval_gradient=True)
    found = calls(lambda: model.log_marginal_likelihood(theta, eval_gradient=True))
    add("calls: log_marginal_likelihood and gradient of a fitted model, n = 50, d = 1", found, 350)
    fits = GaussianProcessRegressor(1.0 * Matern32(1.0), prior=None)
    add("calls: a fit with n = 50, d = 1, for each evaluation of its search",
        round(calls(lambda: fits.fit(X, y)) / fits.selection_.evaluations), 350)  # fmt: skip
    X, y = draw(100, 1)
    add("files: GaussianProcessRegressor().fit, n = 100", files(lambda: GaussianProcessRegressor().fit(X, y)), 32)
    add("files: KernelRidge(criterion=LOO()).fit, n = 100", files(lambda: KernelRidge(criterion=LOO()).fit(X, y)), 28)
    return table


TASKS = {
    "counts": counts,
    "ridge": ridge,
    "svr": support_vectors,
    "gpr": lambda: gaussian_processes(False),
    "gpc": lambda: gaussian_processes(True),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", help=", ".join(TASKS))
    parser.add_argument("--json", help="write the tables there too")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    found = [TASKS[name]() for name in arguments.tasks or TASKS]
    print(f"\n{time.perf_counter() - start:.0f} s")
    finish(found, arguments.json)


if __name__ == "__main__":
    main()
