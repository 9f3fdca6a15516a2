"""Every estimator with every approximation, found by reflection, at settings that make the approximation exact."""

import dataclasses
import inspect
import re
from functools import cached_property

import numpy as np
from sklearn.base import is_classifier

import mercer
import mercer.approximate
from mercer.approximate.base import NAMES
from mercer.estimators import KernelEstimator
from mercer.kernels import Gaussian, PolynomialBasis

FOUND = [getattr(mercer, name) for name in mercer.__all__]
ESTIMATORS = [cls for cls in FOUND if isinstance(cls, type) and issubclass(cls, KernelEstimator)]
APPROXIMATIONS = [cls for cls in FOUND if isinstance(cls, type) and issubclass(cls, mercer.approximate.Approximation)]
EXACT_AT = {"m": lambda n: n, "k": lambda n: n, "eps": lambda n: 1e-8}  # fields of an approximation
OPTIONS = {"loss": ("logistic",), "trend": ("linear",)}  # parameters of which other values are tried too
LEARNT = tuple({"kernel": None, "lam": None, "noise": None, "C": None, "epsilon": None}.items())
TOL = {"Landmarks": 3e-4, "Fourier": 1e-5, "solve": 0.2, "search": 0.05}  # of the size of y; else 1e-6
LESS = {  # what is asked of a solution that ends early, and after a search
    "solve": ("mean", "offset"),
    "search": ("mean", "noisy std", "probabilities"),
}


@dataclasses.dataclass(frozen=True)
class Data:
    """Rows, new rows, and the hyper-parameters in their units; a transformation returns another one."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    new_y: np.ndarray
    lengths: np.ndarray
    along: np.ndarray  # the direction of the derivative that is asked for
    folds: tuple
    size: float = 1.0  # of y: amplitude and noise are those of y/size
    offset: float = 0.0
    weight: np.ndarray | None = None
    held: int = 0  # rows that an approximation keeps back
    aside: tuple | None = None  # these rows, for a fit without them
    change: str = ""  # what happens to the rows after the fit

    def replace(self, **changes):
        return dataclasses.replace(self, **changes)

    @property
    def n(self):
        return len(self.X)

    @property
    def kernel(self):
        return self.size**2 * Gaussian(self.lengths)

    def some(self, rows):
        weight = None if self.weight is None else self.weight[rows]
        return self.replace(X=self.X[rows], y=self.y[rows], weight=weight)

    @cached_property
    def parameters(self):
        """{parameter of any estimator: its value for these rows}."""
        noise = 0.05 * self.size**2
        return {
            "kernel": self.kernel, "lam": noise, "noise": noise, "C": 10.0 / self.size, "epsilon": 0.05 * self.size,
            "criterion": None, "tol": 1e-8, "max_iter": 10_000, "basis": PolynomialBasis(2), "merge": True,
            "weights": [0.7, 0.3], "target": "none", "inference": "laplace",
            "estimator": mercer.GaussianProcessRegressor(self.kernel, noise, criterion=None),
        }  # fmt: skip


OWN = {  # where a parameter means something else
    mercer.BasisRegression: lambda data: {"lam": 0.0},
    mercer.SVR: lambda data: {"lam": None, "tol": 1e-6},  # in deviations of y, as it is told
    mercer.StackedKernels: lambda data: {
        "kernel": [data.kernel, data.kernel.with_theta(data.kernel.theta + 0.3)],
        "lam": [0.05 * data.size**2, 0.1 * data.size**2],
    },
}


def rows(seed=0, n=26, d=2):
    """Smooth rows of two columns, y of size 1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n + 5, d))
    y = np.sin(3 * X[:, 0]) + X[:, -1] ** 2 + 0.2 * rng.standard_normal(n + 5)
    lengths, folds = np.full(d, 0.7) * rng.uniform(0.8, 1.2, d), tuple(np.array_split(np.arange(n), 5))
    return Data(X[:n], y[:n], 0.9 * X[n:], y[n:], lengths, np.ones(d), folds)


@dataclasses.dataclass(frozen=True)
class Combination:
    """An estimator, values of its parameters, an approximation or None, and values of its fields."""

    cls: type
    options: tuple = ()
    approximation: type | None = None
    fields: tuple = ()

    def __str__(self):
        return "-".join(self.words)

    @property
    def words(self):
        """The estimator, what it is told, the approximation and what of it is switched on."""
        own = ["search"] if self.learns else [str(value) for _, value in self.options]
        how = [self.approximation.__name__] if self.approximation else []
        return [self.cls.__name__, *own, *how, *(name for name, value in self.fields if value)]

    @property
    def tol(self):
        """What an answer may be off."""
        return max([TOL.get(word, 1e-6) for word in self.words])

    def asks(self, question):
        """Whether an answer to this question can be compared."""
        return all(question in LESS[word] for word in self.words if word in LESS)

    @property
    def learns(self):
        """Whether hyper-parameters are searched for."""
        return "criterion" in dict(self.options)

    @property
    def exact(self):
        """The same estimator without an approximation; itself where it has none."""
        return dataclasses.replace(self, approximation=None, fields=())

    def make(self, data, **more):
        names = inspect.signature(self.cls).parameters
        own = OWN.get(self.cls, lambda data: {})(data)
        given = data.parameters | own | dict(self.options) | more
        if "approximation" in names:
            given["approximation"] = self.approximation and self._approximation(data)
        return self.cls(**{name: value for name, value in given.items() if name in names})

    def _approximation(self, data):
        names = [field.name for field in dataclasses.fields(self.approximation)]
        n = data.n // 2 if "solve" in dict(self.fields) else data.n
        exact = {name: at(n) for name, at in EXACT_AT.items() if name in names}
        exact |= {"eps": 1e-2} if self.learns and "eps" in names else {}  # a default kernel is a rough one
        held = {"held": data.held} if "held" in names and data.held else {}
        held |= {"choose": data.X} if "choose" in names and data.change else {}  # those of rows that come later too
        return self.approximation(**exact, **held, **dict(self.fields))

    @property
    def has(self):
        """What `fit` and the estimator take, by name."""
        return {*inspect.signature(self.cls).parameters, *inspect.signature(self.cls.fit).parameters}

    def classifies(self, data):
        return is_classifier(self.make(data))

    def fit(self, data, **more):
        """The fitted model; rows that are changed after the fit leave it as if they had been there from the first."""
        model = self.make(data, **more)
        labels = is_classifier(model)
        y = np.where(data.y > 0.3, "up", "down") if labels else data.y

        def given(rows):
            weight = {} if data.weight is None else {"sample_weight": data.weight[rows]}
            return (data.X[rows], y[rows]), weight

        def ask(method, some, index=False):
            weight = {} if data.weight is None else {"sample_weight": data.weight[some]}
            return method(data.n + np.arange(len(some))) if index else method(data.X[some], y[some], **weight)

        every = np.arange(data.n)
        first, last = np.split(every, [data.n - 6])
        if not data.change:
            return ask(model.fit, every)
        ask(model.fit, first if data.change == "update" else every)
        ask(model.update if hasattr(model, "update") else model.partial_fit, last)
        if data.change == "update":
            return model
        keeps_rows = self.approximation is None or "m" not in self.fields_of
        return ask(model.forget, last, index=keeps_rows)

    @property
    def possible(self):
        """Whether rows can be fitted with these values of the parameters at all."""
        try:
            self.fit(rows())
        except ValueError as error:
            if any(re.search(rf"\b{name}\b", str(error)) for name, _ in self.options):
                return False
        return True

    @property
    def fields_of(self):
        return [field.name for field in dataclasses.fields(self.approximation)] if self.approximation else []


def combinations():
    """All of them: an approximation is there where it fits models of the kind."""
    found = []
    for cls in ESTIMATORS:
        names = inspect.signature(cls).parameters
        options = [(), *(((name, value),) for name in OPTIONS if name in names for value in OPTIONS[name])]
        kinds = [kind for kind, name in NAMES.items() if name == cls.__name__]
        taken = [one for one in APPROXIMATIONS if set(one.models).intersection(kinds)]
        for own in options:
            found.append(Combination(cls, own))
            for how in taken:
                switches = [f.name for f in dataclasses.fields(how) if f.default is False]
                found += [Combination(cls, own, how, fields) for fields in [(), *(((s, True),) for s in switches)]]
        if "kernel" in names and cls.criteria:
            learnt = tuple(pair for pair in (*LEARNT, ("criterion", cls.criteria[0])) if pair[0] in names)
            found += [Combination(cls, learnt, how) for how in (None, *taken)]
    return [one for one in found if not one.options or one.learns or one.possible]
