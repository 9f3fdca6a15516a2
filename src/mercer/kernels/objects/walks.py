"""RandomWalk: the common walks of two graphs, a linear system for each pair."""

import numpy as np

from mercer import _native
from mercer.kernels.definite import eigen
from mercer.kernels.objects.graph import as_graphs
from mercer.kernels.objects.pairs import PairKernel
from mercer.kernels.objects.structures import Pack


class RandomWalk(PairKernel):
    """k(x, z) = Σₙ λⁿ · (number of pairs of walks of n edges, one in x and one in z, through the same labels).

    = 1ᵀ(I − λA)⁻¹1 for the adjacency matrix A of the product graph. The sum is finite if λ ρ(x) ρ(z) < 1, with ρ the
    largest eigenvalue of an adjacency matrix; a larger λ is an error. Labels of edges are not read.

    Parameters
    ----------
    decay : float, default=0.05
        λ > 0: how much a walk of one step more counts.
    decay_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-4, 0.1). The upper one must suit the graphs: below 1/ρ².

    Examples
    --------
    >>> from mercer.kernels import RandomWalk
    >>> path, triangle = [(0, 1), (1, 2)], [(0, 1), (1, 2), (2, 0)]
    >>> RandomWalk(0.1)([path], [path, triangle]).round(4)
    array([[11.0417, 12.3913]])
    """

    reads = "graph"
    counted = "how often walks occur"

    hyper = {"decay": (1e-4, 0.1)}
    most_steps = 2000  # to a residual of 1e-15

    def __init__(self, decay=0.05, *, decay_bounds=None): ...

    def _read(self, items):
        return Walkers.build(items)

    def _check_pairs(self, A, B):
        """Raise if a sum is infinite."""
        decay = float(self._positive("decay"))
        if not len(A) or not len(B):
            return
        a, b = int(np.argmax(A.top)), int(np.argmax(B.top))
        most = A.top[a] * B.top[b]
        if decay * most >= 1.0 - 1e-9:  # an eigenvalue is rounded
            raise ValueError(
                f"RandomWalk: decay = {decay:g} gives infinite sums for rows {a} and {b}, whose largest "
                f"eigenvalues are {A.top[a]:.4g} and {B.top[b]:.4g}: it must be below {1.0 / most:.4g}. Give "
                f"decay_bounds=(1e-4, {0.9 / most:.2g}) to a search."
            )

    def _pair_values(self, A, B):
        decay = float(self._positive("decay"))

        def pairs(left, right, slope):
            found = _native.walks.walks(A.arrays, B.arrays, left, right, decay, 1e-15, self.most_steps, slope)
            if np.isnan(found[0]).any():
                raise ValueError(
                    f"RandomWalk: no convergence in {self.most_steps} steps with decay = {decay:g}; take a "
                    "smaller decay."
                )
            return found

        return pairs


class Walkers:
    """n graphs in a row: the label and the neighbours of every node, and ρ of every graph; see ``_native.walks``.

    A part shares the nodes of the whole.
    """

    def __init__(self, labels, first, to, starts, stops, top):
        self.arrays, self.top = (labels, first, to, starts, stops), top

    @classmethod
    def build(cls, items):
        """Of raw items, checked."""
        graphs = as_graphs(items, "RandomWalk")
        pack = Pack(graphs)
        source, target, _ = pack.arcs()
        first = np.searchsorted(target, np.arange(len(pack.labels) + 1))
        to = source - pack.starts[pack.node_graph[source]]
        stops = pack.starts + [graph.n for graph in graphs]
        top = [max(float(eigen(graph.adjacency())[0][-1]), 0.0) if graph.n else 0.0 for graph in graphs]
        return cls(pack.labels.view(np.int64), first, to, pack.starts, stops, np.array(top))

    def __len__(self):
        return len(self.top)

    def __getitem__(self, index):
        """The graphs of a slice or of an array of indices."""
        *nodes, starts, stops = self.arrays
        return Walkers(*nodes, starts[index], stops[index], self.top[index])
