"""What a classifier is not to be trusted in, with numbers and remedies."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._warn import warn
from mercer.approximate.options import ClassOptions
from mercer.inference.temperature import at_end


def warn_of_fit(problem, at, rows, infos, losses, temperature):
    """Say what a classifier is not to be trusted in; losses are of rows left out, by it and by class frequencies."""
    variances = np.asarray(at.kernel.diag(rows.X), dtype=float)
    _warn_of_convergence(problem, infos, float(np.max(rows.weights() * variances)))
    if at.result is not None:
        remedies = _remedies(problem)
        _warn_of_amplitude(problem, float(np.mean(variances)), remedies)
        _warn_of_losses(problem, *losses, float(np.mean(variances)), remedies)
    if problem.tempers and at_end(temperature):
        warn(
            f"GaussianProcessClassifier: the temperature {temperature:.3g} is at the end of its range: the "
            f"leave-one-out probabilities of {rows.given} rows do not determine it. Use more rows, temperature=False, "
            "or inference='ep'.",
            ConvergenceWarning,
        )


def _remedies(problem):
    """What else could be tried, as words."""
    ep = "multi_class='one_vs_rest' with inference='ep'" if problem.coupled else "inference='ep'"
    wider = [] if problem.tempers else ["temperature=True"]
    prior = "prior='auto'" if problem.prior is None else "prior=weak_priors(kernel, X)"
    return [*([ep] if problem.inference == "laplace" else []), prior, *wider]


def _warn_of_amplitude(problem, variance, remedies):
    """Say so when the search has found nothing that holds the amplitude."""
    if variance <= problem.options[ClassOptions].steep:
        return
    effect = "probabilities are 0 or 1 but in a thin layer between the classes"
    if problem.inference == "laplace":
        effect = "Laplace's approximation then pulls all probabilities towards ½"
    warn(
        f"GaussianProcessClassifier: the learnt prior variance of the latent function is {variance:.2g}. The "
        "classes can be told apart without an error, and the evidence then hardly depends on the amplitude: "
        f"{effect}. Use {', '.join(remedies)}, or a kernel whose amplitude is fixed.",
        ConvergenceWarning,
    )


def _warn_of_losses(problem, loss, frequencies, variance, remedies):
    """Say so when learnt probabilities are worse than none: the class frequencies, left out as well."""
    if loss <= problem.options[ClassOptions].worse * frequencies:
        return
    warn(
        "GaussianProcessClassifier: the probabilities are worse than the class frequencies. Left out, a row has a "
        f"log loss of {loss:.3g} on average, and {frequencies:.3g} by the frequencies. The learnt prior variance "
        f"of the latent function is {variance:.2g}. Use {', or '.join(remedies)}.",
        ConvergenceWarning,
    )


def _warn_of_convergence(problem, infos, heavy):
    """Say what did not converge, with numbers and the remedy."""
    bad = [info for info in infos if not info["converged"]]
    if not bad:
        return
    info, after = bad[0], f"after {bad[0]['iterations']}"
    text = {
        "laplace": f"Newton's method has not converged {after} steps; use a larger max_iter (now {problem.max_iter})",
        "ep": f"expectation propagation has not converged {after} sweeps (last change "
        f"{info.get('change', np.nan):.2g}, tol = {problem.tol:.2g}); use a larger max_iter (now {problem.max_iter})",
        "mcmc": f"the chains have not mixed: R̂ = {info.get('rhat', np.nan):.3f}, effective sample size "
        f"{info.get('ess', np.nan):.0f}; use a larger n_samples (now {problem.n_samples})",
        "quadrature": f"log evidence still changes by {info.get('error', np.nan):.2g} at "
        f"{info.get('nodes', 0)} nodes: a large amplitude makes the integrand steep; use fewer rows",
    }[problem.inference]
    if problem.inference == "laplace" and heavy > problem.options[ClassOptions].heavy:
        text = (
            f"Newton's method has not converged {after} steps: the largest weight times the prior variance of the "
            f"latent function is {heavy:.2g}, and its steps are lost in rounding; divide the weights by their mean"
        )
    if any(info.get("status") == "time_budget" for info in bad):
        what = {"laplace": "steps of Newton's method", "ep": "sweeps of expectation propagation", "mcmc": "draws"}
        warn(
            f"GaussianProcessClassifier: the time budget of {problem.time_budget:g} s was spent {after} "
            f"{what[problem.inference]}, which have not converged. Use a larger time_budget, or fewer rows.",
            ConvergenceWarning,
        )
        return
    warn(f"GaussianProcessClassifier: {text}, or a kernel of smaller amplitude.", ConvergenceWarning)
