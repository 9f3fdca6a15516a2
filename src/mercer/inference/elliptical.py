"""Elliptical slice sampling of the latent function: no step size, every draw is accepted."""

import numpy as np
from scipy.special import logsumexp

from mercer._clock import FOREVER
from mercer._threads import few_threads
from mercer.inference.diagnostics import ess, rhat
from mercer.inference.mode import LATE
from mercer.inference.quadrature import Measure, NodePosterior


def elliptical(K, likelihood, *, n_samples=1000, chains=4, random_state=0, max_iter=200, clock=FOREVER, least=30):
    """Draws of p(f | y) ∝ p(y | f) N(f | 0, K): on ellipses of the Gaussian that EP finds, by slices of the rest.

    Parameters
    ----------
    K : Gram
    likelihood : Binary
    n_samples : int, default=1000
        Draws of each chain that are kept; half as many come first and are forgotten.
    chains : int, default=4
    random_state : int, default=0
    max_iter : int, default=200
        Of expectation propagation.
    clock : Clock, default=FOREVER
        When to end with the draws there are; the first third of them is then forgotten.
    least : int, default=30
        Draws of a chain, the forgotten ones too, that are made in any case.

    Returns
    -------
    Draws
        ``info`` has "ess" (the least effective sample size), "rhat" (the largest R̂), and "evidence_error", the
        standard error of log Z, which is estimated by importance sampling from the same Gaussian.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.inference.elliptical import elliptical
    >>> from mercer.inference.likelihood import Binary
    >>> from mercer.inference.likelihood import Probit
    >>> found = elliptical(DenseGram.from_matrix(np.eye(2)), Binary(Probit(), np.array([1.0, -1.0])), n_samples=200)
    >>> found.info["rhat"] < 1.1
    True
    """
    rng = np.random.default_rng(random_state)
    measure = Measure(K, likelihood, max_iter, clock=clock.part(0.5))
    with few_threads(K.n):
        eps, turns = _run_chains(measure, n_samples, chains, rng, clock, least)
        log_z, error = _evidence(measure, eps.shape[0] * eps.shape[1], rng)
    shown = _quantities(measure, eps)
    info = {
        "chains": chains,
        "draws": eps.shape[1],
        "ess": float(np.min(ess(shown))),
        "rhat": float(np.max(rhat(shown))),
        "evidence_error": error,
        "evaluations": turns,
        "iterations": eps.shape[1] + eps.shape[1] // 2,
    }
    if eps.shape[1] < n_samples:
        info |= LATE
    info["converged"] = bool(info["rhat"] < 1.05 and info["ess"] > 100.0)
    flat = eps.reshape(-1, measure.rank)
    weight = np.full(len(flat), 1.0 / len(flat))
    found = Draws(likelihood, measure.vectors, measure.values, measure.whiten(flat), weight, log_z, info)
    found.sites = measure.sites
    return found


class Draws(NodePosterior):
    """Draws of the posterior, all of the same weight; made by `elliptical`."""

    sites = None  # the Gaussian of expectation propagation, until `release`

    def release(self):
        """Forget the sites, which prediction does not need."""
        self.sites = None

    def loo(self, index=None, share=1.0):
        """P(t = +1) from the cavities of EP: weights 1/p(yᵢ | fᵢ) of the draws would have no finite variance."""
        return self.sites.loo(index, share)


def _quantities(measure, eps):
    """f at fifty rows, and log p(y | f), of each draw: (chains, draws, quantities)."""
    rows = np.unique(np.linspace(0, len(measure.F) - 1, 50).astype(int))
    f = measure.mean + eps @ measure.G.T
    return np.concatenate([f[:, :, rows], measure.likelihood.value(f)[:, :, None]], axis=2)


def _run_chains(measure, draws, chains, rng, clock, least):
    """ε of the kept draws, (chains, draws, rank), and how often the likelihood was evaluated."""
    rank, G, warm = measure.rank, measure.G, draws // 2
    state = rng.standard_normal((chains, rank))
    f = state @ G.T
    height = measure.log_ratio(measure.mean + f)
    out, turns = np.empty((chains, draws, rank)), 0
    for i in range(-warm, draws):
        other = rng.standard_normal((chains, rank))
        g = other @ G.T
        level = height + np.log(rng.uniform(size=chains))
        angle = rng.uniform(0.0, 2.0 * np.pi, chains)
        low, high = angle - 2.0 * np.pi, angle.copy()
        open_ = np.ones(chains, dtype=bool)
        for _ in range(200):
            c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
            trial = c * f + s * g
            value = measure.log_ratio(measure.mean + trial)
            turns += int(open_.sum())
            good = open_ & (value >= level)
            if good.any():
                state[good] = (c * state + s * other)[good]
                f[good], height[good] = trial[good], value[good]
                open_ &= ~good
            if not open_.any():
                break
            low, high = np.where(open_ & (angle < 0), angle, low), np.where(open_ & (angle >= 0), angle, high)
            angle = np.where(open_, rng.uniform(low, high), angle)
        out[:, i % draws] = state  # those to be forgotten stand where the last ones will
        made = warm + i + 1
        if least <= made < warm + draws and clock.spent:
            return out[:, np.arange(made // 3 - warm, i + 1) % draws], turns
    return out, turns


def _evidence(measure, draws, rng):
    """log Z and its standard error, by importance sampling from the Gaussian measure."""
    ratio = measure.log_ratio(measure.mean + rng.standard_normal((draws, measure.rank)) @ measure.G.T)
    total = float(logsumexp(ratio)) - np.log(draws)
    return measure.log_mass + total, float(np.std(np.exp(ratio - total)) / np.sqrt(draws))
