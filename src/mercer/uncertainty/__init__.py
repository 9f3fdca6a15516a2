"""What the residuals give for free: every fit without a row, and from these intervals, calibration and influence."""

from mercer.uncertainty.deletion import Deletion
from mercer.uncertainty.errors import LeftOutErrors
from mercer.uncertainty.intervals import conformal, cv_plus, jackknife_plus, p_value, split
from mercer.uncertainty.leverage import LEVELS, Calibration, Influence, calibration, calibration_of, influence

__all__ = [
    "LEVELS", "Calibration", "Deletion", "Influence", "LeftOutErrors", "calibration", "calibration_of", "conformal",
    "cv_plus",
    "influence", "jackknife_plus", "p_value", "split",
]  # fmt: skip
