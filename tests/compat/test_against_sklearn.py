"""One import line changed: the same predictions as scikit-learn's classes, alone, in pipelines and in searches."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn import config_context, gaussian_process, kernel_ridge, svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Matern, WhiteKernel
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import compat
from mercer.exceptions import NumericalWarning


def data(rng, n=60, d=3, m=25):
    X, Z = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(n), Z


# ------------------------------------------------------------------------------------------- pipelines and searches
@pytest.mark.parametrize(
    ("name", "grid", "tolerance"),
    [
        ("KernelRidge", {"alpha": [0.01, 1.0], "kernel": ["rbf", "laplacian"], "gamma": [0.1, 0.5]}, 1e-6),
        ("GaussianProcessRegressor", {"kernel": [2.0 * RBF(0.7) + WhiteKernel(0.1), Matern(1.5)]}, 1e-6),
        ("SVR", {"C": [0.5, 5.0], "epsilon": [0.05, 0.2], "kernel": ["rbf", "linear"]}, 5e-3),
        pytest.param("NuSVR", {"C": [0.5, 5.0], "nu": [0.3, 0.7]}, 5e-3, marks=pytest.mark.slow),
    ],
)
def test_a_search_over_a_pipeline_gives_the_same_predictions(name, grid, tolerance, rng):
    X, y, Z = data(rng)
    module = {"KernelRidge": kernel_ridge, "GaussianProcessRegressor": gaussian_process}.get(name, svm)
    options = {"optimizer": None, "alpha": 1e-2} if name == "GaussianProcessRegressor" else {}
    found = []
    for cls in (getattr(module, name), getattr(compat, name)):
        model = make_pipeline(StandardScaler(), cls(**options))
        search = GridSearchCV(model, {f"{name.lower()}__{key}": values for key, values in grid.items()}, cv=3)
        found.append(search.fit(X, y))
    theirs, ours = found
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=5e-3)
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), atol=tolerance)


# ------------------------------------------------------------------------------------------- KernelRidge
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "cosine", "chi2", "additive_chi2"])
@pytest.mark.parametrize("alpha", [0.5, np.array([0.1, 2.0])], ids=["one alpha", "one for each target"])
def test_kernel_ridge_by_name(kernel, alpha, rng):
    X, Z = rng.uniform(0, 1, (30, 4)), rng.uniform(0, 1, (8, 4))
    y, w = rng.standard_normal((30, 2)), rng.uniform(0, 1, 30)
    w[3] = 0.0
    options = {"alpha": alpha, "kernel": kernel, "gamma": 0.7, "degree": 2, "coef0": 0.5}
    theirs = kernel_ridge.KernelRidge(**options)
    if kernel == "additive_chi2" and np.ndim(alpha):  # which scikit-learn solves for one alpha only
        options["alpha"], theirs.alpha = 0.5, 0.5
    if kernel == "additive_chi2":  # conditionally positive: the linear system has a solution all the same
        with pytest.warns(NumericalWarning, match="not positive definite"):
            ours = compat.KernelRidge(**options).fit(X, y, w)
        with pytest.warns(UserWarning, match="Singular matrix"):
            theirs.fit(X, y, w)
    else:
        ours = compat.KernelRidge(**options).fit(X, y, w)
        theirs.fit(X, y, w)
    np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), atol=1e-7)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-5, atol=1e-6)
    assert ours.dual_coef_[3].tolist() == [0.0, 0.0]


def shifted_product(x, z, shift=0.0):
    return float(x @ z) + shift


@pytest.mark.parametrize(("n", "d"), [(30, 4), (12, 40)], ids=["dense inside", "a whole matrix inside"])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_sparse_rows_give_what_dense_rows_give(kernel, n, d, rng):
    X = rng.standard_normal((n, d)) * (rng.uniform(size=(n, d)) < 0.4)
    y, Z = rng.standard_normal(n), X[:5] + 1.0
    for cls in (compat.KernelRidge, compat.SVR):
        model = cls(kernel=kernel, gamma=0.01, coef0=0.1)
        dense = model.fit(X, y).predict(Z)
        for form in (sp.csr_array, sp.csc_array, sp.csr_matrix):
            fitted = clone(model).fit(form(X), y)
            np.testing.assert_allclose(fitted.predict(form(Z)), dense, atol=1e-6)
            np.testing.assert_allclose(fitted.predict(Z), dense, atol=1e-6)


def test_kernel_ridge_of_a_function_and_of_a_matrix(rng):
    X, y, Z = data(rng, 20)
    options = {"kernel": shifted_product, "kernel_params": {"shift": 2.0}}
    ours = compat.KernelRidge(**options).fit(X, y).predict(Z)
    np.testing.assert_allclose(ours, kernel_ridge.KernelRidge(**options).fit(X, y).predict(Z), atol=1e-9)
    K, k = X @ X.T + 2.0, Z @ X.T + 2.0
    given = compat.KernelRidge(kernel="precomputed").fit(K, y, np.r_[0.0, np.ones(19)])
    np.testing.assert_allclose(given.predict(k), compat.KernelRidge(**options).fit(X[1:], y[1:]).predict(Z), atol=1e-9)


def test_a_matrix_that_is_not_symmetric_is_refused(rng):
    K = rng.standard_normal((5, 5))
    for model in (compat.KernelRidge(kernel="precomputed"), compat.SVR(kernel="precomputed")):
        with pytest.raises(ValueError, match="symmetric"):
            model.fit(K, np.arange(5.0))


def test_far_from_the_origin_distances_keep_their_digits(rng):
    X, y, Z = data(rng, 30)
    model = compat.KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1)
    near, far = model.fit(X, y).predict(Z), model.fit(X + 2.0**27, y).predict(Z + 2.0**27)
    np.testing.assert_allclose(far, near, atol=1e-6)


def test_wrong_alphas_are_named():
    X, y = np.eye(3), np.eye(3)[:, :2]
    for alpha in ([1.0, 2.0, 3.0], [1.0, -1.0]):
        with pytest.raises(ValueError, match="alpha"):
            compat.KernelRidge(alpha=alpha).fit(X, y)


def test_a_singular_matrix_is_solved_by_least_squares_and_says_so(rng):
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    with pytest.warns(NumericalWarning, match="rank 3 of 20"):
        model = compat.KernelRidge(alpha=0).fit(X, y)
    assert model.fit_report_["solver"] == "least squares"
    np.testing.assert_allclose(model.predict(X), X @ np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-9)


# ------------------------------------------------------------------------------------------- SVR and NuSVR
@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        *(("SVR", kernel) for kernel in ("linear", "poly", "rbf")),
        ("NuSVR", "rbf"),
        *(pytest.param("NuSVR", kernel, marks=pytest.mark.slow) for kernel in ("linear", "poly")),
    ],
)
def test_support_vectors_at_a_fine_tolerance(name, kernel, rng):
    X, y, Z = data(rng)
    w = rng.uniform(0.2, 2.0, len(y))
    options = {"kernel": kernel, "C": 2.0, "tol": 1e-7, "coef0": 1.0, "gamma": "scale"}
    theirs = getattr(svm, name)(**options).fit(X, y, w)
    ours = getattr(compat, name)(**options).fit(X, y, w)
    np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), atol=3e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=3e-4)
    assert ours._gamma == pytest.approx(theirs._gamma)
    assert ours.fit_status_ == 0
    assert ours.shape_fit_ == theirs.shape_fit_
    for attribute in ("support_", "n_support_", "support_vectors_", "dual_coef_", "intercept_"):
        assert getattr(ours, attribute).dtype == getattr(theirs, attribute).dtype
    assert ours.support_vectors_.tolist() == X[ours.support_].tolist()
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=3e-4)
    else:
        with pytest.raises(AttributeError, match="linear"):
            ours.coef_  # noqa: B018
    if kernel == "rbf":  # K is regular: there is one solution
        assert ours.support_.tolist() == theirs.support_.tolist()
        assert ours.n_support_.tolist() == theirs.n_support_.tolist()
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=3e-3)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_the_dual_objective_is_no_worse_than_that_of_libsvm(kernel, rng):
    X, y, _ = data(rng)
    options = {"kernel": kernel, "C": 2.0, "gamma": 0.3, "coef0": 1.0, "tol": 1e-5}
    values = []
    for model in (svm.SVR(**options).fit(X, y), compat.SVR(**options).fit(X, y)):
        a = np.zeros(len(y))
        a[model.support_] = model.dual_coef_[0]
        assert np.abs(a).max() <= 2.0 + 1e-9
        K = pairwise_kernels(X, metric=kernel, filter_params=True, gamma=0.3, coef0=1.0, degree=3)
        values.append(a @ y - 0.5 * a @ K @ a - 0.1 * np.abs(a).sum())
    assert values[1] >= values[0] - 1e-5 * abs(values[0])


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_rows_without_weight_are_left_out_and_the_others_keep_their_number(kernel, rng):
    X, y, Z = data(rng)
    w = np.ones(len(y))
    w[:3] = 0.0, -1.0, 0.0
    inputs, new = (X, Z) if kernel == "rbf" else (np.exp(-0.3 * cdist(X, X) ** 2), np.exp(-0.3 * cdist(Z, X) ** 2))
    model = compat.SVR(kernel=kernel, gamma=0.3, tol=1e-9).fit(inputs, y, w)
    less = compat.SVR(gamma=0.3, tol=1e-9).fit(X[3:], y[3:])
    np.testing.assert_allclose(model.predict(new), less.predict(Z), atol=1e-8)
    assert model.support_.tolist() == (less.support_ + 3).tolist()


def test_sigmoid_is_no_kernel_and_is_solved_as_libsvm_does(rng):
    X, y, Z = data(rng)
    options = {"kernel": "sigmoid", "gamma": 0.05, "coef0": 0.0, "C": 0.5, "tol": 1e-6}
    theirs, ours = svm.SVR(**options).fit(X, y), compat.SVR(**options).fit(X, y)
    np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), atol=1e-3)


def test_too_few_steps_are_told(rng):
    X, y, _ = data(rng)
    with pytest.warns(ConvergenceWarning, match=r"Solver terminated early \(max_iter, max_iter=2\)"):
        model = compat.SVR(max_iter=2, C=100.0).fit(X, y)
    assert model.fit_status_ == 1


def test_verbose_prints_the_report(rng, capsys):
    X, y, _ = data(rng)
    compat.SVR(verbose=True).fit(X, y)
    assert "[mercer] FitReport(" in capsys.readouterr().out


def test_the_tolerance_holds_in_units_of_y(rng):
    X, y, Z = data(rng)
    tiny, one, huge = (compat.SVR(C=c, epsilon=0.1 * c).fit(X, c * y).predict(Z) / c for c in (1e-5, 1.0, 1e4))
    np.testing.assert_allclose(tiny, one, atol=2e-3)
    np.testing.assert_allclose(huge, one, atol=2e-3)


# ------------------------------------------------------------------------------------------- Gaussian processes
@pytest.mark.parametrize("normalize_y", [True, False])
@pytest.mark.parametrize("targets", [1, 2])
def test_a_process_that_learns_nothing_is_the_same(normalize_y, targets, rng):
    X, y, Z = data(rng, 30)
    y = y if targets == 1 else np.column_stack([y, 3.0 * y + 1.0])
    options = {
        "kernel": ConstantKernel(1.5) * RBF([0.5, 1.0, 2.0]) + WhiteKernel(0.1),
        "alpha": rng.uniform(0.01, 0.1, 30),
        "optimizer": None,
        "normalize_y": normalize_y,
    }
    theirs = gaussian_process.GaussianProcessRegressor(**options).fit(X, y)
    ours = compat.GaussianProcessRegressor(**options).fit(X, y)
    for key in ("return_std", "return_cov"):
        for a, b in zip(ours.predict(Z, **{key: True}), theirs.predict(Z, **{key: True}), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-8)
    for name in ("L_", "alpha_", "y_train_", "X_train_", "log_marginal_likelihood_value_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-7)
    theta = ours.kernel_.theta + 0.3
    for a, b in zip(
        ours.log_marginal_likelihood(theta, True), theirs.log_marginal_likelihood(theta, True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-7)


def test_a_process_that_learns_ends_at_the_same_place(rng):
    X, y, Z = data(rng, 40)
    kernel = ConstantKernel(1.0) * RBF(1.0, (0.1, 10.0)) + WhiteKernel(0.1)
    options = {"kernel": kernel, "n_restarts_optimizer": 1, "random_state": 3}
    theirs = gaussian_process.GaussianProcessRegressor(**options).fit(X, y)
    ours = compat.GaussianProcessRegressor(**options).fit(X, y)
    value = theirs.log_marginal_likelihood_value_
    assert ours.log_marginal_likelihood_value_ == pytest.approx(value, abs=1e-3)
    np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), atol=5e-3)
    assert ours.fit_report_["evaluations"] > 5


def test_samples_have_the_moments_of_the_posterior(rng):
    X, y, Z = data(rng, 20, m=3)
    model = compat.GaussianProcessRegressor(RBF(1.0), alpha=0.1, optimizer=None).fit(X, y)
    draws, (mean, cov) = model.sample_y(Z, 20_000, random_state=0), model.predict(Z, return_cov=True)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(draws), cov, atol=0.03)


def test_huge_targets_do_not_overflow():
    X, y = np.arange(6.0)[:, None], 1e200 * np.array([0.0, 1.0, 0.0, -1.0, 0.0, 1.0])
    mean, std = compat.GaussianProcessRegressor(alpha=0.1, normalize_y=True).fit(X, y).predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    np.testing.assert_allclose(mean, y, atol=5e199)


def test_the_likelihood_elsewhere_leaves_predictions_alone(rng):
    X, y, Z = data(rng, 15)
    model = compat.GaussianProcessRegressor(RBF() + WhiteKernel(0.1), optimizer=None).fit(X, y)
    before = model.predict(Z, return_std=True)
    model.log_marginal_likelihood(np.ones(2), clone_kernel=False)
    assert model.kernel_.theta.tolist() == [1.0, 1.0]
    for a, b in zip(before, model.predict(Z, return_std=True), strict=True):
        assert a.tolist() == b.tolist()


def test_a_pipeline_passes_return_std_on_when_routing_is_on(rng):
    X, y, Z = data(rng, 15)
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(StandardScaler(), compat.GaussianProcessRegressor(RBF(), alpha=0.1)).fit(X, y)
        mean, std = model.predict(Z, return_std=True)
    theirs = gaussian_process.GaussianProcessRegressor(model[-1].kernel_, alpha=0.1, optimizer=None)
    expected = theirs.fit(model[0].transform(X), y).predict(model[0].transform(Z), return_std=True)
    np.testing.assert_allclose((mean, std), expected, rtol=1e-7)


def test_a_wave_in_several_columns_is_scikit_learns_own(rng):
    X, y, Z = data(rng, 25)
    kernel = ConstantKernel(1.3) * ExpSineSquared(2.0, 9.0) + WhiteKernel(0.5)
    options = {"kernel": kernel, "optimizer": None}
    theirs = gaussian_process.GaussianProcessRegressor(**options).fit(X, y).predict(Z)
    np.testing.assert_allclose(compat.GaussianProcessRegressor(**options).fit(X, y).predict(Z), theirs, atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("optimizer", [None, "fmin_l_bfgs_b"])
def test_classification_is_the_same_but_for_the_last_integral(classes, optimizer, rng):
    X, y, Z = data(rng, 50, d=2)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [0.0] if classes == 2 else [-0.4, 0.4])]
    options = {"kernel": ConstantKernel(2.0, "fixed") * RBF(1.0), "optimizer": optimizer}
    theirs = gaussian_process.GaussianProcessClassifier(**options).fit(X, labels)
    ours = compat.GaussianProcessClassifier(**options).fit(X, labels)
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert ours.n_classes_ == classes
    tolerance = 2e-3 if optimizer is None else 2e-2  # σ as five error functions; where L-BFGS stops
    np.testing.assert_allclose(ours.predict_proba(Z), theirs.predict_proba(Z), atol=tolerance)
    assert np.mean(ours.predict(Z) == theirs.predict(Z)) >= 0.95
    value = theirs.log_marginal_likelihood_value_
    assert ours.log_marginal_likelihood_value_ == pytest.approx(value, abs=1e-3)
    np.testing.assert_allclose(ours.kernel_.theta, theirs.kernel_.theta, atol=0.02)
    if classes == 2 and hasattr(theirs, "latent_mean_and_variance"):  # from scikit-learn 1.7 on
        for a, b in zip(ours.latent_mean_and_variance(Z), theirs.latent_mean_and_variance(Z), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5 if optimizer is None else 0.2)
        inner, outer = ours.base_estimator_, theirs.base_estimator_
        for name in ("pi_", "W_sr_", "L_", "y_train_", "f_cached"):
            np.testing.assert_allclose(
                getattr(inner, name), getattr(outer, name), atol=1e-5 if optimizer is None else 0.1
            )


def test_one_against_one(rng):
    X, y, Z = data(rng, 45, d=2)
    labels = np.digitize(y, [-0.4, 0.4])
    options = {"kernel": 2.0 * RBF(1.0), "optimizer": None, "multi_class": "one_vs_one"}
    theirs = gaussian_process.GaussianProcessClassifier(**options).fit(X, labels)
    ours = compat.GaussianProcessClassifier(**options).fit(X, labels)
    assert np.mean(ours.predict(Z) == theirs.predict(Z)) >= 0.95
    with pytest.raises(ValueError, match="one_vs_one"):
        ours.predict_proba(Z)
    theta = np.tile(ours.kernel_.k1.theta if hasattr(ours.kernel_, "k1") else ours.kernel_.theta[:2], 1)
    assert ours.log_marginal_likelihood(theta) == pytest.approx(theirs.log_marginal_likelihood(theta), abs=1e-4)


def test_a_warm_start_and_a_short_search(rng):
    X, y, _ = data(rng, 40, d=2)
    model = compat.GaussianProcessClassifier(1e4 * RBF(1.0), optimizer=None, warm_start=True)
    first = model.fit(X, y > 0).base_estimator_.report_["iterations"]
    assert model.fit(X, y > 0).base_estimator_.report_["iterations"] < first
    with pytest.warns(ConvergenceWarning, match="max_iter_predict=1 "):
        compat.GaussianProcessClassifier(1e4 * RBF(1.0), optimizer=None, max_iter_predict=1).fit(X, y > 0)


# ------------------------------------------------------------------------------------------- all of them
MODELS = [
    compat.KernelRidge(kernel="rbf"),
    compat.SVR(),
    compat.NuSVR(),
    compat.GaussianProcessRegressor(RBF() + WhiteKernel()),
    compat.GaussianProcessClassifier(RBF()),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_arguments_and_defaults_are_those_of_scikit_learn(model):
    name = type(model).__name__
    module = {"KernelRidge": kernel_ridge, "SVR": svm, "NuSVR": svm}.get(name, gaussian_process)
    assert type(model)().get_params() == getattr(module, name)().get_params()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_pickle_and_a_failed_fit(model, rng):
    X, y, Z = data(rng, 30)
    y = y > 0 if isinstance(model, compat.GaussianProcessClassifier) else y
    model = clone(model).fit(X, y)
    expected = model.predict(Z)
    assert pickle.loads(pickle.dumps(model)).predict(Z).tolist() == expected.tolist()
    with pytest.raises(ValueError):  # noqa: PT011
        model.fit(np.full((3, 7), np.nan), y[:3])
    assert model.n_features_in_ == 3
    assert model.predict(Z).tolist() == expected.tolist()
