"""A witness: a few points whose Gram matrix has a negative eigenvalue, so that one sees why k is not a kernel."""

import numpy as np

from mercer.solvers.engine.lapack import threads_for


def negative_witness(K, hint=None):
    """(I, K[I, I], e) with e < 0 the smallest eigenvalue of K[I, I], and I as small as was found; or None.

    A pair with kᵢⱼ² > kᵢᵢ kⱼⱼ is looked for first. Else the eigenvector of the smallest eigenvalue (of a subsample of
    500 rows) says which points matter: the heaviest are taken until their matrix has a negative eigenvalue, then points
    are left out again while it stays negative.

    Parameters
    ----------
    K : Gram
        Only its diagonal and a few hundred rows are read.
    hint : ndarray of shape (n,), default=None
        A vector u with uᵀKu < 0: its heaviest points join the subsample.

    Returns
    -------
    tuple of (indices, matrix, eigenvalue), or None
        None if no eigenvalue of the subsample is below the level of rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import DenseGram
    >>> from mercer.solvers.witness import negative_witness
    >>> K = DenseGram.from_matrix(np.array([[1.0, 0.1, 0.0], [0.1, 1.0, 2.0], [0.0, 2.0, 1.0]]))
    >>> indices, matrix, eigenvalue = negative_witness(K)
    >>> indices, round(eigenvalue, 3)
    (array([1, 2]), -1.0)
    """
    diagonal = K.diag()
    if K.n and diagonal.min() < 0:
        i = int(np.argmin(diagonal))
        return np.array([i]), np.array([[diagonal[i]]]), float(diagonal[i])
    index = _subsample(K.n, hint)
    S = K.rows(index)[:, index]
    S = (S + S.T) / 2
    if not S.size or not np.isfinite(S).all():
        return None
    size = np.abs(S).max()
    rounding = 10 * np.finfo(float).eps * size * len(S)
    chosen = _pair(S, rounding)
    if chosen is None:
        with threads_for(len(S)):
            e, U = np.linalg.eigh(S)
            if e[0] >= -rounding:
                return None
            chosen = _few(S, U[:, 0], -max(rounding, min(1e-8 * size, -e[0] / 2)))
    order = np.argsort(index[chosen])
    matrix = S[np.ix_(chosen, chosen)][np.ix_(order, order)]
    return index[chosen][order], matrix, _smallest(matrix)


def _subsample(n, hint, size=500):
    """At most 500 indices: half of them the heaviest of the hint, the rest at random."""
    if n <= size:
        return np.arange(n)
    heavy = np.argsort(-np.abs(hint))[: size // 2] if hint is not None else np.zeros(0, dtype=int)
    rest = np.random.default_rng(0).permutation(np.setdiff1d(np.arange(n), heavy))
    return np.concatenate([heavy, rest[: size - len(heavy)]])


def _pair(S, rounding):
    """The pair that breaks kᵢⱼ² <= kᵢᵢ kⱼⱼ most, or None."""
    if len(S) < 2:
        return None
    d = np.diagonal(S)
    excess = np.abs(S) - np.sqrt(np.outer(d, d))
    np.fill_diagonal(excess, -np.inf)
    pair = np.array(np.unravel_index(np.argmax(excess), S.shape))
    return pair if _smallest(S[np.ix_(pair, pair)]) < -rounding else None


def _few(S, u, level):
    """A small set of points whose matrix has an eigenvalue below ``level`` < 0, from the eigenvector u."""
    order = np.argsort(-np.abs(u))
    size = 3
    while size < len(S) and _smallest(S[np.ix_(order[:size], order[:size])]) >= level:
        size = size + 1 + size // 2
    chosen, piece, trials = order[:size], size // 2, 0
    while piece >= 1 and trials < 300:
        start = len(chosen)
        for stop in range(len(chosen), 0, -piece):  # the lightest first
            kept = np.delete(chosen, np.arange(max(0, stop - piece), stop))
            trials += 1
            if len(kept) > 1 and _smallest(S[np.ix_(kept, kept)]) < level:
                chosen = kept
        if len(chosen) == start or piece > 1:
            piece //= 2
    return chosen


def _smallest(S):
    """The smallest eigenvalue."""
    return float(np.linalg.eigvalsh(S)[0])
