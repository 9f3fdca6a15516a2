"""The display of support vectors: rows in the right group, with one input and with several."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import SVR
from mercer.kernels import Gaussian
from mercer.plots import SupportVectorDisplay


def fitted(rng, d=1):
    X = rng.uniform(-2, 2, (50, d))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(50)
    return X, y, SVR(Gaussian(1.0), C=1.0, epsilon=0.3).fit(X, y)


def test_every_row_is_drawn_once_in_its_group(rng):
    X, y, model = fitted(rng)
    display = SupportVectorDisplay.from_estimator(model, X, y, x_name="time (s)", y_name="height (m)")
    groups = [display.rows_.get_offsets(), display.free_.get_offsets(), display.bounded_.get_offsets()]
    assert [len(group) for group in groups] == [50 - len(model.support_), model.free_.sum(), model.bounded_.sum()]
    assert np.allclose(np.sort(np.vstack(groups)[:, 1]), np.sort(y))
    f = model.predict(np.asarray(groups[2])[:, :1])
    assert (np.abs(np.asarray(groups[2])[:, 1] - f) >= 0.3 - 1e-6).all()
    ax = display.ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (s)", "height (m)")
    assert f"{len(model.support_)} of 50" in ax.get_title(loc="left")


def test_several_inputs_are_drawn_by_prediction_and_residual(rng):
    X, y, model = fitted(rng, 3)
    figure, ax = plt.subplots()
    display = SupportVectorDisplay.from_estimator(model, X, y, ax=ax)
    assert display.ax_ is ax and display.figure_ is figure
    assert ax.get_xlabel() == "prediction" and "residual" in ax.get_ylabel()
    assert np.allclose(display.y, y - model.predict(X))


def test_the_picture_goes_no_further_than_the_rows(rng):
    X, y, _ = fitted(rng, 3)
    display = SupportVectorDisplay.from_estimator(SVR(Gaussian(1.0), epsilon=0.3).fit(X, y + 1000.0), X, y + 1000.0)
    assert display.line_.get_xdata().min() == display.x.min() > 900


def test_a_tube_that_holds_all_and_wrong_rows(rng):
    X, y, model = fitted(rng)
    empty = SVR(Gaussian(1.0), epsilon=100.0).fit(X, y)
    display = SupportVectorDisplay.from_estimator(empty, X, y)
    assert "0 of 50" in display.ax_.get_title(loc="left")
    with pytest.raises(ValueError, match="50"):
        SupportVectorDisplay.from_estimator(model, X[:3], y[:3])
    with pytest.raises(ValueError, match="shape"):
        SupportVectorDisplay.from_estimator(model, X, np.column_stack([y, y]))
