"""docs/own_objects.md: every example runs as it stands there, and the refused ones are refused."""

import re
from pathlib import Path

import pytest

from mercer.exceptions import NotPositiveDefinite

PAGE = Path(__file__).resolve().parent.parent / "docs" / "own_objects.md"
REFUSED = {
    "check_kernel(Pairwise(minus_difference), words)": (AssertionError, "PSD: the smallest eigenvalue of K is"),
    "KernelRidge(Pairwise(minus_difference), lam=1e-3).fit(words, y)": (NotPositiveDefinite, r"rows \[0, 3\]"),
}


def test_the_page_runs(recwarn):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    names: dict = {"__name__": "page"}
    refused = []
    for block in blocks:
        call = next((line for line in block.splitlines() if line in REFUSED), None)
        before = block if call is None else block.split(call)[0]
        exec(compile(before, str(PAGE), "exec"), names)  # the page is ours
        if call is not None:
            kind, words = REFUSED[call]
            with pytest.raises(kind, match=words):
                exec(compile(call, str(PAGE), "exec"), names)
            refused.append(call)
    assert set(refused) == set(REFUSED)
    assert len(blocks) >= 8
    assert names["model"].score(names["words"], names["y"]) > 0.9
