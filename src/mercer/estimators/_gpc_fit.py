"""How a Gaussian process classifier is fitted: labels, rows, the search, the posterior, the report."""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._machine import check_memory
from mercer.estimators._base import check_kernel
from mercer.estimators._gp_fit import default_kernel
from mercer.estimators._gpc_rows import check_labels, merge_labelled, number_labels, stratified_order
from mercer.estimators._report import FitReport
from mercer.estimators._validation import check_weight, check_X
from mercer.gram import TiledGram
from mercer.inference.links import LINKS
from mercer.inference.models import BinaryModel, SoftmaxModel
from mercer.inference.temperature import best_temperature
from mercer.kernels import Gaussian, as_kernel
from mercer.selection._progress import reporter
from mercer.selection.latent import search_latent
from mercer.selection.priors import FEW, as_prior, weak_priors

STEEP = 1e5  # prior variance of f: a link turns nearly every value of such a function into 0 or 1


class ClassifierFit:
    """``_fit`` of `GaussianProcessClassifier`."""

    def _fit(self, X, y, sample_weight):
        kernel = Gaussian() if self.kernel is None else clone(as_kernel(self.kernel), safe=False)
        X = check_X(self, X, reset=True, kernel=kernel)
        y = check_labels(self, X, y)
        X = kernel.validate(X)
        given = check_weight(sample_weight, len(y))
        self.classes_, number = number_labels(y, np.ones(len(y)) if given is None else given)
        rows = merge_labelled(X, number, np.ones(len(y)) if given is None else given)
        if self.kernel is None:
            kernel = default_kernel(rows.X, rows.weight)
        check_kernel(kernel, rows.X)
        self._check_memory(len(rows.y))
        self._model = self._make_model(rows)
        self.kernel_ = self._learn(kernel, rows)
        self.points_ = self.kernel_.retain(rows.X)
        self.point_index_ = rows.point
        self._posterior = self._model.fit(TiledGram(self.kernel_, rows.X))
        self._set_results(rows, number, given)
        self._posterior.release()
        self._report(rows)

    def _check_memory(self, n):
        """K, the factor and ∂C/∂K; with C classes C of each."""
        several = len(self.classes_) > 2 and self.multi_class == "softmax"
        arrays = 3 if not several else 4 + 3 * len(self.classes_)
        what = f"GaussianProcessClassifier for n = {n}" + (f" and {len(self.classes_)} classes" if several else "")
        options = "fewer rows, or multi_class='one_vs_rest'" if several else "fewer rows"
        check_memory(8.0 * arrays * n**2, what, self.memory, options)

    def _make_model(self, rows):
        """The model of the labels."""
        link, C = LINKS[self.link](), len(self.classes_)
        known = self.mean is not None and not isinstance(self.mean, str)
        if known and not np.isfinite(self.mean):
            raise ValueError(f"mean must be finite, got {self.mean}.")
        common = {
            "constant": link.constant_variance if self.mean == "auto" else 0.0,
            "max_iter": self.max_iter,
            "tol": self.tol,
        }
        if C > 2 and self.multi_class == "softmax":
            self._check_softmax(known)
            return SoftmaxModel(rows.y, C, rows.weight, **common)
        T = np.where(rows.y[:, None] == (np.arange(C) if C > 2 else [1]), 1.0, -1.0)
        return BinaryModel(
            link,
            T,
            rows.weight,
            self.inference,
            offset=float(self.mean) if known else 0.0,
            n_samples=self.n_samples,
            random_state=self.random_state,
            **common,
        )

    def _check_softmax(self, known):
        C = len(self.classes_)
        if self.inference != "laplace":
            raise ValueError(
                f"inference={self.inference!r} with {C} classes needs multi_class='one_vs_rest'; the softmax is done "
                "by inference='laplace'."
            )
        if self.link != "logit":
            raise ValueError(
                f"link={self.link!r} is for two classes, y has {C}; use link='logit', or multi_class='one_vs_rest'."
            )
        if known:
            raise ValueError(
                f"mean={self.mean} has no effect on the softmax of {C} classes; use mean='auto' or None, or "
                "multi_class='one_vs_rest'."
            )

    # ---------------------------------------------------------------------- learning
    def _make_prior(self, kernel, rows):
        """−log density of log θ, or None."""
        if isinstance(self.prior, str):
            return weak_priors(kernel, rows.X, None, rows.weight) if len(rows.y) < FEW else None
        prior = as_prior(self.prior)
        unused = prior.unused(kernel.names) if hasattr(prior, "unused") else []
        if unused:
            raise ValueError(f"prior: {unused[0]!r} fits none of {kernel.names}.")
        return prior

    def _learn(self, kernel, rows):
        """The kernel with the hyper-parameters of the greatest evidence."""
        self.selection_ = None
        if not (self.optimize and kernel.n_theta):
            return kernel
        self.selection_ = search_latent(
            kernel,
            rows.X,
            self._model.evaluate,
            rows=len(rows.y),
            order=stratified_order(rows.y, self.random_state),
            prior=self._make_prior(kernel, rows),
            starts=self.starts,
            time_budget=self.time_budget,
            callback=reporter(self),
            random_state=self.random_state,
        ).warn(stacklevel=7)
        return self.selection_.kernel

    # ---------------------------------------------------------------------- what is kept
    def _set_results(self, rows, number, weight):
        """Coefficients, evidence, leave-one-out probabilities and the temperature."""
        posterior, two = self._posterior, len(self.classes_) == 2
        self.dual_coef_ = posterior.coef[:, 0] if two else posterior.coef
        constant = posterior.constant * posterior.coef.sum(axis=0)
        if self.mean is not None and not isinstance(self.mean, str):
            constant = constant + float(self.mean)
        self.mean_ = float(constant[0]) if two else constant
        self.log_marginal_likelihood_value_ = posterior.log_evidence
        self.n_iter_ = max(1, *(info["iterations"] for info in posterior.infos))
        used = np.flatnonzero(rows.point >= 0)
        self.loo_probabilities_ = np.full((len(number), len(self.classes_)), np.nan)
        self.loo_probabilities_[used] = posterior.loo(rows.point[used], rows.share[used])
        self.temperature_ = 1.0
        if self.temperature:
            weight = None if weight is None else weight[used]
            self.temperature_ = best_temperature(self.loo_probabilities_[used], number[used], weight)

    def _report(self, rows):
        """Fill ``fit_report_``, and warn of what has not converged."""
        used = int((rows.point >= 0).sum())
        several = len(self.classes_) > 2
        self.fit_report_ = FitReport(
            estimator=type(self).__name__,
            kernel=repr(self.kernel_),
            inference=self.inference,
            learnt_by=self._model.learns_by if self.selection_ is not None else "nothing was learnt",
            link="softmax" if several and self.multi_class == "softmax" else self.link,
            classes=len(self.classes_),
            rows=len(rows.point),
            dropped_rows=len(rows.point) - used,
            merged_rows=used - len(rows.y),
            points=len(rows.y),
            log_evidence=self.log_marginal_likelihood_value_,
            temperature=self.temperature_,
            approximation=[{key: value for key, value in info.items()} for info in self._posterior.infos],
        )
        if self.selection_ is not None:
            self.fit_report_["selection"] = self.selection_.to_dict()
        self._warn()
        self._warn_of_amplitude(rows)

    def _warn_of_amplitude(self, rows):
        """Say so when the search has found nothing that holds the amplitude."""
        if self.selection_ is None:
            return
        variance = float(np.mean(self.kernel_.diag(rows.X)))
        if variance > STEEP:
            warnings.warn(
                f"GaussianProcessClassifier: the learnt prior variance of the latent function is {variance:.2g}. The "
                "classes can be told apart without an error, and the evidence then hardly depends on the amplitude: "
                "probabilities are 0 or 1 but in a thin layer between the classes. Give a prior on the parameters "
                "(prior=weak_priors(kernel, X)), or a kernel whose amplitude is fixed.",
                ConvergenceWarning,
                stacklevel=7,
            )

    def _warn(self):
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
            f"{info.get('nodes', 0)} nodes: a large amplitude makes the integrand steep",
        }[self.inference]
        warnings.warn(
            f"GaussianProcessClassifier: {text}, or a kernel of smaller amplitude.", ConvergenceWarning, stacklevel=7
        )
