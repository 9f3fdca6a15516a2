"""
What does a Gaussian process believe before it sees data, and after?
====================================================================

A kernel is a belief about functions. Samples from the prior show it: the Gaussian kernel draws smooth curves, the
exponential one draws rough paths. A few noisy values turn the prior into a posterior: the paths that are left pass near
the data, and the band of two standard deviations is narrow there and wide elsewhere.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessRegressor
from mercer.kernels import Exponential, Gaussian
from mercer.plots import EvidenceSurfaceDisplay, PosteriorDisplay

rng = np.random.default_rng(4)
X = np.sort(rng.uniform(0, 6, 14))[:, None]
X = X[(X[:, 0] < 3) | (X[:, 0] > 4.4)]  # a gap, so that there is something not to know
y = np.sin(1.5 * X[:, 0]) + 0.2 * rng.standard_normal(len(X))

figure, axes = plt.subplots(2, 3, figsize=(16, 9), layout="constrained")
for row, kernel in zip(axes, (1.0 * Gaussian(0.8), 1.0 * Exponential(1.5)), strict=True):
    # 1. The prior: mean 0, the same standard deviation everywhere. No data, no fit.
    model = GaussianProcessRegressor(kernel, noise=0.04, trend=None)
    PosteriorDisplay.from_estimator(model, X, n_samples=4, noisy=False, ax=row[0])
    row[0].set_title(f"Prior of {kernel!r}", loc="left", fontsize=11)

    # 2. The posterior: length scale, amplitude and noise are learnt from these few points by the evidence.
    model.fit(X, y)
    PosteriorDisplay.from_estimator(model, X, n_samples=4, ax=row[1])
    errors = ", ".join(f"{name.split('__')[-1]} ×÷ {np.exp(std):.1f}" for name, std in model.hyper_std_.items())
    print(f"{model.kernel_!r}, noise {model.noise_:.3f}: log p(y) = {model.log_marginal_likelihood_value_:.2f}")
    print(f"  one standard error: {errors}\n")

    # 3. How surely: contours of the evidence. Few points leave a wide valley, so the ellipse is wide.
    EvidenceSurfaceDisplay.from_estimator(model, ax=row[2])
    for ax in row[:2]:
        ax.get_legend().set_frame_on(True)  # samples run through it

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
