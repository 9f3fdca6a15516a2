"""Fixtures of the compiled loops: every variant that this processor runs, beside the twins in NumPy."""

import pytest

from mercer._native import Loops
from mercer._native.library import Library, LibraryError


def variants():
    """The names of the variants that run here; none where nothing was compiled."""
    found = []
    for name in ("v2", "v3", "v4", "base"):
        try:
            found.append(Library(name).variant)
        except LibraryError:
            continue
    return found


@pytest.fixture(params=variants() or [None], scope="session")
def compiled(request):
    """All loops of one variant."""
    if request.param is None:
        pytest.fail("nothing was compiled: run src/mercer/_native/build.py")
    return Loops(Library(request.param))


@pytest.fixture(scope="session")
def plain():
    """Their twins."""
    return Loops(None)
