"""Forged model files at random: ``PYTHONPATH=src:tests python -m files.fuzz 100000 [seed]``.

Headers are changed where it hurts (values, class names, attributes, references, shapes), bodies by bytes; the digests
are always right, so that every case gets to the decoder. Loading must end in a model or in ModelFileError, and soon;
what is loaded must answer or raise an ordinary error. A crash, another error or a slow load ends the script.
"""

import collections
import contextlib
import copy
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import mercer
from files import zoo
from files.forge import put_together, take_apart
from mercer.exceptions import ModelFileError
from mercer.files import _registry

SLOW = 2.0  # seconds to load, and to predict
STARTS = (
    "ridge LOO", "ridge list", "interpolator", "basis own", "gp targets", "gp jitter", "gp trend linear",
    "gpc ep logit", "gpc mcmc probit", "gpc softmax", "svr", "machine softmax",
)  # fmt: skip
STARTS_OF_OBJECTS = ("ShortestPath-0", "Spectrum-0", "MeanEmbedding-0", "Precomputed-0", "Tanimoto-0", "Columns-2")
VALUES = (
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63, -(2**63), 10**400, 0.0, -1.5, 1e308, 1e-320, "", "x", "__class__",
    "mercer", "\ud800", [], [0], {}, [[]], {"f": "nan"}, {"f": "inf"}, {"f": "x"}, {"t": []}, {"t": [1, 2]}, {"d": []},
    {"d": [[1]]}, {"d": [[[], 1]]}, {"a": 0}, {"a": 1}, {"a": -1}, {"a": 10**9}, {"o": 0}, {"o": 1}, {"o": -1},
    {"o": 2.0}, {"n": "phi"}, {"s": ["<f8", "00" * 8]}, {"s": ["<f8", "zz"]}, {"s": ["|O", ""]}, {"b": "!"},
    {"b": "AAAA"},
    {"O": [[2], [1, 2]]}, {"O": [[2**40], []]}, {"slice": [0, 1, None]}, {"dtype": "<f4"}, {"dtype": "|O"},
    {"eval": "1"},
)  # fmt: skip
DTYPES = ("<f8", "<f4", "<f2", "<i8", "<i4", "<u8", "|b1", "|i1", "<U1", "|S8", "<M8[ns]", "|O", ">f8", "<c16")


def starts(folder):
    """[(header, body, new inputs)] of the models that are changed."""
    found, new = [], zoo.data(3, seed=1)[0]
    models = zoo.models()
    for name in STARTS:
        models[name]().save(folder / "start", force=True)
        found.append((*take_apart(folder / "start"), new))
    kernels = dict(zoo.kernels())
    for name in STARTS_OF_OBJECTS:
        X, inputs = zoo.inputs(kernels[name])
        zoo.quietly(mercer.KernelRidge(kernels[name]).fit, X, np.arange(10.0)).save(folder / "start", force=True)
        found.append((*take_apart(folder / "start"), inputs))
    return [*found, table_start(folder)]


def table_start(folder):
    """(header, body, new inputs) of a model of a table with numbers, categories and strings."""
    import polars as pl

    from mercer.tabular import TableModel

    n = range(12)
    frame = pl.DataFrame({"a": [i % 5 for i in n], "c": ["xyz"[i % 3] for i in n], "s": [f"AC{i}" * 2 for i in n]})
    kernel = mercer.kernels.parse_kernel('Gaussian().on("a") * Categorical().on("c") + Spectrum(2).on("s")')
    model = TableModel(mercer.KernelRidge(kernel), target="y").fit(frame.with_columns(y=pl.col("a") * 2.0))
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


def mutate(header, body, rng, names):
    """A changed (header, body): one to three changes."""
    header = copy.deepcopy(header)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        change = rng.choice(
            (_replace, _replace, _replace, _remove, _swap, _nudge, _nudge, _class, _field, _spec, _bytes)
        )
        body = change(header, body, rng, names) or body
    return header, body


def _somewhere(header, rng):
    """A place that has a parent."""
    section = rng.choice(("objects", "objects", "objects", "arrays", "root", "note", "names"))
    section = section if section in header else next(iter(header))
    return rng.choice(list(places(header[section], (section,))))


def _listed(header, section):
    """A section, unless an earlier change has left something else there."""
    return header[section] if isinstance(header.get(section), list) else []


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
    section = rng.choice(("objects", "arrays"))
    found = places(_listed(header, section), (section,)) if section in header else ()
    numbers = [path for path in found if type(at(header, path)) in (int, float)]
    if numbers:
        path = rng.choice(numbers)
        old = at(header, path)
        _put(header, path, rng.choice((old + 1, old - 1, -old, 2 * old, 0, 1, 0.5, 10**9, 2**40)))


def _class(header, body, rng, names):
    objects = [entry for entry in _listed(header, "objects") if isinstance(entry, list) and entry]
    if objects:
        rng.choice(objects)[0] = rng.choice(names)


def _field(header, body, rng, names):
    """Another name for an attribute, or one more."""
    states = [
        e[1]
        for e in _listed(header, "objects")
        if isinstance(e, list) and len(e) == 2 and isinstance(e[1], dict) and e[1]
    ]
    if states:
        state = rng.choice(states)
        old = rng.choice(list(state))
        new = rng.choice(
            ("__class__", "__dict__", "predict", "_tile", "kernel_", "points_", "a b", "", old + "_", "_own", "hyper")
        )
        state[new] = state.pop(old) if rng.random() < 0.5 else state[old]


def _spec(header, body, rng, names):
    """Another description of the same bytes."""
    specs = [e for e in _listed(header, "arrays") if isinstance(e, list) and len(e) == 3 and isinstance(e[1], list)]
    if specs:
        spec = rng.choice(specs)
        kind = rng.randrange(4)
        if kind == 0:
            spec[0] = rng.choice(DTYPES)
        elif kind == 1:
            rng.shuffle(spec[1])
        elif kind == 2:
            spec[2] = list(reversed(range(len(spec[1]))))
        else:
            spec[1] = [int(np.prod([n for n in spec[1] if isinstance(n, int)], dtype=object))]


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
        names = [
            f"{unit}.{cls}"
            for unit in _registry.UNITS
            if f"{unit}." not in _registry.OPEN
            for cls in _registry.table(unit)
        ]
        names += ["os.system", "builtins.eval", "names.x", "kernels.Nothing", "", "estimators"]
        for case in range(count):
            header, body, inputs = rng.choice(known)
            put_together(path, *mutate(header, body, rng, names))
            outcomes[one(path, inputs)] += 1
            if outcomes["slow to load"]:
                raise AssertionError(f"case {case} of seed {seed} took more than {SLOW} s to load")
    return outcomes


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
    except Endless:  # parameters that `mercer.kernels.limits` should have refused
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
    if isinstance(model, mercer.GaussianProcessRegressor):
        model.predict(inputs, return_std=True)


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
