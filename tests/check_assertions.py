"""Checks that raise instead of returning something, made visible: ours of ``mercer.testing`` and scikit-learn's."""

from functools import partial

from sklearn.utils import estimator_checks

# Checks of scikit-learn that ``check_estimator`` leaves out.
LEFT_OUT = ("check_dataframe_column_names_consistency", "check_param_validation", "check_inplace_ensure_writeable")


def assert_passes(check, thing, *more, **options):
    """``check(thing, ...)`` raises nothing, and leaves the thing as it was: neither other parameters nor attributes."""
    before = _seen(thing)
    check(thing, *more, **options)
    assert _seen(thing) == before


def _seen(thing):
    """What a user sees of it; what it remembers for the next call is its own."""
    return repr(thing), sorted(name for name in vars(thing) if not name.startswith("_"))


def assert_passes_named(name, estimator):
    """The check of scikit-learn of that name passes."""
    assert_passes(partial(getattr(estimator_checks, name), type(estimator).__name__), estimator)
