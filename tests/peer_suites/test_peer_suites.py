"""scikit-learn's own tests for the five classes of mercer.compat: all pass, or are listed with a reason."""

import pytest

from peer_suites import run
from peer_suites.differences import DIFFERENCES


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("test_kernel_ridge.py", 9),
        pytest.param("test_svm.py", 20, marks=pytest.mark.slow),
        pytest.param("test_gpr.py", 150, marks=pytest.mark.slow),
        pytest.param("test_gpc.py", 60, marks=pytest.mark.slow),
    ],
)
def test_a_file_of_scikit_learn_passes(name, least):
    counts, output = run.suite(name)
    assert counts["failed"] == 0, output
    assert counts["passed"] >= least, output
    assert counts["skipped"] == 0, output
    assert counts["listed"] == sum(key.startswith(f"{name}::") for key in DIFFERENCES), output


def test_a_file_that_is_not_there_is_refused(capsys):
    assert run.main(["test_nothing.py"]) == 2
    assert "test_gpr.py" in capsys.readouterr().err
