"""Checks of a Gram, a solver and a criterion: each against dense NumPy on a small problem."""

import numpy as np
from sklearn.base import clone

from mercer.gram import DenseGram
from mercer.solvers import Explicit, Projected
from mercer.testing._require import close, require


def check_gram(K):
    """Check that a Gram is the matrix it says it is: products, rows, diagonal, fresh copies, contraction.

    Parameters
    ----------
    K : Gram
        With at most a few hundred rows.

    Raises
    ------
    AssertionError
        Naming the property, with numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import TiledGram
    >>> from mercer.kernels import Gaussian
    >>> from mercer.testing import check_gram
    >>> check_gram(TiledGram(Gaussian(), np.arange(6.0).reshape(-1, 1)))
    """
    rng = np.random.default_rng(0)
    A, V = K.dense(), rng.standard_normal((K.n, 3))
    close(A, A.T, K, "symmetry: K differs from its transpose", 0.0)
    close(K @ V, A @ V, K, "product: K @ V differs from dense() @ V")
    close(K @ V[:, 0], (A @ V)[:, 0], K, "product: K @ v differs from the first column of K @ V")
    close(K.diag(), np.diagonal(A), K, "diag: differs from the diagonal of dense()")
    some = np.arange(0, K.n, 2)
    close(K.rows(some), A[some], K, "rows: differ from those of dense()")
    close(np.tril(K.dense(lower=True)), np.tril(A), K, "dense: lower=True differs in the lower triangle")
    close(K.dense(np.float32), A, K, "dense: float32 is far from float64", 1e-4)
    K.dense()[...] = np.nan
    close(K.dense(), A, K, "dense: the array is not the caller's own")
    W = V @ V.T
    close(K.grad(2.0 * W), 2.0 * K.grad(W), K, "grad: not linear in W")


def check_solver(solver, K=None, lam=0.1, tol=1e-8):
    """Check that a solver inverts: K̃ K̃⁻¹ = I, and quad, diag, logdet and dense agree with NumPy where they are given.

    Parameters
    ----------
    solver : Solver
    K : Gram, default=None
        None is a random matrix of order 40.
    lam : float, default=0.1
    tol : float, default=1e-8
        Relative error that is allowed.

    Raises
    ------
    AssertionError
        Naming the property, with numbers.

    Examples
    --------
    >>> from mercer.solvers import Cholesky
    >>> from mercer.testing import check_solver
    >>> check_solver(Cholesky())
    """
    rng = np.random.default_rng(0)
    if K is None:
        B = rng.standard_normal((40, 60))
        K = DenseGram.from_matrix(B @ B.T / 60)
    require(type(clone(solver)) is type(solver), solver, "clone: a copy has another class")
    A, V = K.dense() + lam * np.eye(K.n), rng.standard_normal((K.n, 3))
    Kinv, true = solver.resolvent(K)(lam), np.linalg.inv(A)
    require(Kinv.n == K.n and Kinv.lam == lam and isinstance(Kinv.info, dict), solver, "n, lam or info is wrong")
    close(A @ (Kinv @ V), V, solver, "solve: K̃ K̃⁻¹ V differs from V", tol)
    close(Kinv.quad(V), V.T @ true @ V, solver, "quad: differs from VᵀK̃⁻¹V", tol)
    for name, expected in (("diag", np.diagonal(true)), ("logdet", np.linalg.slogdet(A)[1]), ("dense", true)):
        try:
            found = getattr(Kinv, name)()
        except ValueError as refusal:  # an iterative solver may refuse, with a sentence
            require(len(str(refusal)) > 20, solver, f"{name}: is refused without a reason")
            continue
        close(found, expected, solver, f"{name}: differs from NumPy", tol)


def check_criterion(criterion, n=12, random_state=0):
    """Check that a criterion is finite, and that its adjoint W = ∂C/∂K̃ agrees with differences, with a trend too.

    Parameters
    ----------
    criterion : Criterion
    n : int, default=12
        Order of the random problem.
    random_state : int, default=0

    Raises
    ------
    AssertionError
        Naming the property, with numbers.

    Examples
    --------
    >>> from mercer.selection import LOO
    >>> from mercer.testing import check_criterion
    >>> check_criterion(LOO())
    """
    rng = np.random.default_rng(random_state)
    B, step = rng.standard_normal((n, 2 * n)), 1e-5
    lam = 3.0  # so large that the modified GCV, which refuses more than n/1.4 degrees of freedom, is finite
    A, y = B @ B.T / n + lam * np.eye(n), rng.standard_normal((n, 2))
    for H in (np.zeros((n, 0)), np.ones((n, 1))):

        def inverse(A, H=H):
            Kinv = Explicit(np.linalg.inv(A), lam, np.linalg.slogdet(A)[1])
            return Projected(Kinv, H) if H.shape[1] else Kinv

        value = criterion.value(inverse(A), y)
        require(np.isfinite(value), criterion, f"value: is {value}")
        if not criterion.smooth:
            continue
        W = criterion.adjoint(inverse(A), y)
        close(W, W.T, criterion, "adjoint: is not symmetric", 1e-10)
        for _ in range(5):
            D = rng.standard_normal((n, n))
            D = D + D.T
            up, down = (criterion.value(inverse(A + s * step * D), y) for s in (1, -1))
            close(np.sum(W * D), (up - down) / (2 * step), criterion, "adjoint: differs from differences", 1e-5)
