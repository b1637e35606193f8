"""Flat JSON lines against pyarrow: python -m bench.jsonl [--rows N] [--turns N].

Both read the same file from the disk's cache in one thread: pyarrow into a table of columns,
noregret into sparse rows with labels and a dictionary of names. Columns are compared before
anything is timed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pyarrow import json as arrow_json

from bench import machine
from bench.timing import Line, interleave
from noregret.streams import read

ROWS = 200_000
TURNS = 5
#: Time in units of pyarrow's `read_json(use_threads=False)`.
BAR = 1.6


def write(path: Path, rows: int) -> None:
    """Write flat records of numbers, booleans and texts."""
    rng = np.random.default_rng(0)
    cities = ["Bonn", "Rome", "Ulm", "Oslo", "Lima", "São Paulo"]
    with path.open("w", encoding="utf-8") as file:
        for k in range(rows):
            record = {
                "label": k % 2,
                "age": int(rng.integers(90)),
                "income": round(float(rng.normal(5e4, 2e4)), 2),
                "score": float(rng.random()),
                "member": bool(rng.integers(2)),
                "city": cities[rng.integers(len(cities))],
                "device": ["phone", "tablet", "pc"][rng.integers(3)],
                "rate": round(float(rng.random()), 4),
            }
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def against_pyarrow(rows: int, turns: int) -> Iterator[Line]:
    """Time one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "flat.jsonl"
        write(path, rows)
        table = _arrow(path)
        stream = read(path, threads=0)
        blocks = list(stream)
        assert stream.names is not None
        found = np.concatenate([block.dense()[:, stream.names.column("score")] for block in blocks])
        assert np.array_equal(found, table.column("score").to_numpy())
        times = interleave(
            {"noregret": lambda: _consume(path), "pyarrow": lambda: _arrow(path)}, turns
        )
        megabytes = path.stat().st_size / 1e6
        speed = f"{megabytes / times.best('noregret'):.0f} against"
        speed += f" {megabytes / times.best('pyarrow'):.0f} MB/s"
        yield Line(
            f"reading flat JSON lines in units of pyarrow's time, {speed}",
            times.ratio("noregret", "pyarrow"),
            times.median_ratio("noregret", "pyarrow"),
            at_most=BAR,
        )


def _arrow(path: Path):  # type: ignore[no-untyped-def]
    options = arrow_json.ReadOptions(use_threads=False)
    return arrow_json.read_json(str(path), read_options=options)


def _consume(path: Path) -> int:
    return sum(map(len, read(path, threads=0)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.jsonl", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="records of the generated file")
    parser.add_argument("--turns", type=int, default=TURNS, help="turns a contestant is timed")
    arguments = parser.parse_args()
    print(", ".join(f"{name} {fact}" for name, fact in machine.describe().items()))
    for line in against_pyarrow(arguments.rows, arguments.turns):
        what, value, median, bar = line.cells()
        print(f"{what:70s} {value:>9s}  median {median:>8s}  {bar}", flush=True)


if __name__ == "__main__":
    main()
