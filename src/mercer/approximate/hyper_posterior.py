"""How sure the hyper-parameters of a Gaussian process are: the Hessian of the criterion, standard errors, and draws."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._machine import check_memory
from mercer._warn import warn
from mercer.approximate.options import ProcessOptions
from mercer.inference.hyper_sampling import axes_of, covariance_of, slice_sample
from mercer.inference.mixture import PosteriorMixture
from mercer.inference.regression import RegressionPosterior
from mercer.selection.search.objective import CriterionObjective, Record
from mercer.selection.search.space import SearchSpace

CHAINS = 4  # of draws of the hyper-parameters


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


def draws_of(n_samples):
    """Draws of each chain for so many in all."""
    return max(4, -(-n_samples // CHAINS))


def factors_of(n_samples):
    """How many draws there are in the end, each of which has a factor."""
    return CHAINS * draws_of(n_samples) if n_samples else 0


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
