"""The rule: readable, asked before anything is allocated, and right about memory at every size."""

import dataclasses

import numpy as np
import pytest

from mercer import _machine
from mercer._policies import OptionSet
from mercer.exceptions import NotEnoughMemory, NumericalWarning
from mercer.solvers import CG, Cholesky, Mixed, Plan, PlanOptions, Sizes, Solver, Spectral, choose_solver
from mercer.solvers import plan as rules
from mercer.solvers.plan import SOLVERS
from mercer.solvers.plan_class import MachineRates, rates


def choose(solver, n, d=None, memory=None, binding=True, options=(), **wanted):
    return choose_solver(solver, Sizes(n, d, memory=memory, binding=binding, options=OptionSet(options)), **wanted)


def plan(n, d=None, **options):
    return choose("auto", n, d, binding=False, **options)[1]


@pytest.fixture
def machine(monkeypatch):
    """Function that fakes the free memory and the cores."""

    def fake(gigabytes, cores=2):
        memory = _machine.Memory(None if gigabytes is None else int(gigabytes * 1e9), "a test")
        monkeypatch.setattr(_machine, "available_memory", lambda: memory)
        monkeypatch.setattr(_machine, "cores", lambda: cores)
        monkeypatch.setattr(rules, "rates", lambda: MachineRates(50e9, 100e9, 3e8))

    fake(24)
    return fake


@pytest.mark.parametrize(
    ("n", "options", "solver"),
    [
        (50, {}, "cholesky"),
        (1000, {}, "cholesky"),
        (10_000, {}, "mixed"),
        (30_000, {}, "mixed"),
        (65_537, {}, "mixed"),
        (200_000, {}, "cg"),
        (2000, {"path": True}, "spectral"),
        (10_000, {"path": True}, "cholesky"),
        (10_000, {"inverse": True}, "cholesky"),
        (60_000, {"inverse": True}, "mixed"),
        (10_000, {"memory": 5e8}, "mixed"),
        (10_000, {"memory": 2e8}, "cg"),
        (2000, {"path": True, "memory": 5e7}, "cholesky"),
    ],
)
def test_the_rule(n, options, solver, machine):
    chosen = plan(n, 10, **options)
    assert chosen.solver == solver
    assert chosen.n == n
    assert chosen.seconds > 0
    assert chosen.available_bytes is None or chosen.memory_bytes <= chosen.available_bytes
    assert chosen.reasons
    assert all(reason.endswith((".", ")")) for reason in chosen.reasons)


def test_limits_are_options(machine):
    assert plan(10_000, 10, options=[PlanOptions(mixed_from=20_000)]).solver == "cholesky"
    assert plan(2000, 10, path=True, options=[PlanOptions(decomposed_up_to=1000)]).solver == "cholesky"
    tight = [PlanOptions(headroom=0.1)]
    assert plan(20_000, 10, inverse=True, options=tight).solver == "mixed"
    with pytest.warns(NumericalWarning, match="predicted"):
        choose("auto", 2000, 10, options=[PlanOptions(warn_seconds=1e-9)])


def test_expensive_kernels_are_evaluated_once(machine):
    assert plan(10_000, None).solver == "cholesky"
    assert plan(10_000, 5000).solver == "cholesky"
    assert plan(10_000, 5).solver == "mixed"


def test_only_a_path_stores_the_matrix(machine):
    assert plan(2000, 10, path=True).gram == "dense"
    assert plan(2000, 10).gram == "tiled"


def test_unknown_memory_is_said(machine):
    machine(None)
    chosen = plan(10_000, 10)
    assert chosen.available_bytes is None
    assert "not known" in chosen.reasons[0] and chosen.reasons[0] in str(chosen)


def test_a_plan_is_read_by_people(machine):
    chosen = plan(60_000, 10)
    text = str(chosen)
    assert "n = 60000: solver 'mixed' on a tiled Gram matrix" in text
    assert "memory  14.4 GB of 24.0 GB" in text
    assert "28.8 GB" in text
    assert text.count("\n- ") == len(chosen.reasons)
    assert repr(chosen).startswith("Plan(n=60000, solver='mixed', gram='tiled', memory=14.4 GB, time=")
    with pytest.raises(dataclasses.FrozenInstanceError):
        chosen.n = 1


@pytest.mark.parametrize("n", [32_767, 46_341, 65_537, 10**6, 10**9])
def test_sizes_beyond_32_bits(n, machine):
    for name, cls in SOLVERS.items():
        assert cls().memory(n) >= {"cholesky": 8, "mixed": 4, "spectral": 40, "cg": 0}[name] * float(n) ** 2
        assert cls().memory(np.int32(min(n, 2**31 - 1)).item()) > 0
    chosen = plan(n, 10)
    assert chosen.seconds > 0
    assert isinstance(chosen.n, int)


def test_predicted_memory_is_that_of_the_arrays(machine):
    assert np.isclose(plan(20_000, 10, inverse=True).memory_bytes, 8 * 20_000**2, rtol=0.01)
    assert np.isclose(plan(20_000, 10).memory_bytes, 4 * 20_000**2, rtol=0.01)


@pytest.mark.parametrize("n", [0, -3, 2.5])
def test_a_bad_n_is_refused(n, machine):
    with pytest.raises(ValueError, match="n"):
        plan(n)


# --------------------------------------------------------------------------------------- choose
@pytest.mark.parametrize(
    ("given", "cls"),
    [("cholesky", Cholesky), ("mixed", Mixed), ("spectral", Spectral), ("cg", CG), (Mixed(tol=1e-6), Mixed)],
)
def test_choose_takes_names_and_solvers(given, cls, machine):
    solver, chosen = choose(given, 500, 3)
    assert type(solver) is cls
    assert isinstance(chosen, Plan)
    assert chosen.solver == cls.__name__.lower()
    assert "asked for" in chosen.reasons[0]
    assert solver is given or isinstance(given, str)


def test_choose_auto_is_the_plan(machine):
    solver, chosen = choose("auto", 10_000, 10)
    assert isinstance(solver, Mixed)
    assert chosen == plan(10_000, 10)


class Other(Solver):
    """A solver from elsewhere."""

    def resolvent(self, K, H=None):
        return None


def test_a_solver_from_elsewhere_counts_as_one_matrix(machine):
    assert choose(Other(), 1000)[1].solver == "Other"
    with pytest.raises(NotEnoughMemory):
        choose(Other(), 100_000)


@pytest.mark.parametrize("given", ["lu", None, 3, Cholesky])
def test_choose_refuses_the_rest(given, machine):
    with pytest.raises(ValueError, match="solver"):
        choose(given, 500)


@pytest.mark.parametrize("given", ["cholesky", "mixed", "spectral", Cholesky()])
def test_an_explicit_solver_that_does_not_fit_is_refused_with_alternatives(given, machine):
    machine(2)
    with pytest.raises(NotEnoughMemory, match="solver='cg'"):
        choose(given, 65_537, 10)
    with pytest.raises(NotEnoughMemory, match="limit"):
        choose(given, 10_000, 10, memory=1e8)


def test_auto_too_is_refused_when_nothing_fits(machine):
    machine(0.001)
    with pytest.raises(NotEnoughMemory, match="rows"):
        choose("auto", 100_000, 10)


@pytest.mark.parametrize("given", ["auto", "cholesky", "cg"])
def test_a_small_fit_reads_no_limits(given, monkeypatch):
    for name in ("available_memory", "cores", "_read"):
        monkeypatch.setattr(_machine, name, lambda *args: pytest.fail("asked"))
    monkeypatch.setattr(rules, "rates", lambda: pytest.fail("measured"))
    solver, chosen = choose(given, 500, 3)
    assert chosen.available_bytes is None
    assert not any("not known" in reason for reason in chosen.reasons)


def test_a_small_fit_obeys_the_memory_it_is_given(machine):
    with pytest.raises(NotEnoughMemory, match="limit"):
        choose("cholesky", 500, 3, memory=1e6)
    assert choose("auto", 500, 3, memory=1.5e6)[1].solver == "mixed"


def test_the_machine_is_measured_once_and_quickly():
    found = rates()
    assert 1e8 < found.float64 < 1e13
    assert found.float32 > 0.5 * found.float64
    assert rates() is found


def test_a_search_counts_in_memory_and_time(machine):
    alone, searched = choose("auto", 2000, 5)[1], choose("auto", 2000, 5, search=2500)[1]
    assert searched.memory_bytes == 2 * 8 * 2500**2
    assert searched.seconds > 20 * alone.seconds
    with pytest.raises(NotEnoughMemory, match="2500"):
        choose("auto", 2000, 5, search=2500, memory=9e7)
