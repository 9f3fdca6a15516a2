"""The compiled loops load whatever happens: without a home for a cache, without numba, and under Ctrl-C."""

import os
import subprocess
import sys

import pytest

FIT = """
import sys, warnings
import numpy as np
MISSING
from mercer import SVR, _tiles
from mercer.kernels import Gaussian, LocalAlignment
rng = np.random.default_rng(0)
X = rng.standard_normal((330, 2))
y = X[:, 0] + 0.1 * rng.standard_normal(330)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    loops = [_tiles.loops(np.inf), _tiles.loops(np.inf)]
    DO
said = [str(warning.message) for warning in caught if "numba" in str(warning.message)]
print(*said, sep="\\n")
"""


def run(text, **environment):
    found = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env={**os.environ, **environment}, timeout=120
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_without_a_home_for_its_cache_numba_compiles_all_the_same():
    do = """out = np.empty((1, 1))
    loops[0].pairs.laplacian(np.zeros((1, 1)), np.ones((1, 1)), out)
    assert abs(out[0, 0] - np.exp(-1.0)) < 1e-15
"""
    said = run(FIT.replace("DO", do).replace("MISSING", ""), NUMBA_CACHE_LOCATOR_CLASSES="UserProvidedCacheLocator")
    assert "NUMBA_CACHE_DIR" in said and len(said.splitlines()) == 1


FITS = """assert loops == [None, None]
    assert SVR(Gaussian(1.0)).fit(X, y).score(X, y) > 0.9
    assert SVR(Gaussian(1.0), nu=0.3).fit(X, y).score(X, y) > 0.9
    K = LocalAlignment(0.3)(["ACGT" * 3, "TTACGA", "GATTACA"] * 4)
    assert np.isfinite(K).all()
"""


MISSING = {"numba": FITS, "llvmlite": "assert loops == [None, None]"}


@pytest.mark.parametrize("missing", MISSING)
def test_without_numba_numpy_does_it(missing):
    said = run(FIT.replace("DO", MISSING[missing]).replace("MISSING", f"sys.modules[{missing!r}] = None"))
    assert "install numba" in said and len(said.splitlines()) == 1


INTERRUPTED = """
import signal, sys
import numpy as np
from mercer import _tiles
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    _tiles.loops(np.inf)
    print("too late")
except KeyboardInterrupt:
    assert not hasattr(sys.modules.get("mercer._loops"), "COMPLETE")
    print("interrupted")
found, out = _tiles.loops(np.inf), np.empty((1, 1))
found.pairs.laplacian(np.zeros((1, 1)), np.ones((1, 1)), out)
assert abs(out[0, 0] - np.exp(-1.0)) < 1e-15
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no timers")
def test_an_interrupt_leaves_nothing_half_imported():
    assert run(INTERRUPTED) == "interrupted"
