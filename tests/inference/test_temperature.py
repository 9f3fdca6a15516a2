"""The temperature: what it does to probabilities, and that few or well separated rows do not drive it to its end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.inference.temperature import apply_temperature, at_end, best_temperature


def test_probabilities_are_raised_to_a_power():
    p = np.array([[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    assert apply_temperature(p, 1.0) is p
    assert_allclose(apply_temperature(p, 0.5), p**2 / np.sum(p**2, axis=1, keepdims=True))


@pytest.mark.parametrize(("own", "n"), [(0.2, 4), (0.95, 30), (0.9999, 200)])
def test_all_right_or_all_wrong_has_no_end_as_its_minimum(own, n):
    T = best_temperature(np.tile([own, 1.0 - own], (n, 1)), np.zeros(n, dtype=int))
    assert not at_end(T)
    assert (T < 1.0) == (own > 0.5)


def test_many_rows_decide_against_the_prior():
    prob, y = np.tile([0.01, 0.99], (10_000, 1)), np.repeat([1, 0], [9000, 1000])
    assert_allclose(apply_temperature(prob[:1], best_temperature(prob, y))[0, 1], 0.9, atol=1e-3)
    assert at_end(best_temperature(np.tile([0.6, 0.4], (10_000, 1)), np.zeros(10_000, dtype=int)))
