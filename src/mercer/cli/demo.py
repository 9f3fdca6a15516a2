"""``mercer demo``: the first minute, on a table as a spreadsheet left it."""

import contextlib
import io
import json
import os
import shlex
import shutil
import sys
import time
from importlib import resources
from pathlib import Path

from mercer.cli._app import run_command
from mercer.cli._tables import check_free

TABLE, TARGET = "harvest.csv", "yield (t)"


def _command_name():
    """What has to be typed for mercer, here: its name where the shell finds this one, else its place."""
    own = Path(sys.executable).parent / ("mercer.exe" if os.name == "nt" else "mercer")
    found = shutil.which("mercer")
    if not own.exists() or (found and Path(found).resolve() == own.resolve()):
        return "mercer"
    return shlex.quote(os.path.relpath(own) if own.is_relative_to(Path.cwd()) else str(own))


def run_demo(settings):
    """Read, choose, fit, judge, and say where the page is: one command, whose answer is told in a few lines."""
    check_free(settings.output, "--output", settings.force, (".html", ".htm"))
    began, said = time.perf_counter(), io.StringIO()
    with resources.as_file(resources.files("mercer.datasets").joinpath(TABLE)) as path:
        options = ["--target", TARGET, "--model", "gp", "--quick", "--report", settings.output]
        typed = ["fit", str(path), *options, "--force", "--json"]
        print(f"$ mercer {shlex.join(['fit', str(path), *options])}\n")
        with contextlib.redirect_stdout(said):
            run_command([*typed, "--quiet"])
    result = json.loads(said.getvalue())
    print("What was repaired in the table")
    print("\n".join(f"  - {note}" for note in result["notes"] if "judged" not in note))
    seconds = time.perf_counter() - began
    print(f"\nThe model: {result['model']['title']}, chosen, fitted and judged in {seconds:.0f} s")
    print(f"  {' '.join(result['verdict'][:-1])}")
    page = Path(settings.output).resolve()
    print(f"\nThe page about it, with sliders, is in {settings.output}: open {page.as_uri()}")
    print(f"Your own table: {_command_name()} fit your.csv --target COLUMN --report page.html")
    return 0
