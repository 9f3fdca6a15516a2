"""α of a kernel machine for any convex loss on a Gram matrix: working sets, Newton and the softmax."""

from mercer.dual.options import DualLimits, WorkingSetOptions

__all__ = ["DualLimits", "WorkingSetOptions"]
