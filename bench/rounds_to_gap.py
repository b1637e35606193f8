"""Rounds of communication until the gap is closed: `python -m bench.rounds_to_gap`.

A round is one sum of vectors over all K shards, examinations of the gap included: what the papers
on distributed optimisation plot, and what no machine changes. Shards are threads of this process;
those of a cluster make the same rounds to the bit. The objective is sum_i f(y_i, <w, x_i>) +
(l2/2) ||w||^2 with l2 = 1e-4 n, and the gap is relative: (P - D) / max(1, P). Rows of the real sets
are those in the folder that NOREGRET_DATA names; the generated set has 100,000 rows and as many
columns. Row r belongs to shard r mod K, as rows of one file do on a cluster.

`bench.rounds` counts those of the methods of the papers; here are those of our solver.
`passes` beside the rounds are the visits in units of all rows, or the Newton steps. Narrow rows
take Newton's method, whose rounds do not depend on K; `--visits` takes dual ascent for them.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import noregret as nr
from bench.data import make
from bench.quality.data import load
from noregret.batch.problem import Problem
from noregret.batch.shard import Shard
from noregret.batch.shared import SharedProblem, SharedSolver
from noregret.workers import Threads

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)
GAPS = (1e-3, 1e-6)
LOSSES = {"hinge": nr.losses.Hinge(), "logistic": nr.losses.Logistic()}
#: l2 a row.
STRENGTH = 1e-4
MAX_PASSES = 20_000


@dataclass(frozen=True)
class Count:
    """What one solution took."""

    name: str
    loss: str
    gap: float
    shards: int
    method: str
    #: Sums of vectors over all shards, other calls of all shards, and visits a row or Newton steps.
    rounds: int
    calls: int
    passes: float
    seconds: float
    converged: bool


class Counting(Threads):
    """Threads that count sums of vectors, other calls, and rows visited."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sums = self.calls = self.visited = 0

    def add(self, method: str, *arguments: Any, join: str = "plain") -> tuple[Any, list[Any]]:
        """Count a sum, and the rows that its shards visit."""
        self.sums += 1
        found, rest = super().add(method, *arguments, join=join)
        if method == "visit":
            self.visited += sum(one[1] for one in rest)
        return found, rest

    def call(self, method: str, *arguments: Any) -> list[Any]:
        """Count a call without a vector in its answers."""
        self.calls += 1
        return super().call(method, *arguments)


def real(name: str) -> tuple[Any, Any]:
    """Return the rows of a real set, with a constant 1 as the last feature, and its labels."""
    stream = load(name)
    constant = np.ones((stream.rows.shape[0], 1))
    return sp.csr_matrix(sp.hstack([stream.rows, constant])), stream.y


def generated(rows: int = 100_000) -> tuple[Any, Any]:
    """Return the generated set with as many columns as rows."""
    data = make(rows=rows, features=rows)
    return data.X, data.y


SETS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "a9a": partial(real, "a9a"),
    "rcv1_small": partial(real, "rcv1_small"),
    "generated": generated,
}


def shards_of(X: Any, y: Any, loss: Any, strength: float, count: int) -> list[Shard]:
    """Return shards with row r in shard r mod count."""
    parts = [(X[k::count], y[k::count]) for k in range(count)]
    euclidean = nr.mirrors.Euclidean()
    return [
        Shard(Problem.of(rows, labels, loss, euclidean, strength), number=number)
        for number, (rows, labels) in enumerate(parts)
    ]


def counted(
    name: str, X: Any, y: Any, word: str, gap: float, count: int, visits: bool = False
) -> Count:
    """Solve over `count` shards until the gap is closed; return what that took."""
    loss, strength = LOSSES[word], STRENGTH * len(y)
    workers = Counting(shards_of(X, y, loss, strength, count), workers=min(count, 2))
    problem = SharedProblem(workers, loss, nr.mirrors.Euclidean(), strength, X.shape[1])
    solver = SharedSolver(problem, gap, MAX_PASSES)
    solver.newton = solver.newton and not visits
    begin = time.perf_counter()
    found = solver.run()
    seconds = time.perf_counter() - begin
    method = "Newton" if solver.newton else "visits"
    passes = float(solver.passes) if solver.newton else workers.visited / len(y)
    return Count(
        name, word, gap, count, method, workers.sums, workers.calls, passes, seconds,
        found.converged,
    )  # fmt: skip


def lines(names: list[str], counts: list[int], visits: bool) -> Iterator[Count]:
    """Yield what each solution took."""
    for name in names:
        X, y = SETS[name]()
        for word in LOSSES:
            for gap in GAPS:
                for count in counts:
                    yield counted(name, X, y, word, gap, count, visits)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.rounds_to_gap", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--counts", nargs="*", type=int, default=list(COUNTS))
    parser.add_argument("--visits", action="store_true", help="dual ascent for narrow rows, too")
    parser.add_argument("--json", type=Path, help="write all figures here")
    given = parser.parse_args()
    if "NOREGRET_DATA" not in os.environ and set(given.sets) != {"generated"}:
        parser.error("NOREGRET_DATA must name the folder of the real sets")
    print(
        f"{'set':<12}{'loss':<10}{'gap':>7}{'K':>5}{'method':>8}{'rounds':>8}{'calls':>7}"
        f"{'passes':>9}{'seconds':>9}"
    )
    every = []
    for one in lines(given.sets, given.counts, given.visits):
        every.append(asdict(one))
        print(
            f"{one.name:<12}{one.loss:<10}{one.gap:>7.0e}{one.shards:>5}{one.method:>8}"
            f"{one.rounds:>8,}{one.calls:>7,}{one.passes:>9.1f}{one.seconds:>9.2f}"
            f"{'' if one.converged else '  not converged'}",
            flush=True,
        )
        if given.json is not None:
            given.json.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
