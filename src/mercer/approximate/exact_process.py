"""A Gaussian process, exactly: a factor of K + λI of all rows, or one for each draw of the hyper-parameters."""

import numpy as np

from mercer._parameters import cached_property
from mercer._state import check
from mercer.approximate import hyper_posterior as hyper
from mercer.approximate.exact import ExactFit
from mercer.approximate.fitted import by_target, slopes_of
from mercer.approximate.process import evidence_of, make_prior, process_attributes
from mercer.inference.mixture import PosteriorMixture
from mercer.inference.regression import RegressionPosterior
from mercer.selection import PriorOptions
from mercer.solvers import Cholesky, Sizes, choose_solver
from mercer.solvers.fitted import LeftOut, left_out


def fit_process(problem, at):
    """`ExactProcess` of a problem at its hyper-parameters."""
    solver, rows = Cholesky(), problem.rows
    single = RegressionPosterior.fit(at.kernel, rows, at.lam, solver, problem.span)
    fit = ExactProcess(single, None, problem.flat, problem.precisions, problem.memory)
    fit.result = at.result
    fit.said = {"reasons": list(problem.plan.reasons), "memory_predicted": problem.plan.memory_bytes}
    if problem.n_hyper_samples:
        at.start = make_prior(problem.prior, at.kernel, rows, problem.criterion, problem.options[PriorOptions])
        fit.mixture, *drawn, said = hyper.draw_posteriors(problem, at, solver)
        fit.learnt = dict(zip(("hyper_samples_", "hyper_names_"), drawn, strict=True))
        fit.said["hyper_samples"] = said
    return fit


class ExactProcess(ExactFit):
    """The posterior of all rows at the hyper-parameters that were learnt, and that of draws of them.

    Attributes
    ----------
    single : RegressionPosterior
    mixture : PosteriorMixture or None
    precisions : bool
        Whether each row has a noise variance of its own.
    """

    FIELDS = {
        "single": RegressionPosterior, "mixture": (PosteriorMixture, None), "flat": bool, "precisions": bool,
        "memory": ("number", None), "left": (tuple, None),
    }  # fmt: skip

    def __init__(self, single, mixture, flat, precisions=False, memory=None, left=None):
        self.single, self.mixture, self.flat, self.precisions, self.memory = single, mixture, flat, precisions, memory
        self.left, self._afresh = None if left is None else LeftOut(*left), True

    kernel = property(lambda self: self.single.kernel, doc="Of the fit.")
    rows = property(lambda self: self.single.rows, doc="Of the fit.")
    lam = property(lambda self: self.single.lam, doc="Noise variance of a row of weight 1.")

    @classmethod
    def from_state(cls, state):
        """Return the fit that had this state."""
        check(state, cls.FIELDS, cls.__name__)
        shapes = {one.rows.shape for one in (state["mixture"].posteriors if state["mixture"] else ())}
        if shapes - {state["single"].rows.shape}:
            raise ValueError(f"{cls.__name__}.mixture is not of rows of shape {state['single'].rows.shape}.")
        return cls(**state)

    @property
    def posterior(self):  # type: ignore[override]
        """What predictions are asked of."""
        return self.single if self.mixture is None else self.mixture

    @property
    def states_errors(self):  # type: ignore[override]
        """Whether it is one process, not a mixture."""
        return self.mixture is None

    @property
    def points(self):
        return self.rows.X

    def _inverse(self):
        return self.single.inverse

    def _left(self):
        if self.left is None:
            self.left = left_out(self.single.inverse, self.rows, self.single.beta)
        return self.left

    @cached_property
    def log_evidence(self):
        """log p(y)."""
        return float(sum(self.single.evidence(evidence_of(self.precisions)).values()))

    def evidence_terms(self, criterion):
        return self.single.evidence(criterion)

    @property
    def slopes(self):  # type: ignore[override]
        """(Trend, b) of a trend that is more than a constant."""
        return slopes_of(self.rows.trend, self.single.b)

    def attributes(self):
        dual = {"dual_coef_": by_target(self.single.alpha, self.flat)}
        return dual | process_attributes(self.single, self.flat, self.precisions, self.log_evidence) | self.learnt

    def report(self):
        f = self.single
        said = {"kernel": repr(f.kernel), "noise": f.lam, **self.rows.counts()}
        said["log_marginal_likelihood"] = self.log_evidence
        return said | self.said | f.inverse.info

    # ---------------------------------------------------------------------- rows that join and leave
    def extended(self, X, y, weight, merge=True):
        return self._changed(self.rows.extended(X, y, weight, merge), np.arange(self.rows.n))

    def without(self, gone):
        return self._changed(*self.rows.without(gone))

    def _changed(self, rows, points):
        """The fit to other rows; ``points`` of those of now are the first ones of them."""
        solver = choose_solver("cholesky", Sizes(rows.n, rows.d, rows.t, self.memory), inverse=True)[0]
        single, afresh = self.single.changed(rows, points, solver)
        mixture = None if self.mixture is None else self.mixture.changed(rows, points, solver)[0]
        fit = type(self)(single, mixture, self.flat, self.precisions, self.memory)
        fit._afresh = afresh
        return fit

    def report_after_change(self, report):
        # the certificates of a fit are those of its factor: gone where that was changed row by row
        known = {key: value for key, value in report.items() if key not in ("condition", "accuracy", "residual")}
        said = self.report()
        fresh = self.single.inverse.info if self._afresh else {}
        said = {name: said[name] for name in ("log_marginal_likelihood", *self.rows.counts())}
        counted = {"updates": report.get("updates", 0) + 1, "factored_afresh": self._afresh}
        return {**(report if self._afresh else known), **counted, **said, **fresh}
