"""What floors of blocks cost beside learning: `python -m bench.floor_costs`.

`ScaleFree` learns a stream from memory with `blocks=False`, `True` and `"parabolas"`, in turns: the
best time and the median, nanoseconds of the processor a nonzero, so that other work of the machine
hardly matters, and how many times that of learning alone. A print reads the certificate once with
the rows held back. Memory is what a learner holds after the stream, and its largest amount while it
learned. A constant feature 1 is the last column; streams are in the folder that NOREGRET_DATA
names.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
import tracemalloc
from dataclasses import asdict, dataclass
from pathlib import Path

import noregret as nr
from bench import machine
from bench.floor_problems import Problem, load
from bench.timing import Times, interleave
from noregret.rows.examples import Rows, as_rows

STREAMS = ("elec2", "covtype", "spambase", "phishing", "a9a", "earn", "rcv1_small", "california")
#: What `blocks=` is given, by the name of a contestant.
KEPT: dict[str, bool | str] = {"off": False, "blocks": True, "parabolas": "parabolas"}


@dataclass(frozen=True)
class Cost:
    """Of one way of keeping floors on one stream."""

    stream: str
    kept: str
    nanoseconds: float
    median_nanoseconds: float
    ratio: float
    median_ratio: float
    print_seconds: float
    held_bytes: int
    largest_bytes: int


def learnt(problem: Problem, rows: Rows, kept: bool | str) -> nr.MirrorDescent:
    """Return a learner of the stream."""
    learner = nr.MirrorDescent(
        problem.loss, nr.mirrors.Euclidean(), nr.rates.ScaleFree(), averaging=False, blocks=kept
    )
    learner.learn(rows, problem.y)
    return learner


def memory(problem: Problem, rows: Rows, kept: bool | str) -> tuple[int, int]:
    """Return the bytes that a learner holds at the end, and the most while it learned."""
    gc.collect()
    tracemalloc.start()
    learner = learnt(problem, rows, kept)
    gc.collect()
    held, largest = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert learner.rounds == len(problem.y)
    return held, largest


def _read(learner: nr.MirrorDescent, radius: float) -> float:
    """Return the seconds of a print."""
    start = time.perf_counter()
    learner.certificate().text(radius)
    return time.perf_counter() - start


def costs(name: str, turns: int, rows: int | None = None) -> list[Cost]:
    """Return the costs of every way on a stream."""
    problem = load(name, rows)
    given, stored = as_rows(problem.rows), problem.rows.nnz
    contestants = {
        way: lambda kept=kept: learnt(problem, given, kept)  # type: ignore[misc]
        for way, kept in KEPT.items()
    }
    times: Times = interleave(contestants, turns, time.process_time)
    found = []
    for way, kept in KEPT.items():
        learner = learnt(problem, given, kept)
        _read(learner, problem.radius)
        seconds = min(_read(learner, problem.radius) for _ in range(3))
        held, largest = memory(problem, given, kept)
        found.append(Cost(
            name, way, times.best(way) / stored * 1e9,
            statistics.median(times.seconds[way]) / stored * 1e9,
            times.ratio(way, "off"), times.median_ratio(way, "off"), seconds, held, largest,
        ))  # fmt: skip
    return found


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.floor_costs", description=__doc__)
    parser.add_argument("--streams", choices=STREAMS, nargs="+", default=STREAMS)
    parser.add_argument("--turns", type=int, default=7, help="turns of each [default: 7]")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    arguments = parser.parse_args()
    facts = machine.describe()
    print(", ".join(f"{name} {fact}" for name, fact in facts.items()))
    head = ("stream", "floors", "ns a nonzero", "median", "ratio", "median", "print", "held MB",
            "most MB")  # fmt: skip
    print(("{:<13}{:<11}{:>13}" + 6 * "{:>10}").format(*head))
    results: list[Cost] = []
    for name in arguments.streams:
        for one in costs(name, arguments.turns):
            results.append(one)
            print(f"{one.stream:<13}{one.kept:<11}{one.nanoseconds:>13.2f}"
                  f"{one.median_nanoseconds:>10.2f}{one.ratio:>9.2f}x{one.median_ratio:>9.2f}x"
                  f"{one.print_seconds:>8.3f} s{one.held_bytes / 1e6:>10.2f}"
                  f"{one.largest_bytes / 1e6:>10.2f}", flush=True)  # fmt: skip
    if arguments.json is not None:
        report = {"machine": facts, "costs": [asdict(one) for one in results]}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
