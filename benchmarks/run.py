"""Every table of ``benchmarks``, side by side with the peers: ``make bench`` (all) or ``make bench-quick``.

Each (task, implementation) runs in a process of its own, one after the other, in turn over several rounds, so that
a busy moment of the machine hits all of them. Ratios are of the best times. Results go to ``docs/benchmark_tables.md``
and ``benchmarks/results.json``, each as soon as it is there. A whole run takes two hours. ``--full`` makes the tables
with ten splits, the largest data and the slow peers instead, which have a part of the page of their own: many hours,
in one go or in several: ``--older WHEN`` leaves alone what was measured since then.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import tables
from tables import HERE, cpu, limits, versions

STORE = HERE / "results.json"
COMPILED_SINCE = "2026-11-19"
LONG_PART = "## Long runs\n\nMade by `make bench BENCH_ARGS=--full`: ten splits, the largest data, the slow peers."
QUIET = {"PYTHONWARNINGS": "ignore"}
LONG = ", long"  # after the name of a table that --full made: it does not take the place of the short one

# (title, task, dtype, ours, [(peer, bar)], when): when is "quick" for every run, "usual" for all but --quick, "full".
TABLE = [
    ("RBF Gram, n = 10 000, d = 10, float64", "gram", "float64", "mercer", [("sklearn", 4.0)], "quick"),
    ("RBF Gram, n = 10 000, d = 10, float32", "gram", "float32", "mercer", [("sklearn", 5.0)], "quick"),
    ("KernelRidge fit, protein 10 000 rows, default", "krr", "float64", "mercer",
     [("sklearn", 3.0), ("potrf", 1 / 0.75)], "quick"),
    ("KernelRidge fit, protein 10 000 rows, float64 only", "krr", "float64", "mercer float64",
     [("potrf", 1 / 1.15)], "usual"),
    ("K v, n = 100 000, d = 10, float64", "matvec", "float64", "mercer",
     [("numpy", 2.5), ("jax", 1.0), ("pykeops", 3.0)], "usual"),
    ("K v, n = 100 000, d = 10, float32", "matvec", "float32", "mercer",
     [("numpy", 2.5), ("jax", 1.0), ("pykeops", 10.0)], "usual"),
    ("predict 100 000 rows from 10 000 points", "predict", "float64", "mercer", [("sklearn", 4.0)], "quick"),
    ("50-row fit + predict, cold start", "cold", "float64", "mercer", [("sklearn", 1 / 1.3)], "quick"),
    ("keggundirected, first 30 000 rows, merged", "duplicates", "float64", "merged 30k",
     [("unmerged 30k", 1.0)], "usual"),
    ("keggundirected, all 63 608 rows, merged", "duplicates", "float64", "merged", [("unmerged", 10.0)], "full"),
]  # fmt: skip

# What a task cannot do without: (limit of the machine, how much of it), a symmetric matrix counted once.
WORK = {
    "gram": ("numpy exp", 10_000**2 / 2),
    "krr": ("potrf", 10_000**3 / 3),
    "matvec": ("numpy exp", 100_000**2 / 2),
    "predict": ("numpy exp", 10_000 * 100_000),
}

# (name, arguments or None, what --full adds or None, quick?): scripts that print tables; None: not in such a run.
# The last value of an argument given twice counts. Those that take hours with --full are last.
SCRIPTS = [
    ("small", "", None, False),
    ("small_intervals", "--seeds 6", "--seeds 20", False),
    ("selection loo", "", None, False),
    ("selection gradient", "", None, False),
    ("selection rules", "", None, False),
    ("gp usps", "", None, False),
    ("gp evaluation", "", None, False),
    ("gp fit", "", "--slow", False),
    ("gp gpc", "", None, False),
    ("gp inference", "", None, True),
    ("objects_tables", "", "--rows 3000 --splits 10", False),
    ("objects_measures bags", "", None, False),
    ("objects_measures molecules", "--splits 2", "--splits 10", False),
    ("objects_measures qm7", "--splits 1", "--splits 5", False),
    ("objects_measures speed", "", None, False),
    ("objects_sequences mutag", "--repeats 2", "--repeats 10", False),
    ("objects_sequences strings", "--repeats 2", "--repeats 10", False),
    ("objects_sequences gram", "", None, False),
    ("svr", "small protein fine path unscaled prediction", "kin40k", False),
    ("machine mcycle", "--repeats 1", "--repeats 3", False),
    ("machine flights", None, "50000", False),
    ("fails_safely", "", None, True),
    ("selection uci", "--names airfoil wine concrete energy --splits 2 --peer-splits 1",
     "--names airfoil wine concrete energy sml --splits 10 --peer-splits 10", False),
    ("gp uci", "--splits 1", "--splits 10 --slow --slow-splits 1", False),
    ("gp exact", None, "--splits 2", False),
]  # fmt: skip


def measure(task, impl, dtype):
    """One run in a process of its own; None if the peer is not installed or fails."""
    command = [sys.executable, str(HERE / "foundation.py"), task, impl, dtype]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | QUIET)
    if done.returncode:
        print(f"    {task} {impl}: failed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def script(name, arguments):
    """The tables of one script, in a process that prints them as they grow; None if it failed."""
    file, *task = name.split()
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "tables.json")
        command = [sys.executable, str(HERE / f"{file}.py"), *task, *arguments.split(), "--json", target]
        start = time.perf_counter()
        done = subprocess.run(command, env=os.environ | QUIET)
        if done.returncode:
            print(f"    {name}: failed with exit code {done.returncode}", file=sys.stderr)
            return None
        with open(target, encoding="utf-8") as stream:
            found = json.load(stream)
    shown = f"python benchmarks/{' '.join([f'{file}.py', *task, *arguments.split()])}"
    seconds = round(time.perf_counter() - start)
    return {"name": name, "command": shown, "seconds": seconds, "when": now(), "tables": found}


def now():
    """Day and minute, for the page: a table made with --only is younger than the others."""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime())


def best(runs):
    """The best time over all rounds, and the run it is from."""
    runs = [run for run in runs if run]
    return min(runs, key=lambda run: min(run["seconds"])) if runs else None


def seconds_at_limit(task, dtype, machine):
    """Seconds of what the task cannot do without, at the limits of the machine on all cores; None if none is known."""
    if task not in WORK:
        return None
    limit, amount = WORK[task]
    key = f"potrf {dtype}, GFLOP/s" if limit == "potrf" else f"numpy exp {dtype}, one thread, Gexp/s"
    return amount / (1e9 * machine[key] * (1 if limit == "potrf" else os.cpu_count()))


def row(title, task, dtype, ours, peers, rounds, machine):
    """Measure one line of the table: ours and its peers, in turn."""
    implementations = [ours, *(peer for peer, _ in peers)]
    runs = {impl: [] for impl in implementations}
    for _ in range(rounds):
        for impl in implementations:
            runs[impl].append(measure(task, impl, dtype))
    result = {"title": title, "task": task, "dtype": dtype, "when": now(), "ours": best(runs[ours]), "peers": []}
    result |= {"at limit": seconds_at_limit(task, dtype, machine), "cpu": cpu()}
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


def markdown(results, machine, seen, scripts=()):
    """The tables as a page."""
    lines = [
        "# Benchmark tables",
        "",
        "Made by `make bench`. Ratio = best time of the peer / best time of mercer in the same run. Under each table:",
        "the command that made it, what it took and when it was (UTC); `--only NAME` makes one of them again. Of the",
        "limit: seconds at the limit of the machine (below) / seconds of mercer, for the part no method can leave out:",
        "one exp for each entry of K on all cores, or one float64 Cholesky factorisation; above 1 it was faster.",
        "",
        f"Tables dated before {COMPILED_SINCE} are of a version whose loops numba had compiled before the clock",
        "started; later ones are of the library in C. [Benchmarks](benchmarks.md) has first calls of fresh processes.",
        "",
    ]
    lines += [
        "| task | mercer s | MB | of the limit | peer | peer s | MB | ratio | bar | met | accuracy: mercer; peer |",
        "|" + "---|" * 11,
    ]
    for result in results:
        ours = result["ours"]
        for entry in result["peers"]:
            other = entry["run"]
            if not ours or not other:
                lines.append(f"| {result['title']} | | | | {entry['peer']} | not run | | | {entry['bar']:.2f} | | |")
                continue
            lines.append(
                f"| {result['title']}{place(result)} | {min(ours['seconds']):.3g} | {ours['peak MB']} "
                f"| {fraction(result)} | {entry['peer']} "
                f"| {min(other['seconds']):.3g} | {other['peak MB']} | {entry['ratio']:.2f} | {entry['bar']:.2f} "
                f"| {'yes' if entry['met'] else 'no'} | {accuracy(ours)}; {accuracy(other)} {extra(entry)} |"
            )
    days = sorted(result["when"] for result in results if result.get("when"))
    lines += ["", f"`python benchmarks/foundation.py`, {days[0]} to {days[-1]}"] if days else []
    for entry in sorted(scripts, key=is_long):
        lines += ["", LONG_PART] if is_long(entry) and LONG_PART not in lines else []
        for table in entry["tables"]:
            lines += [*tables.markdown(table), "", made(entry)]
    lines += ["", "## Limits of the machine in the same run", ""]
    lines += [f"- {key}: {value}" for key, value in {**machine, **seen}.items()]
    return "\n".join(lines) + "\n"


def is_long(entry):
    """Whether --full made it."""
    return entry["name"].endswith(LONG)


def made(entry):
    """How and when the tables of a script were made."""
    seconds = f", {entry['seconds']} s" if entry.get("seconds") else ""
    on = entry.get("versions", {}).get("cpu")
    where = f", on {on}" if on else ""
    return f"`{entry['command']}`{seconds}, {entry['when']}{where}" if entry.get("when") else f"`{entry['command']}`"


def place(result):
    """On which processor, where that is known."""
    return f" ({result['cpu']})" if result.get("cpu") else ""


def fraction(result):
    """How near to the limit of the machine, as a cell."""
    known = result.get("at limit")
    return "" if known is None else f"{known / min(result['ours']['seconds']):.2f}"


def accuracy(run):
    return ", ".join(f"{k} {v:.2g}" if isinstance(v, float) else f"{k} {v}" for k, v in run.items()
                     if k not in ("seconds", "peak MB", "predictions"))  # fmt: skip


def extra(entry):
    return f"(largest difference {entry['largest difference']:.2g})" if "largest difference" in entry else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the short tasks only, one round")
    parser.add_argument(
        "--only", help="tasks and scripts with this in the name; they replace their part of the last run"
    )
    parser.add_argument("--full", action="store_true", help="the long tables: ten splits, slow peers; many hours")
    parser.add_argument("--older", default="9999", help="'YYYY-MM-DD HH:MM', UTC: only what was measured before")
    parser.add_argument("--rounds", type=int, default=None)
    arguments = parser.parse_args()
    rounds = arguments.rounds or (1 if arguments.quick else 2)
    if arguments.quick:
        os.environ["BENCH_ENOUGH"] = "4"  # what takes longer is measured twice at most
    machine, seen, results, scripts = limits(), versions(), [], []
    store = (lambda *_: (results, scripts)) if arguments.quick else keep
    recent = {} if arguments.quick else since(arguments.older)
    kinds = {"quick"} if arguments.quick else {"full"} if arguments.full else {"quick", "usual"}

    def wanted(name):
        return (arguments.only or "") in name and name not in recent

    for title, task, dtype, ours, peers, kind in TABLE:
        if kind in kinds and wanted(title):
            once = 1 if task == "duplicates" else rounds
            results.append(row(title, task, dtype, ours, peers, once, machine))
            print(markdown(results[-1:], {}, {}).split("---|\n", 1)[1].split("\n\n")[0], flush=True)
            store(results, scripts, machine, seen)  # at once: the next one may take an hour
    for name, short, full, quick in SCRIPTS:
        if (quick or not arguments.quick) and (full if arguments.full else short) is not None:
            title = name + LONG if arguments.full else name
            found = script(name, f"{short or ''} {full}" if arguments.full else short) if wanted(title) else None
            scripts += [found | {"name": title, "machine": machine, "versions": seen}] if found else []
            store(results, scripts, machine, seen)
    results, scripts = store(results, scripts, machine, seen)
    print(markdown(results, machine, seen, scripts))


def since(when):
    """Titles and names of what was measured at that minute or later."""
    old = json.loads(STORE.read_text()) if STORE.exists() else {}
    entries = [*old.get("results", []), *old.get("scripts", [])]
    return {entry.get("title", entry.get("name")) for entry in entries if entry.get("when", "")[-16:] >= when}


def keep(results, scripts, machine, seen):
    """Save the run; with --only, in place of the same lines and tables of the last one."""
    old = json.loads(STORE.read_text()) if STORE.exists() else {}
    results = merged(old.get("results", []), results, "title", [line[0] for line in TABLE])
    names = [line[0] for line in SCRIPTS]
    scripts = merged(old.get("scripts", []), scripts, "name", [*names, *(name + LONG for name in names)])
    text = json.dumps({"machine": machine, "versions": seen, "results": results, "scripts": scripts}, indent=1)
    STORE.write_text(text)
    (HERE.parent / "docs" / "benchmark_tables.md").write_text(markdown(results, machine, seen, scripts))
    return results, scripts


def merged(old, new, key, order):
    """The old entries, each replaced by the new one of that key if there is one, in the order of their names."""
    found = {entry[key]: entry for entry in [*old, *new]}
    return [found[name] for name in order if name in found]


if __name__ == "__main__":
    main()
