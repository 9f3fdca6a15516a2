"""``mercer`` on the command line: fit, predict, compare, evaluate, inspect, report, plan, demo.

Nothing heavy is imported here: ``mercer --help`` loads no NumPy. Each command loads what it needs when it runs.
"""

import sys

__all__ = ["main"]


def main(arguments=None):
    """Run a command and return the exit code: 0 done, 1 failed, 2 wrong usage, 3 unusable data, 130 interrupted.

    Parameters
    ----------
    arguments : list of str, default=None
        What follows ``mercer``; None is ``sys.argv[1:]``.

    Returns
    -------
    int

    Examples
    --------
    >>> from mercer.cli import main
    >>> main(["plan", "--rows", "500", "--features", "3"])
    n = 500: solver 'cholesky' on a tiled Gram matrix
    ...
    0
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters still gets the numbers
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    from mercer.cli import _run

    return _run.run(arguments)
