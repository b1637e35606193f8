"""What the mixture costs beside `ScaleFree`: `python -m bench.mixture_costs`.

Both learn a stream in turns: from memory, and as the command line from a text file. From memory
times are of the processor, a nonzero, and of the clock, in which several threads share the members;
from text of the clock, of the whole process of `noregret learn`, the file in the cache of the
system. Best and median of the turns, and how many times that of `ScaleFree`. Memory is what a
learner holds after the stream. A constant feature 1 stands before the others.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import noregret as nr
from bench import machine
from bench.quality.data import STREAMS, Stream, load
from bench.quality.ours import with_intercept
from bench.quality.rivals import write_rows
from bench.timing import Times, interleave
from noregret.rows.examples import Rows, as_rows

#: Narrow and dense, narrow and sparse, wide.
CHOSEN = ("sea", "elec2", "covtype", "spambase", "a9a", "california", "earn", "rcv1_small")
MOST_ROWS = 100_000
WAYS = ("scale-free", "mixture")


@dataclass(frozen=True)
class Cost:
    """Of the mixture on one stream: seconds best and median, of it and of `ScaleFree`."""

    stream: str
    where: str
    unit: str
    best: dict[str, float]
    median: dict[str, float]
    held: dict[str, int]
    rows: int
    nonzeros: int

    def ratio(self, times: dict[str, float]) -> float:
        """Return how many times that of `ScaleFree`."""
        return times["mixture"] / times["scale-free"]


def learner(stream: Stream, way: str) -> Any:
    """Return a fresh learner for a stream."""
    loss = nr.losses.Logistic() if stream.classes else nr.losses.Squared()
    if way == "mixture":
        return nr.Mixture(loss)
    return nr.MirrorDescent(loss, nr.mirrors.Euclidean(), nr.rates.ScaleFree(), averaging=False)


def learnt(stream: Stream, rows: Rows, way: str) -> Any:
    """Return a learner of the stream."""
    made = learner(stream, way)
    made.learn(rows, stream.y)
    return made


def held(stream: Stream, rows: Rows, way: str) -> int:
    """Return the bytes that a learner holds at the end."""
    gc.collect()
    tracemalloc.start()
    made = learnt(stream, rows, way)
    gc.collect()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert made.rounds == len(stream.y)
    return size


def commands(stream: Stream, folder: Path) -> dict[str, list[str]]:
    """Write the stream as text; return the command of each way."""
    path = folder / f"{stream.name}.vw"
    write_rows(stream.rows, stream.y.tolist(), path)
    loss = "logistic" if stream.classes else "squared"
    base = [sys.executable, "-m", "noregret", "learn", str(path), "--loss", loss, "--rate"]
    return {way: [*base, way] for way in WAYS}


def costs(name: str, turns: int, folder: Path) -> list[Cost]:
    """Return what both cost on a stream, by memory and text."""
    stream = load(name).head(MOST_ROWS)
    rows = as_rows(with_intercept(stream))
    sizes = {way: held(stream, rows, way) for way in WAYS}
    tasks = {way: lambda way=way: learnt(stream, rows, way) for way in WAYS}  # type: ignore[misc]
    texts = {
        way: lambda call=call: subprocess.run(call, check=True, capture_output=True)  # type: ignore[misc]
        for way, call in commands(stream, folder).items()
    }
    found = []
    for where, unit, what, clock in (
        ("memory", "processor", tasks, time.process_time),
        ("memory", "clock", tasks, time.perf_counter),
        ("text", "clock", texts, time.perf_counter),
    ):
        times: Times = interleave(what, turns, clock)
        medians = {way: statistics.median(times.seconds[way]) for way in WAYS}
        best = {way: times.best(way) for way in WAYS}
        stored = int(stream.rows.nnz) + len(stream.y)
        found.append(Cost(name, where, unit, best, medians, sizes, len(stream.y), stored))
    return found


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.mixture_costs", description=__doc__)
    parser.add_argument("--streams", choices=STREAMS, nargs="+", default=CHOSEN)
    parser.add_argument("--turns", type=int, default=5, help="turns of each [default: 5]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    arguments = parser.parse_args()
    facts = machine.describe()
    print(", ".join(f"{name} {fact}" for name, fact in facts.items()))
    head = ("stream", "from", "time", "ns, alone", "ns, mixture", "ratio", "median", "held MB")
    print("{:<12}{:<8}{:<11}{:>10}{:>13}{:>8}{:>8}{:>14}".format(*head))
    results: list[Cost] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.streams:
            for one in costs(name, arguments.turns, Path(folder)):
                results.append(one)
                alone, mixed = (one.best[way] / one.nonzeros * 1e9 for way in WAYS)
                sizes = " / ".join(f"{one.held[way] / 1e6:.2f}" for way in WAYS)
                print(
                    f"{one.stream:<12}{one.where:<8}{one.unit:<11}{alone:>10.1f}{mixed:>13.1f}"
                    f"{one.ratio(one.best):>7.1f}x{one.ratio(one.median):>7.1f}x{sizes:>14}",
                    flush=True,
                )
    if arguments.json is not None:
        report = {"machine": facts, "costs": [asdict(one) for one in results]}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
