"""Running a command: which one, and what its end means to the shell."""

import contextlib
import os
import sys

from mercer.cli._errors import Interrupted, Usage

DONE, FAILED, USAGE, DATA, INTERRUPTED = 0, 1, 2, 3, 130


def run(arguments):
    """Run the command of the arguments; return the exit code."""
    debug = "--debug" in arguments
    try:
        code = _command(arguments) or DONE
        sys.stdout.flush()
        return code
    except (KeyboardInterrupt, Interrupted) as end:
        written = getattr(end, "written", ())
        what = f"{', '.join(written)} had been written" if written else "nothing was written"
        print(f"\ninterrupted: {what}.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # who read our output has had enough
        _close_output()
        return DONE
    except Exception as error:
        if debug:
            raise
        code, text = meaning(error)
        print(f"error: {text}", file=sys.stderr)
        return code


def _close_output():
    """Send what is left in the buffer nowhere: flushing it at exit would fail again."""
    with contextlib.suppress(OSError, ValueError):  # a stream without a file, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(arguments):
    """What the command returns."""
    from mercer.cli import _app

    if not arguments:
        _app.parser()[0].print_help()
        return USAGE
    try:
        return _app.run(list(arguments))
    except SystemExit as end:  # --help and --version, which have said what they had to
        return end.code


def meaning(error):
    """(exit code, one line) of an exception."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, Usage):
        return USAGE, text
    if isinstance(error, ImportError):
        ours = (error.name or "").split(".")[0] == "mercer"  # a fault inside asks for no package
        return FAILED, text if ours or "mercer[" in text else f"{text}; install mercer[cli]"
    from mercer import exceptions

    broken = tuple(cls for cls in (exceptions.DataError, getattr(exceptions, "ModelFileError", None)) if cls)
    if isinstance(error, broken):
        return DATA, text
    if isinstance(error, FileNotFoundError | FileExistsError | IsADirectoryError):
        return USAGE, text
    if isinstance(error, MemoryError | OSError):
        return FAILED, text
    return FAILED, f"{type(error).__name__}: {text} (--debug shows where)"
