"""The container: what is damaged, foreign or forged is ModelFileError, quickly and in little memory."""

import json
import os
import socket
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import mercer
from files import zoo
from files.forge import put_together, take_apart
from mercer import KernelInterpolator, KernelRidge, files
from mercer.exceptions import ModelFileError
from mercer.files import _format
from mercer.kernels import Gaussian

GOLDEN = Path(__file__).parent / "golden"
X, Y, *_ = zoo.data(6)


@pytest.fixture
def path(tmp_path):
    """A small model in a file."""
    KernelInterpolator(Gaussian(1.0)).fit(X, Y).save(tmp_path / "model.mercer", note={"a": 1})
    return tmp_path / "model.mercer"


# ------------------------------------------------------------------------------------------------ damage
def test_cut_off_at_every_byte(path, tmp_path):
    data, cut = path.read_bytes(), tmp_path / "cut.mercer"
    for length in range(len(data)):
        cut.write_bytes(data[:length])
        with pytest.raises(ModelFileError):
            mercer.load(cut)
        with pytest.raises(ModelFileError):
            files.read_header(cut)


def test_a_bit_flipped_in_every_byte(path, tmp_path):
    data, flipped = bytearray(path.read_bytes()), tmp_path / "flipped.mercer"
    for place in range(len(data)):
        data[place] ^= 1 << place % 8
        flipped.write_bytes(data)
        with pytest.raises(ModelFileError):
            mercer.load(flipped)
        data[place] ^= 1 << place % 8
    flipped.write_bytes(data)
    mercer.load(flipped)


def test_bytes_behind_the_end(path):
    with open(path, "ab") as file:
        file.write(b"\0")
    with pytest.raises(ModelFileError, match="should have"):
        mercer.load(path)


def test_only_load_reads_the_arrays(path, tmp_path):
    data = bytearray(path.read_bytes())
    data[-65] ^= 1
    path.write_bytes(data)
    assert files.read_header(path)["note"] == {"a": 1}
    with pytest.raises(ModelFileError, match="SHA-256 of its arrays"):
        mercer.load(path)
    assert mercer.load(path, verify=False).predict(X).shape == (6,)


# ------------------------------------------------------------------------------------------------ foreign files
def test_foreign_files(tmp_path):
    path = tmp_path / "model.mercer"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", bytes(10**6))
    for content, text in (
        (b"", "is empty"),
        (b"speed,dist\n4,2\n", "is not a mercer model file"),
        (b"\x80\x04\x95", "looks like a pickle"),
        (path.read_bytes(), "looks like a zip archive"),
        (_format.MAGIC, "is cut off"),
    ):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=text):
            mercer.load(path)


def test_what_is_not_a_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    os.symlink("/dev/zero", tmp_path / "zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        for name in ("pipe", "zero", "."):
            with pytest.raises(ModelFileError, match="regular file|directory"):
                mercer.load(tmp_path / name)
        with pytest.raises(OSError):
            mercer.load(tmp_path / "s")
    with pytest.raises(FileNotFoundError):
        mercer.load(tmp_path / "missing")


def test_a_link_to_a_model_is_followed(path, tmp_path):
    os.symlink(path, tmp_path / "latest")
    assert mercer.load(tmp_path / "latest").predict(X).tolist() == mercer.load(path).predict(X).tolist()


# ------------------------------------------------------------------------------------------------ versions
def test_a_newer_format_is_named(path):
    put_together(path, {"who": "knows"}, version=7)
    with pytest.raises(ModelFileError, match="in format 7, and this version of mercer reads formats up to 1"):
        mercer.load(path)


def test_an_older_format_is_migrated(path, monkeypatch):
    header, body = take_apart(path)
    header["comment"] = header.pop("note")
    put_together(path, header, body)
    with pytest.raises(ModelFileError, match="keys"):
        mercer.load(path)
    monkeypatch.setattr(_format, "VERSION", 2)
    monkeypatch.setitem(
        _format.MIGRATIONS, 1, lambda old: {**{k: v for k, v in old.items() if k != "comment"}, "note": old["comment"]}
    )
    assert files.read_header(path)["note"] == {"a": 1}
    assert mercer.load(path).predict(X).shape == (6,)


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.mercer")))
def test_files_of_earlier_releases(name):
    model = mercer.load(GOLDEN / f"{name}.mercer")
    expected = json.loads((GOLDEN / "predictions.json").read_text())[name]
    new = np.array(expected["X"])
    found = model.predict_proba(new) if hasattr(model, "predict_proba") else model.predict(new)
    np.testing.assert_allclose(found, expected["f"], rtol=1e-9, atol=1e-12)


def test_there_are_golden_files_of_this_format():
    assert {path.name for path in GOLDEN.glob("v1-*.mercer")} == {"v1-ridge.mercer", "v1-gp.mercer", "v1-gpc.mercer"}


# ------------------------------------------------------------------------------------------------ forged headers
def test_lies_about_lengths(path):
    header, body = take_apart(path)
    for options, text in (
        ({"length": 2**63}, "a header of"),
        ({"length": 2**26 + 1}, "a header of"),
        ({"length": 10**6}, "a header of"),
        ({"length": 0}, "SHA-256|header"),
        ({"size": 2**62}, "should have"),
        ({"size": 0}, "should have"),
        ({"zero": 1}, "no format"),
        ({"version": 0}, "no format"),
    ):
        put_together(path, header, body, **options)
        with pytest.raises(ModelFileError, match=text):
            mercer.load(path)


TEXTS = {
    "empty": b"",
    "no object": b"[]",
    "nan": b'{"a": NaN}',
    "infinite": b'{"a": 1e999}',
    "twice": b'{"a": 1, "a": 2}',
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "long number": b"[" + b"9" * 100_000 + b"]",
    "many": b"[" + b"0," * 9_000_000 + b"0]",
    "not utf-8": b'{"a": "\xff\xfe"}',
    "utf-16": '{"a": 1}'.encode("utf-16"),
    "nul": b'{"a": 1}\0',
}


@pytest.mark.parametrize("name", TEXTS)
def test_headers_that_are_no_json_of_ours(name, path):
    put_together(path, None, text=TEXTS[name])
    with pytest.raises(ModelFileError):
        mercer.load(path)
    with pytest.raises(ModelFileError):
        files.read_header(path)


SPECS = [
    None,
    [],
    ["<f8", [6, 6]],
    ["|O", [6], None],
    ["<V8", [6], None],
    ["<c16", [6], None],
    ["<f16", [6], None],
    [">f8", [6], None],
    ["<U0", [6], None],
    ["<M8", [6], None],
    ["<M8[99999s]", [6], None],
    ["<f8,<f8", [3], None],
    [["<f8"], [6], None],
    ["<f8", 6, None],
    ["<f8", [-1], None],
    ["<f8", [6.0], None],
    ["<f8", [True], None],
    ["<f8", [2**62], None],
    ["<f8", [2**31, 2**31], None],
    ["<f8", [0, 2**62], None],
    ["<f8", [1] * 33, None],
    ["<f8", [6, 6], [0]],
    ["<f8", [6, 6], [0, 0]],
    ["<f8", [6, 6], [0, 2]],
    ["<f8", [6, 6], ["0", "1"]],
    ["<f8", [6, 7], None],
    ["<f8", [5, 6], None],
    ["<f4", [6, 6], None],
    ["|b1", [288], None],
    ["<U72", [1], None],
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_forged_arrays(spec, path):
    header, body = take_apart(path)
    square = next(i for i, entry in enumerate(header["arrays"]) if entry[1] == [6, 6])
    header["arrays"][square] = spec
    put_together(path, header, body)
    with pytest.raises(ModelFileError):
        mercer.load(path)


def test_memory_stays_small_whatever_the_header_says(path):
    header, body = take_apart(path)
    header["arrays"] = [["<f8", [2**40], None]]
    put_together(path, header, body)
    tracemalloc.start()
    with pytest.raises(ModelFileError):
        mercer.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_a_sparse_file_of_a_terabyte(path):
    front = bytearray(path.read_bytes()[:64])
    struct.pack_into("<QQ", front, 16, 2**26, 2**40)
    with open(path, "wb") as file:
        file.write(front)
        file.truncate(2**40)
    with pytest.raises(ModelFileError, match="SHA-256 of its header"):
        mercer.load(path)


# ------------------------------------------------------------------------------------------------ maps
def test_a_map_is_private(path):
    before = path.read_bytes()
    model = mercer.load(path, mmap=True)
    model.dual_coef_[:] = 0.0
    model.points_ += 1.0
    assert path.read_bytes() == before
    assert mercer.load(path).dual_coef_.any()


def test_arrays_are_aligned_and_writeable(path):
    for mapped in (False, True):
        model = mercer.load(path, mmap=mapped)
        for array in (model.points_, model.dual_coef_, model._triangle):
            assert array.flags.writeable
            assert array.ctypes.data % 64 == 0


def test_a_mapped_model_outlives_its_file(path):
    model = mercer.load(path, mmap=True)
    expected = model.predict(X)
    KernelRidge().save(path, force=True)
    path.unlink()
    assert (model.predict(X) == expected).all()


def test_left_over_memory_does_not_get_into_a_file(tmp_path):
    model = mercer.GaussianProcessRegressor(Gaussian(), criterion=None).fit(X, Y)
    model._f.Kinv._L[np.triu_indices(6, 1)] = 123.456
    model.save(tmp_path / "a")
    assert struct.pack("<d", 123.456) not in (tmp_path / "a").read_bytes()


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model = KernelInterpolator(Gaussian(1.0)).fit(X, Y)
    model.save(tmp_path / "a")
    model.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
