"""The package as users get it: versions agree, metadata is theirs alone, the wheels work or hold what they must."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import mercer
from mercer._native import Loops, build

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_is_written_once():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/mercer/__init__.py"
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)[1]
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert cited == mercer.__version__ == re.search(r"version: \"(\S+)\"", recipe)[1]
    assert f"\n## {mercer.__version__} (" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_what_developers_need_is_not_in_the_metadata_of_the_package():
    public = [one for extra in PROJECT["project"]["optional-dependencies"].values() for one in extra]
    names = {re.match(r"[\w.-]+", one)[0].lower() for one in public}
    assert not names & {"torch", "pytest", "ruff", "mypy", "sphinx", "gpytorch", "gpy", "playwright"}


def test_the_recipe_for_conda_asks_for_what_the_package_asks_for():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    for line in PROJECT["project"]["dependencies"]:
        name, floor = re.match(r"([\w.-]+)>=([\d.]+)", line).groups()
        assert f"- {name} >={floor}" in recipe


def test_the_package_is_described_once():
    said = PROJECT["project"]["description"]
    assert f'summary: "{said}"' in (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    plain = (ROOT / "README.md").read_text(encoding="utf-8").replace("for Python ", "")
    assert f"**{said}.**" in plain


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_wheel_and_sdist_build_and_the_wheel_works_in_an_empty_environment(tmp_path):
    run(sys.executable, "-m", "build", "--outdir", tmp_path / "dist", ROOT)
    [wheel], [sdist] = (tmp_path / "dist").glob("*.whl"), (tmp_path / "dist").glob("*.tar.gz")
    assert wheel.name.startswith(f"mercer-{mercer.__version__}-")
    inside = zipfile.ZipFile(wheel).namelist()
    assert "mercer/datasets/cars.csv" in inside
    assert not [name for name in inside if not name.startswith("mercer")]
    assert any(name.endswith("tests/test_smoke.py") for name in tarfile.open(sdist).getnames())
    run(sys.executable, "-m", "venv", tmp_path / "empty")
    python = tmp_path / "empty" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[cli]", "pytest")
    smoke = tmp_path / "test_smoke.py"
    smoke.write_text((ROOT / "tests" / "test_smoke.py").read_text(encoding="utf-8"), encoding="utf-8")
    told = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", smoke, cwd=tmp_path)
    assert re.search(r"\d+ passed", told) and "skipped" not in told


# ------------------------------------------------------------------------------------------------- every platform
MACHINES = {  # where a library says for which processor it is, and what it says
    "x86_64-linux": (18, b"\x3e\x00"),
    "aarch64-linux": (18, b"\xb7\x00"),
    "x86_64-macos": (4, b"\x07\x00\x00\x01"),
    "aarch64-macos": (4, b"\x0c\x00\x00\x01"),
}


class Names:
    """Stands for the library and collects the names of the functions that are asked for."""

    def __init__(self):
        self.found = set()

    def function(self, name, *_):
        self.found.add(name)

    def functions(self, name, *_):
        self.found |= {f"{name}_float64", f"{name}_float32"}


def check_library(content, target):
    """Every function of every variant is there, for the right processor, and an old Linux can load it."""
    names = Names()
    Loops(names)
    assert len(names.found) > 20
    for suffix in build.variants(target):
        missing = [name for name in names.found if f"{name}{suffix}".encode() not in content]
        assert not missing, (target, suffix)
    if target in MACHINES:
        place, told = MACHINES[target]
        assert content[place : place + len(told)] == told
    else:
        place = int.from_bytes(content[60:64], "little")
        assert content[place : place + 6] == b"PE\0\0\x64\x86"
    needed = [tuple(map(int, found.split(b"."))) for found in re.findall(rb"GLIBC_([\d.]+)", content)]
    assert max(needed, default=(2, 17)) <= (2, 17)  # manylinux2014


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("target", [*build.TARGETS, None])
def test_a_wheel_for_each_platform(target, tmp_path):
    wanted = {"MERCER_TARGET": target} if target else {"MERCER_NATIVE": "0"}
    known = {name: value for name, value in os.environ.items() if not name.startswith("MERCER_")}
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT, env={**known, **wanted})
    [path] = tmp_path.glob("*.whl")
    tag = build.TARGETS[target][1] if target else "any"
    assert path.name == f"mercer-{mercer.__version__}-py3-none-{tag}.whl"
    with zipfile.ZipFile(path) as wheel:
        libraries = [name for name in wheel.namelist() if name.endswith((".so", ".dylib", ".dll"))]
        assert libraries == ([f"mercer/_native/{build.library_name(target)}"] if target else [])
        for name in libraries:
            check_library(wheel.read(name), target)
