"""``import mercer`` is quick, quiet and light; every public thing says what it is."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("matplotlib", "dask", "pandas", "polars")
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


def brought(code, *flags):
    """(packages that code loads and scikit-learn does not load by itself, processor seconds that it takes)."""
    before = f"import time\n{SKLEARN}\nbefore, t = set(sys.modules), time.process_time()\n"
    after = "print(time.process_time() - t, *(m for m in set(sys.modules) - before if '.' not in m))"
    seconds, *packages = python(f"{before}{code}\n{after}", *flags).split()
    return set(packages), float(seconds)


def test_import_is_light_and_quiet():
    code, warned = "import mercer", ("-W", "error")
    packages, extra = brought(code, *warned)
    for _ in range(2):  # processor time, the least of up to three fresh processes: a busy machine must not count
        extra = extra if extra < LIMIT else min(extra, brought(code, *warned)[1])
    assert "mercer" in packages and not set(HEAVY) & packages
    assert extra < LIMIT, f"import mercer took {extra:.3f} s after {SKLEARN!r}"


def test_a_small_fit_brings_nothing_heavy():
    fit = "import mercer\nmercer.KernelRidge().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0]).predict([[1.5]])"
    assert not set(HEAVY) & brought(fit, "-W", "error")[0]


@pytest.mark.slow  # python -O compiles all that is imported anew
def test_works_without_asserts():
    code = "import mercer\nm = mercer.KernelRidge(lam=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])\n"
    code += "print(__debug__, m.predict([[0.0], [1.0], [2.0]]).tolist())\n"
    plain, optimised = python(code), python(code, "-O")
    assert plain.startswith("True ")
    assert optimised == plain.replace("True ", "False ", 1)


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
