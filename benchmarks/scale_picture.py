"""The picture of docs/too_much_data.md: error against time for exact fits, landmarks and scikit-learn's Nystroem.

python benchmarks/scale_picture.py [docs/images/too_much_data.png]
"""

import sys
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge

from mercer import KernelRidge, Landmarks
from mercer.kernels import Gaussian


def data(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 4))
    f = np.sin(4 * X[:, 0]) * np.cos(3 * X[:, 1]) + np.sin(5 * X[:, 2] * X[:, 3])
    return X, f, f + 0.2 * rng.standard_normal(n)


def measured(fit, X, f):
    started = time.perf_counter()
    model = fit()
    seconds = time.perf_counter() - started
    return seconds, float(np.sqrt(np.mean((model(X) - f) ** 2)))


def main(path, n=40_000, length=0.6, lam=0.05):
    X, _, y = data(n, 0)
    X1, f1, _ = data(5000, 1)
    kernel, found = Gaussian(length), {"exact, on a part of the rows": [], "Nystroem + Ridge": [], "landmarks": []}

    def nystroem(m):
        peer = Nystroem(kernel="rbf", gamma=0.5 / length**2, n_components=m, random_state=0)
        ridge = Ridge(alpha=lam).fit(peer.fit_transform(X), y)
        return lambda new: ridge.predict(peer.transform(new))

    for rows in (500, 1000, 2000, 4000, 8000):
        exact = KernelRidge(kernel, lam=lam, approximation=None)
        found["exact, on a part of the rows"].append(
            measured(lambda e=exact, r=rows: e.fit(X[:r], y[:r]).predict, X1, f1)
        )
    for m in (100, 200, 400, 800, 1600):
        model = KernelRidge(kernel, lam=lam, approximation=Landmarks(m))
        found["landmarks"].append(measured(lambda model=model: model.fit(X, y).predict, X1, f1))
        found["Nystroem + Ridge"].append(measured(lambda m=m: nystroem(m), X1, f1))
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, points), marker in zip(found.items(), "os^", strict=True):
        axes.loglog(*np.array(points).T, marker=marker, label=name)
        print(name, points)
    axes.set(xlabel="seconds of the fit", ylabel="error of f on new rows", title=f"{n} rows")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/images/too_much_data.png")
