"""The rules of conftest.py, run on small suites of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

CONFTEST = Path(__file__).with_name("conftest.py")


def suite(folder, files, *arguments, ci=False, **environment):
    """Run pytest on test files beside a copy of conftest.py; return (exit code, what it printed)."""
    (folder / "tests").mkdir()
    shutil.copy(CONFTEST, folder / "tests")
    for name, source in files.items():
        (folder / "tests" / f"test_{name}.py").write_text(f"import pytest\n{source}\n", encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if name not in {"CI", "MERCER_TEST_SEED"}}
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "tests", *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env=kept | ({"CI": "true"} if ci else {}) | environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    return done.returncode, done.stdout + done.stderr


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


def test_unexpected_skips_fail_in_ci(tmp_path):
    code, text = suite(tmp_path, SKIPS | ACCEPTED | SOUND, ci=True)
    assert code == pytest.ExitCode.TESTS_FAILED, text
    summary = text.partition("unexpected skips (CI=true)")[2].partition("short test summary")[0]
    assert all(f": {reason}" in summary for reason in REASONS), text
    assert "torch" not in summary


def test_they_pass_elsewhere(tmp_path):
    code, text = suite(tmp_path, SKIPS | SOUND)
    assert code == pytest.ExitCode.OK, text
    assert "unexpected" not in text


def test_an_accepted_skip_passes_in_ci(tmp_path):
    code, text = suite(tmp_path, ACCEPTED | SOUND, ci=True)
    assert code == pytest.ExitCode.OK, text
    assert "1 passed, 1 skipped" in text


@pytest.mark.parametrize(
    ("arguments", "environment", "seeds"),
    [([], {}, {0}), (["--seeds", "0,7"], {}, {0, 7}), ([], {"MERCER_TEST_SEED": "7"}, {7})],
    ids=["default", "option", "environment"],
)
def test_seeds(tmp_path, arguments, environment, seeds):
    _, text = suite(
        tmp_path, {"draw": "def test_a(rng): print('drew', rng.integers(10**9))"}, *arguments, **environment
    )
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
