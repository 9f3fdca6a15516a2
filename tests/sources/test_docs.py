"""The pages about too much data and about clusters print what they say."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", ["too_much_data.md", pytest.param("cluster.md", marks=pytest.mark.slow)])
def test_the_page_prints_what_it_says(name):
    text, names, shown = (DOCS / name).read_text("utf-8"), {"__name__": "page"}, 0
    try:
        for code, expected in re.findall(r"```python\n(.*?)```\n(?:```text\n(.*?)```)?", text, re.DOTALL):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, name, "exec"), names)  # the page is ours
            assert out.getvalue() == expected
            shown += bool(expected)
    finally:
        for left in ("client", "cluster"):
            if left in names:
                names[left].close()
    assert shown == 3
