"""Fixtures of the kernel tests."""

import pytest

from mercer import _native, _threads, _tiles


@pytest.fixture(params=["numpy", "compiled"])
def loops(request, monkeypatch):
    """Every test that asks for it runs with the twins in NumPy and with the compiled loops."""
    if request.param == "numpy":
        for subject, twin in vars(_native.Loops(None)).items():
            monkeypatch.setattr(_native, subject, twin)
    return request.param


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles of 4 × 8, so that 13 inputs need many, on two threads."""
    monkeypatch.setattr(_tiles, "ROWS", 4)
    monkeypatch.setattr(_tiles, "COLUMNS", 8)
    monkeypatch.setattr(_tiles, "SMALL", 0)
    monkeypatch.setattr(_threads, "threads", lambda: 2)
