"""The page about too much data prints what it says."""

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "too_much_data.md"


def test_the_page_prints_what_it_says():
    names, shown = {"__name__": "page"}, 0
    for code, expected in re.findall(
        r"```python\n(.*?)```\n(?:```text\n(.*?)```)?", PAGE.read_text("utf-8"), re.DOTALL
    ):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(PAGE), "exec"), names)  # the page is ours
        assert out.getvalue() == expected
        shown += bool(expected)
    assert shown == 3
