"""Blocks and the svmlight reader: what is read, and how bad input is refused."""

from __future__ import annotations

import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noregret.streams import Block, StreamError, read, read_svmlight
from noregret.streams.svmlight import parse_line

DATA = os.environ.get("NOREGRET_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="NOREGRET_DATA does not name a folder of data")


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def _write(text: str | bytes, name: str = "stream.svm") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return _write


def small_block(**changes: object) -> Block:
    fields: dict[str, object] = {
        "indptr": np.array([0, 2, 2, 3], np.uint64),
        "indices": np.array([0, 2, 1], np.uint32),
        "values": np.array([0.5, 2.0, -1.0]),
        "y": np.array([1.0, -1.0, 1.0]),
        "width": 3,
    }
    return Block(**(fields | changes))  # type: ignore[arg-type]


def test_rows_of_a_block_share_its_arrays_and_keep_its_content() -> None:
    block = small_block(weight=np.array([1.0, 2.0, 3.0]))
    part = block.rows(1, 3)
    assert (len(part), part.nonzeros, part.shape) == (2, 1, (2, 3))
    assert part.indices is block.indices
    assert part.weight is not None and part.weight.tolist() == [2.0, 3.0]
    np.testing.assert_array_equal(part.dense(), block.dense()[1:3])
    np.testing.assert_array_equal(part.rows(1, 2).dense(), block.dense()[2:3])


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 1), (0, 4)])
def test_rows_outside_a_block_are_refused(start: int, stop: int) -> None:
    with pytest.raises(IndexError, match=r"of a block of 3 rows"):
        small_block().rows(start, stop)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"indptr": np.array([0, 2, 2, 3])}, "indptr is int64, not uint64"),
        ({"indices": np.array([0, 2, 1])}, "indices are int64, not uint32"),
        ({"values": np.array([1, 2, 3])}, "values are int64, not float32 or float64"),
        ({"y": np.array([1, -1, 1])}, "y is int64, not float64"),
        ({"indptr": np.array([0, 3], np.uint64)}, r"expected \(4,\) for 3 labels"),
        ({"indptr": np.array([0, 2, 1, 3], np.uint64)}, "must not fall"),
        ({"indptr": np.array([0, 2, 2, 9], np.uint64)}, "end within the 3 nonzeros"),
        ({"values": np.array([1.0, 2.0])}, "expected one and the same length"),
        ({"weight": np.array([1.0])}, r"weight is float64 of shape \(1,\)"),
        ({"width": 2}, "width is 2 but column 2 occurs"),
    ],
)
def test_a_block_that_a_pass_could_not_read_safely_is_refused(
    changes: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        small_block(**changes)


def test_comments_blank_lines_qid_and_line_ends_are_understood(
    write: Callable[..., Path],
) -> None:
    path = write("# head\r\n\r\n+1 qid:3 1:0.5 4:-2e1 # tail 9:9\r\n   \n-1\n-1\t2:+3")
    (block,) = read(path)
    assert block.y.tolist() == [1.0, -1.0, -1.0]
    assert block.dense().tolist() == [[0.5, 0, 0, -20.0], [0, 0, 0, 0], [0, 3.0, 0, 0]]


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 100])
def test_blocks_are_bounded_and_together_are_the_file(
    write: Callable[..., Path], rows: int
) -> None:
    path = write("".join(f"{t} {t % 5 + 1}:{t}\n" for t in range(20)))
    blocks = list(read(path, rows=rows))
    assert [len(block) for block in blocks[:-1]] == [rows] * (len(blocks) - 1)
    assert np.concatenate([block.y for block in blocks]).tolist() == list(range(20))
    widths = [block.width for block in blocks]
    assert widths == sorted(widths) and widths[-1] == 5


def test_an_empty_file_has_no_blocks(write: Callable[..., Path]) -> None:
    assert list(read(write("# nothing\n\n"))) == []


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_compressed_files_read_like_plain_ones(
    write: Callable[..., Path], suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    text = b"".join(b"%d 3:%d\n" % (t, t) for t in range(5000))
    (plain,) = read(write(text))
    (packed,) = read(write(pack(text), "stream.svm" + suffix))
    np.testing.assert_array_equal(plain.dense(), packed.dense())
    np.testing.assert_array_equal(plain.y, packed.y)


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_damaged_archive_is_refused_with_its_name(
    write: Callable[..., Path], suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(b"".join(b"1 1:%d\n" % t for t in range(20000)))
    for broken in (packed[: len(packed) // 2], b"this is not an archive"):
        path = write(broken, "broken.svm" + suffix)
        with pytest.raises(StreamError, match=r"broken\.svm.*damaged or cut short"):
            list(read(path))


@pytest.mark.parametrize(
    ("text", "where", "found", "expected"),
    [
        ("x 1:1", "line 1, column 1", "'x'", "a finite number as label"),
        ("1 1:1\nnan 1:1", "line 2, column 1", "'nan'", "a finite number as label"),
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
        ("1 0:1", "line 1, column 3", "'0:1'", "an index from 1"),
        ("1 -4:1", "line 1, column 3", "'-4:1'", "an index from 1"),
        ("1 3:1 2:1", "line 1, column 7", "'2:1'", "an index above 3"),
        ("1 3:1 3:1", "line 1, column 7", "'3:1'", "an index above 3"),
        ("1 4294967297:1", "line 1, column 3", "'4294967297:1'", "an index up to 4294967296"),
        ("1 1:1\n1 1:\x00\n", "line 2, column 3", "'1:\\x00'", "a finite number after"),
    ],
)
def test_bad_lines_are_refused_with_file_line_column_and_text(
    write: Callable[..., Path], text: str, where: str, found: str, expected: str
) -> None:
    path = write(text, "bad.svm")
    with pytest.raises(StreamError) as refusal:
        list(read(path))
    message = str(refusal.value)
    assert message.startswith(f"{path}, {where}: found {found}, expected {expected}"), message
    assert "\n" not in message


def test_long_rubbish_is_shortened_and_bytes_that_are_no_text_are_shown(
    write: Callable[..., Path],
) -> None:
    with pytest.raises(StreamError, match=r"x{37}\.\.\.'"):
        list(read(write("x" * 1000)))
    with pytest.raises(StreamError, match=r"found '\\\\xff', expected a finite number"):
        list(read(write(b"\xff 1:1")))


@pytest.mark.parametrize(
    ("text", "y", "label_map"),
    [
        ("-1\n+1\n", [-1, 1], {-1: -1, 1: 1}),
        ("0\n1\n0\n", [-1, 1, -1], {0: -1, 1: 1}),
        ("2\n1\n", [1, -1], {1: -1, 2: 1}),
        ("1.0\n1e0\n", [1, 1], {1: 1}),
        ("2\n2\n", [1, 1], {2: 1}),
    ],
)
def test_binary_labels_are_mapped_and_the_mapping_is_told(
    write: Callable[..., Path], text: str, y: list[float], label_map: dict[float, float]
) -> None:
    stream = read(write(text), labels="binary")
    (block,) = stream
    assert block.y.tolist() == y
    assert stream.label_map == label_map


def test_a_label_that_disagrees_later_is_refused(write: Callable[..., Path]) -> None:
    stream = read(write("0\n1\n1\n-1\n"), labels="binary", rows=2)
    with pytest.raises(StreamError, match=r"line 4: found label '-1', expected 0/1, since those"):
        list(stream)
    with pytest.raises(StreamError, match=r"line 3: found label '3', expected -1/1 or 0/1 or 1/2;"):
        list(read(write("1\n1\n3\n"), labels="binary"))


def test_ones_alone_in_the_first_block_are_positive_and_bind_what_follows(
    write: Callable[..., Path],
) -> None:
    first, second = read(write("1\n1\n0\n1\n"), labels="binary", rows=2)
    assert first.y.tolist() + second.y.tolist() == [1, 1, -1, 1]
    with pytest.raises(StreamError, match=r"line 3: found label '2', expected -1/1 or 0/1"):
        list(read(write("1\n1\n2\n1\n"), labels="binary", rows=2))
    first, second = read(write("1\n1\n2\n1\n"), labels=(1, 2), rows=2)
    assert first.y.tolist() + second.y.tolist() == [-1, -1, 1, -1]


def test_a_stream_can_be_read_again(write: Callable[..., Path]) -> None:
    stream = read(write("0 1:1\n1 2:2\n"), labels="binary", rows=1)
    once, again = list(stream), list(stream)
    assert [block.y.tolist() for block in once] == [block.y.tolist() for block in again]
    assert stream.bytes_read == stream.path.stat().st_size


def test_counting_from_zero_and_a_width_in_advance(write: Callable[..., Path]) -> None:
    (block,) = read(write("1 0:5 2:6\n"), first_index=0, width=4)
    assert block.dense().tolist() == [[5, 0, 6, 0]]
    with pytest.raises(StreamError, match=r"line 1: found index 5, expected at most 4 since"):
        list(read(write("1 5:1\n"), width=4))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"labels": "sign"}, 'expected "real", "binary" or a pair'),
        ({"labels": (1, 1)}, 'expected "real", "binary" or a pair'),
        ({"rows": 0}, "at least one row"),
        ({"first_index": 2}, "expected 0 or 1"),
    ],
)
def test_arguments_that_make_no_stream_are_refused(
    arguments: dict[str, object], complaint: str
) -> None:
    with pytest.raises(StreamError, match=complaint):
        read_svmlight("any.svm", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["data", "data.gz", "data.parquet"])
def test_a_name_that_does_not_tell_the_format_is_refused(name: str) -> None:
    with pytest.raises(StreamError, match=r"the name does not tell the format"):
        read(name)


rows_of_numbers = st.lists(
    st.tuples(
        st.floats(allow_nan=False, allow_infinity=False),
        st.dictionaries(
            st.integers(0, 2**32 - 1), st.floats(allow_nan=False, allow_infinity=False), max_size=8
        ),
    ),
    min_size=1,
    max_size=20,
)


@given(rows_of_numbers)
def test_what_is_written_is_read_back_to_the_bit(
    rows: list[tuple[float, dict[int, float]]],
) -> None:
    for label, features in rows:
        line = f"{label!r} " + " ".join(f"{i + 1}:{features[i]!r}" for i in sorted(features))
        y, columns, values = parse_line(line.encode())
        assert np.float64(y).tobytes() == np.float64(label).tobytes()
        assert columns == sorted(features)
        assert np.array(values).tobytes() == np.array([features[i] for i in columns]).tobytes()


@pytest.mark.fuzz
@settings(
    max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(alphabet="01259+-.:#eqidnaf_ \t\r\n\x00", max_size=60).map(str.encode) | st.binary())
def test_any_bytes_are_read_or_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fuzz.svm"
    path.write_bytes(content)
    try:
        blocks = list(read(path, rows=3))
    except StreamError as refusal:
        assert str(refusal).startswith(f"{path}, line ")
        assert "\n" not in str(refusal)
    else:
        assert all(np.isfinite(block.values).all() for block in blocks)


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
