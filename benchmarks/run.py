"""Every table of ``benchmarks``, side by side with the peers: ``make bench`` (all) or ``make bench-quick``.

Each (task, implementation) runs in a process of its own, one after the other, in turn over several rounds, so that
a busy moment of the machine hits all of them. Ratios are of the best times. Results go to ``docs/benchmarks.md``
and ``benchmarks/results.json``.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# (title, task, dtype, ours, [(peer, bar)], quick?)
TABLE = [
    ("RBF Gram, n = 10 000, d = 10, float64", "gram", "float64", "mercer", [("sklearn", 4.0)], True),
    ("RBF Gram, n = 10 000, d = 10, float32", "gram", "float32", "mercer", [("sklearn", 5.0)], True),
    ("KernelRidge fit, protein 10 000 rows, default", "krr", "float64", "mercer",
     [("sklearn", 3.0), ("potrf", 1 / 0.75)], True),
    ("KernelRidge fit, protein 10 000 rows, float64 only", "krr", "float64", "mercer float64",
     [("potrf", 1 / 1.15)], True),
    ("K v, n = 100 000, d = 10, float64", "matvec", "float64", "mercer",
     [("numpy", 2.5), ("jax", 1.0), ("pykeops", 3.0)], False),
    ("K v, n = 100 000, d = 10, float32", "matvec", "float32", "mercer",
     [("numpy", 2.5), ("jax", 1.0), ("pykeops", 10.0)], False),
    ("predict 100 000 rows from 10 000 points", "predict", "float64", "mercer", [("sklearn", 4.0)], True),
    ("50-row fit + predict, cold start", "cold", "float64", "mercer", [("sklearn", 1 / 1.3)], True),
    ("keggundirected, first 30 000 rows, merged", "duplicates", "float64", "merged 30k",
     [("unmerged 30k", 1.0)], False),
    ("keggundirected, all 63 608 rows, merged", "duplicates", "float64", "merged", [("unmerged", 10.0)], False),
]  # fmt: skip


def measure(task, impl, dtype):
    """One run in a process of its own; None if the peer is not installed or fails."""
    command = [sys.executable, str(HERE / "foundation.py"), task, impl, dtype]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONWARNINGS": "ignore"})
    if done.returncode:
        print(f"    {task} {impl}: failed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def limits():
    """What the machine gives: product, factorisation and exp, in this run."""
    import time

    import numpy as np
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
    names = ["numpy", "scipy", "scikit-learn", "numba", "jax", "pykeops"]
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return {"python": platform.python_version(), **found, "cores": os.cpu_count()}


def best(runs):
    """The best time over all rounds, and the run it is from."""
    runs = [run for run in runs if run]
    return min(runs, key=lambda run: min(run["seconds"])) if runs else None


def row(title, task, dtype, ours, peers, rounds):
    """Measure one line of the table: ours and its peers, in turn."""
    implementations = [ours, *(peer for peer, _ in peers)]
    runs = {impl: [] for impl in implementations}
    for _ in range(rounds):
        for impl in implementations:
            runs[impl].append(measure(task, impl, dtype))
    result = {"title": title, "task": task, "dtype": dtype, "ours": best(runs[ours]), "peers": []}
    for peer, bar in peers:
        other = best(runs[peer])
        entry = {"peer": peer, "bar": bar, "run": other}
        if other and result["ours"]:
            entry["ratio"] = min(other["seconds"]) / min(result["ours"]["seconds"])
            entry["met"] = entry["ratio"] >= bar
            mine, theirs = result["ours"].pop("predictions", None), other.pop("predictions", None)
            if mine and theirs:
                entry["largest difference"] = max(abs(a - b) for a, b in zip(mine, theirs, strict=True))
        result["peers"].append(entry)
    return result


def markdown(results, machine, seen):
    """The tables as a page."""
    lines = [
        "# Benchmarks",
        "",
        "Made by `make bench`. Ratio = best time of the peer / best time of mercer in the same run.",
        "",
    ]
    lines += [
        "| task | mercer s | MB | peer | peer s | MB | ratio | bar | met | accuracy: mercer; peer |",
        "|" + "---|" * 10,
    ]
    for result in results:
        ours = result["ours"]
        for entry in result["peers"]:
            other = entry["run"]
            if not ours or not other:
                lines.append(f"| {result['title']} | | | {entry['peer']} | not run | | | {entry['bar']:.2f} | | |")
                continue
            lines.append(
                f"| {result['title']} | {min(ours['seconds']):.3g} | {ours['peak MB']} | {entry['peer']} "
                f"| {min(other['seconds']):.3g} | {other['peak MB']} | {entry['ratio']:.2f} | {entry['bar']:.2f} "
                f"| {'yes' if entry['met'] else 'no'} | {accuracy(ours)}; {accuracy(other)} {extra(entry)} |"
            )
    lines += ["", "Limits of the machine in the same run:", ""]
    lines += [f"- {key}: {value}" for key, value in {**machine, **seen}.items()]
    return "\n".join(lines) + "\n"


def accuracy(run):
    return ", ".join(f"{k} {v:.2g}" if isinstance(v, float) else f"{k} {v}" for k, v in run.items()
                     if k not in ("seconds", "peak MB", "predictions"))  # fmt: skip


def extra(entry):
    return f"(largest difference {entry['largest difference']:.2g})" if "largest difference" in entry else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the short tasks only, one round")
    parser.add_argument("--only", help="tasks whose title contains this; they replace their lines of the last run")
    parser.add_argument("--rounds", type=int, default=None)
    arguments = parser.parse_args()
    rounds = arguments.rounds or (1 if arguments.quick else 2)
    machine, seen, results = limits(), versions(), []
    for title, task, dtype, ours, peers, quick in TABLE:
        if (arguments.quick and not quick) or (arguments.only and arguments.only not in title):
            continue
        once = 1 if task == "duplicates" else rounds
        results.append(row(title, task, dtype, ours, peers, once))
        print(markdown(results[-1:], {}, {}).split("---|\n", 1)[1].split("\n\n")[0], flush=True)
    if not arguments.quick:
        results = keep(results, machine, seen)
    print(markdown(results, machine, seen))


def keep(results, machine, seen):
    """Save the run; with --only, in place of the same lines of the last one."""
    store = HERE / "results.json"
    old = json.loads(store.read_text())["results"] if store.exists() else []
    new = {result["title"]: result for result in results}
    merged = [new.pop(line["title"], line) for line in old] + list(new.values())
    store.write_text(json.dumps({"machine": machine, "versions": seen, "results": merged}, indent=1))
    (HERE.parent / "docs" / "benchmarks.md").write_text(markdown(merged, machine, seen))
    return merged


if __name__ == "__main__":
    main()
