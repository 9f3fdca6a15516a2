"""The demo reads a dirty table, says what was repaired and how good the model is, and writes the page alone."""

import pytest

from mercer.__main__ import main


def test_the_first_minute(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    text = capsys.readouterr().out
    for part in ("decimal comma", "'kg'", "totals", "above the header"):  # what was repaired
        assert part in text
    assert "Explains " in text and "a linear model" in text
    assert "matter most." in text and "Row F009 looks wrong." in text
    assert (tmp_path / "mercer_demo.html").as_uri() in text
    assert [path.name for path in tmp_path.iterdir()] == ["mercer_demo.html"]
    page = (tmp_path / "mercer_demo.html").read_text(encoding="utf-8")
    assert "F009" in page and "rain (mm)" in page
    assert main(["demo"]) == 2 and "--force" in capsys.readouterr().err


def test_without_a_command_it_says_how(capsys):
    assert main([]) == 2
    assert "demo" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["--help"])
def test_help_is_quick(capsys, word):
    assert main(["demo", word]) in (0, None)
    assert "spreadsheet" in capsys.readouterr().out
