"""Warnings that point at the caller's line: the first frame outside mercer, and outside what calls it on the way."""

import os
import sys
import warnings

import sklearn

# scikit-learn stands between a caller and `fit` in pipelines, searches and its own wrappers of methods.
INSIDE = tuple(os.path.dirname(os.path.abspath(path)) + os.sep for path in (__file__, sklearn.__file__))


class Caution(str):
    """A note on what was done to the data that a reader must know first: a verdict begins with it.

    Examples
    --------
    >>> from mercer._warn import Caution
    >>> Caution("column 'x': 9 cells of -999 read as missing.")
    "column 'x': 9 cells of -999 read as missing."
    """

    __slots__ = ()


def warn(message, category=UserWarning):
    """Warn at the line of the first frame that is neither mercer's nor scikit-learn's.

    Examples
    --------
    >>> import warnings
    >>> from mercer._warn import warn
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("the remedy comes with it", RuntimeWarning)
    >>> caught[0].category.__name__
    'RuntimeWarning'
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_again(caught):
    """Issue caught warnings again, at the caller's line."""
    for one in caught:
        warn(str(one.message), one.category)
