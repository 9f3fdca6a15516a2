"""Gaussian processes: published results, and scikit-learn, GPyTorch, GPy and tinygp in the same run.

``python gp.py TASK ...`` with TASK one of usps, uci, exact, evaluation, fit, gpc, inference; prints Markdown, and
JSON with ``--json FILE``. Each library runs in a process of its own (`gp_jobs`). ``--most ROWS`` for a short trial.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from gp_peers import LIMIT
from tables import Table, alone, finish

from selection import split

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PEERS = ["scikit-learn", "GPyTorch", "GPy"]
OURS = ["mercer", "mercer, FoldDensity"]  # the default, and the criterion for predictions
LARGE = {"sml", "parkinsons"}  # peers take minutes there: only with --slow
ROUNDS = 3  # of what takes a second
TIE = 0.1  # nats by which two optima of the evidence may differ and still be as high


# ---------------------------------------------------------------------- published classification
def usps(options):
    """3 against 5 at the published hyper-parameters; bits are mean log₂ p(correct) + 1."""
    from mercer import GaussianProcessClassifier
    from mercer.kernels import Gaussian

    data = np.load(DATA / "classics" / "usps_resampled.npz", allow_pickle=False)
    keep, keep_test = np.isin(data["y_train"], [3, 5]), np.isin(data["y_test"], [3, 5])
    X, t = data["X_train"][keep].astype(float), data["y_train"][keep]
    X_test, t_test = data["X_test"][keep_test].astype(float), data["y_test"][keep_test]
    table = Table(
        "USPS 3 against 5, probit, fixed hyper-parameters",
        "inference | log ℓ | log σ_f | nlml | published | errors | published | bits | published | s | met",
        "Met: nlml within 0.05 (EP: 0.5, the published value is rounded), errors as published, bits within 0.01.",
    )
    published = [
        ("laplace", 3.0, 0.0, 222.39, 35, 0.71, 0.05),
        ("laplace", 2.75, 2.27, 98.87, 22, 0.83, 0.05),
        ("ep", 2.55, 3.96, 90.0, 19, 0.89, 0.5),
    ]
    for inference, length, amplitude, nlml, errors, bits, within in published:
        kernel = np.exp(2 * amplitude) * Gaussian(np.exp(length))
        model = GaussianProcessClassifier(kernel, inference=inference, link="probit", trend=None, criterion=None)
        start = time.perf_counter()
        model.fit(X[: options.most], t[: options.most])
        probability = model.predict_proba(X_test)[np.arange(len(t_test)), np.searchsorted(model.classes_, t_test)]
        seconds = time.perf_counter() - start
        found, wrong = -model.log_marginal_likelihood_value_, int((probability < 0.5).sum())
        information = float(np.log2(probability).mean() + 1)
        met = abs(found - nlml) <= within and wrong == errors and abs(information - bits) <= 0.01
        table.add(inference, length, amplitude, f"{found:.3f}", nlml, wrong, errors, information, bits, seconds, met)
    return [table]


# ---------------------------------------------------------------------- regression, ten splits
def uci(options):
    """RMSE and mean log density of the noisy prediction, standardised y, default settings of every library."""
    table = Table(
        "GP regression, ARD, hyper-parameters learnt",
        "data | n | kernel | library | fits | failed | with warnings | s | RMSE | log density | "
        "RMSE against best peer | log density against best peer",
        "Means over the splits that did not fail. Against the best peer: mercer's mean minus the peer's on the same "
        "splits, ± the standard error of the mean difference; met if as good or better, tie if within that error. "
        "FoldDensity: not the default; up to 1 500 rows. "
        f"On sml scikit-learn is stopped after {options.cap:g} s.",
    )
    for name in options.names or ["yacht", "energy", "concrete", "airfoil", "wine", "sml"]:
        for kernel in options.kernels:
            peers = [peer for peer in options.peers or PEERS if name not in LARGE or options.slow]
            libraries = [*(OURS[:1] if name in LARGE else OURS), *peers]
            runs = {library: [] for library in libraries}
            for number in range(options.splits):
                for library in libraries:
                    if library not in OURS and name in LARGE and number >= options.slow_splits:
                        continue
                    job = dict(task="fit", library=library, kernel=kernel, name=name, number=number, most=options.most)
                    job["cap"] = options.cap if library == "scikit-learn" and name in LARGE else None
                    runs[library].append(alone("gp_jobs.py", job, options.timeout))
            for library in libraries:
                table.add(name, *uci_row(kernel, library, runs))
    return [table]


def uci_row(kernel, library, runs):
    """The cells of one library after the data's name."""
    good = [run for run in runs[library] if "failed" not in run]
    failed = len(runs[library]) - len(good)
    if not good:
        why = runs[library][0]["failed"]
        return None, kernel, library, 0, failed, None, None, f"failed: {why}", None, None, None

    def mean(key):
        return float(np.mean([run[key] for run in good]))

    against = [None, None]
    if library in OURS and set(runs) - set(OURS):
        against = [against_best(runs, library, key, sign) for key, sign in (("rmse", 1), ("log density", -1))]
    warned = sum(run["warnings"] > 0 for run in good)
    return (good[0]["n"], kernel, library, len(good), failed, warned, mean("seconds"), f"{mean('rmse'):.4f}",
            f"{mean('log density'):.3f}", *against)  # fmt: skip


def against_best(runs, mine, key, sign):
    """mercer − the best peer by its mean, on the splits both have."""
    ours = [run.get(key, np.nan) for run in runs[mine]]
    best = None
    for library, theirs in runs.items():
        gaps = np.array([a - run.get(key, np.nan) for a, run in zip(ours, theirs, strict=False)])
        gaps = gaps[np.isfinite(gaps)]
        if library not in OURS and len(gaps) and (best is None or sign * gaps.mean() > sign * best[1].mean()):
            best = library, gaps
    if best is None:
        return "no peer"
    library, gaps = best
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
    worse = sign * gaps.mean()
    met = "met" if worse <= 0 else "tie" if worse <= error else "not met"
    spread = f"± {error:.4f}" if len(gaps) > 1 else "on one split"
    return f"{gaps.mean():+.4f} {spread} ({library}): {met}"


def exact(options):
    """Pol and bike with all training rows, Matérn-3/2 ARD, against the published values of the same split."""
    anchors = json.loads((DATA / "anchors" / "gp_matern32_uci.json").read_text())["datasets"]
    table = Table(
        "Exact GP, 13 500 and 15 641 rows, Matérn-3/2 ARD, hyper-parameters learnt",
        "data | split | n | min | peak MB | evaluations | RMSE | published | log density | published | met",
        "Published: `../shared/data/anchors/gp_matern32_uci.json`, cg_exact.",
    )
    for name in options.names or ["pol", "bike"]:
        for number in range(min(options.splits, 2)):
            job = dict(task="fit", library="mercer", kernel="matern32", name=name, number=number, most=options.most)
            run = alone("gp_jobs.py", job)
            result = anchors[name]["results"]["cg_exact"]
            rmse, density = result["rmse"][number], result["mean_log_density"][number]
            if "failed" in run:
                table.add(name, number, None, None, None, None, run["failed"], rmse, None, density, False)
                continue
            met = round(run["rmse"], 4) <= round(rmse, 4) and round(run["log density"], 2) >= round(density, 2)
            table.add(name, number, run["n"], run["seconds"] / 60, round(run["peak MB"]), run["evaluations"],
                      run["rmse"], rmse, run["log density"], density, met)  # fmt: skip
    return [table]


# ---------------------------------------------------------------------- speed
def evaluation(options):
    """One evidence and its gradient at the same hyper-parameters; the libraries in turn, the best of all rounds."""
    table = Table(
        "One evaluation of the evidence and its gradient, ARD Gaussian",
        "data | n | d | library | s | peer/mercer | bar | met | memory, n² doubles | gradient differs by",
        "Fixed hyper-parameters, zero mean; compiled and loaded before the clock starts. Memory: peak of the process "
        "above what it held before the first evaluation. The gradients in log ℓ are compared with mercer's. "
        f"{LIMIT}: LAPACK's factor and inverse of that size alone, its ratio the fraction of this limit reached.",
    )
    libraries = ["mercer", LIMIT, *(options.peers or ["scikit-learn", "GPy", "tinygp", "GPyTorch"])]
    for name in options.names or ["energy", "concrete", "airfoil", "sml"]:
        slow = name in LARGE
        runs = {library: [] for library in libraries}
        for _ in range(1 if options.most else 2 if slow else 3):
            for library in libraries:
                repeats = 60 if not slow else 1 if library == "scikit-learn" else 5
                job = dict(task="evaluation", library=library, kernel="gaussian", name=name, repeats=repeats)
                runs[library].append(alone("gp_jobs.py", job | {"most": options.most}, options.timeout))
        best = {library: min(found, key=lambda run: run.get("seconds", np.inf)) for library, found in runs.items()}
        for library in libraries:
            table.add(name, *evaluation_row(library, best, 20.0 if slow else 4.0, 4.0 if slow else 2.0))
    return [table]


def evaluation_row(library, best, bar_sklearn, bar_others):
    run, ours = best[library], best["mercer"]
    if "failed" in run:
        return None, None, library, f"failed: {run['failed']}", *[None] * 5
    head = run["n"], len(run["gradient"]), library, run["seconds"]
    if library == "mercer":
        return *head, None, None, run["n2 doubles"] <= 4.0, run["n2 doubles"], None
    if "failed" in ours:
        return *head, None, None, False, run["n2 doubles"], None
    ratio = run["seconds"] / ours["seconds"]
    if library == LIMIT:
        return *head, ratio, *[None] * 4
    bar = bar_sklearn if library == "scikit-learn" else bar_others
    difference = np.linalg.norm(np.subtract(run["gradient"], ours["gradient"])) / np.linalg.norm(ours["gradient"])
    return *head, ratio, bar, ratio >= bar, run["n2 doubles"], f"{difference:.1e}"


def fit(options):
    """Whole fits of the same model (zero mean); the evidence of every end point by the same few lines of SciPy."""
    cap = options.cap
    table = Table(
        "Whole fit to an evidence at least as high, ARD Gaussian, split 0",
        "data | n | library | s | peer/mercer | bar | evidence | evaluations | peak MB | met",
        f"The libraries in turn, the best of {ROUNDS} rounds; on sml and parkinsons one, and scikit-learn is ended at "
        f"its best point after {cap:g} s of optimisation (marked): its ratio is then a lower bound. Each is the "
        f"first fit of its process. Met: as fast as the bar asks, and mercer's evidence not more than {TIE} below.",
    )
    for name in options.names or ["energy", "concrete", "airfoil", *(["sml", "parkinsons"] if options.slow else [])]:
        job = dict(task="fit", kernel="gaussian", name=name, most=options.most, mean=None)
        capped = {"scikit-learn": job | {"cap": cap if name in LARGE else options.timeout}}
        jobs = {library: capped.get(library, job) for library in ["mercer", *(options.peers or ["scikit-learn"])]}
        runs = in_turn(jobs, 1 if name in LARGE else ROUNDS, options)
        for run in runs.values():
            if "failed" not in run:
                run["evidence"] = evidence(name, options.most, run)
        for library in runs:
            table.add(name, *fit_row(library, runs, 25.0 if name in LARGE else 8.0))
    return [table]


def fit_row(library, runs, bar):
    run, ours = runs[library], runs["mercer"]
    if "failed" in run:
        return None, library, f"failed: {run['failed']}", *[None] * 6
    ratio = met = None
    if library != "mercer" and "failed" not in ours:
        ratio = run["seconds"] / ours["seconds"]
        met = ratio >= bar and ours["evidence"] >= run["evidence"] - TIE
        ratio = f"≥ {ratio:.1f}, ended after {run['seconds']:.0f} s" if run.get("stopped") else ratio
    return (run["n"], library, run["seconds"], ratio, None if library == "mercer" else bar, f"{run['evidence']:.2f}",
            run.get("evaluations"), round(run["peak MB"]), met)  # fmt: skip


def evidence(name, most, run):
    """log p(y) at the hyper-parameters a fit ended with, ARD Gaussian kernel and zero mean."""
    from scipy.linalg import cho_factor, cho_solve
    from scipy.spatial.distance import cdist

    X, y, _, _ = split(name, 0, most)
    X = X / np.asarray(run["length_scale"])
    K = run["variance"] * np.exp(-0.5 * cdist(X, X, "sqeuclidean"))
    K[np.diag_indices(len(K))] += run["noise"]
    factor = cho_factor(K, lower=True, overwrite_a=True)
    fidelity = y @ cho_solve(factor, y)
    return float(-0.5 * fidelity - np.log(np.diag(factor[0])).sum() - 0.5 * len(y) * np.log(2 * np.pi))


def gpc(options):
    """Laplace, logistic link, zero mean, hyper-parameters learnt: against scikit-learn's classifier."""
    table = Table(
        "GP classification, Laplace, hyper-parameters learnt",
        "data | n | kernel | library | s | peer/mercer | bar | evidence | own value | errors | log density | "
        "peak MB | met",
        "Evidence: by scikit-learn's code at the hyper-parameters each ended with. Each is the first fit "
        f"of its process. One ℓ: the libraries in turn, the best of {ROUNDS} rounds. Met: as fast as the bar asks, and "
        f"mercer's evidence is not more than {TIE} below.",
    )
    for data, ard, bar in [("breast cancer", False, 5.0), ("breast cancer", True, 20.0), ("moons", False, 8.0)]:
        job, ours = dict(task="classify", data=data, ard=ard, most=options.most), None
        jobs = dict.fromkeys(["mercer", "scikit-learn"], job)
        for library, run in in_turn(jobs, 1 if ard or data == "moons" else ROUNDS, options).items():
            head = [data, run.get("n"), "ARD" if ard else "one ℓ", library]
            if "failed" in run:
                table.add(*head, f"failed: {run['failed']}", *[None] * 8)
                continue
            ratio = met = None
            if library == "mercer":
                ours = run
            elif ours:
                ratio = run["seconds"] / ours["seconds"]
                met = ratio >= bar and ours["evidence"] >= run["evidence"] - TIE
            table.add(*head, run["seconds"], ratio, None if ratio is None else bar, f"{run['evidence']:.3f}",
                      f"{run['own evidence']:.3f}", f"{run['errors']} of {run['tests']}", run["log density"],
                      round(run["peak MB"]), met)  # fmt: skip
    return [table]


def in_turn(jobs, rounds, options):
    """{library: its best run} of {library: its job}, the libraries in turn; a job with a cap ends by itself."""
    best = {}
    for library in list(jobs) * (1 if options.most else rounds):
        job = jobs[library] | {"library": library}
        run = alone("gp_jobs.py", job, None if "cap" in job else options.timeout)
        best[library] = min(run, best.get(library, run), key=lambda one: one.get("seconds", np.inf))
    return best


# ---------------------------------------------------------------------- four ways to do one integral
def inference(options):
    """Laplace, EP and sampling against direct integration: five points on a line, two classes that overlap."""
    from mercer import GaussianProcessClassifier
    from mercer.kernels import Gaussian

    X, t = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]]), np.array([0, 0, 1, 0, 1])
    at, seeds = np.linspace(-3, 3, 13)[:, None], 16
    table = Table(
        "The integral of lecture 001 four ways, five points",
        "link | inference | s | log evidence | p differs from quadrature by | one run, in standard errors | "
        "mean of the seeds, in its standard errors | met",
        f"2·Gaussian(1), fixed; the largest difference at 13 points. Sampling: {seeds} seeds, whose spread is the "
        "standard error of one run; p is their mean. Met: EP within 0.01; one run of sampling (the first seed) within "
        "3 of its standard errors. The mean of the seeds is the sharper test for a bias; a right sampler exceeds 3 "
        "there now and then, with 13 points, so it has no bar. Neither has Laplace.",
    )
    for link in ("logit", "probit"):

        def fitted(inference, seed=0, link=link):
            model = GaussianProcessClassifier(
                2.0 * Gaussian(1.0), inference=inference, link=link, trend=None, criterion=None, random_state=seed
            )
            return model.fit(X, t)

        reference = None
        for name in ("quadrature", "laplace", "ep", "mcmc"):
            start = time.perf_counter()
            models = [fitted(name, seed) for seed in range(seeds if name == "mcmc" else 1)]
            p = np.array([model.predict_proba(at)[:, 1] for model in models])
            seconds = (time.perf_counter() - start) / len(models)
            value = getattr(models[0], "log_marginal_likelihood_value_", None)
            reference = p.mean(axis=0) if reference is None else reference
            gap = np.abs(p.mean(axis=0) - reference)
            one = mean = None
            if name == "mcmc":
                error = p.std(axis=0, ddof=1)
                one, mean = float(np.max(np.abs(p[0] - reference) / error)), float(np.max(gap / error) * np.sqrt(seeds))
            met = {"ep": bool(gap.max() <= 1e-2), "mcmc": one is not None and one <= 3.0}.get(name)
            shown = None if value is None else f"{value:.6f}"
            table.add(link, name, seconds, shown, f"{gap.max():.1e}", one, mean, met)
    return [table]


TASKS = {task.__name__: task for task in (usps, uci, exact, evaluation, fit, gpc, inference)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--names", nargs="+", help="data sets instead of the usual ones")
    parser.add_argument("--kernels", nargs="+", default=["gaussian", "matern32"], choices=["gaussian", "matern32"])
    parser.add_argument("--peers", nargs="*", help="libraries beside mercer")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--most", type=int, help="training rows to keep, for a trial")
    parser.add_argument("--slow", action="store_true", help="peers on sml and parkinsons too")
    parser.add_argument("--slow-splits", type=int, default=10, help="splits of sml the peers are run on")
    parser.add_argument("--cap", type=float, default=900.0, help="seconds scikit-learn may optimise there")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds of one process; later it has failed")
    parser.add_argument("--json", help="where to write the tables, too")
    options = parser.parse_args()
    finish(TASKS[options.task](options), options.json)


if __name__ == "__main__":
    main()
