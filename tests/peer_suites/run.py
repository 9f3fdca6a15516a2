"""Run scikit-learn's own tests against mercer.compat, and print what passed, file by file.

``python tests/peer_suites/run.py`` runs all four files, ``run.py test_svm.py`` one. The files are those inside the
installed scikit-learn. The exit code is 1 if a test failed that is not listed in ``differences.py``.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent / "src"
FILES = {
    "test_kernel_ridge.py": "tests/test_kernel_ridge.py",
    "test_gpr.py": "gaussian_process/tests/test_gpr.py",
    "test_gpc.py": "gaussian_process/tests/test_gpc.py",
    "test_svm.py": "svm/tests/test_svm.py",
}
COUNT = re.compile(r"(\d+) (passed|failed|xfailed|xpassed|error|errors|skipped)\b")


def suite(name, *options):
    """(counts, output) of one file; listed are the tests of ``differences.py``, expected those that scikit-learn marks.

    The settings of our own tests are not used: warnings that scikit-learn's tests expect are theirs to handle.
    """
    package = Path(find_spec("sklearn").origin).parent
    paths = [str(HERE.parent), str(SOURCE), os.environ.get("PYTHONPATH", "")]
    command = [
        *(sys.executable, "-m", "pytest", str(package / FILES[name])),
        *("-q", "-rxX", "-c", os.devnull, "--rootdir", str(package), "--import-mode", "prepend"),
        *("-p", "peer_suites.swap", "-p", "no:cacheprovider", "-p", "no:randomly", *options),
    ]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=HERE)
    output = done.stdout + done.stderr
    last = next((line for line in reversed(done.stdout.splitlines()) if COUNT.search(line)), "")
    counts = dict.fromkeys(("passed", "listed", "expected", "failed", "skipped"), 0)
    for number, what in COUNT.findall(last):
        place = {"xpassed": "passed", "xfailed": "expected", "error": "failed", "errors": "failed"}.get(what, what)
        counts[place] += int(number)
    counts["listed"] = len(re.findall(r"^XFAIL .* - listed: ", output, re.MULTILINE))
    counts["expected"] -= counts["listed"]
    if done.returncode != 0 and not counts["failed"]:
        counts["failed"] = 1  # pytest itself could not go on
    return counts, output


def main(names):
    """Print a table, and the output of what failed; return the exit code."""
    unknown = [name for name in names if name not in FILES]
    if unknown:
        print(f"no such file: {', '.join(unknown)}; there are {', '.join(FILES)}", file=sys.stderr)
        return 2
    print(f"{'file':<22}{'passed':>8}{'listed':>8}{'failed':>8}{'skipped':>9}   expected by scikit-learn to fail")
    failed, names = 0, names or [*FILES]
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(names, pool.map(suite, names), strict=True))
    for name, (counts, output) in found.items():
        failed += counts["failed"]
        numbers = f"{counts['passed']:>8}{counts['listed']:>8}{counts['failed']:>8}{counts['skipped']:>9}"
        print(f"{name:<22}{numbers}   {counts['expected']}", flush=True)
        if counts["failed"]:
            print(output)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
