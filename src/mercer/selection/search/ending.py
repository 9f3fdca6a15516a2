"""What is wrong with where a search ended, by name, with values and remedies."""

import numpy as np

NEAR = 1e-3  # in log units
UNSEEN = 1e-8  # largest |∂C/∂log θ| of a parameter that the criterion does not see


def at_bounds(names, z, box):
    """{name: value} of the parameters at a bound; one that was given is not."""
    close = ((z <= box[:, 0] + NEAR) | (z >= box[:, 1] - NEAR)) & (box[:, 0] < box[:, 1])
    return {str(name): float(np.exp(value)) for name, value, hit in zip(names, z, close, strict=True) if hit}


def flat_directions(names, slope):
    """Names of the parameters whose derivative was zero at every trial."""
    return [str(name) for name, size in zip(names, slope, strict=True) if size <= UNSEEN]


def describe(result, box, names, used, n):
    """The message of a search: what ended at a bound, what is flat, what was cut short; empty when all is well."""
    said = []
    if result.status in ("time_budget", "stopped"):
        why = "the time budget was spent" if result.status == "time_budget" else "the callback asked to stop"
        on = "all" if used == n else f"{used} of {n}"
        said.append(f"{why}; the best point so far (from {on} rows) is kept.")
    said += _bounds(result, box, list(names))
    if result.flat:
        said.append(
            f"the criterion does not change with {', '.join(result.flat)} (a constant column?): fix or leave out."
        )
    if result.failed:
        said.append(f"{result.failed} trials could not be evaluated.")
    return " ".join(said)


def _bounds(result, box, names):
    """One sentence for each bound; entries of an array at the same one share it, each with its full name."""
    groups = {}
    for name, value in result.at_bound.items():
        low, high = np.exp(box[names.index(name)])
        side = "lower" if value < np.sqrt(low * high) else "upper"
        key = name.partition("[")[0], side, f"({low:.3g}, {high:.3g})", f"{value:.3g}"
        groups.setdefault(key, []).append(name)
    for (stem, side, bounds, value), members in groups.items():
        whose = "its" if len(members) == 1 else "their"
        remedy = _remedy(stem, side, len(members) == 1)
        yield f"{', '.join(members)} = {value} ended at {whose} {side} bound of {bounds}: {remedy}."


def _remedy(name, side, one=True):
    """What to do about a parameter, or several entries of one, at a bound."""
    if name in ("lam", "noise"):  # of a Gaussian process λ is the noise
        return (
            f"the data look free of noise to this kernel; give bounds with a smaller {name}, or interpolate; or, where "
            "a length scale is far beyond the data, a straight line is imitated: add Linear()"
            if side == "lower"
            else "the data look like pure noise to this kernel; try another kernel, or give wider bounds"
        )
    plain = name.split("__")[-1]
    if plain == "length_scale" and side == "upper":
        which = "the column hardly matters or acts" if one else "these columns hardly matter or act"
        return f"{which} linearly; leave {'it' if one else 'them'} out, add Linear(), or widen length_scale_bounds"
    return f"widen {plain}_bounds, or fix {'it' if one else 'them'}"
