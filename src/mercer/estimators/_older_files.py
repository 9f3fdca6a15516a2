"""What files of earlier versions kept of a fit, as what is kept today."""

import numpy as np

from mercer.approximate import Approximation, Neighbours
from mercer.approximate.classes import ApproximateClasses, ExactClasses
from mercer.approximate.exact_process import ExactProcess
from mercer.approximate.exact_ridge import ExactRidge
from mercer.approximate.spectral import AutomaticFourier
from mercer.inference.softmax import Softmax


def older_fit(state):
    """The state of today of a fit whose parts were kept one by one."""
    state, keys = dict(state), ("rows", "left_out", "posterior", "mixture", "landmark_posterior_")
    rows, left, single, mixture, on_landmarks = (state.pop(name, None) for name in keys)
    if "kernel_" not in state:
        return state  # it was not fitted
    flat, noise = np.ndim(state.get("dual_coef_", ())) == 1, np.ndim(state.get("noise_", 0.0)) == 1
    given, made = state["parameters"], None
    if "landmarks_" in state:
        made = state["landmarks_"]
        made.flat, made.posterior = flat, on_landmarks
        made.solved = "passes" in state["fit_report_"].get("approximation", {})
    elif "neighbours_" in state:
        made = state["neighbours_"]
        made.plan, made.precisions, made.how = state["plan_"], noise, _maker(given["approximation"], state["plan_"])
    elif single is not None:
        made = ExactProcess(single, mixture, flat, noise, given["memory"], left)
    elif rows is not None:
        made = ExactRidge(state["kernel_"], rows, state["lam_"], flat, given["memory"], left)
    return state if made is None else state | {"fitted": made}


def _maker(approximation, plan):
    """The approximation that a fit by neighbours was made by."""
    if isinstance(approximation, Approximation):
        return approximation
    return AutomaticFourier() if plan.gram == "fourier" else Neighbours()


def older_classes(version, state):
    """The state of today of a classifier."""
    state = dict(state) if version > 1 else _joint_averaging(state)
    model, posterior = (state.pop(name, None) for name in ("model", "posterior"))
    if posterior is not None:
        own = {"kernel": state["kernel_"], "points": state["points_"], "model": model, "posterior": posterior}
        return state | {"fitted": ExactClasses.from_state(own)}
    found = [state[name] for name in ("neighbours_", "landmark_classes_") if name in state]
    return state | ({"fitted": ApproximateClasses(found[0])} if found else {})


def _joint_averaging(state):
    """A classifier's state of the first version as one of the second: it averaged over the joint distribution of f."""
    posterior = state.get("posterior")
    if posterior is not None and posterior["inference"] == "softmax":
        parts = [_with_curvature(part) for part in posterior["parts"]]
        state = {**state, "posterior": {**posterior, "parts": parts}}
    return {**state, "parameters": {**state["parameters"], "averaging": "joint"}}


def _with_curvature(part):
    """The state of a softmax posterior of the first version, with the D that its factors were made of."""
    likelihood = Softmax.from_state(part["likelihood"])
    return {**part, "D": likelihood.weight[:, None] * likelihood.prob(part["f"]), "typical": None}
