"""A second fit, rows added or taken away leave nothing of what was there before: every public name is looked at."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier

import mercer
from mercer import GaussianProcessRegressor, KernelRidge
from mercer.kernels import Gaussian
from mercer.selection import LOO

# what is made when it is asked for, by a method
ASKED = ("influence", "evidence_terms", "calibration")
MODELS = [getattr(mercer, name) for name in mercer.__all__ if isinstance(getattr(mercer, name), type)]
MODELS = [cls() for cls in MODELS if issubclass(cls, BaseEstimator)]
MODELS += [KernelRidge(criterion=LOO()), GaussianProcessRegressor(100.0 * Gaussian(1.0), 0.1, criterion=None)]


def data(rng, model, n):
    X = rng.uniform(-1, 1, (n, 2))
    f = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)
    return X, (f > 0).astype(int) if is_classifier(model) else 1.0 + f


def seen(model, X):
    """Everything a user can see of a fitted model, as text: attributes, predictions, intervals, what methods give."""
    properties = [name for name in dir(type(model)) if name.endswith("_") and name[0] != "_"]
    out = {name: getattr(model, name) for name in properties if hasattr(model, name)}
    out |= {name: value for name, value in vars(model).items() if name.endswith("_") and name[0] != "_"}
    out.pop("fit_report_", None)  # it has times
    out.pop("selection_", None)
    out |= {name: getattr(model, name)() for name in ASKED if hasattr(model, name)}
    out["predict"] = model.predict(X)
    here = [
        name for name in ("predict_interval", "predict_proba", "posterior", "power_function") if hasattr(model, name)
    ]
    return out | {name: getattr(model, name)(X) for name in here}


def assert_same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        parts = [[*vars(v).values()] if hasattr(v, "__dataclass_fields__") else [v] for v in (a[name], b[name])]
        for x, y in zip(*parts, strict=True):
            if isinstance(x, dict):
                x, y = list(x.values()), list(y.values())
            if isinstance(x, np.ndarray | float | list | tuple) and np.asarray(x).dtype.kind in "fiub":
                np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-9, err_msg=name)
            else:
                assert repr(x) == repr(y), name


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_second_fit_is_a_first_one(model, rng):
    first, second, new = data(rng, model, 40), data(rng, model, 30), data(rng, model, 5)[0]
    seen(model.fit(*first), new)  # so that all that is kept for later is there
    assert_same(seen(model.fit(*second), new), seen(clone(model).fit(*second), new))


@pytest.mark.parametrize("trend", [None, "constant", "linear"])
def test_rows_added_and_taken_away_are_a_new_fit(trend, rng):
    model = GaussianProcessRegressor(4.0 * Gaussian(1.0), 0.1, criterion=None, trend=trend)
    (X, y), new = data(rng, model, 30), data(rng, model, 5)[0]
    looks = [lambda m: m.loo_residuals_, lambda m: m.loo_std_, lambda m: m.log_marginal_likelihood_value_,
             lambda m: m.posterior(new).latent_std, lambda m: m.hyper_cov_]  # fmt: skip
    looks += [lambda m: m.predict_interval(new, method="conformal")] if trend != "linear" else []

    def same(model, rows):
        fresh = clone(model).fit(X[rows], y[rows])
        for look in looks:
            np.testing.assert_allclose(look(model), look(fresh), rtol=1e-6, atol=1e-9)

    model.fit(X[:20], y[:20])
    same(model, np.arange(20))
    same(model.update(X[20:], y[20:]), np.arange(30))
    same(model.forget([3, 25]), np.delete(np.arange(30), [3, 25]))
