"""The gallery: each example is short, asks a question, has its place in the order of the lectures, and runs."""

import ast
import re
import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
QUICK = ("plot_overfitting.py", "plot_weight_space.py")
SAYS = {  # what an example must have found
    "plot_bias_variance.py": "100 fits",
    "plot_graphs.py": "WeisfeilerLehman(1)",
    "plot_kernel_trick.py": "θ = Φᵀα",
    "plot_nested_cv.py": "chosen and judged on different rows",
    "plot_own_objects.py": "Refused: Pairwise",
    "plot_support_vectors.py": "SVR from 12 support vectors",
    "plot_weight_space.py": "largest difference",
    "plot_which_lambda.py": "Discrepancy()",
}


def order():
    """ORDER of docs/_ext/mercer_pages.py, read without running it."""
    tree = ast.parse((ROOT / "docs" / "_ext" / "mercer_pages.py").read_text(encoding="utf-8"))
    return next(ast.literal_eval(node.value) for node in tree.body if _target(node) == "ORDER")


def _target(node):
    return node.targets[0].id if isinstance(node, ast.Assign) else None


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_its_title_a_question(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
    first, title, line, empty = ast.get_docstring(ast.parse(text), clean=False).split("\n")[:4]
    assert (first, empty) == ("", "")
    assert title.endswith("?")
    assert line == "=" * len(title)
    compile(text, str(path), "exec")
    assert "sys.argv[1]" in text
    assert not re.search(r"/(home|tmp|work)/", text)


def test_each_example_has_its_place_in_the_gallery():
    assert sorted(order()) == [path.name for path in EXAMPLES]


def test_the_lectures_come_first_and_in_their_order():
    lectures = (
        "overfitting kernel_trick building_kernels interpolation which_lambda bias_variance nested_cv "
        "prior_and_posterior classification support_vectors own_objects"
    )
    places = [order().index(f"plot_{name}.py") for name in lectures.split()]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "path", [p if p.name in QUICK else pytest.param(p, marks=pytest.mark.slow) for p in EXAMPLES], ids=lambda p: p.stem
)
def test_an_example_runs(path, tmp_path, monkeypatch, capsys):
    picture = tmp_path / "out.png"
    monkeypatch.setattr(sys, "argv", [str(path), str(picture)])
    runpy.run_path(str(path), run_name="__main__")  # a warning that nobody expects is an error, as in every test
    plt.close("all")
    assert SAYS.get(path.name, "") in capsys.readouterr().out
    assert picture.stat().st_size > 20_000
    assert picture.read_bytes().startswith(b"\x89PNG")
