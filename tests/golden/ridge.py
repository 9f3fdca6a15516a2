"""Golden cases of `KernelRidge`, `KernelInterpolator` and `BasisRegression`."""

import numpy as np

from golden import data
from golden.registry import ERROR, NATS, Table, spread_kernel, weights
from mercer import BasisRegression, KernelInterpolator, KernelRidge
from mercer.kernels import (
    Constant,
    Exponential,
    Gaussian,
    GaussianBasis,
    Linear,
    Matern,
    Matern32,
    Matern52,
    Polynomial,
    PolynomialBasis,
    RationalQuadratic,
)
from mercer.selection import GCV, LOO, Discrepancy, Evidence, GroupKFold, KFold, LCurve

CASES = Table()


def ridge(name, kernel, lam, weighted=False, target=None, intervals=True, **options):
    """A fit at a given λ: f, α, b, ‖f‖, leverages, left-out residuals, intervals, calibration."""
    X, y, new = data.load(name)
    y = y if target is None else y[:, target]
    weight = weights(y) if weighted else None
    model = KernelRidge(spread_kernel(X, weight) if kernel is None else kernel, lam, **options).fit(X, y, weight)
    out = {"predict": model.predict(new), "alpha": model.dual_coef_[:6], "b": model.intercept_}
    out |= {"norm": model.rkhs_norm_, "score": model.score(X, y)}
    found = model.influence()
    out |= {"leverage": found.leverage[:8], "loo": found.loo_residuals[:8], "cook": found.cook[:8], "dof": found.dof}
    if intervals:
        for method in ("conformal", "jackknife+", "cv+"):
            out[method] = model.predict_interval(new, 0.8, method=method)
        out["normalised"] = model.predict_interval(new, 0.8, normalise=True, sample_weight=2.0)
        out["z"] = model.calibration().z[:8]
    return out


def chosen(name, criterion, kernel=None, weighted=False, allow=None, **options):
    """λ and θ by a criterion: its value, where it ended, and what follows."""
    X, y, new = data.load(name)
    y = y if y.ndim == 1 or options.pop("targets", 1) > 1 else y[:, 0]
    weight = weights(y) if weighted else None
    kernel = spread_kernel(X, weight) if kernel is None else kernel
    model = KernelRidge(kernel, criterion=criterion, **options).fit(X, y, weight)
    value = model.selection_.value
    if isinstance(criterion, LCurve | Discrepancy):
        value = None  # they choose λ where something holds, not where something is least
    elif allow is None:
        allow = ERROR * abs(value)
    theta = np.append(model.kernel_.theta, np.log(model.lam_))
    return {
        "value": value,
        "allow": allow,
        "theta": theta,
        "spread": float(np.std(y)),
        "dof": model.dof_,
        "y: predict": model.predict(new),
        "y: loo": model.loo_residuals_[:8],
    }


KERNELS = {
    "default": None,
    "exponential": Exponential(2.0),
    "matern": 2.0 * Matern(1.3, 3.0),
    "rational": RationalQuadratic(2.0, 1.5),
    "sum": Gaussian(2.0) + 0.1 * Linear() + Constant(0.5),
    "product": Matern52(3.0) * Polynomial(2, 1.0),
}
for key, kernel in KERNELS.items():
    CASES.add("exact", f"ridge/ethanol/{key}", ridge, "ethanol", kernel, 0.3)
for key in ("cars", "mcycle", "faithful", "co2", "airpassengers", "diabetes"):
    CASES.add("exact", f"ridge/{key}", ridge, key, None, 0.1)
    CASES.add("search", f"ridge/{key}/loo", chosen, key, LOO())
CASES.add("exact", "ridge/cars/weights", ridge, "cars", Gaussian(5.0), 0.2, True)
CASES.add("exact", "ridge/mcycle/weights", ridge, "mcycle", Matern32(8.0), 0.5, True)
CASES.add("exact", "ridge/cars/unmerged", lambda: ridge("cars", Gaussian(5.0), 0.2, merge=False))
CASES.add("exact", "ridge/cars/noise", lambda: ridge("cars", Gaussian(5.0), np.linspace(0.1, 2.0, 50)))
CASES.add("exact", "ridge/diabetes/no intercept", lambda: ridge("diabetes", Gaussian(2.0), 1.0, trend=None))
CASES.add("exact", "ridge/linnerud/three targets", lambda: ridge("linnerud", None, 1.0))
CASES.add("exact", "ridge/friedman/two targets", lambda: ridge("friedman", Matern52(1.0), 0.1, True))
for solver, tol in {"cholesky": 1e-9, "mixed": 1e-8, "spectral": 1e-9, "cg": 1e-6}.items():  # CG asks for 1e-8
    CASES.add(
        "exact", f"ridge/solver/{solver}", lambda s=solver: ridge("ethanol", Gaussian(2.0), 0.1, solver=s), tol=tol
    )

CRITERIA = {
    "gcv": GCV(),
    "kfold": KFold(5),
    "absolute": LOO("absolute"),
    "crps": LOO("crps"),
    "lcurve": LCurve(),
    "discrepancy": Discrepancy(),
}
for key, criterion in CRITERIA.items():
    for place in ("ethanol", "mcycle"):
        CASES.add("search", f"ridge/{place}/{key}", chosen, place, criterion)
for key, criterion in {"loo": LOO(), "gcv": GCV(), "kfold": KFold(4)}.items():
    CASES.add(
        "search", f"ridge/airpassengers/{key}/lam", lambda c=criterion: chosen("airpassengers", c, optimize="lam")
    )
for place in ("ethanol", "cars"):
    CASES.add(
        "search", f"ridge/{place}/evidence", lambda d=place: chosen(d, Evidence(), 1.0 * Gaussian(2.0), allow=NATS)
    )
    CASES.add(
        "search", f"ridge/{place}/evidence/lam", lambda d=place: chosen(d, Evidence(), optimize="lam", allow=NATS)
    )
    CASES.add("search", f"ridge/{place}/profile", lambda d=place: chosen(d, Evidence(profile_scale=True), allow=NATS))
CASES.add(
    "search", "ridge/ethanol/density", lambda: chosen("ethanol", LOO("log_density"), 1.0 * Gaussian(2.0), allow=1e-5)
)
CASES.add("search", "ridge/ethanol/discrepancy/given", lambda: chosen("ethanol", Discrepancy(0.3)))
CASES.add("search", "ridge/cars/loo/weights", lambda: chosen("cars", LOO(), Gaussian(5.0), True))
CASES.add("search", "ridge/friedman/loo", lambda: chosen("friedman", LOO(), Gaussian(np.ones(5))))
CASES.add("search", "ridge/linnerud/loo", lambda: chosen("linnerud", LOO(), targets=3))
CASES.add("search", "ridge/list", lambda: chosen("ethanol", LOO(), [Gaussian(2.0), Matern32(2.0), Linear()]))
CASES.add("search", "ridge/list/lam", lambda: chosen("cars", GCV(), [Gaussian(5.0), Exponential(5.0)], optimize="lam"))
CASES.add("search", "ridge/groups", lambda: chosen("diabetes", GroupKFold(np.arange(80) // 10)))
CASES.add("search", "ridge/noise", lambda: chosen("cars", LOO(), Gaussian(5.0), lam=np.linspace(0.5, 2.0, 50)))


# ------------------------------------------------------------------------ interpolation and bases
def interpolate(name, kernel, rows):
    """The function of smallest norm through some distinct rows."""
    X, y, new = data.load(name)
    first = np.unique(X, axis=0, return_index=True)[1][:: max(1, len(X) // rows)][:rows]
    model = KernelInterpolator(kernel).fit(X[first], y[first])
    out = {"predict": model.predict(new), "norm": model.rkhs_norm_, "rank": model.rank_}
    return out | {"power": model.power_function(new) ** 2, "alpha": np.sort(model.dual_coef_, axis=0)[:5]}


def basis(name, phi, lam, weighted=False, **options):
    """Least squares on a basis."""
    X, y, new = data.load(name)
    model = BasisRegression(phi, lam, **options).fit(X, y, weights(y) if weighted else None)
    f, std = model.predict(new, return_std=True)
    out = {"predict": f, "std": std, "coef": model.coef_, "b": model.intercept_, "leverage": model.leverage_[:8]}
    return out | {"loo": model.loo_residuals_[:8], "sigma2": model.sigma2_, "dof": model.dof_, "rank": model.rank_}


CASES.add("exact", "interpolator/ethanol", interpolate, "ethanol", Exponential([1.0, 0.1]), 30, tol=1e-8)
CASES.add("exact", "interpolator/linnerud", interpolate, "linnerud", Matern32(1.0), 12, tol=1e-8)
CASES.add("exact", "interpolator/diabetes", interpolate, "diabetes", Gaussian(0.5), 25, tol=1e-8)
for key, lam in {"": 0.0, "/ridge": 2.0}.items():
    CASES.add("exact", f"basis/cars{key}", basis, "cars", PolynomialBasis(2), lam, tol=1e-8)
    CASES.add("exact", f"basis/diabetes{key}", basis, "diabetes", None, lam, True)
    centres = np.linspace(-1, 7, 6)[:, None]
    CASES.add(
        "exact",
        f"basis/counts{key}",
        lambda z=centres, lam=lam: basis("counts", GaussianBasis(z), lam, trend="constant"),
    )
CASES.add("exact", "basis/linnerud", basis, "linnerud", None, 0.5)
