"""Addresses: the memory file system of fsspec, and a web server of this machine."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.streams import StreamError, inputs, resolve
from noregret.streams.binary import write_binary
from tests.sizes import sized
from tests.streams.named_rows import examples_of

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

ROWS = sized(600, 5000)
TEXT = "a,city,y\n" + "".join(f"{k},{'xyz'[k % 3]},{k % 2}\n" for k in range(ROWS))


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def local(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text(TEXT)
    return path


def test_addresses_are_read_as_files_are(memory, local):
    memory.pipe("/data/a.csv", TEXT.encode())
    memory.pipe("/data/b.csv.gz", gzip.compress(TEXT.encode()))
    expected = examples_of(nr.read(local))
    stream = nr.read("memory://data/a.csv", threads=2)
    for _ in range(2):
        assert examples_of(stream) == expected
    assert stream.size == stream.bytes_read == len(TEXT)
    assert examples_of(nr.read("memory://data/b.csv.gz")) == expected
    both = nr.read([local, "memory://data/a.csv"])
    assert examples_of(both) == 2 * expected
    assert examples_of(nr.read("memory://data/*.csv*", format="csv")) == 2 * expected
    assert sum(map(len, nr.read("memory://data/a.csv", shuffle=1))) == ROWS


def test_tables_elsewhere(memory, local, tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import csv, feather, parquet

    table = csv.read_csv(local)
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, tmp_path / "a.arrow")
    expected = examples_of(nr.read(table))
    for kind in ("parquet", "arrow"):
        memory.pipe(f"/a.{kind}", (tmp_path / f"a.{kind}").read_bytes())
        stream = nr.read(f"memory://a.{kind}")
        assert examples_of(stream) == expected and stream.size
    assert isinstance(table, pa.Table)
    write_binary(nr.read(local), tmp_path / "c.arrow")
    memory.pipe("/c.arrow", (tmp_path / "c.arrow").read_bytes())
    with pytest.raises(StreamError, match=r"memory://c.arrow: the compact form is read from files"):
        nr.read("memory://c.arrow")


def test_the_web(web, local):
    expected = examples_of(nr.read(local))
    assert examples_of(nr.read(f"{web}/a.csv")) == expected
    assert examples_of(nr.read(f"{web}/a.csv?raw=1&x=*")) == expected
    assert resolve(f"{web}/a.csv?raw=1").format == "csv"
    with pytest.raises(StreamError, match=f"^{web}/b.csv: no such file$"):
        nr.read(f"{web}/b.csv")
    with pytest.raises(StreamError, match=r"^http://127\.0\.0\.1:9/a\.csv: ") as caught:
        nr.read("http://127.0.0.1:9/a.csv")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("memory://none.csv", "no such file"),
        ("memory://none*.csv", "no file has such a name"),
        ("nowhere://a.csv", "Protocol not known: nowhere"),
        ("memory://folder.csv", "a directory, expected a file"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(memory, address, reason):
    memory.pipe("/folder.csv/x", b"1")
    with pytest.raises(StreamError) as caught:
        nr.read(address)
    assert str(caught.value).startswith(f"{address}: ") and reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_connection_that_breaks_is_told(memory, monkeypatch):
    memory.pipe("/a.csv", TEXT.encode())

    class Broken:
        def __init__(self, file: Any):
            self.file, self.left = file, 2

        def read(self, size: int) -> bytes:
            self.left -= 1
            if not self.left:
                raise RuntimeError("connection\nlost")
            return self.file.read(min(size, 100))

        def close(self) -> None:
            self.file.close()

    plain = inputs.open_remote
    monkeypatch.setattr("noregret.streams.inputs.open_remote", lambda name: Broken(plain(name)))
    with pytest.raises(StreamError, match=r"^memory://a.csv: connection lost$"):
        list(nr.read("memory://a.csv"))


def test_what_an_address_needs_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(StreamError, match=r"needs? the package fsspec: pip install 'noregret\[rem"):
        nr.read("s3://bucket/a.csv")
