"""write: a page goes to its place whole, or not at all."""

from pathlib import Path

from mercer.report.page import render


def write(findings, path, force=False):
    """Render findings into a file; the file is whole or, if anything fails, as it was.

    Parameters
    ----------
    findings : Findings
    path : path-like
    force : bool, default=False
        Whether a file that is there is replaced.

    Returns
    -------
    Path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer import KernelRidge
    >>> from mercer.datasets import load_cars
    >>> from mercer.report import collect, write
    >>> X, y = load_cars(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = collect(KernelRidge().fit(X, y), X, y)
    ...     write(found, pathlib.Path(folder) / "report.html").stat().st_size < 2**20
    True
    """
    from mercer.files.atomic import replacing

    path = Path(path)
    if path.exists() and not force:  # before the work is done
        raise FileExistsError(f"{path} is there already; use force=True to replace it.")
    text = render(findings)
    with replacing(path, force) as file:
        file.write(text.encode())
    return path
