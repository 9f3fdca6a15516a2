"""At the edges: arrays that change after a fit, θ far away, noise of a user's own, frames, extreme γ."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import gaussian_process, kernel_ridge, svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Kernel, Matern, WhiteKernel

from mercer import compat
from mercer.compat._covariance import Covariance
from mercer.solvers import factoring


def data(rng, n=30, d=2):
    X = rng.standard_normal((n, d))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)


# ------------------------------------------------------------------------------------------- what a model owns
@pytest.mark.parametrize("normalize_y", [True, False])
def test_a_model_does_not_see_what_becomes_of_the_arrays(normalize_y, rng):
    X, y = data(rng)
    A, b = X.copy(), y.copy()
    model = compat.GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None, normalize_y=normalize_y).fit(A, b)
    before = model.predict(X, return_std=True)
    A[:], b[:] = 0.0, 0.0
    for old, new in zip(before, model.predict(X, return_std=True), strict=True):
        assert old.tolist() == new.tolist()


def test_the_state_of_a_process_is_the_model(rng):
    X, y = data(rng)
    model = compat.GaussianProcessRegressor(1.0 * RBF() + WhiteKernel(), normalize_y=True).fit(
        X, np.column_stack([y, -y])
    )
    state = model.state()
    state["posterior"] = type(state["posterior"]).from_state(state["posterior"].state())
    again = compat.GaussianProcessRegressor.from_state(state)
    for ours, theirs in zip(again.predict(X, return_std=True), model.predict(X, return_std=True), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(again.L_, model.L_)
    assert again.log_marginal_likelihood() == model.log_marginal_likelihood()
    assert compat.GaussianProcessRegressor.from_state(compat.GaussianProcessRegressor().state()).predict(X).shape == (
        30,
    )


# ------------------------------------------------------------------------------------------- noise of a user's own
class OwnNoise(Kernel):
    """s² [one collection, i = j]: a white kernel that does not say so."""

    def __init__(self, level=0.09):
        self.level = level

    def __call__(self, X, Y=None, eval_gradient=False):
        K = self.level * np.eye(len(X)) if Y is None else np.zeros((len(X), len(Y)))
        return (K, np.empty((len(X), len(X), 0))) if eval_gradient else K

    def diag(self, X):
        return np.full(len(X), self.level)

    def is_stationary(self):
        return True


@pytest.mark.parametrize(
    "kernel", [RBF(0.5) + OwnNoise(), ConstantKernel(2.0) * (RBF() + OwnNoise()), OwnNoise()], ids=str
)
def test_noise_of_a_users_own_is_refused_with_what_to_use(kernel, rng):
    X, y = data(rng)
    with pytest.raises(ValueError, match=r"noise of its own: k\(x, x\) of row 0 is 0\.09 .* 0 .*add a WhiteKernel"):
        compat.GaussianProcessRegressor(kernel, optimizer=None).fit(X, y)
    with pytest.raises(ValueError, match="noise of its own"):
        compat.GaussianProcessClassifier(kernel, optimizer=None).fit(X, y > 0)


# ------------------------------------------------------------------------------------------- searches
def test_a_search_in_which_everything_fails_says_so(rng):
    X, y = data(rng)
    with pytest.warns(
        ConvergenceWarning, match=r"of 1 evaluations 1 were not finite.*-inf.*normalize_y=True"
    ) as caught:
        model = compat.GaussianProcessRegressor(1.0 * RBF() + WhiteKernel()).fit(X, 1e160 * y)
    assert caught[0].filename == __file__
    assert model.kernel_.theta.tolist() == [0.0, 0.0, 0.0]
    assert model.log_marginal_likelihood_value_ == -np.inf


@pytest.mark.parametrize("name", ["GaussianProcessRegressor", "GaussianProcessClassifier"])
@pytest.mark.parametrize("far", [-800.0, 800.0, -400.0, np.nan])  # exp(−400)², of DotProduct, is 0
def test_a_theta_that_is_no_number_is_worth_nothing(name, far, rng):
    X, y = data(rng)
    seen = []

    def optimizer(objective, start, bounds):
        seen.append(objective(start + far))
        assert objective(start + far, eval_gradient=False) == np.inf
        return start, objective(start)[0]

    kernel = 1.0 * RBF() + DotProduct() + WhiteKernel()
    model = getattr(compat, name)(kernel, optimizer=optimizer).fit(X, y if name.endswith("Regressor") else y > 0)
    assert seen[0][0] == np.inf
    assert not seen[0][1].any()
    assert np.isfinite(model.log_marginal_likelihood_value_)
    assert model.log_marginal_likelihood(model.kernel_.theta + far) == -np.inf


@pytest.mark.parametrize("theta", [[0.0], [0.0, 0.0, 0.0], 0.0], ids=str)
def test_a_theta_of_a_wrong_length_is_refused(theta, rng):
    X, y = data(rng)
    for model in (
        compat.GaussianProcessRegressor(1.0 * RBF(), alpha=0.1, optimizer=None).fit(X, y),
        compat.GaussianProcessClassifier(1.0 * RBF(), optimizer=None).fit(X, y > 0),
    ):
        for clone_kernel in (True, False):
            with pytest.raises(ValueError, match="theta"):
                model.log_marginal_likelihood(theta, clone_kernel=clone_kernel)


def test_nothing_to_learn_is_one_factor(rng, monkeypatch):
    X, y = data(rng)
    calls = []
    original = factoring.cholesky_lower
    monkeypatch.setattr(factoring, "cholesky_lower", lambda L: (calls.append(1), original(L))[1])
    model = compat.GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None).fit(X, y)
    assert len(calls) == 1
    theirs = gaussian_process.GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None).fit(X, y)
    assert model.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-10)


def test_the_slope_of_a_diagonal_is_not_asked_for_row_by_row(rng, monkeypatch):
    X, calls = rng.standard_normal((40, 2)), []
    kernel = ConstantKernel(1.5) * (DotProduct(0.4) * Matern(0.7) + WhiteKernel(0.2)) * (DotProduct(0.3) ** 2)
    for cls in {type(part) for part in _parts(Covariance(kernel, X).part.kernel)}:
        monkeypatch.setattr(cls, "grad", _counted(cls.grad, calls))
    _, slopes = Covariance(kernel, X).part.noisy(kernel.theta, X)
    assert len(calls) < 20
    _, D = kernel(X, eval_gradient=True)
    _, without = kernel.clone_with_theta(_quiet(kernel))(X, eval_gradient=True)
    np.testing.assert_allclose(slopes, np.einsum("iip->pi", D - without), rtol=1e-9, atol=1e-12)


def _parts(kernel):
    yield kernel
    for _, part in kernel.named_parts():
        yield from _parts(part)


def _counted(grad, calls):
    def counted(self, *args):
        calls.append(1)
        return grad(self, *args)

    return counted


def _quiet(kernel):
    """θ with next to no noise."""
    theta, names = kernel.theta.copy(), [h.name for h in kernel.hyperparameters]
    theta[next(i for i, name in enumerate(names) if name.endswith("noise_level"))] = -80.0
    return theta


# ------------------------------------------------------------------------------------------- rows and targets
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_kernel_function_gets_the_rows_of_a_frame(frame, rng):
    X, y = data(rng)
    table, w = frame({"a": X[:, 0], "b": X[:, 1]}), np.ones(30)
    w[3] = 0.0
    model = compat.SVR(kernel=lambda A, B: A.to_numpy() @ B.to_numpy().T, tol=1e-8).fit(table, y, w)
    expected = compat.SVR(kernel="linear", tol=1e-8).fit(X, y, w).predict(X)
    np.testing.assert_allclose(model.predict(table), expected, atol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_targets_that_are_not_finite_are_named(value, rng):
    X, y = data(rng)
    y[4] = value
    with pytest.raises(ValueError, match="Input y contains"):
        compat.SVR(kernel=lambda A, B: A @ B.T).fit(X, y)


# ------------------------------------------------------------------------------------------- extreme γ
@pytest.mark.parametrize("gamma", [1e-310, 5e-324, 1e200])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_extreme_widths(kernel, gamma, rng):
    X, y = data(rng)
    ours = compat.KernelRidge(kernel=kernel, gamma=gamma).fit(X, y).predict(X)
    theirs = kernel_ridge.KernelRidge(kernel=kernel, gamma=gamma).fit(X, y).predict(X)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_extreme_factors_of_a_polynomial(rng):
    X, y = data(rng)
    ours, theirs = (cls(kernel="poly", gamma=1e-310).fit(X, y).predict(X) for cls in (compat.SVR, svm.SVR))
    np.testing.assert_allclose(ours, theirs, atol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # scikit-learn's function overflows
        with pytest.raises(ValueError, match="inf"):
            compat.SVR(kernel="poly", gamma=1e200).fit(X, y)


def test_a_function_that_is_no_kernel_is_named_when_the_solver_gives_up(rng):
    X, y = data(rng)
    with pytest.warns(ConvergenceWarning, match=r"Solver terminated early.*not positive semi-definite.*eigenvalue -"):
        model = compat.SVR(kernel="poly", coef0=-0.5, max_iter=1).fit(X, y)
    assert model.fit_report_["lowest_eigenvalue"] < 0


# ------------------------------------------------------------------------------------- the protocol, and bad targets
MODELS = [
    compat.KernelRidge(kernel="rbf"),
    compat.KernelRidge(kernel="sigmoid", gamma=0.1),
    compat.SVR(),
    compat.SVR(kernel=lambda A, B: np.asarray(A) @ np.asarray(B).T),
    compat.NuSVR(),
    compat.GaussianProcessRegressor(RBF() + WhiteKernel(0.1), alpha=np.full(30, 0.01)),
    compat.GaussianProcessClassifier(),
]
NUMBERS = MODELS[:-1]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.filterwarnings("ignore")
def test_a_report_about_a_model_of_scikit_learns_kind(model, rng):
    from mercer.report import ReportLimits, collect, render

    X, y = data(rng)
    y = y > 0 if model is MODELS[-1] else y
    fitted = model.fit(X, y)
    found = collect(fitted, X, y, options=[ReportLimits(time_budget=1e-9)])
    assert found.kernel == repr(fitted.our_kernel_)
    assert "<html" in render(found)
    again = fitted.frozen(np.arange(20)).fit(X[:20], y[:20])
    assert again.predict(X).shape == (30,)
    same = fitted.frozen().fit(X, y)
    if model is not MODELS[-1]:
        np.testing.assert_allclose(same.predict(X), fitted.predict(X), rtol=1e-4, atol=1e-4)


BAD = [
    (["a", "b", "c"] * 10, ValueError, "y must be numbers, and holds 'a'; labels are for a classifier"),
    (np.array(["2020-01-01"] * 30, dtype="datetime64[D]"), ValueError, "y holds dates"),
    ([10**4000] * 30, ValueError, "no float64 numbers"),
    (np.full(30, np.longdouble("1e4000")), ValueError, "no float64 numbers"),
]


@pytest.mark.parametrize("model", NUMBERS, ids=lambda m: type(m).__name__)
def test_targets_that_are_no_numbers_are_refused_in_words(model, rng):
    import scipy.sparse as sp

    X, _ = data(rng)
    for y, error, said in [*BAD, (sp.csr_array(np.ones((30, 1))), TypeError, r"y is sparse.*toarray")]:
        with pytest.raises(error, match=said):
            model.fit(X, y)
