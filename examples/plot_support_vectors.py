"""
Which rows does a support vector machine keep?
==============================================

Kernel ridge regression and support vector regression differ in the loss alone, and that makes α sparse. The data are
the lecture's: the distance (ft) a car takes to stop, against its speed (mph), with the sum of a squared exponential
and a polynomial kernel, λ = 0.01 and ε = 15. The lecture's λ belongs to the mean loss: λ of the sum is 50 times that.
Its figure has five support vectors; it does not say for which ℓ and degree, nor for which cars. The 50 cars here
scatter more than 15 ft around any smooth curve, and every row on or outside the tube is a support vector. Below, ε and
λ are varied to see how the number of support vectors follows.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR, KernelRidge, svr_path
from mercer.datasets import load_cars
from mercer.kernels import Gaussian, Polynomial
from mercer.plots import SupportVectorDisplay

X, y = load_cars(return_X_y=True)
N = len(y)
kernel = Gaussian(5.0) + Polynomial(degree=2)
lam, epsilon = 0.01 * N, 15.0

ridge = KernelRidge(kernel, lam=lam, trend=None).fit(X, y)
svr = SVR(kernel, lam=lam, epsilon=epsilon, trend=None).fit(X, y)
print(f"KRR predicts from {len(ridge.points_)} points, SVR from {len(svr.points_)} support vectors.")
print(f"The lecture's box 1/(2Nλ′) is C = {svr.regularization_['C']:g}; duality gap {svr.dual_gap_:.1e}.")

figure, axes = plt.subplots(2, 2, figsize=(11, 8.4), layout="constrained")
names = {"x_name": "speed (mph)", "y_name": "stopping distance (ft)"}

# KRR: every row has a share in the prediction.
grid = np.linspace(X.min() - 1, X.max() + 1, 300)[:, None]
ax = axes[0, 0]
ax.plot(grid, ridge.predict(grid), color="#0072b2", linewidth=2.2, label="prediction")
ax.scatter(X[:, 0], y, s=24, color="#222222", edgecolor="white", linewidth=0.4, label=f"all {N} rows count")
ax.set(xlabel=names["x_name"], ylabel=names["y_name"])
ax.set_title("Kernel ridge regression", loc="left", fontsize=11)
ax.legend(frameon=False, fontsize=9)
SupportVectorDisplay.from_estimator(svr, X, y, ax=axes[0, 1], **names)
axes[0, 1].sharey(axes[0, 0])

# A wider tube needs fewer rows; λ matters too. One kernel matrix serves all fits of a curve.
epsilons = np.linspace(1, 45, 23)
for scale, style in ((0.1, ":"), (1.0, "-"), (10.0, "--")):
    path = svr_path(kernel, X, y, [1 / (2 * scale * lam)], epsilons, intercept=False)
    label = f"λ = {0.01 * scale:g}"
    axes[1, 0].plot(path.epsilons, path.support[0], style, color="#0072b2", drawstyle="steps-mid", label=label)
axes[1, 0].set(xlabel="ε (ft)", ylabel="support vectors")
axes[1, 0].axvline(epsilon, color="#6b6b6b", linewidth=0.8)
axes[1, 0].set_title("A wider tube needs fewer rows", loc="left", fontsize=11)

lams = np.logspace(-5, 2, 22)
for eps, style in ((5.0, ":"), (15.0, "-"), (30.0, "--")):
    path = svr_path(kernel, X, y, 1 / (2 * N * lams), [eps], intercept=False)
    axes[1, 1].semilogx(1 / (2 * N * path.Cs), path.support[:, 0], style, color="#d55e00", drawstyle="steps-mid",
                        label=f"ε = {eps:g} ft")  # fmt: skip
axes[1, 1].set(xlabel="λ (of the mean loss)", ylabel="support vectors")
axes[1, 1].axvline(0.01, color="#6b6b6b", linewidth=0.8)
axes[1, 1].set_title("λ changes their number little, while f can bend as it must", loc="left", fontsize=11)
for ax in axes.flat:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="#d9d9d9", linewidth=0.5)
    ax.set_axisbelow(True)
for ax in axes[1]:
    ax.legend(frameon=False, fontsize=9)
    ax.set_ylim(0, N + 1)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
