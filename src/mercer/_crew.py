"""Crew: threads that wait for work, for pieces of work too short to start a thread for each."""

import os
import threading

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
