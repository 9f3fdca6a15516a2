"""Writing a file all or nothing: a temporary file beside it, flushed to the disk, then put in its place at once."""

import contextlib
import os
import secrets
import stat


@contextlib.contextmanager
def replacing(path, force=False):
    """Yield a binary file; when the block ends well it is at ``path``, else nothing has happened.

    Parameters
    ----------
    path : str or os.PathLike
    force : bool, default=False
        Whether a file that is there is replaced; a symbolic link is replaced itself, not what it points to.

    Raises
    ------
    FileExistsError
        Without ``force``, if there is something at the path, even if it came while we wrote.
    OSError
        What the system says (no such directory, no space, not allowed), with the path.
    """
    path = os.fspath(path)
    if not force and os.path.lexists(path):
        raise _exists(path)
    folder, name = os.path.split(path)
    if not name or os.path.isdir(path):
        raise IsADirectoryError(f"{path!r} is a directory; give the name of a file.")
    temporary, made = os.path.join(folder, f".mercer-{secrets.token_hex(8)}.tmp"), False
    try:
        with open(temporary, "xb") as file:
            made = True
            yield file
            file.flush()
            if force:
                _keep_mode(path, file)
            os.fsync(file.fileno())
        _put(temporary, path, force)
        _flush_folder(folder or os.curdir)
    except OSError as error:
        # A full disk does not say which file it was; without a number the error is ours, and says it.
        if error.errno is not None and error.filename in (None, temporary):
            error.filename = path
        raise
    finally:
        if made:
            with contextlib.suppress(OSError):  # it is in its place; or there is an error that says more
                os.unlink(temporary)


def _exists(path):
    return FileExistsError(f"{path!r} exists; use another name, or force=True to replace it.")


def _put(temporary, path, force):
    """Move the file to its place. Without force by a link, which fails where something is, however late it came."""
    if force:
        os.replace(temporary, path)
        return
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise _exists(path) from None
    except (OSError, NotImplementedError, AttributeError):  # a file system without links
        if os.path.lexists(path):
            raise _exists(path) from None
        os.replace(temporary, path)


def _keep_mode(path, file):
    """Give the new file the permissions of the one it replaces."""
    with contextlib.suppress(OSError, AttributeError):
        status = os.lstat(path)
        if stat.S_ISREG(status.st_mode):
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))


def _flush_folder(folder):
    """Make the new name last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
