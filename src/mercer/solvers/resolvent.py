"""Resolvent: λ ↦ (K + λI)⁻¹, what a solver makes of a Gram."""

import warnings

from mercer.exceptions import NotPositiveDefinite, NumericalWarning
from mercer.solvers.projected import project


class Resolvent:
    """λ ↦ (K + λI)⁻¹, with the trend H projected out where there is one.

    Parameters
    ----------
    inverse : callable
        λ ↦ `Inverse` of K + λI, repaired and examined where that is needed, with warnings.
    H : ndarray or Span, default=None
    trial : callable, default=None
        λ ↦ `Inverse` as it is, or `NotPositiveDefinite`; None is ``inverse`` without its warnings, a repair refused.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers import Explicit
    >>> from mercer.solvers import Resolvent
    >>> inverse = Resolvent(lambda lam: Explicit(np.eye(2) / (1.0 + lam), lam), np.ones((2, 1)))
    >>> inverse(1.0) @ np.array([1.0, 3.0])  # the mean is projected out
    array([-0.5,  0.5])
    """

    def __init__(self, inverse, H=None, trial=None):
        self._inverse, self._H, self._trial = inverse, H, trial

    def __call__(self, lam):
        """(K + λI)⁻¹."""
        return self._projected(self._inverse(lam))

    def trial(self, lam, whole=False):
        """Return the same for one trial of a search: nothing is repaired or told; ``whole`` if all entries are needed.

        Raises
        ------
        NotPositiveDefinite
            Where it would have to be repaired.
        """
        Kinv = (self._trial or self._quiet)(lam)
        return self._projected(Kinv.explicit() if whole else Kinv)

    def _quiet(self, lam):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericalWarning)
            Kinv = self._inverse(lam)
        if Kinv.info.get("jitter"):
            raise NotPositiveDefinite(f"K + lam I is not positive definite to working precision at lam = {lam:.3g}.")
        return Kinv

    def _projected(self, Kinv):
        return project(Kinv, self._H)


def as_resolvent(made):
    """What a solver's ``resolvent`` returned, as a `Resolvent`: an author may return any function of λ."""
    return made if isinstance(made, Resolvent) else Resolvent(made)
