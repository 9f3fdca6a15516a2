"""Graph: nodes, edges and labels, read from what users have: adjacency matrices, edge lists, networkx objects."""

import hashlib
import numbers

import numpy as np
from scipy import sparse

from mercer._state import check


class Graph:
    """Nodes 0, …, n − 1, undirected edges, and labels of both, if there are any.

    Parameters
    ----------
    edges : array-like of shape (E, 2), or square array or sparse matrix
        Pairs of nodes, or the adjacency matrix, where an entry that is not 0 is an edge. A list is read as pairs, an
        array with as many rows as columns as a matrix.
    labels : sequence of length n, default=None
        A number, a string or bytes for each node. None gives all nodes the same label.
    edge_labels : sequence of length E, default=None
        For pairs: a label for each.
    n_nodes : int, default=None
        n, if there are neither labels nor a matrix to tell it; None is the largest node + 1.

    Examples
    --------
    >>> from mercer.kernels import Graph
    >>> Graph([(0, 1), (1, 2)], labels=["C", "C", "O"])
    Graph(3 nodes, 2 edges)
    """

    def __init__(self, edges, labels=None, edge_labels=None, n_nodes=None):
        if sparse.issparse(edges) or (isinstance(edges, np.ndarray) and edges.ndim == 2 and len(set(edges.shape)) == 1):
            if edge_labels is not None:
                raise ValueError("edge labels need the edges as pairs, not as a matrix")
            edges, size = _pairs_of_matrix(edges)
            if n_nodes is not None and n_nodes != size:
                raise ValueError(f"n_nodes is {n_nodes}, but the matrix has {size} rows")
            n_nodes = size
        pairs = np.asarray(edges if len(edges) else np.zeros((0, 2)))
        if pairs.ndim != 2 or pairs.shape[1] != 2 or (len(edges) and pairs.dtype.kind not in "iu"):
            raise ValueError(f"edges must be pairs of whole numbers or a square matrix, got shape {pairs.shape}")
        pairs = pairs.astype(np.int64)
        known = len(labels) if labels is not None else n_nodes
        self.n = int(known if known is not None else pairs.max(initial=-1) + 1)
        if labels is not None and n_nodes is not None and n_nodes != self.n:
            raise ValueError(f"there are {n_nodes} nodes, but {self.n} labels")
        bad = np.flatnonzero(((pairs < 0) | (pairs >= self.n)).any(axis=1))
        if bad.size:
            raise ValueError(f"edge {pairs[bad[0]].tolist()} names a node outside 0, …, {self.n - 1}")
        self.labels = None if labels is None else label_keys(labels, "node")
        keys = None if edge_labels is None else label_keys(edge_labels, "edge")
        if keys is not None and len(keys) != len(pairs):
            raise ValueError(f"there are {len(pairs)} edges, but {len(keys)} edge labels")
        self.edges, self.edge_labels = _merge_edges(pairs, keys)

    def state(self):
        """{name: value} by public names: what a file keeps; labels as their keys."""
        return dict(vars(self))

    @classmethod
    def from_state(cls, state):
        """Return the graph that had this state; its edges name nodes that exist, which compiled loops trust."""
        check(
            state,
            {"edges": "int e two", "n": "size n", "labels": ("int n", None), "edge_labels": ("int e", None)},
            "Graph",
        )
        n, edges = state["n"], state["edges"]
        if n >= 2**31 or edges.dtype != np.int64 or edges.shape[1] != 2 or ((edges < 0) | (edges >= n)).any():
            raise ValueError("an edge of a graph names a node that is not there.")
        if state["labels"] is None and n > 2 * len(edges) + 10_000:  # nodes without a byte here, and of memory later
            raise ValueError(f"a graph with {len(edges)} edges and no labels says that it has {n} nodes.")
        if any(keys is not None and keys.dtype != np.uint64 for keys in (state["labels"], state["edge_labels"])):
            raise ValueError("the labels of a graph are no keys.")
        graph = cls.__new__(cls)
        vars(graph).update(state)
        return graph

    def __repr__(self):
        return f"Graph({self.n} nodes, {len(self.edges)} edges)"

    def adjacency(self):
        """The adjacency matrix of zeros and ones."""
        A = np.zeros((self.n, self.n))
        A[self.edges[:, 0], self.edges[:, 1]] = A[self.edges[:, 1], self.edges[:, 0]] = 1.0
        return A


def _pairs_of_matrix(A):
    """(pairs, n) of an adjacency matrix, checked to be square, finite and symmetric."""
    if len(set(A.shape)) != 1:
        raise ValueError(f"the adjacency matrix has shape {A.shape}; it must be square")
    A = sparse.coo_array(A)
    if A.dtype.kind not in "buif" or not np.isfinite(A.data.astype(float)).all():
        raise ValueError("the adjacency matrix must hold finite numbers")
    different = (A != A.T).tocoo()
    if different.nnz:
        i, j = different.coords[0][0], different.coords[1][0]
        raise ValueError(f"the adjacency matrix is not symmetric at [{i}, {j}]; graphs are undirected")
    A.eliminate_zeros()
    pairs = np.stack(A.coords, axis=1)
    return pairs[pairs[:, 0] <= pairs[:, 1]].astype(np.int64), A.shape[0]


def _merge_edges(pairs, keys):
    """Each edge once, the smaller node first, with its label."""
    pairs = np.sort(pairs, axis=1)
    found, first, group = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    if keys is None:
        return found, None
    clash = np.flatnonzero(keys[first][group.reshape(-1)] != keys)
    if clash.size:
        raise ValueError(f"edge {pairs[clash[0]].tolist()} is given twice with different labels")
    return found, keys[first]


def label_keys(labels, what):
    """64-bit keys of labels, a fixed function of their content; a missing one is refused by its number."""
    seen, keys = {}, np.empty(len(labels), dtype=np.uint64)
    for i, label in enumerate(labels):
        try:
            keys[i] = seen[type(label), label]
        except KeyError:
            keys[i] = seen[type(label), label] = _label_key(label, what, i)
        except TypeError:  # not hashable
            keys[i] = _label_key(label, what, i)
    return keys


def _label_key(label, what, i):
    """The key of one label: 1, 1.0 and True are one label, and "1" is another."""
    if label is None or (isinstance(label, numbers.Real) and label != label):
        raise ValueError(f"{what} {i} has no label ({label}); give every {what} one, or none of them")
    if isinstance(label, str):
        text = b"s" + label.encode("utf-8", "surrogatepass")
    elif isinstance(label, bytes):
        text = b"b" + label
    elif isinstance(label, numbers.Real | np.bool_):
        text = b"n" + (str(int(label)) if float(label).is_integer() else repr(float(label))).encode()
    elif isinstance(label, tuple):
        inside = [_label_key(part, what, i).to_bytes(8, "little") for part in label]
        text = b"t" + b"".join(inside)
    else:
        raise TypeError(f"{what} {i}: a label is a number, a string, bytes or a tuple of these, got {label!r}")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


# ---------------------------------------------------------------------- reading
def as_graph(item):
    """Return a `Graph` of one, an adjacency matrix, (matrix or edges, labels), pairs, or a networkx graph."""
    if isinstance(item, Graph):
        return item
    if hasattr(item, "nodes") and hasattr(item, "edges"):
        return _of_networkx(item)
    if sparse.issparse(item) or (isinstance(item, np.ndarray) and item.ndim == 2):
        return Graph(item)
    if isinstance(item, tuple) and 2 <= len(item) <= 3 and not _is_pair(item[0]):
        return Graph(*item)
    if isinstance(item, list):
        return Graph(item)
    raise TypeError(
        "expected a Graph, an adjacency matrix, a list of edges, (matrix or edges, labels) or a networkx graph, "
        f"got {type(item).__name__}"
    )


def _is_pair(item):
    """Whether this is one edge: two whole numbers."""
    return isinstance(item, tuple) and len(item) == 2 and all(isinstance(node, numbers.Integral) for node in item)


def _of_networkx(graph):
    """A `Graph` of an object with ``nodes(data=True)`` and ``edges(data=True)``; the attribute "label" is read."""
    if getattr(graph, "is_directed", bool)():
        raise ValueError("the graph is directed; graphs are undirected here: use graph.to_undirected()")
    nodes, edges = list(graph.nodes(data=True)), list(graph.edges(data=True))
    place = {node: i for i, (node, _) in enumerate(nodes)}
    pairs = [(place[u], place[v]) for u, v, _ in edges]
    labels = _attributes([(repr(node), data) for node, data in nodes], "node")
    edge_labels = _attributes([(f"({u!r}, {v!r})", data) for u, v, data in edges], "edge")
    return Graph(pairs, labels, edge_labels, n_nodes=len(nodes))


def _attributes(named, what):
    """The labels, or None if nobody has one."""
    labels = [data.get("label") for _, data in named]
    missing = [name for (name, _), label in zip(named, labels, strict=True) if label is None]
    if len(missing) == len(labels):
        return None
    if missing:
        raise ValueError(f"{what} {missing[0]} has no label ({len(missing)} such); give every {what} one, or none")
    return labels


def as_graphs(items, who):
    """A list of `Graph`; an error names the row. Labels must be on all graphs or on none."""
    graphs = []
    for i, item in enumerate(items):
        try:
            graphs.append(as_graph(item))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{who}: row {i}: {error}.") from error
    for name in ("labels", "edge_labels"):
        there = [i for i, graph in enumerate(graphs) if getattr(graph, name) is not None]
        without = [i for i, graph in enumerate(graphs) if getattr(graph, name) is None and _needs(graph, name)]
        if there and without:
            kind = "node" if name == "labels" else "edge"
            raise ValueError(
                f"{who}: row {without[0]} has no {kind} labels, but row {there[0]} has; label all graphs, or none."
            )
    return graphs


def _needs(graph, name):
    """Whether there is anything to label."""
    return graph.n > 0 if name == "labels" else len(graph.edges) > 0
