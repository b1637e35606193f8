"""Each error of reading is one line on the driver, once, the same for any number of workers."""

import os
import re
from pathlib import Path

import pytest

import noregret as nr
from noregret.arguments import ArgumentError
from noregret.cluster import Reader, gather
from noregret.cluster.errors import raised
from noregret.cluster.gathering import planned
from noregret.cluster.worker import Worker
from noregret.streams import Reading, StreamError
from noregret.streams.errors import CutShort
from tests.cluster.joint import gathered, same_as_one_process, workers, written

COUNTS = pytest.mark.parametrize("count", [1, 2, 3])
GOOD = "a,y\n1,0\n2,1\n3,0\n4,1\n"


def refusal(error, inputs, shards, count, **options):
    """Return the message of the one error, which must be one line."""
    with pytest.raises(error) as caught:
        gathered(inputs, shards, count, **options)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    return caught.value


@COUNTS
def test_a_missing_file(tmp_path, count):
    (path,) = written(tmp_path, "csv", GOOD)
    found = refusal(StreamError, [path, str(tmp_path / "no.csv")], 2, count)
    assert str(found) == f"{tmp_path / 'no.csv'}: no such file"
    found = refusal(StreamError, str(tmp_path / "x*.csv"), 2, count)
    assert str(found) == f"{tmp_path / 'x*.csv'}: no file has such a name"


@COUNTS
@pytest.mark.parametrize("shards", [1, 3, 6])
def test_a_file_that_a_worker_does_not_find(tmp_path, count, shards):
    paths = written(tmp_path, "csv", GOOD, GOOD, GOOD)
    hosts = workers(shards, count)
    plan = planned(paths, Reading(), shards)
    os.remove(paths[1])
    errors = [found for found in hosts.hosts("scan", plan) if "error" in found]
    assert errors
    for one in errors:
        assert one["error"]["fields"][0] == (
            f"{paths[1]}: no such file; expected a file that every worker can read under this name"
        )


@COUNTS
def test_an_unreadable_file(tmp_path, count, monkeypatch):
    paths = written(tmp_path, "csv", GOOD, GOOD, GOOD)
    opened = Path.open

    def refused(self, *arguments, **more):
        if str(self) == paths[1]:
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *arguments, **more)

    monkeypatch.setattr(Path, "open", refused)
    for shards in (1, 3, 6):
        found = refusal(StreamError, paths, shards, count, threads=0)
        assert str(found) == (
            f"{paths[1]}: Permission denied; expected a file that every worker can read under "
            "this name"
        )


@COUNTS
def test_a_file_that_changes_before_it_is_read(tmp_path, count):
    paths = written(tmp_path, "csv", GOOD, GOOD, GOOD)

    class Late(type(workers(1, 1))):
        def hosts(self, method, *arguments):
            with open(paths[2], "a") as file:
                file.write("9,1\n")
            return super().hosts(method, *arguments)

    for shards in (1, 3, 6):
        size = os.path.getsize(paths[2])
        with pytest.raises(StreamError) as caught:
            gather(Late([None] * shards, count, host=Reader), paths)
        assert str(caught.value) == (
            f"{paths[2]}: found {size + 4} bytes, {size} when the run began: the file changed "
            "while it was read; start again when it is complete"
        )


def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch):
    paths = written(tmp_path, "csv", GOOD, GOOD)
    append = Reader._scan.__globals__["Held"].append

    def late(self, *arguments):
        with open(paths[0], "a") as file:
            file.write("9,1\n")
        append(self, *arguments)

    monkeypatch.setattr(Reader._scan.__globals__["Held"], "append", late)
    assert "the file changed while it was read" in str(refusal(StreamError, paths, 2, 1))


def test_a_file_with_other_rows_for_another_worker(tmp_path):
    (path,) = written(tmp_path, "csv", GOOD)
    # One row in place of two, with as many bytes.
    other = GOOD.replace("3,0\n4,1\n", "3,10000\n")
    assert len(other) == len(GOOD)

    class Between(type(workers(1, 1))):
        def hosts(self, method, *arguments):
            found = []
            for host in self._hosts:
                found.append(getattr(host, method)(*arguments))
                Path(path).write_text(other)
            return found

    with pytest.raises(StreamError, match=r"found 4 rows, then 3: the file changed"):
        gather(Between([None] * 2, 2, host=Reader), path)


@COUNTS
@pytest.mark.parametrize("shards", [1, 3, 6])
def test_another_header(tmp_path, count, shards):
    a, b, c = written(tmp_path, "csv", GOOD, GOOD, GOOD.replace("a,y", "b,y"))
    found = refusal(StreamError, [a, b, c], shards, count)
    assert str(found) == f"{c}, line 1: found the header 'b,y', expected that of {a}"


@COUNTS
def test_other_columns_of_a_table(tmp_path, count):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    paths = [str(tmp_path / f"{k}.parquet") for k in range(3)]
    for path, column in zip(paths, "aab", strict=True):
        # All rows lack a label, but files are opened before any row is read.
        table = arrow.table({column: [1.0, 2.0], "y": arrow.array([None, None], arrow.int64())})
        pyarrow.parquet.write_table(table, path)
    found = refusal(StreamError, paths, 3, count)
    assert str(found) == f"{paths[2]}: its columns are not those of {paths[0]}: 'a' differs"


@COUNTS
def test_different_formats(tmp_path, count):
    (a,), (b,) = written(tmp_path, "csv", GOOD), written(tmp_path, "svm", "1 1:1\n")
    found = refusal(StreamError, [a, b], 2, count)
    assert str(found) == f"{a} is csv but {b} is svmlight: expected one format"


@COUNTS
@pytest.mark.parametrize("shards", [1, 2, 3, 6, 8])
def test_the_first_bad_row_of_all(tmp_path, count, shards):
    bad = GOOD + "oops,1\n5,0\n" * 3
    paths = written(tmp_path, "csv", GOOD, bad, bad)
    with pytest.raises(StreamError) as alone:
        list(nr.read(paths))
    found = refusal(StreamError, paths, shards, count)
    assert str(found) == str(alone.value)
    assert str(found).startswith(f"{paths[1]}, line 6, column 1: found 'oops', expected")


def test_a_last_line_that_is_cut_keeps_its_kind(tmp_path):
    paths = written(tmp_path, "svm", "1 1:1\n0 2:1\n", "1 1:1\n0 2:")
    found = refusal(CutShort, paths, 2, 2)
    assert str(found).endswith("; the input ends inside this line")


@pytest.mark.parametrize("mode", ["skip", "count"])
def test_refused_lines_are_counted_once(tmp_path, mode):
    bad = GOOD + "oops,1\n5,0\n" * 4
    paths = written(tmp_path, "csv", bad, GOOD, bad, bad + "x,0\n")
    found = same_as_one_process(paths, (1, 2, 3, 4, 7), on_error=mode, numeric="a")
    assert found.refused == 13
    # Of as many as one process keeps.
    assert len(found.complaints) == 10 * (mode == "count")


@COUNTS
def test_a_target_that_is_not_there_is_named_by_its_argument(tmp_path, count):
    paths = written(tmp_path, "csv", GOOD, GOOD)
    found = refusal(ArgumentError, paths, 2, count, target="z")
    assert (found.argument, found.found) == ("target", "z")
    assert "has no such column" in found.reason


def test_what_cannot_be_read_by_several(tmp_path):
    once = "can be read by one process only: save it to a file that every worker can read"
    for inputs in ("-", ["a.csv", "-"]):
        assert str(refusal(StreamError, inputs, 2, 2)) == f"standard input {once}"
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    assert str(refusal(StreamError, pipe, 2, 2)) == f"{pipe}: a pipe {once}"
    found = refusal(StreamError, [({"a": 1}, 1)], 2, 2)
    assert str(found) == "found a list, expected files, read by the workers"
    (path,) = written(tmp_path, "csv", GOOD)
    assert refusal(ArgumentError, path, 2, 2, shuffle=1).argument == "shuffle"
    assert refusal(ArgumentError, path, 2, 2, first_index=0).argument == "first_index"
    assert refusal(ArgumentError, path, 2, 2, colour="red").argument == "colour"


@COUNTS
def test_more_shards_than_rows(tmp_path, count):
    (path,) = written(tmp_path, "csv", GOOD)
    found = refusal(ArgumentError, path, 5, count)
    assert str(found) == "shards=5: found 4 rows in all, expected at least one a shard"
    assert gathered(path, 4, count)[0].rows == [1, 1, 1, 1]


@COUNTS
def test_a_file_with_fewer_rows_than_shards(tmp_path, count):
    paths = written(tmp_path, "csv", GOOD, "a,y\n" + "1" * 99 + ",0\n")
    found = refusal(ArgumentError, paths, 5, count)
    assert found.argument == "shards"
    assert re.search(r"b\.csv has 1 rows for \d of the shards, which leaves shard \d", str(found))


def test_nothing_in_any_file(tmp_path):
    paths = written(tmp_path, "svm", "", "")
    assert "expected lines of text" in str(refusal(StreamError, paths, 1, 1))


def test_rows_of_another_worker():
    with pytest.raises(IndexError, match="shard 0 is hosted by another worker"):
        Reader([None], 1, 2).rows(0)


def test_too_little_memory_at_a_worker(tmp_path, monkeypatch):
    (path,) = written(tmp_path, "csv", GOOD)

    def refused(self, *arguments):
        raise MemoryError

    monkeypatch.setattr("noregret.cluster.reading.Held.append", refused)
    worker = Worker("noregret.cluster.reading:Reader", 0, 1, 1)
    answer = worker.ask("scan", planned(path, Reading(), 1))
    assert str(raised(answer["error"])) == (
        "a worker has too little memory for its shards: use more workers or more shards"
    )
