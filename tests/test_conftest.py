"""The rules of conftest.py, run on small suites of their own."""

import os
from pathlib import Path

import numpy as np
import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
pytest_plugins = ["pytester"]


@pytest.fixture
def suite(pytester, monkeypatch):
    """Function that runs pytest on test files beside a copy of conftest.py: (exit code, what it printed)."""

    def run(files, *arguments, ci=False, **environment):
        pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
        pytester.makepyfile(**{f"test_{name}": f"import pytest\n{source}\n" for name, source in files.items()})
        for name, value in {"CI": "true" if ci else None, "MERCER_TEST_SEED": None, **environment}.items():
            monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
        done = pytester.runpytest_inprocess("-rA", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments)
        return done.ret, done.stdout.str()

    return run


SKIPS = {
    "call": "def test_a(): pytest.skip('not called')",
    "mark": "@pytest.mark.skip(reason='not marked')\ndef test_a(): pass",
    "module": "pytest.skip('not imported', allow_module_level=True)",
    "xfail": "@pytest.mark.xfail(reason='not right')\ndef test_a(): assert False",
    "shared": "def test_a(shared_data): pass",
}
REASONS = ("not called", "not marked", "not imported", "expected failure: not right", "no shared data")
ACCEPTED = {"torch": "def test_a(): pytest.skip('torch is not installed: not checking array_api input')"}
SOUND = {"sound": "def test_a(): pass"}


def test_unexpected_skips_fail_in_ci(suite):
    code, text = suite(SKIPS | ACCEPTED | SOUND, ci=True)
    assert code == pytest.ExitCode.TESTS_FAILED, text
    summary = text.partition("unexpected skips (CI=true)")[2].partition("short test summary")[0]
    assert all(f": {reason}" in summary for reason in REASONS), text
    assert "torch" not in summary


def test_they_pass_elsewhere(suite):
    code, text = suite(SKIPS | SOUND)
    assert code == pytest.ExitCode.OK, text
    assert "unexpected" not in text


def test_an_accepted_skip_passes_in_ci(suite):
    code, text = suite(ACCEPTED | SOUND, ci=True)
    assert code == pytest.ExitCode.OK, text
    assert "1 passed, 1 skipped" in text


@pytest.mark.parametrize(
    ("arguments", "environment", "seeds"),
    [([], {}, {0}), (["--seeds", "0,7"], {}, {0, 7}), ([], {"MERCER_TEST_SEED": "7"}, {7})],
    ids=["default", "option", "environment"],
)
def test_seeds(suite, arguments, environment, seeds):
    _, text = suite({"draw": "def test_a(rng): print('drew', rng.integers(10**9))"}, *arguments, **environment)
    drew = {int(line.split()[1]) for line in text.splitlines() if line.startswith("drew")}
    assert drew == {int(np.random.default_rng(seed).integers(10**9)) for seed in seeds}


def test_readonly_copies(readonly):
    mine = np.arange(3.0)
    copy = readonly(mine)
    with pytest.raises(ValueError, match="read-only"):
        copy[0] = 1.0
    mine[0] = 5.0
    assert copy[0] == 0.0
    assert len(readonly(mine, mine)) == 2


def test_array_checks_are_switched_on():
    assert os.environ["SCIPY_ARRAY_API"] == "1"
