"""The evidence of rows from their points, against the evidence of the rows."""

import numpy as np
from numpy.testing import assert_allclose

from mercer.gram import Rows
from mercer.kernels import Gaussian
from mercer.selection import Evidence
from mercer.selection.search.objective import CriterionObjective, Record


def linear(X):
    return np.hstack([np.ones((len(X), 1)), X])


def test_value_and_gradient_are_those_of_the_rows(rng):
    X = rng.standard_normal((8, 2))[rng.integers(0, 8, 25)]
    y, w = rng.standard_normal((25, 2)), rng.uniform(0.5, 3.0, 25)
    kernel, z = 1.5 * Gaussian([0.7, 1.2]), np.array([0.3, -0.2, 0.1, -1.5])
    rows = Rows(X, y, w, linear)
    assert rows.merged > 10
    few, many = (CriterionObjective(kernel, some, Evidence(), Record()) for some in (rows, rows.apart()))
    (value, gradient), (expected, slope) = few.exact(z), many.exact(z)
    assert_allclose(value, expected, rtol=1e-11)
    assert_allclose(gradient, slope, rtol=1e-8)
    assert_allclose(few.exact(z, False)[0], expected, rtol=1e-11)


def test_some_of_the_points_take_their_share_of_what_is_left_within_them(rng):
    X = np.repeat(rng.standard_normal((5, 1)), 3, axis=0)
    rows = Rows(X, rng.standard_normal((15, 1)))
    some = rows.take(np.array([0, 2]))
    assert_allclose(some.within_squares, rows.within_squares[[0, 2]])
    assert Evidence().extras(some)["spread"] is some.within_squares
