"""What must work wherever mercer is installed: each estimator, a model file, the command line; from the wheel, too."""

import subprocess
import sys

import numpy as np
import pytest

import mercer
from mercer.datasets import load_cars
from mercer.kernels import Gaussian

X = np.linspace(0.0, 3.0, 24)[:, None]
Y = np.sin(2.0 * X[:, 0])
REGRESSORS = {
    "KernelRidge": mercer.KernelRidge(Gaussian(0.7), lam=1e-3),
    "KernelInterpolator": mercer.KernelInterpolator(Gaussian(0.7)),
    "GaussianProcessRegressor": mercer.GaussianProcessRegressor(Gaussian(0.7), noise=1e-3, criterion=None),
    "SVR": mercer.SVR(Gaussian(0.7), C=100.0, epsilon=0.01),
    "KernelMachine": mercer.KernelMachine(Gaussian(0.7), "huber", lam=1e-3),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_fits_predicts_and_comes_back_from_a_file(name, tmp_path):
    model = REGRESSORS[name].fit(X, Y)
    assert model.score(X, Y) > 0.99
    model.save(tmp_path / "model.mercer")
    assert np.array_equal(mercer.load(tmp_path / "model.mercer").predict(X), model.predict(X))


def test_a_classifier():
    labels = np.where(Y > 0, "up", "down")
    model = mercer.GaussianProcessClassifier(Gaussian(0.7), criterion=None).fit(X, labels)
    assert (model.predict(X) == labels).mean() > 0.9
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_a_search_finds_a_model_of_the_cars():
    X, y = load_cars(return_X_y=True)
    model = mercer.KernelRidge(criterion="loo").fit(X, y)
    assert np.sqrt(np.mean(model.loo_residuals_**2)) < 0.7 * y.std()


def test_the_command_line_fits_and_predicts(tmp_path):
    pytest.importorskip("polars")
    table = tmp_path / "table.csv"
    rows = [f"{x:.4f},{y:.4f}" for x, y in zip(X[:, 0], Y, strict=True)]
    table.write_text("\n".join(["x,y", *rows]) + "\n", encoding="utf-8")

    def run(*arguments):
        command = [sys.executable, "-m", "mercer", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("fit", table, "--target", "y", "-o", "model.mercer", "--quick")
    assert len(run("predict", "model.mercer", table).splitlines()) == len(rows) + 1
