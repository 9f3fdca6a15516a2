"""Estimators × approximations × transformations × questions: answers follow, are refused, or are warned of.

An approximation at settings that make it exact answers as the exact fit of the same rows does; what has no exact twin,
and every exact fit, answers as it did before the transformation. Other rows: ``MERCER_SEED=7``.
"""

import os
import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import matrix.questions
import mercer
from matrix.models import APPROXIMATIONS, ESTIMATORS, combinations, rows
from matrix.questions import NOT_ASKED, QUESTIONS, Absent, expected, held, wrong
from matrix.transformations import TRANSFORMATIONS, applies

SEED = int(os.environ.get("MERCER_SEED", "0"))
SLACK = 30.0  # times what a fit states of its own digits
SAMPLE = 16  # cells of the usual run
OWN = (mercer.exceptions.NotPositiveDefinite, ValueError, TypeError, MemoryError, TimeoutError)
NAMES = {cls.__name__ for cls in ESTIMATORS}
LEFT_ASIDE = {"BasisRegression": {"norm", "offset"}}  # of θ, in the units of a basis that has the constant
COMBINATIONS = combinations()
CELLS = [(c, name) for c in COMBINATIONS for name in TRANSFORMATIONS if applies(name, c, rows())]


def label(cell):
    return f"{cell[0]} | {cell[1]}"


def told(call, *arguments):
    """(word, answer, what was warned of): "answered", "refused" in words of ours, or "absent"; other errors go on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            word, answer = "answered", call(*arguments)
        except Absent:
            word, answer = "absent", None
        except AttributeError as error:
            absent = re.search(r"'(\w+)' (object )?has no attribute '\w+'$", str(error))
            if absent and absent[1] not in NAMES:
                raise
            word, answer = "absent" if absent else "refused", None
        except OWN as error:
            if type(error) is np.linalg.LinAlgError or len(str(error)) < 20:
                raise
            word, answer = "absent" if "unexpected keyword" in str(error) else "refused", None
    return word, answer, {str(one.message)[:60] for one in caught}


def numbers(answer):
    """An answer as numbers: labels are 0 and 1, None and nan are no answer."""
    answer = np.asarray(answer)
    if answer.dtype.kind in "OU" and set(answer[answer != None].ravel()) <= {"up", "down"}:  # noqa: E711
        answer = answer == "up"
    return np.asarray(answer, dtype=float)


def judge(combination, name, seed=SEED, data=None, slack=1.0):
    """({question: how far it is off}, Counter of words) of one cell, of rows of the usual shape or those given."""
    rng = np.random.default_rng([seed, CELLS.index((combination, name))])
    pair = TRANSFORMATIONS[name](rows(seed) if data is None else data, rng)
    starts, many = (pair.before, True) if isinstance(pair.before, list) else ([pair.before], False)
    fits = {"after": [told(combination.fit, pair.after)], "own": [told(combination.fit, one) for one in starts]}
    fits["exact"] = [told(combination.exact.fit, one) for one in starts] if combination.approximation else fits["own"]
    failed, count = {}, Counter()
    for text, question in QUESTIONS.items():
        counts = question.counts and not set(question.follows) & set(combination.words)
        if (counts and not pair.same_rows) or (question.total == "none" and many):
            continue
        if text in LEFT_ASIDE.get(combination.cls.__name__, ()) or not combination.asks(text):
            continue
        before = fits["exact" if question.exact and not combination.learns else "own"]
        try:
            word, off = compared(combination, question, fits["after"][0], before, starts, pair, slack)
        except Exception as error:
            word, off = "failed", f"{type(error).__name__}: {error}"
        count[word] += 1
        if off:
            failed[text] = off
    return failed, count


def compared(combination, question, after, before, starts, pair, slack=1.0):
    """(word, how far the answer is off) of one question to the fit after a transformation, and those before it."""
    word, model, said = after
    if word != "answered":
        return word, None
    word, answer, more = told(question.ask, model, pair.after)
    if word != "answered" or answer is None:
        return ("absent" if answer is None and word == "answered" else word), None
    answer, said = numbers(answer), said | more
    if np.isnan(answer).all():
        return "refused", None
    values = []
    for (word, twin, known), data in zip(before, starts, strict=True):
        if word != "answered":
            return "nothing to compare", None
        word, value, more = told(question.ask, twin, data)
        if word != "answered" or value is None:
            return "nothing to compare", None
        values.append(numbers(value))
        said = said - {text for text in known | more if "digits" not in text}  # its twin is warned too: no excuse
    q = 1 + pair.after.X.shape[1] * ("linear" in combination.words)
    right = expected(question, values if isinstance(pair.before, list) else values[0], pair, answer, q)
    ends = 2.0 if question.ask.__qualname__.startswith("interval") or question.ask is held else 1.0  # f and a residual
    tol = max(slack * combination.tol, stated(combination, model, pair.after.n))
    off = wrong(question, answer, right, pair.after, ends * tol)
    return ("warned", None) if off and said else ("compared", f"{off:.2g}" if off else None)


def stated(combination, model, n):
    """What a model says that f may be off by: digits lost, and √ of the variance that m < n landmarks do not see."""
    report = model.fit_report_
    lost = sum((report.get("accuracy") or {"fitted": 0.0}).values())
    missed = 0.0 if "solve" in combination.words else report.get("approximation", {}).get("trace_missing", 0.0)
    return max(SLACK * lost, 2.0 * np.sqrt(n * missed))


@pytest.mark.parametrize("cell", np.random.default_rng(SEED).permutation(len(CELLS))[:SAMPLE])
def test_a_sample(cell):
    failed, count = judge(*CELLS[cell])
    assert not failed, (label(CELLS[cell]), SEED, failed)
    assert count["compared"] or count["refused"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_every_answer_follows(combination):
    found, total, cells = {}, Counter(), [cell for cell in CELLS if cell[0] == combination]
    for cell in cells:
        failed, count = judge(*cell)
        total += count
        if failed:
            found[cell[1]] = failed
    assert not found, (str(combination), SEED, found)
    refused = combination.cls is not mercer.KernelRidge and "solve" in combination.words
    assert total["compared"] >= (0 if refused else len(cells) if combination.asks("mean") else 1), total
    assert refused == (total["compared"] == 0), total


def test_every_approximation_is_tried():
    assert {how.__name__ for how in APPROXIMATIONS} == {"Fourier", "Landmarks", "Neighbours"}
    tried = {(c.cls.__name__, c.approximation.__name__) for c in COMBINATIONS if c.approximation}
    assert len(tried) == sum(len(how.models) for how in APPROXIMATIONS)


def test_whatever_is_public_is_asked_or_named():
    text = Path(matrix.questions.__file__).read_text("utf-8")
    for cls in ESTIMATORS:
        public = {name for name in dir(cls) if name[0] != "_"}
        own = {name for name in public if callable(getattr(cls, name, None)) or name.endswith("_")}
        missing = {name for name in own if name not in NOT_ASKED and not re.search(rf"m(odel)?\.{name}\b", text)}
        assert not {name for name in missing if not re.match(r"set_\w+_request$", name)}, (cls.__name__, missing)
