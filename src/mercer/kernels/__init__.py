"""Kernels: what similarity means. No λ, no y, no solver."""

from mercer.kernels.adapter import SklearnKernel, as_kernel
from mercer.kernels.algebra import Composite, Exp, PolynomialOf, Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.basis import FeatureMap, Features, GaussianBasis, PolynomialBasis, SigmoidBasis
from mercer.kernels.dot import ArcCosine, Constant, Linear, Polynomial, QuadraticForm
from mercer.kernels.inputs import Columns, Normalised, Transformed, Warped
from mercer.kernels.objects import MatrixRows, Pairwise, Precomputed
from mercer.kernels.parse import parse_kernel
from mercer.kernels.periodic import Cosine, Periodic
from mercer.kernels.radial import (
    Exponential,
    Gaussian,
    Laplacian,
    Matern,
    Matern32,
    Matern52,
    Radial,
    RationalQuadratic,
)

__all__ = [
    "ArcCosine",
    "Columns",
    "Composite",
    "Constant",
    "Cosine",
    "Exp",
    "Exponential",
    "FeatureMap",
    "Features",
    "Gaussian",
    "GaussianBasis",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Matern32",
    "Matern52",
    "MatrixRows",
    "Normalised",
    "Pairwise",
    "Periodic",
    "Polynomial",
    "PolynomialBasis",
    "PolynomialOf",
    "Power",
    "Precomputed",
    "Product",
    "QuadraticForm",
    "Radial",
    "RationalQuadratic",
    "Scaled",
    "SigmoidBasis",
    "SklearnKernel",
    "Sum",
    "Transformed",
    "Warped",
    "as_kernel",
    "parse_kernel",
]
