"""The witness is true, and small."""

import numpy as np
import pytest

from mercer.solvers.witness import negative_witness
from solvers.plain_gram import PlainGram, gaussian, well_conditioned

pytestmark = pytest.mark.usefixtures("one_thread")


def assert_witness(K, witness, most):
    index, matrix, eigenvalue = witness
    assert np.array_equal(matrix, K[np.ix_(index, index)])
    assert np.isclose(np.linalg.eigvalsh(matrix)[0], eigenvalue)
    assert eigenvalue < 0
    assert len(set(index.tolist())) == len(index) <= most
    assert (np.diff(index) > 0).all()


@pytest.mark.parametrize("n", [0, 1, 2, 100, 700])
def test_no_witness_against_a_positive_matrix(n, rng):
    assert negative_witness(PlainGram(well_conditioned(n, rng))) is None
    assert negative_witness(PlainGram(gaussian(rng.standard_normal((n, 2))))) is None


def test_a_negative_diagonal_is_enough():
    K = np.diag([1.0, 2.0, -0.5])
    assert_witness(K, negative_witness(PlainGram(K)), 1)


def test_a_pair(rng):
    K = well_conditioned(60, rng)
    K[5, 40] = K[40, 5] = 4.0
    witness = negative_witness(PlainGram(K))
    assert_witness(K, witness, 2)
    assert witness[0].tolist() == [5, 40]


def test_three_points_where_no_pair_shows_it(rng):
    K = well_conditioned(50, rng)
    three = np.ix_([3, 17, 31], [3, 17, 31])
    K[three] = np.array([[1.0, 0.9, 0.9], [0.9, 1.0, -0.9], [0.9, -0.9, 1.0]])
    witness = negative_witness(PlainGram(K))
    assert_witness(K, witness, 3)
    assert witness[0].tolist() == [3, 17, 31]


def test_points_are_left_out_while_it_stays_negative(rng):
    X = rng.uniform(-1, 1, (200, 1))
    K = np.exp(-(np.abs(X - X.T) ** 3))  # positive definite only for exponents up to 2
    witness = negative_witness(PlainGram(K))
    assert_witness(K, witness, 12)


def test_a_hint_finds_a_needle_among_many(rng):
    n = 3000
    K = np.eye(n)
    K[1234, 2345] = K[2345, 1234] = 1.5
    hint = np.zeros(n)
    hint[[1234, 2345]] = 1.0, -1.0
    assert_witness(K, negative_witness(PlainGram(K), hint), 2)
    assert negative_witness(PlainGram(K)) is None  # not among the rows looked at


def test_nan_is_no_witness():
    assert negative_witness(PlainGram(np.array([[1.0, np.nan], [np.nan, 1.0]]))) is None
