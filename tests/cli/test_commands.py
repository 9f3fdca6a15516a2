"""compare, plan, help, progress, and real processes: pipes, Ctrl-C, exit codes, what is imported."""

import ctypes
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from mercer.cli import Interrupted, Usage, _options, _session, catch_interrupts, main

SOURCE = str(Path(__file__).resolve().parents[2] / "src")


def process(*arguments, **options):
    """A real `python -m mercer`."""
    path = {**os.environ, "PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-m", "mercer", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=path, **options)


def test_compare(run, cars, tmp_path):
    code, out, _ = run(
        "compare", cars, "-t", "dist", "--ignore", "class", "--kernel", "Gaussian(1.0)", "--plot", tmp_path / "p.svg"
    )
    assert code == 0
    for part in ("LOO()", "GCV()", "Evidence(", "LCurve()", "Discrepancy()"):
        assert part in out
    assert "<svg" in (tmp_path / "p.svg").read_text(encoding="utf-8")
    found = json.loads(run("compare", cars, "-t", "dist", "--ignore", "class", "--ignore", "road", "--json")[1])
    assert found["schema"] == "mercer.compare/1"
    assert found["rules"]["LOO()"]["lam"] > 0
    assert run("compare", cars, "-t", "dist", "--plot", tmp_path / "p.svg")[0] == 2
    assert run("compare", cars, "-t", "dist", "--plot", "-")[0] == 2
    assert run("compare", cars, "-t", "dist", "--categorical", "dist")[0] == 2


def test_plan(run):
    code, out, _ = run("plan", "--rows", "2e6", "--features", "20", "--memory", "16GB")
    assert code == 0
    assert "n = 2000000: normal equations on at most" in out
    assert "The exact fit needs" in out
    assert json.loads(run("plan", "--rows", "500", "--json")[1])["solver"] == "cholesky"
    assert (
        json.loads(run("plan", "--rows", "1e6", "--features", "2", "--model", "gp", "--json")[1])["gram"] == "fourier"
    )
    assert "nearest rows" in run("plan", "--rows", "1e6", "--features", "5", "--model", "gp")[1]
    assert run("plan", "--rows", "500", "--model", "svr")[0] == 2
    assert run("plan", "--rows", "-5")[0] == 2
    assert run("plan", "--rows", "2.5")[0] == 2
    assert run("plan", "--rows", "1e300")[0] == 2


def test_without_a_command_it_says_how(run):
    code, out, _ = run()
    assert code == 2
    assert "fit" in out
    assert run("fitt")[0] == 2
    assert run("--version")[1].startswith("mercer ")


def test_a_reader_that_has_had_enough_is_no_error(monkeypatch, capsys):
    class Closed(io.StringIO):
        def flush(self):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    assert main(["plan", "--rows", "500"]) == 0
    assert capsys.readouterr().err == ""


def test_units():
    assert [_options.seconds(text, "t") for text in ("60s", "5m", "2h", "90", "1.5 min")] == [60, 300, 7200, 90, 90]
    assert [_options.bytes_of(text, "m") for text in ("8GB", "500 MB", "2GiB", "8e9")] == [8e9, 5e8, 2**31, 8e9]
    assert [_options.whole(text, "n") for text in ("500", "2e6", "20_000", "3k")] == [500, 2_000_000, 20_000, 3000]
    for wrong in ("", "x", "0", "-1s", "1 parsec", "inf", "nan", "1e999"):
        with pytest.raises(Usage):
            _options.seconds(wrong, "t")


def test_without_the_extra_there_is_the_demo_and_advice(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("x,y\n1,2\n")
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "polars", None)
        code, _, err = run("fit", "x.csv", "-t", "y")
    assert code == 1
    assert "install mercer[cli]" in err
    assert run("plan", "--rows", "500")[0] == 0
    assert run("--help")[0] == 0
    (tmp_path / "mercer_demo.html").write_text("mine")
    assert run("demo")[0] == 2


def test_progress_after_two_seconds_on_a_terminal_only(monkeypatch, capsys):
    settings = SimpleNamespace(quiet=False, no_progress=False)
    assert not _session.Session(settings).live  # stderr is captured: no terminal
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with _session.Session(settings) as session:
        session.stages(2)
        session.listener()
        assert capsys.readouterr().err == ""
        session.after = 0.0
        for step in ((), (), (1, 2), ()):
            session.listener(*step)
    err = capsys.readouterr().err
    assert err.index("search 1 of 2: 3 evaluations") < err.index("search 2 of 2: 1 evaluations")
    assert err.endswith("\r\x1b[K")


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from mercer.cli import main; codes = [main(['--help']), main(['fit', '--help'])];"
        "heavy = {'numpy', 'scipy', 'sklearn', 'polars', 'pandas', 'matplotlib'} & set(sys.modules);"
        "print(codes, sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": SOURCE}, capture_output=True, text=True
    )
    assert done.stderr.strip() == "[0, 0] []"
    assert "--target" in done.stdout


def test_pipes_and_exit_codes_of_a_real_process(fitted):
    with process("predict", fitted / "model.mercer", "-", stdin=subprocess.PIPE) as done:
        out, err = done.communicate((fitted / "cars.csv").read_bytes(), timeout=100)
    assert done.returncode == 0, err
    assert len(out.decode().splitlines()) == 25


def test_a_closed_pipe_is_no_error_of_a_real_process(fitted):
    for arguments in (("predict", fitted / "model.mercer", fitted / "cars.csv"), ("--help",)):
        with process(*arguments) as done:
            done.stdout.close()
            err = done.stderr.read()
        assert (done.returncode, err) == (0, b"")


def test_the_demo_does_not_overwrite(run, tmp_path):
    path = tmp_path / "first.html"
    path.write_text("mine")
    code, _, err = run("demo", "--output", path)
    assert code == 2
    assert "--force replaces it" in err
    assert path.read_text() == "mine"
    assert run("demo", "--output", tmp_path / "first.png")[0] == 2


def test_ctrl_c_in_the_middle_of_a_fit(tmp_path):
    """The search of 3000 rows takes longer than it takes us to interrupt it."""
    path, rows = tmp_path / "many.csv", range(3000)
    path.write_text("a,b,y\n" + "".join(f"{i % 97},{i % 89},{(i * i) % 101}\n" for i in rows), encoding="utf-8")
    with process("fit", path, "-t", "y", "-o", tmp_path / "m.mercer") as running:
        line = running.stderr.readline().decode()
        assert "on 3,000 rows" in line
        time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=100)
    # In an import that runs generated code Python itself ends the process by the signal, which a shell calls 130 too.
    assert running.returncode in (130, -signal.SIGINT)
    assert out == b""
    assert "nothing was written" in err.decode()
    assert [file.name for file in tmp_path.iterdir()] == ["many.csv"]


def callback(function):
    """Called from C, which has no use for what is raised in it."""
    return ctypes.CFUNCTYPE(None)(function)()


def dropped():
    callback(lambda: signal.raise_signal(signal.SIGINT))
    time.sleep(60)


def another_error():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise ImportError("a part failed to import") from None


@pytest.mark.parametrize("work", [dropped, another_error])
def test_ctrl_c_is_heard_where_libraries_do_not_pass_it_on(work):
    before, start = (sys.unraisablehook, signal.getsignal(signal.SIGINT)), time.monotonic()
    with pytest.raises(Interrupted) as caught, catch_interrupts(SimpleNamespace(written=["m.mercer"])):
        work()
    assert caught.value.written == ["m.mercer"]
    assert time.monotonic() - start < 30
    assert (sys.unraisablehook, signal.getsignal(signal.SIGINT)) == before


def test_what_is_not_ctrl_c_is_told_as_ever(monkeypatch):
    told, settings = [], SimpleNamespace(written=())
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: told.append(lost.exc_type))
    with pytest.raises(ImportError, match="a part"), catch_interrupts(settings):
        callback(lambda: [][0])
        raise ImportError("a part is missing")
    assert told == [IndexError]


def test_a_handler_of_the_caller_stays():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with catch_interrupts(SimpleNamespace(written=())):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT, signal.SIGINT]
