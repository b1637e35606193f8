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

import pytest

from noregret.streams import StreamError, read, source
from noregret.streams.ahead import ahead


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
    stream = read(path)
    for _ in range(3):
        for block in stream:
            del block
        slabs = stream.format._slabs._slabs  # type: ignore[attr-defined]
        assert all(len(kind) <= 8 for kind in slabs.values())


PROGRAM = """
import signal, sys, noregret as nr
# A shell's background job, which these tests may be part of, ignores the signal from birth.
signal.signal(signal.SIGINT, signal.default_int_handler)
from noregret.streams import source
source.CHUNK = 1 << 12
print("ready", flush=True)
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
    assert [run.stdout.readline() for _ in range(2)] == [b"ready\n", b"1\n"]
    time.sleep(0.1)
    run.send_signal(signal.SIGINT)
    _, complaint = run.communicate(timeout=20)
    assert run.returncode != 0 and complaint.rstrip().endswith(b"KeyboardInterrupt")


def test_an_iteration_that_nobody_ends_does_not_keep_the_interpreter(path: Path) -> None:
    program = "import sys, noregret as nr\nblocks = iter(nr.read(sys.argv[1], rows=10))\n"
    program += "next(blocks)\nraise SystemExit(7)\n"
    assert subprocess.run([sys.executable, "-c", program, str(path)], timeout=60).returncode == 7
