"""svmlight text: what is read, and how bad lines are refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from noregret.streams import StreamError, read
from tests.streams.opening import open_svmlight

DATA = os.environ.get("NOREGRET_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="NOREGRET_DATA does not name a folder of data")
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def _write(text: str | bytes, name: str = "stream.svm") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return _write


def test_comments_blank_lines_qid_and_line_ends_are_understood(write: Write) -> None:
    path = write("# head\r\n\r\n+1 qid:3 1:0.5 4:-2e1 # tail 9:9\r\n   \n-1\n-1\t2:+3#x")
    (block,) = read(path)
    assert block.y.tolist() == [1.0, -1.0, -1.0]
    assert block.dense().tolist() == [[0.5, 0, 0, -20.0], [0, 0, 0, 0], [0, 3.0, 0, 0]]


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 100])
def test_blocks_are_bounded_and_together_are_the_file(write: Write, rows: int) -> None:
    path = write("".join(f"{t} {t % 5 + 1}:{t}\n" for t in range(20)))
    blocks = list(read(path, rows=rows))
    assert [len(block) for block in blocks[:-1]] == [rows] * (len(blocks) - 1)
    assert np.concatenate([block.y for block in blocks]).tolist() == list(range(20))
    assert blocks[-1].width == 5


def test_comments_alone_make_no_blocks(write: Write) -> None:
    assert list(read(write("# nothing\n\n"))) == []


REFUSED = [
    ("x 1:1", "line 1, column 1", "'x'", "a finite number as label"),
    ("1 1:1\nnan 1:1", "line 2, column 1", "'nan'", "a finite number as label"),
    ("1 1:1\n1e400 1:1", "line 2, column 1", "'1e400'", "a finite number as label"),
    ("1 1:1\n\n# c\n1 1:1 2", "line 4, column 7", "'2'", "index:value"),
    ("1 a:1", "line 1, column 3", "'a:1'", "index:value"),
    ("1 1.5:1", "line 1, column 3", "'1.5:1'", "index:value"),
    ("1 1_0:1", "line 1, column 3", "'1_0:1'", "index:value"),
    ("1 1:1 qid:3", "line 1, column 7", "'qid:3'", "index:value"),
    ("1 1:2:3", "line 1, column 3", "'1:2:3'", "a finite number after the colon"),
    ("1  1:", "line 1, column 4", "'1:'", "a finite number after the colon"),
    ("1 1:inf", "line 1, column 3", "'1:inf'", "a finite number after the colon"),
    ("1 1:1e999", "line 1, column 3", "'1:1e999'", "a finite number after the colon"),
    ("1 1:1_0", "line 1, column 3", "'1:1_0'", "a finite number after the colon"),
    ("1 1:1e", "line 1, column 3", "'1:1e'", "a finite number after the colon"),
    ("1 0:1", "line 1, column 3", "'0:1'", "an index from 1"),
    ("1 -4:1", "line 1, column 3", "'-4:1'", "an index from 1"),
    ("1 3:1 2:1", "line 1, column 7", "'2:1'", "an index above 3"),
    ("1 3:1 3:1", "line 1, column 7", "'3:1'", "an index above 3"),
    ("1 4294967297:1", "line 1, column 3", "'4294967297:1'", "an index up to 4294967296"),
    (f"1 {'9' * 30}:1", "line 1, column 3", f"'{'9' * 30}:1'", "an index up to 4294967296"),
    ("1 1:1\n" * 3000 + "1 1:\x00", "line 3001, column 3", "'1:\\x00'", "a finite number after"),
]


@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize(("text", "where", "found", "expected"), REFUSED)
def test_bad_lines_are_refused_with_file_line_column_and_text(
    write: Write, text: str, where: str, found: str, expected: str, threads: int
) -> None:
    path = write(text, "bad.svm")
    with pytest.raises(StreamError) as refusal:
        list(read(path, threads=threads))
    message = str(refusal.value)
    assert message.startswith(f"{path}, {where}: found {found}, expected {expected}"), message
    assert "\n" not in message


def test_long_rubbish_is_shortened_and_bytes_that_are_no_text_are_shown(write: Write) -> None:
    with pytest.raises(StreamError, match=r"x{37}\.\.\.'"):
        list(read(write("x" * 1000)))
    with pytest.raises(StreamError, match=r"found '\\\\xff', expected a finite number"):
        list(read(write(b"\xff 1:1")))


def test_the_lines_before_a_bad_one_are_read(write: Write) -> None:
    path = write("1 1:1\n# c\n2 1:2\n3 1:x\n4 1:4\n")
    seen = []
    with pytest.raises(StreamError, match=r"line 4, column 3"):
        for block in read(path):
            seen += block.y.tolist()
    assert seen == [1, 2]


@pytest.mark.parametrize(("on_error", "kept"), [("skip", 0), ("count", 10)])
def test_bad_lines_can_be_left_out_and_are_counted(write: Write, on_error: str, kept: int) -> None:
    lines = [f"{t % 2} 1:{t}" if t % 3 else f"{t} 1:x" for t in range(60)]
    stream = read(write("\n".join([*lines, "7 1:1"])), labels="binary", on_error=on_error)
    blocks = list(stream)
    values = np.concatenate([block.dense()[:, 0] for block in blocks])
    assert values.tolist() == [t for t in range(60) if t % 3]
    assert stream.refused == 21 and len(stream.complaints) == kept
    if kept:
        assert stream.complaints[1].endswith(
            "line 4, column 3: found '1:x', expected a finite number after the colon"
        )
        few = read(write("0 1:1\n1 1:2\n5 1:3\n1 1:4\n"), labels="binary", on_error="count")
        assert [block.dense()[:, 0].tolist() for block in few] == [[1.0, 2.0], [4.0]]
        assert few.refused == 1 and "line 3: found label '5', expected 0/1" in few.complaints[0]


def test_a_stream_can_be_read_again(write: Write) -> None:
    path = write("0 1:1\n1 2:2\n")
    stream = read(path, labels="binary", rows=1)
    once, again = list(stream), list(stream)
    assert [block.y.tolist() for block in once] == [block.y.tolist() for block in again]
    assert stream.bytes_read == stream.size == path.stat().st_size
    assert stream.name == str(path)


def test_counting_from_zero_and_a_width_in_advance(write: Write) -> None:
    (block,) = read(write("1 0:5 2:6\n"), first_index=0, width=4)
    assert block.dense().tolist() == [[5, 0, 6, 0]]
    with pytest.raises(StreamError, match=r"line 1, column 3: found '5:1', expected an index up"):
        list(read(write("1 5:1\n"), width=4))


@pytest.mark.parametrize("first_index", [0, 1])
def test_a_constant_feature_stands_in_column_0(write: Write, first_index: int) -> None:
    stream = read(write("1 1:5 3:6\n2\n"), constant=1.5, first_index=first_index)
    (block,) = stream
    dense = block.dense()
    assert dense[:, 0].tolist() == [1.5, 1.5]
    assert dense[0, [2 - first_index, 4 - first_index]].tolist() == [5, 6] and dense.sum() == 14
    assert stream.names.name(0) == "intercept" and stream.names.name(2 - first_index) == "1"
    assert stream.names.column("3") == 4 - first_index and stream.names.column("x") is None
    with pytest.raises(StreamError, match=r"an index up to 2, since the width was given as 3"):
        list(read(write("1 3:1\n"), constant=1.0, width=3))


def test_values_can_be_single_precision(write: Write) -> None:
    (block,) = read(write("1 1:0.1 2:3e38\n"), dtype="float32")
    assert block.values.dtype == np.float32
    assert block.values.tolist() == [np.float32(0.1), np.float32(3e38)]
    with pytest.raises(StreamError, match=r"a number of size at most 3\.4"):
        list(read(write("1 1:1e39\n"), dtype="float32"))


def test_labels_can_be_names(write: Write) -> None:
    stream = read(write("ham 1:1\nspam 1:2\nham\n"), labels=("ham", "spam"))
    (block,) = stream
    assert block.y.tolist() == [-1, 1, -1] and stream.label_map == {"ham": -1.0, "spam": 1.0}
    for text in ("spa 1:1", "hams 1:1", "1 1:1"):
        with pytest.raises(StreamError, match=r"expected 'ham' or 'spam' as label"):
            list(read(write(text), labels=("ham", "spam")))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"labels": "sign"}, 'expected "real", "binary", "classes" or a pair'),
        ({"labels": (1, 1)}, 'expected "real", "binary", "classes" or a pair'),
        ({"labels": (1, "b")}, 'expected "real", "binary", "classes" or a pair'),
        ({"labels": (1, float("nan"))}, 'expected "real", "binary", "classes" or a pair'),
        ({"rows": 0}, "at least one row"),
        ({"first_index": 2}, "expected 0 or 1"),
        ({"on_error": "ignore"}, "expected 'stop', 'skip' or 'count'"),
        ({"threads": -1}, "expected how many parse ahead"),
        ({"width": -1}, "expected the number of features"),
        ({"width": 2**32 + 1}, "expected the number of features, 1 to 4294967296"),
        ({"width": 1, "constant": 1.0, "first_index": 0}, "the number of features, 2 to"),
        ({"dtype": "int"}, "expected 'float32' or 'float64'"),
        ({"constant": float("nan")}, "expected a finite number"),
        ({"separator": ","}, "separator=',': no option of format svmlight, which knows format, "),
    ],
)
def test_arguments_that_make_no_stream_are_refused(
    write: Write, arguments: dict[str, object], complaint: str
) -> None:
    with pytest.raises(StreamError, match=complaint):
        read(write("1 1:1\n"), **arguments)  # type: ignore[arg-type]


@pytest.mark.compiled
@needs_data
@pytest.mark.parametrize(
    ("name", "rows", "width", "positive", "label_map"),
    [
        ("a9a/a9a.svm.xz", 32561, 123, 7841, {-1: -1, 1: 1}),
        ("mushrooms/mushrooms.svm.xz", 8124, 112, 4208, {1: -1, 2: 1}),
        ("phishing/phishing.svm.xz", 11055, 68, 6157, {0: -1, 1: 1}),
        ("rcv1_small/rcv1_small.svm.xz", 1000, None, 459, {-1: -1, 1: 1}),
    ],
)
def test_real_files_have_the_known_counts(
    name: str, rows: int, width: int | None, positive: int, label_map: dict[float, float]
) -> None:
    assert DATA is not None
    stream = read(Path(DATA) / name, labels="binary")
    blocks = list(stream)
    assert sum(map(len, blocks)) == rows
    assert sum(int((block.y > 0).sum()) for block in blocks) == positive
    assert width is None or blocks[-1].width == width
    assert stream.label_map == label_map


@pytest.mark.compiled
@needs_data
def test_real_files_are_read_as_scikit_learn_reads_them() -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    import lzma

    assert DATA is not None
    paths = sorted(Path(DATA).rglob("*.svm.xz"))
    assert len(paths) >= 8
    for path in paths:
        with lzma.open(path) as file:
            theirs, labels = datasets.load_svmlight_file(file, zero_based=False)
        blocks = list(open_svmlight(path))
        indptr = np.cumsum(np.concatenate([[0], *(np.diff(b.indptr) for b in blocks)]))
        columns = np.concatenate([b.indices[b.indptr[0] : b.indptr[-1]] for b in blocks])
        values = np.concatenate([b.values[b.indptr[0] : b.indptr[-1]] for b in blocks])
        assert np.array_equal(indptr, theirs.indptr) and np.array_equal(columns, theirs.indices)
        assert values.tobytes() == theirs.data.tobytes(), path
        assert np.concatenate([b.y for b in blocks]).tobytes() == labels.tobytes(), path
