"""docs/troubleshooting.md has a paragraph for each warning, each status of a choice and each kind of error."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "mercer"
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
HEADINGS = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
START = 30  # characters of a message that must be those of a heading
INTERNAL = {
    "BuildError",
    "LibraryError",
    "Stop",
    "Usage",
    "Mismatch",
    "Interrupted",
}  # caught inside, never seen by a caller
INTERNAL |= {"BadRows"}  # a DataError, which is explained
INTERNAL |= {"OutOfTime", "ArgumentTypeError"}  # the best finished stage is taken; argparse says it in its own words
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path.name != "_warn.py"]  # which has no sentence of its own


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path):
    """The assignments, calls, raises and classes of a module, in one pass."""
    kinds = ast.Assign | ast.Call | ast.Raise | ast.ClassDef
    return [node for node in ast.walk(parsed(path)) if isinstance(node, kinds)]


def template(node):
    """A string or f-string with … for what is filled in; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
    return None


def messages(nodes):
    """(how it begins, line) of each warning of a module; a name stands for the string it was given in the module."""
    given = {
        node.targets[0].id: template(node.value)
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and template(node.value)
    }
    for node in nodes:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "warn" and len(node.args) > 1:
            what = node.args[0]
            yield (
                (given.get(what.id) if isinstance(what, ast.Name) else template(what)),
                ast.unparse(node.args[1]),
                node,
            )


def paragraph(start):
    """The heading that a message begins with, or None."""
    return next((h for h in HEADINGS if _key(h)[:START].startswith(_key(start)[: len(_key(h))][:START])), None)


def _key(text):
    """A heading or message without marks, blanks and what follows its last …"""
    return re.sub(r"[`\s]", "", text.split("` (")[0]).rstrip("….")


WARNING = [path for path in FILES if "warn(" in path.read_text(encoding="utf-8")]  # a tenth: these are read first
WARNINGS = [(path.relative_to(SOURCE).as_posix(), *found) for path in WARNING for found in messages(nodes(path))]


@pytest.mark.parametrize(
    ("where", "text", "kind", "line"), WARNINGS, ids=[f"{w[0]}-{w[2]}-{i}" for i, w in enumerate(WARNINGS)]
)
def test_each_warning_has_its_paragraph(where, text, kind, line):
    if text is None or not re.search(r"\w{3}", text):  # the sentence is made elsewhere: its class must be explained
        assert re.search(rf"^#* .*{kind}|\b{kind}\b", PAGE, re.MULTILINE), f"{where}: {kind}"
        return
    heading = paragraph(text)
    assert heading is not None, f"{where}, line {line}: no heading begins like {text[:60]!r}"
    assert kind in PAGE.split(f"### {heading}\n")[1].split("\n#")[0], f"{heading} does not say that it is a {kind}"


def test_a_warning_without_a_paragraph_is_found():
    assert paragraph("the moon is made of … cheese") is None
    assert paragraph("CG stopped after … iterations with") is not None
    assert len(WARNINGS) >= 20


def statuses():
    """Every word that `Choice.status` and `SearchResult.status` can be, from their docstrings."""
    words = set()
    for name, cls in (("base.py", "Choice"), ("result.py", "SearchResult")):
        tree = parsed(SOURCE / "selection" / name)
        doc = next(ast.get_docstring(n) for n in tree.body if isinstance(n, ast.ClassDef) and n.name == cls)
        words |= set(re.findall(r'"(\w+)"', re.search(r"status : str\n(.*?)\n\w", doc, re.DOTALL)[1]))
    return words - {"ok"}


def test_each_status_has_its_paragraph():
    assert {"at_lower_edge", "no_corner", "at_bound", "time_budget"} <= statuses()
    assert statuses() <= {heading.strip("`") for heading in HEADINGS}


def raised():
    """Names of all classes that are raised, and of all that are defined as errors or warnings."""
    names = set()
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                names.add(ast.unparse(node.exc.func).rsplit(".", 1)[-1])
            if path.name == "exceptions.py" and isinstance(node, ast.ClassDef):
                names.add(node.name)
    return {name for name in names if re.fullmatch(r"[A-Z]\w+", name)} - INTERNAL


def test_each_kind_of_error_has_its_paragraph():
    assert {"NotPositiveDefinite", "NotEnoughMemory", "ValueError"} <= raised()
    headings = {heading.strip("`") for heading in HEADINGS}
    unexplained = {name for name in raised() - headings if name not in PAGE or not name.endswith("Warning")}
    assert not unexplained


def test_each_paragraph_says_what_to_do():
    for heading, body in re.findall(r"^### (.+)\n\n(.+?)(?=\n#|\Z)", PAGE, re.MULTILINE | re.DOTALL):
        assert len(body.split()) >= 8, heading
