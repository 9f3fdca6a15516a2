"""Fixtures of the kernel tests."""

import pytest

from mercer import _native, _threads, _tiles


@pytest.fixture(params=["numpy", "compiled"])
def loops(request, monkeypatch):
    """Every test that asks for it runs without and with the compiled loops."""
    if request.param == "numpy":
        monkeypatch.setattr(_tiles, "loops", lambda *a: None)
        for subject in _native.plain.__all__:
            monkeypatch.setattr(_native, subject, getattr(_native.plain, subject))
    else:
        from mercer import _loops  # noqa: F401  # loaded is used

    return request.param


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles of 4 × 8, so that 13 inputs need many, on two threads."""
    monkeypatch.setattr(_tiles, "ROWS", 4)
    monkeypatch.setattr(_tiles, "COLUMNS", 8)
    monkeypatch.setattr(_tiles, "SMALL", 0)
    monkeypatch.setattr(_threads, "threads", lambda: 2)
