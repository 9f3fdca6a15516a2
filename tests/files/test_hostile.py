"""Forged contents with right digests: every case must be refused by name, and nothing may run or crash."""

import copy
import importlib
import re

import numpy as np
import pytest

import mercer
from examples_of_every_kernel import random_graphs
from files import fitted_models, random_corruption
from files.handmade_files import laid_out, place_of, put_together, take_apart
from mercer import files
from mercer.exceptions import ModelFileError
from mercer.files import _registry
from mercer.kernels import Gaussian

X, Y, *_ = fitted_models.data(6)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """{name: (header, arrays, body)} of a few models."""
    folder, names = tmp_path_factory.mktemp("known"), ("ridge Cholesky", "ridge LOO", "ridge lam", "interpolator")
    names += ("gp trend linear", "gp draws", "gpc ep logit", "gpc mcmc probit", "gpc softmax", "svr", "machine softmax")
    models = {name: fit() for name, fit in fitted_models.models().items() if name in names}
    models["columns"] = mercer.KernelRidge(Gaussian(np.array([1.0, 2.0]))).fit(X, Y)  # no expression has an array
    graphs = random_graphs(6, np.random.default_rng(0))
    models["graphs"] = mercer.KernelRidge(mercer.kernels.ShortestPath()).fit(graphs, Y)
    models["matrix"] = mercer.KernelRidge(mercer.kernels.Precomputed()).fit(X @ X.T, Y)
    table = {"age": X[:, 0], "site": list("abcabc")}
    kernel = Gaussian().on("age") + mercer.kernels.Categorical().on("site")
    models["table"] = mercer.KernelRidge(kernel).fit(table, Y)
    found = {}
    for name, model in models.items():
        model.save(folder / "a", force=True)
        found[name] = take_apart(folder / "a")
    return found


def forged(known, name, tmp_path, change):
    """A file like that of a known model, but for a change of its header, or of what it says of its arrays."""
    header, arrays, body = copy.deepcopy(known[name])
    extra = {name: {"dtype": "F64", "shape": shape} for name, shape in {"few": [2], "square": [3, 3]}.items()}
    header["specs"] = {**extra, **arrays}
    change(header)
    arrays = header.pop("specs")
    return put_together(tmp_path / "forged", header, laid_out(arrays), bytes(88) + body)


def entry(header, cls):
    """(number, [class, version, state]) of the first object of a class."""
    return next((i, entry) for i, entry in enumerate(header["objects"]) if entry[0] == cls)


def state(header, cls):
    return entry(header, cls)[1][2]


def spec_of(header, cls, field):
    """The description of the array that is an attribute."""
    return header["specs"][state(header, cls)[field]["a"]]


class inside(dict):
    """The dict of a tagged value; what is set in it is set there."""

    def __init__(self, value):
        super().__init__(value["d"])
        self.pairs = value["d"]

    def update(self, **values):
        self.pairs[:] = [[key, values.get(key, item)] for key, item in self.pairs]


def part_of(header):
    """The first part of the posterior of a classifier."""
    return inside(inside(state(header, CLASSES)["posterior"])["parts"][0])


def put(cls, **values):
    """A change of the state of the first object of a class."""
    return lambda header: state(header, cls).update(values)


def named(cls, name):
    """Another name for the class of the first object of a class."""
    return lambda header: entry(header, cls)[1].__setitem__(0, name)


def reshaped(cls, field, **changes):
    """Another description of an array."""
    return lambda header: spec_of(header, cls, field).update(changes)


# name: (model, what is changed, a part of the complaint)
CLASSES = "approximate.ExactClasses"
RIDGE, REPORT, ROWS, FOUND = "estimators.KernelRidge", "estimators.FitReport", "gram.Rows", "selection.SearchResult"
GAUSS, GRAPH, PATH = "kernels.Gaussian", "kernels.Graph", "selection.Path"
GP, GPC, POSTERIOR = (
    "estimators.GaussianProcessRegressor",
    "estimators.GaussianProcessClassifier",
    "inference.RegressionPosterior",
)
CASES = {
    "unknown class": ("ridge Cholesky", named(RIDGE, "os.system"), "no class 'os.system'"),
    "class by path": ("ridge Cholesky", named(RIDGE, "estimators.ridge.KernelRidge"), "no class"),
    "class by module": ("ridge Cholesky", named(RIDGE, "estimators.inspect"), "no class"),
    "abstract class": ("columns", named(GAUSS, "kernels.Radial"), "no class"),
    "base class": ("ridge Cholesky", named(RIDGE, "estimators.KernelEstimator"), "no class"),
    "private class": ("table", named("kernels.Table", "kernels._Store"), "no class"),
    "a function": ("columns", named(GAUSS, "kernels.parse_kernel"), "no class"),
    "a class without a state": ("ridge Cholesky", named(ROWS, "gram.TiledGram"), "no class"),
    "class of another kind": ("columns", named(GAUSS, "losses.Huber"), "is no Huber"),
    "no triple": (
        "ridge Cholesky",
        lambda h: h["objects"].append(["kernels.Linear", 1]),
        "is not [class, version, state]",
    ),
    "no version": ("ridge Cholesky", lambda h: h["objects"].append(["kernels.Linear", None, {}]), "of version None"),
    "no expression": ("ridge Cholesky", lambda h: h["objects"].insert(0, ["open('x')"]), "is not a kernel class"),
    "an expression with a function": (
        "ridge Cholesky",
        lambda h: h["objects"].insert(0, ["Pairwise(max)"]),
        "unknown name",
    ),
    "a long expression": (
        "ridge Cholesky",
        lambda h: h["objects"].insert(0, ["Linear()" + " " * 2000]),
        "more than 2000",
    ),
    "an expression beyond its limit": (
        "ridge Cholesky",
        lambda h: h["objects"].insert(0, ["Spectrum(2000)"]),
        "at most 1,000",
    ),
    "class attribute": ("ridge Cholesky", put(RIDGE, __class__=1), "no attribute '__class__'"),
    "dict attribute": ("ridge Cholesky", put(RIDGE, __dict__={"d": []}), "no attribute '__dict__'"),
    "private attribute": ("ridge Cholesky", put(RIDGE, _rows=None), "no attribute '_rows'"),
    "class data": ("ridge Cholesky", put(RIDGE, _parameter_constraints={"d": []}), "no attribute"),
    "method": ("ridge Cholesky", put(RIDGE, predict=1), "no attribute 'predict'"),
    "property": ("ridge Cholesky", put(RIDGE, loo_residuals_=1), "no attribute 'loo_residuals_'"),
    "no identifier": ("ridge Cholesky", lambda h: state(h, RIDGE).update({"a b_": 1}), "no attribute 'a b_'"),
    "public attribute": ("ridge Cholesky", put(RIDGE, extra=1), "no attribute 'extra'"),
    "no parameters": ("ridge Cholesky", lambda h: state(h, RIDGE).pop("parameters"), "parameters"),
    "another parameter": ("ridge Cholesky", put(RIDGE, parameters={"d": [["more", 1]]}), "more"),
    "parameters that are none": ("ridge Cholesky", put(RIDGE, parameters=3), "is no KernelRidge"),
    "another argument": ("columns", put(GAUSS, more=1), "more"),
    "text for a length": ("columns", put(GAUSS, length_scale="wide"), "is no Gaussian"),
    "negative length": ("columns", put(GAUSS, length_scale=-1.0), "must be positive"),
    "a kernel for a length": (
        "columns",
        lambda h: (h["objects"].insert(0, ["Linear()"]), state(h, GAUSS).update(length_scale={"o": 0})),
        "cannot be a kernel",
    ),
    "kernel for a model": ("ridge Cholesky", lambda h: h.update(root={"d": []}), "is no model"),
    "a number for a model": ("ridge Cholesky", lambda h: h.update(root=3), "is no model"),
    "report for a model": ("ridge Cholesky", lambda h: h.update(root={"o": entry(h, REPORT)[0]}), "is no model"),
    "report for a kernel": (
        "ridge Cholesky",
        lambda h: state(h, RIDGE).update(kernel_={"o": entry(h, REPORT)[0]}),
        "kernel_ is no Kernel",
    ),
    "later object": ("columns", put(GAUSS, length_scale={"o": 5}), "no earlier object 5"),
    "itself": (
        "ridge Cholesky",
        lambda h: h["objects"].insert(0, ["kernels.Exp", 1, {"kernel": {"o": 0}}]),
        "no earlier object 0",
    ),
    "no such array": ("ridge Cholesky", put(RIDGE, dual_coef_={"a": "99"}), "no array '99'"),
    "no such tag": ("ridge Cholesky", put(RIDGE, lam_={"eval": "1"}), "no tag ['eval']"),
    "two tags": ("ridge Cholesky", put(RIDGE, lam_={"a": "x", "o": 0}), "no tag ['a', 'o']"),
    "a name": ("ridge Cholesky", put(RIDGE, lam_={"n": "print"}), "calls 'print'"),
    "a class by name": ("ridge Cholesky", named(RIDGE, "names.print"), "calls 'print'"),
    "a name that is asked for": ("ridge Cholesky", lambda h: h["names"].append("print"), "hand it over"),
    "coefficients too few": (
        "columns",
        lambda h: state(h, RIDGE).update(dual_coef_=state(h, GAUSS)["length_scale"]),
        "dual_coef_ has 2 where n is 6",
    ),
    "points of other columns": ("ridge Cholesky", put(RIDGE, n_features_in_=3), "points_ has 2 where d is 3"),
    "points in another shape": ("ridge Cholesky", reshaped(RIDGE, "points_", shape=[12, 4]), "has 24 where n is 12"),
    "whole numbers for points": (
        "ridge Cholesky",
        reshaped(RIDGE, "points_", dtype="I64"),
        "no array of rows of floats",
    ),
    "a list for points": ("ridge Cholesky", put(RIDGE, points_=[1.0] * 24), "no array of rows of floats"),
    "text for points": ("ridge Cholesky", put(RIDGE, points_="x" * 24), "no collection of inputs"),
    "rows of another model": (
        "ridge Cholesky",
        lambda h: state(h, ROWS).update(y=state(h, RIDGE)["points_"], within_squares=state(h, RIDGE)["points_"]),
        "Rows.row_y has 1 where t is 2",
    ),
    "rows of other columns": (
        "ridge Cholesky",
        lambda h: state(h, ROWS).update(X=state(h, ROWS)["y"]),
        "rows of 1 columns are not those",
    ),
    "rows that are none": ("ridge Cholesky", put("approximate.ExactRidge", rows=3), "rows is no Rows"),
    "a fit that is none": ("ridge Cholesky", put(RIDGE, fitted=3), "fitted is no Fitted"),
    "more about rows": ("ridge Cholesky", put(ROWS, more=1), "is made of"),
    "less about rows": ("ridge Cholesky", lambda h: state(h, ROWS).pop("unit"), "is made of"),
    "a row that is not there": ("ridge Cholesky", put(ROWS, given=3), "names a row that is not there"),
    "coefficients of a path": (
        "ridge lam",
        lambda h: spec_of(h, PATH, "coefficients")["shape"].reverse(),
        "Path.coefficients has 1 where k",
    ),
    "a candidate that is none": ("ridge LOO", put(FOUND, candidates=[3]), "candidate is no result"),
    "a search without a kernel": ("ridge LOO", put(FOUND, kernel=None), "kernel is no Kernel"),
    "factor in another order": (
        "gp trend linear",
        lambda h: state(h, POSTERIOR).update(factor={"a": [state(h, POSTERIOR)["Z"]["a"], None, [1, 0]]}),
        "is not float64 in C order",
    ),
    "whole numbers for a factor": (
        "gp trend linear",
        lambda h: state(h, POSTERIOR).update(factor=state(h, ROWS)["index"]),
        "no array of factors",
    ),
    "factor of a wrong shape": (
        "gp trend linear",
        lambda h: state(h, POSTERIOR).update(factor=state(h, POSTERIOR)["Z"]),
        "factor has 3 where n is 24",
    ),
    "a posterior of other rows": (
        "gp trend linear",
        lambda h: state(h, POSTERIOR).update(beta=state(h, ROWS)["H"], b={"a": "square"}),
        "rows are not those of arrays of {'n': 24, 't': 3",
    ),
    "a posterior without rows": ("gp trend linear", put(POSTERIOR, rows=None), "rows is no Rows"),
    "more about a posterior": ("gp trend linear", put(POSTERIOR, more=1), "is made of"),
    "less about a posterior": ("gp trend linear", lambda h: state(h, POSTERIOR).pop("norm"), "is made of"),
    "no posterior": ("gp trend linear", put("approximate.ExactProcess", single=3), "single is no RegressionPosterior"),
    "draws that are none": ("gp draws", put("inference.PosteriorMixture", posteriors=[3]), "made of posteriors"),
    "no draws": ("gp draws", put("inference.PosteriorMixture", posteriors=[]), "made of posteriors"),
    "a trend of text": ("gp trend linear", put("gram.Trend", centre="x"), "Trend.centre is no array"),
    "sites of a wrong size": (
        "gpc ep logit",
        lambda h: part_of(h).update(s={"a": "no"}, f=part_of(h)["a"]),
        "there is no array 'no'",
    ),
    "sites of points": (
        "gpc ep logit",
        lambda h: part_of(h).update(s=state(h, GPC)["points_"]),
        "SitePosterior.s has 2 axes",
    ),
    "labels of sites": (
        "gpc ep logit",
        lambda h: inside(part_of(h)["likelihood"]).update(link="tanh"),
        "KeyError: 'tanh'",
    ),
    "a likelihood of fewer rows": (
        "gpc ep logit",
        lambda h: inside(part_of(h)["likelihood"]).update(t={"a": "few"}, weight={"a": "few"}),
        "the likelihood is one of 2 rows",
    ),
    "nodes of a wrong size": (
        "gpc mcmc probit",
        lambda h: part_of(h).update(weight=part_of(h)["values"]),
        "Draws.weight has",
    ),
    "blocks of a wrong size": (
        "gpc softmax",
        lambda h: h["specs"][part_of(h)["D"]["a"]].update(shape=[3, 24]),
        "SoftmaxPosterior.D has 3 where n is 24",
    ),
    "a thousand million classes": (
        "gpc softmax",
        lambda h: inside(part_of(h)["likelihood"]).update(classes=10**9),
        "and 1000000000 classes",
    ),
    "a model of so many classes": (
        "gpc softmax",
        lambda h: inside(inside(state(h, CLASSES)["model"])["likelihoods"][0]).update(classes=10**9),
        "a model of shape (24, 1000000000)",
    ),
    "another inference": (
        "gpc softmax",
        lambda h: inside(state(h, CLASSES)["posterior"]).update(inference="ep"),
        "SitePosterior is made of",
    ),
    "no inference": (
        "gpc softmax",
        lambda h: inside(state(h, CLASSES)["posterior"]).update(inference="os"),
        "KeyError: 'os'",
    ),
    "a machine of fewer points": (
        "machine softmax",
        lambda h: spec_of(h, "estimators.KernelMachine", "dual_coef_")["shape"].reverse(),
        "dual_coef_ has 3 where n is 24",
    ),
    "an edge to nowhere": ("graphs", put(GRAPH, n=1, labels=None), "not there"),
    "labels too few": (
        "graphs",
        lambda h: state(h, GRAPH).update(edge_labels=state(h, RIDGE)["point_index_"]),
        "edge_labels has 6 where e is",
    ),
    "a graph with more": ("graphs", put(GRAPH, more=1), "is no Graph"),
    "a graph of many nodes": ("graphs", put(GRAPH, n=2**30, labels=None), "says that it has"),
    "a matrix of no shape": ("matrix", put("kernels.MatrixRows", shape={"t": [2, -1]}), "no shape of a kernel matrix"),
    "a matrix without rows": ("matrix", put("kernels.MatrixRows", matrix=None, index=None), "other rows"),
    "a column too short": ("table", lambda h: state(h, "kernels.Table").update(n=5), "does not fit"),
    "a column twice": ("table", put("kernels.Table", columns=["age", "age", "site"]), "columns of a table differ"),
    "a dict with a key twice": ("ridge Cholesky", put(RIDGE, regularization_={"d": [[1, 2], [1, 3]]}), "key twice"),
    "a dict of three": ("ridge Cholesky", put(RIDGE, regularization_={"d": [[1, 2, 3]]}), "pairs"),
    "a dict of numbers": ("ridge Cholesky", put(RIDGE, regularization_={"d": [1, 2]}), "pairs"),
    "a list as a key": ("ridge Cholesky", put(RIDGE, regularization_={"d": [[[], 3]]}), "pairs of a key"),
    "no dict": ("ridge Cholesky", put(RIDGE, regularization_={"d": 3}), "NoneType"),
    "objects of no shape": ("ridge Cholesky", put(RIDGE, extra_={"O": [[2**40], [1]]}), "does not fit"),
    "objects of no list": ("ridge Cholesky", put(RIDGE, extra_={"O": [3]}), "not enough values"),
    "bytes that are none": ("ridge Cholesky", put(RIDGE, extra_={"b": "!"}), "base64"),
    "a scalar of objects": ("ridge Cholesky", put(RIDGE, extra_={"s": ["|O", "00"]}), "dtype |O are not stored"),
    "a scalar too short": ("ridge Cholesky", put(RIDGE, extra_={"s": ["<f8", "00"]}), "1 bytes are no"),
    "a scalar that is none": ("ridge Cholesky", put(RIDGE, extra_={"s": ["<f8", "zz"]}), "fromhex"),
    "a scalar of one": ("ridge Cholesky", put(RIDGE, extra_={"s": ["<f8"]}), "IndexError"),
    "a slice of lists": ("ridge Cholesky", put(RIDGE, extra_={"slice": [[], 1, 2]}), "slice"),
    "a slice of two": ("ridge Cholesky", put(RIDGE, extra_={"slice": [1, 2]}), "slice"),
    "no float": ("ridge Cholesky", put(RIDGE, extra_={"f": "1.0"}), "KeyError"),
    "no dtype": ("ridge Cholesky", put(RIDGE, extra_={"dtype": "|V8"}), "are not stored"),
    "a list for the objects": ("ridge Cholesky", lambda h: h.update(objects={}), "something wrong with ['objects']"),
    "a key too many": ("ridge Cholesky", lambda h: h.update(more=1), "keys"),
}


@pytest.mark.parametrize("case", CASES)
def test_forged_contents(case, known, tmp_path):
    name, change, text = CASES[case]
    path = forged(known, name, tmp_path, change)
    with pytest.raises(ModelFileError, match=re.escape(text)):
        mercer.load(path)


def test_the_forger_itself_is_sound(known, tmp_path):
    for name, (header, arrays, body) in known.items():
        mercer.load(forged(known, name, tmp_path, lambda same: None)).save(tmp_path / "again", force=True)
        again, arrays_again, bytes_again = take_apart(tmp_path / "again")
        assert (again["objects"], again["root"]) == (header["objects"], header["root"])
        assert (arrays_again, bytes_again) == (arrays, body)


def test_containers_and_kernels_that_explode(known, tmp_path):
    def deep_list(header):
        value = 1
        for _ in range(150):
            value = [value]
        state(header, RIDGE)["extra_"] = value

    def deep_kernel(header, levels=300):
        at = len(header["objects"])
        header["objects"] += [["kernels.Linear", 1, {}]]
        header["objects"] += [["kernels.Exp", 1, {"kernel": {"o": at + i}}] for i in range(levels)]
        header["root"] = {"o": len(header["objects"]) - 1}

    def doubled_kernel(header):
        at = len(header["objects"])
        header["objects"] += [["kernels.Linear", 1, {}]]
        header["objects"] += [["kernels.Sum", 1, {"left": {"o": at + i}, "right": {"o": at + i}}] for i in range(60)]
        header["root"] = {"o": len(header["objects"]) - 1}

    def many_kernels(header):
        at, many = len(header["objects"]), 12
        header["objects"] += [["kernels.Linear", 1, {}]]
        header["objects"] += [["kernels.Sum", 1, {"left": {"o": at + i}, "right": {"o": at + i}}] for i in range(many)]
        header["objects"] += [["kernels.Exp", 1, {"kernel": {"o": at + many}}]] * 1000

    def long_expressions(header):
        header["objects"] += [[" + ".join(["Linear()"] * 160)]] * 10_000

    changes = (deep_list, deep_kernel, lambda h: deep_kernel(h, 5000), doubled_kernel, many_kernels, long_expressions)
    for change in changes:
        with pytest.raises(ModelFileError, match="levels deep|nested too deeply"):
            mercer.load(forged(known, "ridge Cholesky", tmp_path, change))


def test_notes_are_plain_too(known, tmp_path):
    for note in ({"o": 0}, {"a": "KernelRidge.points_"}, {"n": "print"}, {"eval": 1}):
        path = forged(known, "ridge Cholesky", tmp_path, lambda header, note=note: header.update(note=note))
        with pytest.raises(ModelFileError):
            files.read_header(path)


def test_booleans_and_characters_that_are_none(tmp_path):
    model = mercer.KernelRidge(lam=[np.array([True, False]), np.array(["ab"])])
    model.save(tmp_path / "a")
    header, arrays, body = take_apart(tmp_path / "a")
    first, second = arrays
    for place, text in ((place_of(arrays, second), "boolean"), (place_of(arrays, first) + 3, "beyond Unicode")):
        broken = bytearray(body)
        broken[place] = 0x7F
        with pytest.raises(ModelFileError, match=text):
            mercer.load(put_together(tmp_path / "b", header, arrays, bytes(broken)))


def test_sparse_indices_are_checked(tmp_path):
    from scipy import sparse

    mercer.KernelRidge(mercer.kernels.Tanimoto()).fit(sparse.csr_array(np.eye(6)), Y).save(tmp_path / "a")
    header, arrays, body = take_apart(tmp_path / "a")
    place = place_of(arrays, state(header, "sparse.csr_array")["indices"]["a"])
    broken = bytearray(body)
    broken[place : place + 4] = (10**6).to_bytes(4, "little")
    with pytest.raises(ModelFileError, match="indices must be < 6"):
        mercer.load(put_together(tmp_path / "b", header, arrays, bytes(broken)))


INTEGERS = np.random.default_rng(0).integers(0, 9, (12, 40))


@pytest.mark.parametrize("shape", [(12, 1), (12,), (12, 40, 1)], ids=str)
@pytest.mark.parametrize("dtype", ["i8", "f8", "f2", "b"])
def test_training_rows_fit_the_columns_of_the_model(shape, dtype, tmp_path):
    model = fitted_models.compat("KernelRidge")(kernel="laplacian").fit(INTEGERS, INTEGERS[:, 0])
    model.X_fit_ = np.resize(INTEGERS.astype(dtype), shape)
    with pytest.raises(ModelFileError, match=r"X_fit_ has"):
        model.save(tmp_path / "a")
    with pytest.raises(ValueError, match="they must agree"):
        model.predict(INTEGERS)


def test_sparse_training_rows_fit_the_columns_of_the_model(tmp_path):
    from scipy import sparse

    X = sparse.csr_array(INTEGERS.T.astype(float))
    for name, field in (("SVR", "support_vectors_"), ("KernelRidge", "X_fit_")):
        model = fitted_models.compat(name)(kernel="rbf")
        model.fit(X, np.arange(40.0)).save(tmp_path / "a", force=True)
        assert (mercer.load(tmp_path / "a").predict(X) == model.predict(X)).all()
        for wrong in (getattr(model, field)[:, :3], getattr(model, field)[:3]):
            setattr(model, field, wrong)
            with pytest.raises(ModelFileError, match=f"{field} has|dual_coef_ has"):
                model.save(tmp_path / "b")


def test_a_kernel_that_refuses_its_own_parameters(tmp_path):
    """Columns are names or numbers; whoever asks such a kernel what it reads gets a ValueError."""
    mercer.KernelRidge(Gaussian().on([0, 1])).fit(X, Y).save(tmp_path / "a")
    header, arrays, body = take_apart(tmp_path / "a")
    for entry in header["objects"]:
        if len(entry) == 1:
            entry[0] = "Gaussian(1.0).on(['condition', 9.1])"
    with pytest.raises(ModelFileError, match="give names or numbers, not both"):
        mercer.load(put_together(tmp_path / "b", header, arrays, body))


@pytest.mark.parametrize("name", ["KernelRidge", "SVR", "GaussianProcessRegressor"])
@pytest.mark.parametrize("unit", ["mercer", "mercer.compat"])
def test_a_model_that_does_not_say_its_columns(unit, name, tmp_path):
    model = fitted_models.quietly(fitted_models.known(name, unit)().fit, X, Y)
    del model.n_features_in_
    if unit == "mercer":
        with pytest.raises(ModelFileError, match="columns"):
            model.save(tmp_path / "a")
        return
    model.save(tmp_path / "a")
    with pytest.raises(ValueError, match="they must agree|mismatch"):
        mercer.load(tmp_path / "a").predict(np.ones((3, 50)))


@pytest.mark.parametrize(
    "keys",
    [[i * (2**61 - 1) for i in range(3000)], [{"t": [i * (2**61 - 1)]} for i in range(3000)]],
    ids=["numbers", "tuples"],
)
def test_keys_with_one_hash(keys, known, tmp_path):
    pairs = [[key, 0] for key in keys]
    path = forged(known, "ridge Cholesky", tmp_path, lambda h: state(h, RIDGE).update(extra_={"d": pairs}))
    with pytest.raises(ModelFileError, match="3000"):
        mercer.load(path)


def test_many_keys_that_are_numbers(tmp_path):
    note = {"codes": {i: str(i) for i in range(3000)}}
    files.save(Gaussian(), tmp_path / "a", note=note)
    assert files.read_header(tmp_path / "a")["note"] == note


def test_kernels_of_scikit_learn_that_explode(tmp_path):
    from sklearn.gaussian_process.kernels import RBF

    kernel = RBF()
    for _ in range(14):
        kernel = kernel + kernel
    with pytest.raises(ModelFileError, match="too large when it is written out"):
        mercer.KernelRidge(kernel).save(tmp_path / "a")


def test_nothing_is_looked_up_outside_the_table():
    names = ["os.system", "builtins.eval", "mercer.files.save", "kernels.base.Kernel", "", ".", "kernels.", 3, None, []]
    names += [
        "kernels.__builtins__",
        "kernels._Store",
        "estimators.Estimator",
        "gp.Kernel.__init__",
        "gp.clone",
        "sparse.x",
    ]
    for name in names:
        with pytest.raises(ValueError, match="there is no class"):
            _registry.class_of(name)
    for unit in ("kernels", "losses", "selection", "solvers"):
        package = importlib.import_module(f"mercer.{unit}")
        known = [
            cls for cls in map(vars(package).get, package.__all__) if isinstance(cls, type) and _registry.name_of(cls)
        ]
        assert len(known) >= 4
        for cls in known:
            assert _registry.name_of(cls) == f"{unit}.{cls.__name__}"
            assert _registry.class_of(f"{unit}.{cls.__name__}") is cls


def test_functions_by_name_are_what_the_user_gives(tmp_path):
    kernel = mercer.kernels.FeatureMap(np.sin)
    files.save(kernel, tmp_path / "a", names={"f": np.sin})
    assert "sin" not in str(take_apart(tmp_path / "a")[0]["objects"])
    assert mercer.load(tmp_path / "a", names={"f": np.cos}) == mercer.kernels.FeatureMap(np.cos)
    files.save(Gaussian() + kernel, tmp_path / "b", names={"f": np.sin})
    with pytest.raises(ModelFileError, match="hand"):
        mercer.load(tmp_path / "b", names={"g": np.sin})


def test_random_forgeries(tmp_path):
    outcomes = random_corruption.run(120, seed=5, folder=tmp_path)
    assert outcomes["refused"] > 50
    assert outcomes["answered"] > 10
    assert not outcomes["endless"]


@pytest.mark.slow
def test_many_random_forgeries(tmp_path, rng_seed):
    outcomes = random_corruption.run(5000, seed=100 + rng_seed, folder=tmp_path)
    assert outcomes["refused"] > 3000
    assert not outcomes["endless"]
