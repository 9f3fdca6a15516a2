"""Print each direct dependency with the oldest version that pyproject.toml allows, as constraints for pip."""

import re
import tomllib
from pathlib import Path

FLOOR = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?>=([0-9.]+)")


def floors():
    """{name: oldest version} of the package and of the extras that its tests use."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return dict(FLOOR.match(line).groups() for line in project["dependencies"] + extras["cli"] + extras["plots"])


if __name__ == "__main__":
    print("\n".join(f"{name}=={version}.*" for name, version in floors().items()))
