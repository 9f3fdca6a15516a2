"""What a Gaussian process classifier warns of: no convergence, an amplitude or a temperature that nothing holds."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._warn import warn
from mercer.inference.temperature import at_end

STEEP = 1e5  # prior variance of f: a link turns nearly every value of such a function into 0 or 1
HEAVY = 1e6  # weight times prior variance of f: Newton's steps are then lost in rounding
WORSE = 1.05  # times the log loss of the class frequencies


def warn_of_fit(model, rows, infos, losses, coupled):
    """Say what a fitted classifier is not to be trusted in.

    Parameters
    ----------
    model : GaussianProcessClassifier
    rows : Rows
    infos : list of dict
        Of the approximations.
    losses : pair of float
        Mean log loss of rows left out: by the model, and by the class frequencies.
    coupled : bool
        Whether several classes are done by one softmax.
    """
    variances = np.asarray(model.kernel_.diag(rows.X), dtype=float)
    _warn_of_convergence(model, infos, float(np.max(rows.weights() * variances)))
    if model.selection_ is not None:
        remedies = _remedies(model, coupled)
        _warn_of_amplitude(model, float(np.mean(variances)), remedies)
        _warn_of_losses(*losses, float(np.mean(variances)), remedies)
    if model.temperature and at_end(model.temperature_):
        warn(
            f"GaussianProcessClassifier: the temperature {model.temperature_:.3g} is at the end of its range: the "
            f"leave-one-out probabilities of {rows.given} rows do not determine it. Use more rows, temperature=False, "
            "or inference='ep'.",
            ConvergenceWarning,
        )


def _remedies(model, coupled):
    """What else could be tried, as words."""
    ep = "multi_class='one_vs_rest' with inference='ep'" if coupled else "inference='ep'"
    wider = [] if model.temperature else ["temperature=True"]
    return [*([ep] if model.inference == "laplace" else []), "prior=weak_priors(kernel, X)", *wider]


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
    warn(f"GaussianProcessClassifier: {text}, or a kernel of smaller amplitude.", ConvergenceWarning)
