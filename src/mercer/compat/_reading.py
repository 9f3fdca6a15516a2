"""Reading X and y as scikit-learn does, except that a missing date is no number."""

from sklearn.utils import validation

from mercer.kernels.base import refuse_nat

NONE = "no_validation"  # scikit-learn's word for what was not given


def validate_data(estimator, X=NONE, y=NONE, **options):
    """scikit-learn's own, after NaT was refused: it would be taken as −2⁶³."""
    refuse_nat(X, "Input X")
    refuse_nat(y, "Input y")
    return validation.validate_data(estimator, X, y, **options)
