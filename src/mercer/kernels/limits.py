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


def check_read(kernel):
    """Refuse a kernel that came as data: parts that are no kernels, no hyper-parameters, and what is beyond its limits.

    Parameters
    ----------
    kernel : Kernel
        It alone is looked at, not its parts, which were read before it.
    """
    from mercer.kernels.base import Kernel

    who = type(kernel).__name__
    for name, value in kernel.get_params(deep=False).items():
        if name in kernel.parts and not isinstance(value, Kernel):
            raise TypeError(f"{who}: {name} must be a kernel, got {type(value).__name__}.")
        if name not in kernel.parts and isinstance(value, Kernel):
            raise TypeError(f"{who}: {name} cannot be a kernel.")
    kernel._own()  # values and bounds of hyper-parameters
    if not kernel.parts:
        kernel.n_theta  # noqa: B018 - of a kernel of scikit-learn's, this looks at it
    check_limits(kernel)
