"""Kernels of places on a sphere: latitude and longitude as points in space, right at poles and the date line."""

import numpy as np

from mercer.kernels.composite import Moved
from mercer.kernels.words import phrase


class Sphere(Moved):
    """k(p(x), p(z)),  p = R (cos φ cos ψ, cos φ sin ψ, sin φ) of latitude φ and longitude ψ: by the chord.

    The first two columns are latitude and longitude in degrees; columns after them (a height, a time) stay as they are.
    A distance along the sphere in a kernel of the plane is not positive semi-definite: four places on the equator are
    enough to see it.

    Parameters
    ----------
    kernel : Kernel
        Of three columns (and further ones); length scales are in the unit of the radius.
    radius : float, default=6371.0
        R; that of the Earth in km.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Sphere
    >>> kernel = Sphere(Gaussian(1000.0))
    >>> kernel([[0.0, 179.9], [90.0, 5.0]], [[0.0, -179.9], [90.0, -120.0]]).round(3)  # 22 km apart; the same pole
    array([[1., 0.],
           [0., 1.]])

    The great-circle distance of places on the equator, in the Gaussian kernel:

    >>> import numpy as np
    >>> angle = np.arange(0.0, 360.0, 90.0)
    >>> apart = np.abs(angle[:, None] - angle)
    >>> apart = np.minimum(apart, 360.0 - apart)
    >>> float(np.linalg.eigvalsh(np.exp(-0.5 * (apart / 150.0) ** 2)).min()) < -0.02  # no kernel
    True
    >>> float(np.linalg.eigvalsh(Sphere(Gaussian(150.0), 180.0 / np.pi)(np.c_[0 * angle, angle])).min()) > 0
    True
    """

    stationary = False  # a shift of degrees turns nothing

    def __init__(self, kernel, radius=6371.0): ...

    def _phrase(self, place):
        return f"{phrase(self.kernel, place)} on the sphere"

    def _angles(self, X):
        """(φ, ψ) in radians, checked."""
        if X.shape[1] < 2:
            raise ValueError(f"Sphere: X needs latitude and longitude, two columns; it has {X.shape[1]}.")
        if not (np.isfinite(self.radius) and self.radius > 0):
            raise ValueError(f"Sphere: radius must be positive and finite, got {self.radius}.")
        wrong = np.flatnonzero(np.abs(X[:, 0]) > 90.0 + 1e-9)
        if wrong.size:
            raise ValueError(
                f"Sphere: the latitude of row {wrong[0]}, the first column, is {X[wrong[0], 0]:.6g}; it lies between "
                "-90 and 90 degrees. Are the columns longitude and latitude?"
            )
        return np.radians(X[:, 0]), np.radians(X[:, 1])

    def _inside(self, X):
        """Points in space, in X's dtype."""
        lat, lon = self._angles(X)
        across = np.cos(lat)
        places = self.radius * np.column_stack([across * np.cos(lon), across * np.sin(lon), np.sin(lat)])
        return np.ascontiguousarray(np.hstack([places, X[:, 2:]]).astype(X.dtype, copy=False))

    def in_space(self, X):
        """Points in space."""
        return self._inside(X)

    def matern_parameters(self, d):
        """Those of k in space."""
        return self.kernel.matern_parameters(d)

    def _dx(self, X, Z):
        lat, lon = self._angles(X)
        unit, zero = np.radians(1.0) * self.radius, np.zeros(len(X))
        north = unit * np.column_stack([-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)])
        east = unit * np.column_stack([-np.cos(lat) * np.sin(lon), np.cos(lat) * np.cos(lon), zero])
        slopes = self.kernel.dx(self._inside(X), self._inside(Z))
        turned = [np.einsum("mnj,mj->mn", slopes[:, :, :3], way) for way in (north, east)]
        return np.concatenate([np.stack(turned, axis=2), slopes[:, :, 3:]], axis=2)
