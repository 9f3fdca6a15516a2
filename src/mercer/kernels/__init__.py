"""Kernels: what similarity means. No λ, no y, no solver."""

from mercer.kernels.adapter import SklearnKernel
from mercer.kernels.algebra import Product, Scaled, Sum
from mercer.kernels.anova import Anova
from mercer.kernels.base import Kernel, as_kernel
from mercer.kernels.basis import FeatureMap, Features, GaussianBasis, PolynomialBasis, SigmoidBasis
from mercer.kernels.columns import Columns
from mercer.kernels.composite import Composite
from mercer.kernels.dot import ArcCosine, Constant, Linear, Polynomial, QuadraticForm
from mercer.kernels.inputs import Normalised, Transformed, Warped
from mercer.kernels.laplacian import Laplacian
from mercer.kernels.objects.alignment import LocalAlignment, Subsequence
from mercer.kernels.objects.categorical import Categorical, Ordinal
from mercer.kernels.objects.graph import Graph
from mercer.kernels.objects.measures import GaussianMeasure, MeanEmbedding, SlicedWasserstein
from mercer.kernels.objects.molecules import MinMax, Tanimoto, TanimotoOf
from mercer.kernels.objects.precomputed import MatrixRows, Pairwise, Precomputed
from mercer.kernels.objects.radial_of import RadialOf
from mercer.kernels.objects.sets import BagMean, BestMatch
from mercer.kernels.objects.smiles import AtomEnvironments
from mercer.kernels.objects.strings import Gappy, Mismatch, Spectrum, WeightedDegree
from mercer.kernels.objects.structures import EdgeHistogram, ShortestPath, VertexHistogram, WeisfeilerLehman
from mercer.kernels.objects.tables import Table
from mercer.kernels.objects.transport import GaussianTransport, TransportKernel
from mercer.kernels.objects.walks import RandomWalk
from mercer.kernels.parse import parse_kernel
from mercer.kernels.periodic import Cosine, Periodic
from mercer.kernels.powers import Exp, PolynomialOf, Power
from mercer.kernels.radial import Exponential, Gaussian, Matern, Matern32, Matern52, RationalQuadratic
from mercer.kernels.radial_base import Radial
from mercer.kernels.sphere import Sphere
from mercer.kernels.standardised import Standardised

__all__ = [
    "Anova", "ArcCosine", "AtomEnvironments", "BagMean", "BestMatch", "Categorical", "Columns", "Composite", "Constant",
    "Cosine", "EdgeHistogram", "Exp", "Exponential", "FeatureMap", "Features", "Gappy", "Gaussian", "GaussianBasis",
    "GaussianMeasure", "GaussianTransport", "Graph", "Kernel", "Laplacian", "Linear", "LocalAlignment", "Matern",
    "Matern32", "Matern52", "MatrixRows", "MeanEmbedding", "MinMax", "Mismatch", "Normalised", "Ordinal", "Pairwise",
    "Periodic", "Polynomial", "PolynomialBasis", "PolynomialOf", "Power", "Precomputed", "Product", "QuadraticForm",
    "Radial", "RadialOf", "RandomWalk", "RationalQuadratic", "Scaled", "ShortestPath", "SigmoidBasis",
    "SklearnKernel", "SlicedWasserstein", "Spectrum", "Sphere", "Standardised", "Subsequence", "Sum", "Table",
    "Tanimoto", "TanimotoOf", "Transformed", "TransportKernel", "VertexHistogram", "Warped", "WeightedDegree",
    "WeisfeilerLehman", "as_kernel", "parse_kernel",
]  # fmt: skip
