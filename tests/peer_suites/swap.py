"""A pytest plugin that puts the classes of mercer.compat in the place of scikit-learn's, before its tests are imported.

Its test files are run where they are installed; nothing is copied. They import ``sklearn.svm.SVR`` and so on by name:
it is enough to replace the names in scikit-learn's packages before that. Of ``test_svm.py`` only the tests of SVR and
NuSVR are kept. Run by ``run.py``, in a process of its own.
"""

import inspect
import re
from importlib import import_module

import pytest

from mercer import compat
from peer_suites.differences import DIFFERENCES

PLACES = {
    "sklearn.kernel_ridge": ["KernelRidge"],
    "sklearn.gaussian_process": ["GaussianProcessRegressor", "GaussianProcessClassifier"],
    "sklearn.svm": ["SVR", "NuSVR"],
}
OURS = {name: getattr(compat, name) for names in PLACES.values() for name in names}
SUPPORT_VECTORS = re.compile(r"\b(?:Nu)?SVR\b")


def pytest_configure(config):
    for place, names in PLACES.items():
        for name in names:
            setattr(import_module(place), name, OURS[name])


def key(item):
    """test_svm.py::test_n_support[SVR]"""
    return f"{item.path.name}::{item.name}"


def concerns_us(item):
    """Whether a test of test_svm.py is about SVR or NuSVR: by its source, and by its parameters if they are models."""
    if item.path.name != "test_svm.py":
        return True
    source = re.sub(r"#.*", "", inspect.getsource(item.function))
    if not SUPPORT_VECTORS.search(source):
        return False
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    models = [value if inspect.isclass(value) else type(value) for value in values if hasattr(value, "get_params")]
    return not models or any(model in OURS.values() for model in models)


def pytest_collection_modifyitems(config, items):
    ours, others = [], []
    for item in items:
        (ours if concerns_us(item) else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = ours
    for item in items:
        for name in set(OURS) & set(vars(item.module)):
            if getattr(item.module, name) is not OURS[name]:
                raise pytest.UsageError(f"{item.path.name} tests {getattr(item.module, name)!r}, not {OURS[name]!r}")
        if key(item) in DIFFERENCES:
            item.add_marker(pytest.mark.xfail(reason=f"listed: {DIFFERENCES[key(item)]}", strict=True))
    files, found = {item.path.name for item in items}, {key(item) for item in items}
    stale = [name for name in DIFFERENCES if name.split("::")[0] in files and name not in found]
    if stale:
        raise pytest.UsageError(f"differences.py lists what is no test: {', '.join(stale)}")
