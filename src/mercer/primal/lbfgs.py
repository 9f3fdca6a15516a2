"""L-BFGS with a preconditioner, on all columns at once: each that is a problem of its own has its own steps and end."""

import numpy as np

from mercer._clock import FOREVER


def minimise_columns(problem, theta, hessians, *, tol, max_iter, clock=FOREVER, pairs=None):
    """(θ, J, gradient, steps, status): L-BFGS from the inverse of the Hessians, with steps that are halved.

    Columns that are problems of their own have each a J, a length of its steps, and an end. ``pairs`` of steps and
    changes of the gradient, if given, are those to begin with, and are added to.
    """
    began = clock.seconds
    value, gradient = problem.evaluate(theta, hessians)
    took = clock.seconds - began
    pairs, status, problems = [] if pairs is None else pairs, "max_iter", len(value)
    steps = 0
    done, stuck = np.zeros(problems, dtype=bool), np.zeros(problems, dtype=bool)
    for _ in range(max_iter):
        direction = -_two_loops(gradient, pairs, hessians)
        slope = inner(direction, gradient, problems)
        done |= (-slope <= 2.0 * tol * np.abs(value)) | ~np.isfinite(slope)
        live = ~(done | stuck)
        if not live.any():
            status = "converged" if done.all() else "stalled"
            break
        if not clock.fits(took):
            status = "time_budget"
            break
        length, steps = live.astype(float), steps + 1
        for _ in range(12):
            there, began = theta + length * np.where(live, direction, 0.0), clock.seconds
            now, slopes = problem.evaluate(there, hessians)
            took = clock.seconds - began  # kept features make the first one the longest
            late = live & ~(now <= value + 1e-4 * length * slope)
            if not late.any():
                break
            length = np.where(late, 0.5 * length, length)
        live &= ~late
        stuck |= late
        if not live.any():  # at once: who asked for one step only would take the same one again for ever
            status = "stalled"
            break
        there, now, slopes = (np.where(live, a, b) for a, b in ((there, theta), (now, value), (slopes, gradient)))
        _add_pair(pairs, there - theta, slopes - gradient, hessians, problems)
        theta, value, gradient = there, now, slopes
    return theta, value, gradient, steps, status


def inner(A, B, problems):
    """Σ A B of each column, or of all where they are one problem."""
    products = np.einsum("it,it->t", A, B)
    return products if problems == len(products) else products.sum(keepdims=True)


def _add_pair(pairs, change, turn, hessians, problems):
    """Keep a step and the change of the gradient, of the problems where it curves upwards; and how large H⁻¹ is there.

    The Hessians are of other rows, and at another point: the last step says how large they are here.
    """
    curved = inner(change, turn, problems)
    if not (curved > 0.0).any():
        return
    size = pairs[-1][3] if pairs else np.ones(problems)
    along = inner(turn, hessians.solve(turn), problems)
    size = np.where(curved > 0.0, np.divide(curved, along, out=np.ones(problems), where=along > 0.0), size)
    inverse = np.divide(1.0, curved, out=np.zeros(problems), where=curved > 0.0)
    pairs[:] = [*pairs[-9:], (change, turn, inverse, size)]


def _two_loops(gradient, pairs, hessians):
    """H⁻¹ g of L-BFGS; before the first step that of the Hessians."""
    q, kept = gradient.copy(), []
    for s, y, rho, _ in reversed(pairs):
        a = rho * inner(s, q, len(rho))
        q -= a * y
        kept.append((rho, a, s, y))
    r = hessians.solve(q)
    if pairs:
        r *= pairs[-1][3]
    for rho, a, s, y in reversed(kept):
        r += (a - rho * inner(y, r, len(rho))) * s
    return r
