"""Which files of the package a fit goes through: ``python tools/visits.py`` prints the number for five calls.

A file counts when a function or method in it is called while the call runs, in any thread; what an import runs does
not. ``--list`` prints the files, ``--json`` the same for other scripts.
"""

import inspect
import json
import sys
import threading
import warnings
from pathlib import Path

import numpy as np

import mercer
from mercer import SVR, GaussianProcessClassifier, GaussianProcessRegressor, KernelRidge, Landmarks

SOURCE = Path(mercer.__file__).resolve().parent


def visited(call):
    """Files below src/mercer in which a function is called while ``call()`` runs, in order."""
    codes = set()

    def note(frame, event, arg):
        if event == "call":
            codes.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    functions = [code for code in codes if code.co_flags & inspect.CO_OPTIMIZED]  # no bodies of modules and classes
    paths = {Path(code.co_filename) for code in functions}
    return sorted(path.relative_to(SOURCE).as_posix() for path in paths if path.is_relative_to(SOURCE))


def walks(n=60):
    """{call: the files that it visits} on a small table; each model is fitted once before, so that all is imported."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)
    process = GaussianProcessRegressor().fit(X, y)
    calls = {
        "GaussianProcessRegressor().fit": lambda: GaussianProcessRegressor().fit(X, y),
        ".predict(X, return_std=True)": lambda: process.predict(X, return_std=True),
        "GaussianProcessClassifier().fit": lambda: GaussianProcessClassifier().fit(X, y > 0),
        "SVR().fit": lambda: SVR().fit(X, y),
        "KernelRidge(approximation=Landmarks(20)).fit": lambda: KernelRidge(approximation=Landmarks(20)).fit(X, y),
    }
    found = {}
    for name, call in calls.items():
        call()
        found[name] = visited(call)
    return found


def main():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = walks()
    if "--json" in sys.argv:
        print(json.dumps(found))
        return
    for name, files in found.items():
        print(f"{len(files):3}  {name}")
        if "--list" in sys.argv:
            print("".join(f"       {file}\n" for file in files), end="")


if __name__ == "__main__":
    main()
