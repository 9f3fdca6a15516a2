"""The package as users get it: versions agree, metadata is theirs alone, the wheel works in an empty environment."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import mercer

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
