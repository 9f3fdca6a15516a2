"""The evidence of rows from their points, against the evidence of the rows."""

import numpy as np
from numpy.testing import assert_allclose

from mercer.gram.merge import merge_rows
from mercer.kernels import Gaussian
from mercer.selection import Evidence
from mercer.selection.search.objective import Objective, Record
from mercer.selection.merged import MergedEvidence


def test_value_and_gradient_are_those_of_the_rows(rng):
    X = rng.standard_normal((8, 2))[rng.integers(0, 8, 25)]
    y, w = rng.standard_normal((25, 2)), rng.uniform(0.5, 3.0, 25)
    points, mean, c, _, spread = merge_rows(X, y, w)
    kernel, z = 1.5 * Gaussian([0.7, 1.2]), np.array([0.3, -0.2, 0.1, -1.5])
    H = np.hstack([np.ones((25, 1)), X])
    rows = Objective(kernel, X, y, Evidence(), Record(), weight=w, trend=H)
    few = Objective(
        kernel, points, mean, MergedEvidence(spread), Record(), weight=c,
        trend=np.hstack([np.ones((len(points), 1)), points]),
    )  # fmt: skip
    (value, gradient), (expected, slope) = few._evaluate(z, True), rows._evaluate(z, True)
    assert_allclose(value, expected, rtol=1e-11)
    assert_allclose(gradient, slope, rtol=1e-8)
    assert_allclose(few._evaluate(z, False)[0], expected, rtol=1e-11)


def test_restrict_takes_the_share_of_the_points():
    criterion = MergedEvidence(np.array([[1.0], [2.0], [4.0]]))
    assert criterion.restrict(np.array([0, 2])).spread.sum() == 5.0
    assert criterion.name == "Evidence()"
