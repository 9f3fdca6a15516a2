"""The picture of docs/benchmarks.md, made of the tables behind it: how many times as long a peer took.

python benchmarks/chart.py
"""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
BARS = (  # label, heading of the table (None: the first), words of the row, column of the ratio
    ("leave-one-out over 200 λ, 300 rows: scikit-learn", "Leave-one-out over the same grid", ("300",), "ratio"),
    ("K v, 100 000 rows: KeOps", None, ("K v", "float64", "pykeops"), "ratio"),
    ("process, energy, to the same evidence: scikit-learn", "Whole fit to an evidence", ("energy", "scikit-learn"),
     "peer/mercer"),
    ("process, concrete, to the same evidence: scikit-learn", "Whole fit to an evidence", ("concrete", "scikit-learn"),
     "peer/mercer"),
    ("SVR, 3724 rows, C = 100, ε = 0.01: libsvm", "SVR beside libsvm", ("sml", "C = 100, ε = 0.01"), "ratio"),
    ("Gram matrix, 10 000 rows: scikit-learn", None, ("RBF Gram", "float64"), "ratio"),
    ("prediction of 100 000 rows: scikit-learn", None, ("predict 100 000", "sklearn"), "ratio"),
    ("kernel ridge, 10 000 rows: scikit-learn", None, ("KernelRidge fit", "default", "sklearn"), "ratio"),
    ("SVR, 3724 rows, C = 1, ε = 0.1: libsvm", "SVR beside libsvm", ("sml", "C = 1, ε = 0.1"), "ratio"),
    ("evidence and gradient, 3724 rows: GPy", "One evaluation of the evidence", ("sml", "GPy"), "peer/mercer"),
    ("50 rows from a cold start: scikit-learn", None, ("50-row", "sklearn"), "ratio"),
)  # fmt: skip


def ratio(text, heading, words, column):
    """The number of a table of the page."""
    part = text if heading is None else text[text.index(f"## {heading}") :]
    head = [cell.strip() for cell in re.search(r"^\|(.*)\|$", part, re.MULTILINE)[1].split("|")]
    for line in re.findall(r"^\|(.*)\|$", part, re.MULTILINE):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == len(head) and all(any(word in cell for cell in cells) for word in words):
            return float(cells[head.index(column)])
    raise ValueError(f"no row with {words} in {heading}")


def draw():
    """Bars on a logarithmic axis, 1 marked: beyond it mercer is faster."""
    from matplotlib.figure import Figure

    text = (DOCS / "benchmark_tables.md").read_text(encoding="utf-8")
    found = sorted(((label, ratio(text, *rest)) for label, *rest in BARS), key=lambda pair: -pair[1])
    figure = Figure(figsize=(9.0, 4.2), dpi=130, layout="constrained")
    axes = figure.add_subplot()
    places = range(len(found))[::-1]
    colours = ["#0072b2" if value >= 1 else "#d55e00" for _, value in found]
    axes.barh(places, [value - 1.0 for _, value in found], left=1.0, color=colours, height=0.62)
    for place, (_, value) in zip(places, found, strict=True):
        axes.text(
            max(value, 1.0) * 1.06, place, f"{value:.0f}" if value > 99 else f"{value:.3g}", va="center", fontsize=9
        )
    axes.set(xscale="log", xlim=(0.6, 6000), yticks=list(places), xlabel="seconds of the other / seconds of mercer")
    axes.set_yticklabels([label for label, _ in found], fontsize=9)
    axes.axvline(1.0, color="0.3", linewidth=1)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "images" / "benchmarks.png")


if __name__ == "__main__":
    draw()
