"""One adapter for scikit-learn's Gaussian-process kernels, and what else may stand where a kernel is asked for.

scikit-learn's kernels are imported only by a user who has one.
"""

import inspect
import sys

import numpy as np

from mercer._parameters import show
from mercer.kernels.base import Kernel, result_dtype
from mercer.kernels.conversion import as_collection, as_vectors
from mercer.kernels.objects.collection import end_to_end
from mercer.kernels.objects.precomputed import Pairwise, same_inputs

PROVED = ("RBF", "Matern", "RationalQuadratic", "ConstantKernel", "DotProduct", "Sum", "Product")  # PSD in any space

STRINGS = {
    "linear": "Linear()",
    "poly": "Polynomial(degree, offset)",
    "polynomial": "Polynomial(degree, offset)",
    "rbf": "Gaussian(length_scale)",
    "gaussian": "Gaussian(length_scale)",
    "laplacian": "Laplacian(length_scale)",
    "cosine": "Linear().normalise()",
    "precomputed": "Precomputed()",
}


class SklearnKernel(Kernel):
    """k(x, z) of a kernel object of ``sklearn.gaussian_process.kernels``, with its hyper-parameters.

    scikit-learn gives derivatives as an n × n × p array only; here they are made for small tiles and contracted at
    once. Its ``WhiteKernel`` is refused, and so is a kernel of your own whose ``kernel(X)`` is not ``kernel(X, X)``:
    noise is not a kernel, it is ``lam`` (or ``noise``) of the model.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel

    Notes
    -----
    In ``repr``, ``gp`` stands for ``sklearn.gaussian_process.kernels``.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, DotProduct
    >>> from mercer.kernels import SklearnKernel
    >>> k = SklearnKernel(RBF(2.0) + DotProduct())
    >>> k.names
    ['kernel__k1__length_scale', 'kernel__k2__sigma_0']
    >>> k([[0.0], [2.0]]).round(3)
    array([[2.   , 1.607],
           [1.607, 6.   ]])
    """

    reads = None

    def __init__(self, kernel): ...

    def foreign_classes(self):
        """Return the classes of its parts that are not scikit-learn's own."""
        return [type(part) for part in sklearn_parts(self.kernel) if not is_sklearns_own(part)]

    def _checked_kernel(self):
        """The scikit-learn kernel, checked."""
        gp = _loaded_sklearn_kernels()
        if gp is None or not isinstance(self.kernel, gp.Kernel):
            raise TypeError(
                "SklearnKernel: kernel must be an object of sklearn.gaussian_process.kernels, "
                f"got {type(self.kernel).__name__}."
            )
        for part in sklearn_parts(self.kernel):
            if isinstance(part, gp.WhiteKernel):
                raise ValueError(
                    f"SklearnKernel: {self.kernel} contains a WhiteKernel, but noise is not a kernel: k(x, z) must not "
                    "depend on whether x and z are the same row. Leave it out and use lam / noise of the estimator."
                )
            if isinstance(part, gp.CompoundKernel):
                raise ValueError("SklearnKernel: a CompoundKernel has several outputs; wrap each of its kernels alone.")
        return self.kernel

    @property
    def domain(self):
        """What the kernel says it reads: "vectors" or "objects"."""
        return "vectors" if getattr(self.kernel, "requires_vector_input", True) else "objects"

    @property
    def stationary(self):
        """What the kernel says."""
        return bool(self.kernel.is_stationary())

    @property
    def psd(self):
        """Whether every part is proved PSD: ExpSineSquared, for one, is a kernel in one column only."""
        proved = tuple(getattr(_loaded_sklearn_kernels(), name) for name in PROVED)
        return all(is_sklearns_own(part) and isinstance(part, proved) for part in sklearn_parts(self.kernel))

    def validate(self, X):
        """X as a float array, or the objects."""
        kernel = self._checked_kernel()
        X = as_vectors(X, "SklearnKernel") if self.domain == "vectors" else as_collection(X, "SklearnKernel")
        if len(X) and not all(map(is_sklearns_own, sklearn_parts(kernel))):
            _refuse_noise(kernel, X[:3])
        return X

    def _tile(self, X, Z):
        kernel = self._checked_kernel()
        if not len(X) or not len(Z):  # which some of them refuse
            return np.zeros((len(X), len(Z)), dtype=result_dtype(X))
        return np.array(kernel(X, Z), dtype=result_dtype(X))

    def diag(self, X):
        """k(x, x)."""
        X = self.validate(X)
        return np.array(self._checked_kernel().diag(X) if len(X) else [], dtype=result_dtype(X))

    # ------------------------------------------------------------------ θ: scikit-learn's is log θ too
    @property
    def n_theta(self):
        """The number of free hyper-parameters p."""
        return int(self._checked_kernel().n_dims)

    @property
    def theta(self):
        """log of the free hyper-parameters."""
        return np.array(self._checked_kernel().theta, dtype=float).reshape(-1)

    @property
    def theta_bounds(self):
        """(p, 2) log bounds of the free hyper-parameters."""
        return np.array(self._checked_kernel().bounds, dtype=float).reshape(-1, 2)

    @property
    def names(self):
        """Names of the free hyper-parameters, as ``set_params`` takes them: ``kernel__k1__length_scale``."""
        out = []
        for h in self._checked_kernel().hyperparameters:
            if not h.fixed:
                name = f"kernel__{h.name}"
                out += [name] if h.n_elements == 1 else [f"{name}[{i}]" for i in range(h.n_elements)]
        return out

    def with_theta(self, theta):
        """Return a copy of the kernel with the free hyper-parameters at exp(θ)."""
        theta = np.asarray(theta, dtype=float)
        if theta.shape != (self.n_theta,):
            raise ValueError(f"theta must have length {self.n_theta} ({', '.join(self.names)}), got {theta.shape}.")
        return SklearnKernel(self._checked_kernel().clone_with_theta(theta))

    def fixed(self):
        """Return a copy whose hyper-parameters are all fixed: a search leaves them alone."""
        inner = self._checked_kernel().clone_with_theta(self.theta)
        return SklearnKernel(inner.set_params(**{f"{h.name}_bounds": "fixed" for h in inner.hyperparameters}))

    def grad(self, X, Z, W):
        """Σᵢⱼ Wᵢⱼ ∂k(xᵢ, zⱼ)/∂log θ, by small tiles of the derivative that scikit-learn gives for one collection."""
        p = self.n_theta
        total = np.zeros(p)
        if not p:
            return total
        side = max(1, int(np.sqrt(2**24 / (8 * p))) // 2)  # 16 MB for each tile, whose two collections are stacked
        for i in range(0, len(X), side):
            for j in range(0, len(Z), side):
                A, B = X[i : i + side], Z[j : j + side]
                if same_inputs(A, B):
                    _, block = self._checked_kernel()(A, eval_gradient=True)
                else:
                    _, D = self._checked_kernel()(end_to_end(A, B), eval_gradient=True)
                    block = D[: len(A), len(A) :]
                total += np.einsum("ij,ijp->p", W[i : i + side, j : j + side], block)
        return total

    # ------------------------------------------------------------------ equality and repr
    def __eq__(self, other):
        return self.kernel == other.kernel if type(other) is type(self) else NotImplemented

    def __hash__(self):
        return hash(repr(self))

    def __repr__(self):
        return f"SklearnKernel({_sklearn_repr(self.kernel)})"


def _loaded_sklearn_kernels():
    """Return sklearn.gaussian_process.kernels, or None if it was not imported: then there is no such kernel."""
    return sys.modules.get("sklearn.gaussian_process.kernels")


def is_sklearns_own(kernel):
    """Whether a kernel is one of scikit-learn's own, not one that a user derived from them."""
    return type(kernel).__module__ == "sklearn.gaussian_process.kernels"


def sklearn_parts(kernel):
    """Yield a scikit-learn kernel and every kernel inside it."""
    gp = _loaded_sklearn_kernels()
    yield kernel
    for value in kernel.get_params(deep=False).values() if hasattr(kernel, "get_params") else ():
        for part in value if isinstance(value, list) else [value]:
            if gp is not None and isinstance(part, gp.Kernel):
                yield from sklearn_parts(part)


def _sklearn_repr(kernel):
    """Return the source of a scikit-learn kernel with all digits; its own repr has three."""
    if not hasattr(kernel, "get_params"):
        return show(kernel)
    inside = []
    for name, value in kernel.get_params(deep=False).items():
        default = inspect.signature(type(kernel).__init__).parameters[name].default
        if isinstance(value, _loaded_sklearn_kernels().Kernel):
            inside.append(f"{name}={_sklearn_repr(value)}")
        elif not (type(value) is type(default) and np.array_equal(value, default)):
            inside.append(f"{name}={show(value)}")
    prefix = "gp." if is_sklearns_own(kernel) else ""
    return f"{prefix}{type(kernel).__name__}({', '.join(inside)})"


def _refuse_noise(kernel, X):
    """Refuse a user's kernel that adds something to the diagonal when it is given one collection."""
    again = X.copy() if isinstance(X, np.ndarray) else list(X)
    alone, pairs = (np.diagonal(np.asarray(K, dtype=float)) for K in (kernel(X), kernel(X, again)))
    off = np.abs(alone - pairs)
    if (off > 1e-10 * np.maximum(np.abs(alone), np.abs(pairs))).any():
        i = int(np.argmax(off))
        raise ValueError(
            f"SklearnKernel: {kernel} has noise of its own: k(x, x) of row {i} is {alone[i]:.6g} by kernel(X) and "
            f"{pairs[i]:.6g} by kernel(X, Z). Noise is not a kernel: leave it out of yours, and use lam / noise of the "
            "estimator; in mercer.compat add a WhiteKernel, or give alpha for each row."
        )


def adapt(obj):
    """Return a kernel of scikit-learn or a function of two inputs as a `Kernel`; refuse anything else."""
    if isinstance(obj, type) and issubclass(obj, Kernel):
        raise TypeError(f"kernel must be an object, not a class: write {obj.__name__}(...).")
    if isinstance(obj, str):
        known = STRINGS.get(obj.lower())
        use = f"use mercer.kernels.{known}" if known else "use a class of mercer.kernels, for example Gaussian()"
        raise TypeError(
            f"kernel={obj!r}: a kernel is an object here, not a name; {use}. scikit-learn's own signatures, with "
            "names, are in mercer.compat."
        )
    gp = _loaded_sklearn_kernels()
    if gp is not None and isinstance(obj, gp.Kernel):
        kernel = SklearnKernel(obj)
        kernel._checked_kernel()
        return kernel
    if callable(obj) and not isinstance(obj, type):
        return Pairwise(obj)
    raise TypeError(
        "kernel must be a Kernel of mercer.kernels, a kernel object of sklearn.gaussian_process.kernels, or a function "
        f"of two inputs; got {type(obj).__name__}."
    )
