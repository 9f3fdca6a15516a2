"""What a fit of `GaussianProcessClassifier` is made of: the model of its labels, and a prior on its kernel."""

import math

import numpy as np

from mercer.estimators._auto import LEAST_ROWS, automatic, searched_classes
from mercer.estimators._criteria import as_rule
from mercer.estimators._labels import stratified_order
from mercer.estimators._protocol import seed_of
from mercer.inference.classes import ClassModel
from mercer.inference.likelihood import Binary
from mercer.inference.links import LINKS
from mercer.inference.softmax import Softmax
from mercer.selection.priors import FEW, Priors, as_prior, weak_priors
from mercer.selection.progress import reporter
from mercer.selection.result import best_of
from mercer.selection.search.latent import search_latent
from mercer.solvers.plan import plan_arrays

STEPS = {"laplace": 6.0, "ep": 20.0, "mcmc": 40.0, "quadrature": 6.0}  # factorisations of a fit, about


def plan_classes(model, n, d, classes, coupled, binding=True):
    """The plan: K, ∂C/∂K and a factor; one class against the rest keeps one factor each, the softmax three arrays."""
    arrays = 3 if classes == 2 else 4 + 3 * classes if coupled else 2 + classes
    what = f"GaussianProcessClassifier for n = {n}" + (f" and {classes} classes" if classes > 2 else "")
    instead = "fewer rows, or multi_class='one_vs_rest'" if coupled else "fewer rows"
    reason = f"{arrays} arrays of n × n: K, its adjoint, and a factor for each function."
    functions = classes**2 if coupled else 1 if classes == 2 else classes  # a softmax couples every two of them
    options = {"operations": STEPS[model.inference] * functions * n**3 / 3, "searches": model.criterion is not None}
    options |= {"memory": model.memory, "time_budget": model.time_budget, "instead": instead, "binding": binding}
    return plan_arrays(model.inference, n, arrays, d, reason=reason, what=what, **options)


def class_model(model, rows, classes, coupled):
    """The model of the labels of some rows, whose numbers are their targets.

    Parameters
    ----------
    model : GaussianProcessClassifier
        Its parameters.
    rows : Rows
    classes : int
    coupled : bool
        Whether several classes are done by one softmax.
    """
    link, y, known = LINKS[model.link](), rows.y[:, 0].astype(int), known_mean(model.trend)
    options = {
        "constant": link.constant_variance if model.trend == "constant" or model.trend is True else 0.0,
        "max_iter": model.max_iter,
        "tol": model.tol,
        "n_samples": model.n_samples,
        "random_state": seed_of(model.random_state),
    }
    if coupled:
        _check_softmax(model, classes, known)
        return ClassModel([Softmax(y, classes, rows.weight)], "softmax", **options)
    T = np.where(y[:, None] == (np.arange(classes) if classes > 2 else [1]), 1.0, -1.0)
    likelihoods = [Binary(link, t, rows.weight, 0.0 if known is None else known) for t in T.T]
    return ClassModel(likelihoods, model.inference, **options)


def known_mean(trend):
    """The mean of f if it is a number, else None."""
    if trend is None or isinstance(trend, str | bool):
        return None
    if not math.isfinite(trend):
        raise ValueError(f"trend must be finite, got {trend}.")
    return float(trend)


def _check_softmax(model, classes, known):
    if model.inference != "laplace":
        raise ValueError(
            f"inference={model.inference!r} with {classes} classes needs multi_class='one_vs_rest'; the softmax is "
            "done by inference='laplace'."
        )
    if model.link != "logit":
        raise ValueError(
            f"link={model.link!r} is for two classes, y has {classes}; use link='logit', or multi_class='one_vs_rest'."
        )
    if known is not None:
        raise ValueError(
            f"trend={model.trend} has no effect on the softmax of {classes} classes; use trend='constant' or None, or "
            "multi_class='one_vs_rest'."
        )


def kernel_prior(prior, kernel, rows):
    """−log density of log θ, or None."""
    if isinstance(prior, str):
        return weak_priors(kernel, rows.X, None, rows.weight) if rows.n < FEW else None
    prior = as_prior(prior)
    unused = prior.unused(kernel.names) if isinstance(prior, Priors) else []
    if unused:
        raise ValueError(f"prior: {unused[0]!r} fits none of {kernel.names}.")
    return prior


def learnt(model, labels, kernels, rows):
    """How the hyper-parameters of the greatest evidence were found, of several kernels those of the best; or None.

    Parameters
    ----------
    model : GaussianProcessClassifier
        Its parameters.
    labels : ClassModel
    kernels : list of Kernel
    rows : Rows
    """
    if as_rule(model, own=False) is None or not any(kernel.n_theta for kernel in kernels):
        return None
    seed = seed_of(model.random_state)
    order = stratified_order(rows.y[:, 0], seed)
    if automatic(model.kernel) and rows.n >= LEAST_ROWS:
        return searched_classes(model, rows, labels.evaluate, order, model._search_clock()).result().warn()
    options = {"rows": rows.n, "order": order, "starts": model.starts}
    options |= {"callback": reporter(model), "random_state": seed}
    found = []
    for i, kernel in enumerate(kernels):
        prior, clock = kernel_prior(model.prior, kernel, rows), model._search_clock(1.0 / (len(kernels) - i))
        found.append(search_latent(kernel, rows.X, labels.evaluate, prior=prior, clock=clock, **options))
    return best_of(found).warn()
