"""The same bits whatever ran before: in this process, and in the first and the second process of a machine.

Run as a script: every fit, other fits, every fit again; it prints a digest of all numbers.
"""

import hashlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.kernels import Gaussian, Laplacian, LocalAlignment, Matern32, Subsequence

G, LABELS = Gaussian(1.0), ("gpc", "hinge", "logistic", "machine on landmarks")
MODELS = {
    "ridge": lambda: mercer.KernelRidge(G, 0.01),
    "sum norm": lambda: mercer.KernelRidge(Laplacian(1.0), 0.01),
    "spectral": lambda: mercer.KernelRidge(G, 0.01, solver="spectral"),
    "cg": lambda: mercer.KernelRidge(G, 0.01, solver="cg"),
    "loo": lambda: mercer.KernelRidge(G, criterion="loo"),
    "gp": lambda: mercer.GaussianProcessRegressor(Matern32(1.0)),
    "gpc": lambda: mercer.GaussianProcessClassifier(G),
    "svr": lambda: mercer.SVR(G, C=10.0),
    "hinge": lambda: mercer.KernelMachine(G, loss="hinge", lam=0.1),
    "logistic": lambda: mercer.KernelMachine(G, loss="logistic", lam=0.1),
    "interpolator": lambda: mercer.KernelInterpolator(Matern32(1.0)),
    "basis": lambda: mercer.BasisRegression(lam=1.0),
    "landmarks": lambda: mercer.KernelRidge(G, 0.01, approximation=mercer.Landmarks(64)),
    "machine on landmarks": lambda: mercer.KernelMachine(G, "logistic", lam=0.1, approximation=mercer.Landmarks(64)),
    "neighbours": lambda: mercer.GaussianProcessRegressor(G, 0.01, criterion=None, approximation=mercer.Neighbours(15)),
}
# Above 256 rows (factors by blocks), around 320 (working sets), 1200 (searches), 4500 (one matrix), 5000 (passes).
SIZES = {name: (290, 330) if name in ("svr", "hinge") else (330,) for name in MODELS}
SLOW = {
    "ridge": (60, 700, 2050, 4460, 4480), "sum norm": (4460, 4480), "cg": (4460, 4480), "loo": (60, 700, 1250),
    "gp": (60, 700, 1250), "gpc": (60, 700), "svr": (60, 1200, 4500), "hinge": (700, 2000), "logistic": (700, 2000),
    "landmarks": (4700, 4900), "machine on landmarks": (4700, 4900), "neighbours": (2000, 6000),
}  # fmt: skip


def data(name, n):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, 4))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
    return X, np.where(y > 0, 1.0, -1.0) if name in LABELS else y


def numbers(name, model, rows):
    """What a fitted model says of few rows and of many."""
    out = []
    for count in rows:
        X = np.random.default_rng(1).uniform(-2, 2, (count, 4))
        out.append(model.predict(X))
        if hasattr(model, "predict_proba"):
            out.append(model.predict_proba(X))
        if name == "gp":
            out.append(model.predict(X, return_std=True)[1])
    return [np.asarray(one, dtype=float) for one in out]


def everything(sizes, rows):
    """{case: (fitted model or None, numbers)}."""
    found = {}
    for name, many in sizes.items():
        for n in many:
            model = MODELS[name]().fit(*data(name, n))
            found[name, n] = model, numbers(name, model, rows)
    words = ["".join(np.random.default_rng(i).choice(list("ACGT"), 15)) for i in range(60)]
    for kernel in (LocalAlignment(), Subsequence(3)):
        for n in (8, 60):
            found[type(kernel).__name__, n] = None, [kernel(words[:n]), kernel(words[:3], words[:n])]
    return found


def main(how):
    """Compare, in this process."""
    sizes, rows = (SIZES, (3, 40)) if how == "quick" else (SLOW, (3, 4000, 5200))
    first = everything(sizes, rows)
    X, y = data("ridge", 400)
    mercer.SVR(C=1.0).fit(X, y)
    mercer.GaussianProcessRegressor(G, criterion=None).fit(X, y)
    again = everything(sizes, rows)
    for case, (model, found) in first.items():
        after = found if model is None else numbers(case[0], model, rows)
        for a, b, c in zip(found, again[case][1], after, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"{case}: a second fit")
            np.testing.assert_array_equal(a, c, err_msg=f"{case}: the same fit")
    digest = hashlib.sha256()
    for _, found in first.values():
        for part in found:
            digest.update(part.tobytes())
    print(digest.hexdigest())


@pytest.mark.parametrize("how", ["quick", pytest.param("slow", marks=pytest.mark.slow)])
def test_what_ran_before_changes_no_bit(how):
    path = os.pathsep.join([str(Path(__file__).parents[2] / "src"), os.environ.get("PYTHONPATH", "")])
    command, environment = [sys.executable, __file__, how], {**os.environ, "PYTHONPATH": path}
    digests = set()
    for _ in range(2 if how == "slow" else 1):
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr[-2000:]
        digests.add(done.stdout)
    assert len(digests) == 1


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1])
