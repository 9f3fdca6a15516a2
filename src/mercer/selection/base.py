"""Rules and criteria: what chooses λ, and θ. A criterion reads K̃⁻¹ and y; it knows no kernel and no data.

Weighted rows arrive as a scaled system, S K S + λI with S = diag(√w), y ← S y, H ← S H. Criteria whose loss is in the
units of y get w as ``weight``.
"""

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from mercer._warn import warn
from mercer.kernels.conversion import refuse_nat
from mercer.selection.targets import target_scale
from mercer.solvers.cholesky import add_symmetric, sandwich

OK = "ok"
LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Choice:
    """λ as a rule chose it, and how sure the rule is.

    Parameters
    ----------
    lam : float
        λ; inf is the constant model.
    status : str
        "ok", or what stood in the way: "at_lower_edge", "at_upper_edge", "flat", "constant", "no_corner",
        "ambiguous", "no_root", "unreachable", "not_finite".
    message : str
        What happened, with numbers, and what to do; empty when ok.
    value : float
        The criterion at λ (the curvature for `LCurve`, the residual for `Discrepancy`).
    rule : str
        Name of the rule.

    Examples
    --------
    >>> from mercer.selection import Choice
    >>> Choice(0.1, "ok", rule="LOO()").ok
    True
    """

    lam: float
    status: str = OK
    message: str = ""
    value: float = float("nan")
    rule: str = ""

    @property
    def ok(self):
        """Whether the rule found what it looks for."""
        return self.status == OK

    def warn(self):
        """Warn with the message, unless all is well; return self."""
        if not self.ok:
            warn(f"{self.rule}: {self.message}", ConvergenceWarning)
        return self


class Rule(BaseEstimator, ABC):
    """path ↦ λ: any way to choose λ on a path.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import Discrepancy, path
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> choice = Discrepancy(noise=0.1).choose(path(Gaussian(), X, np.sin(X[:, 0]) + 0.1 * np.cos(40 * X[:, 0])))
    >>> choice.status, choice.rule
    ('ok', 'Discrepancy(noise=0.1)')
    """

    word: str | None = None  # by which an estimator knows it: criterion="loo"
    smooth = False  # whether there is an adjoint
    scale_free = False  # whether c K̃ is worth the same as K̃ for every c > 0, so that an amplitude cannot be chosen
    by_levels = True
    costly = False
    merges = False
    relative = False  # whether each target counts relative to its variance: ``value`` then takes their ``scale``
    density = False
    weights = "repeats"
    needs: frozenset = frozenset()
    by_neighbours: str | None = None  # whom a row is given in its place: those "before" it in an order, or all "others"
    arrays = 2  # of n × n in float64 that its value and gradient take, with the inverse that they are made of
    on_landmarks: str | None = None  # what chooses λ on landmarks in its place: "loo", "gcv", "elbo"

    @property
    def name(self):
        """What a table calls it."""
        return " ".join(repr(self).split())

    @abstractmethod
    def choose(self, path):
        """Return the `Choice` of λ on a `Path`; nothing is warned of here, the choice carries it."""

    def _choice(self, lam, status, message, value=np.nan):
        return Choice(float(lam), status, message, float(value), self.name)

    def extras(self, rows):
        """What ``value`` is given of `Rows` beside y and the weights, by name."""
        found = {"spread": rows.within_squares} if self.merges and rows.within_squares.any() else {}
        return found | ({"scale": target_scale(rows)} if self.relative and rows.t > 1 else {})

    def in_unit(self, unit):
        """Return the rule that chooses the same λ for y/unit; refused where there is none."""
        if unit == 1.0 or self.scale_free:
            return self
        raise ValueError(
            f"y is of the size {unit:.1g}, whose square is beyond a float, and {self.name} depends on the unit of y: "
            f"divide y by {unit:.1g}, or use a criterion that does not, such as LOO() or GCV()."
        )

    def restrict(self, index):
        """Return the rule for some of the rows; a rule that holds something for each row takes its share."""
        return self


class Criterion(Rule):
    """C(K̃⁻¹, y): smaller is better. A subclass writes ``value``.

    Attributes
    ----------
    smooth : bool
        Whether there is an adjoint.
    scale_free : bool
        Whether c K̃ is worth the same as K̃ for every c > 0, so that an amplitude cannot be chosen by it.
    positive : bool
        Whether C > 0, so that a search may work with log C.
    summed : bool
        Whether C grows with the number of rows and targets, as a likelihood does; else it is a mean.
    by_levels : bool
        Whether an optimum on few rows leads to that on all; else a search also begins on all, if they are not many.
    costly : bool
        Whether one λ of a path costs more than O(n²).
    merges : bool
        Whether equal rows may come as one point with a weight: ``value`` then also takes their ``spread``.
    relative : bool
        Whether several targets count each relative to its own variance: ``value`` then also takes their ``scale``, by
        which y is divided.
    density : bool
        Whether C is −log of a density, so that its curvature is that of a posterior.
    weights : {"repeats", "precision"}
        What a weight is: so many equal rows, or a row whose noise variance is λ/w.
    needs : frozenset of {"diag", "logdet", "dense"}
        What ``value`` asks of an inverse beside products; a gradient asks for all entries.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.selection import LOO
    >>> from mercer.solvers import Cholesky
    >>> Kinv = Cholesky().resolvent(DenseGram.from_matrix(np.eye(2)))(1.0)
    >>> round(LOO().value(Kinv, np.array([[1.0], [3.0]])), 6)  # K = I: each row is predicted by 0 without itself
    5.0
    """

    positive = False
    summed = False
    needs = frozenset({"diag"})

    def with_precisions(self):
        """Return the criterion for weights that are precisions; itself where they never count rows."""
        return self

    @abstractmethod
    def value(self, Kinv, y, weight=None):
        """C, the value of the criterion: the smaller, the better.

        Parameters
        ----------
        Kinv : Inverse
            K̃⁻¹, or P of `mercer.solvers.Projected` where there is a trend.
        y : ndarray of shape (n, t)
            Targets; of a scaled system S y.
        weight : ndarray of shape (n,), default=None
            w of a scaled system; None is ones.

        Returns
        -------
        float
        """

    def choose(self, path):
        """Return the smallest value on the grid, refined by Brent's method in log λ between its neighbours."""
        values, name = path.values(self), path.lam_name
        finite = np.isfinite(values)
        if path.constant:
            return self._choice(path.lams[-1], "constant", f"y is constant (up to the trend), so every {name} fits it; "
                                f"the largest on the grid, {path.lams[-1]:.3g}, is taken.", values[-1])  # fmt: skip
        if not finite.any():
            return self._choice(path.lams[-1], "not_finite", f"no value on the grid of {len(values)} {name} is finite; "
                                f"the largest {name}, {path.lams[-1]:.3g}, is taken.")  # fmt: skip
        i = int(np.argmin(np.where(finite, values, np.inf)))
        low, best = values[finite].max(), values[i]
        # A change of ten digits less over the whole path: it does not see λ.
        if finite.all() and low - best <= 1e-10 * abs(low):
            return self._choice(path.lams[-1], "flat", f"the criterion is {best:.6g} for every {name} on the grid; the "
                                f"largest, {path.lams[-1]:.3g}, is taken.", best)  # fmt: skip
        if i in (0, len(values) - 1):
            side, words = ("upper", "nearly constant models") if i else ("lower", "interpolation")
            return self._choice(path.lams[i], f"at_{side}_edge", f"the criterion is smallest at the {side} end of the "
                                f"grid, {name} = {path.lams[i]:.3g}: it asks for {words}. Give {name}s beyond it, or "
                                "another kernel.", best)  # fmt: skip
        found = minimize_scalar(
            lambda log_lam: _finite(path.value(self, np.exp(log_lam))),
            bounds=np.log([path.lams[i - 1], path.lams[i + 1]]),
            method="bounded",
            options={"xatol": 1e-5},
        )
        if found.fun < best:
            return self._choice(np.exp(found.x), OK, "", found.fun)
        return self._choice(path.lams[i], OK, "", best)


class SmoothCriterion(Criterion):
    """C and W = ∂C/∂K̃, so that ∂C/∂log θ = K.grad(W). A subclass writes ``value`` and ``value_and_adjoint``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.gram import DenseGram
    >>> from mercer.selection import GCV
    >>> from mercer.solvers import Cholesky
    >>> K = DenseGram(Gaussian(), np.array([[0.0], [1.0], [3.0]]))
    >>> value, W = GCV().value_and_adjoint(Cholesky().resolvent(K)(0.1), [[0.0], [1.0], [0.0]])
    >>> K.grad(W).shape  # ∂C/∂log ℓ
    (1,)
    """

    smooth = True

    @abstractmethod
    def value_and_adjoint(self, Kinv, y, weight=None):
        """(C, W) with W = ∂C/∂K̃, symmetric (n, n), a fresh array.

        A ``Kinv`` whose ``dense()`` gives its own array away (see `mercer.solvers.Explicit`) is used up by this.
        """

    def adjoint(self, Kinv, y, weight=None):
        """W = ∂C/∂K̃; see `value_and_adjoint`."""
        return self.value_and_adjoint(Kinv, y, weight)[1]

    def explicit(self, Kinv, y, weight=None, **merged):
        """∂C/∂log λ at a fixed K̃: 0 unless λ stands in the formula beside K̃. So ∂C/∂log λ = λ tr W + this."""
        return 0.0


# ---------------------------------------------------------------------------------------- shared formulas
def pull(Kinv, alpha, g_alpha, g_s):
    """W = −½[(P g_α)αᵀ + α(P g_α)ᵀ] − P diag(g_s) P for C(α, s) with α = P y, s = diag P, as dP = −P dK̃ P.

    The ``dense()`` of P is asked for once, last, and overwritten.
    """
    p = Kinv @ g_alpha
    W = sandwich(Kinv.dense(), -np.asarray(g_s))
    return add_symmetric(W, p, alpha, -0.5)


def relative_rows(y, scale=None):
    """y as (n, t), each target over its scale."""
    return as_targets(y) if scale is None else as_targets(y) / scale


def as_targets(y):
    """y as (n, t)."""
    refuse_nat(y, "y")
    if np.iscomplexobj(y):
        raise ValueError("y is complex; give its real and imaginary parts as two targets.")
    y = np.asarray(y, dtype=float)
    if y.ndim not in (1, 2):
        raise ValueError(f"y must be of shape (n,) or (n, t), got {y.shape}.")
    return y[:, None] if y.ndim == 1 else y


def weights_of(weight, n):
    """Weights of n rows as an array, checked; None if there are none."""
    if weight is None:
        return None
    weight = np.asarray(weight, dtype=float)
    if weight.shape != (n,):
        raise ValueError(f"weight must have one entry for each of the {n} rows, got shape {weight.shape}.")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        raise ValueError(f"weight must be finite and >= 0; row {bad[0]} has {weight[bad[0]]} ({bad.size} such rows).")
    if not weight.any():
        raise ValueError("all weights are 0: no row is left.")
    return weight


def total_weight(weight, n):
    """Σw, which is n without weights."""
    return float(n) if weight is None else float(np.sum(weight))


def with_rows(rule, **changes):
    """Return a copy of a rule with other values for what it holds for each row."""
    other = copy.copy(rule)
    for name, value in changes.items():
        setattr(other, name, value)
    return other


def _finite(value):
    """A value that a line search can compare."""
    return value if np.isfinite(value) else np.finfo(float).max
