"""Tables of kernels on strings and graphs: accuracy by nested cross-validation, and the cost of Gram matrices.

    python benchmarks/objects_sequences.py mutag      graphs: which kernel, repeated 10-fold
    python benchmarks/objects_sequences.py strings    promoters, splice, antimicrobial peptides: which kernel
    python benchmarks/objects_sequences.py gram       seconds and memory, against a plain Python loop

The outer folds only test. Within each training part `KernelMachine` chooses the kernel of a list (h, k, …) and λ.
"""

import argparse
import csv
import gzip
import json
import resource
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from tables import HERE, Table, alone, finish

DATA = HERE.parent.parent / "shared" / "data" / "structured"


# ---------------------------------------------------------------------- data
def mutag():
    """(graphs with labels of nodes and edges, classes)."""
    from mercer.kernels import Graph

    def column(name):
        return np.loadtxt(DATA / "MUTAG" / f"MUTAG_{name}.txt", dtype=int)

    arcs = np.loadtxt(DATA / "MUTAG" / "MUTAG_A.txt", delimiter=",", dtype=int) - 1
    graph, node, edge = column("graph_indicator") - 1, column("node_labels"), column("edge_labels")
    out = []
    for g in range(graph.max() + 1):
        nodes, mine = np.flatnonzero(graph == g), graph[arcs[:, 0]] == g
        out.append(Graph((arcs[mine] - nodes[0]).tolist(), node[nodes], edge[mine]))
    return out, column("graph_labels")


def strings(name):
    """(strings, labels) of a file with these two columns first."""
    path = DATA / name
    with gzip.open(path, "rt") if name.endswith(".gz") else open(path, encoding="utf-8") as stream:
        rows = list(csv.reader(stream))[1:]
    return [row[0] for row in rows], np.array([row[1] for row in rows])


# ---------------------------------------------------------------------- accuracy
def nested(kernels, lams, X, y, folds, seed, loss, criterion, groups=None):
    """(accuracy, seconds of all fits, kernels chosen) of one repetition of the outer cross-validation."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    from mercer import KernelMachine

    splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    right, seconds, chosen = 0, 0.0, Counter()
    for train, test in splitter(folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y, groups):
        model = KernelMachine(kernels, loss=loss, lam=lams, criterion=criterion, random_state=seed)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # λ at the end of its list, for one
            model.fit([X[i] for i in train], y[train])
        seconds += time.perf_counter() - start
        chosen[repr(model.kernel_)] += 1
        right += int(np.sum(model.predict([X[i] for i in test]) == y[test]))
    return right / len(y), seconds, chosen


def accuracy_rows(table, data, name, kernels, lams, X, y, options, bar, loss="hinge", criterion=5, groups=None):
    """One row of an accuracy table: the mean and spread over the repetitions."""
    runs = [
        nested(kernels, lams, X, y, options.folds, seed, loss, criterion, groups) for seed in range(options.repeats)
    ]
    scores = 100.0 * np.array([run[0] for run in runs])
    chosen = sum((run[2] for run in runs), Counter()).most_common(1)[0]
    spread = f"{scores.std(ddof=1):.2f}" if len(scores) > 1 else None
    share = f"{chosen[0]} ({100 * chosen[1] // (options.folds * len(runs))} %)"
    met = None if bar is None else bool(scores.mean() >= bar)
    table.add(data, name, f"{scores.mean():.2f}", spread, bar, met, share, sum(run[1] for run in runs))


COLUMNS = "data | kernels to choose from | accuracy % | sd over repetitions | bar | met | most often chosen | s"
NOTE = (
    "Outer folds: stratified, shuffled, {folds}-fold, {repeats} repetitions. In each training part KernelMachine "
    "chooses kernel and λ by 5-fold cross-validation. Rows without a bar are what else was tried."
)


def graphs(options):
    """MUTAG: Weisfeiler–Lehman and others, hinge and logistic."""
    from mercer.kernels import (
        EdgeHistogram,
        Gaussian,
        RadialOf,
        RandomWalk,
        ShortestPath,
        VertexHistogram,
        WeisfeilerLehman,
    )

    X, y = mutag()
    lams = np.logspace(-3, 3, 13)
    table = Table("MUTAG, 188 molecules", COLUMNS, NOTE.format(folds=options.folds, repeats=options.repeats))
    wl = [WeisfeilerLehman(h) for h in range(1, 6)]
    size = np.mean([k.diag(k.validate(X)).mean() for k in wl[:1]]) ** 0.5
    on_wl = [RadialOf(Gaussian(factor * size), WeisfeilerLehman(h)) for h in range(1, 5) for factor in (0.5, 1.0)]
    candidates = {
        "WeisfeilerLehman(1…5)": (wl, "hinge", 87.0),
        "WeisfeilerLehman(1…5), logistic": (wl, "logistic", 87.0),
        "WeisfeilerLehman(1…5), normalised": ([k.normalise() for k in wl], "hinge", None),
        "Gaussian on WeisfeilerLehman(1…4)": (on_wl, "hinge", 87.0),
        "VertexHistogram()": ([VertexHistogram()], "hinge", None),
        "EdgeHistogram()": ([EdgeHistogram(), EdgeHistogram(ends=False)], "hinge", None),
        "ShortestPath()": ([ShortestPath()], "hinge", None),
        "RandomWalk(…)": ([RandomWalk(0.01), RandomWalk(0.05)], "hinge", None),
    }
    for name, (kernels, loss, bar) in candidates.items():
        if options.only and options.only not in name:
            continue
        accuracy_rows(table, "MUTAG", name, kernels, lams, X, y, options, bar, loss)
    return [table]


def texts(options):
    """Promoters, splice sites and antimicrobial peptides."""
    tables = []
    for data, file, bar, alphabet in (
        ("promoters", "promoters.csv", 90.0, "dna"),
        ("splice", "splice.csv.gz", 95.0, "dna"),
        ("amp_vs_uniprot", "amp_vs_uniprot.csv", 90.0, "protein"),
    ):
        if options.data and data not in options.data:
            continue
        X, y = strings(file)
        small = len(y) < 1000
        groups = None if small else np.unique(X, return_inverse=True)[1]
        lams = np.logspace(-3, 0, 7) if small else [0.005, 0.05, 0.5]
        used = argparse.Namespace(folds=options.folds if small else 5, repeats=options.repeats if small else 1)
        note = (
            f"Outer folds: stratified, shuffled, {used.folds}-fold, {used.repeats} repetitions"
            + ("" if small else ", copies of a string in one fold")
            + f". Hinge loss; in each training part kernel and λ are chosen by {'5 folds' if small else 'alo'}. Rows "
            "without a bar are what else was tried."
        )
        table = Table(f"{data}, {len(y)} strings", COLUMNS, note)
        for name, kernels, main in candidates(data, alphabet):
            if options.only and options.only not in name:
                continue
            criterion = 5 if small else "loo"
            accuracy_rows(
                table, data, name, kernels, lams, X, y, used, bar if main else None, "hinge", criterion, groups
            )
        tables.append(table)
    return tables


def candidates(data, alphabet):
    """[(name, kernels, whether the bar is for this row), …]; letters outside the alphabet are skipped."""
    from mercer.kernels import (
        Gappy,
        Gaussian,
        LocalAlignment,
        Mismatch,
        RadialOf,
        Spectrum,
        Subsequence,
        WeightedDegree,
    )

    letters = {"alphabet": alphabet, "unknown": "skip"}
    spectra = [Spectrum(k, **letters).normalise() for k in (3, 4, 5)]
    mixed = [Spectrum([1, 2, 3], **letters).normalise(), Spectrum([1, 2, 3, 4], **letters).normalise()]
    gappy = [Gappy(3, 2, 0.7, **letters).normalise(), Gappy(4, 1, 0.5, **letters).normalise()]
    if data == "amp_vs_uniprot":
        pairs = (
            Gappy(2, 3, 0.8, **letters).normalise() + Gappy(3, 1, 0.5, **letters).normalise() + Spectrum(1).normalise()
        )
        return [
            ("Spectrum(3), (4), (5)", spectra, False),
            ("Spectrum([1, 2, 3]), ([1, 2, 3, 4])", mixed, False),
            ("Gaussian on Spectrum([1, 2, 3]), ([1, 2, 3, 4])", [RadialOf(Gaussian(0.7), k) for k in mixed], True),
            ("Gappy", gappy, False),
            ("Gaussian on a sum of Gappy(2, 3), Gappy(3, 1), Spectrum(1)",
             [RadialOf(Gaussian(s), pairs) for s in (0.8, 1.2)], True),
        ]  # fmt: skip
    degree = [WeightedDegree(k, **letters).normalise() for k in (3, 5, 8)]
    shifted = [WeightedDegree(k, s, **letters).normalise() for k in (3, 5) for s in (1, 2)]
    rows = [
        ("WeightedDegree(3), (5), (8)", degree, True),
        ("WeightedDegree with shift 1, 2", shifted, False),
        ("Spectrum(3), (4), (5)", spectra, False),
        ("Mismatch(4, 1), (5, 1)", [Mismatch(k, 1, **letters).normalise() for k in (4, 5)], False),
        ("Gappy", gappy, False),
    ]
    if data == "promoters":
        rows[2] = (*rows[2][:2], True)
        rows.append(("Subsequence(3)", [Subsequence(3, d).normalise() for d in (0.3, 0.6)], False))
        rows.append(("LocalAlignment(0.05), (0.2)", [LocalAlignment(b).normalise() for b in (0.05, 0.2)], False))
    return rows


# ---------------------------------------------------------------------- cost
def objects(kind, n):
    """n peptides of the file, or n random graphs of 50 nodes and about 100 edges with five labels."""
    from mercer.kernels import Graph

    if kind != "graphs":
        return strings("amp_vs_uniprot.csv")[0][:n]
    rng = np.random.default_rng(0)
    upper = np.triu(np.ones((50, 50), dtype=bool), 1)
    edges = [np.argwhere(upper & (rng.random((50, 50)) < 0.08)).tolist() for _ in range(n)]
    return [Graph(pairs, rng.integers(5, size=50)) for pairs in edges]


def plain_loop(kind, X):
    """The Gram matrix by a loop over pairs, and the counts it needs, as one would write them."""
    if kind == "peptides, subsequences":
        lower = [[subsequences(x, z) for z in X[: i + 1]] for i, x in enumerate(X)]
        return np.array([[lower[max(i, j)][min(i, j)] for j in range(len(X))] for i in range(len(X))])
    counts = [Counter(x[i : i + 3] for i in range(len(x) - 2)) if kind == "peptides" else subtrees(x) for x in X]
    K = np.zeros((len(X), len(X)))
    for i, a in enumerate(counts):
        for j, b in enumerate(counts[: i + 1]):
            small, large = (a, b) if len(a) < len(b) else (b, a)
            K[i, j] = K[j, i] = sum(count * large[key] for key, count in small.items() if key in large)
    return K


def subsequences(x, z, length=3, decay=0.5):
    """The dynamic programme of `Subsequence`, letter by letter."""
    before = [[1.0] * (len(z) + 1) for _ in range(len(x) + 1)]
    for _ in range(length - 1):
        now = [[0.0] * (len(z) + 1) for _ in range(len(x) + 1)]
        for i, a in enumerate(x):
            w = 0.0
            for j, b in enumerate(z):
                w = decay * w + (decay * decay * before[i][j] if a == b else 0.0)
                now[i + 1][j + 1] = decay * now[i][j + 1] + w
        before = now
    return decay * decay * sum(before[i][j] for i, a in enumerate(x) for j, b in enumerate(z) if a == b)


def subtrees(graph, h=3):
    """The Weisfeiler–Lehman labels of a graph, as nested tuples."""
    near = [[] for _ in range(graph.n)]
    for i, j in graph.edges.tolist():
        near[i].append(j)
        near[j].append(i)
    labels = [int(key) for key in graph.labels]
    found = Counter((0, label) for label in labels)
    for t in range(1, h + 1):
        labels = [hash((labels[v], tuple(sorted(labels[u] for u in near[v])))) for v in range(graph.n)]
        found.update((t, label) for label in labels)
    return found


def by_grakel(graphs):
    """A function of nothing that makes the same Gram matrix by GraKeL, from graphs in its own form."""
    from grakel import Graph
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    def both_ways(graph):
        return [tuple(pair) for i, j in graph.edges.tolist() for pair in ((i, j), (j, i))]

    theirs = [Graph(both_ways(g), node_labels=dict(enumerate(map(int, g.labels)))) for g in graphs]
    return lambda: WeisfeilerLehman(n_iter=3, base_graph_kernel=VertexHistogram).fit_transform(theirs)


def job(kind, n, way):
    """{"seconds", "peak MB", "sum"} of one Gram matrix, in this process."""
    from mercer.kernels import Spectrum, Subsequence, WeisfeilerLehman

    X = objects(kind, n)
    kernels = {
        "peptides": Spectrum(3),
        "peptides, subsequences": Subsequence(3, 0.5),
        "graphs": WeisfeilerLehman(3),
    }
    kernel = kernels[kind]
    if way == "mercer":
        kernel(X[:2])  # scipy is imported
    call = by_grakel(X) if way == "GraKeL" else lambda: kernel(X) if way == "mercer" else plain_loop(kind, X)
    start = time.perf_counter()
    K = call()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "peak MB": peak, "sum": float(K.sum())}


def gram(options):
    """Seconds and memory of a Gram matrix; the plain loop on fewer inputs, scaled by the number of pairs."""
    table = Table(
        "Gram matrices of strings and graphs",
        "kernel | inputs | s | peak MB | matrix MB | plain loop s | measured on | ratio | GraKeL s | ratio | "
        "values agree",
        "Counting included, each in a process of its own. The plain loop multiplies Counters pair by pair; its time is "
        "scaled by the number of pairs. GraKeL, on all graphs, gets them in its own form before the clock starts.",
    )
    for name, kind, n, few in (
        ("Spectrum(3)", "peptides", 5000, 1000),
        ("WeisfeilerLehman(3)", "graphs", 2000, 500),
        ("Subsequence(3)", "peptides, subsequences", 1000, 50),
    ):
        ours, loop, same = (alone(Path(__file__).name, {"kind": kind, "n": size, "way": way})
                            for size, way in ((n, "mercer"), (few, "loop"), (few, "mercer")))  # fmt: skip
        scaled, what = loop["seconds"] * (n / few) ** 2, kind.split(",")[0]
        agree, peer = bool(np.isclose(same["sum"], loop["sum"], rtol=1e-12)), (None, None)
        if kind == "graphs":
            theirs = alone(Path(__file__).name, {"kind": kind, "n": n, "way": "GraKeL"})
            peer = theirs["seconds"], theirs["seconds"] / ours["seconds"]
            agree = agree and theirs["sum"] == ours["sum"]
        table.add(name, f"{n} {what}", ours["seconds"], round(ours["peak MB"]), round(8e-6 * n * n), scaled,
                  f"{few} {what}", scaled / ours["seconds"], *peer, agree)  # fmt: skip
    return [table]


TASKS = {"mutag": graphs, "strings": texts, "gram": gram}


def main():
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(job(**json.loads(sys.argv[1]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--data", nargs="+", help="of the strings: these data sets only")
    parser.add_argument("--only", help="kernels with this in their name")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=10, help="of the small data sets")
    parser.add_argument("--json", help="where to write the tables, too")
    options = parser.parse_args()
    finish(TASKS[options.task](options), options.json)


if __name__ == "__main__":
    main()
