"""Split conformal among rows of like scale."""

import numpy as np
import pytest

from mercer.uncertainty import split


@pytest.mark.parametrize("targets", [1, 2])
def test_where_a_scale_is_wrong_for_some_rows_each_kind_is_covered(rng, targets):
    scale, new = rng.uniform(0.5, 1.5, 4000), rng.uniform(0.5, 1.5, 4000)
    own, other = (
        np.where(s > 1.0, 2.0, 0.5)[:, None] * s[:, None] * rng.standard_normal((4000, targets)) for s in (scale, new)
    )
    options = {"scale": scale, "new_scale": new}

    def covered(rows, **more):
        ends = split(own, np.zeros((4000, targets)), 0.9, **options, **more)
        return float(np.mean((ends[:, 0] <= other) & (other <= ends[:, 1]), where=rows[:, None]))

    for rows in (new < 0.95, new > 1.05):
        assert covered(rows, near=400) == pytest.approx(0.9, abs=0.025)
        assert abs(covered(rows) - 0.9) > 0.05
    np.testing.assert_array_equal(split(own, own, **options, near=4000), split(own, own, **options))


def test_a_scale_beyond_all_asks_the_rows_of_the_largest():
    scale = np.arange(1.0, 101.0)
    ends = split(
        scale[:, None] * scale[:, None], np.zeros((2, 1)), 0.9, scale=scale, new_scale=np.array([0.0, 1e3]), near=10
    )
    assert ends[0].tolist() == [[0.0], [0.0]]
    assert ends[1, 1, 0] == 1e3 * 100.0  # the 10th of the ten scores 91, …, 100


def test_too_few_rows_for_a_coverage_give_no_end():
    with pytest.warns(UserWarning, match="coverage"):
        ends = split(np.ones((50, 1)), np.zeros((1, 1)), 0.9, scale=np.arange(1.0, 51.0), new_scale=np.ones(1), near=5)
    assert np.isinf(ends).all()
