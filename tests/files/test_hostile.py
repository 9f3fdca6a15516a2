"""Forged contents with right digests: every case must be refused by name, and nothing may run or crash."""

import copy

import numpy as np
import pytest

import mercer
import mercer.compat
from files import fuzz, zoo
from files.forge import put_together, take_apart
from mercer import files
from mercer.exceptions import ModelFileError
from mercer.files import _registry
from mercer.kernels import Gaussian

X, Y, *_ = zoo.data(6)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """{name: (header, body)} of a few models."""
    folder = tmp_path_factory.mktemp("known")
    models = {
        name: fit()
        for name, fit in zoo.models().items()
        if name in ("ridge Cholesky", "gp jitter", "gpc ep logit", "gpc softmax", "interpolator")
    }
    graphs = mercer.kernels.ShortestPath().sample(6, np.random.default_rng(0))
    models["graphs"] = mercer.KernelRidge(mercer.kernels.ShortestPath()).fit(graphs, Y)
    found = {}
    for name, model in models.items():
        model.save(folder / "a", force=True)
        found[name] = take_apart(folder / "a")
    return found


def forged(known, name, tmp_path, change, body=None):
    """A file like that of a known model, but for a change of its header."""
    header, old = copy.deepcopy(known[name])
    change(header)
    return put_together(tmp_path / "forged", header, old if body is None else body)


def entry(header, cls):
    """(number, [class, state]) of the first object of a class."""
    return next((i, entry) for i, entry in enumerate(header["objects"]) if entry[0] == cls)


def state(header, cls):
    return entry(header, cls)[1][1]


def array_of(header, cls, field):
    """The description of the array that is an attribute."""
    return header["arrays"][state(header, cls)[field]["a"]]


# name: (model, what is changed, a part of the complaint)
RIDGE, GRAPH = "estimators.KernelRidge", "kernels.Graph"
CASES = {
    "unknown class": (
        "ridge Cholesky",
        lambda h: entry(h, RIDGE)[1].__setitem__(0, "os.system"),
        "no class 'os.system'",
    ),
    "class by path": (
        "ridge Cholesky",
        lambda h: entry(h, RIDGE)[1].__setitem__(0, "estimators.ridge.KernelRidge"),
        "no class",
    ),
    "abstract class": (
        "ridge Cholesky",
        lambda h: entry(h, "kernels.Gaussian")[1].__setitem__(0, "kernels.Radial"),
        "no class",
    ),
    "class of another kind": (
        "ridge Cholesky",
        lambda h: entry(h, "kernels.Gaussian")[1].__setitem__(0, "losses.Huber"),
        "takes",
    ),
    "no pair": ("ridge Cholesky", lambda h: h["objects"].append(["kernels.Linear"]), "is not [class, attributes]"),
    "class attribute": (
        "ridge Cholesky",
        lambda h: state(h, RIDGE).update({"__class__": 1}),
        "no attribute '__class__'",
    ),
    "dict attribute": (
        "ridge Cholesky",
        lambda h: state(h, RIDGE).update({"__dict__": {"d": []}}),
        "no attribute '__dict__'",
    ),
    "method": ("ridge Cholesky", lambda h: state(h, RIDGE).update({"predict": 1}), "no attribute 'predict'"),
    "class data": (
        "ridge Cholesky",
        lambda h: state(h, RIDGE).update({"_parameter_constraints": {"d": []}}),
        "no attribute",
    ),
    "no identifier": ("ridge Cholesky", lambda h: state(h, RIDGE).update({"a b_": 1}), "no attribute 'a b_'"),
    "public attribute": ("ridge Cholesky", lambda h: state(h, RIDGE).update({"extra": 1}), "'extra'"),
    "parameter missing": ("ridge Cholesky", lambda h: state(h, RIDGE).pop("lam"), "'lam'"),
    "kernel parameter missing": ("ridge Cholesky", lambda h: state(h, "kernels.Gaussian").pop("length_scale"), "takes"),
    "text for a length": (
        "ridge Cholesky",
        lambda h: state(h, "kernels.Gaussian").update(length_scale="wide"),
        "is no Gaussian",
    ),
    "negative length": (
        "ridge Cholesky",
        lambda h: state(h, "kernels.Gaussian").update(length_scale=-1.0),
        "must be positive",
    ),
    "a kernel for a length": (
        "ridge Cholesky",
        lambda h: (
            h["objects"].insert(0, ["kernels.Linear", {}]),
            state(h, "kernels.Gaussian").update(length_scale={"o": 0}),
        ),
        "cannot be a kernel",
    ),
    "kernel for a model": ("ridge Cholesky", lambda h: h.update(root={"d": []}), "is no model"),
    "a number for a model": ("ridge Cholesky", lambda h: h.update(root=3), "is no model"),
    "report for a model": (
        "ridge Cholesky",
        lambda h: h.update(root={"o": entry(h, "estimators.FitReport")[0]}),
        "is no model",
    ),
    "report for a kernel": (
        "ridge Cholesky",
        lambda h: state(h, RIDGE).update(kernel_={"o": entry(h, "estimators.FitReport")[0]}),
        "kernel_ is no Kernel",
    ),
    "later object": (
        "ridge Cholesky",
        lambda h: state(h, "kernels.Gaussian").update(length_scale={"o": 5}),
        "no earlier object 5",
    ),
    "itself": (
        "ridge Cholesky",
        lambda h: h["objects"].insert(0, ["kernels.Exp", {"kernel": {"o": 0}}]),
        "no earlier object 0",
    ),
    "no such array": ("ridge Cholesky", lambda h: state(h, RIDGE).update(dual_coef_={"a": 99}), "no array 99"),
    "no such tag": ("ridge Cholesky", lambda h: state(h, RIDGE).update(lam_={"eval": "1"}), "no tag 'eval'"),
    "two tags": ("ridge Cholesky", lambda h: state(h, RIDGE).update(lam_={"a": 0, "o": 0}), "2 tags"),
    "a name": ("ridge Cholesky", lambda h: state(h, RIDGE).update(lam_={"n": "print"}), "calls 'print'"),
    "a class by name": ("ridge Cholesky", lambda h: entry(h, RIDGE)[1].__setitem__(0, "names.print"), "calls 'print'"),
    "a name that is asked for": ("ridge Cholesky", lambda h: h["names"].append("print"), "hand it over"),
    "coefficients too few": (
        "ridge Cholesky",
        lambda h: state(h, RIDGE).update(dual_coef_=state(h, "kernels.Gaussian")["length_scale"]),
        "dual_coef_",
    ),
    "points of other columns": (
        "ridge Cholesky",
        lambda h: state(h, RIDGE).update(n_features_in_=3),
        "points_ has 2 where d is 3",
    ),
    "points for coefficients": (
        "ridge Cholesky",
        lambda h: array_of(h, RIDGE, "points_").__setitem__(1, [12, 4]),
        "points_",
    ),
    "integer points": (
        "ridge Cholesky",
        lambda h: array_of(h, RIDGE, "points_").__setitem__(0, "<M8[ns]"),
        "dual_coef_|points_",
    ),
    "factor in Fortran order": (
        "gp jitter",
        lambda h: array_of(h, "solvers.Factored", "_L").__setitem__(2, [1, 0]),
        "not in C order",
    ),
    "factor of a wrong size": ("gp jitter", lambda h: state(h, "solvers.Factored").update(n=5), "n has 5 where n is 6"),
    "integers for a factor": (
        "gp jitter",
        lambda h: array_of(h, "solvers.Factored", "_L").__setitem__(0, "<i8"),
        "is no array of 'f'",
    ),
    "points beside the factor": (
        "gp jitter",
        lambda h: state(h, "inference.Posterior").update(points={"t": []}),
        "no collection of inputs",
    ),
    "more attributes inside": (
        "gp jitter",
        lambda h: state(h, "inference.Posterior").update(more=1),
        "other attributes",
    ),
    "fewer attributes inside": ("gp jitter", lambda h: state(h, "inference.Posterior").pop("s"), "other attributes"),
    "sites of a wrong size": (
        "gpc ep logit",
        lambda h: array_of(h, "inference.SitePosterior", "s").__setitem__(1, [1, 24]),
        "axes",
    ),
    "no link": ("gpc ep logit", lambda h: state(h, "inference.Binary").update(link="logit"), "link is no Link"),
    "blocks of a wrong size": (
        "gpc softmax",
        lambda h: array_of(h, "inference._Blocks", "E").__setitem__(1, [24, 3, 24]),
        "_Blocks",
    ),
    "an edge to nowhere": ("graphs", lambda h: state(h, GRAPH).update(n=1), "not there"),
    "labels too few": (
        "graphs",
        lambda h: state(h, GRAPH).update(labels=None, edge_labels={"a": 0}),
        "labels of a graph",
    ),
    "a graph with more": ("graphs", lambda h: state(h, GRAPH).update(more=1), "is no Graph"),
    "a dict with a key twice": (
        "ridge Cholesky",
        lambda h: state(h, RIDGE).update(regularization_={"d": [[1, 2], [1, 3]]}),
        "key twice",
    ),
    "a dict of three": (
        "ridge Cholesky",
        lambda h: state(h, RIDGE).update(regularization_={"d": [[1, 2, 3]]}),
        "pairs",
    ),
    "a list as a key": (
        "ridge Cholesky",
        lambda h: state(h, RIDGE).update(regularization_={"d": [[[], 3]]}),
        "cannot be one",
    ),
    "objects of no shape": (
        "ridge Cholesky",
        lambda h: state(h, RIDGE).update(extra_={"O": [[2**40], [1]]}),
        "does not fit",
    ),
    "bytes that are none": ("ridge Cholesky", lambda h: state(h, RIDGE).update(extra_={"b": "!"}), "base 64"),
    "a scalar of objects": (
        "ridge Cholesky",
        lambda h: state(h, RIDGE).update(extra_={"s": ["|O", "00"]}),
        "not a dtype",
    ),
    "a scalar too short": (
        "ridge Cholesky",
        lambda h: state(h, RIDGE).update(extra_={"s": ["<f8", "00"]}),
        "1 bytes are no",
    ),
    "a slice of lists": ("ridge Cholesky", lambda h: state(h, RIDGE).update(extra_={"slice": [[], 1, 2]}), "slice"),
    "a list for the objects": ("ridge Cholesky", lambda h: h.update(objects={}), "'objects' of the header"),
    "a key too many": ("ridge Cholesky", lambda h: h.update(more=1), "keys"),
}


@pytest.mark.parametrize("case", CASES)
def test_forged_contents(case, known, tmp_path):
    name, change, text = CASES[case]
    path = forged(known, name, tmp_path, change)
    with pytest.raises(ModelFileError, match=text.replace("[", r"\[")):
        mercer.load(path)


def test_the_forger_itself_is_sound(known, tmp_path):
    for name, (header, body) in known.items():
        mercer.load(forged(known, name, tmp_path, lambda same: None)).save(tmp_path / "again", force=True)
        again, bytes_again = take_apart(tmp_path / "again")
        assert (again["objects"], again["root"], bytes_again) == (header["objects"], header["root"], body)


def test_containers_and_kernels_that_explode(known, tmp_path):
    def deep_list(header):
        value = 1
        for _ in range(150):
            value = [value]
        state(header, RIDGE)["extra_"] = value

    def deep_kernel(header, levels=300):
        at = len(header["objects"])
        header["objects"] += [["kernels.Linear", {}]]
        header["objects"] += [["kernels.Exp", {"kernel": {"o": at + i}}] for i in range(levels)]
        header["root"] = {"o": len(header["objects"]) - 1}

    def doubled_kernel(header):
        at = len(header["objects"])
        header["objects"] += [["kernels.Linear", {}]]
        header["objects"] += [["kernels.Sum", {"left": {"o": at + i}, "right": {"o": at + i}}] for i in range(60)]
        header["root"] = {"o": len(header["objects"]) - 1}

    for change in (deep_list, deep_kernel, lambda h: deep_kernel(h, 5000), doubled_kernel):
        with pytest.raises(ModelFileError, match="levels deep|nested too deeply"):
            mercer.load(forged(known, "ridge Cholesky", tmp_path, change))


def test_notes_are_plain_too(known, tmp_path):
    for note in ({"o": 0}, {"a": 0}, {"n": "print"}, {"eval": 1}):
        path = forged(known, "ridge Cholesky", tmp_path, lambda header, note=note: header.update(note=note))
        with pytest.raises(ModelFileError):
            files.read_header(path)


def test_booleans_and_characters_that_are_none(tmp_path):
    model = mercer.KernelRidge(lam=[np.array([True, False]), np.array(["ab"])])
    model.save(tmp_path / "a")
    header, body = take_apart(tmp_path / "a")
    for place, text in ((0, "boolean"), (67, "beyond Unicode")):
        broken = bytearray(body)
        broken[place] = 0x7F
        with pytest.raises(ModelFileError, match=text):
            mercer.load(put_together(tmp_path / "b", header, bytes(broken)))


def test_sparse_indices_are_checked(tmp_path):
    from scipy import sparse

    mercer.KernelRidge(mercer.kernels.Tanimoto()).fit(sparse.csr_array(np.eye(6)), Y).save(tmp_path / "a")
    header, body = take_apart(tmp_path / "a")
    fields = state(header, "sparse.csr_array")
    offset = sum(64 * -(-8 * int(np.prod(spec[1])) // 64) for spec in header["arrays"][: fields["indices"]["a"]])
    broken = bytearray(body)
    broken[offset : offset + 4] = (10**6).to_bytes(4, "little")
    with pytest.raises(ModelFileError, match="do not fit its shape"):
        mercer.load(put_together(tmp_path / "b", header, bytes(broken)))


INTEGERS = np.random.default_rng(0).integers(0, 9, (12, 40))


@pytest.mark.parametrize("shape", [(12, 1), (12,), (12, 40, 1)], ids=str)
@pytest.mark.parametrize("dtype", ["i8", "f8", "f2", "b"])
def test_training_rows_fit_the_columns_of_the_model(shape, dtype, tmp_path):
    model = mercer.compat.KernelRidge(kernel="laplacian").fit(INTEGERS, INTEGERS[:, 0])
    model.X_fit_ = np.resize(INTEGERS.astype(dtype), shape)
    with pytest.raises(ModelFileError, match=r"X_fit_ has"):
        model.save(tmp_path / "a")
    with pytest.raises(ValueError, match="they must agree"):
        model.predict(INTEGERS)


def test_sparse_training_rows_fit_the_columns_of_the_model(tmp_path):
    from scipy import sparse

    X = sparse.csr_array(INTEGERS.T.astype(float))
    for model, field in (
        (mercer.compat.KernelRidge(kernel="rbf"), "X_fit_"),
        (mercer.compat.SVR(), "support_vectors_"),
    ):
        model.fit(X, np.arange(40.0)).save(tmp_path / "a", force=True)
        assert (mercer.load(tmp_path / "a").predict(X) == model.predict(X)).all()
        for wrong in (getattr(model, field)[:, :3], getattr(model, field)[:3]):
            setattr(model, field, wrong)
            with pytest.raises(ModelFileError, match=f"{field} has 3|dual_coef_ has|_alpha has"):
                model.save(tmp_path / "b")


def test_a_kernel_that_refuses_its_own_parameters(tmp_path):
    """Columns are names or numbers; whoever asks such a kernel what it reads gets a ValueError."""
    mercer.KernelRidge(Gaussian().on([0, 1])).fit(X, Y).save(tmp_path / "a")
    header, body = take_apart(tmp_path / "a")
    for name, fields in header["objects"]:
        if name == "kernels.Columns":
            fields["columns"] = ["condition", 9.1]
    with pytest.raises(ModelFileError, match="KernelRidge cannot be made: Columns: give names or numbers, not both"):
        mercer.load(put_together(tmp_path / "b", header, body))


@pytest.mark.parametrize("name", ["KernelRidge", "SVR", "GaussianProcessRegressor"])
@pytest.mark.parametrize("unit", [mercer, mercer.compat], ids=["mercer", "compat"])
def test_a_model_that_does_not_say_its_columns(unit, name, tmp_path):
    model = zoo.quietly(getattr(unit, name)().fit, X, Y)
    del model.n_features_in_
    if unit is mercer:
        with pytest.raises(ModelFileError, match="how many columns it reads"):
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
    with pytest.raises(ModelFileError, match="3000 keys of a dict have the same hash"):
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
        mercer.compat.GaussianProcessRegressor(kernel).save(tmp_path / "a")


def test_nothing_is_looked_up_outside_the_table():
    for name in (
        "os.system",
        "builtins.eval",
        "mercer.files.save",
        "kernels.base.Kernel",
        "",
        ".",
        "kernels.",
        3,
        None,
    ):
        with pytest.raises(ModelFileError):
            _registry.class_of(name, "here")
    for unit in ("kernels", "estimators", "losses", "selection", "solvers", "gram", "inference"):
        table = _registry.table(unit)
        assert table
        for name, cls in table.items():
            assert cls.__module__.startswith(f"mercer.{unit}"), name
            assert _registry.name_of(cls) == f"{unit}.{name}"


def test_functions_by_name_are_what_the_user_gives(tmp_path):
    kernel = mercer.kernels.FeatureMap(np.sin)
    files.save(kernel, tmp_path / "a", names={"f": np.sin})
    header, body = take_apart(tmp_path / "a")
    assert "sin" not in str(header["objects"])
    assert mercer.load(tmp_path / "a", names={"f": np.cos}) == mercer.kernels.FeatureMap(np.cos)
    files.save(Gaussian() + kernel, tmp_path / "b", names={"f": np.sin})
    with pytest.raises(ModelFileError, match="hand it over"):
        mercer.load(tmp_path / "b", names={"g": np.sin})


def test_random_forgeries(tmp_path):
    outcomes = fuzz.run(120, seed=5, folder=tmp_path)
    assert outcomes["refused"] > 50
    assert outcomes["answered"] > 10
    assert not outcomes["endless"]


@pytest.mark.slow
def test_many_random_forgeries(tmp_path, rng_seed):
    outcomes = fuzz.run(5000, seed=100 + rng_seed, folder=tmp_path)
    assert outcomes["refused"] > 3000
    assert not outcomes["endless"]
