"""Ctrl-C is heard wherever it falls: also where Python drops it, and where a library makes another error of it."""

import contextlib
import signal
import sys
import threading

from mercer.cli._errors import Interrupted

AFTER = 0.05  # seconds: longer than a callback of a library in C takes, shorter than a person notices


@contextlib.contextmanager
def interrupted(settings):
    """Within, Ctrl-C ends in Interrupted, with what the command had written by then."""
    heard = threading.Event()
    with _handler(heard), _not_dropped():
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
def _not_dropped():
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
