"""What a command says while it works: notes, warnings and progress, all on standard error."""

import json
import math
import sys
import threading
import time
import warnings

AFTER = 2.0  # seconds before a progress bar appears
TYPICAL = 40  # evaluations of a search, before one has ended


class Session:
    """Collects warnings, shows progress; use as ``with Session(settings) as session``."""

    def __init__(self, settings):
        self.quiet = bool(getattr(settings, "quiet", False))
        wanted = not (self.quiet or getattr(settings, "no_progress", True))
        self.bar = Bar() if wanted and sys.stderr.isatty() else None
        self.told: set = set()
        self.warnings, self.started = [], time.perf_counter()
        self.names = {}  # of hyper-parameters, in the words of the table
        self._caught = warnings.catch_warnings(record=True)

    def __enter__(self):
        self._list = self._caught.__enter__()
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        return self

    def __exit__(self, *exception):
        self.close_bar()
        self._caught.__exit__(*exception)
        self.flush()

    @property
    def seconds(self):
        """Since the command began."""
        return time.perf_counter() - self.started

    def flush(self):
        """Print the warnings that came since the last time, each one once."""
        for one in self._list:
            text = " ".join(str(one.message).split())
            for name in sorted(self.names, key=len, reverse=True):
                text = text.replace(name, self.names[name])
            if text not in self.warnings:
                self.warnings.append(text)
                self.say(f"warning: {text}")
        self._list.clear()

    def say(self, text):
        """Print a line on standard error."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def once(self, text):
        """Print a line, unless it was printed before: what holds of every batch of a table."""
        if text not in self.told:
            self.told.add(text)
            self.say(text)

    def stages(self, count):
        """Begin the progress of so many searches."""
        if self.bar is not None:
            self.bar.begin(count)

    def listener(self, *step):
        """What a search calls after each evaluation, and `score` after each fold."""
        if self.bar is not None:
            self.bar.done() if step else self.bar.tick()
        return False

    def rows(self, what, of=None):
        """Return what a reading calls with the number of rows read so far; a line is rewritten on a terminal."""
        if self.bar is None:
            return None
        end = f" of {of:,}" if of else ""
        return lambda done: print(f"\r{what}: {done:,}{end} rows", end="\r", file=sys.stderr, flush=True)

    def close_bar(self):
        """Take the progress bar away."""
        if self.bar is not None:
            self.bar.close()


class Bar:
    """A progress bar with the time left, shown after two seconds."""

    def __init__(self):
        self.count, self.finished, self.ticks, self.typical = 1, 0, 0, TYPICAL
        self.shown = self.task = self.timer = None
        self.lock = threading.Lock()

    def begin(self, count):
        """Expect so many searches."""
        self.count = count
        self.timer = threading.Timer(AFTER, self._show)
        self.timer.daemon = True
        self.timer.start()

    def tick(self):
        """One evaluation of the search under way."""
        self.ticks += 1
        self._update()

    def done(self):
        """The search under way has ended."""
        self.typical = max(1, self.ticks) if self.ticks else self.typical
        self.finished, self.ticks = self.finished + 1, 0
        self._update()

    @property
    def share(self):
        """Part of the work that is done; a search of unknown length never seems quite done."""
        return min(1.0, (self.finished + 1.0 - math.exp(-self.ticks / self.typical)) / self.count)

    def _show(self):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        with self.lock:
            if self.timer is None:
                return
            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("left"))
            console = Console(stderr=True)
            self.shown = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
            self.task = self.shown.add_task(self._words(), total=1.0, completed=self.share)
            self.shown.start()

    def _words(self):
        return f"search {min(self.finished + 1, self.count)} of {self.count}"

    def _update(self):
        if self.shown is not None:
            self.shown.update(self.task, completed=self.share, description=self._words())

    def close(self):
        """End the display."""
        with self.lock:
            if self.timer is not None:
                self.timer.cancel()
            self.timer = None
            if self.shown is not None:
                self.shown.stop()
                self.shown = None


def plain(value):
    """A value as JSON has it: numbers that are not finite are null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def print_json(value):
    """Print one JSON object on standard output."""
    print(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def table(rows, indent="  "):
    """Rows of cells as text: the first column to the left, the others to the right."""
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [str(row[0]).ljust(widths[0]), *(str(c).rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)
