"""Pictures in scikit-learn's manner: ``from_…`` computes once, ``plot(ax)`` draws. Only drawing loads matplotlib."""

from mercer.plots.bias_variance import BiasVarianceDisplay
from mercer.plots.intervals import IntervalDisplay
from mercer.plots.lcurve import LCurveDisplay
from mercer.plots.picard import PicardDisplay
from mercer.plots.selection import SelectionDisplay

__all__ = ["BiasVarianceDisplay", "IntervalDisplay", "LCurveDisplay", "PicardDisplay", "SelectionDisplay"]
