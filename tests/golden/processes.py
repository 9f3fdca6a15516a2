"""Golden cases of `GaussianProcessRegressor` and `GaussianProcessClassifier`."""

import numpy as np

from golden import data
from golden.registry import ERROR, NATS, Table, weights
from mercer import GaussianProcessClassifier, GaussianProcessRegressor
from mercer.kernels import Gaussian, Matern32, Matern52, Periodic, PolynomialBasis, RationalQuadratic
from mercer.selection import LOO, FoldDensity, LogNormal

CASES = Table()


def moments(model, new):
    """What a posterior says at new rows."""
    found = model.posterior(new, cov=True)
    out = {"predict": found.mean, "latent": found.latent_std, "noisy": found.noisy_std, "cov": found.latent_cov[0]}
    return out | {"b": model.trend_coef_, "alpha": model.dual_coef_[:6]}


def gp(name, kernel, noise, weighted=False, target=None, slopes=True, **options):
    """A posterior at given hyper-parameters, its evidence there and elsewhere, its left-out rows and intervals."""
    X, y, new = data.load(name)
    y = y if target is None else y[:, target]
    model = GaussianProcessRegressor(kernel, noise, criterion=None, **options)
    model.fit(X, y, weights(y) if weighted else None)
    out = moments(model, new) | {"evidence": model.log_marginal_likelihood_value_}
    out |= {f"evidence/{key}": value for key, value in model.evidence_terms().items()}
    theta = np.append(model.kernel_.theta, np.log(model.lam_)) + 0.2
    out["elsewhere"], out["gradient"] = model.log_marginal_likelihood(theta, eval_gradient=True)
    out["gradient here"] = model.log_marginal_likelihood(eval_gradient=True)[1]
    out |= {"loo": model.loo_residuals_[:8], "loo std": model.loo_std_[:8]}
    out["interval"] = model.predict_interval(new, 0.9)
    if options.get("trend", "constant") in (None, "constant"):
        out["conformal"] = model.predict_interval(new, 0.8, method="conformal")
    if slopes:
        out["slope"], out["slope of std"] = model.derivative(new[:3])
        out |= {f"part {i}": part.mean for i, part in enumerate(model.decompose(new))}
        out |= {f"std of part {i}": part.std for i, part in enumerate(model.decompose(new))}
    return out


def changed(name, kernel, noise, **options):
    """Rows added and taken away at the same hyper-parameters."""
    X, y, new = data.load(name)
    model = GaussianProcessRegressor(kernel, noise, criterion=None, **options).fit(X[:30], y[:30])
    before = {"before loo": model.loo_residuals_[-4:], "before std": model.loo_std_[-4:]}
    grown = moments(model.update(X[30:42], y[30:42], sample_weight=np.linspace(0.5, 2.0, 12)), new)
    grown |= {"evidence": model.log_marginal_likelihood_value_, "loo": model.loo_residuals_[-4:]}
    fewer = moments(model.forget([0, 5, 33]), new) | {"evidence": model.log_marginal_likelihood_value_}
    fewer |= {"loo": model.loo_residuals_[-4:]}
    return before | {f"grown {key}": a for key, a in grown.items()} | {f"fewer {key}": a for key, a in fewer.items()}


def learnt(name, criterion="evidence", kernel=None, weighted=False, target=0, allow=NATS, **options):
    """Hyper-parameters by the evidence or another criterion."""
    X, y, new = data.load(name)
    y = y if y.ndim == 1 or target is None else y[:, target]
    model = GaussianProcessRegressor(kernel, criterion=criterion, **options).fit(X, y, weights(y) if weighted else None)
    value = model.selection_.value
    prior = options.get("prior") is not None or len(y) < 50  # the value is without it: nothing to judge by
    out = {
        "value": None if prior else value,
        "allow": allow if allow else ERROR * abs(value),
        "spread": float(np.std(y)),
    }
    found = model.posterior(new)
    return out | {
        "theta": np.append(model.kernel_.theta, np.log(model.lam_)),
        "evidence": model.log_marginal_likelihood_value_,
        "y: predict": found.mean,
        "y: latent": found.latent_std,
        "y: noisy": found.noisy_std,
        "y: loo": model.loo_residuals_[:8],
    }


TRENDS = {"none": None, "constant": "constant", "linear": "linear", "basis": PolynomialBasis(2)}
for key, trend in TRENDS.items():
    CASES.add("exact", f"gp/ethanol/{key}", lambda t=trend: gp("ethanol", 2.0 * Matern32([2.0, 0.3]), 0.1, trend=t))
    CASES.add("exact", f"gp/cars/{key}", lambda t=trend: gp("cars", 500.0 * Gaussian(8.0), 200.0, True, trend=t))
    CASES.add(
        "exact", f"gp/friedman/{key}", lambda t=trend: gp("friedman", 9.0 * Matern52(np.full(5, 1.5)), 1.0, trend=t)
    )
    CASES.add("exact", f"gp/changed/{key}", lambda t=trend: changed("faithful", 100.0 * Matern52(1.0), 30.0, trend=t))
    CASES.add("search", f"gp/diabetes/{key}", lambda t=trend: learnt("diabetes", trend=t))
noise = np.linspace(100.0, 900.0, 133)
CASES.add("exact", "gp/mcycle/noise", lambda: gp("mcycle", 2500.0 * Matern32(6.0), noise))
CASES.add("exact", "gp/mcycle/noise and weights", lambda: gp("mcycle", 2500.0 * Matern32(6.0), noise, True))
CASES.add("exact", "gp/mcycle/unmerged", lambda: gp("mcycle", 2500.0 * Gaussian(6.0), 500.0, merge=False))
CASES.add("exact", "gp/linnerud", lambda: gp("linnerud", 100.0 * RationalQuadratic(1.5, 1.0), 50.0, True))
structure = 600.0 * Gaussian(3.0) + 4.0 * (Periodic(1.0, 1.0) * Gaussian(20.0)) + 0.3 * Matern32(0.5)
CASES.add("exact", "gp/co2", lambda: gp("co2", structure, 0.1, slopes=False), tol=1e-8)
CASES.add(
    "exact", "gp/airpassengers", lambda: gp("airpassengers", 1e4 * Gaussian(2.0) + 1e3 * Periodic(1.0, 1.0), 100.0)
)
CASES.add("exact", "gp/default", lambda: gp("diabetes", None, 3000.0))

for key in ("cars", "mcycle", "faithful", "ethanol", "airpassengers", "friedman"):
    CASES.add("search", f"gp/{key}/evidence", learnt, key)
CASES.add("search", "gp/ethanol/loo", lambda: learnt("ethanol", "loo", allow=1e-5))  # the mean over the rows
CASES.add("search", "gp/mcycle/loo", lambda: learnt("mcycle", "loo", allow=1e-5))
CASES.add("search", "gp/ethanol/errors", lambda: learnt("ethanol", LOO(), allow=None))
CASES.add("search", "gp/ethanol/folds", lambda: learnt("ethanol", FoldDensity()))
CASES.add("search", "gp/diabetes/folds", lambda: learnt("diabetes", FoldDensity(3), 100.0 * Gaussian(2.0)))
CASES.add("search", "gp/cars/noise", lambda: learnt("cars", optimize="lam", kernel=400.0 * Gaussian(6.0)))
CASES.add(
    "search", "gp/cars/kernel", lambda: learnt("cars", optimize="kernel", kernel=400.0 * Gaussian(6.0), noise=200.0)
)
CASES.add("search", "gp/mcycle/noise given", lambda: learnt("mcycle", noise=noise))
CASES.add("search", "gp/cars/weights", lambda: learnt("cars", weighted=True))
CASES.add("search", "gp/linnerud/evidence", lambda: learnt("linnerud", target=None))
priors = {"length_scale*": LogNormal(1.0, 0.5), "lam": LogNormal(0.1, 1.0)}
CASES.add("search", "gp/ethanol/prior", lambda: learnt("ethanol", kernel=1.0 * Gaussian(1.0), prior=priors))


def drawn(seed):
    """Hyper-parameters drawn from their posterior, in units of the spread of y."""
    X, y, new = data.load("cars")
    prior = {"scale": LogNormal(600.0, 0.3), "*length_scale": LogNormal(10.0, 0.3), "lam": LogNormal(200.0, 0.3)}
    model = GaussianProcessRegressor(1.0 * Gaussian(5.0), n_hyper_samples=24, prior=prior, random_state=seed).fit(X, y)
    found, unit = model.posterior(new), float(np.std(y))
    out = {"predict": found.mean / unit, "latent": found.latent_std / unit, "noisy": found.noisy_std / unit}
    return out | {"log theta": model.hyper_samples_.mean(axis=0)}


CASES.add("chance", "gp/drawn", drawn, 0, tol=0.05)


# --------------------------------------------------------------------------------- classification
PLAIN = {"prior": None, "temperature": False, "averaging": "joint"}  # no prior, and no calibration


def gpc(name, kernel, weighted=False, two=None, rows=None, **options):
    """Probabilities at given hyper-parameters, the evidence there and elsewhere, and rows left out."""
    X, y, new = data.load(name)
    y = y if two is None else (y == two).astype(int)
    X, y = (X, y) if rows is None else (X[rows], y[rows])
    model = GaussianProcessClassifier(kernel, criterion=None, tol=1e-12, **PLAIN | options)
    model.fit(X, y, weights(y) if weighted else None)
    mean, std = model.predict_latent(new)
    out = {"proba": model.predict_proba(new), "latent": mean, "std": std, "b": model.intercept_}
    out |= {"evidence": model.log_marginal_likelihood_value_, "loo": model.loo_probabilities_[:6]}
    if options.get("inference") not in ("mcmc", "quadrature"):
        theta = model.kernel_.theta + 0.2
        out["elsewhere"], out["gradient"] = model.log_marginal_likelihood(theta, eval_gradient=True)
    return out


def gpc_learnt(name, two=None, allow=NATS, **options):
    """Hyper-parameters by the approximate evidence."""
    X, y, new = data.load(name)
    y = y if two is None else (y == two).astype(int)
    model = GaussianProcessClassifier(options.pop("kernel", None), **PLAIN | options).fit(X, y)
    out = {"value": model.selection_.value, "allow": allow, "spread": 1.0, "theta": model.kernel_.theta}
    out |= {"evidence": model.log_marginal_likelihood_value_, "y: proba": model.predict_proba(new)}
    return out | {"y: loo": model.loo_probabilities_[:6]}


for inference in ("laplace", "ep"):
    for link in ("logit", "probit"):
        way, key = {"inference": inference, "link": link}, f"{inference}/{link}"
        CASES.add("exact", f"gpc/synth/{key}", lambda w=way: gpc("synth", 4.0 * Gaussian(0.4), **w))
        CASES.add("exact", f"gpc/cancer/{key}", lambda w=way: gpc("cancer", 9.0 * Matern32(np.full(5, 2.0)), True, **w))
    rest = {"inference": inference, "multi_class": "one_vs_rest"}
    CASES.add("exact", f"gpc/iris/{inference}/rest", lambda w=rest: gpc("iris", 4.0 * Gaussian(1.5), **w))
    CASES.add("search", f"gpc/synth/{inference}", lambda w=inference: gpc_learnt("synth", inference=w))
    CASES.add(
        "search",
        f"gpc/iris/{inference}/two",
        lambda w=inference: gpc_learnt("iris", 1, inference=w, kernel=1.0 * Gaussian(1.0)),
    )
CASES.add("exact", "gpc/iris/softmax", lambda: gpc("iris", 4.0 * Gaussian(1.5)))
CASES.add("exact", "gpc/wine/softmax", lambda: gpc("wine", 4.0 * Matern52(2.0), True))
CASES.add("exact", "gpc/digits/softmax", lambda: gpc("digits", 9.0 * Gaussian(4.0), trend=None))
CASES.add("exact", "gpc/iris/no mean", lambda: gpc("iris", 4.0 * Gaussian(1.5), two=1, trend=None))
CASES.add("exact", "gpc/iris/mean given", lambda: gpc("iris", 4.0 * Gaussian(1.5), two=1, trend=-0.5))
CASES.add("exact", "gpc/temperature", lambda: gpc("synth", 25.0 * Gaussian(0.2), temperature=True), tol=1e-6)
six = np.arange(0, 84, 14)
way = {"inference": "quadrature", "rows": six}
CASES.add("exact", "gpc/quadrature", lambda: gpc("synth", 4.0 * Gaussian(0.4), **way), tol=1e-4)
way = {"inference": "mcmc", "n_samples": 500}
CASES.add("chance", "gpc/mcmc", lambda: gpc("synth", 4.0 * Gaussian(0.4), rows=np.arange(0, 84, 3), **way), tol=0.1)
CASES.add("search", "gpc/iris/softmax/learnt", lambda: gpc_learnt("iris", kernel=1.0 * Gaussian(1.0)))
CALIBRATED = {"prior": "auto", "temperature": "auto", "averaging": "mean_field"}
CASES.add("exact", "gpc/iris/calibrated", lambda: gpc("iris", 4.0 * Gaussian(1.5), **CALIBRATED), tol=1e-6)
CASES.add("search", "gpc/wine/calibrated", lambda: gpc_learnt("wine", kernel=1.0 * Gaussian(1.0), **CALIBRATED))
CASES.add("search", "gpc/cancer", lambda: gpc_learnt("cancer", kernel=1.0 * Gaussian(np.ones(5))))
CASES.add(
    "search",
    "gpc/wine/rest",
    lambda: gpc_learnt("wine", kernel=1.0 * Gaussian(1.0), multi_class="one_vs_rest", link="probit"),
)
