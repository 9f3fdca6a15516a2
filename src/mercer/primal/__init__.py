"""β for a loss on explicit features, pass by pass: what is left of a kernel machine when K has m columns."""

from mercer.primal.options import LandmarkFitOptions, SmoothLossOptions

__all__ = ["LandmarkFitOptions", "SmoothLossOptions"]
