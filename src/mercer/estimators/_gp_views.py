"""Looking into the posterior of a Gaussian process: its additive parts, and its slopes."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.estimators._gp_trend import additive_parts
from mercer.inference.posterior import mixture


@dataclass(frozen=True)
class Part:
    """One additive part of a posterior; the means of all parts sum to the mean.

    Parameters
    ----------
    name : str
        The kernel of the part, or "trend".
    mean : ndarray of shape (m,) or (m, t)
    std : ndarray of shape (m,)
        Latent standard deviation of the part by itself. Parts are correlated: variances do not sum.
    """

    name: str
    mean: np.ndarray
    std: np.ndarray


class ViewsMixin:
    """``decompose`` and ``derivative`` of `GaussianProcessRegressor`."""

    def decompose(self, X):
        """f = f₁ + f₂ + … + trend: the posterior of each additive part of the kernel; the means sum to the mean.

        Parameters
        ----------
        X : array-like of shape (m, d), or a sequence of objects

        Returns
        -------
        list of Part
            With ``name`` (the kernel of the part, or "trend"), ``mean`` and ``std``.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Gaussian, Linear
        >>> X = np.linspace(0, 1, 5)[:, None]
        >>> model = GaussianProcessRegressor(Gaussian(0.5) + Linear(), 0.1, criterion=None).fit(X, X[:, 0] ** 2)
        >>> [part.name for part in model.decompose(X)]
        ['Gaussian(0.5)', 'Linear()', 'trend']
        """
        check_is_fitted(self)
        X, unit, flat = self._new_rows(X), self._unit, self._train.flat
        fs = self._posteriors()
        names = [repr(part) for part in additive_parts(self.kernel_)]
        columns = [[f.moments(X, part) for part in additive_parts(f.kernel)] for f in fs]
        if self._f.trend is not None:
            names.append("trend")
            columns = [[*parts, f.trend_moments(X)] for parts, f in zip(columns, fs, strict=True)]
        out = []
        for j, name in enumerate(names):
            means, variances = zip(*[parts[j] for parts in columns], strict=True)
            mean, variance = (means[0], variances[0]) if len(fs) == 1 else mixture(means, variances)
            variance = variance[:, 0] if variance.ndim == 2 and flat else variance
            out.append(Part(name, unit * (mean[:, 0] if flat else mean), unit * np.sqrt(np.maximum(variance, 0.0))))
        return out

    def derivative(self, X):
        """(∂m/∂x, ∂√v/∂x): how the mean and the latent standard deviation change with each column of x.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        d_mean : ndarray of shape (m, d) or (m, d, t)
        d_std : ndarray of shape (m, d) or (m, d, t)
            nan where the standard deviation is 0. The last axis is there only with several targets and
            ``n_hyper_samples``.

        Examples
        --------
        >>> from mercer import GaussianProcessRegressor
        >>> from mercer.kernels import Linear
        >>> model = GaussianProcessRegressor(Linear(), 1e-6, criterion=None, trend=None).fit([[1.0], [2.0]], [3.0, 6.0])
        >>> model.derivative([[5.0]])[0].round(4)
        array([[3.]])
        """
        check_is_fitted(self)
        X, unit = self._new_rows(X), self._unit
        if not (isinstance(X, np.ndarray) and X.ndim == 2):
            raise TypeError(f"{self.kernel_!r} reads objects, which have no derivative.")
        found = [f.slopes(X) for f in self._posteriors()]
        d_mean, flat = np.mean([one.d_mean for one in found], axis=0), self._train.flat
        if len(found) == 1:
            variance, slope = found[0].variance, found[0].d_variance
        else:
            mean, variance = mixture([one.mean for one in found], [one.variance for one in found])
            slope = np.mean([one.d_variance for one in found], axis=0)[:, :, None] + 2.0 * np.mean(
                [(one.mean - mean)[:, None] * (one.d_mean - d_mean) for one in found], axis=0
            )
            variance, slope = (variance[:, 0], slope[:, :, 0]) if flat else (variance[:, None], slope)
        std = np.sqrt(np.maximum(variance, 0.0))
        std = std[:, None] if std.ndim == 1 else std
        d_std = np.divide(slope, 2.0 * std, out=np.full(slope.shape, np.nan), where=std > 0)
        return unit * (d_mean[:, :, 0] if flat else d_mean), unit * d_std
