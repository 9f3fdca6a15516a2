"""``import mercer`` is quick, quiet and light; every public thing says what it is."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("numba", "matplotlib", "dask", "pandas", "polars")
# What any estimator in scikit-learn's manner has loaded before its own first line.
SKLEARN = "import numpy, scipy.linalg, sklearn.base, sklearn.utils.validation"
LIMIT = 0.2  # seconds


def python(code, *flags):
    """Run code in a fresh interpreter and return what it printed; anything on stderr is a failure."""
    path = str(ROOT / "src")
    code = f"import sys; sys.path.insert(0, {path!r})\n{code}"
    done = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def brought(code):
    """Packages that code loads and scikit-learn does not load by itself (it loads pandas where there is one)."""
    before = f"{SKLEARN}\nbefore = set(sys.modules)\n"
    return python(f"{before}{code}\nprint(*(m for m in set(sys.modules) - before if '.' not in m))").split()


def test_import_brings_nothing_heavy():
    packages = brought("import mercer, mercer.kernels")
    assert "mercer" in packages
    assert not set(HEAVY) & set(packages)


def test_a_small_fit_brings_nothing_heavy():
    fit = "import mercer\nmercer.KernelRidge().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0]).predict([[1.5]])"
    assert not set(HEAVY) & set(brought(fit))


def test_import_costs_little_beyond_scikit_learn():
    # Processor time, the least of three fresh processes: a busy machine must not count.
    timed = f"import time\n{SKLEARN}\nt = time.process_time()\nimport mercer\nprint(time.process_time() - t)"
    extra = min(float(python(timed)) for _ in range(3))
    assert extra < LIMIT, f"import mercer took {extra:.3f} s after {SKLEARN!r}"


def test_import_warns_of_nothing():
    assert python("import mercer, mercer.kernels\nprint('loaded', mercer.__name__)", "-W", "error") == "loaded mercer\n"


@pytest.mark.slow  # python -O compiles all that is imported anew
def test_works_without_asserts():
    code = "import mercer\nm = mercer.KernelRidge(lam=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])\n"
    code += "print(__debug__, m.predict([[0.0], [1.0], [2.0]]).tolist())\n"
    plain, optimised = python(code), python(code, "-O")
    assert plain.startswith("True ")
    assert optimised == plain.replace("True ", "False ", 1)


def test_version_is_the_one_of_the_project_file():
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert mercer.__version__ == version[1]


def modules():
    """Names of all public modules of the package."""
    found = [name for _, name, _ in pkgutil.walk_packages(mercer.__path__, "mercer.")]
    return ["mercer", *(name for name in found if not any(part.startswith("_") for part in name.split(".")))]


def public(module):
    """Yield (name, thing) for each public class and function a module defines, and for the methods of the classes."""
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(thing) or inspect.isroutine(thing):
            yield name, thing
        if inspect.isclass(thing):
            for attribute, member in vars(thing).items():
                if not attribute.startswith("_") and (inspect.isroutine(member) or isinstance(member, property)):
                    yield f"{name}.{attribute}", getattr(thing, attribute)


@pytest.mark.parametrize("name", modules())
def test_everything_public_has_a_docstring(name):
    module = importlib.import_module(name)
    assert module.__doc__
    missing = [what for what, thing in public(module) if not inspect.getdoc(thing)]
    assert not missing


@pytest.mark.parametrize("name", [name for name in modules() if name.count(".") < 2])
def test_every_name_in_all_exists(name):
    module = importlib.import_module(name)
    for public_name in getattr(module, "__all__", ()):
        assert getattr(module, public_name) is not None
