"""The test problems of ``benchmarks/hansen.py``."""

import importlib.util
from pathlib import Path

_path = Path(__file__).resolve().parents[2] / "benchmarks" / "hansen.py"
_spec = importlib.util.spec_from_file_location("benchmarks_hansen", _path)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
PROBLEMS, noisy = _module.PROBLEMS, _module.noisy
