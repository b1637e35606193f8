"""Parsing alone against scikit-learn's loader: python -m bench.parsing [--rows N] [--turns N].

Both read the same svmlight file from the disk's cache into arrays of float64, and what they read
is compared to the bit before anything is timed.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from bench import machine
from bench.data import Data, make
from bench.formats import write
from bench.timing import Line, interleave
from noregret.streams import read

ROWS = 100_000
TURNS = 5
THREADS = {"one thread": 0, "two threads": 2}
BARS = {"one thread": 15.0, "two threads": 25.0}


def against_sklearn(data: Data, turns: int) -> Iterator[Line]:
    """Time short decimals, as most files have them, then all the digits of a float64."""
    with tempfile.TemporaryDirectory() as folder:
        short = Path(folder) / "short.svm"
        write(data, short, "svmlight")
        yield from _compare("six digits", short, turns, BARS)
        long = Path(folder) / "long.svm"
        part = data.head(len(data.y) // 4)
        dump_svmlight_file(part.X.astype(np.float64), part.y, str(long), zero_based=False)
        yield from _compare("sixteen digits", long, turns, {})


def _compare(what: str, path: Path, turns: int, bars: dict[str, float]) -> Iterator[Line]:
    _require_equal(path)
    contestants = {"scikit-learn": lambda: load_svmlight_file(str(path), zero_based=False)}
    for name, threads in THREADS.items():
        contestants[name] = lambda threads=threads: _consume(path, threads)
    times = interleave(contestants, turns)
    megabytes = path.stat().st_size / 1e6
    for name in THREADS:
        speed = f"{megabytes / times.best(name):.0f} against"
        speed += f" {megabytes / times.best('scikit-learn'):.0f} MB/s"
        yield Line(
            f"parsing {what} with {name}, {speed}",
            1.0 / times.ratio(name, "scikit-learn"),
            1.0 / times.median_ratio(name, "scikit-learn"),
            at_least=bars.get(name),
        )


def _consume(path: Path, threads: int) -> int:
    return sum(map(len, read(path, threads=threads)))


def _require_equal(path: Path) -> None:
    X, y = load_svmlight_file(str(path), zero_based=False)
    row = 0
    for block in read(path):
        begin, end = int(block.indptr[0]), int(block.indptr[-1])
        first, last = X.indptr[row], X.indptr[row + len(block)]
        same = (
            np.array_equal(block.y, y[row : row + len(block)])
            and np.array_equal(np.diff(block.indptr), np.diff(X.indptr[row : row + len(block) + 1]))
            and np.array_equal(block.indices[begin:end], X.indices[first:last])
            and block.values[begin:end].tobytes() == X.data[first:last].tobytes()
        )
        if not same:
            raise AssertionError(f"rows {row} to {row + len(block)} differ")
        row += len(block)
    if row != len(y):
        raise AssertionError(f"{row} rows, scikit-learn reads {len(y)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.parsing", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the generated set")
    parser.add_argument("--turns", type=int, default=TURNS, help="turns a contestant is timed")
    arguments = parser.parse_args()
    print(", ".join(f"{name} {fact}" for name, fact in machine.describe().items()))
    for line in against_sklearn(make(rows=arguments.rows, dtype=np.float64), arguments.turns):
        what, value, median, bar = line.cells()
        print(f"{what:70s} {value:>9s}  median {median:>8s}  {bar}", flush=True)


if __name__ == "__main__":
    main()
