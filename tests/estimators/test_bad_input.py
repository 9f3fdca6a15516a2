"""Bad input (values, shapes, types, parameters, sizes): a defined answer, or an error that names what is wrong."""

import decimal
import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from mercer import BasisRegression, GaussianProcessRegressor, KernelInterpolator, KernelRidge, plan
from mercer.exceptions import InfeasibleWarning, NotEnoughMemory, NumericalWarning
from mercer.kernels import Exponential, Gaussian, Linear, Matern32, Pairwise, Polynomial, PolynomialBasis

ALL = [
    KernelRidge(Gaussian(), 0.1),
    KernelRidge(),
    KernelInterpolator(Exponential()),
    BasisRegression(PolynomialBasis(1), lam=0.1),
    GaussianProcessRegressor(Gaussian(), 0.1, criterion=None),
]
pytestmark = pytest.mark.filterwarnings("ignore::mercer.exceptions.InfeasibleWarning")


@pytest.fixture
def data(rng):
    X = rng.standard_normal((30, 3))
    return X, X[:, 0] - X[:, 1] ** 2


@pytest.fixture(params=ALL, ids=lambda e: repr(e).replace("\n", ""))
def model(request):
    return clone(request.param)


def twin(model, X, y):
    """f at the training rows by dense NumPy, from the kernel and λ that the fitted model says it has."""
    n = len(y)
    if isinstance(model, BasisRegression):
        F = np.column_stack([np.ones(n), X])
        return F @ np.linalg.solve(F.T @ F + model.lam * np.eye(F.shape[1]), F.T @ y)
    K = model.kernel_(X)
    if isinstance(model, KernelInterpolator):
        return K @ np.linalg.pinv(K, hermitian=True) @ y
    one = np.ones((n, 1))  # Σ α = 0 stands for the free constant
    bordered = np.block([[K + model.lam_ * np.eye(n), one], [one.T, np.zeros((1, 1))]])
    alpha = np.linalg.solve(bordered, np.append(y, 0.0))
    return K @ alpha[:n] + alpha[n]


def unfitted(model):
    return not [name for name in vars(model) if name.endswith("_") and not name.startswith("_")]


# ---------------------------------------------------------------------- values
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_v1_v2_not_finite_in_x_names_row_and_column(model, data, value, word):
    X, y = data
    X[17, 2] = value
    with pytest.raises(ValueError, match=rf"{word}.*row 17, column 2"):
        model.fit(X, y)
    assert unfitted(model)
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=rf"{word}.*row 17, column 'dose'"):
        model.fit(pd.DataFrame(X, columns=["age", "size", "dose"]), y)
    model.fit(np.delete(X, 17, 0), np.delete(y, 17))
    with pytest.raises(ValueError, match="row 17, column 2"):
        model.predict(X)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_v3_not_finite_in_y(model, data, value):
    X, y = data
    y[3] = value
    with pytest.raises(ValueError, match="Input y contains"):
        model.fit(X, y)
    assert unfitted(model)


@pytest.mark.parametrize("kernel", [Gaussian(), Matern32(), Exponential(), None], ids=repr)
def test_v4_squares_that_overflow(kernel, data):
    X, y = data
    expected = y.mean() + (y - y.mean()) / 1.1  # all rows are far apart: K = I
    if kernel is None:  # length scales from the data: as if nothing had been multiplied
        expected = KernelRidge(kernel, 0.1).fit(X, y).predict(X)
    X[:, 1] *= 1e200
    assert_allclose(KernelRidge(kernel, 0.1).fit(X, y).predict(X), expected, rtol=1e-7)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3)], ids=repr)
def test_v4_overflow_in_a_dot_product_names_the_column(kernel, data):
    X, y = data
    X[:, 1] *= 1e200
    with pytest.raises(ValueError, match="column 1"):
        KernelRidge(kernel).fit(X, y)


def test_v5_tiny_x(data):
    X, y = data
    expected = KernelRidge(lam=0.1).fit(X, y).predict(X)
    assert_allclose(KernelRidge(lam=0.1).fit(X * 1e-150, y).predict(X * 1e-150), expected, rtol=1e-7)
    assert np.isfinite(KernelRidge(lam=0.1).fit(X * 1e-310, y).predict(X * 1e-310)).all()


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_v6_scale_of_y(model, data, factor):
    X, y = data
    got = clone(model).fit(X, y * factor).predict(X) / factor
    assert_allclose(got, model.fit(X, y).predict(X), rtol=1e-7)


def test_v6_one_huge_target(model, data):
    X, y = data
    y[4] = 1e300  # f is linear in y: what the others add is rounding
    expected = clone(model).fit(X, np.eye(30)[4]).predict(X)
    assert_allclose(model.fit(X, y).predict(X) / 1e300, expected, rtol=1e-7, atol=1e-12)


def test_v8_constant_y(model, data):
    X, _ = data
    got = model.fit(X, np.full(30, 7.0)).predict(X)
    shrunk = isinstance(model, BasisRegression)  # without an intercept the constant is penalised like the rest
    assert_allclose(got, twin(model, X, np.full(30, 7.0)) if shrunk else 7.0, rtol=1e-7)


def test_v9_constant_columns(model, data):
    X, y = data
    X[:, 1] = 4.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        assert_allclose(model.fit(X, y).predict(X), twin(model, X, y), rtol=1e-6, atol=1e-9)
        X = np.full((30, 3), 2.0)
        assert_allclose(model.fit(X, y).predict(X), twin(model, X, y), rtol=1e-6, atol=1e-9)


def test_v10_identical_rows_with_different_targets(data):
    _, y = data
    X = np.ones((30, 3))
    assert_allclose(KernelRidge(lam=0.1).fit(X, y).predict(X), y.mean())
    with pytest.warns(InfeasibleWarning, match="not in the range"):
        interpolator = KernelInterpolator(Gaussian()).fit(X, y)
    assert interpolator.rank_ == 1
    assert_allclose(interpolator.predict(X), y.mean())


def test_v11_near_duplicates(data, rng):
    X, y = data
    X = np.vstack([X, X + 1e-12 * rng.standard_normal(X.shape)])
    y = np.concatenate([y, y])
    model = KernelRidge(Gaussian(), 0.1).fit(X, y)
    assert_allclose(
        model.predict(X[:30]), KernelRidge(Gaussian(), 0.1).fit(X[:30], y[:30], np.full(30, 2.0)).predict(X[:30])
    )
    with pytest.warns(NumericalWarning):
        bad = KernelRidge(Gaussian(3.0), 0.0, trend=None, solver="cholesky").fit(X, y)
    assert bad.fit_report_["jitter"] > 0 or bad.fit_report_["condition"] > 1e12


def test_v12_exactly_linear(data):
    X, _ = data
    y = X @ [1.0, 2.0, 3.0]
    assert_allclose(KernelRidge(Linear(), 1e-8).fit(X, y).predict(X), y, atol=1e-6)


def test_v13_ties_in_y(model, data):
    X, y = data
    assert_allclose(model.fit(X, np.sign(y)).predict(X), twin(model, X, np.sign(y)), rtol=1e-7, atol=1e-10)


# ---------------------------------------------------------------------- shapes and types
def test_s1_nothing_at_all(model):
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(np.empty((0, 3)), np.empty(0))
    with pytest.raises(ValueError, match="0 feature"):
        model.fit(np.empty((3, 0)), np.ones(3))


@pytest.mark.parametrize("n", [1, 2])
def test_s2_one_or_two_rows(model, n):
    X, y = np.arange(2.0 * n).reshape(n, 2), np.arange(1.0, n + 1)
    if model.criterion_used is not None:
        with pytest.warns(UserWarning, match=f"{n} rows are too few to choose lam by"):
            model.fit(X, y)
        model = model.frozen()
    assert_allclose(model.fit(X, y).predict(X), twin(model, X, y), rtol=1e-9)


@pytest.mark.parametrize("shape", [(5, 500), (20, 1), (6, 100_000)])
def test_s3_wide_and_narrow(shape, rng):
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    model = KernelRidge(lam=0.1).fit(X, y)
    assert_allclose(model.predict(X), twin(model, X, y), rtol=1e-8, atol=1e-10)


def test_s4_one_and_three_dimensions(model, data):
    X, y = data
    with pytest.raises(ValueError, match="[Rr]eshape"):
        model.fit(X[:, 0], y)
    with pytest.raises(ValueError, match="dim 3|3-D|3D"):
        model.fit(X[:, :, None], y)


def test_s5_shapes_of_y(model, data):
    X, y = data
    assert clone(model).fit(X, y[:, None]).predict(X).shape == (30, 1)
    assert_allclose(clone(model).fit(X, y.tolist()).predict(X), clone(model).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="29"):
        clone(model).fit(X, y[:-1])
    with pytest.raises(ValueError, match="y"):
        clone(model).fit(X, y[:, None, None])
    with pytest.raises(ValueError, match="requires y"):
        clone(model).fit(X, None)


def test_s6_other_number_of_columns(model, data):
    X, y = data
    model.fit(X, y)
    with pytest.raises(ValueError, match="2 features.*3 features"):
        model.predict(X[:, :2])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int64, np.uint8, bool, np.longdouble, object])
def test_s7_kinds_of_numbers(model, data, dtype):
    X, y = data
    X = (4 * X).round().astype(dtype) if dtype not in (np.uint8, bool) else (X > 0).astype(dtype)
    y = y.astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        expected = clone(model).fit(X.astype(np.float64), y).predict(X.astype(np.float64))
        assert_allclose(clone(model).fit(X, y).predict(X), expected, rtol=1e-6, atol=1e-8)


def test_s7_decimals(model, data):
    X, y = data
    exact = np.array([[decimal.Decimal(float(v)) for v in row] for row in X])
    assert_allclose(clone(model).fit(exact, y).predict(X), clone(model).fit(X, y).predict(X))


def test_s8_complex_dates_categories_and_text(model, data):
    X, y = data
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="[Cc]omplex"):
        model.fit(X + 1j, y)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="'when'"):
        model.fit(table.assign(when=pd.date_range("2020-01-01", periods=30)), y)
    with pytest.raises(ValueError, match="'site'"):
        model.fit(table.assign(site=pd.Categorical(["x", "y"] * 15)), y)
    with pytest.raises(ValueError, match="'name'"):
        model.fit(table.assign(name=["row"] * 30), y)
    pl = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="'name'"):
        model.fit(pl.DataFrame({"a": X[:, 0], "name": ["row"] * 30}), y)
    assert unfitted(model)


def test_s9_frames_with_missing_or_twice_the_same_name(model, data):
    X, y = data
    pd = pytest.importorskip("pandas")
    twice = pd.DataFrame(X, columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="more than one column named 'a'"):
        model.fit(twice, y)
    holes = pd.DataFrame(X, columns=["a", "b", "c"]).astype("Float64")
    assert_allclose(clone(model).fit(holes, y).predict(holes), clone(model).fit(X, y).predict(X))
    holes.loc[5, "b"] = pd.NA
    with pytest.raises(ValueError, match="row 5, column 'b'"):
        model.fit(holes, y)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_s10_sparse_is_refused_clearly(model, data, make):
    X, y = data
    with pytest.raises(TypeError, match="[Ss]parse"):
        model.fit(make(X), y)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_s12_masked_arrays_and_matrices(model, data):
    X, y = data
    with pytest.raises(ValueError, match="masked"):
        model.fit(np.ma.MaskedArray(X, X > 1), y)
    with pytest.raises(TypeError, match="matrix"):
        model.fit(np.asmatrix(X), y)


@pytest.mark.parametrize("X", [None, "text", {"a": 1}, (i for i in range(3)), 5], ids=lambda X: type(X).__name__)
def test_s13_not_data(model, X):
    with pytest.raises((TypeError, ValueError)):
        model.fit(X, np.ones(3))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(30), "non-zero"),
        (np.full(30, -1.0), "row 0 has -1"),
        (np.r_[np.ones(29), np.nan], "row 29 has nan"),
        (np.ones((30, 2)), "1D"),
        (np.ones(29), "29 entries"),
    ],
)
@pytest.mark.parametrize("estimator", [KernelRidge(lam=0.1), BasisRegression()], ids=repr)
def test_s14_weights(estimator, data, weight, message):
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(*data, sample_weight=weight)


def test_s14_weights_as_list_and_series(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    w = np.linspace(0.1, 1.0, 30)
    expected = KernelRidge(lam=0.1).fit(X, y, w).predict(X)
    for weight in (w.tolist(), pd.Series(w)):
        assert_allclose(KernelRidge(lam=0.1).fit(X, y, weight).predict(X), expected)


# ---------------------------------------------------------------------- kernels and parameters
def test_k1_functions_that_return_nonsense(data):
    X, y = data
    with pytest.raises(ValueError, match="nan"):
        KernelRidge(Pairwise(lambda x, z: float("nan"))).fit(X, y)
    with pytest.raises((TypeError, ValueError), match="number|float"):
        KernelRidge(Pairwise(lambda x, z: "near")).fit(X, y)


@pytest.mark.parametrize("lam", [-1.0, np.nan, np.inf, "small", [0.1, 0.2], np.full(30, -1.0), np.zeros(30)])
def test_k3_lam(lam, data):
    model = KernelRidge(Gaussian(), lam)
    with pytest.raises((TypeError, ValueError), match="lam"):
        model.fit(*data)
    assert unfitted(model)


def test_k3_tiny_lam(data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        assert_allclose(KernelRidge(Exponential(), 1e-300).fit(X, y).predict(X), y, rtol=1e-8)


@pytest.mark.parametrize("length_scale", [0.0, -1.0, np.inf, np.nan, [1.0, 2.0], [1.0, 0.0, 1.0]])
def test_k4_length_scale(length_scale, data):
    with pytest.raises(ValueError, match="length_scale"):
        KernelRidge(Gaussian(length_scale)).fit(*data)


def test_kernel_by_name_says_what_to_use(data):
    with pytest.raises((TypeError, ValueError), match="Gaussian"):
        KernelRidge("rbf").fit(*data)


# ---------------------------------------------------------------------- size
def test_m1_too_large_is_refused_before_anything_is_allocated(data):
    X = np.zeros((300_000, 1), dtype=np.float64)
    X[:, 0] = np.arange(300_000)
    model = KernelRidge(Gaussian(), 0.1, solver="cholesky")
    with pytest.raises(NotEnoughMemory, match="GB"):
        model.fit(X, X[:, 0])
    assert unfitted(model)


def test_m1_memory_given_by_the_caller(data):
    with pytest.raises(NotEnoughMemory):
        KernelRidge(Gaussian(), 0.1, solver="cholesky", memory=1000.0).fit(*data)


def test_plan_can_be_asked():
    text = str(plan(2_000_000, 20))
    assert "2" in text
    assert plan(100, 3).memory_bytes < plan(10_000, 3).memory_bytes


def test_m3_prediction_streams(data, rng):
    import tracemalloc

    X, y = rng.standard_normal((2000, 2)), rng.standard_normal(2000)
    model = KernelRidge(Gaussian(), 0.1).fit(X, y)
    new = rng.standard_normal((50_000, 2))
    model.predict(new[:1000])
    tracemalloc.start()
    model.predict(new)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * 8 * 2000 * 50_000


LIMITED = """
import resource
import numpy as np
from mercer import KernelRidge
from mercer.kernels import Gaussian

X = np.arange(20_000.0)[:, None]
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 10**9, used + 10**9))
for solver in ("cholesky", "mixed", "spectral"):
    model = KernelRidge(Gaussian(), 0.1, solver=solver)
    try:
        model.fit(X, X[:, 0])
    except MemoryError as error:
        print(type(error).__name__, "GB" in str(error), [name for name in vars(model) if name.endswith("_")])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc and RLIMIT_AS")
def test_m5_address_space_limit():
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=100)
    assert done.stdout.splitlines() == 3 * ["NotEnoughMemory True []"], done.stderr


@pytest.mark.parametrize("call", [1, 2, 3])
def test_m5_an_allocation_that_fails(call, data, monkeypatch):
    """MemoryError out of the k-th matrix that is asked for: passed on, the earlier fit intact."""
    from mercer.gram import TiledGram

    X, y = data
    model = KernelRidge(Gaussian(), 0.1).fit(X, y)
    before, calls, real = dict(vars(model)), [], TiledGram.dense

    def failing(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == call:
            raise MemoryError
        return real(self, *args, **kwargs)

    monkeypatch.setattr(TiledGram, "dense", failing)
    for _ in range(call - 1):
        KernelRidge(Gaussian(), 0.1).fit(X, y)
    with pytest.raises(MemoryError):
        model.fit(X[:10], y[:10])
    assert all(vars(model)[name] is value for name, value in before.items())
