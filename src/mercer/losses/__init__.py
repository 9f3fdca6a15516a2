"""Losses L(y, f) for `mercer.KernelMachine`: how to be wrong. Adding one is one class; see docs/losses.md."""

import re

from mercer.losses.base import Dual, Loss
from mercer.losses.classification import Hinge, Logistic, SquaredHinge
from mercer.losses.regression import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Huber,
    Poisson,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
)

LOSSES = (
    Absolute, EpsilonInsensitive, Expectile, Hinge, Huber, Logistic, Poisson, Quantile, Squared,
    SquaredEpsilonInsensitive, SquaredHinge,
)  # fmt: skip
BY_NAME = {re.sub("(?<=.)(?=[A-Z])", "_", loss.__name__).lower(): loss for loss in LOSSES}  # "squared_hinge"

__all__ = ["BY_NAME", "Dual", "Loss", *(loss.__name__ for loss in LOSSES)]
