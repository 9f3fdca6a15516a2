"""Draws of the hyper-parameters of a Gaussian process, and what an evaluation of its criterion needs."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer._machine import check_memory
from mercer._warn import warn
from mercer.estimators._gp_learn import or_none
from mercer.estimators._gp_trend import amplitudes
from mercer.inference.hyper_sampling import slice_sample
from mercer.selection import Evidence
from mercer.selection.search.objective import Objective, Record

CHAINS, ENOUGH = 4, 1.05  # of the sampling; R̂ above this is warned of


class SamplingMixin:
    """``n_hyper_samples`` of `GaussianProcessRegressor`."""

    def _objective(self, kernel, data, criterion=None, prior=None):
        """z = (log θ, log λ) ↦ the criterion, in the units inside."""
        criterion = Evidence(weights="precision" if self._precision else "repeats") if criterion is None else criterion
        X, y, weight, H, criterion = self._seen(data, criterion)
        options = {"weight": or_none(weight), "intercept": False, "trend": H, "prior": prior}
        return Objective(kernel, X, y, criterion, Record(), **options)

    def _check_sampling(self, kernel):
        """Refuse to sample by a criterion that is no likelihood, or where nothing is free."""
        criterion = self._criterion()
        if self.n_hyper_samples and (not isinstance(criterion, Evidence) or criterion.scale_free):
            raise ValueError('n_hyper_samples needs criterion="evidence": only a likelihood has a posterior.')
        if self.n_hyper_samples and not self._searched(kernel).any():
            raise ValueError(
                f"n_hyper_samples = {self.n_hyper_samples}, but nothing is free to be sampled: {kernel!r} with "
                f"optimize={self.optimize!r}. Use n_hyper_samples=0."
            )

    def _sample_hyper(self, kernel, lam, data):
        """Draw hyper-parameters, and condition on each draw."""
        criterion = self._criterion()
        draws = max(4, -(-self.n_hyper_samples // CHAINS))
        size = CHAINS * draws * 8.0 * self._f.Kinv.n**2
        check_memory(size, f"{CHAINS * draws} factors for n = {self._f.Kinv.n}", self.memory, "fewer n_hyper_samples")
        objective = self._objective(kernel, data, criterion, self._prior)
        z = objective.start(kernel, lam)
        free = self._searched(kernel)
        hessian, box = self._hessian(objective, z, free), self._box(kernel, data)
        inside = np.where(free, np.clip(z, *box.T), z)

        def log_density(part):
            full = inside.copy()
            full[free] = part
            return -_value(objective, full)

        chains = slice_sample(
            log_density, inside[free], draws, directions=_root(hessian), bounds=box[free], chains=CHAINS,
            time_budget=self.time_budget, rng=np.random.default_rng(self.random_state),
        )  # fmt: skip
        found = np.tile(inside, (chains.draws.shape[0] * chains.draws.shape[1], 1))
        found[:, free] = chains.draws.reshape(-1, int(free.sum()))
        self._components = self._condition_on(objective, found, data)
        shift = self._shift(kernel)
        self.hyper_names_ = [*kernel.names, "noise"]
        self.hyper_samples_ = found + shift
        self._tell(chains, np.array(self.hyper_names_)[free], found)

    def _condition_on(self, objective, draws, data):
        """A posterior for each draw."""
        points, y, weight, _, _ = data.merged
        return [self._posterior_at(*objective.at(z), points, y, weight, data.trend) for z in draws]

    def _tell(self, chains, names, found):
        """Report on the chains, and warn of those that have not mixed."""
        self.fit_report_["hyper_samples"] = {
            "draws": len(found),
            "evaluations": chains.evaluations,
            "ess": dict(zip(map(str, names), map(float, chains.ess), strict=True)),
            "rhat": dict(zip(map(str, names), map(float, chains.rhat), strict=True)),
        }
        worst = int(np.nanargmax(chains.rhat)) if np.isfinite(chains.rhat).any() else 0
        if not chains.complete or not chains.rhat[worst] <= ENOUGH:
            what = "the time budget was spent" if not chains.complete else "the chains have not mixed"
            warn(
                f"sampling of hyper-parameters: {what} after {len(found)} draws (R̂ = {chains.rhat[worst]:.3f} and "
                f"{chains.ess[worst]:.0f} effective draws of {names[worst]}). Use more n_hyper_samples, or a prior.",
                ConvergenceWarning,
            )

    def _box(self, kernel, data):
        """Bounds of z."""
        return np.vstack([kernel.theta_bounds, np.log(data.noise_bounds)])

    def _searched(self, kernel):
        """Which of z = (log θ, log λ) are learnt."""
        return np.append(np.full(kernel.n_theta, self.optimize != "noise"), self.optimize != "kernel")

    def _shift(self, kernel):
        """What is added to z inside to have it in the units of y."""
        if self._unit == 1.0:
            return np.zeros(kernel.n_theta + 1)
        return 2.0 * np.log(self._unit) * np.append(amplitudes(kernel), True)


def _value(objective, z):
    """C and the prior at z; inf where it cannot be evaluated."""
    try:
        with np.errstate(all="ignore"):
            value = objective.exact(z, False)[0]
    except np.linalg.LinAlgError:
        return np.inf
    prior = 0.0 if objective.prior is None else objective.prior(objective.names, z)[0]
    return value + prior if np.isfinite(value) else np.inf


def _root(hessian):
    """Directions as long as the density is wide: eigenvectors over the root of the curvature, within a factor of e³."""
    unknown = np.isnan(np.diagonal(hessian))
    hessian = np.where(unknown | unknown[:, None], np.eye(len(hessian)), hessian)
    e, U = np.linalg.eigh(hessian)
    return U / np.sqrt(np.clip(e, np.exp(-3.0), np.exp(9.0)))
