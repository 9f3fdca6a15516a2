"""
What does a category add to numbers, and what is said of one that was never seen?
=================================================================================

A made-up study: how patients respond to a drug depends on the dose, on their grade (an ordered scale), on the day of
the year, and on the site in a way of its own. Each part of the kernel reads its columns by name, from a data frame
(pandas, polars) or a dict of columns.
"""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer import GaussianProcessRegressor
from mercer.kernels import Categorical, Gaussian, Ordinal, Periodic

rng = np.random.default_rng(0)
levels, sites, n = ["mild", "moderate", "severe", "critical"], ["Bern", "Turin", "Ulm"], 150
grade, site = rng.integers(0, 4, n), rng.integers(0, 3, n)
study = {
    "dose": rng.uniform(0.0, 10.0, n),
    "day": rng.uniform(0.0, 365.0, n),
    "grade": [levels[i] for i in grade],
    "site": [sites[i] for i in site],
}
shape = np.array([1.0, 1.6, 0.4])[site] * np.sin(study["dose"] / 2.0)
season, burden = 0.4 * np.cos(2 * np.pi * study["day"] / 365.25), np.array([0.0, -0.2, -1.0, -1.2])[grade]
y = shape + season + burden + 0.15 * rng.standard_normal(n)

# 1. The same model with and without the parts that read categories, by the evidence.
numbers = 1.0 * Gaussian(3.0).on("dose") + 0.2 * Periodic(1.0, 365.25, period_bounds="fixed").on("day")
by_site = 1.0 * Gaussian(3.0).on("dose") * Categorical().on("site")
steps = 0.5 * Ordinal(levels, [1.0, 1.0, 1.0]).on("grade")
kernels = {
    "numbers": numbers,
    "numbers and grade": numbers + steps,
    "numbers, grade and site": numbers + steps + by_site,
}
print("log evidence")
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # a length scale at its bound: the column acts linearly, or not
    models = {name: GaussianProcessRegressor(kernel).fit(study, y) for name, kernel in kernels.items()}
for name, model in models.items():
    print(f"{model.log_marginal_likelihood_value_:12.1f}  {name}")
model = models["numbers, grade and site"]
print(f"\n{model.kernel_!r}")

# 2. The response at each site, and at one that is in no row: what the sites have in common, with a wider band.
figure, axes = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
dose = np.linspace(0.0, 10.0, 200)
for colour, name in zip(("#0072b2", "#d55e00", "#009e73", "0.5"), [*sites, "Oslo"], strict=True):
    new = {"dose": dose, "day": np.full(200, 91.3), "grade": ["mild"] * 200, "site": [name] * 200}
    mean, std = model.predict(new, return_std=True)
    axes[0].plot(dose, mean, color=colour, label=name if name in sites else f"{name}: not in the table")
    axes[0].fill_between(dose, mean - 2 * std, mean + 2 * std, color=colour, alpha=0.15, linewidth=0)
axes[0].set(xlabel="dose", ylabel="response")
axes[0].set_title("A response for each site, and for a new one", loc="left", fontsize=11)
axes[0].legend(frameon=False, fontsize=9)

# 3. How alike the levels are: a length scale for each step finds the one that matters, moderate to severe.
alike = model.kernel_.left.right.kernel.kernel(levels)
axes[1].imshow(alike, vmin=0.0, vmax=1.0, cmap="Blues")
for i in range(4):
    for j in range(4):
        axes[1].text(j, i, f"{alike[i, j]:.2f}", ha="center", va="center", color="w" if alike[i, j] > 0.6 else "k")
axes[1].set_xticks(range(4), levels)
axes[1].set_yticks(range(4), levels)
axes[1].set_title("k of two grades: the steps are learnt", loc="left", fontsize=11)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
