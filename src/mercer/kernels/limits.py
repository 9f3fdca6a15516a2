"""The largest value of each discrete parameter of a kernel: far beyond use, and small enough to be computed.

A kernel is data: it comes from a command line or from a file that somebody else has written. A number that would keep
a computer busy for hours is refused when the kernel is read, not when it is used.
"""

import numbers

LARGEST = {
    "AtomEnvironments": {"radius": 100},
    "Gappy": {"k": 1000, "gaps": 1000},
    "Mismatch": {"k": 1000, "m": 1000},
    "Polynomial": {"degree": 10_000},
    "PolynomialBasis": {"degree": 10_000},
    "Power": {"exponent": 10_000},
    "SlicedWasserstein": {"directions": 10_000, "levels": 10_000},
    "Spectrum": {"k": 1000},
    "Subsequence": {"length": 1000},
    "WeightedDegree": {"k": 100, "shift": 1000},
    "WeisfeilerLehman": {"h": 100},
}


def check_limits(kernel):
    """Raise ValueError if a discrete parameter of a kernel, not of its parts, is beyond its largest value.

    Parameters
    ----------
    kernel : Kernel
        One with a method ``_check_parameters`` is asked for what depends on several parameters.
    """
    who = type(kernel).__name__
    for name, most in LARGEST.get(who, {}).items():
        value = getattr(kernel, name)
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, numbers.Real) and one > most:
                raise ValueError(f"{who}: {name} must be at most {most:,}, got {one:.4g}." if one < 1e300 else
                                 f"{who}: {name} must be at most {most:,}.")  # fmt: skip
    own = getattr(kernel, "_check_parameters", None)
    if own is not None:
        own()
