"""The container: what is damaged, foreign or forged is ModelFileError, quickly and in little memory."""

import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import mercer
from files import fitted_models, written_files
from files.handmade_files import laid_out, put_together, take_apart
from mercer import GaussianProcessClassifier, GaussianProcessRegressor, KernelInterpolator, KernelRidge, files
from mercer.exceptions import ModelFileError
from mercer.files import _container
from mercer.kernels import Gaussian, Precomputed

X, Y, *_ = fitted_models.data(6)


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
    with pytest.raises(ModelFileError, match="do not fill"):
        mercer.load(path)
    with pytest.raises(ModelFileError, match="do not fill"):
        files.read_header(path)


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
        (path.read_bytes()[:8] + _container.MARK[:9], "is cut off"),
        (json.dumps({"a": 1}).encode(), "is not a mercer model file"),
        (_foreign(), "is not a mercer model file"),
    ):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=text):
            mercer.load(path)


def _foreign():
    """A safetensors file of somebody else."""
    import safetensors.numpy

    return safetensors.numpy.save({"weights": np.zeros(3)}, {"format": "pt"})


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
def test_another_format_is_named(path):
    put_together(path, {"format": 7, "who": "knows"})
    with pytest.raises(ModelFileError, match="7"):
        mercer.load(path)


def test_a_class_refuses_states_of_another_version(path, monkeypatch):
    monkeypatch.setattr(KernelInterpolator, "state_version", 2)
    with pytest.raises(ModelFileError, match="version"):
        mercer.load(path)


@pytest.mark.parametrize("version", [2, 0, -1, "1", None, 1.0, True, [1]], ids=str)
def test_a_state_of_another_version(version, path):
    header, arrays, body = take_apart(path)
    header["objects"][-1][1] = version
    put_together(path, header, arrays, body)
    with pytest.raises(ModelFileError, match="its state is of version"):
        mercer.load(path)


def test_an_argument_that_came_later_has_its_default(tmp_path):
    KernelRidge(criterion=mercer.selection.LOO()).save(tmp_path / "a")
    header, arrays, body = take_apart(tmp_path / "a")
    for entry in header["objects"]:
        if entry[0] == "selection.LOO":
            del entry[2]["weights"]
    assert mercer.load(put_together(tmp_path / "b", header, arrays, body)).criterion.weights == "repeats"


# ------------------------------------------------------------------------------------------------ files stay readable
def test_a_file_written_before_predicts_what_it_did():
    written_files.check(written_files.FOLDER)


def test_files_load_after_every_private_attribute_has_another_name(tmp_path):
    """A copy of mercer in which every attribute that is set with an underscore has got another name.

    So have methods, functions and modules that are called the same, or the copy would not run.
    """
    source = Path(mercer.__file__).parent
    shutil.copytree(source, tmp_path / "mercer", ignore=shutil.ignore_patterns("__pycache__"))
    modules = [path for path in (tmp_path / "mercer").rglob("*.py") if path.parent.name != "files"]
    names = written_files.private_attributes(modules)
    assert {"_rows", "_left", "_triangle", "_items"} <= names
    pattern = re.compile(rf"\b({'|'.join(names)})\b")
    for path in modules:
        path.write_text(pattern.sub(r"\g<0>_renamed", path.read_text()))
        path.rename(path.with_stem(pattern.sub(r"\g<0>_renamed", path.stem)))
    written_files.write(tmp_path / "written")
    script = "import sys, mercer, files.written_files as g; print(mercer.__file__); g.check(sys.argv[1])"
    paths = [str(tmp_path), str(Path(__file__).parent.parent), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "written")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "mercer" / "__init__.py")


# ------------------------------------------------------------------------------------------------ forged headers
def test_lies_about_lengths(path):
    header, arrays, body = take_apart(path)
    for length, text in (
        (2**63, "cut off"),
        (2**26 + 1, "cut off"),
        (10**6, "cut off"),
        (0, "a header of"),
        (100, "a header of"),
    ):
        put_together(path, header, arrays, body, length=length)
        with pytest.raises(ModelFileError, match=text):
            mercer.load(path)
    for version in (0, -1, None, "1", 1.0, True):
        put_together(path, {**header, "format": version}, arrays, body)
        with pytest.raises(ModelFileError, match="no format"):
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
    text = TEXTS[name].decode("latin-1")
    for options in ({"text": '",' + text}, {"text": '"}' + text}, {"text": "", "outer": TEXTS[name]}):
        put_together(path, None, **options)
        with pytest.raises(ModelFileError):
            mercer.load(path)
        with pytest.raises(ModelFileError):
            files.read_header(path)


def test_metadata_that_are_not_ours(path):
    header, arrays, body = take_apart(path)
    for wrong in (b', "other": "x"}' + b"}", b'}, "__metadata__": {"mercer": "{}"}}', b"}, 3: 4}", b"}"):
        put_together(path, header, outer=wrong)
        with pytest.raises(ModelFileError):
            mercer.load(path)


SPECS = [
    None,
    [],
    {},
    {"dtype": "F64"},
    {"dtype": "F64", "shape": [6, 6], "data_offsets": [0, 288], "more": 1},
    {"dtype": "F64", "shape": [6, 6], "data_offsets": [0, 8]},
    {"dtype": "F64", "shape": [6, 6], "data_offsets": [8, 296]},
    {"dtype": "F64", "shape": [6, 6], "data_offsets": [-288, 0]},
    {"dtype": "F64", "shape": [6, 6], "data_offsets": "all"},
    {"dtype": "BF16", "shape": [6], "data_offsets": [0, 12]},
    {"dtype": "C64", "shape": [6], "data_offsets": [0, 48]},
    {"dtype": "|O", "shape": [6], "data_offsets": [0, 48]},
    {"dtype": ["F64"], "shape": [6], "data_offsets": [0, 48]},
    {"dtype": "F64", "shape": 6, "data_offsets": [0, 48]},
    *[
        {"dtype": "F64", "shape": shape, "data_offsets": [0, 8 * int(np.prod(shape, dtype=object))]}
        for shape in ([-1], [2**62], [2**31, 2**31], [0, 2**62], [1] * 33, [6, 7], [5, 6], [], [2**47])
    ],
    {"dtype": "F64", "shape": [6.0], "data_offsets": [0, 48]},
    {"dtype": "F64", "shape": [True], "data_offsets": [0, 8]},
    {"dtype": "F64", "shape": "6", "data_offsets": [0, 48]},
    {"dtype": "F32", "shape": [6, 6], "data_offsets": [0, 144]},
    {"dtype": "BOOL", "shape": [288], "data_offsets": [0, 288]},
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: str(spec)[:60])
def test_forged_arrays(spec, path):
    header, arrays, body = take_apart(path)
    square = next(name for name, entry in arrays.items() if entry["shape"] == [6, 6])
    others = laid_out({name: entry for name, entry in arrays.items() if name != square})
    room = 8 * 36
    moved = {
        name: {**entry, "data_offsets": [place + room for place in entry["data_offsets"]]}
        for name, entry in others.items()
    }
    put_together(path, header, {square: spec, **moved}, body)
    with pytest.raises(ModelFileError):
        mercer.load(path)


def test_arrays_out_of_order_or_out_of_line(path):
    header, arrays, body = take_apart(path)
    backwards = dict(reversed(arrays.items()))
    bytes_first = laid_out({"extra": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}, **arrays})
    for wrong, data in ((backwards, body), (bytes_first, b"0" + body)):
        put_together(path, header, wrong, data)
        with pytest.raises(ModelFileError, match="is not where it must be"):
            mercer.load(path)


@pytest.mark.parametrize(
    "inside",
    [
        [[]], ["KernelInterpolator.points_", None], ["KernelInterpolator.points_", "<U1", None],
        ["KernelInterpolator.points_", "|O", None], ["KernelInterpolator.points_", "<f4", None],
        ["KernelInterpolator.points_", ">f8", None], ["KernelInterpolator.points_", "<M8[ns]", None],
        ["KernelInterpolator.points_", "<f8,<f8", None], ["KernelInterpolator.points_", 3, None],
        ["KernelInterpolator.points_", None, [0]], ["KernelInterpolator.points_", None, [0, 0]],
        ["KernelInterpolator.points_", None, [0, 2]], ["KernelInterpolator.points_", None, ["0", "1"]],
        ["KernelInterpolator.points_", None, {}], ["nothing", None, None], 3, None, {}, "nothing",
    ],
    ids=str,
)  # fmt: skip
def test_forged_references_to_arrays(inside, path):
    header, arrays, body = take_apart(path)
    header["objects"][-1][2]["points_"] = {"a": inside}
    put_together(path, header, arrays, body)
    with pytest.raises(ModelFileError):
        mercer.load(path)


def test_memory_stays_small_whatever_the_header_says(path):
    header, arrays, body = take_apart(path)
    for shape in ([2**40], [2**20, 2**20]):
        spec = {"dtype": "F64", "shape": shape, "data_offsets": [0, 2**43]}
        put_together(path, header, {"big": spec}, body)
        tracemalloc.start()
        with pytest.raises(ModelFileError):
            mercer.load(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2**20


def test_a_sparse_file_of_a_terabyte(path):
    front = bytearray(path.read_bytes()[:512])
    front[:8] = (2**26).to_bytes(8, "little")
    with open(path, "wb") as file:
        file.write(front)
        file.truncate(2**40)
    with pytest.raises(ModelFileError, match="SHA-256 of its header"):
        mercer.load(path)


def test_both_digests_are_what_the_page_says(path):
    data = path.read_bytes()
    start, at = 8 + int.from_bytes(data[:8], "little"), data.index(b"sha256") + len(rb"sha256\":\"")
    assert hashlib.sha256(data[start:]).hexdigest().encode() == data[at : at + 64]
    assert start % 64 == 0
    blank = data[: at + 64] + b"0" * 64 + data[at + 128 : start]
    assert hashlib.sha256(blank).hexdigest().encode() == data[at + 64 : at + 128]


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
        for array in (model.points_, model.dual_coef_, model.state()["triangle"]):
            assert array.flags.writeable
            assert array.flags.aligned


def test_a_mapped_model_outlives_its_file(path):
    model = mercer.load(path, mmap=True)
    expected = model.predict(X)
    KernelRidge().save(path, force=True)
    path.unlink()
    assert (model.predict(X) == expected).all()


def test_left_over_memory_does_not_get_into_a_file(tmp_path):
    """Of arrays with gaps, what lies between their entries; of a part, what its state does not give."""
    wide = np.full((6, 40), 123.456)
    wide[:, ::20] = X
    model = KernelInterpolator(Gaussian(1.0)).fit(X, Y)
    model.points_ = wide[:, ::20]
    model.save(tmp_path / "a")
    assert np.float64(123.456).tobytes() not in (tmp_path / "a").read_bytes()


@pytest.mark.parametrize("kind", [GaussianProcessRegressor, GaussianProcessClassifier])
def test_what_lies_above_the_diagonal_of_a_factor_does_not_get_into_a_file(kind, tmp_path):
    """Of a matrix of kernel values it is kept; of other kernels it is made again of the points."""
    kind(Precomputed(), criterion=None).fit(Gaussian(1.0)(X), Y > 0).save(tmp_path / "a")
    header, arrays, body = take_apart(tmp_path / "a")
    (factor,) = [spec for key, spec in arrays.items() if key.split(" ")[0].endswith(".factor")]
    L = np.frombuffer(body[slice(*factor["data_offsets"])]).reshape(factor["shape"])
    assert not np.triu(L, 1).any()
    assert L.diagonal().all()


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model = KernelInterpolator(Gaussian(1.0)).fit(X, Y)
    model.save(tmp_path / "a")
    model.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
