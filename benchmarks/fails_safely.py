"""How often is a near-singular Gaussian process answered wrongly without a warning? Zero is the bar.

``python fails_safely.py`` poses the same problems to each library, the hyper-parameters fixed (or, for some, learnt),
and judges mean, standard deviation and evidence by the same formulas in 100 digits (mpmath), in exactly the float64
numbers that the library was given. A library that dies is started again behind the problem that killed it.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
from tables import Table, finish

N, DIGITS = 12, 100
LIBRARIES = ["mercer", "scikit-learn", "GPy"]


# ---------------------------------------------------------------------- problems
def problems():
    """Every problem: family, kernel, ℓ, noise, X, y, X_test, mean ("zero" or "constant"), learn."""
    out = []

    def add(family, kernel, length, noise, change=lambda X, y: (X, y), mean="zero", d=2, learn=False):
        rng = np.random.default_rng(len(out))
        X = rng.uniform(-2, 2, (N, d))
        y = np.sin(X.sum(axis=1)) + 0.1 * rng.standard_normal(N)
        X_test = rng.uniform(-2, 2, (4, d))
        X, y, *shift = change(X, y)
        X_test = np.vstack([X_test + (shift[0] if shift else 0.0), X[:1]])
        out.append(dict(family=family, kernel=kernel, length=length, noise=noise, X=X, y=y, X_test=X_test, mean=mean,
                        learn=learn))  # fmt: skip

    for kernel in ("gaussian", "matern32"):
        for noise in (1e-2, 1e-6, 1e-10, 1e-14):
            add("rows twice, equal y", kernel, 1.0, noise, lambda X, y: twice(X, y, 0.0, 0.0))
            add("rows twice at 1e-12, equal y", kernel, 1.0, noise, lambda X, y: twice(X, y, 1e-12, 0.0))
            add("rows twice at 1e-12, other y", kernel, 1.0, noise, lambda X, y: twice(X, y, 1e-12, 0.1))
            for length in (1e2, 1e4, 1e6, 1e8):
                add("huge length scale", kernel, length, noise)
            add("inputs + 1e8", kernel, 1.0, noise, lambda X, y: (X + 1e8, y, 1e8))
            add("y + 1e8", kernel, 1.0, noise, lambda X, y: (X, y + 1e8), mean="constant")
            add("y × 1e150", kernel, 1.0, noise, lambda X, y: (X, y * 1e150))
            add("y × 1e-150", kernel, 1.0, noise, lambda X, y: (X, y * 1e-150))
        for length in (0.3, 3.0, 10.0, 30.0):
            for d in (1, 3):
                add("noise 1e-14", kernel, length, 1e-14, d=d)
        for change in LEARNT.values():
            add("hyper-parameters learnt", kernel, 1.0, 0.01, change, mean="constant", learn=True)
    return out


def twice(X, y, apart, other):
    """Half of the rows, each followed by a copy ``apart`` from it, whose y is ``other`` more."""
    half = N // 2
    return np.vstack([X[:half], X[:half] + apart]), np.concatenate([y[:half], y[:half] + other])


LEARNT = {
    "rows twice": lambda X, y: twice(X, y, 1e-12, 0.0),
    "inputs": lambda X, y: (X + 1e8, y, 1e8),
    "y + 1e8": lambda X, y: (X, y + 1e8),
    "y × 1e150": lambda X, y: (X, y * 1e150),
    "y × 1e-150": lambda X, y: (X, y * 1e-150),
}


# ---------------------------------------------------------------------- the answer in 100 digits
def reference(p, answer):
    """(mean, noisy std, log evidence, prior's noisy std) of the model that the answer describes, in mpmath numbers."""
    import mpmath as mp

    mp.mp.dps = DIGITS
    X, X_test, y = exact(mp, p["X"]), exact(mp, p["X_test"]), [mp.mpf(float(v)) for v in p["y"]]
    n, centre, unit = len(y), mp.mpf(0), mp.mpf(1)
    if answer["y model"] == "standardised":  # y is centred and divided by its deviation, as scikit-learn and GPy do
        centre = mp.fsum(y) / n
        unit = mp.sqrt(mp.fsum((v - centre) ** 2 for v in y) / n)
    y = mp.matrix([(v - centre) / unit for v in y])
    variance, noise = mp.mpf(answer["variance"]), mp.mpf(answer["noise"])
    lengths = [mp.mpf(v) for v in answer["lengths"]]

    def k(a, b):
        s = mp.fsum(((u - v) / w) ** 2 for u, v, w in zip(a, b, lengths, strict=True))
        if p["kernel"] == "gaussian":
            return variance * mp.exp(-s / 2)
        r = mp.sqrt(3 * s)
        return variance * (1 + r) * mp.exp(-r)

    K = mp.matrix(n, n)
    for i in range(n):
        for j in range(n):
            K[i, j] = k(X[i], X[j]) + (noise if i == j else 0)
    inverse = K**-1
    ones = mp.matrix([mp.mpf(1)] * n)
    trend = answer["y model"] == "trend"  # an unpenalised constant
    precision = (ones.T * inverse * ones)[0]
    b = (ones.T * inverse * y)[0] / precision if trend else mp.mpf(0)
    alpha = inverse * (y - b * ones)
    means, stds = [], []
    for x in X_test:
        v = mp.matrix([k(x, z) for z in X])
        rest = variance - (v.T * inverse * v)[0]
        if trend:
            rest += (1 - (ones.T * inverse * v)[0]) ** 2 / precision
        means.append(centre + unit * (b + (v.T * alpha)[0]))
        stds.append(unit * mp.sqrt(rest + noise))
    evidence = (y.T * alpha)[0] + mp.log(mp.det(K)) + (n - trend) * mp.log(2 * mp.pi)
    evidence = -(evidence + (mp.log(precision / n) if trend else 0)) / 2  # with a trend the restricted one
    return means, stds, evidence, unit * mp.sqrt(variance + noise)


def exact(mp, X):
    return [[mp.mpf(float(v)) for v in row] for row in X]


# ---------------------------------------------------------------------- the libraries
def mercer(p):
    from mercer import GaussianProcessRegressor
    from mercer.kernels import Gaussian, Matern32

    kernel = 1.0 * {"gaussian": Gaussian, "matern32": Matern32}[p["kernel"]](np.full(p["X"].shape[1], p["length"]))
    trend = "constant" if p["mean"] == "constant" else None
    if p["learn"]:
        model = GaussianProcessRegressor(kernel, trend=trend)
    else:
        model = GaussianProcessRegressor(kernel, p["noise"], criterion=None, trend=trend)
    model.fit(p["X"], p["y"])
    mean, std = model.predict(p["X_test"], return_std=True, noisy=True)
    _, cov = model.predict(p["X_test"], return_cov=True)
    value = model.log_marginal_likelihood_value_
    found = model.kernel_
    return answered(mean, std, cov, value, found.scale, found.kernel.length_scale, model.noise_,
                    "trend" if trend else "zero")  # fmt: skip


def scikit_learn(p):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

    lengths = np.full(p["X"].shape[1], p["length"])
    kernel = ConstantKernel(1.0) * (RBF(lengths) if p["kernel"] == "gaussian" else Matern(lengths, nu=1.5))
    kernel = kernel + WhiteKernel(p["noise"])
    optimizer, constant = "fmin_l_bfgs_b" if p["learn"] else None, p["mean"] == "constant"
    model = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=optimizer, normalize_y=constant)
    if not p["learn"]:  # noise as alpha, so that no positive lower bound of a kernel's parameter is in the way
        model.set_params(kernel=kernel.k1, alpha=p["noise"])
    model.fit(p["X"], p["y"])
    mean, std = model.predict(p["X_test"], return_std=True)
    _, cov = model.predict(p["X_test"], return_cov=True)
    found = model.kernel_.k1 if p["learn"] else model.kernel_
    noise = model.kernel_.k2.noise_level if p["learn"] else p["noise"]
    if not p["learn"]:  # alpha is not in the prediction
        std = np.sqrt(std**2 + noise * model._y_train_std**2)
    value = model.log_marginal_likelihood_value_
    return answered(mean, std, cov, value, found.k1.constant_value, found.k2.length_scale, noise,
                    "standardised" if constant else "zero")  # fmt: skip


def gpy(p):
    import GPy

    d = p["X"].shape[1]
    shape = GPy.kern.RBF if p["kernel"] == "gaussian" else GPy.kern.Matern32
    kernel, constant = shape(d, lengthscale=np.full(d, p["length"]), ARD=True), p["mean"] == "constant"
    model = GPy.models.GPRegression(p["X"], p["y"][:, None], kernel, normalizer=constant, noise_var=p["noise"])
    if p["learn"]:
        model.optimize()
    mean, variance = model.predict(p["X_test"])
    _, cov = model.predict_noiseless(p["X_test"], full_cov=True)
    noise, value = float(model.likelihood.variance[0]), float(model.log_likelihood())
    return answered(mean[:, 0], np.sqrt(variance[:, 0]), cov, value, float(kernel.variance[0]),
                    np.array(kernel.lengthscale), noise, "standardised" if constant else "zero")  # fmt: skip


def answered(mean, std, cov, value, variance, lengths, noise, model):
    """What a library says, as JSON can hold it: numbers as text, so that no digit and no nan is lost."""
    return {
        "mean": list(map(repr, np.ravel(mean).tolist())),
        "std": list(map(repr, np.ravel(std).tolist())),
        "negative": bool((np.diag(cov) < 0).any() or not np.isfinite(std).all() or (np.ravel(std) < 0).any()),
        "evidence": repr(float(value)),
        "variance": float(variance),
        "lengths": np.ravel(lengths).tolist(),
        "noise": float(noise),
        "y model": model,
    }


CALLS = {"mercer": mercer, "scikit-learn": scikit_learn, "GPy": gpy}


def answer_all(library, first):
    """In a process of its own: a line of JSON before and after each problem, from the first one on."""
    own = os.dup(1)
    with os.fdopen(own, "w") as out:
        for number, problem in list(enumerate(problems()))[first:]:
            print(json.dumps({"begin": number}), file=out, flush=True)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    answer = CALLS[library](problem)
                except Exception as error:
                    answer = {"error": f"{type(error).__name__}: {error}"[:300]}
            spoken = [w for w in caught if not issubclass(w.category, DeprecationWarning | FutureWarning)]
            answer["warnings"] = [f"{w.category.__name__}: {w.message}"[:200] for w in spoken]
            print(json.dumps({"number": number, "answer": answer}), file=out, flush=True)


def ask(library, count):
    """{number: answer}; a problem in which the process died is {"died": how}."""
    answers, first = {}, 0
    while first < count:
        command = [sys.executable, str(Path(__file__).resolve()), "--answer", library, "--first", str(first)]
        done = subprocess.run(command, capture_output=True, text=True)
        begun = None
        for line in done.stdout.splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                entry = json.loads(line)
                begun = entry.get("begin", begun)
                if "answer" in entry:
                    answers[entry["number"]] = entry["answer"]
        if len(answers) == count:
            break
        if begun is None:
            raise RuntimeError(f"{library} did not start: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        answers.setdefault(begun, {"died": f"exit code {done.returncode}", "warnings": []})
        first = max(answers) + 1
    return answers


# ---------------------------------------------------------------------- the verdict
def judge(p, answer, tolerance):
    """(verdict, the largest error of each output in units of the tolerance)."""
    if "died" in answer or "error" in answer:
        return ("died" if "died" in answer else "error"), None
    if answer["negative"]:
        return "negative variance", None
    import mpmath as mp

    mean, std, evidence, prior = reference(p, answer)
    y = [mp.mpf(float(v)) for v in p["y"]]
    spread = max(y) - min(y) if p["mean"] == "constant" else max(map(abs, y))
    allowed = max(spread, max(map(abs, mean)) if p["mean"] == "zero" else mp.mpf(0)) * tolerance

    def off(said, true, unit):
        """The largest difference in these units; inf where a number is missing."""
        said = list(map(mp.mpf, said))
        if not all(map(mp.isfinite, said)):
            return mp.inf
        return max(abs(a - b) / unit for a, b in zip(said, true, strict=True))

    errors = {"mean": off(answer["mean"], mean, allowed), "std": off(answer["std"], std, prior * tolerance)}
    if abs(evidence) < 1e300:  # beyond that float64 may say inf, and mean it
        errors["evidence"] = off([answer["evidence"]], [evidence], tolerance * (1 + abs(evidence)))
    errors = {key: round(float(error), 3) for key, error in errors.items()}
    return ("right" if all(error <= 1.0 for error in errors.values()) else "wrong"), errors


def tables(libraries, details, tolerance):
    posed = problems()
    families = list(dict.fromkeys(p["family"] for p in posed))
    table = Table(
        f"Near-singular problems: {len(posed)}, and what each library answers",
        "library | family | problems | right | right, warned | wrong, warned | wrong, silent | negative variance | "
        "error | died | met",
        f"Wrong: mean, noisy std or log evidence differ by more than {tolerance:g} of the spread of y, of the prior's "
        "std, or of the evidence from the same formulas in 100 digits at the same hyper-parameters. Negative variance: "
        "in std or on the diagonal of the covariance, nan included. Met: no silent wrong answer, none negative, no "
        "error, none died. GPy adds 1e-8 to every noise and does not say so.",
    )
    for library in libraries:
        answers, counts = ask(library, len(posed)), {}
        for number, problem in enumerate(posed):
            answer = answers[number]
            verdict, errors = judge(problem, answer, tolerance)
            warned = bool(answer["warnings"])
            key = verdict + (", warned" if warned else ", silent") if verdict in ("right", "wrong") else verdict
            counts.setdefault(problem["family"], []).append(key)
            if details and (key == "wrong, silent" or verdict in ("negative variance", "error", "died")):
                said = answer.get("error") or answer.get("died") or f"{errors} times the tolerance"
                where = [problem[name] for name in ("family", "kernel", "length", "noise")]
                print(f"    {library}: problem {number}: {where}: {verdict}: {said}", file=sys.stderr)
        for family in [*families, "all"]:
            table.add(library, family, *row(counts[family] if family != "all" else sum(counts.values(), [])))
    return [table]


def row(keys):
    counts = [sum(key.startswith("right") for key in keys)]
    counts += [keys.count(key) for key in ("right, warned", "wrong, warned", "wrong, silent", "negative variance",
                                           "error", "died")]  # fmt: skip
    return len(keys), *counts, not any(counts[3:])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libraries", nargs="+", default=LIBRARIES, choices=LIBRARIES)
    parser.add_argument(
        "--tolerance", type=float, default=1e-2, help="of the spread of y, the prior's std, the evidence"
    )
    parser.add_argument("--details", action="store_true", help="name each problem that was answered badly")
    parser.add_argument("--json", help="where to write the table, too")
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        answer_all(options.answer, options.first)
    else:
        finish(tables(options.libraries, options.details, options.tolerance), options.json)


if __name__ == "__main__":
    main()
