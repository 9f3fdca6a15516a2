"""What is predicted of rows left out: by the model itself, where it can, else by refits."""

import hashlib
from dataclasses import replace

import numpy as np

from mercer.selection.judging import RowsLeftOut, quietly, refitted


def left_out(case):
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
    found = refitted(model, case.X, case.Y if case.columns > 1 else case.y, case.weight,
                     case.equal if copied else None)  # fmt: skip
    if not case.sampled:
        return found
    return replace(found, how=f"{found.how}, {case.n} of the {case.fitted_rows} rows of the fit alone")


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
