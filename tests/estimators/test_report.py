"""The fit report prints whatever numbers and lists a fit puts into it."""

import numpy as np

from mercer.estimators import FitReport


def test_entries_of_every_kind_are_shown():
    report = FitReport(
        rows=50,
        condition=1234567.0,
        reasons=["first", "second"],
        selection={
            "value": np.float64(-1.5),
            "failed": 0,
            "flat": [],
            "message": "",
            "path": None,
            "at_bound": {"lam": 1e-9},
        },
    )
    shown = str(report).splitlines()
    assert shown[0].split() == ["rows", "50"]
    assert shown[1].split() == ["condition", "1.235e+06"]
    assert [line.split()[-1] for line in shown[2:4]] == ["first", "second"]
    assert shown[4].split(maxsplit=1)[1] == "value -1.5, failed 0, at_bound lam 1e-09"
