"""A small table, and a model fitted on it once for all tests."""

import numpy as np
import pytest

from mercer.cli import main

QUICK = ["--folds", "2", "--kernel", "Gaussian(1.0)", "--fix-kernel"]


def write_cars(path, n=24, seed=0):
    """A table of n rows: an identifier, a number, a category, a target, a label."""
    rng = np.random.default_rng(seed)
    speed = np.round(rng.uniform(4, 25, n), 1)
    road = rng.choice(["dry", "wet"], n)
    dist = np.round(3 * speed + 10 * (road == "wet") + rng.normal(0, 2, n), 1)
    rows = [f"car{i},{speed[i]},{road[i]},{dist[i]},{'far' if dist[i] > 45 else 'near'}" for i in range(n)]
    path.write_text("\n".join(["name,speed,road,dist,class", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def cars(tmp_path):
    return write_cars(tmp_path / "cars.csv")


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A folder with cars.csv and model.mercer."""
    folder = tmp_path_factory.mktemp("fitted")
    data = write_cars(folder / "cars.csv")
    arguments = ["fit", str(data), "--target", "dist", "--ignore", "class", *QUICK, "-o", str(folder / "model.mercer")]
    assert main([*arguments, "--quiet"]) == 0
    return folder


@pytest.fixture
def run(capsys):
    """Function that runs a command, by some options, and returns (exit code, stdout, stderr)."""

    def call(*arguments, options=()):
        code = main([str(argument) for argument in arguments], options)
        out = capsys.readouterr()
        return code, out.out, out.err

    return call


@pytest.fixture
def table_of():
    return write_cars
