"""Random problems of the matrix: any estimator, approximation and transformation of the rows, on rows of any shape.

Each run draws other seeds, and says which: ``MERCER_SEED=7`` fixes them. `tests/matrix` asks every cell of the table on
rows of one shape; here sizes, columns, lengths, noise and weights differ from problem to problem. Nothing may be wrong
without a warning.
"""

import os
import secrets
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from matrix.models import rows
from matrix.test_matrix import CELLS, judge, label

FIRST = int(os.environ["MERCER_SEED"]) * 100_000 if "MERCER_SEED" in os.environ else secrets.randbelow(10**9)
QUICK, ALL, TOGETHER = 20, 2000, 100
SLACK = 5.0  # of the tolerances of the table, whose rows are better conditioned
FIXED = [cell for cell in CELLS if not cell[0].learns]  # a search may find another optimum of other rows


def problem(seed):
    """(cell, rows): 16 to 40 rows of 1 to 4 columns, some of them nearly equal, of any length scale and noise.

    Fewer rows than the 15 features of a basis have a solution of least norm, which scaled columns may change; nearly
    equal rows that are interpolated have no digits to compare.
    """
    rng = np.random.default_rng(seed)
    cell = FIXED[rng.integers(len(FIXED))]
    fourier = "Fourier" in cell[0].words  # to 1e-8 these are millions in three columns
    data = rows(seed, n=int(rng.integers(16, 41)), d=int(rng.integers(1, 3 if fourier else 5)))
    X = data.X.copy()
    if rng.uniform() < 0.3 and "KernelInterpolator" not in str(cell[0]):
        X[1] = X[0] + 10.0 ** rng.uniform(-6, -1)
    noisy = data.y + rng.uniform(0, 1) * rng.standard_normal(data.n)
    data = replace(data, X=X, y=noisy, lengths=data.lengths * 10.0 ** rng.uniform(-0.2 if fourier else -0.5, 0.5))
    return cell, data


def check(seed):
    """How many questions were compared; AssertionError, with the seed, where an answer is silently another."""
    cell, data = problem(seed)
    failed, count = judge(*cell, seed, data, SLACK)
    assert not failed, (label(cell), seed, failed)
    return count


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(range(start, min(start + TOGETHER, end)), id=f"{start}", marks=marks)
        for first, end, marks in ((0, QUICK, ()), (QUICK, ALL, (pytest.mark.slow,)))
        for start in range(first, end, TOGETHER)
    ],
)
def test_no_answer_is_silently_another(batch):
    print(f"seeds {FIRST + batch[0]} to {FIRST + batch[-1]}")
    total, wrong = Counter(), []
    for number in batch:
        try:
            total += check(FIRST + number)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, wrong
    assert total["compared"] > 3 * len(batch), total
