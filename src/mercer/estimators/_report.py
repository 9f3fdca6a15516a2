"""The fit report: a plain dictionary that prints as a page."""

import numbers

from mercer._state import check


class FitReport(dict):
    """What a fit did and why: solver, reasons, condition, residual, jitter, time, memory.

    A dictionary of plain values, so that it goes into JSON; printed, it is one line for each entry.

    Examples
    --------
    >>> from mercer.estimators import FitReport
    >>> print(FitReport(solver="cholesky", rows=50))
    solver  cholesky
    rows    50
    """

    def state(self):
        """{name: value} by public names: what a file keeps."""
        return {"items": dict(self)}

    @classmethod
    def from_state(cls, state):
        """Return the report that had this state."""
        check(state, {"items": dict}, "FitReport")
        return cls(state["items"])

    def __str__(self):
        width = max((len(str(key)) for key in self), default=0) + 2
        lines = []
        for key, value in self.items():
            items = value if isinstance(value, (list, tuple)) else [value]
            for i, item in enumerate(items):
                lines.append(f"{key if i == 0 else '':<{width}}{_show(item)}")
        return "\n".join(lines)

    def __repr__(self):
        return f"FitReport({', '.join(f'{k}={_show(v)}' for k, v in self.items() if not isinstance(v, (list, tuple)))})"


def _show(value):
    """Numbers with four digits, a dictionary as its entries that say something, the rest as it is."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {_show(item)}" for key, item in value.items() if not _is_empty(item))
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or isinstance(value, numbers.Integral):
        return str(value)
    return f"{value:.4g}"


def _is_empty(item):
    """Whether there is nothing to show; 0 is something, and an array of NumPy compares with nothing."""
    return item is None or (isinstance(item, str | list | dict | tuple) and not item)
