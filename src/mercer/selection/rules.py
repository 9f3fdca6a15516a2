"""Rules that read the path itself, not a criterion: the corner of the L-curve, and the discrepancy principle."""

import numpy as np
from scipy.optimize import minimize_scalar

from mercer.selection.base import OK, Rule, with_rows
from mercer.selection.noise import noise_level


def prune(x, y):
    """Index of the corner of the curve (log residual x, log norm y), ordered by growing λ; None if there is none."""
    good = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if good.size < 4:
        return None
    order = good[::-1]  # from large λ (right, low) to small λ (left, high)
    P = np.column_stack([x[order], y[order]])
    steps = np.diff(P, axis=0)
    lengths = np.hypot(*steps.T)
    longest = np.argsort(-lengths, kind="stable")
    candidates = set()
    p = min(5, len(steps))
    while True:
        kept = np.sort(longest[:p])
        kept = kept[lengths[kept] > 0]
        candidates.update(_by_angle(steps, lengths, kept), _by_shape(P, steps, lengths, kept))
        if p >= len(steps):
            break
        p = min(2 * p, len(steps))
    candidates = sorted(candidates)
    if not candidates:
        return None
    return int(order[_select(P, candidates)])


def _by_angle(steps, lengths, kept):
    """The point between two kept segments where the curve turns right most sharply."""
    if len(kept) < 2:
        return []
    U = steps[kept] / lengths[kept, None]
    turn = U[:-1, 0] * U[1:, 1] - U[1:, 0] * U[:-1, 1]  # sine of the angle; right turns are negative
    i = int(np.argmin(turn))
    return [int(kept[i]) + 1] if turn[i] < -0.1 else []


def _by_shape(P, steps, lengths, kept):
    """The point nearest to where the most horizontal and the most vertical segment meet."""
    if len(kept) < 2:
        return []
    U = np.abs(steps[kept] / lengths[kept, None])
    flat, steep = int(np.argmin(U[:, 1])), int(np.argmin(U[:, 0]))
    if flat >= steep:
        return []
    origin = np.array([P[kept[steep], 0], P[kept[flat] + 1, 1]])
    points = np.unique(np.r_[kept, kept + 1])
    return [int(points[np.argmin(np.hypot(*(P[points] - origin).T))])]


def _select(P, candidates):
    """The last candidate before the norm grows more than the residual falls."""
    candidates = [0, *candidates]
    moves = np.diff(P[candidates], axis=0)
    growing = np.flatnonzero(np.abs(moves[:, 1]) >= np.abs(moves[:, 0]))
    first = int(growing[0]) if growing.size else len(candidates) - 1
    return candidates[max(first, 1)]


class LCurve(Rule):
    """argmax κ(λ): the corner of log ‖f‖² against log ‖y − f‖², by its curvature in closed form.

    With ρ = ‖λα‖², η = αᵀKα and η′ = dη/dλ,
    κ = (ρη)² (1 + λη′/η + λ²η′/ρ) / (|η′| (λ²η² + ρ²)^{3/2}).
    The largest positive local maximum on the grid is refined by Brent's method. The ends of the grid are no corners.
    Where no curvature is positive, or two corners are within 20 %, the points of the curve are pruned to its
    coarse shape, whose corner is taken, and the status says so.

    Known failures: very smooth solutions, and many rows (it over-smooths as n grows).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import LCurve, path
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> y = np.sin(6 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(50)
    >>> 1e-4 < LCurve().choose(path(Gaussian(0.3), X, y)).lam < 10.0
    True
    """

    word = "lcurve"

    scale_free = True

    def curvature(self, path, lams=None):
        """κ at each λ (of the grid); nan where the curve is a point."""
        lam = np.atleast_1d(path.lams if lams is None else np.asarray(lams, dtype=float))
        e = path.eigenvalues[:, None]
        c2 = np.sum(path.coefficients**2, axis=1)[:, None]
        inverse = 1.0 / (e + lam)
        rho = ((lam * inverse) ** 2 * c2).sum(axis=0) + path.outside
        eta = (e * inverse**2 * c2).sum(axis=0)
        slope = -2.0 * (e * inverse**3 * c2).sum(axis=0)
        with np.errstate(all="ignore"):
            bend = 1.0 + lam * slope / eta + lam**2 * slope / rho
            # ρ and η are divided out of the powers, which would underflow for small y.
            kappa = bend * (eta / -slope) / lam * (rho / (lam * eta)) ** 2 / (1.0 + (rho / (lam * eta)) ** 2) ** 1.5
        return kappa

    def choose(self, path):
        """Return the corner."""
        if path.constant:
            return self._choice(path.lams[-1], "constant", "y is constant (up to the trend): the L-curve is a point; "
                                f"the largest lam of the grid, {path.lams[-1]:.3g}, is taken.")  # fmt: skip
        kappa = self.curvature(path)
        kappa = np.where(np.isfinite(kappa), kappa, -np.inf)
        inner = np.arange(1, len(kappa) - 1)
        peaks = inner[(kappa[inner] > 0) & (kappa[inner] >= kappa[inner - 1]) & (kappa[inner] > kappa[inner + 1])]
        peaks = peaks[np.argsort(-kappa[peaks])]
        if not peaks.size:
            return self._pruned(path, "no_corner", "no point of the L-curve inside the grid has a positive curvature "
                                "that is a local maximum")  # fmt: skip
        if peaks.size > 1 and kappa[peaks[1]] > 0.8 * kappa[peaks[0]]:
            first, second = (f"{path.lams[i]:.3g} (curvature {kappa[i]:.3g})" for i in peaks[:2])
            return self._pruned(path, "ambiguous", f"the L-curve has corners at lam = {first} and {second}")
        i = int(peaks[0])
        found = minimize_scalar(
            lambda z: -self.curvature(path, np.exp(z))[0],
            bounds=np.log([path.lams[i - 1], path.lams[i + 1]]),
            method="bounded",
            options={"xatol": 1e-5},
        )
        if -found.fun > kappa[i]:
            return self._choice(np.exp(found.x), OK, "", -found.fun)
        return self._choice(path.lams[i], OK, "", kappa[i])

    def _pruned(self, path, status, why):
        """The corner of the pruned curve; the middle of the grid in log λ where that has none either."""
        i = prune(2.0 * np.log(np.maximum(path.table["residual"], np.finfo(float).tiny)),
                  2.0 * np.log(np.maximum(path.table["norm"], np.finfo(float).tiny)))  # fmt: skip
        what = "the corner of the pruned curve"
        if i is None:
            i, what = len(path.lams) // 2, "the middle of the grid, for want of any corner"
        message = f"{why}; {what}, lam = {path.lams[i]:.3g}, is taken. Look at the curve, or use LOO, GCV or Evidence."
        return self._choice(path.lams[i], status, message, float(self.curvature(path, path.lams[i])[0]))


class Discrepancy(Rule):
    """λ with ‖√w(y − f)‖² = τ² n δ²: Morozov's discrepancy principle, the residual as large as the noise.

    In β = 1/λ the residual ψ(β) = ‖(I + βK)⁻¹y‖² falls and is convex; Newton's method on ψ^(−1/2) goes up to the root
    from β = 0 without a line search.

    Parameters
    ----------
    noise : float, default=None
        δ, the standard deviation of the noise in y. None estimates it from rows with equal X (if they give 30
        degrees of freedom), else from nearest neighbours; a plain matrix A has neither.
    tau : float, default=1.0
        Safety factor τ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import Discrepancy, path
    >>> found = Discrepancy(noise=0.5).choose(path(np.eye(4), np.array([1.0, 1.0, 1.0, 1.0])))
    >>> round(found.lam, 6)  # residual λ/(1 + λ) of each entry
    1.0
    """

    word = "discrepancy"

    def __init__(self, noise=None, tau=1.0):
        self.noise = noise
        self.tau = tau

    def choose(self, path):
        """Return the root."""
        delta, how = self._noise(path)
        count = path.y.size
        goal = (self.tau * delta) ** 2 * count
        e, c2 = path.eigenvalues, np.sum(path.coefficients**2, axis=1)
        inside = e > 0
        floor = float(c2[~inside].sum()) + path.outside
        whole = float(c2.sum()) + path.outside
        level = f"tau * noise = {self.tau * delta:.3g} ({how})"
        if path.constant or whole <= goal:
            size = np.sqrt(whole / count)
            return self._choice(np.inf, "no_root", f"{level} is not below the root mean square of y beside the trend, "
                                f"{size:.3g}: all of y may be noise. lam = inf, the constant model, is taken; check "
                                "the noise level.", np.sqrt(whole))  # fmt: skip
        if goal <= floor:
            low = path.lams[0]
            return self._choice(low, "unreachable", f"{level} is below what no function of this kernel can fit, "
                                f"{np.sqrt(floor / count):.3g}; the smallest lam of the grid, {low:.3g}, is taken. "
                                "Check the noise level and the kernel.", path.table["residual"][0])  # fmt: skip
        beta = _newton(e[inside], c2[inside], floor, goal)
        lam = 1.0 / beta if beta > 0 else np.inf
        if not np.isfinite(beta) or lam < np.finfo(float).eps * e.max():
            low = path.lams[0]
            return self._choice(low, "unreachable", f"{level} asks for lam = {lam:.1e}, which is rounding beside "
                                f"the largest eigenvalue {e.max():.3g}; the smallest lam of the grid, {low:.3g}, is "
                                "taken.", path.table["residual"][0])  # fmt: skip
        return self._choice(lam, OK, "", np.sqrt(goal))

    def in_unit(self, unit):
        return self if self.noise is None or unit == 1.0 else with_rows(self, noise=self.noise / unit)

    def _noise(self, path):
        """(δ, where it is from)."""
        if self.noise is not None:
            if not (np.isfinite(self.noise) and self.noise >= 0):
                raise ValueError(f"noise must be finite and >= 0, got {self.noise}.")
            return float(self.noise), "given"
        if path.kernel is None:
            raise ValueError("Discrepancy needs a noise level for a plain matrix: give Discrepancy(noise=...).")
        delta, how = noise_level(path.kernel, path.X, path.y, path.weight)
        return delta, f"from {how}"


def _newton(e, c2, floor, goal):
    """β with Σ c²/(1 + βe)² + floor = goal: Newton on ψ^(−1/2) from 0."""
    beta = 0.0
    for _ in range(100):
        inverse = 1.0 / (1.0 + beta * e)
        psi = float((c2 * inverse**2).sum()) + floor
        slope = -2.0 * float((e * c2 * inverse**3).sum())
        # step of h(β) = ψ^(−1/2) − goal^(−1/2):  h/h′ = −2ψ(1 − √(ψ/goal))/ψ′
        step = 2.0 * psi * (1.0 - np.sqrt(psi / goal)) / slope
        new = max(beta + step, 0.0) if np.isfinite(step) else np.inf
        if not np.isfinite(new) or abs(new - beta) <= 1e-13 * new:
            return new
        beta = new
    return beta
