"""Several targets: a table over all of them, the page about the worst, and a picture of a few others."""

import numpy as np

from mercer.selection.judging import measure, root_mean_square

LISTED = 100  # targets of the table
PICTURES = 3  # targets beside the one that the page is about
POINTS = 200


def targets_section(case, left):
    """(section, case about the worst target): left-out scores of each target; (None, case) of a single one."""
    if case.columns == 1 or case.classes is not None:
        return None, case
    rows = [_one(case.about(j), left) for j in range(case.columns)]
    scores = np.array([np.inf if one["score"] is None else one["score"] for one in rows])
    worst = int(np.argmin(scores))
    order = [worst, *(j for j in range(case.columns) if j != worst)]
    listed = sorted(order[:LISTED])
    others = [j for j in listed if j != worst][:PICTURES]
    return {
        "shown": case.targets[worst],
        "how": left.how,
        "listed": [rows[j] for j in listed],
        "more": case.columns - len(listed),
        "pictures": [_picture(case.about(j), left, rows[j]) for j in others],
    }, case.about(worst)


def _one(case, left):
    """One line of the table."""
    predicted = case.about_target(left).predicted
    found = measure(case.y, predicted, False, case.weight)
    score = found["score"] if np.isfinite(found["score"]) else None
    return {"name": case.target, **found, "score": score, "sd": root_mean_square(case.y - case.y.mean())}


def _picture(case, left, measured):
    """Predicted and measured of some rows."""
    predicted = case.about_target(left).predicted
    rows = case.shown(POINTS)
    rows = rows[np.isfinite(predicted[rows])]
    return {"name": case.target, "rmse": measured["rmse"], "measured": case.y[rows], "predicted": predicted[rows],
            "labels": [case.label(i) for i in rows]}  # fmt: skip
