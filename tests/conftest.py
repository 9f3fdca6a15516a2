"""Fixtures for every test, and the rule that a skip must have an accepted reason.

``pytest --seeds 0,1,2`` (or the environment variable MERCER_TEST_SEED) runs every test that draws random
numbers on those seeds. With CI=true in the environment a skip or an expected failure that is not on the list
below fails the run: a test that did not run has shown nothing.
"""

import gc
import os
import signal
from pathlib import Path

# Both are read at the first import of SciPy and of matplotlib, so they come before everything else.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import hypothesis
import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (so that its BLAS is there)
from threadpoolctl import ThreadpoolController

ROOT = Path(__file__).resolve().parent.parent

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell leaves it for a job in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Reasons that may stand even in CI: what the test group cannot bring, array libraries, devices and compilers.
ACCEPTED_SKIPS = (
    "node is not installed",
    "cupy is not installed",
    "dpnp is not installed",
    "jax.numpy is not installed",
    "torch is not installed",
    "could not import 'dpctl'",
    "CuPy test requires cuda",
    "PyTorch test requires cuda",
    "MPS is not available",
    "XPU is not available",
    "Skipping MPS device test",
    "Skipping XPU device test",
    "Skipping dpnp test",
    "gcc has no address sanitizer",  # elsewhere than on Linux
)

hypothesis.settings.register_profile("mercer", deadline=None, derandomize=True)
hypothesis.settings.load_profile("mercer")


# ---------------------------------------------------------------------------------------------- skips
class SkipWatch:
    """Collects the skips and expected failures whose reason is not accepted; in CI they fail the run."""

    def __init__(self, strict):
        self.strict = strict
        self.unexpected = []

    def pytest_runtest_logreport(self, report):
        self._see(report)

    def pytest_collectreport(self, report):
        self._see(report)

    def _see(self, report):
        if not report.skipped:
            return
        reason = getattr(report, "wasxfail", None)
        if reason is None:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            reason = reason.removeprefix("Skipped: ")
            if reason.startswith(ACCEPTED_SKIPS):
                return
        else:
            reason = f"expected failure: {reason}"
        self.unexpected.append(f"{report.nodeid}: {reason}")

    def pytest_sessionfinish(self, session):
        if self.strict and self.unexpected and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        if self.strict and self.unexpected:
            terminalreporter.section("unexpected skips (CI=true)", red=True, bold=True)
            for line in self.unexpected:
                terminalreporter.line(line)


def pytest_addoption(parser):
    parser.addoption(
        "--seeds",
        default=os.environ.get("MERCER_TEST_SEED", "0"),
        help="comma separated seeds of the rng fixture (default: MERCER_TEST_SEED, else 0)",
    )


def pytest_configure(config):
    strict = os.environ.get("CI", "").lower() in {"1", "true", "yes"}
    config.pluginmanager.register(SkipWatch(strict), "mercer-skips")


def pytest_collection_finish():
    """What was loaded and collected stays to the end: no search for garbage walks through all of it again."""
    gc.freeze()


# -------------------------------------------------------------------------------------------- threads
# Two workers with two threads of BLAS each, on two cores, wait for each other: the suite takes twice as long. So a
# worker of several has one, except where threads are what is tested. With `-n 0` all tests have what a user has.
BLAS = ThreadpoolController()  # NumPy's and SciPy's: both are loaded by now
ONE = BLAS.limit(limits=1, user_api="blas") if "PYTEST_XDIST_WORKER" in os.environ else None
THREADED = ("gram",)


@pytest.fixture(autouse=True, scope="module")
def threads_of_blas(request):
    """All threads of BLAS for the tests of threads, where the others have one."""
    if ONE is None or request.path.parent.name not in THREADED:
        yield
        return
    ONE.restore_original_limits()
    yield
    BLAS.limit(limits=1, user_api="blas")


# ------------------------------------------------------------------------------------------- fixtures
def pytest_generate_tests(metafunc):
    if "rng_seed" in metafunc.fixturenames:
        seeds = [int(seed) for seed in metafunc.config.getoption("seeds").split(",")]
        metafunc.parametrize("rng_seed", seeds, ids=[f"seed{seed}" for seed in seeds])


@pytest.fixture
def rng(rng_seed):
    """Random generator: the same numbers in every run of a test, others with ``--seeds``."""
    return np.random.default_rng(rng_seed)


@pytest.fixture(scope="session")
def shared_data():
    """Path of the data folder beside the repository (../shared/data)."""
    path = ROOT.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"no shared data: {path} is not there")
    return path


@pytest.fixture(scope="session")
def readonly():
    """Function that returns read-only copies of arrays: whoever writes into its input is found out."""

    def protect(*arrays):
        copies = [np.array(array) for array in arrays]
        for copy in copies:
            copy.flags.writeable = False
        return copies[0] if len(copies) == 1 else tuple(copies)

    return protect


@pytest.fixture
def set_defaults(monkeypatch):
    """Change defaults of a class of options, for models that a command or a helper makes."""

    def change(kind, **changes):
        values = kind().__dict__ | changes
        assert values.keys() == kind().__dict__.keys()
        monkeypatch.setattr(kind.__init__, "__defaults__", tuple(values.values()))

    return change
