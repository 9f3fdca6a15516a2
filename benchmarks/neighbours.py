"""Gaussian processes by neighbours beside GPBoost's Vecchia and GPyTorch's VNNGP: one table, each row once.

    python benchmarks/neighbours.py DATA [row ...]

DATA is the folder with ``uci/`` and ``large/``; rows: modis, modis_gpboost, kin40k, protein, bike, vnngp_NAME, million,
fourier, fourier_learnt, fourier_large, full_NAME, budget_NAME, picture.
Times of the rows are to be compared only where they come from one run on a machine that does nothing else.
"""

import os
import resource
import sys
import time

import numpy as np
from scale import told, uci
from scipy.stats import norm

from mercer import Fourier, GaussianProcessRegressor, KernelRidge, Landmarks, Neighbours
from mercer.kernels import Exponential, Matern32

# Heaton et al. 2019, the best two by MAE: (MAE, RMSE, CRPS)
PUBLISHED = {"SPDE": (1.10, 1.53, 0.83), "NNGP conjugate": (1.21, 1.64, 0.85)}
# k of each set: the least of 32, 64, … whose scores are those of exact processes, or better; protein has the default
SIZES = {"kin40k": 256, "protein": 64, "bike": 32}
# RMSE and log density of exact processes: Wang et al. 2019 (kin40k); Lin et al. 2023, Matérn-3/2, mean of five splits
EXACT = {"kin40k": (0.099, None), "protein": (0.5035, -0.619), "bike": (0.0367, 2.62)}


def scores(y, mean, std):
    """MAE, RMSE, CRPS, log density and coverage of 90 % intervals."""
    z = (y - mean) / std
    crps = std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    return {
        "mae": float(np.abs(y - mean).mean()), "rmse": float(np.sqrt(np.mean((y - mean) ** 2))),
        "crps": float(crps.mean()), "log_density": float(norm.logpdf(y, mean, std).mean()),
        "coverage": float(np.mean(np.abs(z) < norm.ppf(0.95))),
    }  # fmt: skip


def clock(call):
    """(result, seconds of the clock, seconds of all cores): on a busy machine only the second can be compared."""
    started, cpu = time.perf_counter(), time.process_time()
    found = call()
    return found, f"{time.perf_counter() - started:.1f} s ({time.process_time() - cpu:.1f} s of cores)"


def fitted(row, model, X, y, Z, target):
    """Fit, predict, and tell."""
    _, fit = clock(lambda: model.fit(X, y))
    (mean, std), predict = clock(lambda: model.predict(Z, return_std=True, noisy=True))
    ends = model.predict_interval(Z, 0.9)
    inside = float(np.mean((ends[:, 0] <= target) & (target <= ends[:, 1])))
    told(row, **scores(target, mean, std), interval=inside, fit=fit, predict=predict)
    told(row, kernel=repr(model.kernel_), noise=model.lam_, words=model.fit_report_["approximation"]["words"])


def modis_data(folder):
    found = np.load(os.path.join(folder, "large", "modis_temperature", "satellite.npz"))
    X, y, test = found["lonlat"].astype(float), found["y"].astype(float), found["is_test"].astype(bool)
    return X[~test], y[~test], X[test], y[test]


def modis(folder):
    told("modis", **{name: f"MAE {a}, RMSE {b}, CRPS {c}" for name, (a, b, c) in PUBLISHED.items()})
    model = GaussianProcessRegressor(1.0 * Exponential([1.0, 1.0]), approximation=Neighbours())
    fitted("modis", model, *modis_data(folder))


def picture(folder, to="docs/images/neighbours_modis.png"):
    """The map of docs/neighbours.md: as measured, with the gaps filled, and how sure that is."""
    import matplotlib.pyplot as plt

    X, y, Z, _ = modis_data(folder)
    model = GaussianProcessRegressor(1.0 * Exponential([1.0, 1.0]), approximation=Neighbours()).fit(X, y)
    mean, std = model.predict(Z, return_std=True)
    edges = [np.unique(np.concatenate([X[:, j], Z[:, j]])) for j in (0, 1)]

    def lattice(P, values):
        found = np.full((len(edges[1]), len(edges[0])), np.nan)
        found[np.searchsorted(edges[1], P[:, 1]), np.searchsorted(edges[0], P[:, 0])] = values
        return found

    measured, sure = lattice(X, y), lattice(Z, std)
    filled = np.where(np.isfinite(measured), measured, lattice(Z, mean))
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.2), sharey=True, layout="constrained")
    box = [edges[0][0], edges[0][-1], edges[1][0], edges[1][-1]]
    shown = {"extent": box, "origin": "lower", "aspect": 1.25, "interpolation": "nearest"}
    limits = {"vmin": float(y.min()), "vmax": float(y.max()), "cmap": "inferno"}
    for axis, values, title in zip(axes, (measured, filled), ("measured", "gaps filled"), strict=False):
        image = axis.imshow(values, **shown, **limits)
        axis.set(title=title, xlabel="longitude, °")
    figure.colorbar(image, ax=axes[:2], label="temperature, °C")
    image = axes[2].imshow(sure, **shown, cmap="viridis")
    axes[2].set(title="standard deviation in the gaps", xlabel="longitude, °")
    axes[0].set_ylabel("latitude, °")
    figure.colorbar(image, ax=axes[2], label="°C")
    figure.savefig(to, dpi=110)


def modis_gpboost(folder):
    import gpboost

    X, y, Z, target = modis_data(folder)
    model = gpboost.GPModel(gp_coords=X, cov_function="exponential", gp_approx="vecchia", likelihood="gaussian")
    ones = np.ones((len(X), 1))
    _, fit = clock(lambda: model.fit(y=y, X=ones))
    found, predict = clock(
        lambda: model.predict(gp_coords_pred=Z, X_pred=np.ones((len(Z), 1)), predict_var=True, predict_response=True)
    )
    told("modis_gpboost", **scores(target, found["mu"], np.sqrt(found["var"])), fit=fit, predict=predict)
    told("modis_gpboost", parameters=str(np.ravel(model.get_cov_pars(std_err=False)).tolist()))


def table(name):
    """One of the tables, by neighbours."""

    def row(folder):
        X, y, Z, target = uci(folder, name)
        told(name, published=str(EXACT[name]))
        model = GaussianProcessRegressor(
            1.0 * Matern32(np.sqrt(X.shape[1]) * np.ones(X.shape[1])), approximation=Neighbours(SIZES[name])
        )
        fitted(name, model, X, y, Z, target)

    return row


def vnngp(name):
    """GPyTorch's nearest-neighbour process, as in its example: all rows inducing, k = 256, batches of 64, 20 epochs.

    Environment: K is another k, SECONDS ends the training (300 unless told), whose pace says what 20 epochs take.
    """

    def row(folder):
        import gpytorch  # noqa: F401  before the clock runs
        import torch

        X, y, Z, target = (torch.as_tensor(part, dtype=torch.float32) for part in uci(folder, name))
        k, most = int(os.environ.get("K", "256")), float(os.environ.get("SECONDS", "300"))
        started = time.perf_counter()
        model = _nearest(X, k)
        looked_up = time.perf_counter() - started
        steps, all_steps = _trained(model, y, started + looked_up + most)
        seconds = time.perf_counter() - started
        model.eval()

        def predict():
            with torch.no_grad():
                parts = [model.likelihood(model(part)) for part in Z.split(64)]
            return torch.cat([p.mean for p in parts]).numpy(), torch.cat([p.stddev for p in parts]).numpy()

        (mean, std), predicted = clock(predict)
        whole = looked_up + (seconds - looked_up) * all_steps / max(steps, 1)
        told(
            f"vnngp_{name}", k=k, neighbours_found=f"{looked_up:.1f} s", steps=f"{steps} of {all_steps}",
            seconds=f"{seconds:.1f} s", of_20_epochs=f"{whole:.0f} s", **scores(target.numpy(), mean, std),
            predict=predicted,
        )  # fmt: skip

    return row


def _nearest(X, k):
    """The model of that example, with our kernel and mean; its constructor looks up the neighbours of all rows."""
    import gpytorch
    from gpytorch.variational.nearest_neighbor_variational_strategy import NNVariationalStrategy

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self):
            q = gpytorch.variational.MeanFieldVariationalDistribution(len(X))
            super().__init__(NNVariationalStrategy(self, X, q, k=k, training_batch_size=64))
            self.mean_module = gpytorch.means.ConstantMean()
            inside = gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=X.shape[1])
            self.covar_module = gpytorch.kernels.ScaleKernel(inside)
            self.likelihood = gpytorch.likelihoods.GaussianLikelihood()  # its noise is learnt with the rest

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    return Model()


def _trained(model, y, until, epochs=20):
    """(steps done, steps of all epochs): by Adam, until that time."""
    import gpytorch
    import torch

    bound = gpytorch.mlls.VariationalELBO(model.likelihood, model, num_data=len(y))
    adam, done = torch.optim.Adam(model.parameters(), lr=0.01), 0
    most = epochs * model.variational_strategy._total_training_batches
    while done < most and time.perf_counter() < until:
        adam.zero_grad()
        output = model(None)
        rows = model.variational_strategy.current_training_indices
        (-bound(output, y[rows])).backward()
        adam.step()
        done += 1
    return done, most


def million(folder):
    """10⁶ rows of 3 columns, 10⁵ predictions: time and peak memory."""
    rng = np.random.default_rng(0)
    X, Z = rng.uniform(0, 10, (1_000_000, 3)), rng.uniform(0, 10, (100_000, 3))

    def f(X):
        return np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + np.abs(np.sin(X[:, 2] * X[:, 0] / 3))

    y, target = (f(P) + 0.1 * rng.standard_normal(len(P)) for P in (X, Z))
    fitted("million", GaussianProcessRegressor(approximation=Neighbours()), X, y, Z, target)
    told("million", peak_gb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)


def made():
    """(data of n rows, model of an approximation) for the rows about Fourier features."""
    rng = np.random.default_rng(0)
    kernel, noise = Matern32(0.3), 0.01

    def data(n):
        X = rng.uniform(0, 3, (n, 2))
        return X, np.sin(4 * X[:, 0]) * np.cos(3 * X[:, 1]) + 0.1 * rng.standard_normal(n)

    def model(how):
        return GaussianProcessRegressor(kernel, noise, criterion=None, approximation=how)

    return data, model


def fourier(folder):
    """Fourier features: the exact mean of 2 000 rows; 10⁶ rows in 2-D beside neighbours."""
    data, model = made()
    (X, y), (Z, target) = data(2000), data(2000)
    exact = model(None).fit(X, y).predict(Z)
    for eps in (1e-3, 1e-4, "auto"):
        found = model(Fourier(eps)).fit(X, y)
        apart = (found.predict(Z) - exact) / y.std()
        rms, words = float(np.sqrt(np.mean(apart**2))), found.neighbours_.certificate["words"]
        told("fourier", eps=eps, rms=rms, largest=float(np.abs(apart).max()), words=words)
    (X, y), (Z, target) = data(1_000_000), data(100_000)
    for name, how in (("fourier", Fourier()), ("neighbours", Neighbours())):
        found, fit = clock(lambda how=how: model(how).fit(X, y))
        mean, predict = clock(lambda found=found: found.predict(Z))
        (mean, std), both = clock(lambda found=found: found.predict(Z, return_std=True, noisy=True))
        told("fourier", rows=len(X), way=name, fit=fit, predict=predict, with_std=both, **scores(target, mean, std))


def fourier_learnt(folder):
    """10⁶ rows in 2-D, hyper-parameters learnt: Fourier features beside neighbours."""
    data, _ = made()
    (X, y), (Z, target) = data(1_000_000), data(100_000)
    for name, how in (("fourier", Fourier()), ("neighbours", Neighbours())):
        model = GaussianProcessRegressor(1.0 * Matern32([1.0, 1.0]), approximation=how)
        _, fit = clock(lambda model=model: model.fit(X, y))
        (mean, std), both = clock(lambda model=model: model.predict(Z, return_std=True, noisy=True))
        told(
            "fourier_learnt", way=name, fit=fit, with_std=both, kernel=repr(model.kernel_), **scores(target, mean, std)
        )


def fourier_large(folder):
    """10⁷ rows in 2-D: time and peak memory."""
    data, model = made()
    (X, y), (Z, target) = data(10_000_000), data(100_000)
    found, fit = clock(lambda: model(Fourier()).fit(X, y))
    told("fourier_large", fit=fit, peak_gb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
    (mean, std), predict = clock(lambda: found.predict(Z, return_std=True, noisy=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    told("fourier_large", predict=predict, peak_gb=peak, **scores(target, mean, std))


def tiled(folder, name):
    """A table tiled with noise to as many rows as ROWS says, 100 000 unless told."""
    X, y, Z, target = uci(folder, name)
    rng, n = np.random.default_rng(0), int(os.environ.get("ROWS", "100000"))
    some = np.arange(n) % len(X)
    X, y = X[some] + 0.05 * rng.standard_normal((n, X.shape[1])), y[some] + 0.02 * rng.standard_normal(n)
    return X, y, Z, target, Matern32(0.7 * np.sqrt(X.shape[1])), {"protein": 0.1, "kin40k": 0.01}[name]


def full(name):
    """All rows after landmarks: the statistical stop beside a millionth of the error of predictions.

    Environment: EXACTLY runs that too (2: alone), SECONDS ends it, with the passes and the error it has then.
    """

    def row(folder):
        from mercer.primal import certificate

        X, y, Z, target, kernel, lam = tiled(folder, name)
        exactly, most = os.environ.get("EXACTLY"), os.environ.get("SECONDS")
        for part in {None: [certificate.CERTIFIED], "2": [1e-6]}.get(exactly, [certificate.CERTIFIED, 1e-6]):
            certificate.CERTIFIED = part
            until = float(most) if most and part == 1e-6 else None
            model = KernelRidge(kernel, lam, approximation=Landmarks(1000, solve=True), time_budget=until)
            _, fit = clock(lambda model=model: model.fit(X, y))
            rmse, said = float(np.sqrt(np.mean((model.predict(Z) - target) ** 2))), model.fit_report_["approximation"]
            told(f"full_{name}", stop=part, rmse=rmse, fit=fit, words=said["words"])

    return row


def budget(name):
    """The same within BUDGET seconds, beside landmarks alone within the same time."""

    def row(folder):
        X, y, Z, target, kernel, lam = tiled(folder, name)
        for solve in (True, False):
            how = Landmarks(1000 if solve else "auto", solve=solve)
            seconds = float(os.environ.get("BUDGET", "60"))
            model = KernelRidge(kernel, lam, approximation=how, time_budget=seconds)
            _, fit = clock(lambda model=model: model.fit(X, y))
            rmse, said = float(np.sqrt(np.mean((model.predict(Z) - target) ** 2))), model.fit_report_["approximation"]
            told(f"budget_{name}", budget=seconds, solve=solve, rmse=rmse, fit=fit, words=said["words"])

    return row


ROWS = {
    "fourier": fourier,
    "fourier_learnt": fourier_learnt,
    "fourier_large": fourier_large,
    "modis": modis,
    "modis_gpboost": modis_gpboost,
    "picture": picture,
    "million": million,
}
ROWS |= {f"{way.__name__}_{name}": way(name) for way in (full, budget) for name in ("protein", "kin40k")}
ROWS |= {name: table(name) for name in SIZES} | {f"vnngp_{name}": vnngp(name) for name in SIZES}

if __name__ == "__main__":
    for name in sys.argv[2:] or [name for name in ROWS if name != "picture"]:
        ROWS[name](sys.argv[1])
