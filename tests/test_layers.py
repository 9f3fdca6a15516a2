"""Who may import whom. The code is read with ``ast``, not imported, so a lazy import counts too.

    estimators → selection, dual, inference → solvers → gram → kernels → numpy, scipy
    plots, report, cli, compat → estimators, never the other way

A *unit* is a module or a folder directly under ``src/mercer``. ``LAYERS`` says for each unit which others it may
import; a finer entry (``selection.criteria``) replaces the entry of its unit. A new unit must be entered here first.
"""

import ast
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "mercer"

LOW = {"exceptions", "_machine", "_tiles"}  # anyone may import these; _loops only through _tiles
MATHS = LOW | {"kernels", "gram", "solvers", "losses"}
MODELS = MATHS | {
    "selection",
    "dual",
    "inference",
    "uncertainty",
    "bias_variance",
    "diagnostics",
    "features",
    "estimators",
}
FACADE = ""  # mercer/__init__.py: the public names. Nothing below the tools may come back in through it.

LAYERS = {
    "exceptions": set(),
    "_machine": {"exceptions"},
    "_loops": set(),
    "_crew": set(),
    "_tiles": {"exceptions", "_machine", "_loops", "_crew"},
    "kernels": LOW,
    "gram": LOW | {"kernels"},
    "solvers": LOW | {"gram"},  # no kernel: a solver sees a Gram
    "losses": set(),
    # The next ones stand side by side: what two of them need belongs one layer down.
    "dual": LOW | {"gram", "solvers", "losses"},
    "inference": LOW | {"gram", "solvers", "losses"},
    "selection": MATHS,
    "selection.criteria": LOW | {"solvers"},  # no kernel and no data, so no Gram either
    "uncertainty": MATHS,
    "bias_variance": MATHS,
    "diagnostics": MATHS | {"bias_variance"},
    "features": MATHS,
    "estimators": MODELS,
    # The one arrow upwards: Estimator.save(path) is mercer.files.save(self, path), imported when it is called.
    "estimators._base": MODELS | {"files"},
    # The tools on top: they see the models, and no model sees them.
    "compat": MODELS,
    "tabular": MODELS,
    "files": MODELS | {"compat", "tabular"},  # whose classes it stores
    "testing": MODELS,
    "plots": MODELS | {FACADE},
    "report": MODELS | {FACADE, "plots", "files", "datasets"},
    "cli": MODELS | {FACADE, "compat", "files", "plots", "report", "datasets", "demo", "tabular"},
    "demo": MODELS | {FACADE, "datasets", "plots"},
    "__main__": {"cli", "demo"},
    "datasets": {"exceptions"},
}

CORE = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl"}  # installed with mercer, imported anywhere at any time
ONLY_NUMPY = ("losses",)
# Packages that have one home. All other packages, and these too except for numba, are imported inside a function.
HOMES = {
    "numba": ("_loops",),
    "llvmlite": ("_loops",),
    "dask": ("gram.backend",),
    "distributed": ("gram.backend",),
    "matplotlib": ("plots", "demo"),
}
EAGER = {"numba", "llvmlite"}
UNSAFE = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
MAX_FILE, MAX_FUNCTION = 400, 70


class Import(NamedTuple):
    """One import statement: the module's full name, the line, and whether it waits inside a function."""

    name: str
    line: int
    lazy: bool


# ------------------------------------------------------------------------------------------- the checker
def violations(root, package="mercer"):
    """Return one line for each broken rule in the package at ``root``, as "file:line: what"."""
    found = []
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        module = ".".join(relative.with_suffix("").parts).removesuffix("__init__").removesuffix(".")
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        rules = [
            *_import_rules(module, list(_imports(tree, module, relative.name, root, package)), package),
            *_safety_rules(module, tree),
            *_size_rules(text, tree),
        ]
        found += [f"{relative.as_posix()}:{line}: {what}" for line, what in sorted(rules)]
    return found


def _imports(tree, module, filename, root, package):
    """Yield every import of a module: statements, import_module("...") and __import__("...")."""
    here = [package, *module.split(".")] if module else [package]
    folder = here if filename == "__init__.py" else here[:-1]
    for node, lazy in _walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, lazy)
        elif isinstance(node, ast.ImportFrom):
            above = folder[: len(folder) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield Import(full if _is_module(full, root, package) else base, node.lineno, lazy)
        elif isinstance(node, ast.Call) and _called(node) in {"import_module", "__import__"}:
            named = bool(node.args) and isinstance(node.args[0], ast.Constant)
            yield Import(str(node.args[0].value) if named else "?", node.lineno, lazy)


def _walk(tree, lazy=False):
    """Yield (node, whether it is inside a function) for the whole tree."""
    for node in ast.iter_child_nodes(tree):
        inside = lazy or isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield node, inside
        yield from _walk(node, inside)


def _called(node):
    """The last name of what is called: ``import_module`` of ``importlib.import_module(...)``."""
    return getattr(node.func, "id", getattr(node.func, "attr", None))


def _is_module(name, root, package):
    """Whether a dotted name is a file or a folder of the package, not a name inside a module."""
    if not name.startswith(f"{package}."):
        return False
    path = root.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").is_file() or path.is_dir()


def _allowed(module):
    """The finest entry of LAYERS for a module, or None."""
    parts = module.split(".")
    names = [".".join(parts[:i]) for i in range(len(parts), 0, -1)]
    return next((LAYERS[name] for name in names if name in LAYERS), None)


def _under(module, places):
    """Whether a module is one of the places, or inside one."""
    return any(module == place or module.startswith(f"{place}.") for place in places)


def _import_rules(module, imports, package):
    """Yield (line, what) for each import that the tables above do not allow."""
    unit, allowed = module.split(".")[0], _allowed(module)
    if allowed is None and module != FACADE:
        yield 1, f"unit {unit!r} is not in LAYERS of tests/test_layers.py: give it a place"
        return
    # A module with a finer entry of its own sees its folder's base only, not its siblings.
    own = (f"{unit}.base", f"{unit}._base") if "." in module and module in LAYERS else (unit,)
    for name, line, lazy in imports:
        top, _, rest = name.partition(".")
        if top not in {package, "?"}:
            yield from _outside_rules(module, top, name, line, lazy)
        elif module == FACADE:
            continue  # it names what is public, wherever that stands
        elif top == "?":
            yield line, "import of a module whose name is not written out"
        elif rest.split(".")[0] not in allowed and not _under(rest, own):
            yield line, f"{module} may not import {name}"


def _outside_rules(module, top, name, line, lazy):
    """Yield (line, what) for an import from outside the package that the tables above do not allow."""
    if top in UNSAFE:
        yield line, f"{name}: loading it can run code from a file"
    elif top in sys.stdlib_module_names:
        return
    elif _under(module, ONLY_NUMPY) and top != "numpy":
        yield line, f"{module} may import numpy only, not {name}"
    elif top in HOMES and not _under(module, HOMES[top]):
        yield line, f"{top} may be imported only in {', '.join(HOMES[top])}"
    elif top not in CORE | EAGER and not lazy:
        yield line, f"{top} must be imported inside the function that needs it"


def _safety_rules(module, tree):
    """Yield (line, what) for eval, exec and numba's parallel=True."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        builtin = isinstance(node.func, ast.Name) or getattr(getattr(node.func, "value", None), "id", "") == "builtins"
        if builtin and _called(node) in {"eval", "exec"}:
            yield node.lineno, f"{_called(node)}() runs text as code"
        for keyword in node.keywords:
            off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
            if _under(module, ("_loops",)) and keyword.arg == "parallel" and not off:
                yield node.lineno, "parallel=True: numba's own threads abort under concurrent calls and fork"


def _size_rules(text, tree):
    """Yield (line, what) for a missing module docstring, a long file, a long function (docstrings not counted)."""
    if not ast.get_docstring(tree):
        yield 1, "no module docstring"
    lines = len(text.splitlines())
    if lines > MAX_FILE:
        yield 1, f"{lines} lines, more than {MAX_FILE}: split it"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = node.end_lineno - node.lineno + 1 - _docstring_lines(node)
            if length > MAX_FUNCTION:
                yield node.lineno, f"{node.name} has {length} lines, more than {MAX_FUNCTION}: split it"


def _docstring_lines(node):
    """How many lines the docstring of a function takes."""
    if not ast.get_docstring(node):
        return 0
    return node.body[0].end_lineno - node.body[0].lineno + 1


# --------------------------------------------------------------------------------------------- the tests
def test_the_package_keeps_the_rules():
    found = violations(SOURCE)
    assert not found, "\n" + "\n".join(found)


def test_arrows_have_no_cycle():
    units = {name: allowed - {FACADE} for name, allowed in LAYERS.items() if "." not in name}
    while units:
        lowest = {name for name, allowed in units.items() if not (allowed - {name}) & units.keys()}
        assert lowest, f"these import each other: {sorted(units)}"
        units = {name: allowed for name, allowed in units.items() if name not in lowest}


SOUND = {
    "__init__.py": "from mercer.estimators.ridge import KernelRidge\n",
    "exceptions.py": "",
    "_loops.py": "import numba\n@numba.njit(cache=True, nogil=True, parallel=False)\ndef f(x): return x\n",
    "_tiles.py": "def load():\n    from mercer import _loops\n    return _loops\n",
    "kernels/__init__.py": "from .radial import Gaussian\n",
    "kernels/base.py": "import numpy as np\nfrom mercer import _tiles\n",
    "kernels/radial.py": "from mercer.kernels.base import Kernel\nfrom ..exceptions import NumericalWarning\n",
    "gram/dense.py": "from mercer.kernels import Gaussian\nfrom scipy import linalg\n",
    "gram/backend.py": "def client():\n    import dask\n",
    "solvers/cg.py": "from mercer.gram.dense import DenseGram\n",
    "losses.py": "import numpy as np\nfrom abc import ABC\n",
    "selection/base.py": "",
    "selection/criteria.py": "from mercer.selection.base import Criterion\n",
    "selection/search.py": "from mercer.selection import criteria\nfrom mercer.kernels import Gaussian\n",
    "estimators/ridge.py": "from mercer import gram\nfrom mercer.solvers import cg\nfrom sklearn.base import clone\n",
    "plots/fit.py": "def draw():\n    import matplotlib.pyplot\n    from mercer import KernelRidge\n",
}

# file, source, and a part of the one complaint it must bring
BROKEN = [
    ("kernels/dot.py", "from mercer.gram import dense", "kernels.dot may not import mercer.gram.dense"),
    ("kernels/dot.py", "from ..estimators.ridge import KernelRidge", "may not import mercer.estimators.ridge"),
    ("kernels/dot.py", "def f():\n    import mercer.solvers.cg", "may not import mercer.solvers.cg"),
    ("kernels/dot.py", "from mercer import KernelRidge", "kernels.dot may not import mercer"),
    ("kernels/dot.py", "from mercer import _loops", "may not import mercer._loops"),
    ("kernels/dot.py", "import importlib\nimportlib.import_module('mercer.gram')", "may not import mercer.gram"),
    ("kernels/dot.py", "import importlib\nimportlib.import_module('mer' + 'cer')", "name is not written out"),
    ("gram/tiled.py", "from mercer.solvers import cg", "may not import mercer.solvers.cg"),
    ("gram/tiled.py", "def f():\n    import dask.array", "dask may be imported only in gram.backend"),
    ("solvers/lu.py", "from mercer.kernels import Gaussian", "solvers.lu may not import mercer.kernels"),
    ("solvers/lu.py", "from mercer.estimators import ridge", "may not import mercer.estimators.ridge"),
    ("selection/criteria.py", "from mercer.kernels.base import Kernel", "may not import mercer.kernels.base"),
    ("selection/criteria.py", "from mercer.gram import dense", "may not import mercer.gram.dense"),
    ("selection/criteria.py", "from mercer.selection import search", "may not import mercer.selection.search"),
    ("dual/ridge.py", "from mercer.selection import criteria", "may not import mercer.selection.criteria"),
    ("estimators/svm.py", "from mercer.plots import fit", "estimators.svm may not import mercer.plots.fit"),
    ("losses.py", "from scipy.special import expit", "losses may import numpy only"),
    ("losses.py", "from mercer.kernels import base", "losses may not import mercer.kernels.base"),
    ("gram/tiled.py", "import numba", "numba may be imported only in _loops"),
    ("estimators/svm.py", "def f():\n    import matplotlib.pyplot", "matplotlib may be imported only in plots"),
    ("plots/new.py", "import matplotlib", "matplotlib must be imported inside the function"),
    ("plots/new.py", "class A:\n    import pandas", "pandas must be imported inside the function"),
    ("shelf.py", "", "unit 'shelf' is not in LAYERS"),
    ("files.py", "def f():\n    import pickle", "pickle: loading it can run code"),
    ("cli.py", "def f(x):\n    return eval(x)", "eval() runs text as code"),
    ("cli.py", "import builtins\nbuiltins.exec('1')", "exec() runs text as code"),
    ("_loops.py", "import numba\n@numba.njit(parallel=True)\ndef f(x): return x", "parallel=True"),
    ("gram/tiled.py", "x = 1\n" * 500, "more than 400"),
    ("gram/tiled.py", "def f():\n" + "    x = 1\n" * 71, "f has 72 lines, more than 70"),
]


def tree(root, files):
    """Write a package of the given files, each under a module docstring."""
    for name, source in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'"""A module."""\n{source}\n', encoding="utf-8")
    return root


def test_a_sound_tree_passes(tmp_path):
    assert violations(tree(tmp_path, SOUND)) == []


@pytest.mark.parametrize(("file", "source", "complaint"), BROKEN, ids=[f"{b[0]}: {b[2]}" for b in BROKEN])
def test_a_broken_rule_is_found(tmp_path, file, source, complaint):
    found = violations(tree(tmp_path, {**SOUND, file: source}))
    assert len(found) == 1, found
    assert found[0].startswith(f"{file}:")
    assert complaint in found[0]


def test_a_missing_module_docstring_is_found(tmp_path):
    tree(tmp_path, SOUND)
    (tmp_path / "losses.py").write_text("import numpy as np\n", encoding="utf-8")
    assert violations(tmp_path) == ["losses.py:1: no module docstring"]


def test_docstrings_do_not_count_as_function_length(tmp_path):
    source = 'def f():\n    """One line.\n\n' + "    More.\n" * 100 + '    """\n' + "    x = 1\n" * 60
    assert violations(tree(tmp_path, {**SOUND, "gram/tiled.py": source})) == []


def test_the_line_of_a_lazy_import_is_named(tmp_path):
    source = "\n\ndef f():\n    def g():\n        from mercer import estimators\n"
    found = violations(tree(tmp_path, {**SOUND, "solvers/lu.py": source}))
    assert found == ["solvers/lu.py:6: solvers.lu may not import mercer.estimators"]
