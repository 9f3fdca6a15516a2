"""Who may use which core: threads of our own around BLAS on one thread, and threads that wait for the next piece.

There is one level of threads: while pieces run side by side, BLAS runs on one thread in each.
"""

import functools
import os
import threading
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context

import numpy
import scipy
from threadpoolctl import ThreadpoolController

ONE_THREAD = 2000  # rows up to which BLAS runs on one thread: more gain little alone, and lose much on a busy machine
NO_THREAD = 16  # rows up to which BLAS uses one anyway: OpenBLAS wakes threads from 48 rows on
ALONE = nullcontext()
SLICE = 0.1  # seconds of one wait: between two, Ctrl-C is heard on every system


class _Job:
    """A call that raises nothing, and whether it is done."""

    def __init__(self, call):
        self.call, self.done = call, threading.Event()


class _Member:
    """A thread that does one job at a time: waking it costs less than starting one."""

    def __init__(self):
        self._job, self._last, self._go = None, False, threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _loop(self):
        while not self._last or self._job is not None:  # it is waited for: what was offered is done first
            self._go.wait()
            self._go.clear()
            job, self._job = self._job, None
            if job is None:  # woken to end, or once too often
                continue
            try:
                job.call()
            finally:
                job.done.set()
                del job  # what it holds may be large, and the next one may be long in coming

    def offer(self, job):
        """Lay a job before it; it begins when it is woken."""
        self._job = job

    def wake(self):
        """Let it begin."""
        self._go.set()

    def wait(self, job):
        """Return when it is done with a job; one that it has not taken yet it takes now."""
        if self._job is job:
            self.wake()
        while not job.done.wait(SLICE):
            pass

    def dismiss(self):
        """Let it end after the job it is at."""
        self._last = True
        self.wake()

    def end(self):
        """Let it end, and wait for that; what was offered and never waited for is not done."""
        self._job = None
        self.dismiss()
        self._thread.join()


class Crew:
    """The threads of one block of code: each starts when it is first needed, all end with the block."""

    def __init__(self):
        self._members, self._free, self._process = [], threading.Lock(), os.getpid()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        while self._members and self._process == os.getpid():
            self._members.pop().end()

    def share(self, work, workers, interrupted):
        """Call work(w), which raises nothing, for w < workers side by side; the caller is worker 0.

        ``interrupted(error)`` is told of an error that arose here, such as Ctrl-C, before the others are waited for.
        Another crew helps when this one can not: it is at work for a thread that took over our context, or this is a
        fork of the process its threads are in.
        """
        if self._process != os.getpid() or not self._free.acquire(blocking=False):
            with Crew() as other:
                return other.share(work, workers, interrupted)
        busy = []
        try:
            for w in range(1, min(workers, self._enough(workers) + 1)):
                member, job = self._members[w - 1], _Job(lambda w=w: work(w))
                member.offer(job)
                busy.append((member, job))  # before it begins: Ctrl-C must not forget one that is at work
                member.wake()
            for w in (0, *range(len(busy) + 1, workers)):
                work(w)
            self._wait(busy)
        except BaseException as error:
            interrupted(error)
            self._wait(busy)
            raise
        finally:
            self._free.release()

    def _enough(self, workers):
        """How many members there are, after new ones have started; a system may not allow as many as are wanted."""
        try:
            while len(self._members) < workers - 1:
                self._members.append(_Member())
        except RuntimeError:
            pass  # what they would do is done by the caller
        return len(self._members)

    def _wait(self, busy):
        """Wait until none is busy; interrupted again, those that still are leave the crew."""
        try:
            while busy:
                member, job = busy[-1]
                member.wait(job)
                busy.pop()
        except BaseException:
            gone = {member for member, _ in busy}
            for member in gone:
                member.dismiss()
            self._members = [member for member in self._members if member not in gone]
            raise


# ---------------------------------------------------------------------- how many
class _Libraries(ThreadpoolController):
    """The BLAS libraries of this process; of some hundred loaded files only those with such names are looked at.

    Wheels of NumPy and SciPy bring their own in a known place: the search through all loaded files, which takes some
    milliseconds, is for others.
    """

    def _load_libraries(self):
        paths = [_bundled(package) for package in (numpy, scipy)]
        if all(paths):
            for path in sum(paths, []):
                self._make_controller_from_path(path)
        if not self.lib_controllers:
            super()._load_libraries()

    def _make_controller_from_path(self, filepath):
        if any(name in os.path.basename(filepath).lower() for name in ("blas", "blis", "mkl")):
            super()._make_controller_from_path(filepath)


def _bundled(package):
    """Paths of the BLAS libraries that the wheel of a package brings."""
    home = os.path.dirname(package.__file__)
    folders = [folder for folder in (home + ".libs", os.path.join(home, ".dylibs")) if os.path.isdir(folder)]
    return [os.path.join(folder, name) for folder in folders for name in os.listdir(folder) if "blas" in name.lower()]


@functools.cache
def _blas():
    """The BLAS libraries of this process, found once."""
    return _Libraries().select(user_api="blas")


def blas_threads():
    """The threads of each BLAS library, as they are set now."""
    return [library.get_num_threads() or 1 for library in _blas().lib_controllers]


# What `threads` said before this thread of execution asked BLAS for one: our own limit is not the user's.
_cores: ContextVar[int | None] = ContextVar("cores", default=None)
# The threads that help in this block.
_crew: ContextVar[Crew | None] = ContextVar("crew", default=None)


def threads():
    """Return how many tiles run side by side: the cores we may use, at most what BLAS was given by the user.

    In a worker of `run` this is 1: there is one level of threads.
    """
    cores = _cores.get()
    if cores is not None:
        return cores
    try:
        available = len(os.sched_getaffinity(0))
    except AttributeError:
        available = os.cpu_count() or 1
    return max(1, min([available, *blas_threads()]))


@contextmanager
def _held(variable, value):
    """A context variable at a value inside the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


@contextmanager
def waiting_threads():
    """Inside the block the threads of `run` wait for the next one, instead of being started for each."""
    if _crew.get() is not None:
        yield
        return
    with Crew() as crew, _held(_crew, crew):
        yield


# BLAS has one setting for the whole process, which this guards; a fork must not inherit it locked.
_setting = threading.Lock()


def _fresh_lock():
    global _setting
    _setting = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fresh_lock)


@contextmanager
def _limited():
    """BLAS on one thread, unless it is already: what another thread has limited it restores, and nobody else.

    A second limiter would find 1, and leave that behind if it is the last to go.
    """
    limiter = None
    with _setting:
        if max(blas_threads(), default=1) > 1:
            limiter = _blas().limit(limits=1)
            limiter.__enter__()
    try:
        yield
    finally:
        if limiter is not None:
            with _setting:
                limiter.__exit__(None, None, None)


@contextmanager
def one_blas_thread():
    """One level of threads: BLAS on one thread inside the block, restored even after an error.

    Of several threads that ask at the same time the first limits and restores. `run` still uses all cores inside.
    """
    if _cores.get() is not None:
        yield
        return
    with waiting_threads(), _held(_cores, threads()), _limited():
        yield


@contextmanager
def one_thread():
    """One thread for tiles and BLAS alike inside the block: for work that is over before a second one has started."""
    with _held(_cores, 1), _limited():
        yield


def keep_one_blas_thread():
    """BLAS on one thread for good: in a process whose threads all run tasks of ours, none may restore it for others."""
    with _setting:
        if max(blas_threads(), default=1) > 1:
            _blas().limit(limits=1)


def few_threads(n):
    """One BLAS thread for few rows: their many small products would wait for threads longer than they run.

    For very few rows BLAS uses none by itself, and there is nothing to ask for.
    """
    return one_blas_thread() if NO_THREAD < n <= ONE_THREAD else ALONE


def run(work, count, workers=None):
    """Call work(i, w) for i < count, by workers w = 0, 1, …: worker w takes i = w, w + workers, …

    The caller is worker 0. The share of each worker is fixed beforehand, so that sums come out the same in every run.
    An error stops the workers before their next larger index, so that the first error is found; Ctrl-C stops them all
    at the end of their tile.
    """
    workers = min(workers or threads(), count)
    if workers <= 1:
        for i in range(count):
            work(i, 0)
        return
    errors, contexts = [], [copy_context() for _ in range(workers)]

    def share(w):
        contexts[w].run(inside, w)  # what is decided around this block holds in its threads

    def inside(w):
        try:
            with _held(_cores, 1):  # what a worker calls has this core only
                for i in range(w, count, workers):
                    if errors and min(errors)[0] < i:
                        return
                    work(i, w)
        except Exception as error:
            errors.append((i, w, error))
        except BaseException as error:
            errors.append((-1, w, error))

    with one_blas_thread():
        _crew.get().share(share, workers, lambda error: errors.append((-1, workers, error)))
    if errors:
        raise min(errors)[2]
