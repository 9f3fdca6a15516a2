"""Kernels on objects that need not be vectors, and the doors for a user's own function or matrix."""

from mercer.kernels.objects.alignment import LocalAlignment, Subsequence
from mercer.kernels.objects.bags import BagMean, BestMatch
from mercer.kernels.objects.categorical import Categorical, Ordinal
from mercer.kernels.objects.collection import Objects, as_objects
from mercer.kernels.objects.doors import MatrixRows, Pairwise, Precomputed
from mercer.kernels.objects.graph import Graph
from mercer.kernels.objects.measures import GaussianMeasure, MeanEmbedding, SlicedWasserstein
from mercer.kernels.objects.molecules import MinMax, Tanimoto, TanimotoOf
from mercer.kernels.objects.radial_of import RadialOf
from mercer.kernels.objects.smiles import AtomEnvironments
from mercer.kernels.objects.strings import Gappy, Mismatch, Spectrum, WeightedDegree
from mercer.kernels.objects.structures import EdgeHistogram, ShortestPath, VertexHistogram, WeisfeilerLehman
from mercer.kernels.objects.tables import Table
from mercer.kernels.objects.transport import GaussianTransport, TransportKernel
from mercer.kernels.objects.walks import RandomWalk

__all__ = [
    "AtomEnvironments",
    "BagMean",
    "BestMatch",
    "Categorical",
    "EdgeHistogram",
    "Gappy",
    "GaussianMeasure",
    "GaussianTransport",
    "Graph",
    "LocalAlignment",
    "MatrixRows",
    "MeanEmbedding",
    "MinMax",
    "Mismatch",
    "Objects",
    "Ordinal",
    "Pairwise",
    "Precomputed",
    "RadialOf",
    "RandomWalk",
    "ShortestPath",
    "SlicedWasserstein",
    "Spectrum",
    "Subsequence",
    "Table",
    "Tanimoto",
    "TanimotoOf",
    "TransportKernel",
    "VertexHistogram",
    "WeightedDegree",
    "WeisfeilerLehman",
    "as_objects",
]
