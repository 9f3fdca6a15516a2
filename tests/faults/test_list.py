"""The list of faults names tests that exist."""

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_line_has_its_test():
    text = (HERE / "README.md").read_text(encoding="utf-8")
    assert [int(n) for n in re.findall(r"^\| (\d+) ", text, re.MULTILINE)] == list(range(1, 19))
    second = [int(n) for n in re.findall(r"^\| second (\d+) ", text, re.MULTILINE)]
    assert second == [1, 2, 3, 4, 5, 6, 7, 10, 11, 13, 14, 15]
    named = re.findall(r"`((?:\w+/)?test_\w+\.py)(?:::(\w+))?`", text)
    assert len(named) >= 25
    for file, test in named:
        assert f"def {test or 'test_'}" in (HERE.parent / file).read_text(encoding="utf-8"), (file, test)
