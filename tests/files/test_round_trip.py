"""save → load gives the same model: the same predictions to the last bit, the same attributes, the same sharing."""

import copy
import functools
import inspect
import os
import pickle
import types
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone

import mercer
import mercer.compat
from files import fitted_models
from files.handmade_files import put_together, take_apart
from mercer import KernelInterpolator, KernelRidge, files, kernels
from mercer._state import Stateful
from mercer.exceptions import ModelFileError
from mercer.kernels import Categorical, FeatureMap, Gaussian, Kernel, Linear, Pairwise, Precomputed, Tanimoto
from mercer.losses import Loss

MODELS = fitted_models.models()
FIRST = ("ridge Cholesky", "interpolator", "basis", "gp targets", "gpc softmax", "svr", "machine squared")
X, Y, *_ = fitted_models.data()
NEW = fitted_models.data(5, seed=1)[0]


def through(model, folder, names=None, **options):
    """The model after a trip through a file."""
    path = folder / "model.mercer"
    files.save(model, path, force=True, names=names)
    return mercer.load(path, names=names, **options)


def same(a, b, seen):
    """Whether two values are equal to the last bit, attributes and all; arrays with their memory order."""
    if (id(a), id(b)) in seen:
        return True
    seen[id(a), id(b)] = a, b
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return a.shape == b.shape and all(same(x, y, seen) for x, y in zip(a.ravel(), b.ravel(), strict=True))
        contiguous = not (a.flags.c_contiguous or a.flags.f_contiguous)  # gaps are closed
        order = contiguous or (a.flags.c_contiguous, a.flags.f_contiguous) == (
            b.flags.c_contiguous,
            b.flags.f_contiguous,
        )
        return order and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key], seen) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y, seen) for x, y in zip(a, b, strict=True))
    if sparse.issparse(a):
        return a.shape == b.shape and all(
            same(getattr(a, x), getattr(b, x), seen) for x in ("data", "indices", "indptr")
        )
    if isinstance(a, float | np.floating):
        return a == b or (a != a and b != b)
    if isinstance(a, str | int | bytes | np.generic | np.dtype | slice | types.FunctionType | type(None) | np.ufunc):
        return a == b
    return same(state(a), state(b), seen)


def state(value):
    """What makes up an object, by public names."""
    if hasattr(value, "state"):
        return value.state()
    found = value.get_params(deep=False) if hasattr(value, "get_params") else vars(value)
    return dict(sorted(found.items()))


@pytest.mark.parametrize("name", MODELS)
def test_every_model(name, tmp_path):
    model = MODELS[name]()
    again = through(model, tmp_path)
    assert same(model, again, {})
    again.save(tmp_path / "again.mercer")
    assert take_apart(tmp_path / "again.mercer") == take_apart(tmp_path / "model.mercer")
    fitted_models.assert_same_answers(model, again, NEW)
    assert fitted_models.learnt(model) == fitted_models.learnt(again)
    assert str(model.fit_report_) == str(again.fit_report_)
    assert repr(model) == repr(again)


@pytest.mark.parametrize("name", MODELS)
def test_names_in_a_file_are_public(name, tmp_path):
    MODELS[name]().save(tmp_path / "a")
    header, arrays, _ = take_apart(tmp_path / "a")
    for entry in header["objects"]:
        names = [entry[0].split(".")[-1], *entry[2]] if len(entry) == 3 else entry
        assert not [name for name in names if name.startswith("_")]
    assert not [name for name in arrays if "._" in name]


def test_every_estimator_is_in_the_zoo():
    known = {name for name in mercer.estimators.__all__ if inspect.isclass(vars(mercer).get(name, Stateful))}
    made = {inspect.getclosurevars(fit).nonlocals["estimator"] for fit in MODELS.values()}
    assert made == known - {"FitReport", "KernelEstimator", "RowsLeftOut", "svr_path"}


def test_any_reader_of_the_container_sees_the_arrays(tmp_path):
    from safetensors import safe_open
    from safetensors.numpy import load_file

    model = KernelRidge().fit(X, Y)
    model.save(tmp_path / "a")
    found = load_file(tmp_path / "a")
    assert found["KernelRidge.dual_coef_"].tobytes() == model.dual_coef_.tobytes()
    with safe_open(tmp_path / "a", framework="numpy") as file:
        assert list(file.metadata()) == ["mercer"]


@pytest.mark.parametrize(
    ("name", "kernel"),
    fitted_models.kernels(first_only=True),
    ids=fitted_models.name_alone,
)
def test_every_kernel(name, kernel, tmp_path):
    X, new = fitted_models.inputs(kernel)
    named = fitted_models.functions(kernel) or None
    model = fitted_models.quietly(KernelRidge(kernel, lam=0.5).fit, X, Y[:10])
    again = through(model, tmp_path, named)
    assert again.kernel_ == model.kernel_
    assert model.predict(new).tobytes() == again.predict(new).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kernel"), fitted_models.kernels(), ids=fitted_models.name_alone)
@pytest.mark.parametrize(
    "estimator", ["KernelRidge", "SVR", "GaussianProcessRegressor", "KernelInterpolator", "KernelMachine"]
)
def test_every_kernel_in_every_estimator(estimator, name, kernel, tmp_path):
    options = {"criterion": None, "noise": 0.3} if estimator == "GaussianProcessRegressor" else {}
    X, new = fitted_models.inputs(kernel, 14)
    named = fitted_models.functions(kernel) or None
    model = fitted_models.quietly(fitted_models.known(estimator)(kernel, **options).fit, X, Y[:14])
    again = through(model, tmp_path, named)
    fitted_models.assert_same_answers(model, again, new)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mapped", [False, True])
def test_precision_and_memory_order(dtype, order, mapped, tmp_path):
    inputs = np.array(np.round(8 * X), dtype=dtype, order=order)
    targets = np.array(np.stack([Y, Y**2], axis=1), order=order)
    for model in (KernelRidge(Gaussian(9.0)), KernelInterpolator(Gaussian(9.0))):
        again = through(fitted_models.quietly(model.fit, inputs, targets), tmp_path, mmap=mapped)
        assert same(model, again, {})
        fitted_models.assert_same_answers(model, again, NEW)


@pytest.mark.parametrize("library", ["pandas", "polars", "dict"])
def test_tables_with_columns_by_name(library, tmp_path):
    columns = {"age": X[:, 0], "site": ["Bern", "Turin", "Oslo"] * 8, "unused": list(range(24))}
    frame = columns if library == "dict" else pytest.importorskip(library).DataFrame(columns)
    kernel = Gaussian().on(["age"]) + Categorical().on("site")
    model = KernelRidge(kernel).fit(frame, Y)
    again = through(model, tmp_path)
    assert model.predict(frame).tobytes() == again.predict(frame).tobytes()
    if library != "dict":
        assert again.feature_names_in_.tolist() == ["age", "site", "unused"]
    assert list(again.points_.state()["values"]) == ["age", "site"]


def test_sparse_rows_and_graphs_as_matrices(tmp_path):
    rows = sparse.csr_array(np.abs(np.round(X)))
    model = KernelRidge(Tanimoto()).fit(rows, Y)
    assert model.predict(rows).tobytes() == through(model, tmp_path).predict(rows).tobytes()
    forms = [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array, np.array]
    graphs = [form(np.array([[0, 1, i % 2], [1, 0, 1], [i % 2, 1, 0]])) for i in range(6) for form in forms]
    model = KernelRidge(kernels.ShortestPath()).fit(graphs, np.arange(30.0))
    assert model.predict(graphs).tobytes() == through(model, tmp_path).predict(graphs).tobytes()


def test_a_precomputed_kernel_does_not_store_its_matrix(tmp_path):
    K = X @ X.T
    model = KernelRidge(Precomputed(), 1.0).fit(K, Y)
    again = through(model, tmp_path)
    assert model.predict(K[:3]).tobytes() == again.predict(K[:3]).tobytes()
    assert (tmp_path / "model.mercer").stat().st_size < K.nbytes + 6000


@pytest.mark.parametrize("name", sorted(mercer.compat.__all__))
def test_compat(name, tmp_path):
    two, three = fitted_models.data()[2:4]
    for target in (two, three) if name.endswith("Classifier") else (Y,):
        model = fitted_models.quietly(fitted_models.compat(name)().fit, X, target)
        again = through(model, tmp_path)
        fitted_models.assert_same_answers(model, again, NEW)
        header, arrays, body = take_apart(tmp_path / "model.mercer")
        header["objects"][-1][2]["n_features_in_"] = 3  # the model itself is the last object
        if "Classifier" not in name:
            with pytest.raises(ModelFileError, match="where d is 3"):
                mercer.load(put_together(tmp_path / "forged", header, arrays, body))


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
def test_compat_with_several_classes(multi_class, tmp_path):
    model = fitted_models.quietly(
        fitted_models.compat("GaussianProcessClassifier")(multi_class=multi_class).fit, X, fitted_models.data()[3]
    )
    again = through(model, tmp_path)
    fitted_models.assert_same_answers(model, again, NEW)
    assert again.kernel_ == model.kernel_


@pytest.mark.parametrize("shape", [(20, 8), (8, 20)], ids=str)
@pytest.mark.parametrize("name", ["SVR", "NuSVR", "KernelRidge"])
def test_compat_on_sparse_rows(name, shape, tmp_path):
    rows = sparse.random_array(shape, density=0.4, rng=np.random.default_rng(0), format="csr")
    model = fitted_models.quietly(fitted_models.compat(name)(kernel="rbf").fit, rows, np.arange(float(shape[0])))
    fitted_models.assert_same_answers(model, through(model, tmp_path), rows)


def test_compat_with_a_function_of_rows(tmp_path):
    model = fitted_models.quietly(mercer.compat.SVR(kernel=gram).fit, X, Y)
    again = through(model, tmp_path, {"gram": gram})
    fitted_models.assert_same_answers(model, again, NEW)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "bool"])
@pytest.mark.parametrize("name", sorted(mercer.compat.__all__))
def test_compat_in_every_precision(name, dtype, tmp_path):
    rows, new = (np.round(4 * A).astype(dtype) for A in (X, NEW))
    target = fitted_models.data()[2] if name.endswith("Classifier") else Y
    options = {"alpha": 0.1} if name.endswith("Regressor") else {}
    model = fitted_models.quietly(fitted_models.compat(name)(**options).fit, rows, target)
    fitted_models.assert_same_answers(model, through(model, tmp_path), new)


def test_long_doubles_are_refused_with_what_to_do(tmp_path):
    model = fitted_models.compat("KernelRidge")().fit(X.astype(np.longdouble), Y)
    same = np.dtype(np.longdouble).itemsize == 8  # on some machines it is float64
    with nullcontext() if same else pytest.raises(ModelFileError, match="cast it to float64"):
        model.save(tmp_path / "a")


def test_rows_are_stored_once(tmp_path):
    wide = np.tile(X, 50)
    for model in (KernelRidge(), mercer.SVR()):
        model.fit(wide, Y).save(tmp_path / "a", force=True)
        shapes = [spec["shape"] for spec in take_apart(tmp_path / "a")[1].values()]
        assert sum(shape[-1:] == [100] and len(shape) == 2 for shape in shapes) == 1


@pytest.mark.parametrize("dtype", [float, int])
def test_numbers_that_are_objects(dtype, tmp_path):
    numbers = np.arange(1, 9).astype(dtype)
    model = KernelRidge(Pairwise(min), lam=0.1).fit(numbers, Y[:8])
    again = through(model, tmp_path, {"smaller": min})
    assert again.predict(numbers).tobytes() == model.predict(numbers).tobytes()


@pytest.mark.parametrize("model", [KernelRidge(), mercer.compat.SVR(), mercer.SVR()], ids=repr)
def test_which_metadata_are_asked_for(model, tmp_path):
    with config_context(enable_metadata_routing=True):
        model = clone(model).set_fit_request(sample_weight="w").set_score_request(sample_weight=False)
        for again in (through(model, tmp_path), through(model.fit(X, Y), tmp_path)):
            assert str(again.get_metadata_routing()) == str(model.get_metadata_routing())
            assert again._metadata_request.fit.requests == {"sample_weight": "w"}
            assert str(clone(again).get_metadata_routing()) == str(model.get_metadata_routing())
        header, arrays, body = take_apart(tmp_path / "model.mercer")
        for wrong in (
            3,
            {"d": [["fit", 3]]},
            {"d": [["owner", {"d": [["w", True]]}]]},
            {"d": [["fit", {"d": [["w", 3]]}]]},
        ):
            header["objects"][-1][2]["requests"] = wrong
            with pytest.raises(ModelFileError):
                mercer.load(put_together(tmp_path / "forged", header, arrays, body))


def test_table_models(tmp_path):
    polars = pytest.importorskip("polars")
    table_model = fitted_models.known("TableModel", "mercer.tabular")
    columns = {"age": X[:, 0], "site": ["Bern", "Turin", "Oslo"] * 8, "dose": [None, *X[1:, 1]], "y": Y}
    frame = polars.DataFrame(columns)
    model = fitted_models.quietly(table_model(KernelRidge(criterion=mercer.selection.LOO()), target="y").fit, frame)
    again = through(model, tmp_path)
    new = frame.drop("y").head(5)
    assert fitted_models.quietly(model.predict, new).tobytes() == fitted_models.quietly(again.predict, new).tobytes()
    assert again.notes_ == model.notes_
    assert files.read_header(tmp_path / "model.mercer")["kernel"] == repr(model.estimator_.kernel_)
    header, arrays, body = take_apart(tmp_path / "model.mercer")
    header["objects"][-1][2]["estimator_"] = header["objects"][-1][2]["recipe_"]
    with pytest.raises(ModelFileError, match="estimator_ is no RegressorMixin"):
        mercer.load(put_together(tmp_path / "forged", header, arrays, body))


def test_what_was_shared_is_shared_again(tmp_path):
    model = MODELS["ridge weights"]()
    again = through(model, tmp_path)
    assert model.state()["fitted"].rows.X is model.points_
    assert again.state()["fitted"].rows.X is again.points_
    chosen = through(MODELS["ridge list"](), tmp_path)
    assert any(one is chosen.selection_ for one in chosen.selection_.candidates)


def test_models_that_are_not_fitted_and_kernels_alone(tmp_path):
    model = KernelRidge(2.0 * Gaussian([0.5, 1.0]), lam=np.array([1.0, 2.0]), criterion=mercer.selection.LOO())
    assert repr(through(model, tmp_path)) == repr(model)
    kernel = 2.0 * Gaussian(0.1) + Linear()
    assert through(kernel, tmp_path) == kernel


def test_a_loaded_model_goes_on(tmp_path):
    again = through(MODELS["gp"](), tmp_path)
    assert again.fit(X, Y).predict(NEW).shape == (5,)
    assert through(through(again, tmp_path), tmp_path).predict(NEW).tobytes() == again.predict(NEW).tobytes()
    copied = copy.deepcopy(through(again, tmp_path, mmap=True))
    assert copied.predict(NEW).tobytes() == again.predict(NEW).tobytes()


@pytest.mark.parametrize("name", FIRST)
def test_pickle_works_before_and_after(name, tmp_path):
    model = MODELS[name]()
    for one in (model, through(model, tmp_path, mmap=True)):
        assert fitted_models.answers(pickle.loads(pickle.dumps(one)), NEW) == fitted_models.answers(model, NEW)


def test_awkward_values_of_parameters(tmp_path):
    values = [
        float("inf"),
        -0.0,
        1e-320,
        2**70,
        np.float32(0.1),
        np.bool_(True),
        np.str_("é"),
        b"\x00\xff",
        (1, (2, [3])),
    ]
    values += [
        {1: "a", "b": None, (1, "c"): 2.5},
        slice(None, 3),
        "\ud800",
        np.datetime64("2020-01-01"),
        np.dtype("<f4"),
    ]
    values += [np.zeros((0, 3)), np.array(7), np.array(["a", "bcd"]), np.array([b"x"]), np.array(["2020"], "M8[D]")]
    values += [np.array([True, False]), np.array([None, "x", 2], dtype=object), np.arange(6, dtype=">i4").reshape(2, 3)]
    values += [np.moveaxis(np.arange(24.0).reshape(2, 3, 4), 0, 1), np.arange(10.0)[::2], np.arange(5.0)[::-1]]
    model = KernelRidge(lam=values)
    found = through(model, tmp_path).lam
    assert len(found) == len(values)
    for before, after in zip(values, found, strict=True):
        if isinstance(before, np.ndarray) and not (before.dtype.isnative and before.flags.forc):
            assert (before == after).all()
        else:
            assert same(before, after, {}), before
    assert np.signbit(found[1])


# ------------------------------------------------------------------------------------------------ code by name
def product(x, z):
    return float(np.dot(x, z))


def features(X):
    return np.hstack([X, X**2])


def gram(X, Z):
    return X @ Z.T


class Half(Kernel):
    """½ xᵀz, and a parameter."""

    def __init__(self, factor=0.5):
        self.factor = factor

    def _tile(self, X, Z):
        return self.factor * X @ Z.T

    def diag(self, X):
        return self.factor * np.einsum("ij,ij->i", X, X)


class Squares:
    """A function with a state, of which scikit-learn's clone makes copies."""

    def __init__(self, power):
        self.power = power

    def __call__(self, X):
        return X**self.power

    def twice(self, X):
        return 2.0 * X**self.power


class Slotted:
    """The same without a dict."""

    __slots__ = ("power",)

    def __init__(self, power):
        self.power = power

    def __call__(self, X):
        return X**self.power


class Plain:
    """The same without a state."""

    def __call__(self, X):
        return X**2


def to_the(power, X):
    return X**power


POWERS = np.array([1.0, 2.0])
OBJECTS = {
    "partial": lambda p: functools.partial(to_the, p),
    "partial of an array": lambda p: functools.partial(to_the, p * POWERS),
    "an array inside": lambda p: Squares(p * POWERS),
    "slots": Slotted,
    "slots with an array": lambda p: Slotted(p * POWERS),
    "method": lambda p: Squares(p * POWERS).twice,
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_by_name_after_a_copy(name, tmp_path):
    phi = OBJECTS[name](2.0)
    model = fitted_models.quietly(KernelRidge(FeatureMap(phi)).fit, X, Y)
    assert model.kernel_.phi is not phi
    model.save(tmp_path / "a", names={"phi": phi})
    again = mercer.load(tmp_path / "a", names={"phi": phi})
    assert again.predict(NEW).tobytes() == model.predict(NEW).tobytes()
    with pytest.raises(ModelFileError, match="names="):
        model.save(tmp_path / "b", names={"phi": OBJECTS[name](3.0)})


def test_objects_that_only_look_alike(tmp_path):
    plain = Plain()
    model = fitted_models.quietly(KernelRidge(FeatureMap(plain)).fit, X, Y)
    model.save(tmp_path / "a", names={"phi": plain})
    with pytest.raises(ModelFileError, match="names="):
        model.save(tmp_path / "b", names={"phi": np.sin})
    with pytest.raises(ModelFileError, match="names="):
        files.save(FeatureMap(np.sin), tmp_path / "b", names={"phi": np.cos})
    circle, other = Squares(0), Squares(0)
    circle.power, other.power = circle, other
    with pytest.raises(ModelFileError, match="names="):
        files.save(FeatureMap(circle), tmp_path / "b", names={"phi": other})


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (Pairwise(product), "KernelRidge.kernel.function is the function 'product'"),
        (FeatureMap(features), "KernelRidge.kernel.phi is the function 'features'"),
        (Gaussian().warp(np.sum), "KernelRidge.kernel.function is the function 'sum'"),
        (
            Gaussian() + Gaussian().transform(lambda X: X),
            "KernelRidge.kernel.right.function is the function '<lambda>'",
        ),
        (Half(), "KernelRidge.kernel is a Half"),
    ],
    ids=["pairwise", "features", "warped", "transformed", "own"],
)
def test_functions_are_refused_and_named(kernel, text, tmp_path):
    with pytest.raises(ModelFileError, match="names=") as caught:
        KernelRidge(kernel).save(tmp_path / "model.mercer")
    assert text in str(caught.value)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (Pairwise(product), {"dot": product}),
        (FeatureMap(Squares(2)), {"squares": Squares(2)}),
        (Half(0.25) + Gaussian().transform(features), {"Half": Half, "features": features}),
        (Half(0.125), {"half": Half(0.125)}),
    ],
    ids=["function", "object", "class", "kernel"],
)
def test_functions_and_classes_by_name(kernel, names, tmp_path):
    model = fitted_models.quietly(KernelRidge(kernel).fit, X, Y)
    path = tmp_path / "model.mercer"
    model.save(path, names=names)
    again = mercer.load(path, names={**names, "other": max})
    assert again.predict(NEW).tobytes() == model.predict(NEW).tobytes()
    assert files.read_header(path)["names"] == sorted(names)
    with pytest.raises(ModelFileError, match="names="):
        mercer.load(path)


def test_a_name_that_is_not_used_and_names_that_are_none(tmp_path):
    with pytest.raises(ModelFileError, match="phi"):
        files.save(Gaussian(), tmp_path / "a", names={"phi": max})
    for wrong in ({"a b": max}, [max]):
        with pytest.raises(TypeError, match="names"):
            files.save(Gaussian(), tmp_path / "a", names=wrong)
    with pytest.raises(ModelFileError, match="Kernel"):
        files.save(FeatureMap(Squares(2)), tmp_path / "a", names={"Squares": Squares})


def test_own_losses_by_name(tmp_path):
    class Cubed(Loss):
        def __init__(self, power=3.0):
            self.power = power

        def value(self, y, f):
            return np.abs(y - f) ** self.power

    model = mercer.KernelMachine(loss=Cubed(4.0))
    model.save(tmp_path / "a", names={"Cubed": Cubed})
    assert mercer.load(tmp_path / "a", names={"Cubed": Cubed}).loss.power == 4.0


def test_what_is_no_model(tmp_path):
    for thing in (3, "text", [KernelRidge()], Y, KernelRidge, mercer.selection.LOO()):
        with pytest.raises(ModelFileError, match="a model file holds an estimator"):
            files.save(thing, tmp_path / "a")
    loop = KernelRidge()
    loop.kernel = [loop]
    with pytest.raises(ModelFileError, match="itself"):
        loop.save(tmp_path / "a")
    deep, endless = [], []
    for _ in range(60):
        deep = [{"deeper": deep}]
    endless.append(endless)
    for value in (deep, endless, 10**5000, 1j):
        with pytest.raises(
            ModelFileError, match="levels deep|nested too deeply|not among the data|too much for a model file"
        ):
            KernelRidge(lam=value).save(tmp_path / "a")
    kernel = Linear()
    for _ in range(250):
        kernel = kernel.exp()
    with pytest.raises(ModelFileError, match="nested too deeply"):
        KernelRidge(kernel).save(tmp_path / "a")
    assert not any(tmp_path.iterdir())
    with pytest.raises(ModelFileError, match="complex128"):
        KernelRidge(lam=np.ones(2) * 1j).save(tmp_path / "a")


def test_paths_and_notes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = KernelInterpolator().fit(X, Y)
    note = {"command": "mercer fit", "scores": [1.0, float("nan")], "more": {"x": None, "y": [True, "é"]}}
    model.save("bare.mercer", note=note)
    model.save(tmp_path / "path.mercer")
    model.save(os.fsdecode(tmp_path / "str.mercer"))
    header = files.read_header(Path("bare.mercer"))
    assert repr(header["note"]) == repr(note)
    assert header["class"] == "KernelInterpolator"
    assert header["kernel"].startswith("Matern32(")
    assert header["format"] == 1
    assert header["bytes"] == Path("bare.mercer").stat().st_size
    assert files.read_header("path.mercer")["note"] is None
    with pytest.raises(TypeError, match="note"):
        model.save("x.mercer", note=[1])
    with pytest.raises(ModelFileError, match="note"):
        model.save("x.mercer", note={"array": Y})


# ------------------------------------------------------------------------------------------------ what is made again
LEAN = {
    "gp": lambda rows, y: mercer.GaussianProcessRegressor(Gaussian(2.0), 0.1, criterion=None).fit(rows, y),
    "stack": lambda rows, y: mercer.StackedKernels([Gaussian(1.0), 2.0 * Linear()], [0.1, 0.2]).fit(rows, y),
    "two classes": lambda rows, y: mercer.GaussianProcessClassifier(Gaussian(2.0), criterion=None).fit(rows, y > 0),
    "three classes": lambda rows, y: mercer.GaussianProcessClassifier(Gaussian(2.0), criterion=None).fit(
        rows, np.digitize(y, [-0.5, 0.5])
    ),
}


@pytest.mark.parametrize("name", LEAN)
def test_a_file_grows_with_the_rows_and_not_with_their_square(name, tmp_path):
    """Factors are made again of the kernel and the points, where a variance is asked for: the answers are the same."""
    rng, sizes = np.random.default_rng(0), []
    for n in (150, 300):
        rows = rng.standard_normal((n, 3))
        model = LEAN[name](rows, rows[:, 0] + 0.3 * rng.standard_normal(n))
        again = through(model, tmp_path)
        sizes.append((tmp_path / "model.mercer").stat().st_size)
    new, classes = rng.standard_normal((20, 3)), "classes" in name
    for way in ("predict_proba", "predict_latent") if classes else ("predict", "predict_interval"):
        np.testing.assert_allclose(getattr(again, way)(new), getattr(model, way)(new), rtol=1e-9)
    if not classes:
        for one, other in zip(again.predict(new, return_std=True), model.predict(new, return_std=True), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)
    assert sizes[1] - sizes[0] < 150 * 400  # bytes: a matrix would be 540,000 more


@pytest.mark.parametrize("kind", [mercer.GaussianProcessRegressor, mercer.GaussianProcessClassifier])
def test_of_kernel_values_that_were_given_a_file_keeps_the_factor(kind, tmp_path):
    model = kind(Precomputed(), criterion=None).fit(Gaussian(1.0)(X), Y > 0)
    again, new = through(model, tmp_path), Gaussian(1.0)(NEW, X)
    assert np.array_equal(again.predict(new), model.predict(new))
    assert any(key.endswith(".factor") for key in take_apart(tmp_path / "model.mercer")[1])


def test_rows_join_and_leave_a_process_from_a_file(tmp_path):
    model = mercer.GaussianProcessRegressor(Gaussian(2.0), 0.1, criterion=None).fit(X, Y)
    again = through(model, tmp_path)
    one, other = (each.update(NEW, np.zeros(len(NEW))).forget([0, 3]).predict(X) for each in (again, model))
    np.testing.assert_allclose(one, other, rtol=1e-9)
