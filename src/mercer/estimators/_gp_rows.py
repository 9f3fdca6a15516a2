"""Rows of a fitted Gaussian process: those that join, those that leave, and what the others say of each."""

import copy
from types import SimpleNamespace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer import uncertainty
from mercer.estimators._gp_fit import refuse_conflict
from mercer.estimators._validation import _check_y, check_weight
from mercer.exceptions import NotPositiveDefinite
from mercer.gram import joined, take
from mercer.inference.posterior import Posterior
from mercer.selection.projected import Projected
from mercer.selection.residuals import leave_one_out

WORTH = 4  # one row costs a few n²; from n/WORTH rows on a new factor is cheaper


class RowsMixin:
    """``update``, ``forget`` and leave-one-out of `GaussianProcessRegressor`."""

    # ---------------------------------------------------------------------- rows that join and leave
    def update(self, X, y, sample_weight=None, noise=None):
        """Add rows at the same hyper-parameters: exact, O(n²) for each row, equal to a new fit.

        Parameters
        ----------
        X : array-like of shape (k, d), or a sequence of objects
        y : array-like of shape (k,) or (k, t)
        sample_weight : array-like of shape (k,), default=None
        noise : float or array-like of shape (k,), default=None
            Noise variances of the new rows, for a fit with an array of them; None is ``lam_``.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian
        >>> X, y = np.arange(6.0)[:, None], np.sin(np.arange(6.0))
        >>> model = GaussianProcessRegressor(Gaussian(), 0.1, criterion=None)
        >>> grown = model.fit(X[:4], y[:4]).update(X[4:], y[4:]).predict(X)
        >>> bool(np.allclose(grown, model.fit(X, y).predict(X), rtol=1e-9))
        True
        """
        check_is_fitted(self)
        X, y = self._new_rows(X), np.atleast_1d(_check_y(y))
        y = y.reshape(len(y), -1)
        if len(X) != len(y) or y.shape[1] != self._train.y.shape[1]:
            raise ValueError(
                f"X has {len(X)} rows and y has shape {y.shape}; the fit has {self._train.y.shape[1]} targets."
            )
        weight = check_weight(sample_weight, len(y))
        weight = np.ones(len(y)) if weight is None else weight
        if noise is not None:
            if not self._precision:
                raise ValueError("noise of new rows goes with a fit that had an array of noise variances.")
            noise = np.broadcast_to(np.asarray(noise, dtype=float), len(y))
            if not (np.isfinite(noise).all() and (noise > 0).all()):
                raise ValueError(f"noise must be positive and finite, got a smallest value of {noise.min()}.")
            weight = weight * (self.lam_ / noise)
        keep = np.flatnonzero(weight > 0)
        return self._change(self._joined(take(X, keep), y[keep] / self._unit, weight[keep], keep, len(y)))

    def forget(self, index):
        """Remove rows at the same hyper-parameters: exact, O(n²) for each row, equal to a new fit.

        Parameters
        ----------
        index : int, array-like of int, or array-like of bool of shape (n,)
            Training rows, counted as they were given; those that stay keep their order.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian
        >>> X, y = np.arange(6.0)[:, None], np.sin(np.arange(6.0))
        >>> model = GaussianProcessRegressor(Gaussian(), 0.1, criterion=None)
        >>> fewer = model.fit(X, y).forget([1, 2]).predict(X)
        >>> bool(np.allclose(fewer, model.fit(X[[0, 3, 4, 5]], y[[0, 3, 4, 5]]).predict(X), rtol=1e-9))
        True
        """
        check_is_fitted(self)
        n = len(self.point_index_)
        index = np.atleast_1d(np.asarray(index))
        if index.dtype == bool:
            if index.shape != (n,):
                raise ValueError(f"a mask must have one entry for each of the {n} rows, got shape {index.shape}.")
            index = np.flatnonzero(index)
        if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
            raise ValueError(f"index must be whole numbers, or a mask of the {n} rows.")
        if index.size and not ((index >= -n) & (index < n)).all():
            raise IndexError(f"index must be between {-n} and {n - 1}, got {index.min()} to {index.max()}.")
        stay = np.ones(n, dtype=bool)
        stay[index.astype(int)] = False
        return self._change(self._left(stay))

    def _joined(self, X, y, weight, keep, rows):
        """What the points and rows are with more of them: see `_change`."""
        train, f = self._train, self._f
        if not (isinstance(f.points, np.ndarray | list) or hasattr(f.points, "joined")):
            raise TypeError(f"{self.kernel_!r} keeps no inputs to which rows could be added; fit again.")
        keys = _keys(X) if self.merge else None
        known = {} if keys is None else {key: i for i, key in enumerate(_keys(f.points) or ())}
        size, total, index, fresh = f.Kinv.n, self._weights(), [], []
        for i in range(len(y)):
            place = None if keys is None else known.get(keys[i])
            if place is None:
                place = size + len(fresh)
                fresh.append(i)
                if keys is not None:
                    known[keys[i]] = place
                total = np.append(total, 0.0)
            total[place] += weight[i]
            index.append(place)
        index = np.array(index, dtype=int)
        point_index = np.full(rows, -1)
        point_index[keep] = index
        return SimpleNamespace(
            old=total[:size], fresh=take(X, fresh) if fresh else None, added=total[size:],
            y=np.vstack([train.y, y]), weight=np.append(train.weight, weight), index=np.append(train.index, index),
            point_index=np.append(self.point_index_, point_index),
        )  # fmt: skip

    def _left(self, stay):
        """What the points and rows are without some of them: see `_change`."""
        train = self._train
        used = stay[self.point_index_ >= 0]
        if not used.any():
            raise ValueError("forget would leave no row.")
        index, weight = train.index[used], train.weight[used]
        total = np.bincount(index, weights=weight, minlength=self._f.Kinv.n)
        there = np.bincount(index, minlength=self._f.Kinv.n) > 0
        number = np.cumsum(there) - 1
        point_index = self.point_index_[stay]
        point_index[point_index >= 0] = number[index]
        return SimpleNamespace(
            old=np.where(there, total, 0.0), fresh=None, added=np.zeros(0),
            y=train.y[used], weight=weight, index=number[index], point_index=point_index,
        )  # fmt: skip

    def _weights(self):
        """Weights of the points."""
        f = self._f
        return np.ones(f.Kinv.n) if f.s is None else f.s**2

    def _change(self, to):
        """Take over new points and rows, all or nothing: ``old`` weights (0 leaves), ``fresh`` and ``added`` ones."""
        fitted = copy.copy(self)
        fitted._train = SimpleNamespace(y=to.y, weight=to.weight, index=to.index, flat=self._train.flat)
        size = int(np.count_nonzero(to.old)) + len(to.added)
        total = np.bincount(to.index, weights=to.weight, minlength=size)
        means = np.stack([np.bincount(to.index, weights=to.weight * c, minlength=size) for c in to.y.T], axis=1)
        means /= total[:, None]
        squares = to.weight[:, None] * (to.y - means[to.index]) ** 2
        spread = [np.bincount(to.index, weights=column, minlength=size) for column in squares.T]
        fitted._train.spread = np.stack(spread, axis=1)
        refuse_conflict(self._f.lam, fitted._train.spread)
        changed = self._changed_points(to)
        fitted._f, afresh = self._moved(self._f, to, means, changed)
        if self._components is not None:
            fitted._components = [self._moved(f, to, means, changed)[0] for f in self._components]
        fitted.point_index_ = to.point_index
        fitted.fit_report_ = type(self.fit_report_)(self.fit_report_)
        fitted._publish()
        fitted.fit_report_.update(
            rows=len(to.point_index), points=size, log_marginal_likelihood=fitted.log_marginal_likelihood_value_,
            merged_rows=len(to.y) - size, dropped_rows=len(to.point_index) - len(to.y),
            updates=self.fit_report_.get("updates", 0) + 1, factored_afresh=afresh,
        )  # fmt: skip
        if afresh:
            fitted.fit_report_.update(fitted._f.Kinv.info)
        else:  # the factor was walked to, and its condition not estimated again
            fitted.fit_report_.pop("condition", None)
        self.__dict__.update(fitted.__dict__)
        for name in set(self.__dict__) - set(fitted.__dict__):
            del self.__dict__[name]
        return self

    def _changed_points(self, to):
        """(points that leave, points whose weight changes)."""
        gone = np.flatnonzero(to.old == 0)
        return gone, np.flatnonzero((to.old > 0) & (np.abs(to.old - self._weights()) > 1e-14 * to.old))

    def _moved(self, f, to, means, changed):
        """(posterior, whether it had to be factored afresh) for the new points."""
        gone, other = changed
        points = take(f.points, np.flatnonzero(to.old > 0))
        if to.fresh is not None:
            points = joined(points, to.fresh)
        weight = np.append(to.old[to.old > 0], to.added)
        weight = None if np.all(weight == 1.0) else weight
        self._check_trend(f, points)
        if not f.Kinv.jittered and len(gone) + 2 * len(other) + len(to.added) <= max(1, f.Kinv.n // WORTH):
            try:
                return Posterior(f.kernel, points, self._walk(f, to, gone, other), means, weight, f.trend), False
            except NotPositiveDefinite:
                pass  # rounding left nothing of a pivot
        return self._posterior_at(f.kernel, f.lam, points, means, weight, f.trend), True

    def _check_trend(self, f, points):
        """Refuse rows that do not determine the trend."""
        if f.trend is None:
            return
        H = f.trend(points)
        if np.linalg.matrix_rank(H) < H.shape[1]:
            raise ValueError(
                f"the {len(points)} points that would be left do not determine the {H.shape[1]} columns of the trend."
            )

    def _walk(self, f, to, gone, other):
        """The factor, row by row: weights that change leave and come back, points leave, points join."""
        Kinv, points, s = f.Kinv, f.points, np.sqrt(self._weights())
        for g in other:
            rest = np.delete(np.arange(Kinv.n), g)
            s[g] = np.sqrt(to.old[g])
            row = _cross(f.kernel, take(points, [g]), take(points, rest))
            Kinv = Kinv.remove(g).insert(g, s[g] * s[rest] * row, self._entry(f, take(points, [g]), s[g]))
        for g in gone[::-1]:
            Kinv = Kinv.remove(g)
        keep = np.flatnonzero(to.old > 0)
        points, s = take(points, keep), s[keep]
        for j, c in enumerate(to.added):
            new = take(to.fresh, [j])
            row = _cross(f.kernel, new, points)
            Kinv = Kinv.insert(Kinv.n, np.sqrt(c) * s * row, self._entry(f, new, np.sqrt(c)))
            points = joined(points, new)
            s = np.append(s, np.sqrt(c))
        return Kinv

    def _entry(self, f, x, s):
        """The diagonal entry of a point of weight s²."""
        return float(s) ** 2 * float(np.asarray(f.kernel.diag(x))[0]) + f.lam

    # ---------------------------------------------------------------------- leave-one-out
    @property
    def loo_residuals_(self):
        """yᵢ − f₋ᵢ(xᵢ); nan for rows of weight 0. At the hyper-parameters of the fit, from K̃⁻¹."""
        loo = self._leave_one_out()[0]
        return loo[:, 0] if self._train.flat else loo

    @property
    def loo_std_(self):
        """√(variance of yᵢ given the other rows), noise included: what loo_residuals_ should be in size."""
        return self._leave_one_out()[1]

    def _leave_one_out(self):
        """(residuals, standard deviations) of all rows, in the units of y; computed at the first call."""
        check_is_fitted(self)
        if "_loo" not in self.__dict__:
            f, train = self._f, self._train
            c, n, rows = self._weights(), f.Kinv.n, len(train.y)
            e, s = np.full(train.y.shape, np.nan), np.full(n, np.nan)
            if rows > f.q and n > f.q:
                root = np.sqrt(c)[:, None]
                H = root * (np.ones((n, 0)) if f.trend is None else f.trend(f.points))
                Kinv = _Known(f.Kinv)
                e, _ = leave_one_out(
                    Kinv, f.alpha / root, H, (self._point_means(), c), (train.y, train.weight, train.index)
                )
                s = (Projected(Kinv, H) if f.q else Kinv).diag()
                s = np.where(s > 0, s, np.nan)
            share, s = train.weight / c[train.index], s[train.index]
            rest = (1.0 - share) + share * f.lam * s
            with np.errstate(divide="ignore", invalid="ignore"):
                variance = np.where(share == 1.0, 1.0 / (train.weight * s), f.lam / train.weight / rest)
            used = self.point_index_ >= 0
            residuals, std = np.full((len(used), e.shape[1]), np.nan), np.full(len(used), np.nan)
            residuals[used], std[used] = e * self._unit, np.sqrt(variance) * self._unit
            self._loo = residuals, std
        return self._loo

    def calibration(self, levels=uncertainty.LEVELS):
        """zᵢ = (yᵢ − f₋ᵢ(xᵢ))/sd₋ᵢ: whether the stated standard deviations are right, by leave-one-out.

        Parameters
        ----------
        levels : array-like, default=(0.5, 0.8, 0.9, 0.95, 0.99)

        Returns
        -------
        mercer.uncertainty.Calibration
            z has one entry for each training row, nan for rows of weight 0; ``mean_square`` is 1 if all is well.

        Examples
        --------
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.datasets import load_cars
        >>> found = GaussianProcessRegressor().fit(*load_cars(return_X_y=True)).calibration()
        >>> 0.5 < found.mean_square < 2
        True
        """
        e, std = self._leave_one_out()
        used = self.point_index_ >= 0
        z = e[used] / std[used, None]
        flat = self._train.flat

        def shape(values):
            return values[..., 0] if flat else values

        found = uncertainty.calibration(SimpleNamespace(a=z, s=np.ones(len(z)), flat=flat, shape=shape), levels)
        return copy.copy(found) if used.all() else type(found)(**{**vars(found), "z": self._to_rows(found.z)})


class _Known:
    """An inverse whose diagonal is computed once."""

    def __init__(self, Kinv):
        self.Kinv, self.n, self.lam, self._diagonal = Kinv, Kinv.n, Kinv.lam, Kinv.diag()

    def __matmul__(self, B):
        return self.Kinv @ B

    def logdet(self):
        return self.Kinv.logdet()

    def diag(self):
        return self._diagonal


def _cross(kernel, x, points):
    """k(x, points) of one input."""
    return np.asarray(kernel(x, points), dtype=float)[0]


def _keys(X):
    """One key for each input, equal where the inputs are; None where they cannot be told apart by value."""
    if isinstance(X, np.ndarray):
        return [(row + 0.0).tobytes() for row in X]
    return X.identities() if hasattr(X, "identities") else None
