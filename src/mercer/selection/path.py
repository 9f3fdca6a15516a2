"""All λ, all targets, all criteria from one decomposition."""

import copy

import numpy as np

from mercer._state import check
from mercer.gram import Rows
from mercer.gram.rows import constant
from mercer.kernels.base import Kernel, same
from mercer.selection.base import Criterion, as_targets
from mercer.selection.criteria import GCV, LOO, Evidence
from mercer.solvers.spectral import Eigensystem, Spectral

FIELDS = {
    "kernel": (Kernel, None), "n": "size n", "q": "size q", "eigenvalues": "float k", "coefficients": "float k t",
    "outside": "number", "constant": object, "lams": "float L", "table": dict, "criteria": list,
}  # fmt: skip


def path(kernel, X, y=None, *, lams=None, sample_weight=None, intercept=None, criteria=None):
    """λ ↦ (dof, residual, norm, every criterion) from one decomposition K = U Λ Uᵀ.

    Parameters
    ----------
    kernel : Kernel or array-like of shape (m, n)
        k, with its hyper-parameters as they are; or a plain matrix A, and ``path(A, b)`` is the path of
        min ‖Ax − b‖² + λ‖x‖², the same rules with K = AAᵀ.
    X : collection of n inputs, or b
    y : array-like of shape (n,) or (n, t)
        Left out for a plain matrix.
    lams : array-like, default=None
        The grid, positive; None is 200 values, evenly in log λ, between the largest eigenvalue e₁ of K and
        max(e_n, 2.2e-15 n e₁).
    sample_weight : array-like of shape (n,), default=None
        w > 0: how many rows each row counts for.
    intercept : bool, default=None
        Whether there is an unpenalised constant; None is True for a kernel, False for a plain matrix.
    criteria : list of Criterion, default=None
        None is LOO, GCV and Evidence with the scale profiled out.

    Returns
    -------
    Path

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import path
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> found = path(Gaussian(0.2), X, np.sin(6 * X[:, 0]), lams=[0.01, 0.1, 1.0])
    >>> list(found.table)
    ['lam', 'dof', 'residual', 'norm', 'LOO()', 'GCV()', 'Evidence(profile_scale=True)']
    >>> found.table["dof"].round(2)
    array([7.45, 5.82, 3.82])
    """
    if isinstance(kernel, Kernel):
        if y is None:
            raise ValueError("path(kernel, X, y) needs y.")
        X = kernel.validate(X)
        y, w = _check_rows(X, y, sample_weight)
        rows = Rows(X, y, w, constant if intercept is not False else None, merge=False)
        return Path(Spectral().resolvent(rows.gram(kernel), rows.scaled(rows.H)), rows, lams, criteria, kernel=kernel)
    if y is not None:
        raise TypeError(f"kernel must be a Kernel in path(kernel, X, y), got {type(kernel).__name__}.")
    A = np.asarray(kernel, dtype=float)
    if A.ndim != 2 or not np.isfinite(A).all():
        raise ValueError(f"A must be a finite matrix, got shape {A.shape}.")
    y, w = _check_rows(A, X, sample_weight)
    rows = Rows(A, y, w, constant if intercept else None, merge=False)
    return Path(Eigensystem.of_matrix(rows.scaled(A), rows.scaled(rows.H)), rows, lams, criteria, matrix=A)


def _check_rows(X, y, weight):
    """y of shape (n, t) and w (or None), checked against the rows of X."""
    y = as_targets(y)
    if len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows and y has {len(y)}.")
    if not np.isfinite(y).all():
        raise ValueError(f"y has a NaN or infinite entry in row {int(np.argwhere(~np.isfinite(y))[0][0])}.")
    if weight is None:
        return y, None
    w = np.asarray(weight, dtype=float)
    if w.shape != (len(y),) or not (np.isfinite(w).all() and (w > 0).all()):
        raise ValueError(f"sample_weight must be {len(y)} positive numbers; leave out rows of weight 0.")
    return y, w


class Path:
    """λ ↦ α(λ) and every criterion; made by `path`.

    Attributes
    ----------
    lams : ndarray of shape (L,)
        λ, ascending.
    table : dict of ndarray
        Columns lam, dof (tr A, the intercept counted), residual (‖√w(y − f)‖), norm (‖f‖, or ‖x‖ for a plain
        matrix), and one for each criterion; over all targets.
    eigenvalues : ndarray of shape (k,)
        Λ of K (of the weighted K without the intercept), descending.
    coefficients : ndarray of shape (k, t)
        Uᵀy: |uᵢᵀy| against eᵢ is the Picard plot.
    constant : bool
        Whether nothing of y is left beside the trend.
    n, q : int
        Rows, and columns of the trend.
    weight : ndarray of shape (n,) or None
        How much each row counts; None where each counts once.
    kernel, X, matrix
        What the path was made of.
    lam_name : str
        What messages call λ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.selection import LOO, path
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> found = path(Gaussian(), X, np.sin(X[:, 0]), lams=[0.01, 1.0])
    >>> bool(found.table["residual"][0] < found.table["residual"][1]), float(found.choose(LOO()).lam)
    (True, 0.01)
    """

    lam_name = "lam"

    def __init__(self, spectrum, rows, lams=None, criteria=None, *, kernel=None, matrix=None):
        self.spectrum, self.rows = spectrum, rows
        self.kernel, self.X, self.matrix = kernel, None if kernel is None else rows.X, matrix
        self.n, self.q, self.weight = spectrum.n, spectrum.q, rows.weight
        self._y = rows.scaled(rows.y)
        self.eigenvalues = spectrum.eigenvalues[::-1]
        self.coefficients = (spectrum.eigenvectors.T @ self._y)[::-1]
        self.outside = float(np.sum(spectrum.left(self._y) ** 2))
        left = float(np.sum(self.coefficients**2)) + self.outside
        self.constant = left <= (1e-13**2) * float(np.sum(self._y**2)) or left == 0.0
        self.lams = default_grid(self.eigenvalues) if lams is None else _check_lams(lams)
        self.table = {"lam": self.lams, **self._norms()}
        criteria = default_criteria() if criteria is None else list(criteria)
        for criterion in criteria:
            if not isinstance(criterion, Criterion):
                raise TypeError(f"criteria must be Criterion objects, got {criterion!r}.")
        self.criteria = criteria
        names = number_repeated(criterion.name for criterion in criteria)
        self.table.update(zip(names, self._columns(criteria), strict=True))

    @property
    def y(self):
        """y of shape (n, t), unscaled."""
        return self.rows.y

    def _norms(self):
        """dof, residual and norm for all λ, O(k) each."""
        e, lam = self.eigenvalues[:, None], self.lams
        c2 = np.sum(self.coefficients**2, axis=1)[:, None]
        inverse = 1.0 / (e + lam)
        return {
            "dof": self.q + (e * inverse).sum(axis=0),
            "residual": np.sqrt(((lam * inverse) ** 2 * c2).sum(axis=0) + self.outside),
            "norm": np.sqrt((e * inverse**2 * c2).sum(axis=0)),
        }

    def _columns(self, criteria):
        """Values on the grid of each criterion, all in one pass."""
        columns = [np.empty(len(self.lams)) for _ in criteria]
        extras = [criterion.extras(self.rows) for criterion in criteria]
        if criteria:
            for j, point in enumerate(self.spectrum.points(self.lams, self._y)):
                for criterion, column, extra in zip(criteria, columns, extras, strict=True):
                    column[j] = criterion.value(point, self._y, self.weight, **extra)
        return columns

    def curve(self, criterion, lams):
        """The criterion at any λ, all from one pass."""
        extras = criterion.extras(self.rows)
        points = self.spectrum.points(lams, self._y)
        return np.array([criterion.value(point, self._y, self.weight, **extras) for point in points])

    def at(self, lam):
        """P(λ): K̃⁻¹ with the intercept projected out, an Inverse (of the scaled system, with weights)."""
        if not lam > 0:
            raise ValueError(f"lam must be positive on a path, got {lam}.")
        return self.spectrum.unchecked(lam)

    def value(self, criterion, lam):
        """The criterion at one λ."""
        return float(criterion.value(self.at(lam), self._y, self.weight, **criterion.extras(self.rows)))

    def values(self, criterion):
        """The criterion on the grid; from the table where it is there.

        Two criteria may have one name, as those of two groupings of the rows: what they hold decides.
        """
        # The first columns are lam, dof, residual and norm.
        asked = self.__dict__.setdefault("_asked", list(zip(self.criteria, list(self.table)[4:], strict=False)))
        name = next((name for own, name in asked if _same_rule(own, criterion)), None)
        if name is None:
            name = number_repeated([*(own.name for own, _ in asked), criterion.name])[-1]
            self.table[name] = self._columns([criterion])[0]
            asked.append((criterion, name))
        return self.table[name]

    def choose(self, rule):
        """Return the `Choice` of a rule or criterion."""
        return rule.choose(self)

    def solution(self, lam):
        """α (n, t) of a kernel, x (p, t) = Aᵀα of a plain matrix, at λ; zero at λ = inf."""
        alpha = self.rows.scaled(np.zeros_like(self._y) if np.isinf(lam) else self.at(lam) @ self._y)
        return alpha if self.matrix is None else self.matrix.T @ alpha

    def loo_residuals(self, lam):
        """yᵢ − f₋ᵢ(xᵢ) of every row (n, t), in the units of y."""
        point = self.at(lam)
        e = (point @ self._y) / point.diag()[:, None]
        return e if self.weight is None else e / np.sqrt(self.weight)[:, None]

    def slim(self):
        """Return the path without the eigenvectors: the table and the spectrum stay, other λ cannot be asked for."""
        other = copy.copy(self)
        other.spectrum = other.rows = other.X = other.matrix = other.weight = other._y = None
        other.__dict__.pop("_asked", None)
        return other

    def state(self):
        """{name: value} by public names, without the eigenvectors: what a file keeps."""
        return {name: getattr(self, name) for name in FIELDS}

    @classmethod
    def from_state(cls, state):
        """Return the slim path that had this state."""
        check(state, FIELDS, "Path")
        self = cls.__new__(cls)
        vars(self).update(state)
        return self.slim()

    def to_dict(self):
        """Return the table as lists, and the spectrum: plain values for a file."""
        return {
            "table": {name: column.tolist() for name, column in self.table.items()},
            "eigenvalues": self.eigenvalues.tolist(),
            "coefficients": self.coefficients.tolist(),
            "n": self.n,
            "kernel": None if self.kernel is None else repr(self.kernel),
        }

    def frame(self):
        """Return the table as a pandas data frame."""
        import pandas

        return pandas.DataFrame(self.table)

    def __len__(self):
        return len(self.lams)

    def __repr__(self):
        what = f"{self.kernel!r}" if self.kernel is not None else "A"
        return f"Path({what}, n={self.n}, {len(self)} lams in [{self.lams[0]:.3g}, {self.lams[-1]:.3g}])"

    def __str__(self):
        """Return about twenty rows of the table."""
        shown = np.unique(np.linspace(0, len(self) - 1, min(len(self), 20)).round().astype(int))
        heads = [name[:14].rjust(14) for name in self.table]
        lines = ["  ".join(heads)]
        for i in shown:
            lines.append("  ".join(f"{column[i]:14.6g}" for column in self.table.values()))
        return "\n".join([repr(self), *lines])


def number_repeated(names):
    """The names, with #2, #3, … behind one that was there before."""
    names = list(names)
    counts = [names[:i].count(name) + 1 for i, name in enumerate(names)]
    return [name if count == 1 else f"{name} #{count}" for name, count in zip(names, counts, strict=True)]


def _same_rule(a, b):
    """Whether two rules are of one class and hold the same."""
    if type(a) is not type(b) or vars(a).keys() != vars(b).keys():
        return a is b
    return all(same(value, vars(b)[name]) for name, value in vars(a).items())


def default_criteria():
    """LOO, GCV and Evidence: what a path is judged by unless told otherwise."""
    return [LOO(), GCV(), Evidence(profile_scale=True)]


def default_grid(e, points=200):
    """λ between 10 e₁ and the smaller of 10⁻⁶ e₁ and max(e_n, 10 n u e₁), evenly in log λ.

    Beyond e₁ and e_n little changes, but a well-conditioned K would leave too little between them.
    """
    largest = float(e.max(initial=0.0))
    if not largest > 0:
        return np.geomspace(1e-10, 1.0, points)  # K is zero: λ changes nothing
    rounding = 10.0 * len(e) * np.finfo(float).eps * largest  # below it criteria are of what rounding left of K
    smallest = max(float(e.min()), rounding)
    return np.geomspace(min(smallest, 1e-6 * largest), 10.0 * largest, points)


def _check_lams(lams):
    """λ ascending, positive and finite."""
    lams = np.unique(np.asarray(lams, dtype=float).ravel())
    if not lams.size or not (np.isfinite(lams).all() and lams[0] > 0):
        raise ValueError(f"lams must be positive and finite, got {lams}.")
    return lams
