"""The surface of the evidence: over the length scales and λ, or over an amplitude where labels are predicted."""

import numpy as np

from mercer.kernels.hyper import lengths_of
from mercer.report.parts import Missing
from mercer.report.parts_model import EvidenceSurface, SurfaceSide
from mercer.selection import Evidence, path
from mercer.selection.judging import quietly

FACTORS = np.geomspace(0.25, 4.0, 17)  # of all length scales
LAMS, REACH = 25, 18.0


def has_constant(trend):
    """Whether there is an unpenalised constant."""
    return trend not in (None, False)


def lam_surface(case, lam):
    """Log evidence lost against the best point, over a factor on all length scales and λ."""
    lengths = lengths_of(case.kernel.names)
    if not lengths.any():
        return Missing(missing="The kernel has no free length scale: there is no surface of the evidence to draw.")
    if not (np.isfinite(lam) and lam > 0) or case.pairwise:
        return Missing(missing="There is no positive λ to draw a surface around.")
    if case.budget.skips("evidence surface"):
        return case.budget.missing
    rows = case.shown(case.limits.rows_on_surface)
    data = rows_of_fit(case, rows)
    process = case.model.probabilistic
    criterion = Evidence() if process else Evidence(profile_scale=True)
    lams = np.geomspace(lam / REACH, lam * REACH, LAMS)
    theta, columns = case.kernel.theta, []
    for factor in FACTORS:
        moved = case.kernel.with_theta(theta + lengths * np.log(factor))  # beyond bounds too: they bind the search
        columns.append(_evidence(case, moved, data, lams, criterion))
        if case.budget.skips("evidence surface"):
            return case.budget.missing
    up = "σ², noise variance" if process else "λ", lams
    return _field(case, np.array(columns).T, FACTORS, up, len(rows), criterion.name, lam)


def _field(case, loss, factors, up, rows, what, chosen):
    """Loss against the best point, over factors on all length scales and ``up``, a label and its values."""
    loss = np.where(np.isfinite(loss), loss, np.nan)
    if not np.isfinite(loss).any():
        return Missing(missing="The evidence could not be evaluated around the chosen point.")
    lengths = lengths_of(case.kernel.names)
    single = lengths.sum() == 1
    base = float(np.exp(case.kernel.theta[lengths][0])) if single else 1.0
    return EvidenceSurface(
        rows=rows,
        of=case.fitted_rows,
        what=what,
        x=SurfaceSide(label="length scale" if single else "factor on all length scales", values=base * factors),
        y=SurfaceSide(label=up[0], values=up[1]),
        loss=np.minimum(loss - np.nanmin(loss), 1e6),
        chosen=[base, chosen],
    )


def _evidence(case, kernel, data, lams, criterion):
    """The criterion for all λ, nan where the kernel is singular to rounding."""
    X, y, w = data
    try:
        found = quietly(
            path, kernel, X, y, lams=lams, sample_weight=w, intercept=has_constant(case.model.trend), criteria=[]
        )
    except np.linalg.LinAlgError:
        return np.full(len(lams), np.nan)
    return quietly(lambda: found.curve(criterion, lams))


def rows_of_fit(case, rows):
    """(X, Y, weights) of some rows, all targets; rows of weight 0 are no part of the fit, λᵢ is the weight λ/λᵢ."""
    weight = case.precision
    if weight is not None:
        rows = rows[weight[rows] > 0]
    X = case.X if len(rows) == case.n else case.take(rows)
    return X, case.Y[rows], None if weight is None else weight[rows]


def label_surface(case):
    """The evidence of a classifier over its amplitude and its length scales."""
    kernel, lengths, most = case.kernel, lengths_of(case.kernel.names), case.limits.rows_on_surface
    others = np.flatnonzero(~lengths)
    if not lengths.any() or not len(others) or case.n > most or len(case.classes) > 2:
        return Missing(
            missing="The surface of the evidence is drawn for a length scale and an amplitude, two classes, and up to "
            f"{most} rows."
        )
    if case.budget.skips("evidence surface"):
        return case.budget.missing
    theta, j = kernel.theta, int(others[0])
    factors, amplitudes = FACTORS[::2], np.geomspace(0.1, 10, 9)
    loss = np.full((len(amplitudes), len(factors)), np.nan)
    for a, amplitude in enumerate(amplitudes):
        for b, factor in enumerate(factors):
            moved = theta + lengths * np.log(factor)
            moved[j] += np.log(amplitude)
            loss[a, b] = -quietly(case.model.log_marginal_likelihood, moved)
    chosen = float(np.exp(theta[j]))
    up = kernel.names[j].split("__")[-1], chosen * amplitudes
    return _field(case, loss, factors, up, case.n, "log p(y)", chosen)
