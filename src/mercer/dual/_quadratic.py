"""The quadratic programme of every boxed loss: ½αᵀKα + Σᵢ hᵢ(αᵢ), its slopes, its gap, its intercept.

hᵢ(a) = −yᵢa + εᵢ|a| + ½rᵢa² on [lᵢ, uᵢ] with lᵢ <= 0 <= uᵢ. With g = Kα + rα − y the slope is g + up when αᵢ grows and
g + down when it falls: two numbers because of the kink at 0, and infinite where a bound forbids the move.
"""

import numpy as np

ROUNDED = 1e-12  # of the width of a box or the largest α: nearer to an end is at it; of Σ|α|: a Σα that is 0


class QuadraticProgramme:
    """target, ε, r, l, u and the diagonal of K, as float64 vectors; with or without Σα = 0."""

    NAMES = ("target", "epsilon", "ridge", "lower", "upper", "diag")

    def __init__(self, target, epsilon, ridge, lower, upper, diag, intercept):
        self.target, self.epsilon, self.ridge = target, epsilon, ridge
        self.lower, self.upper, self.diag, self.intercept = lower, upper, diag, intercept

    @classmethod
    def check(cls, dual, diag, intercept):
        """The programme of ``Dual(target, epsilon, ridge, lower, upper)``, refused where it has no solution."""
        n = len(diag)
        vectors = [np.ascontiguousarray(getattr(dual, name), dtype=float) for name in cls.NAMES[:5]]
        for name, vector in zip(cls.NAMES, vectors, strict=False):
            if vector.shape != (n,):
                raise ValueError(f"dual.{name} has shape {vector.shape}, but K has {n} rows.")
        target, epsilon, ridge, lower, upper = vectors
        if not np.isfinite(target.sum() + epsilon.sum() + ridge.sum()) and not np.isfinite(vectors[:3]).all():
            raise ValueError("dual.target, dual.epsilon and dual.ridge must be finite.")
        if (epsilon < 0).any() or (ridge < 0).any():
            raise ValueError("dual.epsilon and dual.ridge must not be negative: the programme would not be convex.")
        if not ((lower <= 0).all() and (upper >= 0).all()):  # NaN fails too
            raise ValueError("dual.lower <= 0 <= dual.upper must hold for every row.")
        return cls(*vectors, np.ascontiguousarray(diag, dtype=float), intercept)

    def take(self, index):
        """The programme of some rows."""
        return QuadraticProgramme(*(getattr(self, name)[index] for name in self.NAMES), self.intercept)

    def replace(self, **changed):
        """The same programme with other vectors."""
        parts = {name: changed.get(name, getattr(self, name)) for name in self.NAMES}
        return QuadraticProgramme(**parts, intercept=self.intercept)

    def with_epsilon(self, epsilon):
        """The same programme with another ε, the same for all rows."""
        return self.replace(epsilon=np.full(len(self.target), float(epsilon)))

    def with_finite_bounds(self, far=1e13, near=1e8):
        """(programme, bound): bounds that float64 cannot tell from none are lowered to ``bound``; None: none was.

        α of a thousand times |y|/k is common; of 10¹³ times it is a K without the rank that y asks for, and rounding is
        larger than any f.
        """
        largest, mean = float(np.abs(self.target).max(initial=0.0)), float(self.diag.mean())
        unit = largest / mean if mean > 1e-200 * largest else 1e200  # K is 0, or nearly
        beyond = (np.maximum(self.upper, -self.lower) > far * unit) & (self.ridge == 0)
        if not beyond.any() or unit == 0.0:
            return self, None
        bound = near * unit
        lower = np.where(beyond, np.maximum(self.lower, -bound), self.lower)
        return self.replace(lower=lower, upper=np.where(beyond, np.minimum(self.upper, bound), self.upper)), bound

    # ------------------------------------------------------------------ slopes and optimality
    def slopes(self, a, g):
        """(slope when α grows, slope when it falls); ∞ and −∞ where it may not."""
        grows = g + np.where(a >= 0, self.epsilon, -self.epsilon)
        falls = g + np.where(a > 0, self.epsilon, -self.epsilon)
        grows[a >= self.upper] = np.inf
        falls[a <= self.lower] = -np.inf
        return grows, falls

    def violation(self, grows, falls):
        """Libsvm's maximal KKT violation: max falls − min grows with an intercept, the largest wrong slope without."""
        lowest, highest = float(np.minimum.reduce(grows)), float(np.maximum.reduce(falls))
        return max(highest - lowest if self.intercept else max(-lowest, highest), 0.0)

    def free(self, a):
        """Rows strictly between the bounds, and off the kink where there is one."""
        return np.flatnonzero((a > self.lower) & (a < self.upper) & ((a != 0) | (self.epsilon == 0)))

    def bias(self, a, g):
        """b: the slopes of the free rows are −b; their mean, or without free rows the middle of what is allowed."""
        if not self.intercept:
            return 0.0
        near = ROUNDED * np.minimum(self.upper - self.lower, np.abs(a).max(initial=0.0))
        a = np.where(a - self.lower <= near, self.lower, np.where(self.upper - a <= near, self.upper, a))
        free = self.free(a)  # none by rounding alone
        if free.size:
            return -float(np.mean(g[free] + self.epsilon[free] * np.sign(a[free])))
        grows, falls = self.slopes(a, g)
        ends = [end for end in (grows.min(), falls.max()) if np.isfinite(end)]
        return -float(np.mean(ends)) if ends else 0.0

    def best_epsilon(self, a, g):
        """ε for which this α is nearest to a solution: the slopes of free rows of either sign are −b ∓ ε."""
        ends = []
        for sign, slope in ((1.0, g), (-1.0, -g)):
            size, box = sign * a, self.upper if sign > 0 else -self.lower
            ends.append((slope[(size >= 0) & (size < box)].min(initial=np.inf), slope[size > 0].max(initial=-np.inf)))
        if not self.intercept:
            ends = [(min(ends[0][0], ends[1][0]), max(ends[0][1], ends[1][1]))] * 2
        level = [np.mean([end for end in pair if np.isfinite(end)] or [0.0]) for pair in ends]
        return max(-0.5 * float(level[0] + level[1]), 0.0)

    # ------------------------------------------------------------------ values
    def values(self, a, g, b):
        """(primal, dual objective, gap) at α and b; the gap is Σ h(α) + h*(−f) + αf >= 0, term by term.

        h*(−f) = max over a in [l, u] of a(y − f) − ε|a| − ½ra² is the loss of the row.
        """
        Ka = g + self.target - self.ridge * a
        residual = self.target - Ka - b
        over = np.maximum(np.abs(residual) - self.epsilon, 0.0) * np.sign(residual)
        best = np.where(over > 0, self.upper, self.lower)
        if self.ridge.any():
            with np.errstate(divide="ignore", invalid="ignore"):
                best = np.clip(np.where(over == 0, 0.0, over / self.ridge), self.lower, self.upper)
        with np.errstate(invalid="ignore"):
            loss = np.where(over == 0, 0.0, best * over - 0.5 * self.ridge * best**2)
        own = -self.target * a + self.epsilon * np.abs(a) + 0.5 * self.ridge * a**2
        norm = float(a @ Ka)
        return 0.5 * norm + float(loss.sum()), -0.5 * norm - float(own.sum()), float(np.sum(own + loss + a * (Ka + b)))

    def height(self, a, g):
        """(½αᵀKα + Σ h(α), the size of its terms), from the gradient."""
        terms = 0.5 * a * (g - self.target) + self.epsilon * np.abs(a)
        return float(terms.sum()), float(np.abs(terms).sum())

    def feasible(self, start):
        """A start moved into the box, and with an intercept onto Σα = 0."""
        a = np.asarray(start, dtype=float)
        if a.shape != self.target.shape or not np.isfinite(a).all():
            raise ValueError(f"start must be finite, of shape {self.target.shape}; got shape {a.shape}.")
        return self.balanced(np.clip(a, self.lower, self.upper))

    def balanced(self, a):
        """α with Σα = 0: the heavier side gives up what it has too much, rows inside their bounds first."""
        if not self.intercept or abs(a.sum()) <= ROUNDED * np.abs(a).sum():
            return a
        heavy = a * np.sign(a.sum()) > 0
        for rows in (heavy & (a > self.lower) & (a < self.upper), heavy):
            size, excess = float(np.abs(a[rows]).sum()), float(abs(a.sum()))
            if excess <= ROUNDED * np.abs(a).sum():  # rounding; bounds stay exact
                break
            if size > 0:
                a[rows] *= 1.0 - min(excess / size, 1.0)
        return a
