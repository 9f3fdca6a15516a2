"""What a search looks through: the hyper-parameters of a kernel and λ, where they start, and their bounds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels.algebra import amplitudes
from mercer.selection.search.starts import lam_unit, mean_diagonal, variance_of


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """(θ, λ): the kernel and λ that a search starts from, which of them are free, their bounds and their prior.

    Parameters
    ----------
    kernel : Kernel, or list of Kernel
        Of a list the best one is looked for, each with its own hyper-parameters.
    lam : float, default=None
        Where λ starts; None is 1 % of the variance.
    bounds : pair of float, default=None
        Of λ; None is relative to the mean of k(x, x).
    optimize : {"all", "lam", "kernel", "none"}, default="all"
        What is free: the hyper-parameters of the kernel, λ, both, or neither.
    prior : callable, default=None
        (names, log values) ↦ (−log density, its gradient); λ is called "lam" in ``names``.
    lam_name : str, default="lam"
        What messages call λ.
    """

    kernel: Any
    lam: float | None = None
    bounds: tuple | None = None
    optimize: str = "all"
    prior: Callable | None = None
    lam_name: str = "lam"

    def check(self):
        """Return self, or refuse what cannot be searched."""
        if self.optimize not in ("all", "lam", "kernel", "none"):
            raise ValueError(f"optimize must be 'all' or 'lam', got {self.optimize!r}.")
        if self.lam is not None and not (np.isfinite(self.lam) and self.lam >= 0):
            raise ValueError(f"lam must be positive and finite, got {self.lam}.")
        if self.bounds is not None and not 0 < float(self.bounds[0]) < float(self.bounds[1]) < np.inf:
            low, high = map(float, self.bounds)
            raise ValueError(f"bounds of lam must satisfy 0 < low < high < inf, got ({low}, {high}).")
        if not self.free_lam and not self.lam:
            raise ValueError(f"fixed_lam needs {self.lam_name} > 0, got {self.lam}.")
        return self

    @property
    def free_kernel(self):
        """Whether the hyper-parameters of the kernel are searched."""
        return self.optimize in ("all", "kernel")

    @property
    def free_lam(self):
        """Whether λ is searched."""
        return self.optimize in ("all", "lam")

    def box(self, rows, criterion):
        """Bounds of z = (log θ, log λ), of shape (p + 1, 2); a fixed λ has two equal ones.

        Amplitudes that are free and have no bounds of their own are bounded relative to the variance of y, so that y
        may have any unit; λ relative to the mean of k(x, x), of an error that only ratios matter to times the weights.
        """
        theta = self.kernel.theta_bounds
        scaled = None if criterion.scale_free else amplitudes(self.kernel)
        if scaled is not None:
            theta[scaled] += np.log(variance_of(rows))
        if not self.free_lam:
            return np.vstack([theta, np.log([self.lam, self.lam])])
        unit = lam_unit(self.kernel, rows) if criterion.scale_free else mean_diagonal(self.kernel, rows.X)
        return np.vstack([theta, np.log(self.bounds or (1e-9 * unit, 1e5 * unit))])

    def start_in_box(self, rows, criterion):
        """(z of the start, the box with what is not free held there)."""
        box = self.box(rows, criterion)
        z = np.clip(np.append(self.kernel.theta, np.log(self.lam)), *box.T)
        free = np.append(np.full(self.kernel.n_theta, self.free_kernel), self.free_lam)
        return z, np.where(free[:, None], box, z[:, None])
