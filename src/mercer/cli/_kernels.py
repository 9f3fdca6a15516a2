"""``--kernel``: from the text to a kernel, checked against the table before anything is fitted."""

from mercer.cli._errors import Usage
from mercer.tabular.words import meant


def read_kernel(text):
    """The kernel of an expression; None of None."""
    if text is None:
        return None
    from mercer.kernels import parse_kernel

    try:
        return parse_kernel(text)
    except (TypeError, ValueError) as error:
        said, unknown, known = str(error).partition(" is not a kernel class; known are ")
        if unknown:  # the list is long: say the nearest one
            said += f" is not a kernel{meant(said.rsplit(None, 1)[1], known.strip('.').split(', '))}"
        raise Usage(f"--kernel: {said}") from None


def strings_of(kernel, target):
    """Columns that a kernel reads as strings: to be read from the file as they stand."""
    if kernel is None:
        return ()
    from mercer.kernels.inputs import named_columns
    from mercer.tabular import objects_of

    try:
        if target in named_columns(kernel):
            raise Usage(f"--kernel: the kernel reads column {target!r}, which is the target")
        return tuple(name for name, kind in objects_of(kernel).items() if kind in ("string", "graph"))
    except ValueError as error:
        raise Usage(f"--kernel: {error}") from None


def kernel_objects(kernel, frame, target):
    """{column: kind} of what a kernel reads as it is, checked to be columns of the table."""
    if kernel is None:
        return {}
    from mercer.tabular import objects_of
    from mercer.tabular.reads import check_reads

    try:
        check_reads(kernel, frame, target)
        return objects_of(kernel)
    except ValueError as error:
        raise Usage(f"--kernel: {error}") from None


def check_kernel(kernel, recipe, frame):
    """Refuse a kernel that cannot read the columns, and columns that a kernel on objects cannot read."""
    if kernel is None:
        return
    import warnings

    import numpy as np

    from mercer.tabular import placed
    from mercer.tabular.objects import check_readable

    names = recipe.feature_names_
    try:
        kernel = placed(kernel, recipe)
        if not recipe.has_objects:
            kernel(kernel.validate(np.zeros((2, len(names)))))
    except (TypeError, ValueError) as error:
        raise Usage(f"--kernel: {error} (columns of the model: {', '.join(names[:12])})") from None
    if not recipe.has_objects:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a table does not differ from itself
        X, few = recipe.transform(frame), recipe.transform(frame[:2])
    try:
        check_readable(kernel, X)
        kernel(kernel.validate(few))
    except (TypeError, ValueError) as error:
        from mercer.exceptions import DataError

        if isinstance(error, DataError):
            raise
        raise Usage(f"--kernel: {error}") from None
