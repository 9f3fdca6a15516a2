"""What is predicted of rows left out: by the model itself, where it can, else by refits."""

import hashlib
from dataclasses import replace

import numpy as np

from mercer._clock import Clock
from mercer.selection.judging import RowsLeftOut, quietly, refit_left_out

FEWEST = 30  # rows of a fit that is timed


def predict_left_out(case):
    """Predictions of the rows left out, of all targets: what the model has itself, or by refits where that is rough."""
    model = case.model
    if not case.seen:
        return _unseen(case)
    kinds = ("exact", "close") if case.classes is None else ("exact",)  # a class of one row is not to be judged
    few = case.n <= case.limits.rows_left_out and not case.sampled
    copied = case.copies > case.checks.copies * case.n
    own = few and model.leaves_out in kinds and not (case.pairwise and model.linear) and not copied
    if own or (model.row_weight_ is not None and few):
        rows = len(model.row_weight_ if model.row_weight_ is not None else model.row_target_)
        if rows != case.n:
            raise ValueError(
                f"the model was fitted on {rows} rows, X and y have {case.n}: a report needs the rows of the fit."
            )
    if own:
        return quietly(model.left_out)
    group, Y = case.equal if copied else None, case.Y if case.columns > 1 else case.y
    split = _affordable_split(case)
    found = refit_left_out(model, case.X, Y, case.weight, group, split)
    if split is not None:
        ((train, test),) = split
        found = replace(found, how=f"{len(test)} rows left out of a fit on {len(train)} others, for want of time")
    if not case.sampled:
        return found
    return replace(found, how=f"{found.how}, {case.n} of the {case.fitted_rows} rows of the fit alone")


def _affordable_split(case):
    """[(train, test)] of one fit to fewer rows, where the time does not suffice for all folds; else None.

    How long a fit takes is measured on an eighth of the rows, and grows with their cube.
    """
    if not case.budget.limited or case.n < 8 * FEWEST or case.n <= case.limits.rows_refitted:
        return None
    train, test = case.folds()[0]
    train = np.random.default_rng(0).permutation(train)
    few, clock = max(len(train) // 8, FEWEST), Clock()
    fitted = case.fit(np.sort(train[:few]))
    case.new(fitted, test[:1], np.sort(train[:few]))
    seconds, left = clock.seconds, case.budget.left
    if 5 * seconds * (len(train) / few) ** 3 <= 0.5 * left:
        return None
    rows = int(few * max(0.3 * left / seconds, 1.0) ** (1 / 3))
    return [(np.sort(train[:rows]), test)]


def _unseen(case):
    """What the model itself says of rows that it was not fitted on."""
    model, how = case.model, f"{case.n} rows that the fit has not seen"
    if case.classes is not None:
        proba = quietly(model.predict_proba, case.X) if hasattr(model, "predict_proba") else None
        return RowsLeftOut(np.asarray(quietly(model.predict, case.X)).astype(object), how, False, proba=proba)
    if model.probabilistic:
        f, std = quietly(model.predict, case.X, return_std=True, noisy=True)
        return RowsLeftOut(np.asarray(f), how, False, std=np.asarray(std))
    return RowsLeftOut(np.asarray(quietly(model.predict, case.X)), how, False)


def equal_rows_of(weight, n):
    """(Σw)²/Σw², how many equal rows say as much; n without weights."""
    return float(n) if weight is None else float(weight.sum() ** 2 / np.sum(weight**2))


def data_hash(case):
    """SHA-256 of X and y, of names and shapes; None for objects that have no bytes of their own."""
    about = repr((case.n, case.names, case.target, (case.y if case.columns == 1 else case.Y).tolist()))
    X = np.asarray(case.X, dtype="<f8") if case.vectors else case.X
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
        inside = np.ascontiguousarray(X).tobytes()
    else:
        columns = [list(X[name]) for name in X.columns] if hasattr(X, "columns") else [X]
        cells = [cell for column in columns for row in column for cell in (row if isinstance(row, list) else [row])]
        if not all(isinstance(cell, str | bytes | int | float | np.generic) for cell in cells):
            return None
        inside = repr(cells).encode()
    return hashlib.sha256(about.encode() + inside).hexdigest()
