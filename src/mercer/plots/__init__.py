"""Pictures in scikit-learn's manner: ``from_…`` computes once, ``plot(ax)`` draws. Only drawing loads matplotlib."""

from mercer.plots.bias_variance import BiasVarianceDisplay
from mercer.plots.evidence import EvidenceSurfaceDisplay
from mercer.plots.intervals import IntervalDisplay
from mercer.plots.lcurve import LCurveDisplay
from mercer.plots.picard import PicardDisplay
from mercer.plots.posterior import PosteriorDisplay
from mercer.plots.probability import ProbabilityDisplay
from mercer.plots.selection import SelectionDisplay
from mercer.plots.support_vectors import SupportVectorDisplay

__all__ = [
    "BiasVarianceDisplay", "EvidenceSurfaceDisplay", "IntervalDisplay", "LCurveDisplay", "PicardDisplay",
    "PosteriorDisplay", "ProbabilityDisplay", "SelectionDisplay", "SupportVectorDisplay",
]  # fmt: skip
