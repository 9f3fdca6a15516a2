"""What a fit of `GaussianProcessClassifier` is made of: the model of its labels, a prior on its kernel, warnings."""

import math

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._warn import warn
from mercer.estimators._auto import LEAST_ROWS, searched_classes
from mercer.estimators._base import as_rule, automatic
from mercer.estimators._labels import as_signs, stratified_order
from mercer.estimators.validation import seed_of
from mercer.inference.classes import ClassModel
from mercer.inference.likelihood import Binary
from mercer.inference.links import LINKS
from mercer.inference.softmax import Softmax
from mercer.inference.temperature import at_end
from mercer.selection.priors import FEW, LogNormal, Priors, as_prior, weak_priors
from mercer.selection.result import best_of, reporter
from mercer.selection.search.latent import search_latent
from mercer.solvers.plan import plan_arrays

STEEP = 1e5  # prior variance of f: a link turns nearly every value of such a function into 0 or 1
HEAVY = 1e6  # weight times prior variance of f: Newton's steps are then lost in rounding
WORSE = 1.05  # times the log loss of the class frequencies

STEPS = {"laplace": 6.0, "ep": 20.0, "mcmc": 40.0, "quadrature": 6.0}  # factorisations of a fit, about
COUPLED = 27.0  # the same for each class of a softmax: explicit inverses, and what is left out


def plan_classes(model, n, d, classes, coupled, binding=True):
    """The plan: K, ∂C/∂K and a factor; one class against the rest keeps one factor each, the softmax three arrays."""
    arrays = 3 if classes == 2 else 4 + 3 * classes if coupled else 2 + classes
    what = f"GaussianProcessClassifier for n = {n}" + (f" and {classes} classes" if classes > 2 else "")
    instead = "fewer rows, or multi_class='one_vs_rest'" if coupled else "fewer rows"
    reason = f"{arrays} arrays of n × n: K, its adjoint, and a factor for each function."
    steps = COUPLED * classes if coupled else STEPS[model.inference] * (1 if classes == 2 else classes)
    options = {"operations": steps * n**3 / 3, "searches": model.criterion is not None}
    options |= {"memory": model.memory, "time_budget": model.time_budget, "instead": instead, "binding": binding}
    return plan_arrays(model.inference, n, arrays, d, reason=reason, what=what, **options)


def class_model(model, rows, classes, coupled):
    """The `ClassModel` of rows whose targets are numbers of classes; ``coupled`` is by one softmax."""
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
    likelihoods = [Binary(link, t, rows.weight, 0.0 if known is None else known) for t in as_signs(y, classes).T]
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


def kernel_prior(prior, kernel, rows, link):
    """−log density of log θ, or None."""
    if isinstance(prior, str):
        weak = weak_priors(kernel, rows.X, None, rows.weight).priors if rows.n < FEW else {}
        return Priors(weak | {name: latent_scale(link) for name in kernel.names if name.split("__")[-1] == "scale"})
    prior = as_prior(prior)
    unused = prior.unused(kernel.names) if isinstance(prior, Priors) else []
    if unused:
        raise ValueError(f"prior: {unused[0]!r} fits none of {kernel.names}.")
    return prior


def latent_scale(link):
    """The prior of the variance of f behind a link: a factor of e either way of what is typical.

    Where classes can be told apart without an error, or nearly, the evidence has no maximum in it, and Laplace's
    approximation with a large one pulls all probabilities towards each other.
    """
    return LogNormal(LINKS[link].typical_variance)


def learnt(model, labels, kernels, rows):
    """How the hyper-parameters of the greatest evidence were found, of several kernels those of the best; or None."""
    if as_rule(model, own=False) is None or not any(kernel.n_theta for kernel in kernels):
        return None
    seed = seed_of(model.random_state)
    order = stratified_order(rows.y[:, 0], seed)
    if automatic(model.kernel) and rows.n >= LEAST_ROWS:
        scale = latent_scale(model.link) if isinstance(model.prior, str) else None
        return searched_classes(model, rows, labels.evaluate, order, scale, model._search_clock()).result().warn()
    options = {"rows": rows.n, "order": order, "starts": model.starts}
    options |= {"callback": reporter(model), "random_state": seed}
    found = []
    for i, kernel in enumerate(kernels):
        prior, clock = (
            kernel_prior(model.prior, kernel, rows, model.link),
            model._search_clock(1.0 / (len(kernels) - i)),
        )
        found.append(search_latent(kernel, rows.X, labels.evaluate, prior=prior, clock=clock, **options))
    return best_of(found).warn()


def warn_of_fit(model, rows, infos, losses, coupled):
    """Say what a classifier is not to be trusted in; losses are of rows left out, by it and by class frequencies."""
    variances = np.asarray(model.kernel_.diag(rows.X), dtype=float)
    _warn_of_convergence(model, infos, float(np.max(rows.weights() * variances)))
    if model.selection_ is not None:
        remedies = _remedies(model, coupled)
        _warn_of_amplitude(model, float(np.mean(variances)), remedies)
        _warn_of_losses(*losses, float(np.mean(variances)), remedies)
    if model._tempers and at_end(model.temperature_):
        warn(
            f"GaussianProcessClassifier: the temperature {model.temperature_:.3g} is at the end of its range: the "
            f"leave-one-out probabilities of {rows.given} rows do not determine it. Use more rows, temperature=False, "
            "or inference='ep'.",
            ConvergenceWarning,
        )


def _remedies(model, coupled):
    """What else could be tried, as words."""
    ep = "multi_class='one_vs_rest' with inference='ep'" if coupled else "inference='ep'"
    wider = [] if model._tempers else ["temperature=True"]
    prior = "prior='auto'" if model.prior is None else "prior=weak_priors(kernel, X)"
    return [*([ep] if model.inference == "laplace" else []), prior, *wider]


def _warn_of_amplitude(model, variance, remedies):
    """Say so when the search has found nothing that holds the amplitude."""
    if variance <= STEEP:
        return
    effect = "probabilities are 0 or 1 but in a thin layer between the classes"
    if model.inference == "laplace":
        effect = "Laplace's approximation then pulls all probabilities towards ½"
    warn(
        f"GaussianProcessClassifier: the learnt prior variance of the latent function is {variance:.2g}. The "
        "classes can be told apart without an error, and the evidence then hardly depends on the amplitude: "
        f"{effect}. Use {', '.join(remedies)}, or a kernel whose amplitude is fixed.",
        ConvergenceWarning,
    )


def _warn_of_losses(loss, frequencies, variance, remedies):
    """Say so when learnt probabilities are worse than none: the class frequencies, left out as well."""
    if loss <= WORSE * frequencies:
        return
    warn(
        "GaussianProcessClassifier: the probabilities are worse than the class frequencies. Left out, a row has a "
        f"log loss of {loss:.3g} on average, and {frequencies:.3g} by the frequencies. The learnt prior variance "
        f"of the latent function is {variance:.2g}. Use {', or '.join(remedies)}.",
        ConvergenceWarning,
    )


def _warn_of_convergence(model, infos, heavy):
    """Say what did not converge, with numbers and the remedy."""
    bad = [info for info in infos if not info["converged"]]
    if not bad:
        return
    info, after = bad[0], f"after {bad[0]['iterations']}"
    text = {
        "laplace": f"Newton's method has not converged {after} steps; use a larger max_iter (now {model.max_iter})",
        "ep": f"expectation propagation has not converged {after} sweeps (last change "
        f"{info.get('change', np.nan):.2g}, tol = {model.tol:.2g}); use a larger max_iter (now {model.max_iter})",
        "mcmc": f"the chains have not mixed: R̂ = {info.get('rhat', np.nan):.3f}, effective sample size "
        f"{info.get('ess', np.nan):.0f}; use a larger n_samples (now {model.n_samples})",
        "quadrature": f"log evidence still changes by {info.get('error', np.nan):.2g} at "
        f"{info.get('nodes', 0)} nodes: a large amplitude makes the integrand steep; use fewer rows",
    }[model.inference]
    if model.inference == "laplace" and heavy > HEAVY:
        text = (
            f"Newton's method has not converged {after} steps: the largest weight times the prior variance of the "
            f"latent function is {heavy:.2g}, and its steps are lost in rounding; divide the weights by their mean"
        )
    if any(info.get("status") == "time_budget" for info in bad):
        what = {"laplace": "steps of Newton's method", "ep": "sweeps of expectation propagation", "mcmc": "draws"}
        warn(
            f"GaussianProcessClassifier: the time budget of {model.time_budget:g} s was spent {after} "
            f"{what[model.inference]}, which have not converged. Use a larger time_budget, or fewer rows.",
            ConvergenceWarning,
        )
        return
    warn(f"GaussianProcessClassifier: {text}, or a kernel of smaller amplitude.", ConvergenceWarning)


def joint_averaging(state):
    """A classifier's state of the first version as one of today: it averaged over the joint distribution of f."""
    posterior = state.get("posterior")
    if posterior is not None and posterior["inference"] == "softmax":
        parts = [_with_curvature(part) for part in posterior["parts"]]
        state = {**state, "posterior": {**posterior, "parts": parts}}
    return {**state, "parameters": {**state["parameters"], "averaging": "joint"}}


def _with_curvature(part):
    """The state of a softmax posterior of the first version, with the D that its factors were made of."""
    likelihood = Softmax.from_state(part["likelihood"])
    return {**part, "D": likelihood.weight[:, None] * likelihood.prob(part["f"]), "typical": None}
