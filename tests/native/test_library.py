"""The library: which variant is chosen, what there is without one, and how it is built."""

import _ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer import _native
from mercer._native import library

NATIVE = Path(_native.__file__).parent
FEW = """
import json
import numpy as np
from mercer import _native

rng, every = np.random.default_rng(0), np.arange(9)
X, words = rng.standard_normal((9, 5)), (rng.integers(0, 4, 60), 5 * every, 5 * every + every)
K, C, E = np.empty((9, 9)), np.array([np.cov(X.T) for _ in range(3)]), np.exp(np.eye(4))
_native.pairs.tree(_native.Operations.radial(0, 5, 8), X, np.ascontiguousarray(X.T), 0, 1e300, K)
found = [
    K, *_native.neighbours.conditionals(C, np.zeros((3, 4), dtype=bool), 1e-13, np.ones((3, 1, 4)))[:3],
    _native.neighbours.nearest(X, np.ascontiguousarray(X.T), 4, np.full(9, 9), every),
    *_native.strings.subsequence(words, words, every, every[::-1], 2, 0.5, True),
    *_native.strings.alignment(words, words, every, every[::-1], E, np.eye(4) * E, (0.1, -0.2, 0.5, -0.3), True),
    _native.transport.cheapest_flow(X, np.ones(9), np.full(5, 1.8), 1e-15),
]
print(json.dumps([_native.describe(), [np.asarray(part).ravel().tolist() for part in found]]))
"""
MANY = """
import json
import numpy as np
from mercer import _native
from mercer.gram.neighbours import NearestRows
from mercer.kernels import Gaussian, LocalAlignment, Matern52, RandomWalk, Subsequence, TransportKernel
from mercer.solvers.small import conditionals

rng = np.random.default_rng(0)
X, words = rng.standard_normal((60, 9)), ["".join(rng.choice(list("ACGT"), n)) for n in range(12)]
C = np.array([Gaussian(3.0)(X[i : i + 7]) + 0.1 * np.eye(7) for i in range(5)])
found = [
    Matern52(2.0)(X), Subsequence(2, 0.5)(words), LocalAlignment(log=True)(words),
    RandomWalk(0.05)([[(i, i + 1) for i in range(n)] for n in range(1, 8)]),
    TransportKernel(X[:8, :2])([X[i : i + 5, :2] for i in range(9)]),
    NearestRows(Gaussian(), X).others(np.arange(60), 5), *conditionals(C, np.zeros((5, 6), dtype=bool))[:2],
]
print(json.dumps([_native.describe(), [np.asarray(part).ravel().tolist() for part in found]]))
"""


def run(*command, **environment):
    """The finished process of a Python with these arguments."""
    known = {name: value for name, value in os.environ.items() if name not in ("MERCER_NATIVE", "CC")}
    known["PYTHONPATH"] = os.pathsep.join(map(str, [Path(mercer.__file__).parent.parent]))
    return subprocess.run(
        [sys.executable, *map(str, command)], env={**known, **environment}, capture_output=True, text=True, timeout=800
    )


# ---------------------------------------------------------------------------------------------- which runs
def numbers(script, *options, **environment):
    """(what runs, numbers) of a process with these options and this environment."""
    done = run(*options, "-c", script, **environment)
    assert done.returncode == 0, done.stderr
    said, values = json.loads(done.stdout)
    return said, np.concatenate(values)


@pytest.mark.parametrize("script", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
def test_without_the_library_the_numbers_are_the_same(script):
    compiled, plain = numbers(script, "-OO"), numbers(script, MERCER_NATIVE="0")
    assert compiled[0].startswith("compiled") and plain[0] == "NumPy, not the compiled library: MERCER_NATIVE=0"
    np.testing.assert_allclose(compiled[1], plain[1], rtol=1e-12, atol=1e-12)


def test_a_variant_that_the_processor_lacks():
    loops, why = _native._load("v9")
    assert loops.pairs is _native.plain.pairs
    assert "not MERCER_NATIVE=v9" in why and _native._variant in why
    done = run("-c", "from mercer import _native; print(_native.describe())", MERCER_NATIVE="v9")
    assert done.stdout.startswith("NumPy, not the compiled library: this processor runs ")


@pytest.mark.parametrize("level, able", [(1, ""), (2, "v2"), (3, "v2, v3"), (4, "v2, v3, v4")])
def test_each_processor_runs_its_best_variant(level, able):
    """Of a library whose processor is told to be another one."""
    made = library.Library.__new__(library.Library)
    made._library = type("Told", (), {"processor_level_v2": staticmethod(lambda: level)})
    if not able:
        with pytest.raises(library.LibraryError, match="older than x86-64-v2"):
            made._choose("")
        return
    assert made._choose("") == able[-2:] and made._choose("v2") == "v2"
    with pytest.raises(library.LibraryError, match=f"runs {able}, not MERCER_NATIVE=base"):
        made._choose("base")


def use(monkeypatch, path):
    """(loops, why there are none) where this is the only library."""
    monkeypatch.setattr(library, "NAMES", (str(path),))  # an absolute path stays one
    return _native._load("")


def test_a_missing_library(monkeypatch, tmp_path):
    loops, why = use(monkeypatch, tmp_path / "libmercer.so")
    assert loops.strings is _native.plain.strings and why.startswith("it was not compiled when mercer was installed; ")
    assert "where there is a C compiler" in why
    assert f"python {NATIVE / 'build.py'}" in why if (NATIVE / "build.py").exists() else "--no-binary mercer" in why


@pytest.mark.parametrize("content", [b"", b"no library at all", b"\x7fELF\x02\x01\x01"])
def test_a_broken_library(content, monkeypatch, tmp_path):
    path = tmp_path / "libmercer.so"
    path.write_bytes(content)
    loops, why = use(monkeypatch, path)
    assert loops.strings is _native.plain.strings and why.startswith("it does not load (")


def test_somebody_elses_library(monkeypatch, tmp_path):
    path = Path(shutil.copy(_ctypes.__file__, tmp_path / "libmercer.so"))
    loops, why = use(monkeypatch, path)
    assert loops.strings is _native.plain.strings and why == "it has no functions of mercer"


# ---------------------------------------------------------------------------------------------- how it is built
@pytest.fixture
def folder(tmp_path):
    """A copy of the sources, with nothing compiled."""
    ignored = shutil.ignore_patterns("libmercer*", "*.dll", "__pycache__", "plain")
    return Path(shutil.copytree(NATIVE, tmp_path / "_native", ignore=ignored))


def compiled_files(folder):
    return sorted(path.name for path in folder.iterdir() if "mercer" in path.name)


def build(folder, *options, **environment):
    return run(*options, folder / "build.py", **environment)


def only_processor(folder):
    """Leave one small file of C: quick to compile."""
    for path in folder.glob("*.c"):
        if path.name != "processor.c":
            path.unlink()


def test_a_build_is_done_once_and_an_older_library_is_told_apart(folder, monkeypatch):
    only_processor(folder)
    first, second = build(folder, "-O"), build(folder, "-O")
    assert first.returncode == second.returncode == 0
    assert first.stderr == "mercer: compiling 1 C files ...\n" and second.stderr == ""
    name = {"win32": "mercer.dll", "darwin": "libmercer.dylib"}.get(sys.platform, "libmercer.so")
    assert compiled_files(folder) == sorted([name, "libmercer.stamp"])
    loops, why = use(monkeypatch, folder / name)
    assert loops.pairs is _native.plain.pairs and why.startswith("it is older than the sources")


def test_without_a_compiler_there_is_a_sentence(folder, tmp_path):
    (folder / "libmercer.so").write_bytes(b"of other sources")
    done = build(folder, "-I", "-S", PATH=str(tmp_path))
    assert done.returncode == 0 and done.stdout == ""
    assert done.stderr.startswith("mercer: no C compiler was found (gcc, clang or the package ziglang); mercer runs ")
    assert done.stderr.count("\n") == 1
    if sys.platform == "linux":
        assert compiled_files(folder) == []  # what other sources expect is another thing
    asked = run("-I", "-S", folder / "build.py", "--to", tmp_path, PATH=str(tmp_path))
    assert asked.returncode == 1 and asked.stderr.startswith("mercer: no C compiler was found")


def test_two_builds_at_once_leave_a_whole_library(folder, monkeypatch):
    only_processor(folder)
    both = [subprocess.Popen([sys.executable, folder / "build.py"], stderr=subprocess.PIPE) for _ in range(2)]
    assert [(done.communicate(timeout=120), done.returncode)[1] for done in both] == [0, 0]
    found = compiled_files(folder)
    assert len(found) == 2 and "libmercer.stamp" in found
    assert use(monkeypatch, folder / next(name for name in found if name != "libmercer.stamp"))[1].startswith(
        "it is old"
    )


def test_an_error_of_the_compiler_is_told(folder):
    only_processor(folder)
    (folder / "processor.c").write_text("int nothing(void) { return missing; }")
    done = build(folder)
    assert done.returncode == 0 and "missing" in done.stderr and compiled_files(folder) == []


def test_a_folder_that_cannot_be_written_to(folder, tmp_path):
    only_processor(folder)
    (tmp_path / "file").touch()
    done = run(folder / "build.py", "--to", tmp_path / "file")  # chmod does not hold root
    assert done.returncode == 1 and "libmercer" in done.stderr and "cannot be written (" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_read_only_folder_is_no_reason_to_fail(folder):
    only_processor(folder)
    script = f"""
import importlib.util, shutil
spec = importlib.util.spec_from_file_location("build", {str(folder / "build.py")!r})
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)
def copyfile(*names):
    raise PermissionError(13, "Permission denied")
shutil.copyfile = copyfile
print(build.build_here())
"""
    done = run("-c", script)
    assert done.stdout == "False\n" and "cannot be written (Permission denied); mercer runs without" in done.stderr
    assert compiled_files(folder) == []


# ---------------------------------------------------------------------------------------------- with a sanitizer
def sanitizer():
    """Path of the runtime of the address sanitizer of gcc; None where there is none."""
    if sys.platform != "linux" or shutil.which("gcc") is None:
        return None
    path = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    return path if Path(path).is_absolute() else None


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_loop_touches_what_is_not_its_own(tmp_path):
    """All the tests of this folder with a library that watches every access and every operation."""
    runtime = sanitizer()
    if runtime is None:
        pytest.skip("gcc has no address sanitizer")
    source = Path(shutil.copytree(NATIVE.parent, tmp_path / "mercer", ignore=shutil.ignore_patterns("__pycache__")))
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g1")
    script, options = source / "_native" / "build.py", [f"--flag={flag}" for flag in flags]
    built = run(script, "--to", source / "_native", *options, CC="gcc")
    assert built.returncode == 0, built.stderr
    environment = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONPATH": str(tmp_path)}
    tests = [path for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__)]
    options = ("-n", "0", "-p", "no:cacheprovider", "-m", "not slow", f"-opythonpath={tmp_path}")
    done = run("-m", "pytest", *options, *tests, **environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert f"), {source / '_native'}" in done.stdout  # of what is tested
