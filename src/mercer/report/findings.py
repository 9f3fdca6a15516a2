"""Findings: everything the page shows, as plain values that go into JSON and come back."""

import json
import math
import numbers
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from types import UnionType
from typing import Any, get_args, get_origin

import numpy as np

from mercer._clock import Clock
from mercer.report.parts import DataFindings, Missing, RowFindings
from mercer.report.parts_about import (
    FiredCheck,
    LandmarkFindings,
    LocalFindings,
    NumericsFindings,
    ReproduceFindings,
    Verdict,
)
from mercer.report.parts_effects import EffectFindings, WhatIfFindings
from mercer.report.parts_fit import (
    BlockFindings,
    CalibrationFindings,
    ClassificationFit,
    CoverageFindings,
    LearningFindings,
    RegressionFit,
    ScoreFindings,
    TargetTable,
)
from mercer.report.parts_model import SelectionFindings


class Allowance(Clock):
    """Seconds that the costly parts of a page may take together, from now on; None is no limit."""

    def __init__(self, seconds):
        if seconds is not None and not seconds >= 0:
            raise ValueError(f"time_budget must be >= 0 seconds or None, got {seconds}.")
        super().__init__(seconds)
        self.given, self.left_out = seconds, []

    def skips(self, what, seconds=0.0):
        """Whether there is no time left for a part, which takes so long at least."""
        if self.fits(seconds):
            return False
        self.left_out.append(what)
        return True

    @property
    def missing(self):
        """What stands in the place of the part that was left out last."""
        what = self.left_out[-1]
        return Missing(
            missing=f"{what[0].upper()}{what[1:]}: left out, the time budget of {self.given:g} s was used up."
        )


SCHEMA = 2
LARGEST = 2_000_000  # characters of JSON; what `collect` writes stays far below
NAME, TEXT = 80, 4000  # characters of a name and of a text that are kept
MOST, LEAST = 60_000, 8  # bytes of many names together, and characters that each of them keeps at least
DIGITS = 6  # significant digits of the numbers in lists: more than a picture shows


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What is to be said about a fitted model, section by section: typed parts of plain values, of bounded size.

    Made by `collect`, shown by `render`. The same findings give the same page, byte for byte. A section that does not
    apply is a `Missing`, which is false and says why. The fields of each part are in ``mercer.report.parts`` and the
    modules beside it.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.datasets import load_cars
    >>> from mercer.report import Findings, collect
    >>> X, y = load_cars(return_X_y=True)
    >>> found = collect(KernelRidge(lam=1.0).fit(X, y), X, y)
    >>> found.data.rows, Findings.from_dict(found.to_dict()) == found
    (50, True)
    """

    title: str  # the target
    task: str  # regression or classification
    estimator: str
    kernel: str
    data: DataFindings
    targets: TargetTable | None
    scores: ScoreFindings
    fit: RegressionFit | ClassificationFit
    uncertainty: CoverageFindings | CalibrationFindings | Missing
    rows: RowFindings
    numerics: NumericsFindings
    landmarks: LandmarkFindings | None
    local: LocalFindings | None
    reproduce: ReproduceFindings
    effects: EffectFindings | Missing
    whatif: WhatIfFindings | Missing
    selection: SelectionFindings
    blocks: BlockFindings | Missing
    learning: LearningFindings | Missing
    checks: list[FiredCheck] = field(default_factory=list)
    verdict: Verdict | None = None

    def __repr__(self):
        return f"Findings({self.title!r}, {len(self.checks)} checks fired)"

    def to_dict(self):
        """Return plain values: what `from_dict` reads, and what a model file keeps in its note."""
        return {"schema": SCHEMA, **plain(self)}

    @classmethod
    def from_dict(cls, values):
        """Return the findings that ``to_dict`` wrote.

        Parameters
        ----------
        values : dict

        Returns
        -------
        Findings
        """
        if not isinstance(values, dict) or "schema" not in values:
            raise ValueError("these are not findings of a report: there is no 'schema'. Use Findings.to_dict().")
        if values["schema"] != SCHEMA:
            raise ValueError(
                f"findings of schema {values['schema']!r} cannot be read, this version knows {SCHEMA}; "
                "collect them again, or use the version of mercer that wrote them."
            )
        values = plain(values)
        size = len(json.dumps(values))
        if size > LARGEST:
            raise ValueError(f"the findings have {size} characters, more than the {LARGEST} that a page may hold.")
        return _parse(cls, values, "findings")

    @property
    def regression(self):
        """Whether the target is a number."""
        return self.task == "regression"

    @property
    def typed(self):
        """Whether the model was made on the command line."""
        return bool(self.reproduce.command)


def tidy(value):
    """The same parts with plain values in them: what `collect` returns."""
    if is_dataclass(value):
        return replace(value, **{one.name: tidy(getattr(value, one.name)) for one in fields(value)})
    if isinstance(value, list | tuple):
        return [tidy(item) for item in value]
    return plain(value)


def _parse(kind, value, where):
    """A value of JSON as the annotation of its field says: a part of findings where that is one."""
    if value is None or kind is Any:
        return value
    args = get_args(kind)
    if get_origin(kind) is UnionType:
        chosen = next((one for one in args if _suits(one, value)), next(filter(is_dataclass, args), Any))
        return _parse(chosen if isinstance(value, dict) or not is_dataclass(chosen) else Any, value, where)
    if get_origin(kind) is list and isinstance(value, list):
        return [_parse(args[0], item, where) for item in value]
    if not is_dataclass(kind):
        return value
    keys = {one.name: one.name.rstrip("_") for one in fields(kind)}
    if not _suits(kind, value):
        raise ValueError(f"{where} are damaged: {kind.__name__} lacks some of {', '.join(keys.values())}.")
    given = {one.name: _parse(one.type, value[keys[one.name]], f"{where}.{one.name}")
             for one in fields(kind) if keys[one.name] in value}  # fmt: skip
    return kind(**given)


def _suits(kind, value):
    """Whether a value of JSON may be of this kind: a part has all fields without a default."""
    if is_dataclass(kind):
        needed = (one.name.rstrip("_") for one in fields(kind) if one.default is MISSING is one.default_factory)
        return isinstance(value, dict) and all(name in value for name in needed)
    return kind is Any or isinstance(value, get_origin(kind) or kind)


def plain(value):
    """The value in JSON's types: arrays as lists, nan as None, infinity as "∞", texts cut at a bound."""
    if value is None or isinstance(value, bool | np.bool_):
        return value if value is None else bool(value)
    if isinstance(value, str):
        return value if len(value) <= TEXT else value[: TEXT - 1] + "…"
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return _plain_number(float(value))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if is_dataclass(value):
        given = ((one, getattr(value, one.name)) for one in fields(value))
        return {one.name.rstrip("_"): plain(item) for one, item in given if item is not one.default}
    return plain(repr(value))


def short(text, limit=NAME):
    """A name on one line, without control characters, cut at a bound: whatever a column is called, it fits."""
    text = "".join(c if c.isprintable() else " " for c in str(text)[: 4 * limit])
    text = " ".join(text.split()) or "(no name)"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def all_short(texts, limit=NAME, most=MOST, drawn=None):
    """Names cut at a bound, and further where those that are drawn would fill the page with more bytes than most."""
    cut = [short(text, limit) for text in texts]
    share = 1.0 if drawn is None or not cut else min(1.0, drawn / len(cut))
    while limit > LEAST and share * sum(map(_bytes, cut)) > most:
        limit //= 2
        cut = [short(text, limit) for text in cut]
    return cut


def _bytes(text):
    """Bytes of a text in the data block of the page, where signs of markup take six."""
    return len(text.encode(errors="replace")) + 5 * sum(text.count(sign) for sign in "<>&")


def evenly(count, most):
    """Numbers of at most so many items of a list, evenly spread, with both ends."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def _plain_number(value):
    """Return a finite number as it is; nan is None and infinity a sign."""
    if math.isfinite(value):
        return value
    return None if math.isnan(value) else "∞" if value > 0 else "-∞"


def _array(values):
    """A list of an array; numbers with as many digits as a picture needs, nan and infinity as None."""
    if values.dtype.kind in "fc":
        return [_array(row) for row in values] if values.ndim > 1 else [_six_digits(x) for x in values.tolist()]
    return [plain(item) for item in values.tolist()] if values.ndim else plain(values.tolist())


def _six_digits(x):
    """Six significant digits."""
    return float(f"{x:.{DIGITS}g}") if math.isfinite(x) else None
