"""What a Gaussian process classifier warns of: no convergence, an amplitude or a temperature that nothing holds."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._warn import warn
from mercer.inference.temperature import at_end

STEEP = 1e5  # prior variance of f: a link turns nearly every value of such a function into 0 or 1
HEAVY = 1e6  # weight times prior variance of f: Newton's steps are then lost in rounding
WORSE = 1.05  # times the log loss of the class frequencies


class ClassifierWarnings:
    """The warnings of `GaussianProcessClassifier`; all are called by ``_report``, so that they point at the caller."""

    def _variances(self, rows):
        """k(x, x) of the points."""
        return np.asarray(self.kernel_.diag(rows.X), dtype=float)

    def _remedies(self):
        """What else could be tried, as words."""
        ep = "inference='ep'"
        if self._coupled():
            ep = "multi_class='one_vs_rest' with inference='ep'"
        wider = [] if self.temperature else ["temperature=True"]
        return [*([ep] if self.inference == "laplace" else []), "prior=weak_priors(kernel, X)", *wider]

    def _coupled(self):
        """Whether several classes are done by one softmax."""
        return len(self.classes_) > 2 and self.multi_class == "softmax"

    def _warn_of_amplitude(self, rows):
        """Say so when the search has found nothing that holds the amplitude."""
        if self.selection_ is None:
            return
        variance = float(np.mean(self._variances(rows)))
        if variance > STEEP:
            effect = "probabilities are 0 or 1 but in a thin layer between the classes"
            if self.inference == "laplace":
                effect = "Laplace's approximation then pulls all probabilities towards ½"
            warn(
                f"GaussianProcessClassifier: the learnt prior variance of the latent function is {variance:.2g}. The "
                "classes can be told apart without an error, and the evidence then hardly depends on the amplitude: "
                f"{effect}. Use {', '.join(self._remedies())}, or a kernel whose amplitude is fixed.",
                ConvergenceWarning,
            )

    def _warn_of_losses(self, rows, loss, frequencies):
        """Say so when learnt probabilities are worse than none: the class frequencies, left out as well."""
        if self.selection_ is None or loss <= WORSE * frequencies:
            return
        variance = float(np.mean(self._variances(rows)))
        warn(
            "GaussianProcessClassifier: the probabilities are worse than the class frequencies. Left out, a row has a "
            f"log loss of {loss:.3g} on average, and {frequencies:.3g} by the frequencies. The learnt prior variance "
            f"of the latent function is {variance:.2g}. Use {', or '.join(self._remedies())}.",
            ConvergenceWarning,
        )

    def _warn_of_temperature(self):
        """Say so when the temperature is at an end of its range."""
        if self.temperature and at_end(self.temperature_):
            warn(
                f"GaussianProcessClassifier: the temperature {self.temperature_:.3g} is at the end of its range: the "
                f"leave-one-out probabilities of {len(self.loo_probabilities_)} rows do not determine it. Use more "
                "rows, temperature=False, or inference='ep'.",
                ConvergenceWarning,
            )

    def _warn_of_convergence(self, rows):
        """Say what did not converge, with numbers and the remedy."""
        bad = [info for info in self._posterior.infos if not info["converged"]]
        if not bad:
            return
        info, after = bad[0], f"after {bad[0]['iterations']}"
        text = {
            "laplace": f"Newton's method has not converged {after} steps; use a larger max_iter (now {self.max_iter})",
            "ep": f"expectation propagation has not converged {after} sweeps (last change "
            f"{info.get('change', np.nan):.2g}, tol = {self.tol:.2g}); use a larger max_iter (now {self.max_iter})",
            "mcmc": f"the chains have not mixed: R̂ = {info.get('rhat', np.nan):.3f}, effective sample size "
            f"{info.get('ess', np.nan):.0f}; use a larger n_samples (now {self.n_samples})",
            "quadrature": f"log evidence still changes by {info.get('error', np.nan):.2g} at "
            f"{info.get('nodes', 0)} nodes: a large amplitude makes the integrand steep; use fewer rows",
        }[self.inference]
        heavy = float(np.max(rows.weight * self._variances(rows)))
        if self.inference == "laplace" and heavy > HEAVY:
            text = (
                f"Newton's method has not converged {after} steps: the largest weight times the prior variance of the "
                f"latent function is {heavy:.2g}, and its steps are lost in rounding; divide the weights by their mean"
            )
        warn(f"GaussianProcessClassifier: {text}, or a kernel of smaller amplitude.", ConvergenceWarning)
