"""Writing is all or nothing: what fails, is interrupted or meets another writer leaves the old file, and no other."""

import errno
import os
import re
import resource
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import mercer
from files import fitted_models
from mercer import KernelInterpolator, KernelRidge
from mercer import _atomic as atomic
from mercer.files import _container
from mercer.kernels import Gaussian

X, Y, *_ = fitted_models.data(6)
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@pytest.fixture
def model():
    return KernelInterpolator(Gaussian(1.0)).fit(X, Y)


def test_an_existing_file_is_not_replaced_without_force(model, tmp_path):
    path = tmp_path / "a"
    model.save(path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="force=True"):
        KernelRidge().save(path)
    assert path.read_bytes() == before
    KernelRidge().save(path, force=True)
    assert isinstance(mercer.load(path), KernelRidge)
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_that_appears_while_we_write_is_not_replaced(model, tmp_path, monkeypatch):
    path, fsync = tmp_path / "a", os.fsync

    def sync(descriptor):
        path.write_text("mine")
        fsync(descriptor)

    monkeypatch.setattr(atomic.os, "fsync", sync)
    with pytest.raises(FileExistsError, match="force=True"):
        model.save(path)
    assert path.read_text() == "mine"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_system_without_links(model, tmp_path, monkeypatch):
    def link(source, target):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(atomic.os, "link", link)
    model.save(tmp_path / "a")
    assert mercer.load(tmp_path / "a").predict(X).shape == (6,)
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("step", range(1, 4))
@pytest.mark.parametrize("kind", [KeyboardInterrupt, OSError])
def test_an_error_at_any_step_leaves_nothing(kind, step, force, model, tmp_path, monkeypatch):
    path = tmp_path / "a"
    if force:
        model.save(path)
    before = path.read_bytes() if force else None
    left = [step]

    def fail():
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt if kind is KeyboardInterrupt else OSError(errno.ENOSPC, "No space left on device")

    class File:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *args):
            self.file.close()

        def write(self, data):
            fail()
            return self.file.write(data)

        def flush(self):
            fail()

        def fileno(self):
            return self.file.fileno()

    monkeypatch.setattr(atomic, "open", lambda *args: File(open(*args)), raising=False)
    with pytest.raises(kind) as caught:
        KernelInterpolator(Gaussian(2.0)).fit(X, Y).save(path, force=force)
    assert os.listdir(tmp_path) == (["a"] if force else [])
    if force:
        assert path.read_bytes() == before
    if kind is OSError:
        assert caught.value.filename == str(path)


def test_a_limit_of_the_system(tmp_path):
    model = KernelInterpolator(Gaussian(1.0)).fit(np.arange(60.0)[:, None], np.zeros(60))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(OSError, match="too large") as caught:
            model.save(tmp_path / "a")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.filename == str(tmp_path / "a")
    assert os.listdir(tmp_path) == []


def test_a_process_that_is_killed(tmp_path):
    path = tmp_path / "a"
    KernelRidge(lam=0.0).save(path)
    script = (
        "import sys, numpy as np, mercer\n"
        "models = [mercer.KernelRidge(lam=np.full(200_000, float(i))) for i in range(9)]\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    for model in models:\n"
        "        model.save(sys.argv[1], force=True)\n"
    )
    for wait in (0.02, 0.1):
        with subprocess.Popen(
            [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, env=ENVIRONMENT
        ) as child:
            child.stdout.readline()
            time.sleep(wait)
            child.kill()
        assert np.unique(mercer.load(path).lam).size == 1
        left = set(os.listdir(tmp_path)) - {"a"}
        assert all(re.fullmatch(r"\.mercer-[0-9a-f]{16}\.tmp", name) for name in left)


def test_places_that_cannot_be_written_to(model, tmp_path):
    (tmp_path / "folder").mkdir()
    for path, error in (
        (tmp_path / "missing" / "a", FileNotFoundError),
        (tmp_path / "folder", FileExistsError),
        ("/proc/model.mercer", OSError),
    ):
        with pytest.raises(error) as caught:
            model.save(path)
        assert str(path) in str(caught.value)
    with pytest.raises(IsADirectoryError):
        model.save(tmp_path / "folder", force=True)


@pytest.mark.parametrize("name", ["模" * 80 + ".mercer", "a" * 248 + ".mercer"], ids=["characters", "letters"])
def test_a_name_as_long_as_the_system_takes(name, model, tmp_path):
    model.save(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("made", [False, True])
def test_what_cannot_be_cleaned_up_does_not_hide_the_error(made, model, tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EPERM, "not yours", path)

    def full(descriptor):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "unlink", refuse)
    if made:
        monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space" if made else "No such file"):
        model.save(tmp_path / "a" if made else tmp_path / "missing" / "a")


def test_permissions_and_links(model, tmp_path):
    path = tmp_path / "a"
    model.save(path)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    model.save(path, force=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    os.symlink(path, tmp_path / "link")
    with pytest.raises(FileExistsError):
        model.save(tmp_path / "link")
    inode = path.stat().st_ino
    model.save(tmp_path / "link", force=True)
    assert not (tmp_path / "link").is_symlink()
    assert path.stat().st_ino == inode


def test_readers_see_one_model_or_the_other(tmp_path):
    path = tmp_path / "a"
    models = [KernelInterpolator(Gaussian(ell)).fit(X, Y) for ell in (1.0, 2.0)]
    expected = {model.predict(X).tobytes() for model in models}
    models[0].save(path)
    done, seen = threading.Event(), []

    def read():
        while not done.is_set():
            seen.append(mercer.load(path, mmap=len(seen) % 2 == 0).predict(X).tobytes())

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for i in range(30):
        models[i % 2].save(path, force=True)
    done.set()
    for reader in readers:
        reader.join()
    assert set(seen) <= expected
    assert os.listdir(tmp_path) == ["a"]


def test_two_writers_without_force(tmp_path):
    path, outcomes = tmp_path / "a", []
    start = threading.Barrier(4)

    def write(i):
        start.wait()
        try:
            KernelRidge(lam=float(i)).save(path)
        except FileExistsError:
            outcomes.append("refused")
        else:
            outcomes.append("written")

    writers = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(outcomes) == ["refused"] * 3 + ["written"]
    assert mercer.load(path).lam in range(4)


def test_too_much_beside_the_arrays(tmp_path):
    with pytest.raises(mercer.exceptions.ModelFileError, match="100"):
        _container.write(str(tmp_path / "a"), {"root": list(range(200))}, {}, False, _container.FileLimits(values=100))
    assert os.listdir(tmp_path) == []
