"""Kernels on graphs: naive twins, every way to write a graph down, bad input, and the estimators on top."""

import itertools
import pickle
from collections import Counter, deque

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from examples_of_every_kernel import random_graphs
from mercer import GaussianProcessRegressor, KernelMachine, KernelRidge
from mercer.kernels import EdgeHistogram, Graph, RandomWalk, ShortestPath, Spectrum, VertexHistogram, WeisfeilerLehman
from mercer.kernels.objects.collection import Objects
from mercer.selection import LOO
from mercer.testing import check_kernel

ALL = [VertexHistogram(), EdgeHistogram(), WeisfeilerLehman(2), ShortestPath(), RandomWalk(0.02)]
PATH, TRIANGLE = [(0, 1), (1, 2)], [(0, 1), (1, 2), (2, 0)]


def raw(n, rng, largest=7, edge_labels=False):
    """[(edges, labels, edge labels), …] of random graphs, written with plain lists."""
    out = []
    for _ in range(n):
        size = int(rng.integers(1, largest + 1))
        edges = [(i, j) for i, j in itertools.combinations(range(size), 2) if rng.random() < 0.4]
        labels = [str(label) for label in rng.integers(3, size=size)]
        out.append((edges, labels, [int(e) for e in rng.integers(2, size=len(edges))] if edge_labels else None))
    return out


def around(graph):
    """[[(neighbour, label of the edge), …], …]."""
    edges, labels, kinds = graph
    out = [[] for _ in labels]
    for (i, j), kind in zip(edges, kinds or [None] * len(edges), strict=True):
        out[i].append((j, kind))
        out[j].append((i, kind))
    return out


def matrix(histogram, X):
    counts = [Counter(histogram(x)) for x in X]
    return np.array([[sum(a[key] * b[key] for key in a) for b in counts] for a in counts], dtype=float)


# ---------------------------------------------------------------------- naive twins
@pytest.mark.parametrize("edge_labels", [False, True])
@pytest.mark.parametrize("h", [0, 1, 3])
def test_weisfeiler_lehman_is_the_textbook(h, edge_labels, rng):
    X = raw(12, rng, edge_labels=edge_labels)

    def subtrees(graph):
        near, labels = around(graph), list(graph[1])
        found = [(0, label) for label in labels]
        for t in range(1, h + 1):
            near_labels = [sorted((repr(kind), repr(labels[u])) for u, kind in one) for one in near]
            labels = list(zip(labels, map(tuple, near_labels), strict=True))
            found += [(t, repr(label)) for label in labels]
        return found

    np.testing.assert_array_equal(WeisfeilerLehman(h)(X), matrix(subtrees, X))


def test_weights_of_the_rounds(rng):
    X, w = raw(8, rng), [2.0, 0.5, 3.0]
    parts = [WeisfeilerLehman(0)(X)]
    parts += [WeisfeilerLehman(h)(X) - WeisfeilerLehman(h - 1)(X) for h in (1, 2)]
    np.testing.assert_allclose(WeisfeilerLehman(2, w)(X), sum(a * K for a, K in zip(w, parts, strict=True)), rtol=1e-13)


def test_histograms(rng):
    X = raw(10, rng, edge_labels=True)
    np.testing.assert_array_equal(VertexHistogram()(X), matrix(lambda g: g[1], X))
    np.testing.assert_array_equal(EdgeHistogram(ends=False)(X), matrix(lambda g: g[2], X))

    def kinds(g):
        return [(k, *sorted((g[1][i], g[1][j]))) for (i, j), k in zip(g[0], g[2], strict=True)]

    np.testing.assert_array_equal(EdgeHistogram()(X), matrix(kinds, X))


def test_shortest_paths(rng):
    X = raw(10, rng)

    def paths(graph):
        near, labels = around(graph), graph[1]
        for start in range(len(near)):
            steps, queue = {start: 0}, deque([start])
            while queue:
                u = queue.popleft()
                for v, _ in near[u]:
                    if v not in steps:
                        steps[v] = steps[u] + 1
                        queue.append(v)
            yield from ((*sorted((labels[start], labels[v])), d) for v, d in steps.items() if v > start)

    np.testing.assert_array_equal(ShortestPath()(X), matrix(paths, X))


def product_graph(x, z):
    """The adjacency matrix of pairs of nodes with the same label."""
    A, B = (Graph(*graph).adjacency() for graph in (x, z))
    same = np.array([[a == b for b in z[1]] for a in x[1]]).ravel()
    return np.kron(A, B)[np.ix_(same, same)]


def test_random_walks_are_counted(rng, loops):
    X, decay = raw(7, rng, 5), 0.04
    expected, terms = np.zeros((7, 7)), np.zeros((7, 7))
    for i, j in itertools.product(range(7), repeat=2):
        A = product_graph(X[i], X[j])
        one = np.ones(len(A))
        expected[i, j] = one @ np.linalg.solve(np.eye(len(A)) - decay * A, one)
        walks = one
        for n in range(60):  # the sum itself, walk by walk
            terms[i, j] += decay**n * walks.sum()
            walks = A @ walks
    np.testing.assert_allclose(RandomWalk(decay)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(expected, terms, rtol=1e-9)


def test_random_walk_sums_that_are_infinite_are_refused(loops):
    clique = [(i, j) for i in range(6) for j in range(i)]  # largest eigenvalue 5
    assert np.isfinite(RandomWalk(0.039)([PATH, clique])).all()
    with pytest.raises(ValueError, match=r"rows 1 and 1.* 5 .* 5.*0\.04"):
        RandomWalk(0.04)([PATH, clique])


def test_random_walks_of_half_a_matrix_and_of_no_nodes(rng, loops):
    X = [*raw(6, rng, 12), ([(0, 0), (0, 1)], ["0", "1"]), ([], [])]  # a loop; nothing
    Z, W = Objects(raw(4, rng, 9)), rng.standard_normal((8, 4))
    X, kernel = Objects(X), RandomWalk(0.008)
    K, weighted = kernel(X, Z), kernel.weighted(X, Z, W)
    np.testing.assert_allclose(kernel(Objects([*X, *Z]))[:8, 8:], K, rtol=1e-12)
    np.testing.assert_allclose(np.diag(kernel(X)), kernel.diag(X), rtol=1e-12)
    np.testing.assert_allclose(weighted[0], np.vdot(W, K), rtol=1e-12)
    assert (K[-1] == 0.0).all()


def test_random_walks_that_do_not_converge_are_an_error(loops):
    class Impatient(RandomWalk):
        most_steps = 2

    with pytest.raises(ValueError, match="decay"):
        Impatient(0.04)([[(i, i + 1) for i in range(9)]])


# ---------------------------------------------------------------------- ways to write a graph
class FakeNetworkx:
    """What is read of a networkx graph."""

    def __repr__(self):
        return "a graph of networkx"

    def __init__(self, nodes, edges, directed=False):
        self._nodes, self._edges, self._directed = nodes, edges, directed

    def is_directed(self):
        return self._directed

    def nodes(self, data=False):
        return list(self._nodes.items())

    def edges(self, data=False):
        return [(u, v, attributes) for (u, v), attributes in self._edges.items()]


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_all_ways_are_one_graph(kernel):
    A = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    ways = [
        Graph(PATH, "CCO"),
        (PATH, ["C", "C", "O"]),
        (np.array([[1, 0], [1, 2], [2, 1]]), "CCO"),
        (A, "CCO"),
        (A.astype(float) * 0.5, np.array(["C", "C", "O"])),
        (sparse.csr_array(A), ("C", "C", "O")),
        FakeNetworkx({7: {"label": "C"}, "x": {"label": "C"}, 1: {"label": "O"}}, {(7, "x"): {}, ("x", 1): {}}),
    ]
    K = kernel(ways)
    np.testing.assert_allclose(K, K[0, 0], rtol=1e-12)
    unlabelled = FakeNetworkx({0: {}, 1: {}, 2: {}}, {(0, 1): {}, (1, 2): {}})
    plain = kernel([Graph(PATH), A, PATH, (PATH, None), sparse.coo_array(A), unlabelled])
    np.testing.assert_allclose(plain, plain[0, 0], rtol=1e-12)


def test_the_order_of_nodes_and_edges_does_not_matter(rng):
    X = raw(8, rng, edge_labels=True)
    moved = []
    for edges, labels, kinds in X:
        order = rng.permutation(len(labels))
        place = np.argsort(order)
        swapped = [(int(place[j]), int(place[i])) for i, j in edges][::-1]
        moved.append((swapped, [labels[i] for i in order], kinds[::-1]))
    for kernel in ALL:
        np.testing.assert_allclose(kernel(X, moved), kernel(X), rtol=1e-12)


def test_labels_are_compared_by_content():
    kernel = VertexHistogram()
    K = kernel([([], [1]), ([], [1.0]), ([], [np.int64(1)]), ([], [True]), ([], ["1"]), ([], [b"1"]), ([], [(1, "a")])])
    np.testing.assert_array_equal(K[:4, :4], np.ones((4, 4)))
    np.testing.assert_array_equal(K[4:], np.eye(7)[4:])


def test_keys_are_the_same_in_every_process():
    """They do not depend on Python's hash, on the machine or on what else is counted: these were written down once."""
    kernel = WeisfeilerLehman(1)
    assert kernel._prepared(kernel.validate([Graph(PATH, ["C", "é", 3])])).keys.tolist() == [
        5918039162621565164, 6439700334300191859, 6684801965790025250,
        12662420910787177824, 15626379883988436821, 17005704691532474289,
    ]  # fmt: skip
    kernel = Spectrum(2)
    assert kernel._prepared(kernel.validate(["aé😀"])).keys.tolist() == [2407355895044314655, 17011347826916738437]


# ---------------------------------------------------------------------- bad input
@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_graphs_without_edges_or_nodes_have_defined_values(kernel):
    X = [PATH, Graph([], n_nodes=3), Graph([]), np.zeros((2, 2)), [(0, 0)], Graph([(0, 0), (0, 1)])]
    K = kernel(X)
    assert np.isfinite(K).all() and np.isfinite(kernel.normalise()(X)).all()
    assert (K[2] == 0).all()  # no node: nothing to count
    check_kernel(kernel, X)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((PATH, ["a", None, "b"]), r"row 1: node 1 has no label \(None\)"),
        ((PATH, [1.0, 2.0, float("nan")]), r"row 1: node 2 has no label \(nan\)"),
        ((PATH, "CCO", [1, None]), "row 1: edge 1 has no label"),
        ((PATH, "CC"), r"row 1: edge \[1, 2\] names a node outside 0, …, 1"),
        ((PATH, "CCO", [1]), "row 1: there are 2 edges, but 1 edge labels"),
        (([(0, 1), (1, 0)], "CC", [1, 2]), r"row 1: edge \[0, 1\] is given twice with different labels"),
        (np.array([[0, 1], [0, 0]]), r"row 1: the adjacency matrix is not symmetric at \[0, 1\]"),
        (np.array([[0, np.nan], [np.nan, 0]]), "row 1: the adjacency matrix must hold finite numbers"),
        (sparse.csr_array(np.ones((2, 3))), r"row 1: the adjacency matrix has shape \(2, 3\)"),
        ([(0, -1)], r"row 1: edge \[0, -1\] names a node outside"),
        ([(0.5, 1)], "row 1: edges must be pairs of whole numbers"),
        ([(0, 1, 2)], "row 1: edges must be pairs of whole numbers"),
        (FakeNetworkx({0: {"label": 1}, "b": {}}, {}), r"row 1: node 'b' has no label \(1 such\)"),
        (FakeNetworkx({0: {}}, {}, directed=True), "row 1: the graph is directed"),
        (3, "row 1: expected a Graph"),
        ("abc", "row 1: expected a Graph"),
        (None, "row 1: expected a Graph"),
    ],
    ids=str,
)  # fmt: skip
def test_bad_graphs_are_refused_by_row(kernel, bad, message):
    with pytest.raises((TypeError, ValueError), match=message):
        kernel([PATH, bad])


def test_labels_on_some_graphs_only_are_refused():
    with pytest.raises(ValueError, match="row 2 .*row 0"):
        WeisfeilerLehman()([(PATH, "CCO"), (TRIANGLE, "CCC"), TRIANGLE])


# ---------------------------------------------------------------------- estimators
def carbon_data(n, rng):
    """Random graphs, and how many edges join two nodes of label 0."""
    X = random_graphs(n, rng)
    zero = VertexHistogram()._prepared(VertexHistogram().validate([([], [0])])).keys[0]
    return X, np.array([float(np.sum((g.labels[g.edges] == zero).all(axis=1))) for g in X])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # few features, many rows: λ may go to 0
@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")
def test_ridge_chooses_the_kernel(rng):
    X, y = carbon_data(60, rng)
    y = y + 0.1 * rng.standard_normal(len(y))
    model = KernelRidge([VertexHistogram(), EdgeHistogram(), WeisfeilerLehman(3)], criterion=LOO()).fit(X, y)
    assert repr(model.kernel_) == "EdgeHistogram(True)"
    Z, truth = carbon_data(30, rng)
    assert model.score(Z, truth) > 0.95


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # decay may end at a bound
def test_weights_and_decay_are_learnt(rng):
    X, y = carbon_data(40, rng)
    y = y + 0.1 * rng.standard_normal(len(y))
    model = GaussianProcessRegressor(WeisfeilerLehman(1, [1.0, 1.0])).fit(X, y)
    assert model.kernel_.weights[1] != 1.0
    mean, std = model.predict(X[:2], return_std=True)
    assert np.isfinite(mean).all() and (std >= 0).all()
    free, fixed = (
        KernelRidge(RandomWalk(0.01, decay_bounds=bounds), criterion=LOO()).fit(X, y)
        for bounds in ((1e-4, 0.02), "fixed")
    )
    assert free.kernel_.decay != 0.01 and free.selection_.value < fixed.selection_.value


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_classifier_cross_validation_and_copies(kernel, rng):
    X, y = carbon_data(30, rng)
    label = y > np.median(y)
    model = KernelMachine(kernel.normalise(), loss="logistic", lam=0.1)
    assert cross_val_score(model, X, label, cv=3).shape == (3,)
    fitted = clone(model).fit(X, label)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))


def test_mutag(shared_data):
    folder = shared_data / "structured" / "MUTAG"

    def column(name, **options):
        return np.loadtxt(folder / f"MUTAG_{name}.txt", dtype=int, **options)

    arcs, graph, node = column("A", delimiter=",") - 1, column("graph_indicator") - 1, column("node_labels")
    X = []
    for g in range(188):
        first, mine = np.flatnonzero(graph == g)[0], graph[arcs[:, 0]] == g
        X.append(((arcs[mine] - first).tolist(), node[graph == g]))
    assert sum(len(Graph(*x).edges) for x in X) == 7442 // 2
    model = KernelMachine(WeisfeilerLehman(1).normalise(), loss="hinge", lam=1e-3)
    assert cross_val_score(model, X, column("graph_labels"), cv=10).mean() > 0.83
