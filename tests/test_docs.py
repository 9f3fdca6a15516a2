"""The pages: their code runs and prints what they say, links and included code exist, every public name is listed."""

import ast
import contextlib
import importlib.util
import io
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))


def text_of(path):
    return path.read_text(encoding="utf-8")


@cache
def pages():
    """What Sphinx is given beside the pages."""
    spec = importlib.util.spec_from_file_location("mercer_pages", DOCS / "_ext" / "mercer_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ------------------------------------------------------------------------------------------- the code of the pages
def blocks(text):
    """(code, what it prints or None) of each Python block of a page."""
    return re.findall(r"```python\n(.*?)```\n(?:```text\n(.*?)```)?", text, re.DOTALL)


def same(found, expected):
    """Whether two texts agree, their numbers to two per cent or one in the last digit shown."""
    number = r"-?\d+\.?\d*(?:e[-+]?\d+)?"
    if re.sub(number, "#", " ".join(found.split())) != re.sub(number, "#", " ".join(expected.split())):
        return False
    pairs = zip(re.findall(number, found), re.findall(number, expected), strict=True)
    return all(abs(float(a) - float(b)) <= 0.02 * abs(float(b)) + 0.011 for a, b in pairs)


@pytest.mark.parametrize("name", ["tutorial.md", "how_to_add.md", "index.md", "from_sklearn.md"])
def test_a_page_prints_what_it_says(name):
    path, names, shown = DOCS / name, {"__name__": "page"}, 0
    import numpy as np

    with np.printoptions():
        for code, expected in blocks(text_of(path)):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(code, str(path), "exec"), names)  # the page is ours
            shown += bool(expected)
            assert same(out.getvalue(), expected), f"{code}\nprinted\n{out.getvalue()}\nbut the page has\n{expected}"
    assert shown >= 1


def test_the_ten_lines_of_the_readme():
    names, out = {"__name__": "page"}, io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(blocks(text_of(ROOT / "README.md"))[0][0], "README.md", "exec"), names)
    assert "LOO() chose lam = " in out.getvalue() and "condition" in out.getvalue()
    low, high = names["model"].predict_interval([[0.5, 1.0]], coverage=0.9)[0]
    assert low < names["np"].sin(1.0) + 0.5 < high


def test_numbers_that_differ_are_seen():
    assert same("R² 0.871 of 50", "R² 0.87 of 50")
    assert not same("R² 0.80 of 50", "R² 0.87 of 50")
    assert not same("ok", "at_bound")


@pytest.mark.slow
def test_the_tutorial_for_a_table_shows_what_the_commands_print(tmp_path):
    text = text_of(DOCS / "tutorial_csv.md")
    for name in ("harvest.csv", "harvest_new.csv", "assay.csv"):
        (tmp_path / name).write_bytes((ROOT / "examples" / name).read_bytes())
    shown = re.findall(r"```\nmercer ([^\n]*)\n```\n```text\n(.*?)```", text, re.DOTALL)
    assert len(shown) == 3
    for arguments, expected in shown:
        script = "from mercer.cli import main; raise SystemExit(main())"
        command = [sys.executable, "-c", script, *shlex.split(arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=110)
        assert done.returncode == 0, done.stderr
        lines = (done.stderr + done.stdout).splitlines()
        missing = [line for line in expected.splitlines() if not any(same(other, line) for other in lines)]
        assert not missing
    names: dict = {}
    with contextlib.chdir(tmp_path), pytest.warns(UserWarning, match="categories that the fit has not seen|outside"):
        (tmp_path / "harvest.mercer").unlink()
        exec(compile(blocks(text)[0][0], "tutorial_csv.md", "exec"), names)
    assert names["intervals"].shape == (8, 2)


# ------------------------------------------------------------------------------------------- links
def anchors(text):
    """The names of the headings of a page, as MyST and GitHub make them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def links(text):
    """What the links and pictures of a page point to, code aside."""
    plain = re.sub(r"`[^`\n]*`", "", re.sub(r"^(?:```|~~~).*?^(?:```|~~~)", "", text, flags=re.DOTALL | re.MULTILINE))
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", plain) if not target.startswith(("http", "mailto:"))]


def broken(path):
    """Links of a page that lead nowhere, before anything is built."""
    for link in links(text_of(path)):
        target, _, anchor = link.partition("#")
        if target.startswith("generated/"):  # made from api.md
            if Path(target).name.removesuffix(".rst").rsplit(".", 1)[1] not in text_of(DOCS / "api.md"):
                yield link
        elif target and not (path.parent / target).exists():
            yield link
        elif anchor and anchor not in anchors(text_of(path.parent / target) if target else text_of(path)):
            yield link


def test_links_to_examples_lead_to_the_gallery_where_the_pages_are_built():
    text = ["<!-- picture -->[A b](../examples/plot_co2.py) [c](../examples/plot_co2.py) [all](../examples/)"]
    pages().gallery_links(None, "tutorial", text)
    picture = "[![A b](auto_examples/images/sphx_glr_plot_co2_001.png)](auto_examples/plot_co2.rst)"
    assert text == [f"{picture} [c](auto_examples/plot_co2.rst) [all](auto_examples/index.rst)"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    assert not list(broken(path))


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A title\n[a](#a-title) [b](#b) [c](gone.md) [d](../examples/plot_gone.py)", encoding="utf-8")
    assert list(broken(page)) == ["#b", "gone.md", "../examples/plot_gone.py"]


def test_every_page_can_be_reached():
    listed = set(re.findall(r"^[a-z_]+$", text_of(DOCS / "index.md"), re.MULTILINE))
    assert {path.stem for path in PAGES} - {"index"} <= listed


def test_included_code_is_there():
    text = text_of(DOCS / "how_to_add.md")
    found = re.findall(r"```\{literalinclude\} (\S+)\n:pyobject: (\w+)\n```", text)
    assert len(found) == text.count("{literalinclude}") >= 7
    for target, name in found:
        tree = ast.parse(text_of(DOCS / target))
        assert name in {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


# ------------------------------------------------------------------------------------------- the reference
def test_every_name_of_the_reference_exists_and_stands_there_once():
    names = pages().listed(text_of(DOCS / "api.md"))
    assert len(names) == len(set(names)) > 100
    for name in names:
        module, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(module), last), name


def test_a_public_name_that_no_table_has_is_listed_at_the_end(tmp_path):
    text = text_of(DOCS / "api.md")
    before = pages().unlisted(text)
    api = text.replace("   Cosine\n", "").replace("   LOO\n", "")
    (tmp_path / "api.md").write_text(api, encoding="utf-8")
    pages().write_others(SimpleNamespace(srcdir=tmp_path))
    found = re.findall(
        r"currentmodule:: (\S+)\n\.\. autosummary::\n.*\n\n((?:   \w+\n)+)", text_of(tmp_path / "_others.rst")
    )
    added = {(module, name) for module, names in found for name in names.split()}
    assert added - {(m, n) for m, names in before.items() for n in names} == {
        ("mercer.kernels", "Cosine"), ("mercer.selection", "LOO"),
    }  # fmt: skip
