"""Work ahead: order, bounds, and threads that always end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from noregret.streams import StreamError, read, source, stream
from noregret.streams.ahead import ahead, parts_ahead

pytestmark = pytest.mark.compiled


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("threads", [0, 1, 2, 5])
@pytest.mark.parametrize("ordered", [False, True])
def test_results_come_in_order_and_little_is_under_way(threads: int, ordered: bool) -> None:
    numbers = iter(range(60))
    fetched, worked, taken = [], [], 0

    def fetch() -> int | None:
        number = next(numbers, None)
        if number is not None:
            assert number - taken <= 3 * threads
            fetched.append(number)
        return number

    def work(number: int) -> int:
        time.sleep(random.random() * 0.002)
        worked.append(number)
        return -number

    for k, result in enumerate(ahead(fetch, work, threads=threads, ordered=ordered)):
        assert result == -k
        taken += 1
    assert taken == 60 and fetched == list(range(60))
    assert worked == fetched if ordered or threads < 2 else sorted(worked) == fetched


@pytest.mark.parametrize("threads", [0, 1, 3])
@pytest.mark.parametrize("where", ["fetch", "work"])
@pytest.mark.parametrize("ordered", [False, True])
def test_an_exception_takes_the_place_of_its_item(threads: int, where: str, ordered: bool) -> None:
    numbers = iter(range(100))

    def fetch() -> int | None:
        number = next(numbers, None)
        if number == 7 and where == "fetch":
            raise StreamError("seven")
        return number

    def work(number: int) -> int:
        if number == 7 and where == "work":
            raise StreamError("seven")
        return number

    seen = []
    with pytest.raises(StreamError, match="seven"):
        for number in ahead(fetch, work, threads=threads, ordered=ordered):
            seen.append(number)
    assert seen == list(range(7))


def test_a_fetch_that_fails_does_not_let_ordered_work_overtake() -> None:
    numbers = iter(range(2))
    failed = threading.Event()
    worked: list[str] = []

    def fetch() -> int:
        for number in numbers:
            return number
        failed.set()
        raise StreamError("no third")

    def work(number: int) -> int:
        worked.append(f"begin {number}")
        assert failed.wait(300)
        time.sleep(0.05)
        worked.append(f"end {number}")
        return number

    results = ahead(fetch, work, threads=3, ordered=True)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(StreamError, match="no third"):
        next(results)
    assert worked == ["begin 0", "end 0", "begin 1", "end 1"]


@pytest.mark.parametrize("threads", [0, 1, 2, 5])
@pytest.mark.parametrize("ordered", [False, True])
def test_parts_come_in_order_and_few_wait(threads: int, ordered: bool) -> None:
    lengths = iter([3, 0, 100, 1, 0, 0, 50, 2])
    lock = threading.Lock()
    made = taken = 0

    def work(length: int) -> Iterator[tuple[int, int]]:
        nonlocal made
        for k in range(length):
            with lock:
                made += 1
                # Those that wait, that each thread has in hand, and that was just taken.
                assert made - taken <= 3 * threads + 1 + threads + 1
            yield length, k

    parts = parts_ahead(lambda: next(lengths, None), work, threads=threads, ordered=ordered)
    for expected in [(n, k) for n in (3, 100, 1, 50, 2) for k in range(n)]:
        assert next(parts) == expected
        taken += 1
    assert next(parts, None) is None and made == 156


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_parts_before_an_exception_are_taken_and_parts_can_be_left(threads: int) -> None:
    def work(number: int) -> Iterator[int]:
        yield number
        if number == 4:
            raise StreamError("four")
        yield -number

    numbers = iter(range(1, 100))
    seen = []
    with pytest.raises(StreamError, match="four"):
        for part in parts_ahead(lambda: next(numbers, None), work, threads=threads):
            seen.append(part)
    assert seen == [1, -1, 2, -2, 3, -3, 4]
    endless = parts_ahead(lambda: 1, lambda _: iter(int, 1), threads=threads)
    assert [next(endless) for _ in range(50)] == [0] * 50
    endless.close()


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_nothing_to_do_is_done(threads: int) -> None:
    assert list(ahead(lambda: None, lambda item: item, threads=threads)) == []


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(source, "CHUNK", 1 << 12)
    file = tmp_path / "many.svm"
    file.write_text("".join(f"{t} 1:{t} 7:0.5\n" for t in range(20_000)))
    return file


def test_leaving_a_stream_early_ends_its_threads(path: Path) -> None:
    for threads in (1, 2, 4):
        for block in read(path, threads=threads):
            assert len(block)
            break


def test_an_exception_in_the_consumer_ends_the_threads(path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        for block in read(path):
            raise ZeroDivisionError(len(block))


@pytest.mark.parametrize("threads", [0, 1, 2, 3])
def test_how_many_threads_parse_changes_nothing(path: Path, threads: int) -> None:
    rows = [label for block in read(path, threads=threads) for label in block.y]
    assert rows == list(range(20_000))


def test_blocks_that_are_kept_are_not_written_over(path: Path) -> None:
    kept = [block.rows(0, min(3, len(block))) for block in read(path, rows=50)]
    for block in kept:
        assert block.values[block.indptr[:-1]].tolist() == block.y.tolist()


def test_memory_is_used_again_and_does_not_grow(path: Path) -> None:
    opened = read(path)
    for _ in range(3):
        for block in opened:
            del block
        slabs = opened.format._slabs._slabs  # type: ignore[attr-defined]
        assert all(len(kind) <= 8 for kind in slabs.values())


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_little_is_held_back_to_know_the_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_error: Literal["stop", "skip"]
) -> None:
    monkeypatch.setattr(source, "CHUNK", 1 << 12)
    monkeypatch.setattr(stream, "HELD", 1000)
    path = tmp_path / "bad.svm"
    # Ones alone, which may yet turn out to mean -1, and then nothing that is an example.
    path.write_text("1 1:1\n" * 10 + "nothing\n" * 50_000 + "2 1:1\n")
    opened = read(path, labels="binary", on_error=on_error, threads=1)
    blocks = iter(opened)
    assert next(blocks).y.tolist() == [1.0] * 10
    # What is read ahead is not read yet.
    assert opened.bytes_read < path.stat().st_size / 10
    if on_error == "stop":
        with pytest.raises(StreamError, match=r"bad\.svm, line 11, column 1: found 'nothing'"):
            next(blocks)
    else:
        assert list(blocks) == [] and opened.refused == 50_001


def test_wide_rows_are_not_held_back_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "CHUNK", 1 << 12)
    monkeypatch.setattr(stream, "HELD", 1000)
    path = tmp_path / "wide.svm"
    path.write_text(("1 " + " ".join(f"{k}:1" for k in range(1, 300)) + "\n") * 100 + "0 1:1\n")
    opened = read(path, labels="binary", threads=0)
    blocks = iter(opened)
    assert next(blocks).y.tolist()[0] == 1.0
    assert opened.bytes_read < path.stat().st_size / 10
    assert [label for block in blocks for label in block.y][-2:] == [1.0, -1.0]


PROGRAM = """
import signal, sys, noregret as nr
# A shell's background job, which these tests may be part of, ignores the signal from birth.
signal.signal(signal.SIGINT, signal.default_int_handler)
from noregret.streams import source
source.CHUNK = 1 << 12
import select
real = select.poll
class Watched:
    def __init__(self):
        self.real = real()
        self.register = self.real.register
    def poll(self, *timeout):
        ready = self.real.poll(0)
        if ready or timeout:
            return ready
        print("waiting", flush=True)
        return self.real.poll()
select.poll = Watched
# With the first row there, whoever waits has taken it.
select.select([0], [], [])
for block in nr.read(sys.argv[1], format="svmlight"):
    print(len(block), flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals to a process are those of POSIX")
def test_ctrl_c_ends_a_stream_that_waits(tmp_path: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert run.stdin is not None and run.stdout is not None
    run.stdin.write(b"1 1:1\n")
    run.stdin.flush()
    assert {run.stdout.readline() for _ in range(2)} == {b"waiting\n", b"1\n"}
    run.send_signal(signal.SIGINT)
    _, complaint = run.communicate(timeout=300)
    assert run.returncode != 0 and complaint.rstrip().endswith(b"KeyboardInterrupt")


def test_an_iteration_that_nobody_ends_does_not_keep_the_interpreter(path: Path) -> None:
    program = "import sys, noregret as nr\nblocks = iter(nr.read(sys.argv[1], rows=10))\n"
    program += "next(blocks)\nraise SystemExit(7)\n"
    assert subprocess.run([sys.executable, "-c", program, str(path)], timeout=300).returncode == 7
