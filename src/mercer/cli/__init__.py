"""``mercer`` on the command line: fit, predict, compare, evaluate, inspect, report, plan, demo.

Nothing heavy is imported here: ``mercer --help`` loads no NumPy. Each command loads what it needs when it runs. Here is
what all have in common: which one runs, and what its end means to the shell.
"""

import contextlib
import os
import signal
import sys
import threading

__all__ = ["main"]


def main(arguments=None, options=()):
    """Run a command and return the exit code: 0 done, 1 failed, 2 wrong usage, 3 unusable data, 130 interrupted.

    Parameters
    ----------
    arguments : list of str, default=None
        What follows ``mercer``; None is ``sys.argv[1:]``.
    options : sequence of Options, default=()
        Options of the fit and of its page, such as `mercer.report.ReportLimits`, where they differ from the defaults.

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
    try:
        code = _command(arguments, options) or DONE
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
        if "--debug" in arguments:
            raise
        code, text = meaning(error)
        print(f"error: {text}", file=sys.stderr)
        return code


class Usage(Exception):
    """Something on the command line cannot be meant as it stands."""


class Interrupted(Exception):
    """Ctrl-C, after so many files were written: what a library made of it does not count."""

    def __init__(self, written=()):
        super().__init__()
        self.written = [path for path in written if path]


AFTER = 0.05  # seconds: longer than a callback of a library in C takes, shorter than a person notices


@contextlib.contextmanager
def catch_interrupts(settings):
    """Within, Ctrl-C ends in Interrupted, with what the command had written by then."""
    heard = threading.Event()
    with _handler(heard), _defer_interrupts():
        try:
            yield
        except KeyboardInterrupt:
            raise Interrupted(settings.written) from None
        except Exception:  # such as an import that failed because of it
            if heard.is_set():
                raise Interrupted(settings.written) from None
            raise


@contextlib.contextmanager
def _handler(heard):
    """Python's own handler, which also keeps in mind that it was called."""

    def handler(number, frame):
        heard.set()
        signal.default_int_handler(number, frame)

    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # who called us listens in a way of their own
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def _defer_interrupts():
    """A KeyboardInterrupt that could not be raised where it fell, as in a callback from C, comes a moment later."""
    before, timers = sys.unraisablehook, []

    def hook(dropped, /):
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        timers.append(threading.Timer(AFTER, _again))  # not from here: what a hook raises is dropped too
        timers[-1].daemon = True
        timers[-1].start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in timers:
            timer.cancel()


def _again():
    """Ctrl-C to the main thread, which may be waiting for another."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


DONE, FAILED, USAGE, DATA, INTERRUPTED = 0, 1, 2, 3, 130


def _close_output():
    """Send what is left in the buffer nowhere: flushing it at exit would fail again."""
    with contextlib.suppress(OSError, ValueError):  # a stream without a file, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(arguments, options):
    """What the command returns."""
    from mercer.cli import _app

    if not arguments:
        _app.parser().print_help()
        return USAGE
    try:
        return _app.run_command(arguments, options)
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
    from mercer.exceptions import DataError, ModelFileError

    if isinstance(error, DataError | ModelFileError):
        return DATA, text
    if isinstance(error, FileNotFoundError | FileExistsError | IsADirectoryError):
        return USAGE, text
    if isinstance(error, MemoryError | OSError):
        return FAILED, text
    return FAILED, f"{type(error).__name__}: {text} (--debug shows where)"
