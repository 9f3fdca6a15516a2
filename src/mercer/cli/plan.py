"""``mercer plan``: which solver, how much memory, how long; asked before anything is allocated."""

import mercer
from mercer.cli import Usage
from mercer.cli._options import bytes_of, whole
from mercer.cli._session import print_json
from mercer.estimators.planning import plan

MODELS = {"ridge": "KernelRidge", "gp": "GaussianProcessRegressor"}


def run_plan(settings):
    """Print the plan of a fit."""
    rows, features = whole(settings.rows, "--rows"), whole(settings.features, "--features")
    if settings.model not in MODELS:
        raise Usage(f"--model {settings.model}: plans are of {' or '.join(MODELS)}.")
    model = getattr(mercer, MODELS[settings.model])()
    found = plan(model, n=rows, d=features, memory=bytes_of(settings.memory, "--memory"))
    if settings.json:
        print_json({"schema": "mercer.plan/1", "features": features, **plan_dict(found)})
    else:
        print(found)
    return 0


def plan_dict(found):
    """A plan as plain values."""
    names = ("n", "solver", "gram", "memory_bytes", "available_bytes", "seconds", "reasons")
    return {("rows" if name == "n" else name): getattr(found, name) for name in names}
