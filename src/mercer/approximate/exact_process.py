"""A Gaussian process, exactly: one factor, or one for each draw of its hyper-parameters, and how sure these are."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._machine import check_memory
from mercer._parameters import cached_property
from mercer._state import check
from mercer._warn import warn
from mercer.approximate.exact import ExactFit
from mercer.approximate.fitted import by_target, slopes_of
from mercer.approximate.options import ProcessOptions
from mercer.approximate.process import CHAINS, draws_of, evidence_of, factors_of, make_prior, process_attributes
from mercer.inference.hyper_sampling import axes_of, covariance_of, slice_sample
from mercer.inference.mixture import PosteriorMixture
from mercer.inference.regression import RegressionPosterior
from mercer.selection import PriorOptions
from mercer.selection.search.objective import CriterionObjective, Record
from mercer.selection.search.space import SearchSpace
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
        fit.mixture, *drawn, said = draw_posteriors(problem, at, solver)
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


class HyperPosterior:
    """z = (log θ, log λ) ↦ the criterion and the prior, around the kernel and λ that were learnt."""

    def __init__(self, kernel, rows, lam, criterion, optimize="all", prior=None):
        self.rows = rows
        if not lam > 0:  # without noise a copy of a row says nothing, and does not count
            rows, criterion = rows.once(), criterion.with_precisions()
        rows = rows if criterion.merges else rows.apart()
        self.objective = CriterionObjective(kernel, rows, criterion.restrict(rows.used), Record(), prior=prior)
        self.kernel, self.lam = kernel, lam
        self.z = self.at(lam)
        self.names = [*kernel.names, "noise"]
        self.free = which_are_learnt(kernel, optimize)

    def at(self, lam):
        """z of the kernel and λ; without noise its log is -inf, and means that."""
        with np.errstate(divide="ignore"):
            return self.objective.start(self.kernel, lam)

    def value(self, z):
        """C and the prior at z; inf where it cannot be evaluated."""
        try:
            with np.errstate(all="ignore"):
                value = self.objective.exact(z, False)[0]
        except np.linalg.LinAlgError:
            return np.inf
        prior = self.objective.prior
        return value + (0.0 if prior is None else prior(self.objective.names, z)[0]) if np.isfinite(value) else np.inf

    def hessian(self, free):
        """∂²C/∂z² of the free z, by central differences of the gradient; of a mean, times the rows and targets.

        nan in the row and column of a z beside which K̃ cannot be factored.
        """
        index, step = np.flatnonzero(free), 1e-3
        H = np.zeros((index.size, index.size))
        for k, j in enumerate(index):
            up, down = (self._gradient(self.z + sign * step * (np.arange(len(self.z)) == j)) for sign in (1.0, -1.0))
            H[k] = (up - down)[index] / (2.0 * step)
        unknown = ~np.isfinite(H).all(axis=1)
        return np.where(unknown | unknown[:, None], np.nan, (H + H.T) / 2)

    def _gradient(self, z):
        """∂C/∂z with the prior; nan where it cannot be evaluated."""
        objective = self.objective
        size = 1.0 if objective.criterion.summed else float(objective.y.size)
        try:
            with np.errstate(all="ignore"):
                gradient = size * objective.exact(z)[1]
        except np.linalg.LinAlgError:
            return np.full(len(z), np.nan)
        return gradient if objective.prior is None else gradient + objective.prior(objective.names, z)[1]

    def covariance(self, at_bound=()):
        """The inverse Hessian in log θ; nan for what was not learnt, is flat, or stands at a bound."""
        out = np.full((len(self.z), len(self.z)), np.nan)
        free = self.free & ~np.isin(self.names, list(at_bound))
        if not free.any():
            return out
        hessian = self.hessian(free)
        known = ~np.isnan(hessian.diagonal())
        hessian, free[free] = hessian[np.ix_(known, known)], known
        out[np.ix_(free, free)] = covariance_of(hessian)
        return out

    def sample(self, draws, bounds, time_budget, seed):
        """(draws of z, Chains): from the posterior of the free z, by slice sampling along the axes of the Hessian."""
        box = SearchSpace(self.kernel, self.lam, bounds).box(self.objective.rows, self.objective.criterion)
        free, inside = self.free, np.where(self.free, np.clip(self.z, *box.T), self.z)

        def log_density(part):
            full = inside.copy()
            full[free] = part
            return -self.value(full)

        chains = slice_sample(
            log_density, inside[free], draws, directions=axes_of(self.hessian(free)), bounds=box[free], chains=CHAINS,
            time_budget=time_budget, rng=np.random.default_rng(seed),
        )  # fmt: skip
        found = np.tile(inside, (chains.draws.shape[0] * chains.draws.shape[1], 1))
        found[:, free] = chains.draws.reshape(-1, int(free.sum()))
        return found, chains


def kernel_and_noise(kernel, theta):
    """(kernel, λ) of (log θ, log σ²), checked."""
    z = check_logs([*kernel.names, "noise"], theta)
    return kernel.with_theta(z[:-1]), float(np.exp(z[-1]))


def check_logs(names, theta):
    """(log θ, log σ²) as an array, checked."""
    z = np.asarray(theta, dtype=float)
    if z.shape != (len(names),) or not np.isfinite(z).all():
        raise ValueError(f"theta must be {len(names)} finite logs ({', '.join(names)}), got shape {z.shape}.")
    return z


def which_are_learnt(kernel, optimize):
    """Which of z = (log θ, log λ) are learnt."""
    return np.append(np.full(kernel.n_theta, optimize != "lam"), optimize != "kernel")


def check_sampling(n_samples, n, kernel, optimize, likelihood, memory):
    """Refuse to sample by a criterion that is no likelihood, where nothing is free, and more factors than fit."""
    if not likelihood:
        raise ValueError('n_hyper_samples needs criterion="evidence": only a likelihood has a posterior.')
    if not which_are_learnt(kernel, optimize).any():
        raise ValueError(
            f"n_hyper_samples = {n_samples}, but nothing is free to be sampled: {kernel!r} with optimize={optimize!r}. "
            "Use n_hyper_samples=0."
        )
    count = factors_of(n_samples)
    check_memory(count * 8.0 * n**2, f"{count} factors for n = {n}", memory, "fewer n_hyper_samples")


def report_chains(chains, names, rhat):
    """What a report says of the chains; those whose R̂ is beyond ``rhat`` have not mixed, and are warned of."""
    count = chains.draws.shape[0] * chains.draws.shape[1]
    worst = int(np.nanargmax(chains.rhat)) if np.isfinite(chains.rhat).any() else 0
    if not chains.complete or not chains.rhat[worst] <= rhat:
        what = "the time budget was spent" if not chains.complete else "the chains have not mixed"
        warn(
            f"sampling of hyper-parameters: {what} after {count} draws (R̂ = {chains.rhat[worst]:.3f} and "
            f"{chains.ess[worst]:.0f} effective draws of {names[worst]}). Use more n_hyper_samples, or a prior.",
            ConvergenceWarning,
        )
    return {
        "draws": count,
        "evaluations": chains.evaluations,
        "ess": dict(zip(names, map(float, chains.ess), strict=True)),
        "rhat": dict(zip(names, map(float, chains.rhat), strict=True)),
    }


def draw_posteriors(problem, at, solver):
    """(`PosteriorMixture` of draws of the hyper-parameters, draws, their names, what the report says)."""
    count = draws_of(problem.n_hyper_samples)
    clock = problem.clock.part(keep=CHAINS * count * problem.plan.last)  # each draw has a factor
    around = HyperPosterior(at.kernel, problem.rows, at.lam, problem.criterion, problem.optimize, at.start)
    draws, chains = around.sample(count, problem.bounds, clock.budget, problem.seed)
    learnt, rhat = np.array(around.names)[around.free].tolist(), problem.options[ProcessOptions].rhat
    drawn = map(around.objective.at, draws)
    mixture = PosteriorMixture([RegressionPosterior.fit(k, problem.rows, lam, solver) for k, lam in drawn])
    return mixture, draws, around.names, report_chains(chains, learnt, rhat)
