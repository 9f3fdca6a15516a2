"""Small models in files with what they predict; ``python -m files.written_files`` writes the one that is kept."""

import ast
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

import mercer

FOLDER = Path(__file__).parent / "golden"
KEPT = "GaussianProcessRegressor"
NEW = [[0.25, -1.0], [1.5, 0.5]]
OPTIONS = {
    "KernelRidge": {"lam": 0.1, "criterion": "LOO"},
    "KernelInterpolator": {},
    "BasisRegression": {"lam": 0.1},
    "SVR": {"C": 10.0},
    "KernelMachine": {"loss": "logistic"},
    "GaussianProcessRegressor": {"criterion": None},
    "GaussianProcessClassifier": {"criterion": None},
}


def write(folder, names=OPTIONS):
    """Fit models of these names, and write them into a folder with their predictions."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((16, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(16)
    found = {}
    for name in names:
        options = dict(OPTIONS[name])
        if options.get("criterion"):
            options["criterion"] = getattr(mercer.selection, options["criterion"])()
        target = (y > 0).astype(int) if name in ("KernelMachine", "GaussianProcessClassifier") else y
        kernel = () if name == "BasisRegression" else (mercer.kernels.Gaussian(1.0),)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = getattr(mercer, name)(*kernel, **options).fit(X, target)
        model.save(folder / f"{name}.mercer")
        found[name] = answers(model)
    (folder / "predictions.json").write_text(json.dumps(found, indent=1) + "\n")


def check(folder):
    """Assert that the models in the files of a folder have all the methods they had, and predict what they did."""
    for name, expected in json.loads((Path(folder) / "predictions.json").read_text()).items():
        found = answers(mercer.load(Path(folder) / f"{name}.mercer"))
        assert set(found) == set(expected)
        for method, values in expected.items():
            np.testing.assert_allclose(found[method], values, rtol=1e-9, atol=1e-12, err_msg=f"{name}.{method}")


def answers(model):
    """{method: numbers} of what a model predicts."""
    methods = ("predict", "predict_proba", "predict_interval", "power_function")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            method: np.asarray(getattr(model, method)(NEW), dtype=float).tolist()
            for method in methods
            if hasattr(model, method)
        }


def private_attributes(paths):
    """The names with an underscore that are set as attributes, but for scikit-learn's own."""
    found = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    ours = {name for name in found if name.startswith("_") and not name.startswith("__") and name != "_"}
    return ours - set(dir(BaseEstimator)) - {"_metadata_request", "_skl_callbacks"}


if __name__ == "__main__":
    write(FOLDER, [KEPT])
