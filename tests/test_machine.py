"""Memory and cores, as the files of the system tell them; the files are faked."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from mercer import _machine
from mercer.exceptions import NotEnoughMemory

GB = 10**9


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Function that writes files under a faked root and returns it; /proc and /sys are read from there."""
    monkeypatch.setattr(_machine, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(_machine, "_CGROUP", tmp_path / "cgroup")
    monkeypatch.setattr(_machine, "_address_space", lambda: None)

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(str(text))
        return tmp_path

    return write


def test_this_machine():
    free = _machine.available_memory()
    assert free.bytes is None or 0 < free.bytes < 2**50
    assert free.source
    assert 1 <= _machine.cores() <= (os.cpu_count() or 1)


def test_free_memory_of_the_machine(system):
    system({"proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:    4000 kB\n"})
    assert _machine.available_memory() == (4000 * 1024, "free memory of the machine")


def test_cgroup_version_2(system):
    system(
        {
            "proc/meminfo": "MemAvailable: 20000000 kB\n",
            "proc/self/cgroup": "0::/app/worker\n",
            "cgroup/app/worker/memory.max": "max\n",
            "cgroup/app/worker/memory.current": 1 * GB,
            "cgroup/app/memory.max": 5 * GB,
            "cgroup/app/memory.current": 3 * GB,
            "cgroup/app/memory.stat": f"anon 1\ninactive_file {GB}\n",
        }
    )
    assert _machine.available_memory() == (3 * GB, "memory limit of the cgroup")


def test_cgroup_version_1(system):
    system(
        {
            "proc/meminfo": "MemAvailable: 20000000 kB\n",
            "proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/docker/x\n",
            "cgroup/memory/docker/x/memory.limit_in_bytes": 4 * GB,
            "cgroup/memory/docker/x/memory.usage_in_bytes": 1 * GB,
            "cgroup/memory/memory.limit_in_bytes": 2**63 - 4096,
            "cgroup/memory/memory.usage_in_bytes": 1,
        }
    )
    assert _machine.available_memory() == (3 * GB, "memory limit of the cgroup")


def test_more_used_than_allowed_is_nothing_free(system):
    system(
        {
            "proc/self/cgroup": "0::/\n",
            "cgroup/memory.max": 1 * GB,
            "cgroup/memory.current": 2 * GB,
        }
    )
    assert _machine.available_memory().bytes == 0


def test_where_nothing_is_known(system, monkeypatch):
    monkeypatch.setitem(sys.modules, "psutil", None)
    system({})
    assert _machine.available_memory() == (None, "unknown")
    _machine.check_memory(1e15, "anything")  # unknown is not a refusal


def test_psutil_where_there_is_no_proc(system, monkeypatch):
    class Psutil:
        @staticmethod
        def virtual_memory():
            return type("Memory", (), {"available": 7 * GB})

    monkeypatch.setitem(sys.modules, "psutil", Psutil)
    system({})
    assert _machine.available_memory().bytes == 7 * GB


@pytest.mark.parametrize(("quota", "expected"), [("max 100000", 8), ("150000 100000", 2), ("10000 100000", 1)])
def test_cpu_quota(system, monkeypatch, quota, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    system({"proc/self/cgroup": "0::/\n", "cgroup/cpu.max": quota})
    assert _machine.cores() == expected


def test_cpu_quota_version_1(system, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    files = {"proc/self/cgroup": "3:cpu,cpuacct:/\n", "cgroup/cpu,cpuacct/cpu.cfs_period_us": 100000}
    system({**files, "cgroup/cpu,cpuacct/cpu.cfs_quota_us": -1})
    assert _machine.cores() == 8
    system({"cgroup/cpu,cpuacct/cpu.cfs_quota_us": 250000})
    assert _machine.cores() == 3


def test_check_memory(monkeypatch):
    monkeypatch.setattr(_machine, "available_memory", lambda: _machine.Memory(3 * GB, "a test"))
    _machine.check_memory(2.9 * GB, "Cholesky")
    with pytest.raises(
        NotEnoughMemory, match=r"Cholesky needs 3.2 GB, but 3.0 GB is available \(a test\).*solver='cg'"
    ):
        _machine.check_memory(3.2 * GB, "Cholesky")
    with pytest.raises(NotEnoughMemory, match="the limit given.*less of it"):
        _machine.check_memory(1.2 * GB, "Cholesky", 1 * GB, "less of it")
    with pytest.raises(NotEnoughMemory, match="a test"):  # a limit does not create memory
        _machine.check_memory(5 * GB, "Cholesky", 10 * GB)
    with pytest.raises(MemoryError):
        _machine.check_memory(1e6, "small things too, with a limit", 1e5)


def test_small_things_do_not_read_files(monkeypatch):
    monkeypatch.setattr(_machine, "available_memory", lambda: pytest.fail("asked"))
    _machine.check_memory(1e6, "a small fit")


def test_address_space_limit():
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9, 4 * 10**9))\n"
        "from mercer._machine import available_memory\n"
        "free = available_memory(); print(0 < free.bytes < 4e9, free.source)"
    )
    source = str(Path(_machine.__file__).parent.parent)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": source})
    assert done.stdout.split(maxsplit=1)[0] == "True", done.stderr
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != 4 * 10**9
