"""Golden cases of `SVR` and `KernelMachine`."""

import numpy as np
from sklearn.model_selection import KFold

from golden import data
from golden.registry import ERROR, Table, spread_kernel, weights
from mercer import SVR, KernelMachine, losses, svr_path
from mercer.kernels import Exponential, Gaussian, Matern32

CASES = Table()


def svr(name, kernel=None, weighted=False, target=None, **options):
    """Support vectors to the last digits: objectives, f, b, ε, Σ|α|, the span rule."""
    X, y, new = data.load(name)
    y = y if target is None else y[:, target]
    weight = weights(y) if weighted else None
    model = SVR(spread_kernel(X, weight) if kernel is None else kernel, tol=1e-10, **options).fit(X, y, weight)
    out = {"dual": model.dual_objective_, "predict": model.predict(new), "b": model.intercept_}
    out |= {"epsilon": model.epsilon_, "mass": np.abs(model.dual_coef_).sum(axis=0), "loo": model.loo_residuals_[:8]}
    return out | {"jackknife+": model.predict_interval(new, 0.8), "tube": model.decision_tube(new)}


def path():
    """Several C and ε with one K."""
    X, y, _ = data.load("cars")
    found = svr_path(Gaussian(5.0), X, y, [0.1, 1.0, 10.0], [10.0, 3.0], tol=1e-10)
    return {"mass": np.abs(found.dual_coef).sum(axis=2), "b": found.intercept}


for C in (0.1, 1.0, 100.0):
    for key, width in {"cars": 10.0, "ethanol": 0.2, "diabetes": 20.0}.items():
        CASES.add("exact", f"svr/{key}/C={C:g}", lambda k=key, C=C, e=width: svr(k, C=C, epsilon=e), tol=1e-6)
for share in (0.2, 0.6):
    for key in ("cars", "ethanol", "airpassengers"):
        CASES.add("exact", f"svr/{key}/nu={share}", lambda k=key, nu=share: svr(k, C=10.0, nu=nu), tol=1e-6)
CASES.add("exact", "svr/weights", lambda: svr("cars", Matern32(5.0), True, C=10.0, epsilon=5.0), tol=1e-6)
CASES.add("exact", "svr/weights/nu", lambda: svr("cars", Matern32(5.0), True, C=10.0, nu=0.5), tol=1e-6)
CASES.add("exact", "svr/no intercept", lambda: svr("diabetes", C=10.0, epsilon=20.0, trend=None), tol=1e-6)
CASES.add("exact", "svr/three targets", lambda: svr("linnerud", C=10.0, epsilon=2.0), tol=1e-6)
CASES.add("exact", "svr/path", path, tol=1e-6)


# -------------------------------------------------------------------------------------- all losses
def machine(name, loss, labels=None, weighted=False, target=None, **options):
    """The minimum for a loss: objective, f, b, and probabilities where there are any."""
    X, y, new = data.load(name)
    y = y if target is None else y[:, target]
    y = y if labels is None else (data.label(y) if labels == "median" else (y == labels).astype(int))
    options = {"tol": 1e-10, "lam": 0.1, **options}
    weight = weights(y) if weighted else None
    model = KernelMachine(spread_kernel(X, weight), loss=loss, **options).fit(X, y, weight)
    out = {"objective": model.objective_, "b": model.intercept_}
    if hasattr(model, "classes_"):
        out["decision"] = model.decision_function(new)
        out |= {"proba": model.predict_proba(new)} if hasattr(model, "predict_proba") else {}
        return out
    return out | {"predict": model.predict(new)}


def machine_chosen(name, loss, criterion, labels=None, lam=1.0, **options):
    """λ by the approximate left-out loss, or by folds: it tries a list of λ, so its value is the same or better."""
    X, y, new = data.load(name)
    y = y if labels is None else (y == labels).astype(int)
    options = {"kernel": spread_kernel(X), **options}
    model = KernelMachine(loss=loss, criterion=criterion, lam=lam, tol=1e-8, **options).fit(X, y)
    value = model.selection_.value
    out = {"value": value, "allow": ERROR * abs(value), "theta": [np.log(model.lam_)], "spread": float(np.std(y))}
    out["y: f"] = model.decision_function(new) if hasattr(model, "classes_") else model.predict(new)
    return out | ({"y: loo": model.loo_decision_[:8]} if criterion == "loo" else {})


REGRESSION = {
    "absolute": "absolute",
    "epsilon": losses.EpsilonInsensitive(0.2),
    "expectile": losses.Expectile(0.8),
    "huber": losses.Huber(0.3),
    "quantile": losses.Quantile([0.2, 0.7]),
    "squared": "squared",
    "squared epsilon": losses.SquaredEpsilonInsensitive(0.2),
}
for key, loss in REGRESSION.items():
    CASES.add("exact", f"machine/ethanol/{key}", machine, "ethanol", loss, tol=1e-6)
    CASES.add("exact", f"machine/diabetes/{key}", machine, "diabetes", loss, None, True, tol=1e-6)
    criterion = 4 if key in ("quantile", "epsilon", "squared epsilon") else "loo"
    CASES.add("search", f"machine/counts/{key}", machine_chosen, "counts", loss, criterion)
for key in ("hinge", "squared_hinge", "logistic"):
    CASES.add("exact", f"machine/synth/{key}", machine, "synth", key, tol=1e-6)
    CASES.add("exact", f"machine/ethanol/{key}", machine, "ethanol", key, "median", True, tol=1e-6)
    CASES.add("exact", f"machine/iris/{key}", machine, "iris", key, tol=1e-6)
    CASES.add("search", f"machine/synth/{key}/alo", machine_chosen, "synth", key, "loo", None, [0.01, 0.1, 1.0])
    CASES.add(
        "search", f"machine/wine/{key}/folds", machine_chosen, "wine", key, KFold(3, shuffle=True, random_state=0), 1
    )
CASES.add("exact", "machine/counts/poisson", machine, "counts", "poisson", tol=1e-6)
CASES.add("search", "machine/counts/poisson/alo", machine_chosen, "counts", "poisson", "loo")
CASES.add("exact", "machine/iris/softmax", lambda: machine("iris", "logistic", multi_class="softmax"), tol=1e-6)
CASES.add("exact", "machine/linnerud/huber", lambda: machine("linnerud", losses.Huber(2.0)), tol=1e-6)
CASES.add("exact", "machine/no intercept", lambda: machine("cars", losses.Huber(10.0), trend=None), tol=1e-6)
kernels = [Gaussian(5.0), Exponential(5.0)]
CASES.add(
    "search", "machine/list", lambda: machine_chosen("cars", "huber", "loo", None, [0.1, 1.0, 10.0], kernel=kernels)
)
