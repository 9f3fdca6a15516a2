"""What a command says while it works: notes, warnings and progress, all on standard error."""

import contextlib
import json
import math
import sys
import time
import warnings

from mercer.exceptions import DataWarning


class Session:
    """Collects warnings, shows progress; use as ``with Session(settings) as session``."""

    def __init__(self, settings, progress_after=2.0):
        self.quiet = bool(getattr(settings, "quiet", False))
        wanted = not (self.quiet or getattr(settings, "no_progress", True))
        self.live, self.after = wanted and sys.stderr.isatty(), progress_after
        self.count, self.finished, self.ticks = 1, 0, 0  # searches in all, those that have ended, evaluations since
        self.printed: set = set()
        self.warnings, self.started = [], vars(settings).get("began", time.perf_counter())
        self.names = {}  # of hyper-parameters, in the words of the table
        self._caught = warnings.catch_warnings(record=True)

    def __enter__(self):
        self._list = self._caught.__enter__()
        warnings.simplefilter("always")
        for kind in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", kind)
        return self

    def __exit__(self, *exception):
        self.clear()
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
            self.clear()
            print(text, file=sys.stderr, flush=True)

    def once(self, text):
        """Print a line, unless it was printed before: what holds of every batch of a table."""
        if text not in self.printed:
            self.printed.add(text)
            self.say(text)

    def stages(self, count):
        """Begin the progress of so many searches."""
        self.count = count

    def listener(self, *step):
        """What a search calls after each evaluation, and `score` after each fold."""
        self.finished, self.ticks = (self.finished + 1, 0) if step else (self.finished, self.ticks + 1)
        if self.live and self.seconds > self.after:
            number = min(self.finished + 1, self.count)
            self._line(f"search {number} of {self.count}: {self.ticks} evaluations, {self.seconds:.0f} s so far")
        return False

    def rows(self, what, of=None):
        """Return what a reading calls with the number of rows read so far."""
        end = f" of {of:,}" if of else ""
        return (lambda done: self._line(f"{what}: {done:,}{end} rows")) if self.live else None

    def clear(self):
        """Take the line of progress away."""
        if self.live:
            self._line("")

    @staticmethod
    def _line(text):
        """Rewrite the last line of the terminal."""
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def not_of_data():
    """Within, nothing is said of how a table differs from that of the fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        yield


def as_json(value):
    """A value as JSON has it: numbers that are not finite are null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def print_json(value):
    """Print one JSON object on standard output."""
    print(json.dumps(as_json(value), indent=2, ensure_ascii=False, allow_nan=False))


def figures(value):
    """A size with four digits, large ones whole and with commas: 46,540 and not 4.654e+04."""
    return f"{float(f'{value:.4g}'):,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.4g}"


def table(rows, indent="  "):
    """Rows of cells as text: the first column to the left, the others to the right."""
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [str(row[0]).ljust(widths[0]), *(str(c).rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)
