"""What the tables share: a table that prints as it grows, a process for each measurement, versions and limits.

A script of tables takes ``--json FILE`` and writes its tables there too; ``run.py`` puts them on the page.
"""

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
PACKAGES = ["numpy", "scipy", "scikit-learn", "jax", "pykeops", "GPy", "tinygp", "torch", "gpytorch", "grakel",
            "libsvm-official", "mpmath"]  # fmt: skip
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Table:
    """Rows under columns ("a | b | c"); the head is printed with the first row, each row as soon as it is there."""

    def __init__(self, title, columns, note=""):
        self.title, self.columns, self.note, self.rows = title, columns.split(" | "), note, []

    def add(self, *cells):
        """Append a row and print it."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{self.title}: {len(cells)} cells for the {len(self.columns)} columns {self.columns}")
        if not self.rows:
            print("\n".join(head(self.title, self.columns)), flush=True)
        self.rows.append([plain(cell) for cell in cells])
        print(line(self.rows[-1]), flush=True)

    def as_dict(self):
        return {"title": self.title, "columns": self.columns, "rows": self.rows, "note": self.note}


def markdown(table):
    """The lines of a table that `Table.as_dict` made."""
    note = ["", table["note"]] if table["note"] else []
    return [*head(table["title"], table["columns"]), *map(line, table["rows"]), *note]


def head(title, columns):
    return ["", f"## {title}", "", line(columns), "|" + "---|" * len(columns)]


def line(cells):
    return "| " + " | ".join(shown(cell) for cell in cells) + " |"


def shown(cell):
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def plain(cell):
    """A value that JSON can hold; what is not finite becomes text."""
    cell = cell.item() if isinstance(cell, np.generic) else cell
    return str(cell) if isinstance(cell, float) and not np.isfinite(cell) else cell


def finish(tables, path):
    """Print the notes, the machine, and write the JSON where it was asked for."""
    for note in dict.fromkeys(table.note for table in tables if table.note):
        print(f"\n{note}")
    if path:
        Path(path).write_text(json.dumps([table.as_dict() for table in tables]))
    else:
        print("\n" + "\n".join(f"- {key}: {value}" for key, value in {**limits(), **versions()}.items()))


def alone(script, job, timeout=None):
    """The last line of ``python script JOB`` as JSON; {"failed": why} if it died, was too slow or printed none."""
    command = [sys.executable, str(HERE / script), json.dumps(job)]
    environment = os.environ | {"PYTHONWARNINGS": "default"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"failed": f"no answer in {timeout:g} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"failed": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:200]}
    return json.loads(lines[-1])


def limits():
    """What the machine gives: product, factorisation and exp, in this run."""
    from scipy.linalg.lapack import dpotrf, spotrf

    out, rng = {}, np.random.default_rng(0)

    def best(call):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return min(times)

    for dtype, potrf in ((np.float64, dpotrf), (np.float32, spotrf)):
        A = rng.standard_normal((4000, 4000)).astype(dtype)
        name = np.dtype(dtype).name
        out[f"gemm {name}, GFLOP/s"] = round(2 * 4000**3 / best(lambda A=A: A @ A) / 1e9)
        B = np.asfortranarray(A @ A.T / 4000 + np.eye(4000, dtype=dtype))
        out[f"potrf {name}, GFLOP/s"] = round(4000**3 / 3 / best(lambda B=B, potrf=potrf: potrf(B, lower=1)) / 1e9)
        x = -rng.random(2**16).astype(dtype)
        out[f"numpy exp {name}, one thread, Gexp/s"] = round(x.size / best(lambda x=x: np.exp(x)) / 1e9, 2)
    return out


def versions():
    """Python, the packages, the processor, and the thread counts that were set from outside."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    threads = {name: os.environ[name] for name in THREADS if name in os.environ}
    return {"python": platform.python_version(), **found, "cores": os.cpu_count(), "cpu": cpu(), **threads}


def cpu():
    """The processor by its name, and whether it has AVX-512: ratios to libraries that are compiled for it differ."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    name = next((line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")), "")
    return f"{name or platform.machine()} {'with' if 'avx512f' in text else 'without'} AVX-512"
