"""
Is a Gaussian process a linear model?
=====================================

Bayesian linear regression on a basis φ, with weights w ~ N(0, s²I), has a posterior over w: a point with a covariance,
of the size of the basis. The Gaussian process with the kernel k(x, z) = s² φ(x)ᵀφ(z) has a posterior over f, from a
matrix of the size of the data. They are the same function, with the same error bars. Only the cost differs: M³ for M
features, n³ for n rows. With infinitely many features only the second is left.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessRegressor
from mercer.kernels import GaussianBasis

rng = np.random.default_rng(1)
X = rng.uniform(-1, 1, (25, 1))
y = np.sin(4 * X[:, 0]) + 0.2 * rng.standard_normal(25)
grid = np.linspace(-1.6, 1.6, 300)[:, None]
basis = GaussianBasis(np.linspace(-1, 1, 8), width=0.3, width_bounds="fixed")
noise, s2 = 0.04, 1.0

# Weight space: A = ΦᵀΦ/σ² + I/s²,  w | y ~ N(A⁻¹Φᵀy/σ², A⁻¹),  f(x) = φ(x)ᵀw.
Phi, phi = basis.features(X), basis.features(grid)
A = Phi.T @ Phi / noise + np.eye(8) / s2
w, cov = np.linalg.solve(A, Phi.T @ y / noise), np.linalg.inv(A)
mean, std = phi @ w, np.sqrt(np.einsum("ij,jk,ik->i", phi, cov, phi))

# Function space: the same numbers from k(x, z) = s² φ(x)ᵀφ(z).
model = GaussianProcessRegressor(s2 * basis, noise, criterion=None, trend=None).fit(X, y)
found = model.posterior(grid)
print(f"largest difference: mean {np.abs(found.mean - mean).max():.1e}, std {np.abs(found.latent_std - std).max():.1e}")

figure, axes = plt.subplots(1, 3, figsize=(17, 5), layout="constrained")
axes[0].plot(grid[:, 0], phi * w, color="0.7", linewidth=1)
axes[0].plot(grid[:, 0], mean, color="#0072b2", linewidth=2, label="φ(x)ᵀw")
axes[0].set_title("Weight space: eight bumps with weights w", loc="left", fontsize=11)
draws = phi @ (w[:, None] + np.linalg.cholesky(cov) @ rng.standard_normal((8, 5)))
names = ("Functions of weights drawn from N(w, A⁻¹)", "Functions drawn from the Gaussian process")
for ax, name, paths in zip(axes[1:], names, (draws, model.sample(grid, 5, random_state=0)), strict=True):
    ax.fill_between(
        grid[:, 0], mean - 2 * std, mean + 2 * std, color="#56b4e9", alpha=0.5, linewidth=0, label="±2σ of f"
    )
    ax.plot(grid[:, 0], paths, linewidth=1)
    ax.set_title(name, loc="left", fontsize=11)
for ax in axes:
    ax.scatter(X[:, 0], y, s=14, color="#222222", zorder=3, label=f"data, n = {len(y)}")
    ax.set(xlabel="x", ylabel="y", ylim=(-2.6, 2.6))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="upper left")

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
