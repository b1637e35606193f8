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
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import machine
from bench.quality import unseen
from bench.quality.data import Stream
from bench.quality.ours import named, noregret
from bench.quality.rivals import RIVALS, progressive_loss
from bench.quality.sets import EVERY, SETS
from bench.quality.several import SEVERAL

OURS = "noregret"
TOOLS: dict[str, Callable[[Stream, float], npt.NDArray[np.float64]]] = {OURS: noregret, **RIVALS}
#: A slow tool is stopped where it has lost so many times what the best of the others lost, and
#: where it has made so many times the errors.
HOPELESS, ERRONEOUS = 10.0, 2.0
#: Mean losses beyond this are not worth a number.
DIVERGED = 1e15
PACKAGES = ("vowpalwabbit", "river", "scikit-learn")
#: Members of the mixture, and how far it may be behind the best tool, in parts of its loss.
MEMBERS, BEHIND = 7, 0.01
#: In so many comparisons the mixture should have the least loss of all tools.
WON = 0.9
#: Our own loss after a change of units may differ by so much, in parts of it.
SAME = 0.05


@dataclasses.dataclass(frozen=True)
class Result:
    """A measure of one stream by tool, and the seconds that each took.

    The figures of tools that were stopped are lower bounds. `moved` is ours with every feature in
    another unit.
    """

    stream: str
    measure: str
    losses: dict[str, float]
    seconds: dict[str, float]
    stopped: list[str]
    moved: float | None = None
    #: Those of our named learners.
    ours: dict[str, float] = dataclasses.field(default_factory=dict)
    #: How many rounds a sum of log losses has: the mixture may lose ln K + ln T more.
    rounds: int | None = None
    #: Whether there are more than two classes.
    several: bool = False

    def best(self) -> str:
        """Return the tool with the least loss."""
        return min(self.losses, key=self.losses.__getitem__)

    def text(self, tool: str) -> str:
        """Return a tool's loss in words."""
        loss = self.losses.get(tool)
        if loss is None:
            return ""
        if not loss < DIVERGED:
            return "diverged"
        return f"> {loss:.3g}" if tool in self.stopped else f"{loss:.5g}"

    def cells(self, tools: list[str]) -> list[str]:
        """Return the losses in words, the best in bold, and ours in other units."""
        best = self.best()
        told = [f"**{self.text(tool)}**" if tool == best else self.text(tool) for tool in tools]
        return [*told, "" if self.change is None else f"{self.change:+.2%}"]

    @property
    def compared(self) -> bool:
        """Whether ours ran, and something else."""
        return OURS in self.losses and len(self.losses | self.ours) > 1

    def behind(self) -> tuple[float, str]:
        """Return by how much ours is above the best of all, in parts of it, and which that is.

        What a mixture of probabilities may lose is taken off: ln K + ln T over the stream.
        """
        others = {name: loss for name, loss in (self.losses | self.ours).items() if name != OURS}
        best = min(others, key=others.__getitem__)
        room = 0.0 if self.rounds is None else math.log(MEMBERS * self.rounds) / self.rounds
        return (self.losses[OURS] - room) / others[best] - 1.0, best

    @property
    def change(self) -> float | None:
        """By how much our own loss changes with the units, in parts of it."""
        if self.moved is None or OURS not in self.losses:
            return None
        return self.moved / self.losses[OURS] - 1.0


def measure(stream: Stream, tools: list[str], units: bool, ours: bool = False) -> list[Result]:
    """Run the tools over one stream of two classes or real targets, `ours` our named learners."""
    kind, rounds = ("log", len(stream.y)) if stream.classes else ("squared", None)
    result = Result(stream.name, kind, {}, {}, [], rounds=rounds)
    for tool in tools:
        least = min(result.losses.values(), default=math.inf)
        start = time.perf_counter()
        predictions = TOOLS[tool](stream, HOPELESS * least * len(stream.y))
        result.seconds[tool] = time.perf_counter() - start
        result.losses[tool] = progressive_loss(stream, predictions)
        if len(predictions) < len(stream.y):
            result.stopped.append(tool)
    for name, learn in (named(stream) if ours else {}).items():
        result.ours[name] = progressive_loss(stream, learn(stream, math.inf))
    if units and OURS in tools:
        moved = noregret(stream.in_other_units(), math.inf)
        result = dataclasses.replace(result, moved=progressive_loss(stream, moved))
    return [result]


def measure_several(stream: Stream, tools: list[str], units: bool) -> list[Result]:
    """Run the tools over one stream of several classes: error rates, and log losses."""
    error = Result(stream.name, "error", {}, {}, [], several=True)
    log = Result(stream.name, "log", {}, error.seconds, error.stopped, several=True)
    rounds = len(stream.y)
    for tool in tools:
        least = min(error.losses.values(), default=math.inf)
        start = time.perf_counter()
        found = SEVERAL[tool](stream, ERRONEOUS * least * rounds)
        error.seconds[tool] = time.perf_counter() - start
        error.losses[tool], loss = found.rates(rounds)
        if loss is not None:
            log.losses[tool] = loss
        if len(found.errors) < rounds:
            error.stopped.append(tool)
    results = [error, log]
    if units and OURS in tools:
        moved = SEVERAL[OURS](stream.in_other_units(), math.inf).rates(rounds)
        results = [dataclasses.replace(r, moved=m) for r, m in zip(results, moved, strict=True)]
    return results


def markdown(results: list[Result], tools: list[str]) -> str:
    """Return the results as a table."""
    heads = ["stream", "measure", *tools, "ours, other units"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|" + "---:|" * (len(tools) + 1)]
    for result in results:
        cells = [result.stream, result.measure, *result.cells(tools)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def tables(results: list[Result], tools: list[str]) -> str:
    """Return two tables: two classes and real targets, and several classes."""
    parts = []
    for known, chosen in ((TOOLS, False), (SEVERAL, True)):
        part = [result for result in results if result.several == chosen]
        if part:
            parts.append(markdown(part, [tool for tool in tools if tool in known]))
    return "\n".join(parts)


def _arguments() -> argparse.Namespace:
    every = list(dict.fromkeys([*TOOLS, *SEVERAL]))
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("--set", choices=SETS, default="shared", help="[default: shared]")
    parser.add_argument(
        "--streams", choices=EVERY, nargs="+", help="of any set [default: all of --set]"
    )
    parser.add_argument("--tools", choices=every, nargs="+", default=every)
    parser.add_argument("--rows", type=int, metavar="N", help="only the first N rows of each")
    parser.add_argument(
        "--other-units", action="store_true", help="every tool gets features in other units"
    )
    parser.add_argument("--named", action="store_true", help="run our named learners, too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write tables to FILE")
    return parser.parse_args()


def main() -> None:
    """Parse the command line, run, print."""
    arguments = _arguments()
    packages = [*PACKAGES, *(unseen.PACKAGES if arguments.set == "unseen" else ())]
    facts: dict[str, Any] = machine.describe() | {name: version(name) for name in packages}
    print(", ".join(f"{name} {fact}" for name, fact in facts.items()))
    results: list[Result] = []
    for name in arguments.streams or SETS[arguments.set]:
        stream = EVERY[name]().head(arguments.rows)
        if arguments.other_units:
            stream = stream.in_other_units()
        several = stream.outputs > 1
        run, known = (measure_several, list(SEVERAL)) if several else (measure, list(TOOLS))
        tools = [tool for tool in known if tool in arguments.tools]
        more = {} if several else {"ours": arguments.named}
        found = run(stream, tools, not arguments.other_units, **more)
        results += found
        print(stream.describe())
        for result in found:
            told = [f"{tool} {result.text(tool)}" for tool in result.losses]
            taken = [f"{result.seconds[tool]:.1f}" for tool in result.losses]
            print(f"  {result.measure}: {', '.join(told)} ({', '.join(taken)} s)", flush=True)
            if result.ours:
                print("  ours:", ", ".join(f"{k} {v:.5g}" for k, v in result.ours.items()))
            if result.compared:
                above, best = result.behind()
                print(f"  above the best of all, {best}: {above:+.3%}", flush=True)
            if result.change is not None:
                print(f"  {result.measure}, ours in other units: {result.change:+.3%}", flush=True)
    if OURS in arguments.tools:
        won = sum(result.best() == OURS for result in results)
        verdict = "met" if won >= WON * len(results) else "MISSED"
        print(
            f"{OURS} has the least loss in {won} of {len(results)} comparisons, bar {WON:.0%}: "
            f"{verdict}"
        )
        judged = [(*result.behind(), result.stream) for result in results if result.compared]
        if judged:
            above, best, name = max(judged)
            verdict = "met" if above <= BEHIND else "MISSED"
            print(f"farthest behind: {above:+.3%} on {name} ({best}), bar {BEHIND:.0%}: {verdict}")
        changes = [abs(result.change) for result in results if result.change is not None]
        if changes:
            verdict = "met" if max(changes) < SAME else "MISSED"
            print(f"largest change with the units: {max(changes):.3%}, bar {SAME:.0%}: {verdict}")
    if arguments.markdown is not None:
        arguments.markdown.write_text(tables(results, arguments.tools), "utf-8")
    if arguments.json is not None:
        report = {"machine": facts, "results": [dataclasses.asdict(result) for result in results]}
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
