"""Kernels on graphs: histograms, Weisfeiler–Lehman subtrees, shortest paths."""

import numpy as np

from mercer.kernels.objects.counts import CountKernel, Counts, LevelKernel, combine, mix
from mercer.kernels.objects.graph import as_graphs
from mercer.kernels.words import distance_words


class Pack:
    """All graphs of a collection as one: nodes and edges in a row, with the graph each belongs to."""

    def __init__(self, graphs):
        sizes = np.array([graph.n for graph in graphs], dtype=np.int64)
        self.starts = np.cumsum(sizes) - sizes
        self.node_graph = np.repeat(np.arange(len(graphs)), sizes)
        none = np.zeros(0, dtype=np.uint64)
        self.labels = np.concatenate([none, *(_label_keys(graph.labels, graph.n) for graph in graphs)])
        moved = [graph.edges + start for graph, start in zip(graphs, self.starts, strict=True)]
        self.edges = np.concatenate([np.zeros((0, 2), dtype=np.int64), *moved])
        self.edge_labels = np.concatenate(
            [none, *(_label_keys(graph.edge_labels, len(graph.edges)) for graph in graphs)]
        )

    def arcs(self):
        """(from, to, label) of every edge in both directions, by ``to``; a loop once."""
        back = self.edges[:, 0] != self.edges[:, 1]
        source = np.concatenate([self.edges[:, 0], self.edges[back, 1]])
        target = np.concatenate([self.edges[:, 1], self.edges[back, 0]])
        label = np.concatenate([self.edge_labels, self.edge_labels[back]])
        order = np.argsort(target, kind="stable")
        return source[order], target[order], label[order]


def _label_keys(keys, size):
    """The keys, or the key of no label for each."""
    return np.zeros(size, dtype=np.uint64) if keys is None else keys


def _pair_key(a, b):
    """The key of two keys, in any order."""
    return mix(mix(a) + mix(b))


class VertexHistogram(CountKernel):
    """k(x, z) = Σ_a |x|_a |z|_a: over all labels a, |x|_a = how many nodes of x have it.

    Examples
    --------
    >>> from mercer.kernels import VertexHistogram
    >>> water, methanol = ([(0, 1), (0, 2)], "OHH"), ([(0, 1), (0, 2), (0, 3), (0, 4), (4, 5)], "CHHHOH")
    >>> VertexHistogram()([water, methanol])
    array([[ 5.,  9.],
           [ 9., 18.]])
    """

    reads = "graph"
    counted = "how often nodes occur"

    def _read(self, items):
        pack = Pack(as_graphs(items, "VertexHistogram"))
        return Counts.build(len(items), [(pack.node_graph, pack.labels)])


class EdgeHistogram(CountKernel):
    """k(x, z) = Σ_a |x|_a |z|_a: over all kinds a of edges, |x|_a = how many edges of x are of this kind.

    Parameters
    ----------
    ends : bool, default=True
        Whether the kind of an edge is its label and the labels of its two ends, or its label only.

    Examples
    --------
    >>> from mercer.kernels import EdgeHistogram
    >>> water, methanol = ([(0, 1), (0, 2)], "OHH"), ([(0, 1), (0, 2), (0, 3), (0, 4), (4, 5)], "CHHHOH")
    >>> EdgeHistogram()([water, methanol])
    array([[ 4.,  2.],
           [ 2., 11.]])
    """

    reads = "graph"
    counted = "how often edges occur"

    def __init__(self, ends=True): ...

    def _read(self, items):
        pack = Pack(as_graphs(items, "EdgeHistogram"))
        keys = mix(pack.edge_labels)
        if self.ends:
            keys = combine(keys, _pair_key(pack.labels[pack.edges[:, 0]], pack.labels[pack.edges[:, 1]]))
        return Counts.build(len(items), [(pack.node_graph[pack.edges[:, 0]], keys)])


class WeisfeilerLehman(LevelKernel):
    """k(x, z) = Σ_{t<=h} w_t Σ_a |x|_{t,a} |z|_{t,a}: over the labels a of round t, |x|_{t,a} = how many nodes have it.

    Round 0 has the labels of the nodes. In each further round the label of a node becomes that of itself and of all its
    neighbours (with the labels of the edges, if there are any), which tells its subtree of depth t. O(h · edges).

    Parameters
    ----------
    h : int, default=3
        Rounds, at most 100.
    weights : array-like, default=None
        w₀, …, w_h >= 0: hyper-parameters. None is 1 each, fixed.
    weights_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-5, 1e5).

    Examples
    --------
    >>> from mercer.kernels import WeisfeilerLehman
    >>> path, triangle = [(0, 1), (1, 2)], [(0, 1), (1, 2), (2, 0)]
    >>> WeisfeilerLehman(1)([path, triangle])
    array([[14., 12.],
           [12., 18.]])
    """

    reads = "graph"

    whole_numbers = {"h": (0, 100)}

    def __init__(self, h=3, weights=None, *, weights_bounds=None): ...

    def counts(self):
        """Nodes with their neighbourhoods."""
        beside = f" with what is {distance_words(self.h, 'edge')}" if self.h else ""
        return f"how often nodes occur{beside}"

    def _n_levels(self):
        return self._whole_number("h") + 1

    def _read(self, items):
        pack = Pack(as_graphs(items, "WeisfeilerLehman"))
        source, target, edge = pack.arcs()
        first = np.flatnonzero(np.diff(target, prepend=-1))  # where the arcs of each node begin
        keys, parts = mix(pack.labels), []
        for t in range(self._n_levels()):
            if t:
                around = np.zeros(len(keys), dtype=np.uint64)
                if len(target):  # a sum of scrambled keys does not depend on the order of the neighbours
                    around[target[first]] = np.add.reduceat(combine(edge, keys[source]), first)
                keys = combine(keys, around)
            parts.append((pack.node_graph, combine(keys, np.full(len(keys), t))))
        return Counts.build(len(items), parts)


class ShortestPath(CountKernel):
    """k(x, z) = Σ_a |x|_a |z|_a: over a = (two labels, d), |x|_a = how many pairs of nodes are d edges apart.

    Pairs without a path do not count. O(nodes · edges) for a graph.

    Examples
    --------
    >>> from mercer.kernels import ShortestPath
    >>> path, triangle = [(0, 1), (1, 2)], [(0, 1), (1, 2), (2, 0)]
    >>> ShortestPath()([path, triangle])
    array([[5., 6.],
           [6., 9.]])
    """

    reads = "graph"
    counted = "how far nodes are apart"

    def _read(self, items):
        from scipy.sparse import coo_array, csgraph

        graphs = as_graphs(items, "ShortestPath")
        rows, keys = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.uint64)]
        for row, graph in enumerate(graphs):
            if not len(graph.edges):
                continue
            A = coo_array((np.ones(len(graph.edges)), tuple(graph.edges.T)), shape=(graph.n, graph.n)).tocsr()
            D = csgraph.shortest_path(A, directed=False, unweighted=True)
            i, j = np.nonzero(np.triu(np.isfinite(D), 1))
            labels = _label_keys(graph.labels, graph.n)
            keys.append(combine(_pair_key(labels[i], labels[j]), D[i, j].astype(np.int64)))
            rows.append(np.full(len(i), row))
        return Counts.build(len(items), [(np.concatenate(rows), np.concatenate(keys))])
