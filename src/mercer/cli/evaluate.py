"""``mercer evaluate``: a model judged by a table with the target."""

import numpy as np
from sklearn.base import is_classifier

from mercer.cli._session import Session, figures, not_of_data, print_json, table
from mercer.cli._tables import load_model, note_of, read_for, say_differences
from mercer.selection.judging import measure, quietly, root_mean_square
from mercer.tabular.cells import renumber_rows

COVERAGE = 0.9
SHARE = 0.5  # of the rows that must have been in the fit for it to be said
REMEDY = "this says how well it remembers, not how well it predicts; use rows that it has not seen."


def run_evaluate(settings):
    """Judge a model file by a table."""
    with Session(settings) as session:
        model, header = load_model(settings.model)
        reading = read_for(model, header, settings, session)
        frame = reading.frame
        say_differences(model, frame, session)
        known = _known(model, header, reading)
        if known:
            session.say(f"warning: {known}")
            session.warnings.append(known)
        found = measures(model, frame, session)
    result = {"schema": "mercer.evaluate/1", "model": settings.model, "data": settings.data, **found}
    if settings.json:
        print_json(result | {"warnings": session.warnings})
    else:
        print(words(found, settings.data))
    return 0


def _known(model, header, reading):
    """A sentence where rows of the table are those of the fit; None where none are."""
    known = note_of(header, "result", "data", "sha256")
    if known == reading.sha256:
        return f"this is the table the model was fitted on: {REMEDY}"
    if isinstance(known, list) and reading.sha256 in known:
        return f"this is a part of the table the model was fitted on: {REMEDY}"
    points = model.estimator_.points_
    if not isinstance(points, np.ndarray):
        return None
    X = np.ascontiguousarray(quietly(model.inputs, reading.frame)) + 0.0
    learnt = {row.tobytes() for row in np.ascontiguousarray(points) + 0.0}
    many = sum(row.tobytes() in learnt for row in X)
    if many < SHARE * len(X):  # a few are alike by chance
        return None
    return f"{many:,} of {len(X):,} rows have the inputs of rows that the model was fitted on: {REMEDY}"


def measures(model, frame, session):
    """R², RMSE, MAE and coverage; or accuracy and log loss."""
    notes = []
    rows, y = model.targets(frame, notes)
    for note in notes:
        session.say(f"note: {note}")
    with renumber_rows(rows):
        return _measures(model, frame[rows], y)


def _measures(model, part, y):
    """The measures on rows that have a target."""
    found = {"rows": len(y), "target": model.target_}
    if is_classifier(model.estimator_):
        X = model.inputs(part)
        right = model.estimator_.predict(X) == y
        P = model.estimator_.predict_proba(X)
        place = {label: i for i, label in enumerate(model.estimator_.classes_.tolist())}
        chance = np.array([P[i, place[label]] if label in place else 0.0 for i, label in enumerate(y)])
        loss = float(-np.mean(np.log(np.maximum(chance, 1e-15))))
        return found | {"accuracy": float(right.mean()), "log_loss": loss}
    judged, spread = measure(y, model.predict(part), False), root_mean_square(y - y.mean())
    found |= {"r2": judged["score"] if spread > 0 else None, "rmse": judged["rmse"], "mae": judged["mae"]}
    found["rmse_of_mean"] = spread
    ends = quiet_interval(model, part)
    inside = float(np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])))
    width = float(np.mean(ends[:, 1] - ends[:, 0]))
    return found | {
        "interval": {"method": model.interval_method, "nominal": COVERAGE, "coverage": inside, "mean_width": width}
    }


def quiet_interval(model, part, coverage=COVERAGE):
    """Intervals; what is to be said of the table was said by the prediction, of the intervals it is said here."""
    with not_of_data():
        return model.predict_interval(part, coverage)


def words(found, name):
    """The measures as text."""
    lines = [f"{name}: {found['rows']:,} rows, target {found['target']}"]
    if "accuracy" in found:
        return "\n".join([*lines, table([("accuracy", f"{found['accuracy']:.4g}"),
                                         ("log loss", f"{found['log_loss']:.4g}")])])  # fmt: skip
    r2 = "–" if found["r2"] is None else f"{found['r2']:.4g}"
    rows = [("R²", r2, ""), ("RMSE", figures(found["rmse"]), f"(the mean: {figures(found['rmse_of_mean'])})")]
    one = found["interval"]
    said = f"(mean width {figures(one['mean_width'])}, {one['method']})"
    rows += [("MAE", figures(found["mae"]), ""), (f"in {one['nominal']:.0%} intervals", f"{one['coverage']:.1%}", said)]
    width = max(len(row[0]) for row in rows)
    return "\n".join([*lines, *(f"  {a:{width}}  {b:>8}  {c}".rstrip() for a, b, c in rows)])
