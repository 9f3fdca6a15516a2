"""Write the golden numbers: ``python tests/golden/record.py`` (all), or with the beginnings of the names of some.

Only what is meant to change should be recorded again: the numbers are what every version agrees on. With ``--shake``
nothing is written; the cases run on rows that differ in the last digit, and those whose numbers move by more than a
tenth of their tolerance are named.
"""

import argparse
import json
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "src")]

DIGITS = 13


def stored():
    """{case: {name: numbers}} of all files."""
    return {name: case for path in sorted(HERE.glob("*.json")) for name, case in json.loads(path.read_text()).items()}


def run(case):
    """{name: numbers} of a case; a search may say that it ended at a bound, chains that they have not mixed."""
    with warnings.catch_warnings():
        if case.kind != "exact":
            warnings.simplefilter("ignore", ConvergenceWarning)
        return {key: plain(value) for key, value in case.run().items()}


def plain(value):
    """Numbers as JSON keeps them, DIGITS digits of each; nan is None."""
    if value is None:
        return None
    if np.ndim(value):
        return [plain(part) for part in np.asarray(value, dtype=float)]
    return None if np.isnan(value) else float(f"{float(value):.{DIGITS}g}")


def numbers(value):
    """The array of what ``plain`` made; None is nan."""
    return np.array(value, dtype=float)


def gap(found, recorded):
    """The largest difference, relative to the largest number; inf where the shape or the nans differ."""
    a, b = numbers(found), numbers(recorded)
    if a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any():
        return np.inf
    kept = ~np.isnan(b)
    if not kept.any():
        return 0.0
    return float(np.abs(a - b)[kept].max() / max(np.abs(b[kept]).max(), 1e-300))


def shaken(straight, name):
    """The rows of a set, with numbers that differ in the last digit; equal rows stay equal."""
    X, y, new = straight(name)
    rng = np.random.default_rng(0)
    unit = 1.0 + 2.2e-16 * rng.integers(-1, 2, X.shape[1])
    noise = 1.0 + 2.2e-16 * rng.integers(-1, 2, y.shape)
    return X * unit, y * noise if y.dtype.kind == "f" else y, new * unit


def main():
    from golden import cases, data

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[""], help="beginnings of the names of cases")
    parser.add_argument("--shake", action="store_true", help="write nothing; name the cases that rounding moves")
    arguments = parser.parse_args()
    old, new = stored(), {}
    if arguments.shake:
        data.load = partial(shaken, data.load)
    for name, case in cases.CASES.items():
        if not name.startswith(tuple(arguments.names)):
            new |= {name: old[name]} if name in old else {}
            continue
        start = time.process_time()
        new[name] = run(case)
        seconds = time.process_time() - start
        moved = (
            {key: gap(new[name][key], old[name].get(key)) for key in new[name] if key != "allow"} if name in old else {}
        )
        most = max(moved, key=moved.get, default="")
        told = f"{most} by {moved[most]:.1e} (tol {case.tol:g})" if moved and moved[most] > 0.1 * case.tol else ""
        if not arguments.shake or (told and case.kind == "exact"):
            print(f"{seconds:6.2f} s  {name}  {told}", flush=True)
    if not arguments.shake:
        for kind in ("exact", "search", "chance"):
            part = {name: new[name] for name in new if cases.CASES[name].kind == kind}
            lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(values)}" for name, values in part.items())
            (HERE / f"{kind}.json").write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
