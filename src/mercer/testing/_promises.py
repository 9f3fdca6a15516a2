"""Checks of a kernel: symmetry, positive semi-definiteness, tiles, gradient, copies, text, precision."""

import copy
import io
import sys

import joblib
import numpy as np
from sklearn.base import clone

from mercer.gram import take
from mercer.kernels import parse_kernel
from mercer.kernels.formula import error_of, steps_of
from mercer.kernels.parse import kernel_classes
from mercer.kernels.slopes import differences
from mercer.kernels.visit import SelfDescription, walk
from mercer.testing._require import close, require


def check_kernel(kernel, X=None, *, random_state=0):
    """Check that a kernel keeps its promises on some inputs.

    Symmetry; positive semi-definiteness; ``diag``; any tile equals the same part of the whole, empty ones included;
    ``k(X)`` is ``k(X, X)``; equal inputs are treated equally; inputs are left alone; the gradient agrees with
    differences in log θ, by tiles too; ``theta``, ``theta_bounds``, ``names``, ``with_theta`` and ``fixed`` fit
    together; copies are equal and give the same numbers; ``repr`` reads back as an equal kernel. On rows of floats
    also: translation (by 1e8 too) for stationary kernels, scale for radial ones, float32, the derivative with
    respect to x, and the formula for a page.

    A kernel that holds a function without a name (a lambda) is not asked for its ``repr``, and one that holds a
    function or has a class that another process could not import is not sent there.

    Parameters
    ----------
    kernel : Kernel
    X : collection, default=None
        Inputs; at most 30 are used, rows of floats in float64. None is 13 rows of three numbers.
    random_state : int, default=0
        Seed of the inputs and the weights.

    Raises
    ------
    AssertionError
        Naming the property, with numbers.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Pairwise
    >>> from mercer.testing import check_kernel
    >>> check_kernel(2.0 * Gaussian(0.5))
    >>> def minus_distance(x, z):
    ...     return -abs(x[0] - z[0])
    >>> check_kernel(Pairwise(minus_distance))
    Traceback (most recent call last):
        ...
    AssertionError: Pairwise(minus_distance): PSD: the smallest eigenvalue of K is ...
    """
    rng = np.random.default_rng(random_state)
    X = kernel.validate(rng.standard_normal((13, 3)) if X is None else X)
    if len(X) < 3:
        raise ValueError(f"check_kernel needs at least 3 inputs, got {len(X)}.")
    if len(X) > 30:  # every check is a handful of small matrices
        X = take(X, np.sort(rng.choice(len(X), 30, replace=False)))
    rows = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
    X = X.astype(np.float64) if rows else X
    for check in (*ALWAYS, *(ON_ROWS if rows else ())):
        try:
            check(kernel, X, np.random.default_rng(random_state))
        except Exception as error:
            error.add_note(f"in {check.__name__}{'' if check.__doc__ is None else f': {check.__doc__}'}")
            raise


# ---------------------------------------------------------------------- values
def _shape_and_symmetry(kernel, X, rng):
    """K is a finite array of the right shape, and k(x, z) = k(z, x)."""
    half = len(X) // 2
    there, back = kernel(X[:half], X[half:]), kernel(X[half:], X[:half]).T
    require(there.shape == back.shape == (half, len(X) - half), kernel, f"shape: got {there.shape}, {back.T.shape}")
    i, j = np.unravel_index(np.argmax(np.abs(there - back)), there.shape)
    what = f"k gives {there[i, j]} for inputs {i} and {half + j}, and {back[i, j]} for {half + j} and {i}"
    close(there, back, kernel, f"symmetry: {what}", 1e-10, _max_abs(there))
    K = kernel(X)
    require(K.shape == (len(X), len(X)), kernel, f"shape: got {K.shape} for {len(X)} inputs")
    require(np.isfinite(K).all(), kernel, f"finite: {np.count_nonzero(~np.isfinite(K))} entries of K are not")
    require(np.array_equal(K, K.T), kernel, "symmetry: k(X) differs from its transpose")


def _positive_semidefinite(kernel, X, rng):
    """uᵀKu >= 0 up to rounding."""
    K = kernel(X)
    smallest = np.linalg.eigvalsh(K.astype(float)).min()
    allowed = 10.0 * len(X) * np.finfo(K.dtype).eps * max(np.trace(K), np.finfo(float).tiny)
    what = f"the smallest eigenvalue of K is {smallest:.4g}, below -{allowed:.1g}, which rounding would explain"
    require(smallest >= -allowed, kernel, f"PSD: {what}")


def _diagonal(kernel, X, rng):
    """diag(X) is the diagonal of k(X)."""
    K, d = kernel(X), kernel.diag(X)
    require(np.shape(d) == (len(X),), kernel, f"diag: shape {np.shape(d)}, expected ({len(X)},)")
    close(d, np.diagonal(K), kernel, "diag: diag(X) differs from the diagonal of k(X)", 1e-12, _max_abs(K))


def _tiles(kernel, X, rng):
    """A tile is the same part of the whole, for empty collections and single inputs too."""
    K, n = kernel(X), len(X)
    ends = ((0, 0, 0, n), (0, n, 0, 0), (0, 1, 0, n), (1, n, 0, 1), (2, n, 0, n - 1), (0, n // 2, n // 2, n))
    for i0, i1, j0, j1 in ends:
        a, b = slice(i0, i1), slice(j0, j1)
        T, whole = kernel(X[a], X[b]), K[a, b]
        require(T.shape == whole.shape, kernel, f"tile: k(X[{i0}:{i1}], X[{j0}:{j1}]) has shape {T.shape}")
        close(T, whole, kernel, f"tile: k(X[{i0}:{i1}], X[{j0}:{j1}]) is not that part of k(X)", 1e-10, _max_abs(K))
    require(np.shape(kernel.diag(X[:0])) == (0,), kernel, "tile: diag of an empty collection is not empty")


def _same_on_both_sides(kernel, X, rng):
    """k(X) is k(X, X), also when the second X is another object; equal inputs are treated equally."""
    K = kernel(X)
    again = kernel(X, take(X, np.arange(len(X))))
    close(again, K, kernel, "k(X) is k(X, X): k(X) differs from k(X, copy of X)", 1e-10, _max_abs(K))
    twice = kernel(take(X, [0, 0, 1]))
    what = f"two equal inputs have {twice[0, 2]} and {twice[1, 2]} with a third"
    close(twice[0], twice[1], kernel, f"equal inputs: {what}", 1e-10, _max_abs(K))


def _leaves_inputs_alone(kernel, X, rng):
    """No method writes into its inputs."""
    W = rng.standard_normal((len(X), len(X)))
    before = _fingerprint(X, W)
    kernel(X)
    kernel.diag(X)
    kernel.grad(X, X, W)
    require(_fingerprint(X, W) == before, kernel, "inputs: X or W was changed")


# ---------------------------------------------------------------------- hyper-parameters
def _theta(kernel, X, rng):
    """theta, theta_bounds, names, with_theta and fixed fit together."""
    p, theta, bounds = kernel.n_theta, kernel.theta, kernel.theta_bounds
    require(theta.shape == (p,), kernel, f"theta: shape {theta.shape} for n_theta = {p}")
    require(bounds.shape == (p, 2), kernel, f"theta_bounds: shape {bounds.shape} for n_theta = {p}")
    require((bounds[:, 0] < bounds[:, 1]).all(), kernel, f"theta_bounds: not ordered: {bounds.tolist()}")
    require(len(kernel.names) == len(set(kernel.names)) == p, kernel, f"names: {kernel.names} for n_theta = {p}")
    moved = theta + 0.1
    there = kernel.with_theta(moved)
    require(np.allclose(there.theta, moved, 0, 1e-12), kernel, f"with_theta: {there.theta} instead of {moved}")
    require(np.array_equal(kernel.theta, theta), kernel, "with_theta: changed the kernel itself")
    back, K = there.with_theta(theta), kernel(X)
    close(back(X), K, kernel, "with_theta: going there and back changed the values", 1e-10, _max_abs(K))
    still = kernel.fixed()
    require(still.n_theta == 0, kernel, f"fixed: {still.n_theta} hyper-parameters are still free")
    close(still(X), K, kernel, "fixed: fixing changed the values", 1e-12, _max_abs(K))


def _gradient(kernel, X, rng):
    """grad(X, Z, W) = Σᵢⱼ Wᵢⱼ ∂k(xᵢ, zⱼ)/∂log θ, against differences of fourth order."""
    half = len(X) // 2
    for name, A, B in (("X, X", X, X), ("X, Z", X[:half], X[half - 1 :])):
        W = rng.standard_normal((len(A), len(B)))
        got = kernel.grad(A, B, W)
        require(np.shape(got) == (kernel.n_theta,), kernel, f"gradient: shape {np.shape(got)}")
        for i in range(kernel.n_theta):
            D = _difference(kernel, i, A, B)
            expected, size = np.sum(W * D), np.sum(np.abs(W * D)) + 1e-4 * np.sum(np.abs(W * kernel(A, B)))
            what = f"∂/∂log {kernel.names[i]} for ({name}) is {got[i]}, differences give {expected}"
            require(abs(got[i] - expected) <= 1e-6 * size, kernel, f"gradient: {what}")
        total, again = kernel.weighted(A, B, W)
        terms = W * kernel(A, B)
        what = f"the sum of W ∘ k for ({name}) is {total} by weighted, {terms.sum()} by the values"
        require(abs(total - terms.sum()) <= 1e-9 * np.abs(terms).sum(), kernel, f"weighted: {what}")
        close(again, got, kernel, f"weighted: its gradient for ({name}) is not that of grad", 1e-9, _max_abs(got))


def _gradient_of_tiles(kernel, X, rng):
    """A tile of prepare(A, B) is that of k(A, B), and so are its contractions with W[i, j]; also those it keeps."""
    A, B = X[: len(X) // 2], X[len(X) // 2 - 1 :]
    pairs, m, n = kernel.prepare(A, B), len(A), len(B)
    W = rng.standard_normal((m, n))
    for a, b in ((slice(0, m), slice(0, n)), (slice(1, m), slice(0, n - 1)), (slice(0, m // 2), slice(n // 2, n))):
        part, where = W[a, b], f"for rows {a.start}:{a.stop}, columns {b.start}:{b.stop}"
        total, gradient = kernel.weighted(A[a], B[b], part)
        size = _max_abs(gradient) + np.abs(part).sum() * _max_abs(kernel(A, B))
        K = kernel(A[a], B[b])
        close(pairs.tile(a, b), K, kernel, f"prepare: its tile is not k {where}", 1e-10, _max_abs(K))
        close(pairs.grad(a, b, part), gradient, kernel, f"prepare: its grad is not grad {where}", 1e-10, size)
        found, what = pairs.weighted(a, b, part), f"its weighted is not weighted {where}"
        close(np.append(found[1], found[0]), np.append(gradient, total), kernel, f"prepare: {what}", 1e-10, size)
    kept, every, K = kernel.prepare(X, X, keep=True), slice(None), kernel(X)
    W = rng.standard_normal((len(X), len(X)))
    kept.tile(every, every)[...] = np.nan  # the caller's own, to be destroyed
    gradient = kernel.grad(X, X, W)
    size = _max_abs(gradient) + np.abs(W).sum() * _max_abs(K)
    close(kept.tile(every, every), K, kernel, "prepare: a second tile is not the first", 1e-10, _max_abs(K))
    for _ in range(2):
        what = "with keep, its grad is not grad"
        close(kept.grad(every, every, W), gradient, kernel, f"prepare: {what}", 1e-10, size)


def _difference(kernel, i, A, B, step=1e-4):
    """∂k(A, B)/∂log θᵢ by a five-point difference."""
    total = 0.0
    for k, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
        theta = kernel.theta
        theta[i] += k * step
        total = total + weight * np.asarray(kernel.with_theta(theta)(A, B), dtype=float)
    return total / (12.0 * step)


# ---------------------------------------------------------------------- copies and text
def _copies(kernel, X, rng):
    """clone, deepcopy and a trip to another process give an equal kernel and the same numbers."""
    copies = {"clone": clone(kernel), "deepcopy": copy.deepcopy(kernel)}
    if all(_importable(thing) for thing in [*_functions(kernel), *(type(node) for node, _, _ in walk(kernel))]):
        buffer = io.BytesIO()
        joblib.dump(kernel, buffer)
        buffer.seek(0)
        copies["pickle"] = joblib.load(buffer)
    # A callable object (functools.partial, for one) is copied with the kernel, and need not be equal to its copy.
    comparable = all(copy.deepcopy(function) is function for function in _functions(kernel))
    for name, other in copies.items():
        equal = not comparable or (other == kernel and hash(other) == hash(kernel))
        require(equal, kernel, f"{name}: the copy {other!r} is not equal")
        require(np.array_equal(other(X), kernel(X)), kernel, f"{name}: the copy gives other numbers")


def _text(kernel, X, rng):
    """repr reads back as an equal kernel."""
    names = {getattr(function, "__name__", ""): function for function in _functions(kernel)}
    if not all(name.isidentifier() for name in names):
        return
    shipped = kernel_classes()
    for node, _, _ in walk(kernel):
        own = [type(node)] if type(node).__name__ not in shipped else []
        names |= {cls.__name__: cls for cls in own + node.foreign_classes()}
    again = parse_kernel(repr(kernel), names)
    require(again == kernel, kernel, f"repr: reads back as {again!r}, which is not equal")
    require(np.array_equal(again(X), kernel(X)), kernel, "repr: what it reads back as gives other numbers")


# ---------------------------------------------------------------------- on rows of floats
def _translation(kernel, X, rng):
    """A stationary kernel is unchanged by a shift: by a little, and by 1e8 to nine digits."""
    if not kernel.stationary:
        return
    X = np.round(X * 2**20) / 2**20  # so that X + c is exact, and so are all differences
    K = kernel(X)
    for c in (0.5, -1e8, 1e8):  # epoch seconds are everyday data
        close(kernel(X + c), K, kernel, f"translation: k(X + {c:g}) differs from k(X)", 1e-9, _max_abs(K))


def _scale(kernel, X, rng):
    """A kernel with c times its lengths has the same values at c X."""
    if not kernel.lengths:
        return
    wider = clone(kernel).set_params(**{name: 4.0 * np.asarray(getattr(kernel, name)) for name in kernel.lengths})
    K = kernel(X)
    close(wider(4.0 * X), K, kernel, "scale: k with 4 ℓ at 4 X differs from k at X", 1e-12, _max_abs(K))


def _float32(kernel, X, rng):
    """float32 in, float32 out, close to float64."""
    X = X.astype(np.float32)
    single, double = kernel(X), kernel(X.astype(np.float64))
    require(single.dtype == np.float32, kernel, f"float32: k(X) is {single.dtype} for float32 X")
    close(single, double, kernel, "float32: far from float64", 1e-4, _max_abs(double))


def _input_gradient(kernel, X, rng):
    """dx(X, Z) = ∂k(xᵢ, zⱼ)/∂xᵢ, and dx_diag its diagonal, against differences; a kink at x = z is left out."""
    half = len(X) // 2
    A, B = X[:half], X[half:]
    got = kernel.dx(A, B)
    require(got.shape == (*kernel(A, B).shape, X.shape[1]), kernel, f"dx: shape {got.shape}")
    size = _max_abs(kernel(A, B))
    expected = differences(lambda rows: np.asarray(kernel(rows, B), dtype=float), A)
    close(got, expected, kernel, "dx: ∂k/∂x differs from differences", 1e-6, size + _max_abs(expected))
    expected = differences(lambda rows: np.asarray(kernel.diag(rows), dtype=float)[:, None], X)[:, 0]
    size = _max_abs(kernel(X)) + _max_abs(expected)
    close(kernel.dx_diag(X), expected, kernel, "dx_diag: ∂k(x, x)/∂x differs from differences", 1e-6, size)


def _formula(kernel, X, rng):
    """A formula that the class writes for a page can be written down as steps, which give the values of the kernel."""
    steps, own = steps_of(kernel, X.shape[1]), "formula" in vars(type(kernel))
    if steps is None:  # a composition has none where one of its parts has none
        require(not own or kernel.parts, kernel, "formula: a page evaluates arithmetic and functions of NumPy only")
    elif type(kernel).formula is not SelfDescription.formula:
        off = error_of(steps, kernel, X[:5])
        require(not off > 1e-8, kernel, f"formula: its values differ from k; off by {off:.3g} of the largest")


ALWAYS = (
    _shape_and_symmetry, _positive_semidefinite, _diagonal, _tiles, _same_on_both_sides, _leaves_inputs_alone,
    _theta, _gradient, _gradient_of_tiles, _copies, _text,
)  # fmt: skip
ON_ROWS = (_translation, _scale, _float32, _input_gradient, _formula)


# ---------------------------------------------------------------------- helpers
def _max_abs(K):
    """The largest |Kᵢⱼ|."""
    return float(np.abs(K).max(initial=0.0))


def _fingerprint(X, W):
    """Something that changes when the contents of X or W do."""
    try:
        return joblib.hash((X, W))
    except Exception:  # whatever objects raise that cannot be pickled
        return repr(X), joblib.hash(W)


def _functions(kernel):
    """The functions that a kernel and its parts hold as parameters."""
    values = [value for node, _, _ in walk(kernel) for value in node.get_params(deep=False).values()]
    return [value for value in values if callable(value) and not hasattr(value, "get_params")]


def _importable(thing):
    """Whether a function or class can be found by its name in its module, as another process would look for it."""
    if isinstance(thing, np.ufunc):
        return True
    found = sys.modules.get(getattr(thing, "__module__", None))
    for name in getattr(thing, "__qualname__", "?").split("."):
        found = getattr(found, name, None)
    return found is thing
