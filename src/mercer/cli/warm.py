"""``mercer warm``: compile every loop into numba's cache, so that no fit waits for the compiler."""

import warnings


def run(settings):
    """Run small problems through every loop, and say where the cache is."""
    from mercer import _tiles
    from mercer._clock import Clock, duration

    clock = Clock()
    loops = _tiles.loops(float("inf"))
    if loops is None:
        print(f"numba does not load ({_tiles.FAILED[0]}): nothing to compile.")
        return 1
    with warnings.catch_warnings(), _tiles.part_of(float("inf")):  # here every loop is worth waiting for
        warnings.simplefilter("ignore")  # fits whose numbers nobody reads
        _numbers()
        _objects()
    where = loops.folder()
    if not settings.quiet:
        kept = f"kept in {where}" if where else "not kept: numba finds no folder for its cache; set NUMBA_CACHE_DIR"
        print(f"compiled in {duration(clock.seconds)}, {kept}")
    return 0 if where else 1


def _numbers():
    """Kernels of few and of many columns in both precisions, searches, working sets, landmarks."""
    import numpy as np

    import mercer
    from mercer.kernels import Gaussian, Laplacian, Matern52

    rng = np.random.default_rng(0)
    for d in (3, 40):  # differences, and products
        X = rng.uniform(-1.0, 1.0, (1200, d))
        y = X[:, 0] + 0.1 * rng.standard_normal(len(X))
        for kernel in (Gaussian(1.0), Gaussian(np.ones(d)), 1.0 * Laplacian(1.0)):
            for solver in ("cholesky", "mixed", "cg"):
                mercer.KernelRidge(kernel, 1.0, solver=solver).fit(X, y).predict(X[:5])
            mercer.GaussianProcessRegressor(1.0 * Matern52(1.0) + kernel, time_budget=3.0).fit(X[:400], y[:400])
            process = mercer.GaussianProcessRegressor(kernel, criterion=None).fit(X, y)
            process.log_marginal_likelihood(eval_gradient=True)
        single = X.astype(np.float32)
        for kernel in (Gaussian(1.0), Laplacian(1.0)):
            kernel(single), kernel.grad(single, single, np.ones((len(X), len(X)), np.float32))
    X, y = rng.uniform(-1.0, 1.0, (4500, 3)), rng.standard_normal(4500)
    for n in (400, 2500, 4500):  # K in float64, in float32, and computed when it is needed
        mercer.SVR(C=10.0, tol=1e-2, time_budget=5.0).fit(X[:n], y[:n])
    mercer.KernelMachine(loss="hinge", lam=1.0, time_budget=5.0).fit(X[:1200], y[:1200] > 0)
    mercer.KernelRidge(criterion="loo", approximation=mercer.Landmarks(64), time_budget=5.0).fit(X, y)
    mercer.GaussianProcessRegressor(approximation=mercer.Landmarks(64), time_budget=5.0).fit(X, y)
    mercer.GaussianProcessRegressor(approximation=mercer.Neighbours(), time_budget=5.0).fit(X, y).predict(X[:5])


def _objects():
    """Strings, walks and transport, with derivatives."""
    import numpy as np

    from mercer.kernels import LocalAlignment, RandomWalk, Subsequence, TransportKernel

    rng, W = np.random.default_rng(0), np.ones((12, 12))
    words = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(12)]
    graphs = [[(i, i + 1) for i in range(2 + k)] for k in range(12)]
    for kernel, objects in ((LocalAlignment(), words), (Subsequence(3), words), (RandomWalk(0.1), graphs)):
        objects = kernel.validate(objects)
        kernel(objects), kernel.grad(objects, objects, W)
    TransportKernel(rng.uniform(size=(9, 2)))([rng.uniform(size=(6 + k, 2)) for k in range(12)])
