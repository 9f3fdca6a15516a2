"""How a Gaussian process classifier is fitted: labels, rows, the search, the posterior, the report."""

import numpy as np
from sklearn.base import clone

from mercer._machine import check_memory
from mercer.estimators._base import check_kernel, latent_kernel
from mercer.estimators._gpc_rows import left_out_losses, merge_labelled, number_labels, stratified_order
from mercer.estimators._gpc_warnings import ClassifierWarnings
from mercer.estimators._labels import check_labels
from mercer.estimators._report import FitReport
from mercer.estimators._validation import check_weight, check_X
from mercer.gram import TiledGram
from mercer.inference.links import LINKS
from mercer.inference.models import BinaryModel, SoftmaxModel
from mercer.inference.temperature import best_temperature, tempered
from mercer.kernels import Gaussian, as_kernel
from mercer.selection.priors import FEW, as_prior, weak_priors
from mercer.selection.progress import reporter
from mercer.selection.search.latent import search_latent


class ClassifierFit(ClassifierWarnings):
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
            kernel = latent_kernel(rows.X, rows.weight)
        check_kernel(kernel, rows.X)
        self._check_memory(len(rows.y))
        self._model = self._make_model(rows)
        self._model.check(TiledGram(kernel, rows.X))
        self.kernel_ = self._learn(kernel, rows)
        self.points_ = self.kernel_.retain(rows.X)
        self.point_index_ = rows.point
        self._posterior = self._model.fit(TiledGram(self.kernel_, rows.X), self.memory)
        losses = self._set_results(rows, number, given)
        self._posterior.release()
        self._report(rows, losses)

    def _check_memory(self, n):
        """K, ∂C/∂K and a factor; one class against the rest keeps one factor each, the softmax three arrays."""
        C, coupled = len(self.classes_), self._coupled()
        arrays = 3 if C == 2 else 4 + 3 * C if coupled else 2 + C
        what = f"GaussianProcessClassifier for n = {n}" + (f" and {C} classes" if C > 2 else "")
        options = "fewer rows, or multi_class='one_vs_rest'" if coupled else "fewer rows"
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
        if self._coupled():
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
        ).warn()
        return self.selection_.kernel

    # ---------------------------------------------------------------------- what is kept
    def _set_results(self, rows, number, weight):
        """Coefficients, evidence, leave-one-out probabilities and the temperature; returns the losses left out."""
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
        prob, number = self.loo_probabilities_[used], number[used]
        weight = np.ones(len(used)) if weight is None else weight[used]
        if self.temperature:
            self.temperature_ = best_temperature(prob, number, weight)
        return left_out_losses(tempered(prob, self.temperature_), number, weight)

    def _report(self, rows, losses):
        """Fill ``fit_report_``, and warn of what has not converged or is of no use."""
        used = int((rows.point >= 0).sum())
        self.fit_report_ = FitReport(
            estimator=type(self).__name__,
            kernel=repr(self.kernel_),
            inference=self.inference,
            learnt_by=self._model.learns_by if self.selection_ is not None else "nothing was learnt",
            link="softmax" if self._coupled() else self.link,
            classes=len(self.classes_),
            rows=len(rows.point),
            dropped_rows=len(rows.point) - used,
            merged_rows=used - len(rows.y),
            points=len(rows.y),
            log_evidence=self.log_marginal_likelihood_value_,
            loo_log_loss=losses[0],
            frequency_log_loss=losses[1],
            temperature=self.temperature_,
            approximation=[{key: value for key, value in info.items()} for info in self._posterior.infos],
        )
        if self.selection_ is not None:
            self.fit_report_["selection"] = self.selection_.to_dict()
        self._warn_of_convergence(rows)
        self._warn_of_amplitude(rows)
        self._warn_of_losses(rows, *losses)
        self._warn_of_temperature()
