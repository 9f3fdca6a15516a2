"""Which summands of several kernels read the same: the same columns, and of seasons the same period."""

import numpy as np


def group_summands(kernels, every=()):
    """[{number of a kernel: its summands}]: those of all kernels that read the same, in the order of the kernels.

    A line and a smooth function of a column read the same: how much of their sum is which, each kernel says in another
    way. A season is apart from both.

    Parameters
    ----------
    kernels : list of Kernel
    every : sequence, default=()
        All columns that there are; empty for objects.

    Examples
    --------
    >>> from mercer.inference.summands import group_summands
    >>> from mercer.kernels import Gaussian, Linear
    >>> first, second = Gaussian(1.0).on(0) + Linear().on(1), Linear().on(0)
    >>> group_summands([first, second], range(2))
    [{0: [Gaussian(1.0).on(0)], 1: [Linear().on(0)]}, {0: [Linear().on(1)]}]
    """
    found: list = []  # (columns, period, {number: summands})
    for k, kernel in enumerate(kernels):
        for part in kernel.additive_parts():
            columns, period = frozenset(part.columns_read(every)), part.season()
            same = (one for own, other, one in found if own == columns and _same_period(period, other))
            home = next(same, None)
            if home is None:
                found.append((columns, period, home := {}))
            home.setdefault(k, []).append(part)
    return [one for _, _, one in found]


def _same_period(one, other):
    """Whether two periods are one, or neither is there."""
    return one is other if one is None or other is None else abs(np.log(one / other)) < 0.1
