"""A time budget is a promise: every fit ends within it, to a tenth or a second, or is refused before it begins.

The whole grid (budgets 1, 10 and 60 s, every estimator, three sizes) is slow and measures the time that passes; the
sample counts time of processors, of which a busy machine gives a fit no more than it would have alone.
"""

import os
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import mercer
from mercer import _clock
from mercer._clock import Clock, latest
from mercer.approximate import MachineOptions
from mercer.exceptions import NotEnoughTime
from mercer.inference.softmax import SoftmaxPosterior
from mercer.kernels import Gaussian, PolynomialBasis
from mercer.selection import GCV, LOO
from mercer.selection.search.objective import Record, Stop
from mercer.solvers import PlanOptions

MODELS = {
    "ridge": lambda b: mercer.KernelRidge(time_budget=b),
    "ridge, searched": lambda b: mercer.KernelRidge(criterion="loo", time_budget=b),
    "ridge, lam alone": lambda b: mercer.KernelRidge(criterion="gcv", optimize="lam", time_budget=b),
    "interpolator": lambda b: mercer.KernelInterpolator(time_budget=b),
    "basis": lambda b: mercer.BasisRegression(PolynomialBasis(3), time_budget=b),
    "gp": lambda b: mercer.GaussianProcessRegressor(time_budget=b),
    "gp, given": lambda b: mercer.GaussianProcessRegressor(criterion=None, time_budget=b),
    "gp, auto": lambda b: mercer.GaussianProcessRegressor("auto", time_budget=b),
    "gp, sampled": lambda b: mercer.GaussianProcessRegressor(n_hyper_samples=20, time_budget=b),
    "gpc": lambda b: mercer.GaussianProcessClassifier(time_budget=b),
    "gpc, ep": lambda b: mercer.GaussianProcessClassifier(inference="ep", time_budget=b),
    "svr": lambda b: mercer.SVR(C=10.0, time_budget=b),
    "svr, searched": lambda b: mercer.SVR(criterion=5, time_budget=b),
    "hinge": lambda b: mercer.KernelMachine(loss="hinge", time_budget=b),
    "logistic": lambda b: mercer.KernelMachine(loss="logistic", time_budget=b),
    "hinge, searched": lambda b: mercer.KernelMachine(loss="hinge", criterion=5, time_budget=b),
    "stacked": lambda b: mercer.StackedKernels(time_budget=b),
    "transformed": lambda b: mercer.TransformedTarget(mercer.GaussianProcessRegressor(time_budget=b)),
    "transformed stack": lambda b: mercer.TransformedTarget(mercer.StackedKernels(time_budget=b)),
}
LABELS = ("gpc", "gpc, ep", "hinge", "logistic", "hinge, searched")


def data(name, n):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, 5))
    f = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2]
    y = f + 0.1 * rng.standard_normal(n)
    if name == "classes":  # seven of them: probabilities by joint covariances took minutes for the page
        return X, np.array(list("abcdefg"))[np.digitize(y, np.quantile(y, np.arange(1, 7) / 7.0))]
    return X, np.where(f + 0.5 * rng.standard_normal(n) > 0, "a", "b") if name in LABELS else y


def fitted(name, n, budget, options=()):
    """(model or the refusal, what was warned of)."""
    X, y = data(name, n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = MODELS[name](budget)
            return (model.set_params(options=options) if options else model).fit(X, y), caught
        except (NotEnoughTime, MemoryError) as error:
            return error, caught


def measured(name, n, budget):
    """Print the seconds of a fit, after one that loads what has to be loaded."""
    fitted(name, 700, 5.0)
    started = time.perf_counter()
    found = fitted(name, n, budget)[0]
    print(time.perf_counter() - started, type(found).__name__)


# ------------------------------------------------------------------------------------------- the whole
@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [2000, 20_000, 100_000])
@pytest.mark.parametrize("budget", [1.0, 10.0, 60.0])
def test_every_fit_ends_in_time(name, n, budget):
    code = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import test_budgets as t; "
    code += f"t.measured({name!r}, {n}, {budget})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300).stdout
    assert float(out.split()[0]) <= latest(budget), out


COMMANDS = {
    "numbers": (),
    "gp": ("--model", "gp"),
    "svr": ("--model", "svr"),
    "labels": (),
    "classes": (),
    "quick": ("--quick",),
}


def commanded(name, n, budget, folder):
    """Seconds of ``mercer fit`` with a page and a model, from the start of the process to its end."""
    X, y = data({"labels": "gpc", "classes": "classes"}.get(name, "gp"), n)
    table = folder / "table.csv"
    lines = (",".join([*(f"{v:.6g}" for v in x), str(t)]) for x, t in zip(X, y, strict=True))
    table.write_text("\n".join(["a,b,c,d,e,y", *lines]))
    files = ["-o", folder / "m.mercer", "--report", folder / "m.html", "--force"]
    command = [sys.executable, "-m", "mercer", "fit", table, "-t", "y", "--time-budget", f"{budget}s", *COMMANDS[name]]
    started = time.perf_counter()
    subprocess.run([*command, *files], capture_output=True, text=True, check=True, timeout=300)
    return time.perf_counter() - started


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("n", [500, 5000, 50_000])
@pytest.mark.parametrize("budget", [10, 60])
def test_every_command_ends_in_time(name, n, budget, tmp_path):
    assert commanded(name, n, budget, tmp_path) <= latest(budget)


# ------------------------------------------------------------------------------------------- a sample
@pytest.mark.parametrize("name", MODELS)
def test_a_sample_ends_in_time(name):
    started, budget = time.process_time(), 0.2
    model, _ = fitted(name, 1500, budget)
    assert time.process_time() - started <= 4 * latest(budget)
    assert not isinstance(model, Exception) or name in ("interpolator", "gpc", "gpc, ep"), model


def test_a_fit_that_has_time_is_the_fit_without_a_budget():
    for name in ("ridge, searched", "gp", "gpc", "svr", "logistic"):
        free, timed = fitted(name, 120, None)[0], fitted(name, 120, 1e6)[0]
        assert repr(free.kernel_) == repr(timed.kernel_)
        assert np.array_equal(free.dual_coef_, timed.dual_coef_)


@pytest.mark.parametrize("name", ["interpolator", "gpc"])
def test_what_has_no_approximation_is_refused_before_it_starts(name):
    model = MODELS[name](1.0)
    if name == "gpc":
        model.approximation = None
    X, y = data(name, 9000)
    model.memory = 1e12
    started = time.process_time()
    with pytest.raises(NotEnoughTime, match=r"n = 9000 is predicted to take .*, but time_budget is 1 s"):
        model.fit(X, y)
    assert time.process_time() - started < 2.0


def test_a_solver_that_was_asked_for_is_refused_and_left_to_itself_finds_landmarks():
    X, y = data("ridge", 7000)
    with pytest.raises(NotEnoughTime, match="solver 'spectral' with n = 7000"):
        mercer.KernelRidge(solver="spectral", time_budget=0.01).fit(X, y)
    plan = mercer.plan(mercer.KernelRidge(lam=1.0, time_budget=0.01), n=60_000, d=5)
    assert plan.landmarks and "predicted to take" in plan.reasons[0]


@pytest.mark.parametrize("name", ["ridge", "ridge, searched", "gp"])
def test_short_of_time_a_few_thousand_rows_have_landmarks_and_it_is_said(name):
    slow = [PlanOptions(caution=1e6)]  # as on a machine that is slow
    model, _ = fitted(name, 1500, 0.5, slow)
    assert model.plan_.landmarks and model.fit_report_["gram"] == "landmarks"
    assert "predicted to take" in model.fit_report_["reasons"][0]
    assert model.plan_ == mercer.plan(MODELS[name](0.5), *data(name, 1500), options=slow)


def test_lam_of_some_rows_is_that_of_all_of_them_in_their_unit():
    X, y = data("hinge, searched", 700)
    forever = {"options": MachineOptions(more_lams=int(1e9))}  # a path that takes for ever
    some = MODELS["hinge, searched"](60.0).set_params(**forever).fit(X, y)
    assert any("of the rows" in one for one in some.fit_report_["selection_warnings"])
    assert (np.asarray(some.predict(X)) == y).mean() > 0.7


# ------------------------------------------------------------------------------------------- the clock
@pytest.fixture
def now(monkeypatch):
    """A clock that stands still."""
    at = [100.0]
    monkeypatch.setattr(_clock.time, "monotonic", lambda: at[0])
    return at


def test_parts_of_a_clock(now):
    clock = Clock(10.0)
    half, last = clock.part(0.5, keep=2.0), clock.until(0.3)
    assert (half.left, last.left, clock.fits(10.0), clock.fits(10.1)) == (4.0, 3.0, True, False)
    now[0] += 4.0
    assert (half.spent, last.left, clock.left, clock.seconds) == (True, 0.0, 6.0, 4.0)
    assert Clock(0.0).budget > 0 and Clock().budget is None and Clock().deadline is None
    assert Clock().part(0.1, keep=1e9).fits(1e9)


def test_no_evaluation_begins_that_would_end_too_late(now):
    record = Record(Clock(30.0))
    began = record.begin(500)  # the first one is never refused
    now[0] += 1.0
    record.add(began, n=500, value=0.0)
    assert record.expected(500) == 1.0 and 9.0 < record.expected(1500) <= 27.0
    record.begin(1500)
    with pytest.raises(Stop, match="time_budget"):
        record.begin(4500)


def test_a_path_of_all_lam_gives_way_to_a_line_search(monkeypatch):
    X, y = data("ridge", 900)
    slow = mercer.KernelRidge(criterion=GCV(), optimize="lam", time_budget=20.0)
    monkeypatch.setattr(sys.modules["mercer.selection.search.lam"], "choose_solver", lambda *a, **k: (None, _Slow()))
    assert slow.fit(X, y).selection_.path is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the grid ends
        fast = mercer.KernelRidge(criterion=LOO(), optimize="lam").fit(X, y)
    assert fast.selection_.path is not None


class _Slow:
    seconds = 1e3


def test_curves_of_several_classes_need_no_joint_covariances(monkeypatch):
    """They are m × n × C × C products: importance alone took minutes after a fit of 15 s."""
    X, y = data("classes", 120)
    model = mercer.GaussianProcessClassifier(2.0 * Gaussian(2.0), criterion=None, averaging="joint").fit(X, y)
    exact = model.predict_proba(X)
    monkeypatch.setattr(SoftmaxPosterior, "joint", None)
    with pytest.raises(TypeError):
        model.predict_proba(X)
    assert np.abs(model.quick_proba(X) - exact).max() < 0.1
