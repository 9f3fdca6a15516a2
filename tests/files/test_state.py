"""What a class declares to be kept: public names, kinds and shapes, versions; parts and models of a user's own."""

import numpy as np
import pytest

import mercer
from files import fitted_models
from files.handmade_files import put_together, take_apart
from mercer import KernelRidge, files
from mercer._state import check, check_vectors
from mercer.estimators._regressor import KernelRegressor
from mercer.exceptions import ModelFileError
from mercer.files._encode import expression
from mercer.kernels import Gaussian, Linear, Matern, Spectrum
from mercer.solvers import Cholesky

X, Y, *_ = fitted_models.data()
NEW = fitted_models.data(5, seed=1)[0]


# ------------------------------------------------------------------------------------------------ declarations
A = np.arange(12.0).reshape(3, 4)
FIT = [
    (A, "float n d", (3, 4)), (A[:, 0], "float n", (3,)), (A.astype("f4"), "float n d", (3, 4)),
    (A[:, :3].copy(), "factor n", (3,)), (np.arange(3), "int n", (3,)), (np.array([True]), "bool n", (1,)),
    (np.array(["a"]), "any n", (1,)), (A.astype("i2"), "matrix n d", (3, 4)), (3, "size n", (3,)),
    (np.int64(0), "size n", (0,)), (1.5, "number", ()), (np.float32(1), "number", ()), (float("inf"), "number", ()),
    (None, ("float n", None), ()), (A, ("float n", "float n d"), (3, 4)), ({}, dict, ()), (A, "rows n d", (3, 4)),
    (["a", "b"], "rows n d", (2,)), (np.arange(3), "rows n d", (3,)),
    (mercer.kernels.Table({"a": [1]}), "rows n d", (1,)), (object(), object, ()),
]  # fmt: skip
DIFFER = [
    (A, "float n", "has 2 axes, not 1"), (A.astype(int), "float n d", "no array of floats"),
    (A, "factor n", "has 4 where"),
    (A[:, :3].T, "factor n", "C order"), (A[:, :3].astype("f4"), "factor n", "C order"),
    ([1.0], "float n", "but a list"),
    (np.array(["a"]), "int n", "of shape (1,)"), (-1, "size n", "is no size"), (True, "size n", "is no size"),
    (2.0, "size n", "is no size"), ("1", "number", "is no number"), (True, "number", "is no number"),
    (1j, "number", "is no number"), (None, "float n", "NoneType"), (3, ("float n", None), "no array of floats"),
    (A, ("number", "float n"), "has 2 axes"), (A.astype("f2"), "rows n d", "no array of rows"),
    ("ab", "rows n d", "no collection"),
    ({}, "rows n d", "no collection"), (3, "rows n d", "no collection"),
    (np.array(3.0), "rows n d", "no array of rows"),
    ([], dict, "is no dict but a list"), (A, None, "is no None"), (np.array([None]), "any n d", "has 1 axes"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "wanted", "sizes"), FIT, ids=lambda value: type(value).__name__)
def test_what_fits_says_what_its_letters_are(value, wanted, sizes):
    assert check({"x": value}, {"x": wanted}, "Part") == dict(zip("nd", sizes, strict=False))


@pytest.mark.parametrize(("value", "wanted", "text"), DIFFER, ids=lambda value: type(value).__name__)
def test_what_does_not(value, wanted, text):
    with pytest.raises(ValueError, match=r"Part\.x ") as caught:
        check({"x": value}, {"x": wanted}, "Part")
    assert text in str(caught.value)


def test_letters_are_numbers():
    fields = {"L": "factor n", "y": "float n t", "b": ("float t", "number"), "n": "size n"}
    assert check({"L": np.eye(3), "y": np.ones((3, 2)), "b": np.ones(2), "n": 3}, fields, "P") == {"n": 3, "t": 2}
    for name, wrong in (("y", np.ones((2, 2))), ("b", np.ones(3)), ("n", 4)):
        good = {"L": np.eye(3), "y": np.ones((3, 2)), "b": np.ones(2), "n": 3}
        with pytest.raises(ValueError, match=rf"P\.{name} has \d where [nt] is \d"):
            check(good | {name: wrong}, fields, "P")
    with pytest.raises(ValueError, match="is made of"):
        check({"L": np.eye(3)}, fields, "P")
    assert check({"L": np.eye(3)}, fields, "P", closed=False) == {"n": 3}


def test_vectors():
    check_vectors(Gaussian(), A, "X")
    check_vectors(Spectrum(2), ["a"], "X")
    for wrong in (A.astype(int), A[0], ["a"]):
        with pytest.raises(ValueError, match="no array of rows of floats"):
            check_vectors(Gaussian(), wrong, "X")


# ------------------------------------------------------------------------------------------------ kernels
@pytest.mark.parametrize(("name", "kernel"), fitted_models.kernels(), ids=fitted_models.name_alone)
def test_every_kernel_comes_back_the_same(name, kernel, tmp_path):
    named = fitted_models.functions(kernel)
    files.save(kernel, tmp_path / "a", names=named)
    again = mercer.load(tmp_path / "a", names=named)
    assert again == kernel
    for parameter, value in kernel.get_params(deep=True).items():
        assert type(again.get_params(deep=True)[parameter]) is type(value)


def test_kernels_are_expressions_where_these_say_all():
    assert expression(2.0 * Gaussian(0.1) + Linear().on([0, 1])) == "2.0 * Gaussian(0.1) + Linear().on([0, 1])"
    assert expression(Gaussian(0.1 + 0.2)) == "Gaussian(0.30000000000000004)"
    assert expression(Gaussian([1.0, 2.0])) == "Gaussian([1.0, 2.0])"
    for other in (Gaussian(np.array([1.0, 2.0])), Gaussian(np.float64(1.0)), Gaussian(np.float32(0.1))):
        assert expression(other) is None
    assert expression(Gaussian(1.0, length_scale_bounds=(1e-3, float("inf")))) is None
    assert expression(Matern(1.5).transform(np.sin)) is None


# ------------------------------------------------------------------------------------------------ a user's own
class Ensemble:
    """A part of a user's own, with a state."""

    state_version = 2

    def __init__(self, weights):
        self.hidden = weights

    def state(self):
        return {"weights": self.hidden, "settings": {"a": (1, None)}}

    @classmethod
    def from_state(cls, state):
        check(state, {"weights": "float n", "settings": dict}, "Ensemble")
        return cls(state["weights"])


class MeanRidge(KernelRegressor):
    """A model of a user's own: it declares what it keeps beside its public attributes."""

    state_extras = {"ensemble": "_ensemble"}

    def __init__(self, kernel=None, lam=1.0):
        self.kernel = kernel
        self.lam = lam

    def fit(self, X, y):
        return self._fit_all_or_nothing(X, y)

    def _fit(self, X, y):
        (kernel,), X, y, flat = self._check_rows(X, y)
        Kinv = Cholesky().resolvent(mercer.gram.TiledGram(kernel, X))(self.lam)
        self._set_model(kernel, X, Kinv @ y, np.zeros(0), flat)
        self._ensemble = Ensemble(np.ones(3))


OWN = {"MeanRidge": MeanRidge, "Ensemble": Ensemble}


def test_a_model_of_ones_own(tmp_path):
    model = MeanRidge(Gaussian(1.0), lam=0.5).fit(X, Y)
    mercer.save(model, tmp_path / "a", names=OWN)
    again = mercer.load(tmp_path / "a", names=OWN)
    assert type(again) is MeanRidge
    assert again.predict(NEW).tobytes() == model.predict(NEW).tobytes()
    assert again.state()["ensemble"].hidden.tolist() == [1.0, 1.0, 1.0]
    assert "_" not in {name[0] for entry in take_apart(tmp_path / "a")[0]["objects"] for name in entry[-1]}
    with pytest.raises(ModelFileError, match="MeanRidge"):
        mercer.save(model, tmp_path / "b")
    with pytest.raises(ModelFileError, match="names="):
        mercer.load(tmp_path / "a", names={"MeanRidge": MeanRidge})
    header, arrays, body = take_apart(tmp_path / "a")
    header["objects"][-1][2]["points_"] = header["objects"][-1][2]["dual_coef_"]
    with pytest.raises(ModelFileError, match="points_ has shape"):
        mercer.load(put_together(tmp_path / "b", header, arrays, body), names=OWN)


@pytest.mark.parametrize("version", [1, 3])
def test_another_state_of_a_part(version, tmp_path):
    mercer.save(MeanRidge().fit(X, Y), tmp_path / "a", names=OWN)
    header, arrays, body = take_apart(tmp_path / "a")
    part = next(entry for entry in header["objects"] if entry[0] == "names.Ensemble")
    assert part[1] == 2
    part[1] = version
    with pytest.raises(ModelFileError, match="version"):
        mercer.load(put_together(tmp_path / "b", header, arrays, body), names=OWN)


def test_private_names_cannot_be_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(Ensemble, "state", lambda self: {"_hidden": 1})
    with pytest.raises(ModelFileError, match="no attribute '_hidden' that could be stored"):
        mercer.save(MeanRidge().fit(X, Y), tmp_path / "a", names=OWN)
    assert not any(tmp_path.iterdir())


def test_what_could_not_be_read_is_not_written(tmp_path):
    model = KernelRidge(Gaussian(1.0)).fit(X, Y)
    model.dual_coef_ = model.dual_coef_[:-1]
    with pytest.raises(ModelFileError, match="dual_coef_ has 23 where n is 24"):
        model.save(tmp_path / "a")
    model = KernelRidge(Gaussian(1.0)).fit(X, Y)
    model.predict_ = 3  # nobody's, and harmless
    model.save(tmp_path / "a")
    assert mercer.load(tmp_path / "a").predict_ == 3


def test_save_is_a_function_too(tmp_path):
    model = KernelRidge().fit(X, Y)
    mercer.save(model, tmp_path / "a", note={"who": "me"})
    model.save(tmp_path / "b", note={"who": "me"})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert mercer.save is files.save
