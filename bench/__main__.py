"""Run the benchmarks and print them as a table, as Markdown or as JSON."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench import dual, machine, speed, startup
from bench.data import ROWS, make
from bench.timing import Line

PARTS = ("loops", "sklearn", "maps", "liblinear", "memory", "startup")


def main() -> None:
    """Parse the command line, measure, print."""
    arguments = _arguments()
    facts = machine.describe()
    print(", ".join(f"{name} {fact}" for name, fact in facts.items()))
    lines = []
    for line in _measure(arguments, facts):
        lines.append(line)
        what, value, median, bar = line.cells()
        print(f"{what:70s} {value:>9s}  median {median or '-':>8s}  {bar}", flush=True)
    if arguments.markdown is not None:
        arguments.markdown.write_text(markdown(lines, facts), "utf-8")
    if arguments.json is not None:
        report = {"machine": facts, "lines": [dataclasses.asdict(line) for line in lines]}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the generated set")
    parser.add_argument("--float64", action="store_true", help="values in double precision")
    parser.add_argument("--turns", type=int, default=9, help="turns a contestant is timed")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write a table to FILE")
    return parser.parse_args()


def _measure(arguments: argparse.Namespace, facts: dict[str, str]) -> Iterator[Line]:
    if {"loops", "sklearn", "maps", "liblinear"} & set(arguments.only):
        dtype = np.float64 if arguments.float64 else np.float32
        data = make(rows=arguments.rows, dtype=dtype)
        facts["data"] = data.describe()
        print(facts["data"], flush=True)
        if "loops" in arguments.only:
            yield from speed.against_loops(data, 2 * arguments.turns)
        if "sklearn" in arguments.only:
            yield from speed.against_sklearn(data, max(3, arguments.turns // 2))
        if "maps" in arguments.only:
            yield from speed.map_against_map(data, arguments.turns)
        if "liblinear" in arguments.only:
            yield from dual.against_liblinear(data, max(7, arguments.turns))
        del data
    if "memory" in arguments.only:
        yield from startup.memory()
    if "startup" in arguments.only:
        yield from startup.starting()


def markdown(lines: list[Line], facts: dict[str, str]) -> str:
    """Return the lines as a table, the machine below it.

    Best and median are of the turns of one run; ratios only, because times are the machine's.
    """
    table = ["| | best | median | bar |", "|---|---:|---:|---|"]
    table += ["| " + " | ".join(line.cells()) + " |" for line in lines]
    table += ["", ", ".join(f"{name} {fact}" for name, fact in facts.items()) + "."]
    return "\n".join(table) + "\n"


if __name__ == "__main__":
    main()
