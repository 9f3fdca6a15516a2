"""The quick tests notice each deliberate break of ``breaks.py``, and nothing where nothing is broken."""

import pytest

import breaks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("one", breaks.BREAKS, ids=[one.name for one in breaks.BREAKS])
def test_a_break_is_noticed(one):
    found = breaks.run(one)
    assert all(test for test, _ in found.values()), found


def test_the_source_as_it_is_passes():
    found = breaks.run(None)
    assert not any(test for test, _ in found.values()), found
