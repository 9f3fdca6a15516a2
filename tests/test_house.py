"""``tools/house.py`` counts what it says: for each count a source with one place, and one without any."""

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parent.parent / "tools" / "house.py"
KERNELS = {"src/mercer/kernels/a.py": "class Kernel: pass\nclass Linear(Kernel): pass\n"}

# count, file, source with one place, source without
COUNTED = [
    ("code_lines", "src/mercer/a.py", '"""A module."""\n\n# a comment\nx = """\n"""', '"""A module."""\n# a comment'),
    ("approximation_branches", "src/mercer/estimators/a.py", "isinstance(how, Landmarks)", "isinstance(y, list)"),
    ("approximation_branches", "src/mercer/estimators/a.py", "'landmarks_' in self.__dict__", "'_l' in self.__dict__"),
    ("approximation_branches", "src/mercer/estimators/a.py", "plan.landmarks", "how.landmarks"),
    ("constants", "src/mercer/a.py", "A, B = -2.0 ** 3, 'b'", "def f():\n    A = 1"),
    ("shared_constants", "src/mercer/a.py", "A = 1\nB = 2\nif B:\n    pass\nA = 2", "A = 1\nB = 2"),
    ("repeated_names", "src/mercer/a.py", "def f(): pass\n" * 2 + "def _f(): pass", "def f(): pass\n" * 2),
    ("participles", "src/mercer/a.py", "def told(): pass", "def check_mixed(): pass\ndef speed(): pass"),
    ("kernels_recognised", "src/mercer/report/a.py", "isinstance(k, Sum | Linear)", "isinstance(k, Kernel)"),
    ("estimator_first", "src/mercer/a.py", "def f(estimator, X): pass", "class A:\n    def f(self, estimator): pass"),
    ("many_parameters", "src/mercer/a.py", "def f(a, b, c, d, e, f, g, h, *, i): 1", "def f(a, b, c, d, e, f, g): 1"),
    ("report_keys", "src/mercer/report/a.py", 'd["key"]', 'd["Key words"]'),
    ("patched_constants", "tests/test_a.py", 'patch.setattr(module, "FEW", 3)', 'patch.setattr(module, "few", 3)'),
    ("matched_wording", "tests/test_a.py", 'raises(ValueError, match="must be")', 'raises(E, match=r"X\\.y = \\d+")'),
    ("design_words", "docs/design.md", "word", ""),
]  # fmt: skip


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("house", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "file", "one", "none"), COUNTED, ids=[f"{c[0]}-{i}" for i, c in enumerate(COUNTED)])
def test_a_place_is_counted_once(house, tmp_path, name, file, one, none):
    found = []
    for folder, text in (("one", one), ("none", none)):
        for path, content in {**KERNELS, file: text}.items():
            (tmp_path / folder / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / path).write_text(content, encoding="utf-8")
        found.append([*getattr(house, name)(house.Source(tmp_path / folder))])
    lines = 2 if name == "code_lines" else 0  # those of KERNELS
    assert len(found[0]) == {"code_lines": 2}.get(name, 1) + lines and len(found[1]) == lines


def test_every_count_is_tried(house):
    assert {count.__name__ for count in house.COUNTS} - {"files"} == {name for name, *_ in COUNTED}
