"""ProbabilityDisplay: one input and two, two classes and three, with and without rows."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import GaussianProcessClassifier
from mercer.kernels import Gaussian
from mercer.plots import ProbabilityDisplay


def fitted(rng, d, classes):
    X = rng.standard_normal((30, d))
    y = np.array(["ash", "beech", "oak"])[np.digitize(X[:, 0], [0.0, 0.7][: classes - 1])]
    return GaussianProcessClassifier(2.0 * Gaussian(1.0), criterion=None).fit(X, y), X, y


@pytest.mark.parametrize("classes", [2, 3])
def test_curves_over_one_input(rng, classes):
    model, X, y = fitted(rng, 1, classes)
    display = ProbabilityDisplay.from_estimator(model, X, y, names=["height (m)"])
    assert display.ax_.get_xlabel() == "height (m)"
    assert len(display.lines_) == (1 if classes == 2 else 3)
    assert len(display.points_) == classes
    c = 1 if classes == 2 else 2
    assert_allclose(display.lines_[-1].get_ydata(), model.predict_proba(display.grid[0][:, None])[:, c])
    assert (display.band is not None) == (classes == 2)
    if classes == 2:
        assert (display.band[0] <= display.prob[:, 1]).all()
        assert (display.prob[:, 1] <= display.band[1]).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_shades_over_a_plane(rng, classes):
    model, X, y = fitted(rng, 2, classes)
    _, ax = plt.subplots()
    display = ProbabilityDisplay.from_estimator(model, X, y, ax=ax)
    assert display.ax_ is ax
    assert display.prob.shape == ((121, 121, 2) if classes == 2 else (81, 81, 3))
    corner = np.array([[display.grid[0][0], display.grid[1][-1]]])
    assert_allclose(display.prob[0, -1], model.predict_proba(corner)[0], rtol=1e-9)
    assert display.boundary_ is not None
    assert ax.get_xlabel() == "x₁"
    assert ax.get_title(loc="left")
    again = display.plot()
    assert again.ax_ is not ax


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_and_no_rows(rng, library):
    _, X, y = fitted(rng, 2, 2)
    frame = pytest.importorskip(library).DataFrame({"width": X[:, 0], "length": X[:, 1]})
    model = GaussianProcessClassifier(2.0 * Gaussian(1.0), criterion=None).fit(frame, y)
    display = ProbabilityDisplay.from_estimator(model, frame)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("width", "length")
    assert display.points_ == []


def test_a_classifier_of_scikit_learn_and_a_constant_one(rng):
    from sklearn.linear_model import LogisticRegression

    _, X, y = fitted(rng, 1, 2)
    assert ProbabilityDisplay.from_estimator(LogisticRegression().fit(X, y), X, y).band is None
    flat = GaussianProcessClassifier(1e-9 * Gaussian(1.0), trend=None, criterion=None).fit(
        np.ones((4, 2)), [0, 0, 0, 1]
    )
    assert ProbabilityDisplay.from_estimator(flat, np.ones((4, 2)), [0, 0, 0, 1]).shades_ is not None


def test_three_inputs_cannot_be_drawn(rng):
    model, X, _ = fitted(rng, 3, 2)
    with pytest.raises(ValueError, match="columns"):
        ProbabilityDisplay.from_estimator(model, X)
