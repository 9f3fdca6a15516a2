"""
Which λ does each rule choose?
==============================

Kernel ridge regression needs one number, λ. Leave-one-out, generalised cross-validation, the marginal likelihood, the
corner of the L-curve and the discrepancy principle each have an opinion. They are asked here about the same data,
head acceleration in a motorcycle crash, and all of them read their answer off one eigen-decomposition.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge
from mercer.datasets import load_mcycle
from mercer.kernels import Gaussian
from mercer.plots import LCurveDisplay, PicardDisplay, SelectionDisplay
from mercer.selection import GCV, LOO, Discrepancy, Evidence, LCurve, compare

X, y = load_mcycle(return_X_y=True)
kernel = Gaussian(5.0)  # ms: about as fast as the acceleration changes
rules = {
    "leave-one-out": LOO(),
    "generalised cross-validation": GCV(),
    "marginal likelihood": Evidence(profile_scale=True),
    "corner of the L-curve": LCurve(),
    "discrepancy principle": Discrepancy(),
}

# One decomposition of K, five opinions. The table shows λ, and how many parameters' worth of freedom it leaves.
found = compare(kernel, X, y, rules=list(rules.values()))
print(found)

figure, axes = plt.subplots(2, 2, figsize=(13, 9), layout="constrained")

# 1. All criteria on one axis. Valleys are wide: a factor of two in λ matters little, a factor of a hundred a lot.
SelectionDisplay.from_comparison(found, ax=axes[0, 0])

# 2. The L-curve: left of the corner the norm explodes, and the residual hardly falls.
LCurveDisplay.from_path(found.path, ax=axes[0, 1])

# 3. The Picard plot: about ten directions of K hold signal; every rule cuts near the place where only noise is left.
PicardDisplay.from_path(found.path, lam=found[LOO()], ax=axes[1, 0])

# 4. What it means for the fit. Rules that agree draw one curve; a λ too large cuts off the peaks.
ax, grid = axes[1, 1], np.linspace(X.min(), X.max(), 300)[:, None]
ax.scatter(X[:, 0], y, s=12, color="0.6", label="133 measurements")
shown = ("leave-one-out", "marginal likelihood", "discrepancy principle")
for name, color, dashes in zip(shown, ("#0072b2", "#009e73", "#d55e00"), ("-", "--", ":"), strict=True):
    lam = found[rules[name]]
    model = KernelRidge(kernel, lam=lam).fit(X, y)
    ax.plot(grid[:, 0], model.predict(grid), color=color, linestyle=dashes, linewidth=2, label=f"{name}, λ = {lam:.2g}")
ax.set(xlabel="time (ms)", ylabel="head acceleration (g)")
ax.set_title("What it means for the fit", loc="left", fontsize=11)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, fontsize=9, loc="lower right")

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()
