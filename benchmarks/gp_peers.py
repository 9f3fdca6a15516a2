"""Gaussian-process regression by each library, with one face: fit, predict, one evaluation of evidence and gradient.

All libraries get the same standardised data, an ARD kernel σ_f² φ(‖(x − z)/ℓ‖) and noise σ², float64. Each is
imported when it is asked for.
"""

import contextlib
import time

import numpy as np

STEPS = 100  # of Adam for GPyTorch, which has no optimiser of its own
LIMIT = "potrf + potri"  # the two LAPACK calls that an evaluation cannot do without


class Library:
    """One Gaussian-process regression; ``mean`` is "constant" (or what comes closest by default) or None, zero."""

    def __init__(self, X, y, kernel, mean="constant"):
        self.X, self.y, self.kernel, self.mean = X, y, kernel, mean
        self.d = X.shape[1]


class Mercer(Library):
    criterion = "evidence"

    def _kernel(self, variance=1.0, length=1.0):
        from mercer import kernels

        shape = {"gaussian": kernels.Gaussian, "matern32": kernels.Matern32}[self.kernel]
        return variance * shape(np.full(self.d, length))

    def fit(self, cap=None):
        from mercer import GaussianProcessRegressor

        self.model = GaussianProcessRegressor(
            self._kernel(), criterion=self.criterion, trend=self.mean, time_budget=cap
        )
        self.model.fit(self.X, self.y)
        return {"evaluations": self.model.selection_.evaluations}

    def hyper(self):
        kernel = self.model.kernel_
        return kernel.scale, kernel.kernel.length_scale, self.model.noise_

    def predict(self, X):
        mean, std = self.model.predict(X, return_std=True, noisy=True)
        return mean, std**2

    def evaluation(self, variance, length, noise):
        from contextlib import ExitStack

        from mercer._threads import few_threads
        from mercer.gram import Rows
        from mercer.selection import Evidence
        from mercer.selection.search.objective import CriterionObjective, Record

        kernel = self._kernel(variance, length)
        objective = CriterionObjective(kernel, Rows(self.X, self.y[:, None]), Evidence(), Record())
        z, n = objective.start(kernel, noise), len(self.y)
        self.held = ExitStack()  # as during a search, which sets the threads of BLAS once and not in every evaluation
        self.held.enter_context(few_threads(n))

        def call():
            value, gradient = objective(z)
            return n * value, n * gradient[1:-1]

        return call


class MercerFolds(Mercer):
    """The same model, learnt by the density of each half of the rows given the other."""

    @property
    def criterion(self):
        from mercer.selection import FoldDensity

        return FoldDensity()


class ScikitLearn(Library):
    def _kernel(self, variance=1.0, length=1.0, noise=1.0):
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

        lengths = np.full(self.d, length)
        shape = RBF(lengths) if self.kernel == "gaussian" else Matern(lengths, nu=1.5)
        return ConstantKernel(variance) * shape + WhiteKernel(noise)

    def fit(self, cap=None):
        from sklearn.gaussian_process import GaussianProcessRegressor

        self.evaluations, self.stopped = 0, False
        optimizer = "fmin_l_bfgs_b" if cap is None else self._capped(cap)
        kernel, normalize = self._kernel(), self.mean is not None
        self.model = GaussianProcessRegressor(kernel, normalize_y=normalize, optimizer=optimizer).fit(self.X, self.y)
        return {} if cap is None else {"evaluations": self.evaluations, "stopped": self.stopped}

    def _capped(self, cap):
        """scikit-learn's own call of L-BFGS-B, ended at the best point seen after ``cap`` seconds."""
        from scipy.optimize import minimize

        class Spent(Exception):
            pass

        def optimizer(objective, initial_theta, bounds):
            start, best = time.perf_counter(), [np.inf, initial_theta]

            def counted(theta):
                value, gradient = objective(theta)
                self.evaluations += 1
                if value < best[0]:
                    best[:] = [value, theta.copy()]
                if time.perf_counter() - start > cap:
                    raise Spent
                return value, gradient

            try:
                found = minimize(counted, initial_theta, method="L-BFGS-B", jac=True, bounds=bounds)
                return found.x, found.fun
            except Spent:
                self.stopped = True
                return best[1], best[0]

        return optimizer

    def hyper(self):
        kernel = self.model.kernel_
        return kernel.k1.k1.constant_value, kernel.k1.k2.length_scale, kernel.k2.noise_level

    def predict(self, X):
        mean, std = self.model.predict(X, return_std=True)  # the WhiteKernel is in it: the noisy one
        return mean, std**2

    def evaluation(self, variance, length, noise):
        from sklearn.gaussian_process import GaussianProcessRegressor

        model = GaussianProcessRegressor(self._kernel(variance, length, noise))
        model.kernel_, model.X_train_, model.y_train_ = model.kernel, self.X, self.y  # as fit leaves them
        theta = model.kernel.theta

        def call():
            value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True, clone_kernel=False)
            return -value, -gradient[1:-1]

        return call


class Gpy(Library):
    def _model(self, variance=1.0, length=1.0, noise=1.0):
        import GPy

        shape = GPy.kern.RBF if self.kernel == "gaussian" else GPy.kern.Matern32
        kernel = shape(self.d, variance=variance, lengthscale=np.full(self.d, length), ARD=True)
        return GPy.models.GPRegression(self.X, self.y[:, None], kernel, noise_var=noise)

    def fit(self, cap=None):
        self.model = self._model()
        self.model.optimize()
        return {"evaluations": int(np.ravel(self.model.optimization_runs[-1].funct_eval)[0])}

    def hyper(self):
        kernel = self.model.kern
        return float(kernel.variance[0]), np.array(kernel.lengthscale), float(self.model.likelihood.variance[0])

    def predict(self, X):
        mean, variance = self.model.predict(X)  # with the noise
        return mean[:, 0], variance[:, 0]

    def evaluation(self, variance, length, noise):
        made = []

        def call():
            if made:
                made[0].parameters_changed()  # value and gradients
            else:
                made.append(self._model(variance, length, noise))
            model = made[0]
            return -float(model.log_likelihood()), -length * np.array(model.kern.lengthscale.gradient)

        return call


class GPyTorch(Library):
    def _model(self, variance=None, length=None, noise=None):
        import gpytorch
        import torch

        X, y = torch.tensor(self.X), torch.tensor(self.y)
        shape = gpytorch.kernels.RBFKernel if self.kernel == "gaussian" else gpytorch.kernels.MaternKernel
        options = {} if self.kernel == "gaussian" else {"nu": 1.5}

        class Model(gpytorch.models.ExactGP):
            def __init__(model):  # noqa: N805  (self is the library)
                super().__init__(X, y, gpytorch.likelihoods.GaussianLikelihood())
                model.mean = gpytorch.means.ZeroMean() if self.mean is None else gpytorch.means.ConstantMean()
                model.kernel = gpytorch.kernels.ScaleKernel(shape(ard_num_dims=self.d, **options))

            def forward(model, x):  # noqa: N805
                return gpytorch.distributions.MultivariateNormal(model.mean(x), model.kernel(x))

        model = Model().double()
        if variance is not None:
            model.kernel.outputscale, model.likelihood.noise = variance, noise
            model.kernel.base_kernel.lengthscale = torch.full((1, self.d), length, dtype=torch.float64)
        model.train()
        self.likelihood = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
        return model

    def _exact(self):
        """The Cholesky path, whatever n is."""
        import gpytorch

        stack = contextlib.ExitStack()
        stack.enter_context(gpytorch.settings.fast_computations(False, False, False))
        stack.enter_context(gpytorch.settings.max_cholesky_size(10**6))
        return stack

    def _loss(self, model):
        return -self.likelihood(model(*model.train_inputs), model.train_targets)

    def _optimize(self, model):
        import torch

        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for _ in range(STEPS):
            optimizer.zero_grad()
            self._loss(model).backward()
            optimizer.step()
        return STEPS

    def fit(self, cap=None):
        with self._exact():
            self.model = self._model()
            return {"evaluations": self._optimize(self.model)}

    def hyper(self):
        kernel = self.model.kernel
        lengths = kernel.base_kernel.lengthscale.detach().numpy()[0]
        return float(kernel.outputscale), lengths, float(self.model.likelihood.noise)

    def predict(self, X):
        import torch

        self.model.eval()
        with torch.no_grad(), self._exact():
            found = self.model.likelihood(self.model(torch.tensor(X)))
            return found.mean.numpy(), found.variance.numpy()

    def evaluation(self, variance, length, noise):
        import torch

        model, n = self._model(variance, length, noise), len(self.y)
        raw = model.kernel.base_kernel.raw_lengthscale

        def call():
            model.zero_grad()
            with self._exact():
                loss = n * self._loss(model)
                loss.backward()
            return float(loss.detach()), (length * raw.grad / torch.sigmoid(raw.detach())).numpy()[0]

        return call


class GPyTorchLBFGS(GPyTorch):
    def _optimize(self, model):
        import torch

        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=STEPS, line_search_fn="strong_wolfe")
        evaluations = [0]

        def closure():
            evaluations[0] += 1
            optimizer.zero_grad()
            loss = self._loss(model)
            loss.backward()
            return loss

        optimizer.step(closure)
        return evaluations[0]


class TinyGP(Library):
    """One evaluation only: it has neither an optimiser nor a fit."""

    def evaluation(self, variance, length, noise):
        import jax

        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp
        from tinygp import GaussianProcess, kernels, transforms

        X, y = jnp.asarray(self.X), jnp.asarray(self.y)
        shape = kernels.ExpSquared() if self.kernel == "gaussian" else kernels.Matern32(distance=kernels.L2Distance())

        def evidence(p):
            kernel = jnp.exp(p[0]) * transforms.Linear(jnp.exp(-p[1:-1]), shape)
            return -GaussianProcess(kernel, X, diag=jnp.exp(p[-1])).log_probability(y)

        at = jnp.log(jnp.asarray([variance, *[length] * self.d, noise]))
        compiled = jax.jit(jax.value_and_grad(evidence)).lower(at).compile()

        def call():
            value, gradient = compiled(at)
            return float(value), np.asarray(gradient)[1:-1]

        return call


class Lapack(Library):
    """A factorisation and an inverse of the same size, alone: what the machine allows."""

    def evaluation(self, variance, length, noise):
        from scipy.linalg.lapack import dpotrf, dpotri
        from scipy.spatial.distance import cdist

        K = np.asfortranarray(variance * np.exp(-0.5 * cdist(self.X, self.X, "sqeuclidean") / length**2))
        K[np.diag_indices(len(K))] += noise

        def call():
            factor, _ = dpotrf(K, lower=1, clean=0)
            dpotri(factor, lower=1, overwrite_c=1)
            return np.nan, np.full(self.d, np.nan)

        return call


LIBRARIES = {
    "mercer": Mercer,
    "mercer, FoldDensity": MercerFolds,
    "scikit-learn": ScikitLearn,
    "GPy": Gpy,
    "GPyTorch": GPyTorch,
    "GPyTorch L-BFGS": GPyTorchLBFGS,
    "tinygp": TinyGP,
    LIMIT: Lapack,
}
