"""Kernels of every shipped class, and random inputs of the kind that each of them reads.

A class without a line in ``EXPRESSIONS`` is tried as it is by default, and with a length for each of three columns
where it has lengths. It needs a line where it cannot be made without arguments, and an entry of ``SAMPLES`` where it
reads anything else than rows of numbers.
"""

import inspect

import numpy as np

from mercer.kernels import Columns, GaussianMeasure, Graph, parse_kernel
from mercer.kernels.objects.letters import alphabet_letters
from mercer.kernels.parse import kernel_classes


def first_column(X):
    """1 + x₁²."""
    return 1.0 + X[:, 0] ** 2


def sum_and_product(X):
    """(Σⱼ xⱼ, Πⱼ xⱼ)."""
    return np.stack([X.sum(axis=1), X.prod(axis=1)], axis=1)


def inverse_distance(x, z):
    """1/(1 + ‖x − z‖²)."""
    return 1.0 / (1.0 + float(np.sum((np.asarray(x) - np.asarray(z)) ** 2)))


NAMES = {f.__name__: f for f in (first_column, sum_and_product, inverse_distance, np.tanh)}
EXPRESSIONS = """
Anova(1.0)
Anova(2.0, 0.3, 'exponential')
Anova([0.5, 1.0, 2.0], 0.5)
Anova([0.5, 1.0, 2.0], 3.0, 'gaussian')
ArcCosine()
ArcCosine(0)
ArcCosine(2)
AtomEnvironments(1)
AtomEnvironments(2, [1.0, 0.5, 2.0])
AtomEnvironments(2, unary=True)
AtomEnvironments(2, stereo=True)
BagMean(Gaussian(1.5))
BagMean(2.0 * Gaussian([0.5, 1.0, 2.0]))
BestMatch(Gaussian(0.3))
BestMatch(Gaussian([0.3, 0.2, 0.4]))
Categorical(1.0)
Categorical([0.5, 2.0])
Categorical(0.0)
Gaussian(1.0).on(1)
Gaussian([0.5, 2.0]).on([0, 2])
Gaussian(1.0).on('age')
Gaussian([0.5, 2.0]).on(['age', 'dose'])
Constant(1.0)
Constant(2.5)
Constant(0.0)
Cosine(1.0)
Cosine(3.0)
Cosine([1.0, 2.0, 5.0])
EdgeHistogram(True)
EdgeHistogram(False)
(0.3 * Linear()).exp()
Gaussian(1.0).exp()
Exponential(1.0)
Exponential([0.5, 1.0, 2.0])
FeatureMap(sum_and_product)
Gappy(2)
Gappy(3, 2, 0.7)
Gappy(1)
Gappy(3, alphabet='dna')
Gaussian(1.0)
Gaussian([0.5, 1.0, 2.0])
GaussianBasis([[0.0, 0.0, 0.0], [1.0, -1.0, 0.5], [-0.5, 0.25, 1.0]])
GaussianBasis([[0.0, 0.0, 0.0], [1.0, -1.0, 0.5]], 2.5)
GaussianTransport()
GaussianTransport([0.5, -1.0], [[2.0, 0.4], [0.4, 0.5]])
Laplacian(1.0)
Laplacian([0.5, 1.0, 2.0])
Linear()
LocalAlignment(0.3)
LocalAlignment(0.2, (1.0, -1.0), alphabet='dna')
LocalAlignment(0.1, [[2.0, -1.0], [-1.0, 3.0]], alphabet='ab')
Matern(1.0)
Matern(1.0, 0.8)
Matern([0.5, 1.0, 2.0], 2.2)
Matern32(1.0)
Matern32([0.5, 1.0, 2.0])
Matern52(1.0)
Matern52([0.5, 1.0, 2.0])
MeanEmbedding(Gaussian(1.5))
MeanEmbedding(2.0 * Gaussian([0.5, 1.0, 2.0]))
MinMax()
Mismatch(3)
Mismatch(4, 2)
Mismatch(3, alphabet='abc')
(Linear() + Constant(2.0)).normalise()
(2.0 * Linear()).normalise()
Ordinal(['low', 'medium', 'high', 'very high'])
Ordinal(['low', 'medium', 'high', 'very high'], [0.5, 1.0, 3.0])
Ordinal([1, 2, 5], 0.7)
Pairwise(inverse_distance)
Periodic(1.0)
Periodic(0.7, 3.0)
Periodic([0.5, 1.0, 2.0], 2.0)
Periodic(1.5, [1.0, 2.0, 3.0])
Polynomial()
Polynomial(1, 0.5)
Polynomial(3, 2.0)
Polynomial(offset=0.0)
PolynomialBasis()
PolynomialBasis(3, True)
PolynomialBasis(0)
Gaussian(1.0).polynomial([1.0, 0.0, 2.0])
Linear().polynomial((0.0, 1.0))
(Linear() + Constant(1.0)) ** 3
Gaussian(1.0) ** 2
Precomputed()
Gaussian(0.5) * Linear()
(Gaussian(1.0) + Linear()) * (Linear() + Constant(2.0))
QuadraticForm()
QuadraticForm([[2.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
QuadraticForm([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
RadialOf(Gaussian(2.0), Polynomial(offset=0.7))
RadialOf(RationalQuadratic(1.5, 0.8), Linear() + Constant(0.5))
RadialOf(Exponential(1.5), Linear())
RandomWalk(0.02)
RandomWalk(0.01)
RationalQuadratic(1.0)
RationalQuadratic(0.7, 2.0)
RationalQuadratic([0.5, 1.0, 2.0], 0.5)
2.0 * Gaussian(1.0)
Scaled(Linear(), 0.3, scale_bounds=(0.1, 10.0))
ShortestPath()
SigmoidBasis([[0.0, 0.0, 0.0], [1.0, -1.0, 0.5], [-0.5, 0.25, 1.0]])
SigmoidBasis([[0.0, 0.0, 0.0], [1.0, -1.0, 0.5]], 2.5)
SklearnKernel(gp.RBF(length_scale=[0.5, 1.0, 2.0]))
SklearnKernel(gp.Sum(gp.Product(gp.ConstantKernel(2.0), gp.Matern(nu=2.5)), gp.DotProduct(0.7, 'fixed')))
SlicedWasserstein(5, 12)
SlicedWasserstein(20, 30, 3)
Spectrum(2)
Spectrum([1, 2, 3], [1.0, 0.5, 2.0])
Spectrum(3, alphabet='dna')
Sphere(Gaussian(0.5), 57.29577951308232)
Sphere(2.0 * Matern32([100.0, 200.0, 50.0, 1.0]))
Standardised(Gaussian(1.0), 1.0, 2.0)
Standardised(Linear(), [1.0, 0.0, 2.0], [0.5, 2.0, 3.0])
Standardised(Polynomial(2), [1.0, 0.0, 2.0], [0.5, 2.0, 3.0])
Subsequence(2)
Subsequence(3, 0.8)
Subsequence(1, 0.9)
Subsequence(2, 0.7, alphabet='dna')
Gaussian(0.5) + Linear()
Linear() + 2.0 * Gaussian(1.0)
Tanimoto()
TanimotoOf(Linear() + Constant(0.5))
TanimotoOf(Polynomial(offset=0.7))
Gaussian(1.0).transform(tanh)
TransportKernel([[0.0, 0.5], [1.0, -1.0], [-0.5, 0.25], [0.3, 1.2]])
TransportKernel([[0.0, 0.5], [1.0, -1.0], [-0.5, 0.25]], [1.0, 2.0, 0.5])
VertexHistogram()
Gaussian(1.0).warp(first_column)
WeightedDegree(3)
WeightedDegree(2, 2)
WeightedDegree(2, weights=[1.0, 0.5], alphabet='dna')
WeisfeilerLehman(3)
WeisfeilerLehman(2, [1.0, 0.5, 0.25])
WeisfeilerLehman(0)
"""


def examples():
    """{class name: [kernel, …]}, new ones."""
    found = {}
    for kernel in (parse_kernel(line, NAMES) for line in EXPRESSIONS.split("\n")[1:-1]):
        found.setdefault(type(kernel).__name__, []).append(kernel)
    return found | {name: list(by_default(cls)) for name, cls in kernel_classes().items() if name not in found}


def by_default(cls):
    """The kernel of a class without arguments, and with a length scale for each column."""
    arguments = inspect.signature(cls).parameters
    required = [name for name, argument in arguments.items() if argument.default is argument.empty]
    assert not required, f"{cls.__name__} needs {required}: give it a line in EXPRESSIONS of {__name__}."
    yield cls()
    if "length_scale" in arguments:
        yield cls(length_scale=[0.5, 1.0, 2.0])


# ---------------------------------------------------------------------- inputs
def sample(kernel, n, rng):
    """n random inputs that a kernel reads."""
    name = type(kernel).__name__
    if name == "Columns":
        return _columns(kernel, n, rng)
    if name in SAMPLES:
        return SAMPLES[name](kernel, n, rng)
    parts = [getattr(kernel, part) for part in kernel.parts if part != "radial"]
    return sample(parts[0], n, rng) if parts else rng.standard_normal((n, 3))


def _columns(kernel, n, rng):
    """Rows of numbers, or a dict with the columns by name."""
    names = kernel.named_columns()
    if isinstance(kernel, Columns) and kernel.kernel.domain == "objects" and len(names) == 1:
        return {names[0]: sample(kernel.kernel, n, rng)}
    return {name: rng.standard_normal(n) for name in names} if names else rng.standard_normal((n, 3))


def random_strings(n, rng, alphabet=None, longest=12):
    """n strings of 0 to ``longest`` letters, one of them empty."""
    letters = alphabet_letters(alphabet, "random_strings") or "abc\0é😀"
    lengths = rng.integers(1, longest + 1, size=n)
    lengths[-1:] = 0
    return ["".join(letters[c] for c in rng.integers(len(letters), size=m)) for m in lengths]


def random_graphs(n, rng, largest=7):
    """n random graphs with labels, the last without an edge, one with a single node."""
    graphs = []
    for i in range(n):
        size = 1 if i == 1 else int(rng.integers(2, largest + 1))
        pairs = np.argwhere(np.triu(rng.random((size, size)) < (0.5 if i < n - 1 else 0.0), 1))
        graphs.append(Graph(pairs.tolist(), rng.integers(3, size=size).tolist()))
    return graphs


def _smiles(kernel, n, rng):
    pieces = ["C", "O", "N", "c1ccccc1", "C(=O)O", "S", "C#N", "Cl", "[NH3+]"]
    texts = ["".join(rng.choice(pieces[:3], rng.integers(1, 5))) + str(rng.choice(pieces)) for _ in range(n - 1)]
    return [*texts, ""]


def _bags(kernel, n, rng):
    """Bags of 1 to 5 points in three columns; the last is empty."""
    return [*(rng.normal(rng.normal(0, 1, 3), 1.0, (rng.integers(1, 6), 3)) for _ in range(n - 1)), []]


def _clouds(n, rng, d, sizes):
    """n clouds of points in d columns, one of them weighted."""
    clouds = [rng.normal(rng.normal(0, 1, d), rng.uniform(0.3, 2), (rng.integers(*sizes), d)) for _ in range(n)]
    return [(clouds[0], rng.uniform(0.5, 2.0, len(clouds[0]))), *clouds[1:]]


def _measures(kernel, n, rng):
    return _clouds(n, rng, 2, (3, 10))


def _gaussians(kernel, n, rng):
    return [GaussianMeasure([0.5, 1.0], [[2.0, 0.3], [0.3, 0.1]]), *_measures(kernel, n - 1, rng)]


def _categories(kernel, n, rng):
    d = np.size(kernel.length_scale)
    drawn = rng.choice(np.array(["a", "b", "c"], dtype=object), size=(n, d))
    return drawn if d > 1 else drawn[:, 0].tolist()


def _matrix(kernel, n, rng):
    A = rng.standard_normal((n, n))
    return A @ A.T / n


def _strings(kernel, n, rng):
    return random_strings(n, rng, kernel.alphabet)


def _short_strings(kernel, n, rng):
    return random_strings(n, rng, kernel.alphabet, 6)  # alignments of all pairs of letters, one by one


def _graphs(kernel, n, rng):
    return random_graphs(n, rng)


def _counts(kernel, n, rng):
    return rng.uniform(0.5, 4.0, (n, 4))


SAMPLES = {
    **dict.fromkeys(["Gappy", "Mismatch", "Spectrum", "Subsequence", "WeightedDegree"], _strings),
    "LocalAlignment": _short_strings,
    **dict.fromkeys(["EdgeHistogram", "RandomWalk", "ShortestPath", "VertexHistogram", "WeisfeilerLehman"], _graphs),
    **dict.fromkeys(["BagMean", "BestMatch"], _bags),
    **dict.fromkeys(["SlicedWasserstein", "TransportKernel"], _measures),
    **dict.fromkeys(["Tanimoto", "MinMax"], _counts),
    "AtomEnvironments": _smiles,
    "Categorical": _categories,
    "GaussianTransport": _gaussians,
    "MeanEmbedding": lambda kernel, n, rng: _clouds(n, rng, 3, (2, 6)),
    "Ordinal": lambda kernel, n, rng: [list(kernel.levels)[i] for i in rng.integers(0, len(kernel.levels), n)],
    "Precomputed": _matrix,
}
