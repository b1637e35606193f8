"""Run every tool at its defaults over the real streams and print the progressive losses."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench import machine
from bench.quality.data import STREAMS, Stream, load
from bench.quality.ours import noregret
from bench.quality.rivals import RIVALS, progressive_loss

OURS = "noregret"
TOOLS: dict[str, Callable[[Stream, float], npt.NDArray[np.float64]]] = {OURS: noregret, **RIVALS}
#: A slow tool is stopped where it has lost so many times what the best of the others lost.
HOPELESS = 10.0
#: Mean losses beyond this are not worth a number.
DIVERGED = 1e15
PACKAGES = ("vowpalwabbit", "river", "scikit-learn")


@dataclasses.dataclass(frozen=True)
class Result:
    """The progressive losses of one stream by tool, and the seconds that each took.

    The losses of tools that were stopped are lower bounds.
    """

    stream: str
    classes: bool
    losses: dict[str, float]
    seconds: dict[str, float]
    stopped: list[str]

    def best(self) -> str:
        """Return the tool with the least loss."""
        return min(self.losses, key=self.losses.__getitem__)

    def cells(self) -> list[str]:
        """Return the losses in words, the best in bold."""
        best = self.best()
        return [
            f"**{self.text(tool)}**" if tool == best else self.text(tool) for tool in self.losses
        ]

    def text(self, tool: str) -> str:
        """Return a tool's loss in words."""
        loss = self.losses[tool]
        if not loss < DIVERGED:
            return "diverged"
        return f"> {loss:.3g}" if tool in self.stopped else f"{loss:.5g}"


def measure(stream: Stream, tools: list[str]) -> Result:
    """Run the tools over one stream."""
    result = Result(stream.name, stream.classes, {}, {}, [])
    for tool in tools:
        least = min(result.losses.values(), default=math.inf)
        start = time.perf_counter()
        predictions = TOOLS[tool](stream, HOPELESS * least * len(stream.y))
        result.seconds[tool] = time.perf_counter() - start
        result.losses[tool] = progressive_loss(stream, predictions)
        if len(predictions) < len(stream.y):
            result.stopped.append(tool)
    return result


def markdown(results: list[Result], tools: list[str]) -> str:
    """Return the results as a table."""
    lines = ["| stream | loss | " + " | ".join(tools) + " |", "|---|---|" + "---:|" * len(tools)]
    for result in results:
        kind = "log" if result.classes else "squared"
        lines.append(f"| {result.stream} | {kind} | " + " | ".join(result.cells()) + " |")
    return "\n".join(lines) + "\n"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("--streams", choices=STREAMS, nargs="+", default=list(STREAMS))
    parser.add_argument("--tools", choices=TOOLS, nargs="+", default=list(TOOLS))
    parser.add_argument("--rows", type=int, metavar="N", help="only the first N rows of each")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write a table to FILE")
    return parser.parse_args()


def main() -> None:
    """Parse the command line, run, print."""
    arguments = _arguments()
    facts = machine.describe() | {name: version(name) for name in PACKAGES}
    print(", ".join(f"{name} {fact}" for name, fact in facts.items()))
    results = []
    for name in arguments.streams:
        stream = load(name).head(arguments.rows)
        result = measure(stream, arguments.tools)
        results.append(result)
        parts = [
            f"{tool} {result.text(tool)} ({result.seconds[tool]:.1f} s)" for tool in result.losses
        ]
        print(f"{stream.describe()}: {', '.join(parts)}", flush=True)
    won = sum(result.best() == OURS for result in results)
    if OURS in arguments.tools:
        print(f"{OURS} has the least loss on {won} of {len(results)} streams")
    if arguments.markdown is not None:
        arguments.markdown.write_text(markdown(results, arguments.tools), "utf-8")
    if arguments.json is not None:
        report = {"machine": facts, "results": [dataclasses.asdict(result) for result in results]}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
