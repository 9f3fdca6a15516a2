"""Break the source on purpose, one place at a time, and see that the quick tests notice: ``python tests/breaks.py``.

A break is a regular expression and what is written instead, in a copy of the source. It must match in exactly one
place: where the code has changed, the break is adapted, not dropped. A break counts as noticed when a test fails, not
when nothing can be imported. The identities must notice each of them; whether the golden numbers do too is printed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PARTS = {
    "golden numbers": ["tests/golden/test_golden.py"],
    "identities": [
        "tests/estimators/test_refit.py",
        "tests/selection/test_criteria.py",
        "tests/solvers/test_solvers.py",
        "tests/estimators/test_ridge.py",
        "tests/estimators/test_gp_learning.py",
        "tests/estimators/test_svm.py",
        "tests/approximate/test_problem.py",
        "tests/estimators/test_options.py",
    ],
}


class Break(NamedTuple):
    """What is broken, in which files of src/mercer to look, what is there, and what is written instead."""

    name: str
    files: str
    pattern: str
    instead: str


BREAKS = [
    Break(
        "a sign in an adjoint",
        "selection/criteria.py",
        r"return e\*\*2, 2\.0 \* e / s, -",
        "return e**2, 2.0 * e / s, ",
    ),
    Break(
        "a forgotten weight",
        "gram/*.py",
        r"w = np\.bincount\(group, weights=weight, minl",
        "w = np.bincount(group, minl",
    ),
    Break(
        "jitter left in the solution",
        "solvers/cholesky.py",
        r"        if self\._original is not None:\n +return self\._refine\(B\)\n( +X = )",
        r"\1",
    ),
    Break("a wrong trend projection", "**/projected.py", r"self\.Kinv\.diag\(\) - np\.einsum.*", "self.Kinv.diag()"),
    Break("a stale cache", "estimators/*.py", r"del vars\(fitted\)\[name\]", "pass"),
    Break("lam not scaled", "approximate/*.py", r"= scaled, c \* found\.lam", "= scaled, found.lam"),
    Break("a swapped target", "estimators/svm.py", r"in enumerate\(rows\.y\.T\)", "in enumerate(rows.y.T[::-1])"),
    Break(
        "a posterior without its trend",
        "inference/regression.py",
        r"return mean \+ self\.rows\.trend_at\(X\) @ self\.b if self\.rows\.q else mean",
        "return mean",
    ),
    Break(
        "weights not passed to landmarks",
        "approximate/base.py",
        r"Arrays\(self\.X, self\.y, self\.weight\)",
        "Arrays(self.X, self.y, None)",
    ),
    Break(
        "an option that is not passed on",
        "estimators/_fitting.py",
        r'"report": reporter\(self\), "options": OptionSet\(self\.options\)',
        '"report": reporter(self), "options": OptionSet()',
    ),
]


def apply(one, source):
    """Break the source in ``source`` (a copy of src/mercer); there must be exactly one place for it."""
    places = [(path, m) for path in source.glob(one.files) for m in re.finditer(one.pattern, path.read_text())]
    if len(places) != 1:
        named = [str(path.relative_to(source)) for path, _ in places]
        raise SystemExit(f"{one.name}: {one.pattern!r} matches {len(places)} places of {one.files} {named}: adapt it.")
    path, match = places[0]
    text = path.read_text()
    path.write_text(text[: match.start()] + match.expand(one.instead) + text[match.end() :])


def noticed(folder, tests):
    """(the first test that fails, seconds) in a copy of the repository; None for the test if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    failed = re.findall(r"^FAILED (.+?)(?: - |$)", done.stdout, re.MULTILINE)
    return (failed[0] if failed else None), time.perf_counter() - start


def copy(folder):
    """What the tests read, in a folder of its own; times of files are kept, so that nothing is compiled again."""
    for name in ("src", "tests", "docs", "pyproject.toml"):
        place = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        place(ROOT / name, folder / name)
    return folder


def run(one, parts=("identities",)):
    """{part: (the first test that notices, seconds)} of a break; None is the source as it is."""
    with tempfile.TemporaryDirectory() as folder:
        repository = copy(Path(folder))
        if one is not None:
            apply(one, repository / "src" / "mercer")
        return {part: noticed(repository, PARTS[part]) for part in parts}


def main():
    chosen = [one for one in BREAKS if not sys.argv[1:] or any(word in one.name for word in sys.argv[1:])]
    missed = []
    for one in chosen:
        for part, (test, seconds) in run(one, PARTS).items():
            print(f"{one.name:28} {part:15} {seconds:5.0f} s  {test or 'not noticed'}", flush=True)
            missed += [one.name] if test is None and part == "identities" else []
    if missed:
        raise SystemExit(f"not noticed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
