"""What the code may not do, read from its source: the rules of docs/design.md that no other tool can hold.

A rule is a function that yields "file:line: what" for each place that breaks it. ``CEILINGS`` says how many places may
be left: none, or where a rule is younger than the code a number that only falls. Who may import whom is written in
``pyproject.toml`` ([tool.importlinter]).
"""

import ast
import importlib.util
import re
import sys
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import mercer
from mercer.kernels import Gaussian
from mercer.solvers import LandmarkSizeOptions, PlanOptions

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "mercer"
CORE = ("kernels", "gram", "solvers", "losses", "dual", "primal", "inference", "selection", "uncertainty", "estimators")
CORE += ("approximate",)
BASES = {"Gram", "Inverse", "Solver", "Rule", "Criterion", "Loss", "Posterior", "Estimator", "KernelEstimator"}
BASES |= {"Approximation", "Fitted", "Problem", "Kernel"}
OTHERS = {"gp", "pl"}  # the kernels of scikit-learn, polars: names of theirs may be names of ours
MAX_FILE, MAX_FUNCTION = 400, 70
# {what is written instead: (words that names no longer have, as a regular expression, how many names are left)}
RETIRED = {
    "spectral features": ("waves?", 1), "duplicates, trend": ("groundwork", 0),
    "rescaled length scales": ("stretched|length_factor", 0), "criterion, default criterion": ("as_rule|unasked", 2),
    "LandmarkFit, stored state": ("grow|grown|task|kept|retain", 43),
    "warn, report, diagnose, resolve, prepare": ("told|said|examined|settled|begun", 29),
    "within-group sum of squares": ("spread", 20), "optimise, descend, restarts": ("climb|wander|go_down|alive", 1),
    "project out, explained variance, trend residual": ("beside|explained|slack|weigh", 17),
    "factorise without diagnostics": ("trial|as_it_is", 2), "precomputed kernels, checks": ("doors?|looks", 4),
    "batched Gram, thread pool, active set": ("clouds?|crew|face", 4), "default_criterion": ("chooses_by", 0),
    "set kernels, batched reader, schema inference": ("bags?|lifted|pages|survey", 18),
}  # fmt: skip
PLANS = True  # whether mercer.plan takes an estimator and its data, and a fit leaves plan_


# ------------------------------------------------------------------------------------- the source, read once
@cache
def trees():
    """{path below src/mercer: syntax tree}."""
    return {p.relative_to(SOURCE): ast.parse(p.read_text(encoding="utf-8")) for p in sorted(SOURCE.rglob("*.py"))}


@cache
def walked():
    return [(path, node) for path, tree in trees().items() for node in ast.walk(tree)]


def nodes(*kinds, outside=()):
    return [(path, node) for path, node in walked() if isinstance(node, kinds) and path.parts[0] not in outside]


def at(path, node, what):
    return f"{path.as_posix()}:{getattr(node, 'lineno', 1)}: {what}"


def dotted(node):
    """The text of a name like np.linalg.solve; of anything else there is none."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def imported(node):
    """Full names that an import statement asks for."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]


@cache
def classes():
    """{class name: [(path, ClassDef), ...]} of the package."""
    found = {}
    for path, node in nodes(ast.ClassDef):
        found.setdefault(node.name, []).append((path, node))
    return found


@cache
def ancestors(name):
    """Names of all bases of a class; those of a class of the same name elsewhere too."""
    bases = {dotted(base).rsplit(".", 1)[-1] for _, node in classes().get(name, []) for base in node.bases} - {name}
    return bases.union(*map(ancestors, bases))


@cache
def members(name):
    """Names that a class defines or declares: in its body, and on self in its methods."""
    found = set()
    for cls in (cls for _, cls in classes().get(name, [])):
        inside = [*ast.walk(cls)]
        found |= {node.name for node in inside if isinstance(node, ast.FunctionDef)}
        inits = [s.args for s in cls.body if getattr(s, "name", "") == "__init__"]  # what `Parametrised` stores
        found |= {arg.arg for args in inits for arg in args.args + args.kwonlyargs} - {"self"}
        found |= {dotted(node)[5:] for node in inside if "self." in dotted(node) and isinstance(node.ctx, ast.Store)}
        body = [s for s in cls.body if isinstance(s, ast.Assign | ast.AnnAssign)]
        found |= {dotted(target) for s in body for target in getattr(s, "targets", [getattr(s, "target", None)])}
    return found


# ---------------------------------------------------------------------------------------------- the rules
def factorisations():
    """No Cholesky, LU, QR, eigen- or triangular routine outside solvers."""
    libraries = {"linalg", "lapack", "numpy.linalg", "np.linalg", "scipy.linalg", "scipy.linalg.lapack"}
    harmless = {"norm", "LinAlgError", "LinAlgWarning", "LinearOperator", "blas"}
    for path, node in nodes(ast.ImportFrom, ast.Attribute, outside=("solvers", "testing")):
        names = imported(node) if isinstance(node, ast.ImportFrom) else [dotted(node)]
        for home, _, name in (full.rpartition(".") for full in names):
            if home in libraries and name not in harmless:
                yield at(path, node, f"{home}.{name}")


def algebra_in_estimators():
    """An estimator asks the others: no matrix product of its own."""
    for path, node in nodes(ast.BinOp, ast.Attribute):
        product = isinstance(getattr(node, "op", None), ast.MatMult)
        if path.parts[0] == "estimators" and (product or dotted(node) in ("np.einsum", "np.dot", "np.vdot")):
            yield at(path, node, ast.unparse(node))


def branches_on_the_approximation():
    """An estimator asks its approximation and what this has fitted; it does not find out which one it is."""
    words = re.compile(r"landmarks|neighbours|fourier", re.IGNORECASE)
    for path, node in nodes(ast.Call, ast.Compare, ast.If, ast.IfExp):
        asked = node.test if isinstance(node, ast.If | ast.IfExp) else node
        question = not isinstance(node, ast.Call) or dotted(node.func) in ("isinstance", "hasattr", "getattr")
        if path.parts[0] == "estimators" and question and words.search(ast.unparse(asked)):
            yield at(path, node, ast.unparse(asked))


def recognised_by_class():
    """No isinstance on a subclass of a part or an estimator outside its own package."""
    homes = {name: {p.parts[0] for p, _ in found} for name, found in classes().items() if ancestors(name) & BASES}
    for path, node in nodes(ast.Call):
        if dotted(node.func) in ("isinstance", "issubclass"):
            names = [dotted(part).split(".") for part in ast.walk(node.args[1])]
            asked = {name[-1] for name in names if name[0] not in OTHERS} & homes.keys()
            yield from (at(path, node, name) for name in sorted(asked) if path.parts[0] not in homes[name])


def recognised_by_name():
    """No type(x).__name__ compared with the name of a class of ours; pandas' NA may be known by its name."""
    for path, node in nodes(ast.Compare, outside=("testing",)):
        sides = [node.left, *node.comparators]
        if any(isinstance(s, ast.Attribute) and s.attr == "__name__" and isinstance(s.value, ast.Call) for s in sides):
            asked = set(map(dotted, sides)) - {""}
            tables = [s for s in trees()[path].body if isinstance(s, ast.Assign) and dotted(s.targets[0]) in asked]
            if any(getattr(part, "value", 0) in [*classes()] for s in [*sides, *tables] for part in ast.walk(s)):
                yield at(path, node, ast.unparse(node))


def recognised_by_attribute(surfaces=False):
    """No getattr or hasattr for a name of our own; data and models of others may be asked for theirs."""
    own = set().union(*(members(name) for name, found in classes().items() if found[0][0].parts[0] in CORE))
    own -= {"shape", "dtype", "columns", "name", "nodes", "edges", "is_directed"}  # of NumPy, pandas, networkx
    own -= {
        "get_params",
        "steps",
        "predict_proba",
        "random_state",
        "max_iter",
        "n_features_in_",
        "feature_names_in_",
        *dir(list),
    }  # of scikit-learn, sequences
    for path, node in nodes(ast.Call):
        if dotted(node.func) in ("getattr", "hasattr") and surfaces == (path.parts[0] not in CORE):
            if getattr(node.args[1], "value", None) in own and dotted(node.args[0]) != "self":
                yield at(path, node, ast.unparse(node))


def asked_by_surfaces():
    """A report, a file, a table or a plot asks what every estimator declares, not what this one happens to have."""
    return recognised_by_attribute(surfaces=True)


def borrowed_names():
    """No class in estimators uses a private name that neither it nor a base of it defines or declares."""
    for name, found in classes().items():
        known = members(name).union(dir(BaseEstimator), *(members(base) for base in ancestors(name)))
        for path, cls in (pair for pair in found if pair[0].parts[0] == "estimators"):
            used = {n.attr for n in ast.walk(cls) if isinstance(n, ast.Attribute) and dotted(n.value) == "self"}
            yield from (at(path, cls, f"{name}.{one}") for one in sorted(used - known) if one.startswith("_"))


def private_imports():
    """Nobody imports another package's _module, nor the engine of the solvers."""
    for path, node in nodes(ast.Import, ast.ImportFrom):
        for top, home, *rest in (name.split(".") for name in imported(node) if name.count(".") > 1):
            if top == "mercer" and home != path.parts[0] and any(part[0] == "_" or part == "engine" for part in rest):
                yield at(path, node, ".".join([home, *rest]))


def numbered_warnings():
    """`_warn.warn` finds the caller's line; nobody counts frames."""
    found = nodes(ast.keyword, outside=("_warn.py",))
    return [at(path, node.value, node.arg) for path, node in found if node.arg == "stacklevel"]


def classes_of_one_name():
    """A class is known by its name alone; mercer.compat has the names of scikit-learn."""
    for name, found in classes().items():
        places = [
            at(path, node, "")[:-2] for path, node in found if path.parts[0] != "compat" or name.endswith("Mixin")
        ]
        if len(places) > 1:
            yield f"{name}: {', '.join(places)}"


def modules_of_like_names():
    """No two modules differ by a letter, or by an ending of two; the same name in two packages is no likeness."""
    paths = [path for path in trees() if len(path.stem.strip("_")) > 4 and not path.stem.startswith("__")]
    for a, b in combinations(paths, 2):
        one, two = sorted((a.stem.strip("_"), b.stem.strip("_")), key=len)
        letter = any(two[:i] + two[i + 1 :] in (one, one[:i] + one[i + 1 :]) for i in range(len(two)))
        alike = a.parent == b.parent if one == two else letter or (two.startswith(one) and len(two) == len(one) + 2)
        if alike and {one, two} != {"tiles", "tiled"}:  # tiles, and the Gram of them
            yield f"{a.as_posix()} and {b.as_posix()}"


def unsafe():
    """Nothing that runs text as code, or loads what can."""
    modules = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
    for path, node in nodes(ast.Import, ast.ImportFrom, ast.Call):
        if not isinstance(node, ast.Call):
            yield from (at(path, node, name) for name in imported(node) if name.split(".")[0] in modules)
        elif dotted(node.func).removeprefix("builtins.") in ("eval", "exec"):
            yield at(path, node, dotted(node.func))


def eager_imports():
    """What is not installed with mercer, or is slow to load, is imported where it is needed."""
    light = {"", "mercer", "numpy", "scipy", "sklearn", "joblib", "threadpoolctl", *sys.stdlib_module_names}
    for path, node in nodes(ast.Import, ast.ImportFrom):
        if node in trees()[path].body and {name.split(".")[0] for name in imported(node)} - light:
            yield at(path, node, ast.unparse(node))


def long():
    """A module says what it is, and files and functions can be read at once; docstrings of functions do not count."""
    for path, node in nodes(ast.Module, ast.FunctionDef):
        said, most = ast.get_docstring(node, clean=False), MAX_FUNCTION
        lines = getattr(node, "end_lineno", 0) - getattr(node, "lineno", 0) + 1 - len((said or "").splitlines())
        if isinstance(node, ast.Module):
            lines, most = len((SOURCE / path).read_text(encoding="utf-8").splitlines()), MAX_FILE
            yield from [] if said else [at(path, node, "no docstring")]
        if lines > most:
            yield at(path, node, f"{lines} lines, at most {most}")


def numeric_constants():
    """A number that steers behaviour is a field of an options class, not a constant of a module."""
    for path, tree in trees().items():
        for node in (node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) and node.value):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                pairs = house().paired(target, node.value)
                yield from (at(path, node, name) for name, value in pairs if house().number(value))


@cache
def house():
    """tools/house.py, which knows what a number is."""
    spec = importlib.util.spec_from_file_location("house", ROOT / "tools" / "house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def retired_words():
    """No module, class, function, parameter or attribute has a word that was retired for one of the field."""
    for path, node in nodes(ast.Module, ast.ClassDef, ast.FunctionDef, ast.arg, ast.Attribute):
        if isinstance(node, ast.Module):
            names = path.with_suffix("").parts
        else:
            stored = not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Store)
            names = [next(getattr(node, part) for part in ("name", "arg", "attr") if hasattr(node, part))] * stored
        for name in names:
            words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
            found = (instead for instead, (old, _) in RETIRED.items() if re.search(f"(?:^|_)(?:{old})(?:_|$)", words))
            yield from (at(path, node, f"{name} instead of {instead}") for instead in found)


# Rules that are younger than the code, and how many places are left: fewer are fine, and then the number falls.
FALLING = {numeric_constants: 235, retired_words: sum(left for _, left in RETIRED.values())}
CEILINGS = {
    factorisations: 1, algebra_in_estimators: 0, borrowed_names: 0, private_imports: 0, recognised_by_class: 0,
    recognised_by_name: 0, recognised_by_attribute: 0, asked_by_surfaces: 0, classes_of_one_name: 0,
    branches_on_the_approximation: 0,
    modules_of_like_names: 0, numbered_warnings: 0, unsafe: 0, eager_imports: 0, long: 0,
}  # fmt: skip


@pytest.mark.parametrize(("rule", "ceiling"), FALLING.items(), ids=[rule.__name__ for rule in FALLING])
def test_what_is_left_only_falls(rule, ceiling):
    found = sorted(rule())
    assert len(found) <= ceiling, "\n".join([f"{rule.__doc__} {len(found)} places, {ceiling} were left:", *found])


@pytest.fixture(scope="module")
def retired():
    return [*retired_words()]


@pytest.mark.parametrize("instead", RETIRED)
def test_a_retired_word_does_not_come_back(instead, retired):
    found = [place for place in retired if place.endswith(f"instead of {instead}")]
    assert len(found) <= RETIRED[instead][1], "\n".join(found)


@pytest.mark.parametrize(("rule", "ceiling"), CEILINGS.items(), ids=[rule.__name__ for rule in CEILINGS])
def test_rule(rule, ceiling):
    found = sorted(rule())
    assert len(found) <= ceiling, "\n".join([f"{rule.__doc__} {len(found)} places, {ceiling} were left:", *found])
    assert len(found) == ceiling, f"fewer than before: lower the ceiling of {rule.__name__} to {len(found)}"


def test_imports_go_one_way(capsys):
    from importlinter.cli import lint_imports

    broken = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert not broken, capsys.readouterr().out


def test_a_fit_does_what_was_planned(rng):
    X, found = rng.standard_normal((40, 2)), [getattr(mercer, name) for name in mercer.__all__]
    for cls in [cls for cls in found if isinstance(cls, type) and issubclass(cls, BaseEstimator)] if PLANS else []:
        labels = cls().__sklearn_tags__().estimator_type == "classifier"
        y = (X[:, 0] > 0).astype(int) if labels else X[:, 0] ** 2
        assert mercer.plan(cls(), X, y) == cls().fit(X, y).plan_, cls.__name__


def test_a_fit_does_what_was_planned_with_options(rng):
    X, y = rng.uniform(0, 4, (120, 2)), rng.standard_normal(120)
    options = [PlanOptions(exact_below=50, exact_seconds=1e-9), LandmarkSizeOptions(largest=64, first=64)]
    ridge, process = mercer.KernelRidge, mercer.GaussianProcessRegressor(Gaussian(1.0), 0.1, criterion=None)
    for model, gram in ((ridge(criterion="gcv"), "landmarks"), (ridge(lam=0.1), "landmarks"), (process, "fourier")):
        model.set_params(options=options)
        assert mercer.plan(model, X, y) == model.fit(X, y).plan_ and model.plan_.gram == gram
