"""The demo prints the fit, draws it with matplotlib, and leaves nothing else behind."""

import sys

import pytest

from mercer.__main__ import main

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_picture(tmp_path, capsys):
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    for part in ("50 cars", "Gaussian(2.0) + Polynomial(", "λ in every convention", "0.01", "predicted", "Fit report"):
        assert part in text
    assert "The picture is in mercer_demo.png." in text
    assert (tmp_path / "mercer_demo.png").read_bytes().startswith(PNG)
    assert [path.name for path in tmp_path.iterdir()] == ["mercer_demo.png"]


def test_picture_under_another_name(tmp_path):
    main(["demo", "--output", "cars.svg"])
    assert "<svg" in (tmp_path / "cars.svg").read_text(encoding="utf-8")


def test_text(tmp_path, capsys):
    main(["demo", "--text"])
    assert "Fit report" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_it_says_so(tmp_path, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    main(["demo"])
    assert "pip install matplotlib" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_without_a_command_it_says_how(capsys):
    assert main([]) == 2
    assert "demo" in capsys.readouterr().out
