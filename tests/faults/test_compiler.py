"""The compiler is never in the way: on an empty cache NumPy does what it would finish first, and that is said."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mercer import SVR, KernelRidge, _threads, _tiles

FITS = {
    "svr": "SVR(C=10.0).fit(*data(700))",
    "ridge": "KernelRidge().fit(*data(4600))",
    "gp": "GaussianProcessRegressor(time_budget=20.0).fit(*data(900))",
}
CODE = """
import time, warnings, numpy as np
from mercer import SVR, KernelRidge, GaussianProcessRegressor
warnings.simplefilter("ignore")
def data(n):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, 4))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
for model in (SVR(), KernelRidge(), GaussianProcessRegressor()):
    model.fit(*data(40))
for _ in range(2):
    began = time.process_time()
    model = {fit}
    print(time.process_time() - began, model.fit_report_["loops"])
"""


def run(code, folder):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout


def files(folder):
    return sorted(path.name for path in Path(folder).rglob("*.nb[ic]"))


@pytest.mark.parametrize("fit", [pytest.param(f, marks=[pytest.mark.slow] * (f != "svr")) for f in FITS])
def test_on_an_empty_cache_no_fit_of_a_second_waits_for_the_compiler(fit, tmp_path):
    first, second = run(CODE.format(fit=FITS[fit]), tmp_path).splitlines()
    assert float(first.split()[0]) <= float(second.split()[0]) + 1.0
    assert "mercer warm" in first and not files(tmp_path)


@pytest.mark.slow
def test_warm_compiles_all_that_fits_need(tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    out = subprocess.run([sys.executable, "-m", "mercer", "warm"], capture_output=True, text=True, check=True, env=env)
    assert str(tmp_path) in out.stdout
    found = files(tmp_path)
    for fit in FITS.values():
        said = run(CODE.format(fit=fit), tmp_path)
        assert "compiled" in said and "mercer warm" not in said
    assert files(tmp_path) == found


def test_what_is_in_the_cache_is_found_without_numba(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_tiles, "_cache", functools.cache(_tiles._cache.__wrapped__))
    (tmp_path / "_loops_0123").mkdir()
    (tmp_path / "_loops_0123" / "dual.smo_pairs-157.py311.nbi").touch()
    assert _tiles.in_cache("dual.smo_pairs") and not _tiles.in_cache("pairs.radial")
    (tmp_path / "_loops_0123" / "pairs.radial-10.py311.nbi").touch()
    assert not _tiles.in_cache("pairs.radial")  # not when this process began to ask: what it did since is no reason


@pytest.mark.parametrize("reason", ["a setting", "no right to write"])
def test_what_numba_would_not_read_is_not_in_the_cache(reason, tmp_path, monkeypatch):
    monkeypatch.setattr(_tiles.Path, "home", lambda: tmp_path)
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / ".cache" / "numba" / "_loops_0123"
    folder.mkdir(parents=True)
    (folder / "strings.nothing-1.py311.nbi").touch()
    found = _tiles._cache.__wrapped__
    assert "strings.nothing-1.py311.nbi" in found()
    if reason == "a setting":
        monkeypatch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
    else:
        monkeypatch.setattr(_tiles.os, "access", lambda path, mode: False)  # chmod does not hold root
    assert not found()


def test_large_problems_are_worth_waiting_for(monkeypatch):
    monkeypatch.setattr(_tiles, "in_cache", lambda loop: loop == "dual.smo_pairs")
    assert not _tiles.pays(_tiles.WORTH_COMPILING) and _tiles.pays(_tiles.WORTH_WAITING)
    assert _tiles.loops(_tiles.WORTH_COMPILING, "strings.alignment") is None
    assert _tiles.pays(0, "dual.smo_pairs") and _tiles.loops(_tiles.WORTH_WAITING - 1) is None
    assert _tiles.loops(_tiles.WORTH_WAITING) is _tiles.loaded() is not None
    assert _tiles.loops(_tiles.WORTH_WAITING - 1) is None  # now that they are there as before
    assert _tiles.said(True, []).startswith("NumPy: ") and _tiles.said(False, []) == "NumPy"
    assert _tiles.said(True, [True]) == "compiled"


ORDER = """
import hashlib, warnings, numpy as np
from mercer import _tiles
from mercer.kernels import Gaussian
X = np.random.default_rng(0).uniform(-2, 2, (4600, 3))
{before}
print(hashlib.sha256(Gaussian(1.0)(X).tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_a_process_that_filled_the_cache_goes_on_as_one_that_did_not(tmp_path):
    filling = "with _tiles.part_of(float('inf')): Gaussian(1.0)(X[:50])"
    first, second = (run(ORDER.format(before=b), tmp_path / str(i)) for i, b in enumerate(("", filling)))
    assert first == second and not files(tmp_path / "0") and files(tmp_path / "1")


def test_one_decision_holds_in_all_parts_and_threads_of_a_block():
    found = []
    with _tiles.watched() as used:
        assert _tiles.loops() is None and not used
        with _tiles.part_of(_tiles.WORTH_WAITING):
            with _tiles.part_of(1):
                _threads.run(lambda i, worker: found.append(_tiles.loops()), 4, 2)
        assert used and len(found) == 4 and None not in found
    assert _tiles.loops() is None


def test_both_ways_find_the_same_support_vectors(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (500, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(500)
    compiled = SVR(C=10.0, tol=1e-6).fit(X, y)
    monkeypatch.setattr(_tiles, "loops", lambda *a: None)
    plain = SVR(C=10.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(plain.predict(X), compiled.predict(X), atol=1e-5)
    assert plain.fit_report_["status"] == compiled.fit_report_["status"] == "converged"
    assert KernelRidge().fit(X[:50], y[:50]).fit_report_["loops"] == "NumPy"
