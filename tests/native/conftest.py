"""Every variant of the compiled library that this processor can run."""

import pytest

from mercer._native import Loops
from mercer._native.library import Library, LibraryError


def variants():
    """Their names; none where nothing was compiled."""
    found = []
    for name in ("v2", "v3", "v4", "base"):
        try:
            found.append(Library(name).variant)
        except LibraryError:
            continue
    return found


@pytest.fixture(params=variants())
def variant(request):
    """The loops of one variant."""
    return Loops(Library(request.param))
