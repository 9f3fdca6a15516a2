"""Fixtures of the solver tests."""

import pytest

from mercer._threads import one_blas_thread


@pytest.fixture
def one_thread():
    """One BLAS thread: on a busy machine small matrices wait long for the others."""
    with one_blas_thread():
        yield
