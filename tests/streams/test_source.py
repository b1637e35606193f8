"""Where text comes from: compression, patterns, standard input, pipes; and what is no text."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from noregret.arguments import ArgumentError
from noregret.streams import StreamError, read, source
from noregret.streams.inputs import find
from noregret.streams.source import Source
from tests.streams.pipes import HANGS, Waiting


def zstd(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    packed: bytes = zstandard.ZstdCompressor().compress(data)
    return packed


PACKERS = [(".gz", gzip.compress), (".xz", lzma.compress), (".zst", zstd)]
packers = pytest.mark.parametrize(("suffix", "pack"), PACKERS)
TEXT = b"".join(b"%d 3:%d\n" % (t, t) for t in range(5000))
Pack = Callable[[bytes], bytes]


def everything(opened: Source) -> bytes:
    """Return all text of a source and check what every chunk promises."""
    reader = opened.open()
    parts = []
    while (chunk := reader.next()) is not None:
        assert chunk.stop + source.PADDING <= len(chunk.memory)
        assert chunk.memory[chunk.stop - 1 : chunk.stop] == b"\n"
        parts.append(bytes(chunk.memory[: chunk.stop]))
        reader.give_back(chunk)
    reader.close()
    return b"".join(parts)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", 256)


@packers
def test_compressed_files_read_like_plain_ones(tmp_path: Path, suffix: str, pack: Pack) -> None:
    path = tmp_path / f"packed.svm{suffix}"
    # Archives may be strung together.
    path.write_bytes(pack(TEXT[:2000]) + pack(TEXT[2000:]))
    stream = read(path)
    assert [label for block in stream for label in block.y] == list(range(5000))
    assert stream.bytes_read == path.stat().st_size


@packers
def test_a_damaged_archive_is_refused_with_its_name(
    tmp_path: Path, suffix: str, pack: Pack
) -> None:
    whole = pack(TEXT)
    path = tmp_path / f"broken.svm{suffix}"
    spoilt = bytearray(whole)
    for place in range(len(whole) // 2, len(whole) // 2 + 20):
        spoilt[place] ^= 0xFF
    for broken in (whole[: len(whole) // 2], whole[:-3], bytes(spoilt)):
        path.write_bytes(broken)
        try:
            read_back = everything(Source(path))
        except StreamError as refusal:
            assert "broken.svm" in str(refusal) and "damaged or cut short" in str(refusal)
        else:
            # zstd without a checksum cannot notice every spoilt byte, but never loses the end.
            assert suffix == ".zst" and broken == bytes(spoilt) and len(read_back) > 0


@packers
def test_what_follows_an_archive_is_read_or_refused(
    tmp_path: Path, suffix: str, pack: Pack
) -> None:
    path = tmp_path / f"two.svm{suffix}"
    first, second = pack(TEXT[:2000]), pack(TEXT[2000:])
    for padding in (bytes(4), bytes(20_000)):
        path.write_bytes(first + padding + second + padding)
        assert everything(Source(path)) == TEXT
    spoilt = bytearray(second)
    spoilt[1] ^= 0xFF
    for garbage in (bytes(spoilt), second[:3], b"1 1:1\n"):
        path.write_bytes(first + garbage)
        with pytest.raises(StreamError, match=r"two\.svm.*damaged or cut short"):
            everything(Source(path))


@packers
def test_archives_that_hold_little_or_nothing(tmp_path: Path, suffix: str, pack: Pack) -> None:
    path = tmp_path / f"many.svm{suffix}"
    path.write_bytes(b"".join(pack(b"") + pack(b"%d\n" % k) for k in range(300)))
    assert everything(Source(path)) == b"".join(b"%d\n" % k for k in range(300))


@packers
def test_content_that_contradicts_the_name_is_refused(
    tmp_path: Path, suffix: str, pack: Pack
) -> None:
    path = tmp_path / f"a.svm{suffix}"
    path.write_bytes(TEXT)
    with pytest.raises(StreamError, match=rf"ends in {suffix} but the content is not"):
        list(read(path))
    plain = tmp_path / "a.svm"
    plain.write_bytes(pack(TEXT))
    with pytest.raises(StreamError, match=rf"-compressed, expected a name that ends in {suffix}"):
        list(read(plain))
    other = ".xz" if suffix == ".gz" else ".gz"
    path = tmp_path / f"b.svm{other}"
    path.write_bytes(pack(TEXT))
    with pytest.raises(StreamError, match=rf"ends in {other} but the content is that of {suffix}"):
        list(read(path))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "nothing is there, expected lines"),
        (b"1 1:\x00\n", "binary"),
        (bytes(range(256)) * 40, "binary"),
        (b"PAR1xxxx", "a Parquet file"),
        (b"BZh91AY", "bzip2-compressed"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "odd.svm"
    path.write_bytes(content)
    with pytest.raises(StreamError, match=rf"odd\.svm: .*{complaint}"):
        list(read(path))


def test_missing_files_directories_and_patterns_without_match_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match=r"gone\.svm: no such file"):
        read(tmp_path / "gone.svm")
    (tmp_path / "folder.svm").mkdir()
    with pytest.raises(StreamError, match=r"folder\.svm: a directory, expected a file"):
        read(tmp_path / "folder.svm")
    with pytest.raises(StreamError, match=r"\*\.svmlight: no file has such a name"):
        read(str(tmp_path / "*.svmlight"))
    with pytest.raises(StreamError, match="no input"):
        read([])


@pytest.mark.parametrize("name", ["data", "data.gz", "data.docx"])
def test_a_name_that_does_not_tell_the_format_is_refused(name: str) -> None:
    with pytest.raises(StreamError, match=f"^{name}: the name does not tell the format") as caught:
        read(name)
    assert caught.value.argument == "format"


def test_a_format_can_be_named_and_formats_cannot_be_mixed(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(b"1 1:2\n")
    (block,) = read(path, format="svmlight")
    assert block.values.tolist() == [2.0]
    with pytest.raises(ArgumentError, match=r"format='docx': expected one of svmlight"):
        read(path, format="docx")
    with pytest.raises(ArgumentError, match=r"format: standard input has no name to tell it"):
        read("-")


@pytest.mark.usefixtures("small_chunks")
def test_several_files_count_their_own_lines(tmp_path: Path) -> None:
    for name, text in (("b", "1 1:1\n" * 99 + "2 1:1"), ("c", ""), ("a", "\ufeff0 1:1\r\n" * 1)):
        (tmp_path / f"{name}.svm").write_text(text, encoding="utf-8")
    pattern = str(tmp_path / "*.svm")
    stream = read(pattern)
    assert [label for block in stream for label in block.y] == [0, *[1] * 99, 2]
    assert stream.name.endswith("a.svm and 2 more")
    assert stream.bytes_read == stream.size
    with (tmp_path / "b.svm").open("a") as file:
        file.write(" x\n")
    with pytest.raises(StreamError, match=r"b\.svm, line 100, column 7: found 'x'"):
        list(read([tmp_path / "a.svm", tmp_path / "b.svm"]))


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("length", [1, 100, 190, 191, 192, 254, 255, 256, 257, 1000])
def test_lines_of_any_length_survive_the_cutting(tmp_path: Path, length: int) -> None:
    path = tmp_path / "lines"
    text = b"".join(b"x" * ((length * k) % (length + 7)) + b"\n" for k in range(50)) + b"end"
    path.write_bytes(text)
    assert everything(Source(path)) == text + b"\n"


@pytest.mark.usefixtures("small_chunks")
def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LONGEST_LINE", 1 << 12)
    path = tmp_path / "endless.svm"
    path.write_bytes(b"1" * 10_000)
    with pytest.raises(StreamError, match=r"endless\.svm: a line of more than"):
        everything(Source(path))


@pytest.mark.usefixtures("small_chunks")
def test_headers_are_taken_off_every_input_and_the_first_lines_can_be_seen(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(b"head\r\n" + b"row\n" * 200)
    opened = Source([tmp_path / "a", tmp_path / "b"], header=True)
    assert opened.peek().first_line() == b"head" and opened.peek().head()[:2] == [b"row", b"row"]
    reader = opened.open()
    chunk = reader.next()
    assert chunk is not None and chunk.line == 2
    reader.close()
    assert everything(opened) == b"row\n" * 400
    (tmp_path / "b").write_bytes(b"other\nrow\n")
    with pytest.raises(StreamError, match=r"b, line 1: found the header 'other', expected that of"):
        everything(opened)


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for packed in (TEXT, gzip.compress(TEXT), lzma.compress(TEXT), zstd(TEXT)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
        stream = read("-", format="svmlight")
        assert sum(map(len, stream)) == 5000
        assert stream.name == "standard input" and stream.size is None
        assert stream.bytes_read == len(packed)
        with pytest.raises(StreamError, match="standard input can be read once only"):
            list(stream)
    with pytest.raises(StreamError, match="found '-' twice"):
        find(["-", "-"])


class Pipe:
    """Standard input that a test writes to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        reading, self.writing = os.pipe()
        self.file = os.fdopen(reading, "rb")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(self.file))

    def write(self, data: bytes) -> None:
        os.write(self.writing, data)

    def close(self) -> None:
        os.close(self.writing)


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_a_slow_pipe_yields_rows_as_soon_as_they_are_whole(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    pipe = Pipe(monkeypatch)
    blocks = iter(read("-", format="svmlight", threads=threads))
    for k in range(5):
        pipe.write(b"%d 1:1\n%d 1:" % (k, k))
        assert next(blocks).y.tolist()[-1] == k
        pipe.write(b"2\n")
        assert next(blocks).y.tolist() == [k]
    pipe.write(b"9 1:1")
    pipe.close()
    assert next(blocks).y.tolist() == [9]
    assert next(blocks, None) is None


@pytest.mark.parametrize("threads", [0, 2])
def test_a_header_may_arrive_before_the_rows(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    pipe = Pipe(monkeypatch)
    pipe.write(b"label,a\n")
    later = Waiting(monkeypatch).then(lambda: (pipe.write(b"1,2\n2,3\n"), pipe.close()))
    stream = read("-", format="csv", target="label", threads=threads)
    blocks = list(stream)
    later.join()
    assert [label for block in blocks for label in block.y] == [1, 2]
    assert [value for block in blocks for value in block.values] == [2, 3]


@pytest.mark.parametrize(
    ("form", "head", "row"),
    [("csv", b"color,y\n", b"%s,%s\n"), ("jsonl", b"", b'{"color": "%s", "y": "%s"}\n')],
)
def test_the_speed_of_a_pipe_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, form: str, head: bytes, row: bytes
) -> None:
    pipe = Pipe(monkeypatch)
    # By its first rows alone the column would be numeric, and there would be one label.
    pipe.write(head + row % (b"1", b"no") * 3)
    rest = row % (b"red", b"no") * 1200 + row % (b"blue", b"yes")
    later = Waiting(monkeypatch).then(lambda: (pipe.write(rest), pipe.close()))
    stream = read("-", format=form, target="y", labels="binary")
    labels = np.concatenate([block.y for block in stream])
    later.join()
    assert labels.tolist() == [-1.0] * 1203 + [1.0]
    assert "color=blue" in set(stream.names)


def test_a_bad_line_after_a_header_that_came_alone_has_its_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipe = Pipe(monkeypatch)
    pipe.write(b"label,a\n")
    later = Waiting(monkeypatch).then(lambda: (pipe.write(b"1,2\n2,x\n"), pipe.close()))
    with pytest.raises(StreamError, match="standard input, line 3"):
        list(read("-", format="csv", target="label", numeric=["a"]))
    later.join()


def test_standard_input_that_is_closed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(StreamError, match="standard input is closed"):
        list(read("-", format="svmlight"))


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(OSError, match="/proc/self/mem"):
        list(read("/proc/self/mem", format="svmlight"))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_pipe_that_says_nothing_can_be_left(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    before = threading.active_count()
    waiting = Waiting(monkeypatch)
    pipe = Pipe(monkeypatch)
    pipe.write(b"1 1:1\n")
    blocks = iter(read("-", format="svmlight", threads=threads))
    assert len(next(blocks)) == 1
    waiting.wait()
    closing = threading.Thread(target=blocks.close)  # type: ignore[attr-defined]
    closing.start()
    closing.join(HANGS)
    assert not closing.is_alive() and threading.active_count() == before
    pipe.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_named_pipes_are_read_and_can_be_left_before_anyone_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pipe.svm"
    os.mkfifo(path)
    stream = read(path)
    assert stream.size is None
    writing = threading.Thread(target=path.write_bytes, args=(TEXT,))
    writing.start()
    assert sum(map(len, stream)) == 5000
    writing.join()
    with pytest.raises(StreamError, match=r"pipe\.svm can be read once only"):
        list(stream)
    before = threading.active_count()
    reader = Source(path).open()
    waking = Waiting(monkeypatch).then(reader.wake)
    assert reader.next() is None
    reader.close()
    waking.join(HANGS)
    assert threading.active_count() <= before


def test_a_compressed_pipe_yields_what_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe(monkeypatch)
    blocks = iter(read("-", format="svmlight"))
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb") as packing:
        packing.write(b"1 1:1\n")
        packing.flush()
        sent = file.getvalue()
        pipe.write(sent)
        assert next(blocks).y.tolist() == [1]
        packing.write(b"2 1:1\n")
    pipe.write(file.getvalue()[len(sent) :])
    pipe.close()
    assert next(blocks).y.tolist() == [2]
    assert next(blocks, None) is None
