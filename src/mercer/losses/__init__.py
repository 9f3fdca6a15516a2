"""Losses L(y, f) for `mercer.KernelMachine`: how to be wrong. Adding one is one class; see docs/losses.md."""

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

BY_NAME = {
    "absolute": Absolute,
    "epsilon_insensitive": EpsilonInsensitive,
    "expectile": Expectile,
    "hinge": Hinge,
    "huber": Huber,
    "logistic": Logistic,
    "poisson": Poisson,
    "quantile": Quantile,
    "squared": Squared,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "squared_hinge": SquaredHinge,
}

__all__ = ["BY_NAME", "Dual", "Loss", *sorted(loss.__name__ for loss in BY_NAME.values())]
