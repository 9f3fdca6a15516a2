"""A Gaussian process classifier: what it is asked, the model of its labels, a prior on its kernel, its exact fit."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._state import check
from mercer.approximate.base import Hyperparameters, Problem
from mercer.approximate.classes_warnings import warn_of_fit
from mercer.approximate.fitted import Fitted, by_target, number_by_target
from mercer.approximate.kernels import LEAST_ROWS, search_class_expressions
from mercer.gram import TiledGram
from mercer.inference.classes import ClassModel, ClassPosterior, OneAgainstRest
from mercer.inference.likelihood import LINKS, Binary
from mercer.inference.softmax import Softmax
from mercer.inference.temperature import apply_temperature, best_temperature, left_out_losses
from mercer.kernels import Kernel
from mercer.selection import PriorOptions, SearchOptions
from mercer.selection.priors import LogNormal, Priors, as_prior, weak_priors
from mercer.selection.result import best_of
from mercer.selection.search import Record, SearchSpace
from mercer.selection.search.latent import search_latent
from mercer.solvers.plan import plan_arrays

# Factorisations of a fit, about; for each class of a softmax, with its explicit inverses and what is left out.
STEPS = {"laplace": 6.0, "ep": 20.0, "mcmc": 40.0, "quadrature": 6.0, "softmax": 27.0}


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassProblem(Problem):
    """A Gaussian process behind a link; targets are numbers of classes.

    Attributes
    ----------
    classes : int
        How many there are.
    inference, link, multi_class, prior, n_samples, temperature, averaging, starts, max_iter, tol
        As the estimator has them.
    """

    model = "classes"
    classes: int = 2
    inference: str = "laplace"
    link: str = "logit"
    multi_class: str = "softmax"
    prior: Any = "auto"
    n_samples: int = 1000
    temperature: Any = "auto"
    averaging: str = "mean_field"
    starts: int = 3
    max_iter: int = 100
    tol: float = 1e-8

    lengths_tried = False  # type: ignore[assignment]

    @property
    def coupled(self):
        """Whether one softmax is over all classes."""
        return self.classes > 2 and self.multi_class == "softmax"

    @property
    def may_approximate(self):
        return self.inference == "laplace" and super().may_approximate

    @property
    def mean(self):
        """The mean of f if it is a number, else None."""
        if self.trend is None or isinstance(self.trend, str | bool):
            return None
        if not math.isfinite(self.trend):
            raise ValueError(f"trend must be finite, got {self.trend}.")
        return float(self.trend)

    @property
    def constant(self):
        """Prior variance of an unknown constant in f."""
        known = self.trend == "constant" or self.trend is True
        return LINKS[self.link]().constant_variance if known else 0.0

    @property
    def tempers(self):
        """Whether a temperature is learnt."""
        return self.coupled if self.temperature == "auto" else self.temperature

    def plan_exactly(self, binding=True):
        """The plan: K, ∂C/∂K and a factor; one class against the rest keeps one factor each, the softmax three."""
        n, classes, coupled = self.n, self.classes, self.coupled
        arrays = 3 if classes == 2 else 4 + 3 * classes if coupled else 2 + classes
        what = f"GaussianProcessClassifier for n = {n}" + (f" and {classes} classes" if classes > 2 else "")
        instead = "fewer rows, or multi_class='one_vs_rest'" if coupled else "fewer rows"
        reason = f"{arrays} arrays of n × n: K, its adjoint, and a factor for each function."
        steps = STEPS["softmax"] * classes if coupled else STEPS[self.inference] * (1 if classes == 2 else classes)
        options = {"operations": steps * n**3 / 3, "searches": self.criterion is not None, "instead": instead}
        return plan_arrays(self.inference, self.sizes(binding), arrays, reason=reason, what=what, **options)

    def search_exactly(self):
        model = self.label_model(self.rows, self.coupled)
        model.check(TiledGram(self.kernels[0], self.rows.X))
        return self.learn(model, self.rows)

    def learn(self, model, rows):
        """`Hyperparameters` of the greatest evidence of some rows, of several kernels the best."""
        kernels = self.kernels
        if self.criterion is None or not any(kernel.n_theta for kernel in kernels):
            return Hyperparameters(kernels[0], None, None, model)
        order = stratified_order(rows.y[:, 0], self.seed)
        if self.automatic and rows.n >= LEAST_ROWS:
            scale = latent_scale(self.link) if isinstance(self.prior, str) else None
            result = search_class_expressions(self, rows, model.evaluate, order, scale).result().warn()
            return Hyperparameters(result.kernel, None, result, model)
        options = {
            "order": order,
            "seed": self.seed,
            "options": replace(self.options[SearchOptions], starts=self.starts),
        }
        found = []
        for i, kernel in enumerate(kernels):
            space = SearchSpace(
                kernel, prior=kernel_prior(self.prior, kernel, rows, self.link, self.options[PriorOptions])
            )
            record = Record(self.search_clock(1.0 / (len(kernels) - i)), self.report)
            found.append(search_latent(space, rows.X, model.evaluate, record=record, **options))
        result = best_of(found).warn()
        return Hyperparameters(result.kernel, None, result, model)

    def label_model(self, rows, coupled):
        """The `ClassModel` of rows; ``coupled`` is by one softmax."""
        y, options = rows.y[:, 0].astype(int), {"constant": self.constant, "max_iter": self.max_iter, "tol": self.tol}
        options |= {"n_samples": self.n_samples, "random_state": self.seed}
        if coupled:
            self._check_softmax()
            return ClassModel([Softmax(y, self.classes, rows.weight)], "softmax", **options)
        signs, link, mean = as_signs(y, self.classes).T, LINKS[self.link](), self.mean or 0.0
        return ClassModel([Binary(link, t, rows.weight, mean) for t in signs], self.inference, **options)

    def _check_softmax(self):
        """Refuse what only two classes have."""
        if self.inference != "laplace":
            raise ValueError(
                f"inference={self.inference!r} with {self.classes} classes needs multi_class='one_vs_rest'; the "
                "softmax is done by inference='laplace'."
            )
        if self.link != "logit":
            raise ValueError(
                f"link={self.link!r} is for two classes, y has {self.classes}; use link='logit', or "
                "multi_class='one_vs_rest'."
            )
        if self.mean is not None:
            raise ValueError(
                f"trend={self.trend} has no effect on the softmax of {self.classes} classes; use trend='constant' or "
                "None, or multi_class='one_vs_rest'."
            )

    def fit_exactly(self, at):
        rows, model, kernel = self.rows, at.start, at.kernel
        posterior = model.fit(TiledGram(kernel, rows.X), self.memory, self.clock)
        fit = ExactClasses(kernel, kernel.stored_inputs(rows.X), model, posterior)
        fit.result = at.result
        one = np.minimum(rows.row_weight, 1.0) / rows.weights()[rows.index]  # of the weight of a point: one copy
        prob, number = posterior.loo(rows.index, one, self.averaging), rows.row_y[:, 0].astype(int)
        temperature = best_temperature(prob, number, rows.row_weight) if self.tempers else 1.0
        losses = left_out_losses(apply_temperature(prob, temperature), number, rows.row_weight)
        flat = self.classes == 2
        b = posterior.constant * posterior.coef.sum(axis=0) + (self.mean or 0.0)
        fit.learnt = {
            "kernel_": kernel, "points_": fit.points, "point_index_": rows.point_index(),
            "row_weight_": rows.to_rows(rows.row_weight, 0.0), "dual_coef_": by_target(posterior.coef, flat),
            "intercept_": number_by_target(b, flat), "loo_probabilities_": rows.to_rows(prob),
            "log_marginal_likelihood_value_": posterior.log_evidence, "temperature_": temperature,
            "n_iter_": max(1, *(info["iterations"] for info in posterior.infos)),
        }  # fmt: skip
        learnt_by = model.learns_by if at.result is not None else "nothing was learnt"
        fit.said = {"kernel": repr(kernel), "inference": self.inference, "learnt_by": learnt_by}
        fit.said |= {"link": "softmax" if self.coupled else self.link, "classes": self.classes, **rows.counts()}
        fit.said |= {"log_evidence": posterior.log_evidence, "temperature": temperature}
        fit.said |= {"loo_log_loss": losses[0], "frequency_log_loss": losses[1]}
        fit.said["posteriors"] = [dict(info) for info in posterior.infos]
        posterior.release()
        fit.let_factors_be_made_again()
        warn_of_fit(self, at, rows, posterior.infos, losses, temperature)
        return fit


class ExactClasses(Fitted):
    """The posterior of the latent functions given all rows.

    Attributes
    ----------
    kernel : Kernel
    points : collection
    model : ClassModel
    posterior : ClassPosterior
    """

    exact = True
    FIELDS = {"kernel": Kernel, "points": "rows n d", "model": dict, "posterior": dict}

    def __init__(self, kernel, points, model, posterior):
        self.kernel, self.points, self.model, self.posterior = kernel, points, model, posterior

    def state(self):
        return super().state() | {"model": self.model.state(), "posterior": self.posterior.state()}

    @classmethod
    def from_state(cls, state):
        """Return the fit that had this state."""
        check(state, cls.FIELDS, cls.__name__)
        model, posterior = ClassModel.from_state(state["model"]), ClassPosterior.from_state(state["posterior"])
        shape, mine = posterior.coef.shape, model.shape
        if shape != mine or len(state["points"]) != mine[0]:
            raise ValueError(f"a model of shape {mine} and a posterior of shape {shape} are not those of the points.")
        self = cls(**state | {"model": model, "posterior": posterior})
        self.let_factors_be_made_again()
        return self

    def let_factors_be_made_again(self):
        """Keep nothing of order n × n that can be made again of the points, where these are kept."""
        if not self.kernel.pairwise:
            self.posterior.remake_from(self.kernel, self.points)


class ApproximateClasses(Fitted):
    """One class against the rest, by neighbours or on landmarks: the posterior has its own rows.

    Attributes
    ----------
    posterior : NeighbourClasses or LandmarkClasses
    """

    FIELDS = {"posterior": OneAgainstRest}

    def __init__(self, posterior):
        self.posterior = posterior


def kernel_prior(prior, kernel, rows, link, options=PriorOptions()):
    """−log density of log θ, or None."""
    if isinstance(prior, str):
        weak = weak_priors(kernel, rows.X, None, rows.weight, options).priors if rows.n < options.rows else {}
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


def number_labels(y, weight=None):
    """(classes, numbers): the classes of the rows that count, sorted, and the number of each row's class (-1: none)."""
    counts = slice(None) if weight is None else weight > 0
    classes = np.unique(y[counts])
    if len(classes) < 2:
        raise ValueError(
            f"a classifier needs at least 2 classes, but y has 1 class only among the rows of positive weight: "
            f"{classes.tolist()[0]!r}. Nothing can be learnt from it."
        )
    number = np.full(len(y), -1)
    number[counts] = np.searchsorted(classes, y[counts])
    return classes, number


def as_signs(number, classes):
    """Numbers of classes as ±1, of shape (n, 1) or (n, classes)."""
    return np.where(number[:, None] == ([1] if classes == 2 else np.arange(classes)), 1.0, -1.0)


def stratified_order(y, seed):
    """A permutation whose beginnings have every class about as often as all rows have it, and at least twice."""
    rng, key = np.random.default_rng(seed), np.empty(len(y))
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        key[rows] = (np.arange(rows.size) + rng.uniform()) / rows.size
        key[rows[:2]] = -1.0
    return np.argsort(key, kind="stable")
