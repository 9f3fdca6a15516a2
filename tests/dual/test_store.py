"""Where rows of K come from: evaluated, stored and cached ones are the same rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer import _native
from mercer._native import plain
from mercer.dual import _store
from mercer.gram import TiledGram
from mercer.kernels import Gaussian


@pytest.fixture
def K(rng):
    return TiledGram(2.0 * Gaussian([0.7, 1.5, 1.0]), rng.standard_normal((700, 3)))


def stores(K):
    yield _store.Stored(_store.dense(K, np.float32))
    yield _store.Evaluated(K, True)
    yield _store.Cached(K, 64)


def test_all_give_the_same_rows(K, rng):
    whole, index = K.dense(), np.sort(rng.permutation(700)[:50])
    coef = rng.standard_normal(50)
    coef[::3] = 0.0
    for store in stores(K):
        assert store.square(index) == pytest.approx(whole[np.ix_(index, index)], abs=1e-6)
        assert store.square(index, block=True) == pytest.approx(whole[np.ix_(index, index)], abs=1e-6)
        g = np.ones(700)
        assert store.add(index, coef, g) == np.count_nonzero(coef)
        assert g == pytest.approx(1.0 + whole[:, index] @ coef, abs=1e-5)


@pytest.mark.parametrize("fits", [True, False])
def test_what_is_evaluated_often_is_stored_if_it_fits(K, rng, fits):
    store = _store.Evaluated(K, fits)
    index, g = np.arange(700), np.zeros(700)
    for _ in range(7):
        store.add(index, np.ones(700), g)
    assert (store.stored is not None) == fits
    assert g == pytest.approx((7) * K.dense().sum(axis=0), rel=1e-5)
    few = np.array([5, 17, 400])
    assert store.square(few) == pytest.approx(K.dense()[np.ix_(few, few)], abs=1e-6)


@pytest.mark.parametrize("loops", [_native.dual, plain.dual])
def test_a_block_that_shares_rows_with_the_last_one_is_the_same(loops, rng, monkeypatch):
    """Rows of the last block come from its square and by symmetry; nothing of a block before it is left."""
    monkeypatch.setattr(_native, "dual", loops)
    M = rng.standard_normal((300, 300)).astype(np.float32)
    M = M + M.T
    store = _store.Stored(M)
    for count in (40, 60, 60, 17, 60):
        index = np.sort(rng.choice(120, count, replace=False))  # of 120, so that about half are shared
        assert_array_equal(store.square(index, block=True), M[np.ix_(index, index)])
        few = rng.choice(300, 5, replace=False)
        assert_array_equal(store.square(few), M[np.ix_(few, few)])  # not a block: any order, nothing kept
