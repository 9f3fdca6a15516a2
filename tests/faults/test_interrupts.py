"""Ctrl-C at any moment of any fit: heard within a second, and the object is as it was. Fits leave nothing behind."""

import gc
import os
import resource
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from mercer import (
    SVR,
    BasisRegression,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelInterpolator,
    KernelMachine,
    KernelRidge,
    Landmarks,
    Neighbours,
    StackedKernels,
    TransformedTarget,
)
from mercer.kernels import Gaussian, Matern32
from mercer.selection import LOO

MODELS = {
    "ridge": KernelRidge(Gaussian(0.5), criterion=LOO()),
    "spectral": KernelRidge(Gaussian(0.5), 1e-3, solver="spectral"),
    "process": GaussianProcessRegressor(Matern32(1.0)),
    "classifier": GaussianProcessClassifier(Gaussian(1.0)),
    "svr": SVR(Gaussian(0.3), C=100.0),
    "nu": SVR(Gaussian(0.3), C=100.0, nu=0.5),
    "machine": KernelMachine(Gaussian(0.3), loss="logistic", lam=1e-3, criterion="loo"),
    "interpolator": KernelInterpolator(Gaussian(0.3)),
    "basis": BasisRegression(lam=1.0),
}
MORE = {
    "landmarks": KernelRidge(Gaussian(0.5), criterion=LOO(), approximation=Landmarks(40)),
    "machine on landmarks": KernelMachine(Gaussian(0.3), loss="logistic", lam=1e-2, approximation=Landmarks(40)),
    "neighbours": GaussianProcessRegressor(Matern32(1.0), 0.1, criterion=None, approximation=Neighbours(20)),
    "ep": GaussianProcessClassifier(Gaussian(1.0), inference="ep"),
    "hinge": KernelMachine(Gaussian(0.3), loss="hinge", lam=1e-2),
    "stacked": StackedKernels([Gaussian(0.5), Matern32(1.0)], lam=[0.1, 0.1]),
    "transformed": TransformedTarget(GaussianProcessRegressor(Matern32(1.0))),
}
EVERY = [*MODELS, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE)]
LABELS = ("classifier", "machine", "machine on landmarks", "ep", "hinge")


def data(name, n):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 2))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(n)
    return X, np.where(y > 0.3, "up", "down") if name in LABELS else y


class Alarm:
    """Within it a KeyboardInterrupt comes after some seconds; ``sent`` is when."""

    def __init__(self, seconds):
        self.seconds, self.sent = max(1e-6, seconds), None

    def _ring(self, *_):
        self.sent = time.perf_counter()
        raise KeyboardInterrupt

    def __enter__(self):
        self.before = signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        return self

    def __exit__(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self.before)


@pytest.mark.parametrize("moments", [3, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", EVERY)
def test_an_interrupted_fit_changes_nothing(name, moments):
    X, y = data(name, 250)
    model = clone((MODELS | MORE)[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*data(name, 60))
        before = model.predict(X)
        began = time.perf_counter()
        after = clone(model).fit(X, y).predict(X)  # now the loops are loaded
        began = time.perf_counter() - began
        rng = np.random.default_rng(int.from_bytes(name.encode()[:4]))
        for share in rng.uniform(0, 1, moments):
            alarm = Alarm(share * began)
            try:
                with alarm:
                    model.fit(X, y)
            except KeyboardInterrupt:
                assert time.perf_counter() - alarm.sent < 1.0
            found = model.predict(X)
            if not np.array_equal(found, before):  # the moment came too late: all of it is there
                np.testing.assert_array_equal(found, after)
                model.fit(*data(name, 60))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kB


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files in /proc")
@pytest.mark.parametrize("fits", [20, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", EVERY)
def test_fits_leave_nothing_behind(name, fits):
    X, y = data(name, 40)

    def fit():
        clone((MODELS | MORE)[name]).fit(X, y).predict(X)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):
            fit()
        gc.collect()
        threads, files, memory = (
            threading.active_count(),
            open_files(),
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        )
        for _ in range(fits):
            fit()
    gc.collect()
    assert threading.active_count() <= threads
    assert open_files() <= files
    assert peak() - memory < 30_000
