"""Ridge regression on landmarks: the kernel on a subset, λ on all rows."""

from dataclasses import replace

from mercer.approximate import landmarks as shared
from mercer.approximate.base import Hyperparameters
from mercer.approximate.kernels import searchable
from mercer.approximate.landmarks_state import LandmarkState, ridge_on_landmarks
from mercer.gram.rows import constant
from mercer.selection.targets import check_units


def search(how, problem, clock=None):
    """See `Approximation.search`."""
    kernels, board = shared.kernels_on_sample(problem), None
    if problem.automatic and searchable(problem.rows):  # on some of the rows; the fit goes on from there
        board = problem.search_expressions()
        kernels, problem = (board.kernel,), replace(problem, lam=board.lam)
    task = shared.prepare_search(how, problem, constant_or_none(problem), clock=clock and clock())
    kernel, found = kernels[0], None
    if shared.rule_of(problem.criterion) is not None:
        if problem.rows is not None:
            check_units(problem.criterion, problem.rows)
        kernel, found = shared.choose_kernel(task, problem, kernels)
    return Hyperparameters(kernel, problem.lam, found, (task, board and board.result))


def fit(how, problem, at):
    """See `Approximation.fit`."""
    fitted, at = fit_landmarks_alone(problem, at)
    return state_of(problem, at, fitted)


def fit_landmarks_alone(problem, at):
    """(`LandmarkFit`, `Hyperparameters` with its λ)."""
    (task, board), rule = at.start, None if problem.optimize == "kernel" else shared.rule_of(problem.criterion)
    fitted, found = shared.fit_and_choose_lam(task, problem, at, rule)
    return fitted, replace(at, lam=fitted.fit.lam, result=keep_leaderboard(found, board))


def state_of(problem, at, fitted):
    """`LandmarkState` of a fit, with all that it publishes."""
    unit = 1.0 if problem.rows is None else problem.rows.unit
    source = problem.as_source()
    state = LandmarkState.of(fitted, source.n, unit, problem.flat)
    state.learnt, state.result = ridge_on_landmarks(state), at.result
    state.said = shared.report_of(fitted, problem, source, at.kernel, at.lam)
    return state


def constant_or_none(problem):
    """The trend on landmarks: a constant, or none."""
    if problem.trend not in (None, "constant"):
        raise ValueError(f"trend={problem.trend!r} needs all rows; on landmarks it is 'constant' or None.")
    return constant if problem.trend else None


def keep_leaderboard(found, board):
    """The result of a fit, with the kernels that a search before it compared, and its words."""
    if found is not None and board is not None:
        found.candidates, found.message = board.candidates, board.message
    return found
