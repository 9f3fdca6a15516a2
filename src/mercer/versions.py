"""What runs here: the versions to put into a bug report."""

import importlib.metadata
import platform
import sys

import mercer
from mercer import _machine, _native, _threads

PACKAGES = ("numpy", "scipy", "scikit-learn", "safetensors", "polars", "matplotlib", "rdkit", "dask", "finufft")


def show_versions():
    """Print the versions of mercer, Python and what it uses, which loops run, and how many cores.

    Examples
    --------
    >>> import mercer
    >>> mercer.show_versions()
    mercer ...
    loops ...
    """
    lines = {"mercer": mercer.__version__, "loops": _native.describe(), "python": sys.version.split()[0]}
    lines |= {"system": platform.platform(), "cores": f"{_machine.cores()}, BLAS threads {_threads.blas_threads()}"}
    for name in PACKAGES:
        try:
            lines[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            lines[name] = "not installed"
    width = max(map(len, lines))
    print("\n".join(f"{name:{width}s}  {value}" for name, value in lines.items()))
