"""Kernels on graphs: histograms, Weisfeiler–Lehman subtrees, shortest paths, random walks."""

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.dot import whole
from mercer.kernels.objects.collection import as_objects
from mercer.kernels.objects.counts import CountKernel, Counts, LevelKernel, combine, mix
from mercer.kernels.objects.graph import Graph, as_graphs

NO_LABEL = np.uint64(0)


class _Pack:
    """All graphs of a collection as one: nodes and edges in a row, with the graph each belongs to."""

    def __init__(self, graphs):
        sizes = np.array([graph.n for graph in graphs], dtype=np.int64)
        self.starts = np.cumsum(sizes) - sizes
        self.node_graph = np.repeat(np.arange(len(graphs)), sizes)
        none = np.zeros(0, dtype=np.uint64)
        self.labels = np.concatenate([none, *(_or_none(graph.labels, graph.n) for graph in graphs)])
        moved = [graph.edges + start for graph, start in zip(graphs, self.starts, strict=True)]
        self.edges = np.concatenate([np.zeros((0, 2), dtype=np.int64), *moved])
        self.edge_labels = np.concatenate([none, *(_or_none(graph.edge_labels, len(graph.edges)) for graph in graphs)])

    def arcs(self):
        """(from, to, label) of every edge in both directions, by ``to``; a loop once."""
        back = self.edges[:, 0] != self.edges[:, 1]
        source = np.concatenate([self.edges[:, 0], self.edges[back, 1]])
        target = np.concatenate([self.edges[:, 1], self.edges[back, 0]])
        label = np.concatenate([self.edge_labels, self.edge_labels[back]])
        order = np.argsort(target, kind="stable")
        return source[order], target[order], label[order]


def _or_none(keys, size):
    """The keys, or the key of no label for each."""
    return np.full(size, NO_LABEL) if keys is None else keys


def _unordered(a, b):
    """The key of two keys, in any order."""
    return mix(mix(a) + mix(b))


def random_graphs(n, rng, largest=7):
    """n random graphs with labels, the last without an edge, one with a single node: what kernels are tested on."""
    graphs = []
    for i in range(n):
        size = 1 if i == 1 else int(rng.integers(2, largest + 1))
        pairs = np.argwhere(np.triu(rng.random((size, size)) < (0.5 if i < n - 1 else 0.0), 1))
        graphs.append(Graph(pairs.tolist(), rng.integers(3, size=size).tolist()))
    return graphs


class _OfGraphs:
    """What kernels on graphs share: random inputs to be tested on."""

    def sample(self, n, rng):
        """Return n random graphs."""
        return random_graphs(n, rng)


class VertexHistogram(_OfGraphs, CountKernel):
    """k(x, z) = Σ_a |x|_a |z|_a: over all labels a, |x|_a = how many nodes of x have it.

    Examples
    --------
    >>> from mercer.kernels import VertexHistogram
    >>> water, methanol = ([(0, 1), (0, 2)], "OHH"), ([(0, 1), (0, 2), (0, 3), (0, 4), (4, 5)], "CHHHOH")
    >>> VertexHistogram()([water, methanol])
    array([[ 5.,  9.],
           [ 9., 18.]])
    """

    def _count(self, items):
        pack = _Pack(as_graphs(items, "VertexHistogram"))
        return Counts.build(len(items), [(pack.node_graph, pack.labels)])


class EdgeHistogram(_OfGraphs, CountKernel):
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

    def __init__(self, ends=True):
        self.ends = ends

    def _count(self, items):
        pack = _Pack(as_graphs(items, "EdgeHistogram"))
        keys = mix(pack.edge_labels)
        if self.ends:
            keys = combine(keys, _unordered(pack.labels[pack.edges[:, 0]], pack.labels[pack.edges[:, 1]]))
        return Counts.build(len(items), [(pack.node_graph[pack.edges[:, 0]], keys)])

    @classmethod
    def examples(cls):
        """With the labels of the ends, and without."""
        return [cls(), cls(ends=False)]


class WeisfeilerLehman(_OfGraphs, LevelKernel):
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

    def __init__(self, h=3, weights=None, *, weights_bounds=None):
        self.h = h
        self.weights = weights
        self.weights_bounds = weights_bounds

    def _n_levels(self):
        return whole(self.h, "WeisfeilerLehman: h", 0) + 1

    def _count(self, items):
        pack = _Pack(as_graphs(items, "WeisfeilerLehman"))
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

    @classmethod
    def examples(cls):
        """Three rounds; two with weights; none."""
        return [cls(3), cls(2, [1.0, 0.5, 0.25]), cls(0)]


class ShortestPath(_OfGraphs, CountKernel):
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

    def _count(self, items):
        from scipy.sparse import coo_array, csgraph

        graphs = as_graphs(items, "ShortestPath")
        rows, keys = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.uint64)]
        for row, graph in enumerate(graphs):
            if not len(graph.edges):
                continue
            A = coo_array((np.ones(len(graph.edges)), tuple(graph.edges.T)), shape=(graph.n, graph.n)).tocsr()
            D = csgraph.shortest_path(A, directed=False, unweighted=True)
            i, j = np.nonzero(np.triu(np.isfinite(D), 1))
            labels = _or_none(graph.labels, graph.n)
            keys.append(combine(_unordered(labels[i], labels[j]), D[i, j].astype(np.int64)))
            rows.append(np.full(len(i), row))
        return Counts.build(len(items), [(np.concatenate(rows), np.concatenate(keys))])


class RandomWalk(_OfGraphs, Kernel):
    """k(x, z) = Σₙ λⁿ · (number of pairs of walks of n edges, one in x and one in z, through the same labels).

    = 1ᵀ(I − λA)⁻¹1 for the adjacency matrix A of the product graph. The sum is finite if λ ρ(x) ρ(z) < 1, with ρ the
    largest eigenvalue of an adjacency matrix; a larger λ is an error. Labels of edges are not read.

    Parameters
    ----------
    decay : float, default=0.05
        λ > 0.
    decay_bounds : pair or "fixed", default=None
        What a search may choose; None is (1e-4, 0.1). The upper one must suit the graphs: below 1/ρ².

    Examples
    --------
    >>> from mercer.kernels import RandomWalk
    >>> path, triangle = [(0, 1), (1, 2)], [(0, 1), (1, 2), (2, 0)]
    >>> RandomWalk(0.1)([path], [path, triangle]).round(4)
    array([[11.0417, 12.3913]])
    """

    domain = "objects"
    hyper = {"decay": (1e-4, 0.1)}

    def __init__(self, decay=0.05, *, decay_bounds=None):
        self.decay = decay
        self.decay_bounds = decay_bounds

    def validate(self, X):
        """X as `Objects` of graphs, every one checked."""
        X = as_objects(X, "RandomWalk")
        self._walkers(X)
        return X

    def _walkers(self, X):
        """[(A, labels, ρ), …] of the rows of X, made once."""
        return as_objects(X, "RandomWalk").prepared("RandomWalk", _walkers)

    def _checked(self, left, right):
        """λ, checked to give finite sums."""
        decay = float(self._positive("decay"))
        a, b = (max(range(len(side)), key=lambda i: side[i][2], default=None) for side in (left, right))
        if a is not None and b is not None:
            most = left[a][2] * right[b][2]
            if decay * most >= 1.0 - 1e-9:  # an eigenvalue is rounded
                raise ValueError(
                    f"RandomWalk: decay = {decay:g} gives infinite sums for rows {a} and {b}, whose largest "
                    f"eigenvalues are {left[a][2]:.4g} and {right[b][2]:.4g}: it must be below {1.0 / most:.4g}. Give "
                    f"decay_bounds=(1e-4, {0.9 / most:.2g}) to a search."
                )
        return decay

    def tiles(self, X, Z):
        """A linear system for each pair, one row of the tile at a time."""
        left, right = self._walkers(X), self._walkers(Z)
        decay = self._checked(left, right)
        return lambda i, j: _walks(left[i], right[j], decay)[0]

    def diag(self, X):
        """k(x, x)."""
        walkers = self._walkers(X)
        decay = self._checked(walkers, walkers)
        return np.array([_walks([one], [one], decay)[0][0, 0] for one in walkers])

    def weighted(self, X, Z, W):
        """The sum and its gradient, in one pass."""
        left, right = self._walkers(X), self._walkers(Z)
        K, D = _walks(left, right, self._checked(left, right))
        return float(np.vdot(W, K)), self._in_logs({"decay": np.vdot(W, D)})

    def _grad(self, X, Z, W):
        left, right = self._walkers(X), self._walkers(Z)
        return {"decay": np.vdot(W, _walks(left, right, self._checked(left, right))[1])}

    @classmethod
    def examples(cls):
        """Short and longer memory."""
        return [cls(0.02), cls(0.01)]


def _walkers(items):
    """[(A, labels, ρ(A)), …]."""
    out = []
    for graph in as_graphs(items, "RandomWalk"):
        A = graph.adjacency()
        top = float(np.linalg.eigvalsh(A)[-1]) if graph.n else 0.0
        out.append((A, _or_none(graph.labels, graph.n), max(top, 0.0)))
    return out


def _walks(left, right, decay):
    """(K, ∂K/∂λ): for each x the systems with all z at once, by conjugate gradients."""
    K, D = np.zeros((len(left), len(right))), np.zeros((len(left), len(right)))
    size = max((len(labels) for _, labels, _ in right), default=0)
    B, there = np.zeros((len(right), size, size)), np.zeros((len(right), size), dtype=bool)
    labels = np.zeros((len(right), size), dtype=np.uint64)
    for j, (A, names, _) in enumerate(right):
        n = len(names)
        B[j, :n, :n], labels[j, :n], there[j, :n] = A, names, True
    for i, (A, names, _) in enumerate(left):
        same = ((names[:, None] == labels[:, None]) & there[:, None]).astype(float)  # (z, nodes of x, nodes of z)
        V = _solve(A, B, same, decay)
        K[i] = np.einsum("jab,jab->j", V, same)
        D[i] = np.einsum("jab,jab->j", V, A @ V @ B)
    return K, D


def _solve(A, B, same, decay, tol=1e-15, most=2000):
    """V with V − λ same ∘ (A V B) = same, for each B."""

    def dot(P, Q):
        return np.einsum("jab,jab->j", P, Q)

    V, R = np.zeros_like(same), same.copy()
    P, norm = R.copy(), dot(R, R)
    goal = tol**2 * norm
    for _ in range(most):
        if (norm <= goal).all():
            return V
        AP = P - decay * same * (A @ P @ B)
        curvature = dot(P, AP)
        step = np.divide(norm, curvature, out=np.zeros_like(norm), where=curvature > 0)[:, None, None]
        V += step * P
        R -= step * AP
        new = dot(R, R)
        P = R + np.divide(new, norm, out=np.zeros_like(norm), where=norm > 0)[:, None, None] * P
        norm = new
    raise ValueError(f"RandomWalk: no convergence in {most} steps with decay = {decay:g}; take a smaller decay.")
