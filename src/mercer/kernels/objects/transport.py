"""Linearised optimal transport: K_ρ(μ, ν) = ⟨Id − T_ρ→μ, Id − T_ρ→ν⟩ in L²(ρ), one transport for each measure.

The reference ρ is a parameter, so that the kernel is a function of two measures and of nothing else; ``from_data``
makes a kernel with a reference for some data.
"""

import importlib.util
import operator

import numpy as np

from mercer import _native, _threads
from mercer.kernels.definite import eigen
from mercer.kernels.objects.measures import (
    GaussianMeasure,
    MeasureFeatures,
    Samples,
    dimension,
    level_means,
    moments,
    read_measures,  # noqa: I001
)


# ---------------------------------------------------------------------- discrete transport
def transport_plan(C, a, b, large=20_000):
    """argmin_F Σᵢⱼ Fᵢⱼ Cᵢⱼ,  F >= 0, of row sums a and column sums b: exact.

    Parameters
    ----------
    C : ndarray of shape (q, m)
        Costs.
    a, b : ndarray of shape (q,), (m,)
        Masses > 0 with the same sum.
    large : int, default=20_000
        Pairs of points above which POT's network simplex is worth its import, if it is installed.

    Returns
    -------
    ndarray of shape (q, m)
    """
    if not np.isfinite(C).all():
        raise ValueError("the costs of a transport must be finite; divide the points by their size, or look for NaN.")
    if len(a) == len(b) and np.ptp(a) == 0 and np.ptp(b) == 0:  # an optimal plan is a permutation
        from scipy.optimize import linear_sum_assignment

        flow = np.zeros(C.shape)
        flow[linear_sum_assignment(C)] = a[0]
        return flow
    if C.size > large and importlib.util.find_spec("ot") is not None:
        from ot import emd

        return np.asarray(emd(a, b * (a.sum() / b.sum()), np.ascontiguousarray(C)))
    return _native.transport.cheapest_flow(C, a, b, 1e-15)  # masses below this share of the whole are rounding


def transport_map(reference, measure):
    """T(z_j) = E[x | z_j] under the optimal plan from reference to measure, of shape (q, d): exact.

    Parameters
    ----------
    reference : Samples
    measure : Samples or, on the line, GaussianMeasure
    """
    z, a = reference.points, reference.weights
    if z.shape[1] == 1:  # the optimal plan is monotone
        order = np.argsort(z[:, 0], kind="stable")
        edges = np.concatenate([[0.0], np.cumsum(a[order])])
        edges /= edges[-1]
        T = np.empty(z.shape)
        T[order, 0] = level_means(measure, np.ones(1), edges)
        return T
    from scipy.spatial.distance import cdist

    centre = measure.weights @ measure.points  # a shift of both changes no plan, and near 0 nothing cancels
    C = cdist(z - a @ z, measure.points - centre, "sqeuclidean")
    flow = transport_plan(C, a, measure.weights)
    return centre + (flow @ (measure.points - centre)) / flow.sum(axis=1)[:, None]


class TransportKernel(MeasureFeatures):
    """K_ρ(μ, ν) = ⟨Id − T_ρ→μ, Id − T_ρ→ν⟩ in L²(ρ) for a discrete ρ; T the optimal transport for the cost ‖x − z‖².

    Positive semi-definite for every ρ. Where a plan splits a point of ρ, T takes it to the mean of where it goes. On
    the line the plan comes from quantiles, and ‖φ(μ) − φ(ν)‖ is the Wasserstein distance W₂(μ, ν) if T is a map (m
    samples of equal weight, q a multiple of m). Elsewhere there is one transport for each measure (not for each pair),
    exact: an assignment for equal sizes and weights, else shortest augmenting paths, or POT's network simplex for many
    points if it is installed (``mercer[ot]``).

    Parameters
    ----------
    reference : array-like of shape (q, d), or (q,) on the line
        The points of ρ; about as many as a typical measure has samples. See `from_data`.
    weights : array-like of shape (q,), default=None
        Weights > 0 of the points, divided by their sum. None is equal weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import TransportKernel
    >>> kernel = TransportKernel([0.0, 1.0])
    >>> kernel([np.array([5.0, 2.0]), np.array([0.0, 1.0])])  # T moves 0 to 2 and 1 to 5
    array([[10.,  0.],
           [ 0.,  0.]])
    """

    def __init__(self, reference, weights=None): ...

    @classmethod
    def from_data(cls, X, size=50, random_state=0):
        """A kernel whose reference is the centres of k-means on the pooled samples, each measure with equal say.

        Parameters
        ----------
        X : collection of measures given by samples
            The training inputs: the reference is then a fixed part of the kernel.
        size : int, default=50
            q, at most the number of different samples.
        random_state : int, default=0

        Returns
        -------
        TransportKernel
        """
        from sklearn.cluster import KMeans

        measures = read_measures(X, "TransportKernel.from_data")
        for row, measure in enumerate(measures):
            if not isinstance(measure, Samples):
                raise TypeError(f"TransportKernel.from_data: row {row} is a Gaussian; use GaussianTransport.from_data.")
        if not measures:
            raise ValueError("TransportKernel.from_data: X is empty; a reference needs at least one measure.")
        points = np.concatenate([measure.points for measure in measures])
        weights = np.concatenate([measure.weights for measure in measures])
        different = len(np.unique(points, axis=0))
        if not 1 <= operator.index(size) <= different:
            raise ValueError(f"TransportKernel.from_data: size is {size}, but there are {different} different samples.")
        means = KMeans(size, n_init=1, random_state=random_state).fit(points, sample_weight=weights * len(weights))
        return cls(means.cluster_centers_.tolist())

    def _rho(self):
        """ρ, checked; a point given twice is one point of twice the weight, because T is a function of the point."""
        item = self.reference if self.weights is None else (self.reference, self.weights)
        (rho,) = read_measures([item], "TransportKernel: reference")
        if not isinstance(rho, Samples):
            raise TypeError("TransportKernel: reference must be points; for a Gaussian one use GaussianTransport.")
        points, which = np.unique(rho.points, axis=0, return_inverse=True)
        if len(points) == len(rho.points):
            return rho
        return Samples(points, np.bincount(which.ravel(), weights=rho.weights))

    def _build(self, measures):
        rho = self._rho()
        q, d = rho.points.shape
        for row, measure in enumerate(measures):
            if dimension(measure) != d:
                raise ValueError(
                    f"TransportKernel: row {row} is a measure on {dimension(measure)} columns, the reference is on {d}."
                )
            if d > 1 and not isinstance(measure, Samples):
                raise TypeError(
                    f"TransportKernel: row {row} is a GaussianMeasure in {d} columns, and the reference is discrete; "
                    "use GaussianTransport, or samples."
                )
        out = np.empty((len(measures), q, d))

        def work(index, worker):
            out[index] = transport_map(rho, measures[index]) - rho.points

        _threads.run(work, len(measures))
        out *= np.sqrt(rho.weights)[:, None]
        return out.reshape(len(measures), q * d)


# ---------------------------------------------------------------------- Gaussian reference
class GaussianTransport(MeasureFeatures):
    """⟨m₀ − m_μ, m₀ − m_ν⟩ + tr((I − A_μ) S₀ (I − A_ν)): K_ρ for ρ = N(m₀, S₀) and Gaussian measures.

    T_ρ→μ(x) = m_μ + A_μ (x − m₀) with A = S₀^(−½) (S₀^½ Σ S₀^½)^½ S₀^(−½). Samples stand for the Gaussian of their mean
    and covariance, so that T is the best transport among linear ones.

    Parameters
    ----------
    mean : array-like of shape (d,) or a number, default=0.0
        m₀; a number is the same in every column.
    cov : array-like of shape (d, d) or a number, default=1.0
        S₀, positive definite; a number is that multiple of the identity.

    Examples
    --------
    >>> from mercer.kernels import GaussianMeasure, GaussianTransport
    >>> wide = GaussianMeasure([1.0, 0.0], [[4.0, 0.0], [0.0, 1.0]])
    >>> high = GaussianMeasure([0.0, 2.0], [[1.0, 0.0], [0.0, 9.0]])
    >>> GaussianTransport()([wide, high])
    array([[2., 0.],
           [0., 8.]])
    """

    def __init__(self, mean=0.0, cov=1.0): ...

    @classmethod
    def from_data(cls, X):
        """A kernel with the mean of the means and the mean of the covariances of the measures in X as reference."""
        pairs = [moments(measure) for measure in read_measures(X, "GaussianTransport.from_data")]
        if not pairs:
            raise ValueError("GaussianTransport.from_data: X is empty; a reference needs at least one measure.")
        kernel = cls(*(np.mean(part, axis=0).tolist() for part in zip(*pairs, strict=True)))
        kernel._rho(len(kernel.mean))
        return kernel

    def _rho(self, d):
        """(m₀, S₀^½, S₀^(−½)) in d columns, checked."""
        mean, cov = np.asarray(self.mean, dtype=float), np.asarray(self.cov, dtype=float)
        item = GaussianMeasure(np.full(d, mean) if mean.ndim == 0 else mean, cov * np.eye(d) if cov.ndim == 0 else cov)
        (rho,) = read_measures([item], "GaussianTransport: reference")
        if dimension(rho) != d:
            raise ValueError(f"GaussianTransport: the reference is on {dimension(rho)} columns, the measures on {d}.")
        values, vectors = eigen(rho.cov)
        if values[0] <= 1e-12 * values[-1]:
            raise ValueError(
                f"GaussianTransport: cov of the reference must be positive definite; its eigenvalues go from "
                f"{values[0]:.3g} to {values[-1]:.3g}. Leave out the columns that are constant."
            )
        root = np.sqrt(values)
        return rho.mean, (vectors * root) @ vectors.T, (vectors / root) @ vectors.T

    def _build(self, measures):
        d = dimension(measures[0])
        mean, root, inverse = self._rho(d)
        rows = []
        for measure in measures:
            m, S = moments(measure)
            values, vectors = eigen(root @ S @ root)
            middle = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
            # (A − I) S₀^½ = S₀^(−½) (S₀^½ Σ S₀^½)^½ − S₀^½, whose inner products are the trace
            rows.append(np.concatenate([m - mean, (inverse @ middle - root).ravel()]))
        return np.array(rows)
