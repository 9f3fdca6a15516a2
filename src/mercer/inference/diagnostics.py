"""Whether chains of a sampler can be believed: R̂ compares them with each other, the effective size counts draws.

Both split every chain in two halves, so that a slow drift shows even in a single chain.
"""

import numpy as np

NEGLIGIBLE = 1e-28  # variances below it are rounding: the largest |draw| is 1, or 0


def rhat(chains):
    """R̂ = √(((n − 1)/n W + B/n)/W): spread between the half chains against the spread within them; 1 is best.

    Parameters
    ----------
    chains : array-like of shape (c, n) or (c, n, p)
        n draws of each of c chains, of one quantity or of p.

    Returns
    -------
    float or ndarray of shape (p,)
        Above 1.01 the chains have not mixed. 1 for a constant, inf for chains that are stuck at different values.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.diagnostics import rhat
    >>> draws = np.random.default_rng(0).standard_normal((4, 500))
    >>> rhat(draws) < 1.01, rhat(draws + np.arange(4)[:, None]) > 1.5
    (True, True)
    """
    halves, flat = _halves(chains)
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    within, between = np.where(within > NEGLIGIBLE, within, 0.0), np.where(between > NEGLIGIBLE, between, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.sqrt((n - 1) / n + between / within)
    value = np.where(within > 0, value, np.where(between > 0, np.inf, 1.0))
    return float(value[0]) if flat else value


def ess(chains):
    """c n/(1 + 2 Σₖ ρₖ): how many independent draws say as much about the mean; ρₖ the autocorrelation at lag k.

    The sum ends where neighbouring pairs ρ₂ₖ + ρ₂ₖ₊₁ are no longer positive, and pairs are made to fall (Geyer's
    initial monotone sequence). Autocorrelations of all half chains are pooled, with the spread between them.

    Parameters
    ----------
    chains : array-like of shape (c, n) or (c, n, p)

    Returns
    -------
    float or ndarray of shape (p,)
        At most c n log₁₀(c n); c n for a constant.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inference.diagnostics import ess
    >>> white = np.random.default_rng(0).standard_normal((4, 500))
    >>> bool(1500 < ess(white) < 2500), bool(ess(np.cumsum(white, axis=1)) < 50)
    (True, True)
    """
    halves, flat = _halves(chains)
    value = np.array([_one(halves[:, :, j]) for j in range(halves.shape[2])])
    return float(value[0]) if flat else value


def _one(halves):
    """The effective size of one quantity, from half chains of shape (c, n)."""
    c, n = halves.shape
    total = c * n
    within = float(halves.var(axis=1, ddof=1).mean())
    between = float(halves.mean(axis=1).var(ddof=1))
    if within <= NEGLIGIBLE:
        return float(total) if between <= NEGLIGIBLE else 1.0
    pooled = (n - 1) / n * within + between
    covariance = _autocovariance(halves).mean(axis=0)
    rho = 1.0 - (within - covariance * n / (n - 1)) / pooled
    rho[0] = 1.0
    pairs = rho[: 2 * (n // 2)].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if negative.size else pairs)
    tau = max(2.0 * float(pairs.sum()) - 1.0, 1.0 / np.log10(max(total, 10)))
    return total / tau


def _autocovariance(halves):
    """(1/n) Σᵢ (xᵢ − x̄)(xᵢ₊ₖ − x̄) for every lag k, by the Fourier transform."""
    n = halves.shape[1]
    centred = halves - halves.mean(axis=1, keepdims=True)
    size = 1 << (2 * n - 1).bit_length()  # room for every lag, and fast
    power = np.abs(np.fft.rfft(centred, size, axis=1)) ** 2
    return np.fft.irfft(power, size, axis=1)[:, :n] / n


def _halves(chains):
    """(2c, n // 2, p) half chains in units of their spread, and whether there was one quantity only."""
    chains = np.asarray(chains, dtype=float)
    flat = chains.ndim == 2
    chains = chains[:, :, None] if flat else chains
    if chains.ndim != 3 or chains.shape[0] < 1 or chains.shape[1] < 4:
        raise ValueError(f"chains must have shape (c, n) or (c, n, p) with at least 4 draws, got {np.shape(chains)}.")
    if not np.isfinite(chains).all():
        raise ValueError("chains hold NaN or infinite draws.")
    centred = chains - chains.mean(axis=(0, 1))
    size = np.abs(centred).max(axis=(0, 1))
    constant = size <= 1e-14 * np.abs(chains).max(axis=(0, 1))
    centred = np.where(constant, 0.0, centred / np.where(constant | (size == 0), 1.0, size))
    n = chains.shape[1] // 2
    return np.concatenate([centred[:, :n], centred[:, -n:]]), flat
