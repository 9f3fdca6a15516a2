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
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # which typer takes for a failure
            _close_output()
            return DONE
        raise
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
    try:
        import typer  # noqa: F401 - asked for here, so that a missing extra has its own message
    except ImportError:
        from mercer.cli._bare import run as run_bare

        return run_bare(arguments)
    from mercer.cli._app import build

    if not arguments:
        build()(args=["--help"], standalone_mode=False, prog_name="mercer")
        return USAGE
    return build(arguments)(args=list(arguments), standalone_mode=False, prog_name="mercer")


def meaning(error):
    """(exit code, one line) of an exception."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, Usage):
        return USAGE, text
    if hasattr(error, "exit_code") and hasattr(error, "format_message"):  # typer's own: an unknown option, a bad value
        return USAGE, f"{' '.join(error.format_message().split())} ({_help(error)})"
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


def _help(error):
    """Where to read more."""
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context is not None else 'mercer'} --help tells more"
