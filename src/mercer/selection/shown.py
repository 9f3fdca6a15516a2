"""A path as people see it: where λ is on the L-curve, criteria on one scale, and short names of rules."""

import re

import numpy as np


def point_at(path, lam):
    """(residual, norm) at one λ."""
    e, c2 = path.eigenvalues, np.sum(path.coefficients**2, axis=1)
    shrink = 1.0 / (1.0 + e / lam) if lam > 0 else (e <= 0).astype(float)
    residual = np.sqrt((shrink**2 * c2).sum() + path.outside)
    return float(residual), float(np.sqrt((e * ((1.0 - shrink) / np.where(e > 0, e, 1.0)) ** 2 * c2).sum()))


def scale_to_unit(values, error):
    """0 at the best and 1 at the right end, or at the largest value where the right end is the best.

    Of an error it is a factor that matters, so it is taken by its logarithm; a likelihood is a logarithm already.
    """
    values = np.where(np.isfinite(values), values, np.nan)
    if error and np.nanmin(values, initial=np.inf) > 0:
        values = np.log(values)
    if np.isnan(values).all():
        return values
    best, last = np.nanmin(values), values[-1]
    size = last - best
    if not size > 1e-12 * max(abs(best), abs(last)):
        size = np.nanmax(values) - best
    return (values - best) / size if size > 0 else np.zeros_like(values)


def is_error(name):
    """Whether a criterion is a mean error, and not minus a log likelihood."""
    return not (name.startswith("Evidence") or "log_density" in name)


def short_names(rules):
    """Names for people: "LOO(score='log_density')" is "LOO log density"; the full ones where two would be equal."""
    short = {}
    for name in rules:
        head, _, arguments = name.partition("(")
        said = [word.replace("_", " ") for word in re.findall(r"'([^']*)'", arguments)]
        said += [" ".join(pair) for pair in re.findall(r"\b(n_splits|noise|tau|gamma)=([^,)]*)", arguments)]
        short[name] = " ".join([head, *said])
    if len(set(short.values())) < len(short):
        return {name: name for name in rules}
    return short
