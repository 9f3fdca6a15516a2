"""Small real data for the golden numbers: what comes with mercer and with scikit-learn, and two seeded draws."""

from functools import cache

import numpy as np
from sklearn import datasets as sklearn_data

from mercer import datasets


def _standard(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def _friedman():
    """Two targets of five columns, with noise."""
    rng = np.random.default_rng(3)
    X = rng.random((60, 5))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, np.column_stack([f, X[:, 0] - X[:, 3] ** 2]) + rng.standard_normal((60, 2)) * [1.0, 0.1]


def _counts():
    """Counts whose rate depends on x."""
    rng = np.random.default_rng(4)
    X = np.sort(rng.uniform(0, 6, 70))[:, None]
    return X, rng.poisson(np.exp(1.0 + np.sin(X[:, 0]))).astype(float)


def _linnerud():
    found = sklearn_data.load_linnerud()
    return _standard(found.data), found.target


def _sklearn(name, rows, columns):
    X, y = getattr(sklearn_data, f"load_{name}")(return_X_y=True)
    return _standard(X[rows][:, columns]), y[rows]


def _digits():
    """0, 1 and 2 in 64 pixels, 20 of each, in units of the largest."""
    X, y = sklearn_data.load_digits(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == c)[:20] for c in (0, 1, 2)])
    return X[rows] / 16.0, y[rows]


SETS = {
    "cars": lambda: datasets.load_cars(return_X_y=True),  # equal rows of x
    "mcycle": lambda: datasets.load_mcycle(return_X_y=True),  # noise that changes with x, equal rows
    "faithful": lambda: tuple(a[:90] for a in datasets.load_faithful(return_X_y=True)),
    "ethanol": lambda: datasets.load_ethanol(return_X_y=True),
    "co2": lambda: tuple(a[:96] for a in datasets.load_co2(return_X_y=True)),  # periodic, far from 0
    "airpassengers": lambda: tuple(a[::2] for a in datasets.load_airpassengers(return_X_y=True)),
    "diabetes": lambda: _sklearn("diabetes", slice(0, 80), [2, 3, 8]),
    "linnerud": _linnerud,  # three targets
    "friedman": _friedman,  # two targets
    "counts": _counts,
    "synth": lambda: tuple(a[::3] for a in datasets.load_synth(return_X_y=True)),
    "iris": lambda: _sklearn("iris", slice(0, None, 3), [0, 1, 2, 3]),
    "wine": lambda: _sklearn("wine", slice(0, None, 3), [0, 1, 6, 9]),
    "cancer": lambda: _sklearn("breast_cancer", slice(0, 70), [0, 1, 4, 5, 6]),
    "digits": _digits,
}


@cache
def load(name):
    """(X, y, new): the rows, and five places to look at: between rows, on one, and outside of them."""
    X, y = SETS[name]()
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    between = 0.5 * (X[[0, 7, 11]] + X[[3, 5, 17]])
    new = np.vstack([between, X[4:5], X[-1:] + 0.5 * X.std(axis=0)])
    for array in (X, y, new):
        array.flags.writeable = False
    return X, y, new


def label(y):
    """1 where y is above its median, else 0: two classes of a target that is a number."""
    return (y > np.median(y)).astype(int)
