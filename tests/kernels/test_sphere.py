"""Sphere: the chord, poles and the date line, and neighbours across them."""

import numpy as np
import pytest

from mercer import GaussianProcessRegressor, Neighbours
from mercer.kernels import Exponential, Gaussian, Sphere


def test_it_is_the_kernel_of_the_chord(rng):
    X = np.column_stack([np.degrees(np.arcsin(rng.uniform(-1, 1, 30))), rng.uniform(-180, 180, 30)])
    lat, lon = np.radians(X).T
    cosine = np.sin(lat)[:, None] * np.sin(lat) + np.cos(lat)[:, None] * np.cos(lat) * np.cos(lon[:, None] - lon)
    chord2 = 2.0 * 6371.0**2 * (1.0 - cosine)
    np.testing.assert_allclose(Sphere(Gaussian(2000.0))(X), np.exp(-0.5 * chord2 / 2000.0**2), atol=1e-12)


def test_poles_and_the_date_line_are_places_like_others():
    k = Sphere(Exponential(500.0))
    assert k([[10.0, 180.0]], [[10.0, -180.0]])[0, 0] > 1 - 1e-10
    assert k([[-90.0, 0.0]], [[-90.0, 77.0]])[0, 0] > 1 - 1e-10
    np.testing.assert_allclose(k([[10.0, 370.0]], [[0.0, 0.0]]), k([[10.0, 10.0]], [[0.0, 0.0]]), rtol=1e-12)


def test_neighbours_across_the_date_line_and_the_pole(rng):
    X = np.column_stack([np.degrees(np.arcsin(rng.uniform(-1, 1, 3000))), rng.uniform(-180, 180, 3000)])

    def f(X):  # smooth on the sphere
        lat, lon = np.radians(X).T
        return np.sin(lat) + np.cos(lat) * np.cos(3 * lon) ** 2 * np.cos(lat)

    model = GaussianProcessRegressor(Sphere(Gaussian(2000.0)), 1e-4, criterion=None, approximation=Neighbours(40))
    model.fit(X, f(X))
    edges = np.array([[0.0, 180.0], [0.0, -180.0], [40.0, 179.999], [90.0, 0.0], [90.0, 123.0], [-90.0, -50.0]])
    np.testing.assert_allclose(model.predict(edges), f(edges), atol=0.02)
    assert abs(np.diff(model.predict(edges[:2]))[0]) < 1e-9 and abs(np.diff(model.predict(edges[3:5]))[0]) < 1e-9


def test_what_is_no_place_is_refused():
    with pytest.raises(ValueError, match="row 1,.* 120"):
        Sphere(Gaussian())([[10.0, 0.0], [120.0, 0.0]])
    with pytest.raises(ValueError, match="1"):
        Sphere(Gaussian())([[1.0]])
    with pytest.raises(ValueError, match="radius"):
        Sphere(Gaussian(), -1.0)([[1.0, 2.0]])
