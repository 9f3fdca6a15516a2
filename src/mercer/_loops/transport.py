"""Discrete optimal transport, compiled."""

from numba import njit

from mercer._flow import cheapest_flow
from mercer._loops.core import OPTIONS

plan = njit(**OPTIONS)(cheapest_flow)
