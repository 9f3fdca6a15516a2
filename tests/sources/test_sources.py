"""Sources and passes: the same rows whatever they lie in, the same bits whoever adds them, errors that say where."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer.exceptions import DataError
from mercer.sources import Arrays, OutOfTime, as_source, map_reduce
from mercer.sources.engines import Threads
from mercer.sources.passes import Checkpoint, tasks


@pytest.fixture
def table(rng):
    X, y = rng.standard_normal((700, 3)), rng.standard_normal(700)
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y, "w": rng.random(700)})


def write(frame, folder, cuts, kind="parquet"):
    for i, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(frame)], strict=True)):
        part = pl.DataFrame({name: frame[name].to_numpy()[start:stop] for name in frame})
        path = os.path.join(folder, f"part{i:02d}.{kind}")
        part.write_parquet(path) if kind == "parquet" else part.write_csv(path)


class RecordBatch:
    """What is asked of a record batch of Arrow: columns by name, rows counted by len."""

    class Schema:
        names: list

    def __init__(self, frame):
        self._columns = {name: frame[name].to_numpy() for name in frame}
        self.schema, self.num_rows = RecordBatch.Schema(), len(frame)
        self.schema.names = list(frame)

    def __getitem__(self, name):
        return self._columns[name]

    def __len__(self):
        return self.num_rows


class Dataset:
    """What is asked of a dataset of Arrow."""

    def __init__(self, frame):
        self._frame = frame

    def count_rows(self):
        return len(self._frame)

    def to_batches(self, batch_size, columns=None):
        frame = self._frame if columns is None else self._frame[columns]
        return (RecordBatch(frame[i : i + 97]) for i in range(0, len(frame), 97))


def kinds(table, folder):
    write(table, folder, [100, 100, 450])  # the second part is empty
    yield as_source(os.path.join(folder, "*.parquet"), "y", "w")
    os.mkdir(os.path.join(folder, "text"))
    write(table, os.path.join(folder, "text"), [1, 699], "csv")
    yield as_source(os.path.join(folder, "text"), "y", "w")
    yield as_source(Dataset(table), "y", "w")
    yield as_source(lambda: (table[i : i + 64] for i in range(0, 700, 64)), "y", "w")
    yield as_source(lambda: [pl.DataFrame({name: table[name].to_numpy() for name in table})], "y", "w")
    np.save(os.path.join(folder, "X.npy"), table[["a", "b", "c"]].to_numpy())
    mapped = np.load(os.path.join(folder, "X.npy"), mmap_mode="r")
    yield as_source(mapped, table["y"].to_numpy(), table["w"].to_numpy())


def test_the_same_rows_whatever_they_lie_in(table, tmp_path):
    index = [699, 3, 450, 3]
    for source in kinds(table, str(tmp_path)):
        assert (source.n, source.d, source.t) == (700, 3, 1)
        leaves = list(source.leaves(30, 690, 128))
        assert [leaf.start for leaf in leaves] == [30, 158, 286, 414, 542, 670]
        np.testing.assert_array_equal(np.concatenate([leaf.X for leaf in leaves]), table[["a", "b", "c"]][30:690])
        found = source.take(index)
        np.testing.assert_array_equal(found.X, table[["a", "b", "c"]].to_numpy()[index])
        np.testing.assert_array_equal(found.y[:, 0], table["y"].to_numpy()[index])
        np.testing.assert_array_equal(found.weight, table["w"].to_numpy()[index])


def test_objects_are_rows_too():
    source = as_source(["a", "bb", "ccc"], np.arange(3.0))
    assert source.d is None
    assert [leaf.X for leaf in source.leaves(0, 3, 2)] == [["a", "bb"], ["ccc"]]


def summed(source, workers=None, **options):
    source.engine = Threads(workers)

    def leaf(sums, block):
        sums[0][:] += block.X.T @ np.sin(block.X)
        sums[1][:] += block.y.sum()

    return map_reduce(leaf, source, lambda: (np.zeros((3, 3)), np.zeros(1)), **options)


def test_the_same_bits_for_any_number_of_threads(rng):
    source = Arrays(rng.standard_normal((30_000, 3)), rng.standard_normal((30_000, 1)))
    one = summed(source, workers=1)
    for workers in (2, 3, 7):
        for a, b in zip(one, summed(source, workers=workers), strict=True):
            np.testing.assert_array_equal(a, b)


def test_tasks_cover_all_rows_in_whole_leaves():
    for n in (1, 1023, 1024, 1025, 10**6, 10**7 + 1):
        spans = tasks(n)
        assert len(spans) <= 256
        assert spans[0][0] == 0 and spans[-1][1] == n
        assert all(a[1] == b[0] and a[1] % 2048 == 0 for a, b in zip(spans, spans[1:], strict=False))


def test_a_budget_ends_a_pass(rng):
    source = Arrays(rng.standard_normal((5000, 3)), np.zeros((5000, 1)))
    with pytest.raises(OutOfTime, match="0 of 5000 rows"):
        summed(source, deadline=time.monotonic() - 1)


def test_progress_is_told_in_rows(rng):
    told = []
    summed(Arrays(rng.standard_normal((5000, 3)), np.zeros((5000, 1))), workers=2, progress=lambda *at: told.append(at))
    assert told == [(2048, 5000), (4096, 5000), (5000, 5000)]


def test_a_pass_goes_on_where_it_was_interrupted(rng, tmp_path):
    X = rng.standard_normal((20_000, 3))
    source, path = Arrays(X, np.zeros((20_000, 1))), tmp_path / "sums.npz"
    whole, seen = summed(source, workers=2), []

    def stop(done, n):
        if done > 10_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        summed(source, workers=2, checkpoint=Checkpoint(path, every=0), progress=stop)
    again = summed(source, workers=1, checkpoint=Checkpoint(path), progress=lambda done, n: seen.append(done))
    np.testing.assert_array_equal(again[0], whole[0])
    assert min(seen) > 8_192
    other = summed(Arrays(X[:-1], np.zeros((19_999, 1))), checkpoint=Checkpoint(path))  # other rows: it begins anew
    np.testing.assert_array_equal(other[0], summed(Arrays(X[:-1], np.zeros((19_999, 1))))[0])


KILLED = """
    import os, signal, sys
    import numpy as np
    from mercer.sources import Arrays, map_reduce
    from mercer.sources.passes import Checkpoint
    X = np.random.default_rng(0).standard_normal((40_000, 3))
    def leaf(sums, block):
        sums[0][:] += block.X.T @ np.sin(block.X)
    def progress(done, n):
        if done > int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
    found = map_reduce(leaf, Arrays(X, np.zeros((40_000, 1))), lambda: (np.zeros((3, 3)),),
                       checkpoint=Checkpoint(sys.argv[1], every=0), progress=progress)
    print(found[0].tobytes().hex())
"""


def test_killed_at_any_moment_it_ends_with_the_same_bits(tmp_path):
    def run(upto, path):
        code = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path / path), str(upto)]
        return subprocess.run(code, capture_output=True, text=True, check=False)

    assert run(17_000, "sums").returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob("sums.????????"))) == 1
    again, whole = run(10**9, "sums"), run(10**9, "other")
    assert again.returncode == 0, again.stderr
    assert again.stdout == whole.stdout != ""


def test_a_full_disk_is_told_and_the_pass_goes_on(rng, tmp_path):
    source = Arrays(rng.standard_normal((5000, 3)), np.zeros((5000, 1)))
    with pytest.warns(RuntimeWarning, match="no checkpoint was written"):
        found = summed(source, workers=1, checkpoint=Checkpoint(tmp_path / "none" / "sums", every=0))
    np.testing.assert_array_equal(found[0], summed(source)[0])
    summed(source, checkpoint=Checkpoint(tmp_path / "damaged", every=0))
    (file,) = tmp_path.glob("damaged.*")
    file.write_bytes(b"PK no archive")
    with pytest.warns(RuntimeWarning, match="begins anew"):
        summed(source, checkpoint=Checkpoint(tmp_path / "damaged"))


def test_a_disk_that_fills_while_it_is_written_leaves_nothing_half_written(rng, tmp_path, monkeypatch):
    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    source = Arrays(rng.standard_normal((5000, 3)), np.zeros((5000, 1)))
    with pytest.warns(RuntimeWarning, match="no checkpoint was written.*No space left") as told:
        found = summed(source, workers=1, checkpoint=Checkpoint(tmp_path / "sums", every=0))
    np.testing.assert_array_equal(found[0], summed(source)[0])
    assert not list(tmp_path.iterdir()) and len(told) == 1


def test_each_pass_has_a_file_and_those_that_are_done_are_not_made_again(rng, tmp_path):
    X, seen = rng.standard_normal((6000, 3)), []
    first, second = (Arrays(X + shift, np.zeros((6000, 1))) for shift in (0.0, 1.0))
    (tmp_path / "sums.0123abcd.txt").write_text("of somebody else")
    sums = [summed(one, checkpoint=Checkpoint(tmp_path / "sums", every=0)) for one in (first, second)]
    again = [
        summed(one, checkpoint=Checkpoint(tmp_path / "sums"), progress=lambda *at: seen.append(at))
        for one in (first, second)
    ]
    for a, b in zip(again, sums, strict=True):
        np.testing.assert_array_equal(a[0], b[0])
    assert not seen
    (tmp_path / "sums.0123abcd.77.part").write_text("half")
    Checkpoint(tmp_path / "sums").remove()
    assert [file.name for file in tmp_path.iterdir()] == ["sums.0123abcd.txt"]


# ----------------------------------------------------------------------------------------- what is wrong, and where
def test_a_file_that_grew_is_told(table, tmp_path):
    write(table, tmp_path, [300])
    source = as_source(tmp_path, "y")
    pl.concat([pl.read_parquet(file) for file in source.paths]).write_parquet(source.paths[0])
    source._open.clear()
    with pytest.raises(DataError, match=r"part 0 .* has more than its 300 rows: it was changed meanwhile"):
        list(source.stream())


def test_a_nan_is_named_by_part_and_row(table, tmp_path):
    broken = table.copy()
    broken.loc[203, "b"] = np.nan
    write(broken, tmp_path, [100, 200, 450])
    with pytest.raises(ValueError, match=r"X contains NaN: row 3 of part 2 \(.*part02.parquet\), column 'b'"):
        list(as_source(tmp_path, "y").stream())
    with pytest.raises(ValueError, match="row 203, column 1"):
        list(as_source(broken[["a", "b"]].to_numpy(), table["y"]).stream())


def test_an_empty_part_is_no_fault_and_counts(table, tmp_path):
    for name, rows in (("a", table[:400]), ("b", table[:0]), ("c", table[400:])):
        pl.from_pandas(rows).write_parquet(tmp_path / f"{name}.parquet")
    whole = [
        np.concatenate([block.y for block in as_source(given, "y").stream()]) for given in (tmp_path, lambda: [table])
    ]
    np.testing.assert_array_equal(*whole)
    broken = table.copy()
    broken.loc[403, "a"] = np.nan
    pl.from_pandas(broken[400:]).write_parquet(tmp_path / "c.parquet")
    with pytest.raises(ValueError, match=r"row 3 of part 2 \(.*c.parquet\), column 'a'"):
        list(as_source(tmp_path, "y").stream())


def test_a_part_with_other_columns_is_refused_by_name(table, tmp_path):
    write(table, tmp_path, [300])
    write(table.rename(columns={"b": "B"}), tmp_path, [])
    with pytest.raises(DataError, match=r"part 1 \(.*part01.parquet\) has other columns: no 'B' and 'b'"):
        as_source(tmp_path, "y")
    with pytest.raises(DataError, match="there is no column 'z'"):
        as_source(tmp_path / "part01.parquet", "z")


def test_text_is_refused_by_name(table, tmp_path):
    table["b"] = [str(i) for i in range(700)]
    table.loc[650, "b"] = "high"
    with pytest.raises(DataError, match="column 'b' of batch 0 does not hold numbers"):
        list(as_source(lambda: [table], "y").stream())


def test_a_truncated_file_is_named(table, tmp_path):
    write(table, tmp_path, [300])
    path = tmp_path / "part01.parquet"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"part01.parquet\)? cannot be read"):
        as_source(tmp_path, "y")


def test_no_rows_no_files_no_weights(table, tmp_path):
    write(table[:0], tmp_path, [])
    with pytest.raises(DataError, match="no row"):
        as_source(tmp_path, "y")
    with pytest.raises(FileNotFoundError, match="no file"):
        as_source(tmp_path / "*.csv", "y")
    with pytest.raises(ValueError, match="sample_weight must be finite and >= 0; it is -1.0 in row 0"):
        list(as_source(np.zeros((2, 1)), np.zeros(2), np.array([-1.0, 1.0])).stream())
    with pytest.raises(TypeError, match="name of a column"):
        as_source(tmp_path, np.zeros(3))


def test_batches_must_come_again(table):
    once = iter([table])
    source = as_source(lambda: iter([table]), "y")
    source._make = lambda: once
    list(source.stream())
    with pytest.raises(DataError, match="700 rows when they were counted, and 0 now"):
        list(source.stream())
