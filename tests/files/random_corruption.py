"""Forged model files at random: ``PYTHONPATH=src:tests python -m files.random_corruption 100000 [seed]``.

Headers are changed where it hurts (values, class names, attributes, references, shapes), bodies by bytes; the digests
are always right, so that every case gets to the decoder. Loading must end in a model or in ModelFileError, and soon;
what is loaded must answer or raise an ordinary error. A crash, another error or a slow load ends the script.
"""

import collections
import contextlib
import copy
import importlib
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import mercer
from files import fitted_models
from files.handmade_files import laid_out, put_together, take_apart
from mercer.exceptions import ModelFileError
from mercer.files import _registry

SLOW = 2.0  # seconds to load, and to predict
STARTS = (
    "ridge LOO", "ridge lam", "ridge list", "ridge weights", "ridge targets", "ridge equal rows", "interpolator",
    "basis own", "gp targets", "gp jitter", "gp trend linear",
    "gpc ep logit", "gpc mcmc probit", "gpc softmax", "svr", "machine softmax",
)  # fmt: skip
STARTS_OF_OBJECTS = ("ShortestPath-0", "Spectrum-0", "MeanEmbedding-0", "Precomputed-0", "Tanimoto-0", "Columns-2")
VALUES = (
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63, -(2**63), 10**400, 0.0, -1.5, 1e308, 1e-320, "", "x", "__class__",
    "mercer", "\ud800", [], [0], {}, [[]], {"f": "nan"}, {"f": "inf"}, {"f": "x"}, {"t": []}, {"t": [1, 2]}, {"d": []},
    {"d": [[1]]}, {"d": [[[], 1]]}, {"a": 0}, {"a": "x"}, {"a": ["x", "<U1", [0]]}, {"o": 0}, {"o": 1}, {"o": -1},
    {"o": 2.0}, {"n": "phi"}, {"s": ["<f8", "00" * 8]}, {"s": ["<f8", "zz"]}, {"s": ["|O", ""]}, {"b": "!"},
    {"b": "AAAA"},
    {"O": [[2], [1, 2]]}, {"O": [[2**40], []]}, {"slice": [0, 1, None]}, {"dtype": "<f4"}, {"dtype": "|O"},
    {"eval": "1"},
)  # fmt: skip
DTYPES = ("F64", "F32", "F16", "I64", "I32", "U64", "BOOL", "I8", "U8", "BF16", "C64", "|O", "")
TEXTS = (
    "Gaussian(1.0)", "Linear()", "2.0 * Gaussian([1.0, 2.0]) + Linear()", "Gaussian(-1.0)", "Gaussian(0)",
    "Spectrum(3)", "Polynomial(10000, 1.0)", "Precomputed()", "Gaussian(1.0).on([0, 5])", "Gaussian(1.0).on('a')",
    "Linear().exp().exp()",
    "Pairwise(max)", "open('/')", "SklearnKernel(gp.RBF(1.0))", "Matern(0.3, 1e-300)", "Linear() ** 10000", "",
)  # fmt: skip


def starts(folder):
    """[(header, arrays, body, new inputs)] of the models that are changed."""
    found, new = [], fitted_models.data(3, seed=1)[0]
    models = fitted_models.models()
    for name in STARTS:
        with contextlib.suppress(pytest.skip.Exception):
            models[name]().save(folder / "start", force=True)
            found.append((*take_apart(folder / "start"), new))
    kernels = dict(fitted_models.kernels())
    for name in STARTS_OF_OBJECTS:
        X, inputs = fitted_models.inputs(kernels[name])
        model = fitted_models.quietly(mercer.KernelRidge(kernels[name]).fit, X, np.arange(10.0))
        model.save(folder / "start", force=True)
        found.append((*take_apart(folder / "start"), inputs))
    columns = mercer.kernels.Gaussian(np.array([1.0, 2.0])) + 0.5 * mercer.kernels.Matern(np.float64(1.5))
    mercer.KernelRidge(columns).fit(*fitted_models.data()[:2]).save(folder / "start", force=True)
    found.append((*take_apart(folder / "start"), new))
    fitted_models.compat("SVR")().fit(*fitted_models.data()[:2]).save(folder / "start", force=True)
    found.append((*take_apart(folder / "start"), new))
    with contextlib.suppress(pytest.skip.Exception):
        found.append(table_start(folder))
    return found


def table_start(folder):
    """The same of a model of a table with numbers, categories and strings."""
    import polars as pl

    model = fitted_models.known("TableModel", "mercer.tabular")
    n = range(12)
    frame = pl.DataFrame({"a": [i % 5 for i in n], "c": ["xyz"[i % 3] for i in n], "s": [f"AC{i}" * 2 for i in n]})
    kernel = mercer.kernels.parse_kernel('Gaussian().on("a") * Categorical().on("c") + Spectrum(2).on("s")')
    model = model(mercer.KernelRidge(kernel), target="y").fit(frame.with_columns(y=pl.col("a") * 2.0))
    mercer.files.save(model, folder / "start", force=True)
    return *take_apart(folder / "start"), frame


def places(value, path=()):
    """All places in a JSON value."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from places(item, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def mutate(header, arrays, body, rng, names):
    """A changed (header, arrays, body): one to three changes."""
    header = {**copy.deepcopy(header), "specs": copy.deepcopy(arrays)}
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        change = rng.choice(
            (_replace, _replace, _replace, _remove, _swap, _nudge, _nudge, _class, _field, _spec, _bytes)
        )
        body = change(header, body, rng, names) or body
    arrays = header.pop("specs", {})
    if rng.random() < 0.7:  # places that fit, so that the case gets further
        with contextlib.suppress(Exception):
            arrays = laid_out(arrays)
    return header, arrays, body


def _somewhere(header, rng):
    """A place that has a parent."""
    section = rng.choice(("objects", "objects", "objects", "specs", "root", "note", "names"))
    section = section if section in header else next(iter(header))
    return rng.choice(list(places(header[section], (section,))))


def _listed(header, section):
    """The items of a section, unless an earlier change has left something else there."""
    found = header.get(section)
    return found if isinstance(found, list) else list(found.values()) if isinstance(found, dict) else []


def _put(header, path, value):
    at(header, path[:-1])[path[-1]] = value


def _replace(header, body, rng, names):
    _put(header, _somewhere(header, rng), copy.deepcopy(rng.choice(VALUES)))


def _remove(header, body, rng, names):
    path = _somewhere(header, rng)
    del at(header, path[:-1])[path[-1]]
    header.setdefault(path[0], []) if len(path) == 1 and rng.random() < 0.8 else None


def _swap(header, body, rng, names):
    a, b = _somewhere(header, rng), _somewhere(header, rng)
    _put(header, a, copy.deepcopy(at(header, b)))


def _nudge(header, body, rng, names):
    """Another number in the place of a number: shapes, references, sizes, parameters."""
    section = rng.choice(("objects", "specs"))
    found = places(header[section], (section,)) if section in header else ()
    numbers = [path for path in found if type(at(header, path)) in (int, float)]
    if numbers:
        path = rng.choice(numbers)
        old = at(header, path)
        _put(header, path, rng.choice((old + 1, old - 1, -old, 2 * old, 0, 1, 0.5, 10**9, 2**40)))


def _class(header, body, rng, names):
    """Another class, or another expression."""
    objects = [entry for entry in _listed(header, "objects") if isinstance(entry, list) and entry]
    if objects:
        entry = rng.choice(objects)
        entry[0] = rng.choice(TEXTS if len(entry) == 1 else names)


def _field(header, body, rng, names):
    """Another name for an attribute, or one more."""
    states = [
        e[2] for e in _listed(header, "objects") if isinstance(e, list) and len(e) == 3 and isinstance(e[2], dict)
    ]
    states = [state for state in states if state]
    if states:
        state = rng.choice(states)
        old = rng.choice(list(state))
        new = rng.choice(
            (
                "__class__",
                "__dict__",
                "predict",
                "tile",
                "kernel_",
                "points_",
                "a b",
                "",
                old + "_",
                "_own",
                "hyper",
                "rows",
            )
        )
        state[new] = state.pop(old) if rng.random() < 0.5 else state[old]


def _spec(header, body, rng, names):
    """Another description of the same bytes."""
    specs = [e for e in _listed(header, "specs") if isinstance(e, dict) and isinstance(e.get("shape"), list)]
    if specs:
        spec = rng.choice(specs)
        kind = rng.randrange(3)
        if kind == 0:
            spec["dtype"] = rng.choice(DTYPES)
        elif kind == 1:
            rng.shuffle(spec["shape"])
        else:
            spec["shape"] = [int(np.prod([n for n in spec["shape"] if isinstance(n, int)], dtype=object))]


def _bytes(header, body, rng, names):
    body = bytearray(body)
    for _ in range(rng.choice((1, 8, 64))):
        if body:
            body[rng.randrange(len(body))] = rng.randrange(256)
    if rng.random() < 0.2:
        body = body[: rng.randrange(len(body) + 1)]
    return bytes(body)


def run(count, seed=0, folder=None):
    """Counter of what happened: "refused", "answered", "raised", "endless"; any other error of loading goes through."""
    rng, outcomes = random.Random(seed), collections.Counter()
    with tempfile.TemporaryDirectory(dir=folder) as name, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        path = Path(name) / "case"
        known = starts(Path(name))
        names = [name for unit in _registry.UNITS for name in known_names(unit)]
        names += [
            "os.system",
            "builtins.eval",
            "names.x",
            "kernels.Nothing",
            "",
            "estimators",
            "sparse.csr_array",
            "gp.RBF",
        ]
        for case in range(count):
            header, arrays, body, inputs = rng.choice(known)
            forged = mutate(header, arrays, body, rng, names)
            try:
                put_together(path, *forged)
            except (TypeError, ValueError):  # more than JSON has
                continue
            outcomes[one(path, inputs)] += 1
            if outcomes["slow to load"]:
                raise AssertionError(f"case {case} of seed {seed} took more than {SLOW} s to load")
    return outcomes


def known_names(unit):
    """What may be named of a unit, as far as it loads."""
    try:
        package = importlib.import_module(f"mercer.{unit}")
    except ImportError:
        return []
    found = [one for one in (*vars(package).values(), *_registry._inside(package).values()) if isinstance(one, type)]
    return sorted({name for name in map(_registry.name_of, found) if name})


def one(path, inputs):
    """What happens with one file."""
    started = time.process_time()  # of this process: it may be paused
    try:
        model = mercer.load(path)
    except ModelFileError:
        model = None
    if time.process_time() - started > SLOW:
        return "slow to load"
    if model is None:
        return "refused"
    try:
        with at_most(SLOW):
            ask(model, inputs)
    except Endless:  # parameters that `Kernel._check_parameters` should have refused
        return "endless"
    except Exception:  # an ordinary error is an answer too: what matters is that the interpreter lives
        return "raised"
    return "answered"


def ask(model, inputs):
    """All that goes through compiled code."""
    repr(model)
    model.predict(inputs)
    if hasattr(model, "predict_proba"):
        model.predict_proba(inputs)
    if type(model).__name__ == "GaussianProcessRegressor":
        model.predict(inputs, return_std=True)
    if hasattr(model, "predict_interval"):
        model.predict_interval(inputs)
    if hasattr(model, "power_function"):
        model.power_function(inputs)


class Endless(BaseException):
    """A prediction takes too long."""


@contextlib.contextmanager
def at_most(seconds):
    """Stop what is done inside after so many seconds of this process."""

    def stop(number, frame):
        raise Endless

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    total, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began = time.perf_counter()
    print(dict(run(total, first)), f"in {time.perf_counter() - began:.0f} s")
