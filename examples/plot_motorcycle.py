"""
What if the noise is not the same everywhere?
=============================================

Before the crash the helmet hardly moves, and its acceleration is known well; during the crash the measurements scatter.
One noise variance is too large at first and too small later. Here the noise is a function of time too: the squared
residuals of a first fit, in logs, are smoothed by a second Gaussian process, and their exponential is given to a third
fit as a variance for each row (its common factor is learnt).
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessRegressor
from mercer.datasets import load_mcycle
from mercer.kernels import Gaussian, Matern52

X, y = load_mcycle(return_X_y=True)
grid = np.linspace(X.min(), X.max(), 300)[:, None]

one = GaussianProcessRegressor(1.0 * Gaussian(5.0)).fit(X, y)

# E log χ² of one degree of freedom is −1.27: without it the smoothed logs would be too small.
logs = np.log(np.maximum(one.loo_residuals_**2, 1e-2)) + 1.27
noise = GaussianProcessRegressor(1.0 * Matern52(20.0), noise=5.0).fit(X, logs)
each = GaussianProcessRegressor(1.0 * Gaussian(5.0), noise=np.exp(noise.predict(X))).fit(X, y)
factor = each.noise_[0] / np.exp(noise.predict(X[:1]))[0]

figure, axes = plt.subplots(1, 3, figsize=(17, 5), layout="constrained")
variances = {
    "one noise variance": (one, one.noise_),
    "a noise variance for each row": (each, factor * np.exp(noise.predict(grid))),
}
for ax, (name, (model, variance)) in zip(axes, variances.items(), strict=False):
    mean, std = model.predict(grid, return_std=True, noisy=np.broadcast_to(variance, 300))
    latent = model.posterior(grid).latent_std
    ax.fill_between(
        grid[:, 0], mean - 2 * std, mean + 2 * std, color="#56b4e9", alpha=0.3, linewidth=0, label="±2σ of y"
    )
    ax.fill_between(
        grid[:, 0], mean - 2 * latent, mean + 2 * latent, color="#56b4e9", alpha=0.6, linewidth=0, label="±2σ of f"
    )
    ax.plot(grid[:, 0], mean, color="#0072b2", linewidth=2, label="mean")
    ax.scatter(X[:, 0], y, s=10, color="#222222", zorder=3, label=f"data, n = {len(y)}")
    ax.set_title(name, loc="left", fontsize=11)
    ax.set(xlabel="time (ms)", ylabel="head acceleration (g)", ylim=(-200, 130))
    ax.legend(frameon=False, fontsize=9, loc="lower right")
    z = model.loo_residuals_ / model.loo_std_
    early = X[:, 0] < 14
    print(
        f"{name}: log p(y) = {model.log_marginal_likelihood_value_:.1f}; mean log density of a row left out "
        f"{np.mean(-0.5 * z**2 - np.log(model.loo_std_) - 0.919):.2f}; "
        f"z² before 14 ms {np.mean(z[early] ** 2):.2f}, later {np.mean(z[~early] ** 2):.2f} (1 is right)"
    )

axes[2].scatter(X[:, 0], np.abs(one.loo_residuals_), s=10, color="#222222", label="|residual|, left out")
axes[2].plot(
    grid[:, 0], np.sqrt(variances["a noise variance for each row"][1]), color="#d55e00", linewidth=2, label="σ(x)"
)
axes[2].axhline(np.sqrt(one.noise_), color="#0072b2", linestyle="--", label="one σ")
axes[2].set(xlabel="time (ms)", ylabel="acceleration (g)", yscale="log", ylim=(0.1, 200))
axes[2].set_title("The noise, as a function of time", loc="left", fontsize=11)
axes[2].legend(frameon=False, fontsize=9, loc="lower right")
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
