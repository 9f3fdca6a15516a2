"""Files of earlier versions, which must go on loading; ``python -m files.files_of_earlier_versions`` adds new ones."""

import ast
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

import mercer

FOLDER = Path(__file__).parent / "golden"
NEW = [[0.25, -1.0], [1.5, 0.5]]
CLASSES = {
    "KernelRidge": {"lam": 0.1, "criterion": "LOO"},
    "KernelInterpolator": {},
    "BasisRegression": {"lam": 0.1},
    "SVR": {"C": 10.0},
    "KernelMachine": {"loss": "logistic"},
    "GaussianProcessRegressor": {"criterion": None},
    "GaussianProcessClassifier": {"criterion": None},
}


def names():
    """The stems of all files."""
    return sorted(path.stem for path in FOLDER.glob("*.mercer"))


def assert_predictions_are_as_they_were(name):
    """The model of a file has all the methods that it had, and they say what they said."""
    found = answers(mercer.load(FOLDER / f"{name}.mercer"))
    expected = json.loads((FOLDER / "predictions.json").read_text())[name]
    assert set(found) == set(expected)
    for method, values in expected.items():
        np.testing.assert_allclose(found[method], values, rtol=1e-9, atol=1e-12, err_msg=method)


def answers(model):
    """{method: numbers} of what a model says."""
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


def main():
    """Write what is not there yet."""
    FOLDER.mkdir(exist_ok=True)
    book = FOLDER / "predictions.json"
    known = json.loads(book.read_text()) if book.exists() else {}
    rng = np.random.default_rng(0)
    X = rng.standard_normal((16, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(16)
    for name, options in CLASSES.items():
        stem = f"v1-{name}"
        if (FOLDER / f"{stem}.mercer").exists():
            continue
        try:
            cls = getattr(mercer, name)
        except ImportError as error:
            print(f"{name}: {error}")
            continue
        rule = options.get("criterion")
        options = {**options, "criterion": getattr(mercer.selection, rule)()} if rule else options
        target = (y > 0).astype(int) if name in ("KernelMachine", "GaussianProcessClassifier") else y
        model = cls(mercer.kernels.Gaussian(1.0), **options) if name != "BasisRegression" else cls(**options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, target)
        model.save(FOLDER / f"{stem}.mercer")
        known[stem] = answers(model)
        print(stem)
    book.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
